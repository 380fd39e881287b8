/* single_batches_test.c - a batch of one sample that cannot be learned from is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

/* Images of 8x8 pixels are 1x1 in the last layers of a ResNet. */
#define IMAGES(train, rest)                                                                    \
    "name: t\n"                                                                                \
    "data: {name: fractals, classes: 2, points: 100, test: 4, size: 8, train: " train "}\n"    \
    "scenario: {kind: class-incremental, clients: 1, tasks: 1, rounds: 2, partition: iid}\n"   \
    "memory: {kind: reservoir, size: 4}\n"                                                     \
    "train: {batch: 4}\n" rest

#define RESNET(train, method)                                                                  \
    IMAGES(train, "model: {name: resnet18-thin}\n"                                             \
                  "runs: [{label: a, method: " method "}]\n")

static void test_a_lone_sample_is_refused_before_the_first_round(void **state)
{
    (void)state;
    char path[512];
    assert_fails(fixture_run(RESNET("9", "fedavg"), NULL, 1, 0, path), EG_ESHAPE,
                 "client 0 has 9 samples in round 1, so its last batch of up to 4 has one; "
                 "change train.batch, or set scenario.pad to it: batch norm 'layer4.0.bn1' has "
                 "one value per channel");
    /* A part with an exchange of its own, which it does not want in every round, trains in all
     * of them. */
    assert_fails(fixture_run(RESNET("9", "fed-a-gem"), NULL, 1, 0, path), EG_ESHAPE,
                 "client 0 has 9 samples in round 1, so its last batch of up to 4 has one");
    assert_fails(fixture_run(RESNET("8", "fedavg"), "train.batch=1", 1, 0, path), EG_ESHAPE,
                 "change train.batch: batch norm");
}

static void test_what_the_sentence_says_helps(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(RESNET("9", "fedavg"), "train.batch=3", 1, 0, path));
    assert_ok(fixture_run(RESNET("9", "fedavg"), "scenario.pad=4", 1, 0, path));
    assert_ok(fixture_run(RESNET("9", "fedavg"), "train.steps=3", 1, 0, path));
    assert_ok(fixture_run(RESNET("10", "fedavg"), NULL, 1, 0, path));
}

static void test_other_networks_take_a_lone_sample(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(IMAGES("9", "model: {name: mlp, depth: 0}\n"
                                      "runs: [{label: a, method: fedavg}]\n"),
                          NULL, 1, 0, path));
    /* 16x16 pixels are 2x2 in the end: four values. */
    assert_ok(fixture_run(RESNET("9", "fedavg"), "data.size=16", 1, 0, path));
}

/* What a part adds is not known before: here replay fills the last batch up. */
static void test_what_cannot_be_foreseen_is_said_when_it_happens(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(RESNET("9", "er"), NULL, 1, 0, path));
    assert_fails(fixture_run(RESNET("9", "joint"), NULL, 1, 0, path), EG_ESHAPE,
                 "client 0: batch norm 'layer4.0.bn1' has one value per channel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lone_sample_is_refused_before_the_first_round),
        cmocka_unit_test(test_what_the_sentence_says_helps),
        cmocka_unit_test(test_other_networks_take_a_lone_sample),
        cmocka_unit_test(test_what_cannot_be_foreseen_is_said_when_it_happens),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
