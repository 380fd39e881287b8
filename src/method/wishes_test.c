/* wishes_test.c - what the parts of a run wish together, and what cannot be.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "method/chain.h"

#include <string.h>

static const eg_method silent = {
    .component = {"silent", "", 0, NULL},
};

static eg_status first_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->exchanges[0].name = "early";
    out->replays[0] = (eg_replay){.rows = 3, .joins = true};
    return EG_OK;
}

static eg_status last_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->exchanges[0] = (eg_exchange){.name = "late", .sum = true};
    out->exchanges[1].name = "later";
    out->replays[0] = (eg_replay){.rows = 2, .labels = true};
    out->replays[1] = (eg_replay){.rows = 1, .logits = true};
    out->logits = true;
    return EG_OK;
}

static double factor(void *self, eg_server *s, int64_t client, const eg_bundle *from)
{
    (void)self, (void)s, (void)client, (void)from;
    return 1;
}

static eg_status send_one(void *self, eg_server *s, int64_t client, eg_bundle *to)
{
    (void)self, (void)s, (void)client, (void)to;
    return EG_OK;
}

static void test_what_parts_wish_stands_in_their_order(void **state)
{
    (void)state;
    static const eg_method first = {
        .component = {"first", "", 0, NULL},
        .setup = first_setup,
    };
    static const eg_method last = {
        .component = {"last", "", 0, NULL},
        .setup = last_setup,
        .server = {.weight = factor, .send_one = send_one},
    };
    eg_parts p = {0};
    eg_agreement agreed;
    const eg_agreement *a = &agreed;
    assert_ok(eg_parts_add(&p, &first));
    assert_ok(eg_parts_add(&p, &silent));
    assert_ok(eg_parts_add(&p, &last));
    assert_ok(eg_parts_setup(&p, &(eg_setting){0}, true, &agreed));
    static const size_t parts[] = {EG_MAX_PARTS, 0, 2, 2};
    static const char *const names[] = {"training", "early", "late", "later"};
    assert_int_equal(a->n_exchanges, 4);
    for (size_t x = 0; x < 4; x++) {
        assert_int_equal(a->exchanges[x].part, parts[x]);
        assert_string_equal(a->exchanges[x].is.name, names[x]);
        assert_int_equal(a->exchanges[x].is.sum, x == 2);
    }
    assert_int_equal(a->n_replays, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(a->replays[i].part, i ? 2 : 0);
        assert_int_equal(a->replays[i].index, i == 2);
        assert_int_equal(a->replays[i].is.rows, 3 - i);
        assert_string_not_equal(a->replays[i].inputs.x, a->replays[(i + 1) % 3].inputs.x);
    }
    assert_true(a->all.logits && a->weighs && a->sends_each);
    assert_false(a->all.memory || a->all.personal || a->has_models || a->fixed_rows);
    assert_int_equal(a->outputs, EG_MAX_PARTS);
    eg_parts_free(&p);
}

static eg_status side_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->side = 2;
    return EG_OK;
}

static eg_status plain_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->shares_plain = true;
    return EG_OK;
}

static eg_status memory_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->memory = true;
    return EG_OK;
}

static eg_status refuse(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in, (void)out;
    return eg_fail(EG_EINVAL, "it cannot be");
}

static eg_node *make_outputs(const void *options, const eg_net *net, eg_graph *g,
                             eg_node *features, eg_node *tasks)
{
    (void)options, (void)net, (void)g, (void)tasks;
    return features;
}

static eg_status model_of(void *self, eg_server *s, int64_t client, eg_bundle *to)
{
    (void)self, (void)s, (void)client, (void)to;
    return EG_OK;
}

static eg_status add_samples(void *self, eg_client *c)
{
    (void)self, (void)c;
    return EG_OK;
}

static eg_status rest_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->rests = true;
    return EG_OK;
}

static bool want(void *self, eg_server *s, int exchange)
{
    (void)self, (void)s, (void)exchange;
    return true;
}

static eg_status setup_of(const eg_method *one, const eg_method *two, bool has_memory)
{
    eg_parts parts = {0};
    eg_agreement agreed;
    if (one)
        assert_ok(eg_parts_add(&parts, one));
    if (two)
        assert_ok(eg_parts_add(&parts, two));
    eg_status s = eg_parts_setup(&parts, &(eg_setting){0}, has_memory, &agreed);
    eg_parts_free(&parts);
    return s;
}

/* Every part that is not in this list works without knowing what its targets are. */
static void test_parts_that_need_classes_are_refused_without(void **state)
{
    (void)state;
    static const char *const need[] = {
        "af_fcl",    "afcl",     "cfed",    "class_replay", "dgr",    "fedcbdr", "fedcil",
        "fedlwf_2t", "fedspace", "glfc",    "icarl",        "lander", "lwf",     "mfcl",
        "ncm",       "pass",     "pfedgrp", "shared",       "stsa",   "target"};
    static const eg_target boxes = {.component.name = "made", .things = "boxes"};
    static const eg_train_opts train = {
        .epochs = 1, .batch = 1, .optimizer = "sgd", .lr = 0.1, .temperature = 1};
    size_t refused = 0;
    for (size_t i = 0; eg_methods[i]; i++) {
        eg_parts parts = {0};
        eg_agreement agreed;
        const char *name = eg_methods[i]->component.name;
        assert_ok(eg_parts_add(&parts, eg_methods[i]));
        eg_status s = eg_parts_setup(
            &parts, &(eg_setting){.train = &train, .target = &boxes, .interval = 1}, true,
            &agreed);
        eg_parts_free(&parts);
        if (s == EG_OK)
            continue;
        assert_non_null(strstr(eg_error(), " needs one class for each sample; the targets of "
                                           "these data are boxes"));
        assert_true(refused < sizeof need / sizeof *need);
        assert_string_equal(name, need[refused++]);
    }
    assert_int_equal(refused, sizeof need / sizeof *need);
}

static void test_what_cannot_be_is_said_with_the_parts_names(void **state)
{
    (void)state;
    static const eg_method sides[] = {{.component.name = "l", .setup = side_setup},
                                      {.component.name = "r", .setup = side_setup}};
    static const eg_method plain[] = {{.component.name = "l", .setup = plain_setup},
                                      {.component.name = "r", .setup = plain_setup}};
    static const eg_method outputs[] = {{.component.name = "l", .outputs = make_outputs},
                                        {.component.name = "r", .outputs = make_outputs}};
    static const eg_method models[] = {
        {.component.name = "l", .server = {.model_of = model_of}},
        {.component.name = "r", .server = {.model_of = model_of}}};
    static const eg_method needy = {
        .component = {"needy", "", 0, NULL},
        .setup = memory_setup,
    };
    static const eg_method hard = {
        .component = {"hard", "", 0, NULL},
        .setup = refuse,
    };
    assert_fails(setup_of(&sides[0], &sides[1], true), EG_EINVAL,
                 "'l' and 'r' both want a second head");
    assert_fails(setup_of(&plain[0], &plain[1], true), EG_EINVAL,
                 "'l' and 'r' both reweigh the batch's own cross entropy");
    assert_fails(setup_of(&outputs[0], &outputs[1], true), EG_EINVAL,
                 "'l' and 'r' both make the outputs");
    assert_fails(setup_of(&models[0], &models[1], true), EG_EINVAL,
                 "'l' and 'r' both have models of clients");
    assert_ok(setup_of(&sides[0], &outputs[1], true));
    assert_fails(setup_of(&silent, &needy, false), EG_EINVAL, "needy needs a memory");
    assert_ok(setup_of(&silent, &needy, true));
    assert_fails(setup_of(&silent, &hard, true), EG_EINVAL, "hard: it cannot be");
    assert_fails(setup_of(NULL, NULL, true), EG_EINVAL, "a run needs a method");
}

/* Batches are those of the scenario unless a part adds samples or rows, or leaves rounds out.
 */
static void test_rows_are_fixed_unless_a_part_changes_them(void **state)
{
    (void)state;
    static const eg_method cases[] = {
        {.component.name = "joins", .setup = first_setup},
        {.component.name = "apart", .setup = last_setup},
        {.component.name = "adds", .client = {.samples = add_samples}},
        {.component.name = "leaves", .setup = rest_setup, .server = {.wants = want}},
        {.component.name = "asks", .setup = last_setup, .server = {.wants = want}}};
    for (size_t i = 0; i < 5; i++) {
        eg_parts p = {0};
        eg_agreement agreed;
        assert_ok(eg_parts_add(&p, &silent));
        assert_ok(eg_parts_add(&p, &cases[i]));
        assert_ok(eg_parts_setup(&p, &(eg_setting){0}, true, &agreed));
        assert_int_equal(agreed.fixed_rows, i == 1 || i == 4);
        eg_parts_free(&p);
    }
}

static void test_a_part_is_there_once_and_eight_are_enough(void **state)
{
    (void)state;
    eg_method many[EG_MAX_PARTS + 1] = {{.component.name = "a"}};
    eg_parts p = {0};
    for (size_t i = 0; i < EG_MAX_PARTS; i++) {
        many[i].component.name = "a";
        assert_ok(eg_parts_add(&p, &many[i]));
        assert_fails(eg_parts_add(&p, &many[0]), EG_EINVAL,
                     i + 1 < EG_MAX_PARTS ? "'a' is there twice" : "at most 8 parts");
    }
    assert_fails(eg_parts_add(&p, &many[EG_MAX_PARTS]), EG_EINVAL, "at most 8 parts");
    eg_parts_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_parts_wish_stands_in_their_order),
        cmocka_unit_test(test_parts_that_need_classes_are_refused_without),
        cmocka_unit_test(test_what_cannot_be_is_said_with_the_parts_names),
        cmocka_unit_test(test_rows_are_fixed_unless_a_part_changes_them),
        cmocka_unit_test(test_a_part_is_there_once_and_eight_are_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
