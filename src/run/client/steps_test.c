/* steps_test.c - train.steps: so many whole batches of an endless, reshuffled stream.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

enum { STEPS_MAX = 256 };

static char folder[FILES_PATH];

/* What the clients' batches were, in the order of training. */
static struct {
    int64_t n, epoch[STEPS_MAX], rows[STEPS_MAX], client[STEPS_MAX], round[STEPS_MAX];
    eg_sample samples[STEPS_MAX][16];
} watched;

static eg_status watch_grad(void *self, eg_client *c)
{
    (void)self;
    int64_t i = watched.n++;
    assert_true(i < STEPS_MAX && c->n_drawn <= 16);
    watched.epoch[i] = c->epoch;
    watched.rows[i] = c->n_drawn;
    watched.client[i] = c->id;
    watched.round[i] = c->round;
    memcpy(watched.samples[i], c->drawn, (size_t)c->n_drawn * sizeof *c->drawn);
    return EG_OK;
}

static const eg_method watch = {.component = {.name = "watch", .help = "notes every batch"},
                                .client = {.grad = watch_grad}};

static void watch_run(const char *steps, const char *other)
{
    watched.n = 0;
    small_run_all(folder,
                  (small_run){.method = "fedavg", .set = {steps, other}, .before = &watch});
}

static void test_steps_are_whole_batches_however_often_the_samples_come_round(void **state)
{
    (void)state;
    watch_run("train.steps=7", NULL);
    assert_int_equal(watched.n, 7 * 4 * 4); /* four clients, four rounds */
    for (int64_t i = 0; i < watched.n; i++) {
        assert_int_equal(watched.rows[i], 16);
        assert_int_equal(watched.epoch[i], i % 7 / 3); /* 50 samples hold three batches */
    }
}

static bool same_sample(eg_sample a, eg_sample b)
{
    return a.task == b.task && a.id == b.id;
}

/* Batches of one pass, one client and one round have no sample twice. */
static void test_a_pass_takes_no_sample_twice_and_the_next_has_another_order(void **state)
{
    (void)state;
    watch_run("train.steps=6", NULL);
    int64_t same_place = 0;
    for (int64_t i = 0; i < 3 * 16; i++) {
        eg_sample a = watched.samples[i / 16][i % 16];
        for (int64_t j = 0; j < i; j++)
            assert_false(same_sample(a, watched.samples[j / 16][j % 16]));
        same_place += same_sample(a, watched.samples[3 + i / 16][i % 16]);
    }
    assert_true(same_place < 12);
}

static void test_fewer_samples_than_a_batch_are_repeated_to_fill_it(void **state)
{
    (void)state;
    watch_run("train.steps=2", "data.train=48"); /* six samples per client and task */
    assert_int_equal(watched.n, 2 * 4 * 4);
    for (int64_t i = 0; i < watched.n; i++) {
        int64_t times[16] = {0}, most = 0, least = 16;
        assert_int_equal(watched.rows[i], 16);
        for (int64_t a = 0; a < 16; a++) {
            for (int64_t b = 0; b < 16; b++)
                times[a] += same_sample(watched.samples[i][a], watched.samples[i][b]);
            most = times[a] > most ? times[a] : most;
            least = times[a] < least ? times[a] : least;
        }
        assert_int_equal(least, 2); /* 16 rows of 6 samples */
        assert_int_equal(most, 3);
    }
}

static void test_scale_makes_steps_fewer_but_never_none(void **state)
{
    (void)state;
    watch_run("train.steps=7", "scale=0.5");
    assert_int_equal(watched.n, 3 * 4 * 2); /* a round per task */
    watch_run("train.steps=1", "scale=0.5");
    assert_int_equal(watched.n, 1 * 4 * 2);
}

static small_outcome stream_run(const char *steps, const char *other, int workers, int64_t stop)
{
    return small_run_all(
        folder,
        (small_run){.method = "er", .set = {steps, other}, .workers = workers, .stop = stop});
}

/* Batches of 25 divide a client's 50 samples, so an epoch has no batch that is not whole. */
static void test_steps_of_whole_epochs_are_epochs(void **state)
{
    (void)state;
    small_outcome epochs = stream_run("train.epochs=3", "train.batch=25", 1, 0);
    assert_string_equal(epochs.hash, stream_run("train.steps=6", "train.batch=25", 1, 0).hash);
    assert_string_not_equal(epochs.hash,
                            stream_run("train.steps=5", "train.batch=25", 1, 0).hash);
}

static void test_steps_give_the_same_bits_however_a_run_is_carried_out(void **state)
{
    (void)state;
    small_outcome one = stream_run("train.steps=5", NULL, 1, 0);
    assert_string_equal(one.hash, stream_run("train.steps=5", NULL, 2, 0).hash);
    assert_string_equal(one.hash, stream_run("train.steps=5", NULL, 1, 3).hash);
    assert_string_equal(one.hash, stream_run("train.steps=5", NULL, -2, 1).hash);
}

static int open_folder(void **state)
{
    (void)state;
    files_folder(folder);
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    files_remove(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_whole_batches_however_often_the_samples_come_round),
        cmocka_unit_test(test_a_pass_takes_no_sample_twice_and_the_next_has_another_order),
        cmocka_unit_test(test_fewer_samples_than_a_batch_are_repeated_to_fill_it),
        cmocka_unit_test(test_scale_makes_steps_fewer_but_never_none),
        cmocka_unit_test(test_steps_of_whole_epochs_are_epochs),
        cmocka_unit_test(test_steps_give_the_same_bits_however_a_run_is_carried_out),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
