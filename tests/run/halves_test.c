/* halves_test.c - both halves of parts inside a run: what reaches whom, when, at which model.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include "own_folder.h"

enum { MAX_PARAMS = 4096, CLIENTS = 4, ROUNDS = 4, BATCHES = 2 * 4 }; /* two epochs of 50 */

/* What the parts of a test tell each other. One worker only. */
static struct {
    float model[MAX_PARAMS]; /* as the round before left it */
    float mean[MAX_PARAMS];  /* before anyone refined it */
    int64_t n_refined, n_batches, n_trained, n_answered;
} seen;

/* What the first round begins with. */
static eg_status early_begin(void *self, eg_server *s)
{
    (void)self;
    assert_true(s->n_params <= MAX_PARAMS);
    memcpy(seen.model, s->param, s->n_params * sizeof *s->param);
    return EG_OK;
}

static eg_status early_refine(void *self, eg_server *s, float *param, float *state)
{
    (void)self, (void)state;
    assert_memory_equal(s->param, seen.model, s->n_params * sizeof *s->param);
    assert_memory_not_equal(s->param, param, s->n_params * sizeof *s->param);
    memcpy(seen.mean, param, s->n_params * sizeof *param);
    assert_int_equal(seen.n_refined++ % 2, 0);
    for (size_t i = 0; i < s->n_params; i++)
        param[i] += 1;
    return EG_OK;
}

/* Half way between the last model and what the part before it made. */
static eg_status late_refine(void *self, eg_server *s, float *param, float *state)
{
    (void)self, (void)state;
    assert_memory_equal(s->param, seen.model, s->n_params * sizeof *s->param);
    assert_int_equal(seen.n_refined++ % 2, 1);
    for (size_t i = 0; i < s->n_params; i++) {
        assert_true(param[i] == seen.mean[i] + 1);
        param[i] = 0.5f * (param[i] + s->param[i]);
        seen.model[i] = param[i];
    }
    return EG_OK;
}

static eg_status late_finish(void *self, eg_server *s, int exchange)
{
    (void)self;
    assert_int_equal(exchange, EG_TRAINING);
    assert_memory_equal(s->param, seen.model, s->n_params * sizeof *s->param);
    return EG_OK;
}

/* And the clients receive it. */
static eg_status late_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    (void)self, (void)exchange;
    const float *param = eg_bundle_find(from, "param", NULL);
    assert_memory_equal(param, seen.model, c->n_params * sizeof *param);
    assert_memory_equal(c->param, seen.model, c->n_params * sizeof *param);
    return EG_OK;
}

static void test_parts_refine_the_mean_in_order(void **state)
{
    (void)state;
    static const eg_method early = {
        .component = {"early", "", 0, NULL},
        .server = {.begin = early_begin, .refine = early_refine},
    };
    static const eg_method late = {
        .component = {"late", "", 0, NULL},
        .client = {.download = late_download},
        .server = {.refine = late_refine, .finish = late_finish},
    };
    memset(&seen, 0, sizeof seen);
    small_outcome one = small_run_all(
        folder, (small_run){.method = "fedavg", .before = &early, .after = &late});
    assert_int_equal(seen.n_refined, 2 * ROUNDS);
    small_outcome plain = small_run_all(folder, (small_run){.method = "fedavg"});
    assert_string_not_equal(one.hash, plain.hash);
}

static eg_status count_grad(void *self, eg_client *c)
{
    (void)self;
    assert_int_equal(c->step, (uint64_t)seen.n_batches);
    seen.n_batches++;
    return EG_OK;
}

/* After the last batch, before anything is told: what it changes goes up. */
static eg_status count_trained(void *self, eg_client *c)
{
    (void)self;
    assert_int_equal(seen.n_batches, BATCHES);
    assert_int_equal(c->n_batches, BATCHES);
    assert_int_equal(c->step, BATCHES);
    seen.n_batches = 0;
    seen.n_trained++;
    c->param[0] = 7;
    return EG_OK;
}

static eg_status count_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    (void)self, (void)c;
    assert_int_equal(exchange, EG_TRAINING);
    assert_true(eg_bundle_find(to, "param", NULL)[0] == 7);
    seen.n_answered++;
    assert_int_equal(seen.n_trained, seen.n_answered);
    return EG_OK;
}

static eg_status see_seven(void *self, eg_server *s, float *param, float *state)
{
    (void)self, (void)s, (void)state;
    assert_near((double)param[0], 7, 1e-6);
    return EG_OK;
}

static void test_trained_follows_the_last_batch(void **state)
{
    (void)state;
    static const eg_method counter = {
        .component = {"counter", "", 0, NULL},
        .client = {.grad = count_grad, .trained = count_trained, .answer = count_answer},
        .server = {.refine = see_seven},
    };
    memset(&seen, 0, sizeof seen);
    small_run_all(folder, (small_run){.method = "fedavg", .after = &counter});
    assert_int_equal(seen.n_trained, CLIENTS * ROUNDS);
}

/* --- A record of a client's, kept in one round and recalled in the next. */

/* Fails unless the record says so many rounds; 0: there is none. Clients may be in processes of
 * their own, where a failed assertion is not seen. */
static eg_status expect_rounds(eg_client *c, const char *name, int64_t wanted)
{
    const eg_bundle *kept;
    double rounds = 0;
    EG_TRY(eg_client_recall(c, name, &kept));
    if (kept)
        eg_bundle_scalar_of(kept, "diary.rounds", &rounds);
    return (kept != NULL) == (wanted > 0) && rounds == (double)wanted
               ? EG_OK
               : eg_fail(EG_EINVAL, "'%s' says %g rounds, not %d", name, rounds, (int)wanted);
}

static eg_status recall_rounds(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    (void)self, (void)exchange, (void)from;
    return expect_rounds(c, "diary", c->round);
}

static eg_status keep_rounds(void *self, eg_client *c)
{
    (void)self;
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_scalar(record, "diary.rounds", (double)c->round + 1));
    EG_TRY(eg_client_keep(c, "diary", record));
    EG_TRY(expect_rounds(c, "diary", c->round + 1)); /* it counts at once */
    return expect_rounds(c, "dia", 0);               /* a name is not the beginning of one */
}

static void test_a_record_lasts_as_long_as_the_client(void **state)
{
    (void)state;
    static const eg_method diary = {
        .component = {"diary", "", 0, NULL},
        .client = {.download = recall_rounds, .trained = keep_rounds},
    };
    small_run r = {.method = "er", .after = &diary};
    small_outcome whole = small_run_all(folder, r);
    r.stop = 2, r.workers = 2;
    assert_string_equal(whole.hash, small_run_all(folder, r).hash);
    r.workers = -2;
    assert_string_equal(whole.hash, small_run_all(folder, r).hash);
}

static struct {
    int64_t n_collected, n_finished;
} asked;

static eg_status secret_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->exchanges[0] = (eg_exchange){.name = "secret", .sum = true};
    return EG_OK;
}

/* 1, 2 and 3 of the first three clients; the last one's answer has another shape. */
static eg_status secret_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const float values[] = {(float)c->id + 1, 0};
    (void)self;
    return exchange ? eg_bundle_add_flat(to, "secret.x", values, c->id == 3 ? 2 : 1) : EG_OK;
}

static eg_status secret_collect(void *self, eg_server *s, int exchange, int64_t client,
                                const eg_bundle *from)
{
    size_t n;
    (void)self, (void)s;
    if (exchange == EG_TRAINING)
        return EG_OK;
    assert_int_equal(client, EG_SERVER);
    const float *x = eg_bundle_find(from, "secret.x", &n);
    assert_true(n == 1 && *x == 2);
    asked.n_collected++;
    return EG_OK;
}

static eg_status secret_finish(void *self, eg_server *s, int exchange)
{
    (void)self, (void)s;
    asked.n_finished += exchange != EG_TRAINING;
    assert_int_equal(asked.n_finished, asked.n_collected);
    return EG_OK;
}

static void test_answers_that_count_together_are_collected_as_their_mean(void **state)
{
    (void)state;
    static const eg_method secret = {
        .component = {"secret", "", 0, NULL},
        .setup = secret_setup,
        .client = {.answer = secret_answer},
        .server = {.collect = secret_collect, .finish = secret_finish},
    };
    memset(&asked, 0, sizeof asked);
    small_run_all(folder, (small_run){.method = "fedavg", .after = &secret, .workers = 2});
    assert_int_equal(asked.n_collected, ROUNDS);
    assert_int_equal(asked.n_finished, ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_refine_the_mean_in_order),
        cmocka_unit_test(test_trained_follows_the_last_batch),
        cmocka_unit_test(test_a_record_lasts_as_long_as_the_client),
        cmocka_unit_test(test_answers_that_count_together_are_collected_as_their_mean),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
