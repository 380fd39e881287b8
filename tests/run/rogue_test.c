/* rogue_test.c - clients that upload nonsense, fail or die, with and without a wire.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The runs are ordinary ones whose method is exchanged for one of the test's own.
 */
#include "files.h"
#include "test.h"

#include <engram/fed.h>

#include "io/file.h"
#include "io/json.h"
#include "run/experiment/experiment.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "own_folder.h"

static const char text[] = "name: t\n"
                           "data: {name: blobs, train: 400, test: 80, classes: 4}\n"
                           "model: {name: mlp, depth: 0}\n"
                           "scenario:\n"
                           "  kind: class-incremental\n"
                           "  clients: 3\n"
                           "  tasks: 1\n"
                           "  rounds: 2\n"
                           "  partition: {kind: iid}\n"
                           "memory: {kind: reservoir, size: 20}\n"
                           "optimizer: {lr: 0.1}\n"
                           "train: {batch: 16}\n"
                           "runs:\n"
                           "- {label: a, method: fedavg}\n"
                           "- {label: b, method: [der, fedavg]}\n"
                           "- {label: c, method: [fed-a-gem, fedavg]}\n";

enum { ROGUE = 1 }; /* the client that misbehaves */

typedef enum mischief {
    GOOD,
    NOT_A_NUMBER,
    INFINITE,
    TOO_SHORT,
    WITHOUT_MODEL,
    BAD_LOSS,
    NO_SAMPLES,
    HALF_A_SAMPLE,
    TOO_MANY_SAMPLES,
    ANOTHERS_SAMPLES,
    TOO_FAR,
    NOBODYS,
    FAILS,
    DIES
} mischief;

static mischief plan;  /* what the rogue does; a child inherits it */
static bool all_rogue; /* all clients do it */
static int n_workers = 2;
static int64_t n_answered; /* clients whose second answer the server took */

/* dealt: how many it has. */
static double bad_samples(double dealt)
{
    return plan == NO_SAMPLES         ? -1
           : plan == HALF_A_SAMPLE    ? 2.5
           : plan == TOO_MANY_SAMPLES ? 1e300
           : plan == ANOTHERS_SAMPLES ? dealt + 1
                                      : dealt;
}

/* Does the mischief to an upload that is as it should be. */
static eg_status rogue_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    (void)self;
    assert_int_equal(exchange, EG_TRAINING);
    if (plan == GOOD || (c->id != ROGUE && !all_rogue))
        return EG_OK;
    if (plan == FAILS)
        return eg_fail(EG_ENOTSUP, "step %d is too hard", 7);
    if (plan == DIES)
        raise(SIGKILL);
    if (plan == NOT_A_NUMBER)
        c->param[3] = NAN;
    if (plan == INFINITE)
        c->param[4] = -INFINITY;
    eg_bundle_clear(to);
    for (size_t i = 0; plan == TOO_FAR && i < c->n_params; i++)
        c->param[i] = 1e30f;
    if (plan == NOBODYS)
        EG_TRY(eg_bundle_add_flat(to, "stranger.tensor", c->param, 3));
    EG_TRY(eg_bundle_scalar(to, "samples", bad_samples((double)c->view.n)));
    EG_TRY(eg_bundle_scalar(to, "loss", plan == BAD_LOSS ? NAN : 1));
    return plan == WITHOUT_MODEL
               ? EG_OK
               : eg_bundle_add_flat(to, "param", c->param, c->n_params - (plan == TOO_SHORT));
}

enum { TALK = 1 }; /* the talker's own exchange */

static eg_status talker_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->exchanges[TALK - 1].name = "talk";
    return EG_OK;
}

static eg_status talker_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    (void)self;
    if (exchange != TALK)
        return EG_OK;
    return eg_bundle_scalar(to, "talker.answer", c->id == ROGUE ? NAN : 1);
}

static eg_status talker_collect(void *self, eg_server *s, int exchange, int64_t client,
                                const eg_bundle *from)
{
    double answer;
    (void)self, (void)s;
    if (exchange != TALK)
        return EG_OK;
    assert_int_not_equal(client, ROGUE);
    assert_true(eg_bundle_scalar_of(from, "talker.answer", &answer));
    n_answered++;
    return EG_OK;
}

static int64_t stumbles_in = 0; /* the round in which a stumbler does */

/* A gradient that breaks the model and the optimiser, in one round alone. */
static eg_status stumbler_grad(void *self, eg_client *c)
{
    (void)self;
    if (c->id == ROGUE && c->round == stumbles_in)
        c->grad[0] = NAN;
    return EG_OK;
}

/* The mean without the rogue, worked out another way: its weight is zero. */
static double muted_weight(void *self, eg_server *s, int64_t client, const eg_bundle *from)
{
    (void)self, (void)s, (void)from;
    return client == ROGUE ? 0 : 1;
}

/* A part that does not like what the rogue says, in one exchange. */
static int disliked;

static eg_status picky_accept(void *self, eg_server *s, int exchange, int64_t client,
                              const eg_bundle *from)
{
    (void)self, (void)s;
    assert_int_equal(eg_bundle_find(from, "param", NULL) != NULL, exchange == EG_TRAINING);
    return client == ROGUE && exchange == disliked ? eg_fail(EG_EINVAL, "not like that")
                                                   : EG_OK;
}

static eg_status picky_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    (void)self, (void)c;
    return exchange == TALK ? eg_bundle_scalar(to, "picky.answer", 1) : EG_OK;
}

/* Counts what was accepted, and sees none of what was not. */
static eg_status picky_collect(void *self, eg_server *s, int exchange, int64_t client,
                               const eg_bundle *from)
{
    (void)self, (void)s, (void)from;
    assert_true(client != ROGUE || exchange != disliked);
    n_answered++;
    return EG_OK;
}

static const eg_method plain = {
    .component = {"plain", "", 0, NULL},
};
static const eg_method rogue = {
    .component = {"rogue", "", 0, NULL},
    .client = {.answer = rogue_answer},
};
static const eg_method talker = {
    .component = {"talker", "", 0, NULL},
    .setup = talker_setup,
    .client = {.answer = talker_answer},
    .server = {.collect = talker_collect},
};
static const eg_method picky = {
    .component = {"picky", "", 0, NULL},
    .setup = talker_setup,
    .client = {.answer = picky_answer},
    .server = {.accept = picky_accept, .collect = picky_collect},
};
static const eg_method stumbler = {
    .component = {"stumbler", "", 0, NULL},
    .client = {.grad = stumbler_grad},
};
static const eg_method muted = {
    .component = {"muted", "", 0, NULL},
    .server = {.weight = muted_weight},
};

typedef struct result {
    eg_status status;
    char error[1024], hash[65];
    char *events; /* metrics.jsonl; free it */
} result;

static void read_result(const char *path, result *r)
{
    char file[FILES_PATH * 2];
    eg_json *summary;
    const char *hash;
    size_t n;
    snprintf(file, sizeof file, "%s/metrics.jsonl", path);
    assert_ok(eg_file_read(file, 1 << 20, (unsigned char **)&r->events, &n));
    snprintf(file, sizeof file, "%s/summary.json", path);
    assert_ok(eg_json_load(file, &summary));
    assert_ok(eg_json_text(eg_json_get(summary, "params_sha256"), &hash));
    snprintf(r->hash, sizeof r->hash, "%s", hash);
    eg_json_free(summary);
}

/* Runs a label with its last part exchanged. */
static result run_label(const char *label, const eg_method *method, const char *set, bool wire)
{
    static int number;
    char file[FILES_PATH * 2], out[FILES_PATH * 2], path[512];
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    snprintf(out, sizeof out, "%s/runs%d", folder, number++);
    eg_experiment *e;
    bool stopped;
    result r = {0};
    assert_ok(eg_experiment_load(file, label, set ? 1 : 0, &set, &e));
    e->parts.at[e->parts.n - 1].method = method;
    r.status = eg_experiment_run(e,
                                 &(eg_run_how){.seed = 3,
                                               .workers = n_workers,
                                               .out = out,
                                               .transport = wire ? "processes" : NULL},
                                 path, &stopped);
    snprintf(r.error, sizeof r.error, "%s", eg_error());
    if (r.status == EG_OK)
        read_result(path, &r);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left over */
    assert_int_equal(errno, ECHILD);
    eg_experiment_free(e);
    return r;
}

static result run(const eg_method *method, const char *set, bool wire)
{
    return run_label("a", method, set, wire);
}

static int count(const char *in, const char *words)
{
    int n = 0;
    for (; (in = strstr(in, words)); in++)
        n++;
    return n;
}

static void test_nonsense_is_left_out_with_a_line(void **state)
{
    (void)state;
    static const struct {
        mischief plan;
        const char *why;
    } cases[] = {
        {NOT_A_NUMBER, "tensor 'param': element 3 is NaN"},
        {INFINITE, "tensor 'param': element 4 is infinite"},
        {TOO_SHORT, "tensor 'param': "},
        {WITHOUT_MODEL, "tensor 'param' is missing"},
        {BAD_LOSS, "scalar 'loss' is NaN"},
        {NO_SAMPLES, "-1 samples: not a whole number from 1 to 400"},
        {HALF_A_SAMPLE, "2.5 samples: not a whole number"},
        {TOO_MANY_SAMPLES, "1e+300 samples: not a whole number"},
        {ANOTHERS_SAMPLES, "134 samples: it was dealt 133"},
        {TOO_FAR, "it moves the model by "},
        {NOBODYS, "tensor 'stranger.tensor' is nobody's"},
    };
    plan = GOOD;
    result without = run(&muted, NULL, false), with = run(&plain, NULL, false);
    assert_string_not_equal(without.hash, with.hash);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        char line[256];
        plan = cases[i / 2].plan;
        result r = run(&rogue, NULL, i % 2);
        assert_int_equal(r.status, EG_OK);
        for (int round = 1; round <= 2; round++) {
            snprintf(line, sizeof line,
                     "{\"event\":\"left_out\",\"round\":%d,\"client\":%d,\"why\":\"%s", round,
                     ROGUE, cases[i / 2].why);
            assert_int_equal(count(r.events, line), 1);
        }
        assert_int_equal(count(r.events, "\"left_out\""), 2);
        assert_int_equal(count(r.events, "\"skipped\""), 0);
        assert_string_equal(r.hash, without.hash);
        free(r.events);
    }
    free(without.events);
    free(with.events);
}

static void test_too_few_good_uploads_skip_the_round(void **state)
{
    (void)state;
    static const char skipped[] = "{\"event\":\"skipped\",\"round\":2,\"why\":\"too few ";
    plan = GOOD;
    result first = run(&plain, "optimizer.lr=0", false); /* the first model, averaged */
    plan = NOT_A_NUMBER;
    result two = run(&rogue, "server.min_clients=2", false);
    result three = run(&rogue, "server.min_clients=3", true);
    all_rogue = true;
    result none = run(&rogue, NULL, false);
    all_rogue = false;
    assert_int_equal(count(two.events, "\"skipped\""), 0);
    assert_int_equal(count(three.events, "\"skipped\""), 2);
    assert_int_equal(count(three.events, skipped), 1);
    assert_int_equal(count(none.events, skipped), 1);
    assert_int_equal(count(none.events, "\"left_out\""), 6);
    assert_string_not_equal(two.hash, first.hash);
    assert_string_equal(three.hash, first.hash); /* the model stays as it was */
    assert_string_equal(none.hash, first.hash);
    free(first.events);
    free(two.events);
    free(three.events);
    free(none.events);
}

static void test_nonsense_in_the_second_exchange_is_left_out(void **state)
{
    (void)state;
    n_answered = 0;
    result r = run(&talker, NULL, false), wired = run(&talker, NULL, true);
    assert_int_equal(n_answered, 2 * 2 * 2); /* runs, rounds, good clients */
    assert_int_equal(count(r.events, "\"why\":\"scalar 'talker.answer' is NaN\""), 2);
    assert_int_equal(count(wired.events, "\"why\":\"scalar 'talker.answer' is NaN\""), 2);
    assert_string_equal(r.hash, wired.hash);
    free(r.events);
    free(wired.events);
}

/* What a part refuses is left out whole; the others' result is that of a run without it. */
static void test_a_part_may_refuse_an_answer(void **state)
{
    (void)state;
    plan = GOOD;
    result without = run(&muted, NULL, false), with = run(&plain, NULL, false);
    for (int i = 0; i < 4; i++) {
        char line[256];
        disliked = i / 2 ? TALK : EG_TRAINING;
        n_answered = 0;
        result r = run(&picky, NULL, i % 2);
        assert_int_equal(r.status, EG_OK);
        for (int round = 1; round <= 2; round++) {
            snprintf(line, sizeof line,
                     "{\"event\":\"left_out\",\"round\":%d,\"client\":%d,"
                     "\"why\":\"picky: not like that\",",
                     round, ROGUE);
            assert_int_equal(count(r.events, line), 1);
        }
        assert_int_equal(count(r.events, "\"left_out\""), 2);
        assert_int_equal(n_answered, 2 * (3 + 2)); /* rounds; all of one exchange, two of one */
        assert_string_equal(r.hash, i / 2 ? with.hash : without.hash);
        free(r.events);
    }
    free(without.events);
    free(with.events);
}

static void test_a_client_comes_back_from_a_broken_optimiser(void **state)
{
    (void)state;
    result r = run(&stumbler, "train.optimizer_state=keep", false);
    assert_int_equal(count(r.events, "\"left_out\",\"round\":1"), 1);
    assert_int_equal(count(r.events, "\"left_out\""), 1);
    free(r.events);
}

static void test_a_memory_takes_no_logits_that_are_not_finite(void **state)
{
    (void)state;
    result r = run_label("b", &stumbler, NULL, false);
    assert_int_equal(count(r.events, "\"left_out\",\"round\":1"), 1);
    assert_int_equal(count(r.events, "\"left_out\""), 1);
    free(r.events);
}

/* The projection multiplies NaN with all of a gradient, the gaps between tensors too, which no
 * plan writes again: whoever is the worker's next client must have nothing of it. */
static void test_a_broken_gradient_reaches_no_other_client(void **state)
{
    (void)state;
    static const char always[] = "fed-a-gem.when=always";
    char alone[65];
    stumbles_in = 1;
    for (int workers = 1; workers <= 3; workers++) {
        n_workers = workers;
        result r = run_label("c", &stumbler, always, workers == 3);
        assert_int_equal(r.status, EG_OK);
        assert_int_equal(count(r.events, "\"left_out\",\"round\":2,\"client\":1"), 1);
        assert_int_equal(count(r.events, "\"left_out\""), 1);
        if (workers > 1)
            assert_string_equal(r.hash, alone);
        memcpy(alone, r.hash, sizeof alone);
        free(r.events);
    }
    stumbles_in = 0, n_workers = 2;
}

static void test_an_error_over_the_wire_is_the_same_sentence(void **state)
{
    (void)state;
    plan = FAILS;
    result here = run(&rogue, NULL, false), there = run(&rogue, NULL, true);
    assert_int_equal(here.status, EG_ENOTSUP);
    assert_int_equal(there.status, EG_ENOTSUP);
    assert_string_equal(here.error, "client 1: rogue: step 7 is too hard");
    assert_string_equal(there.error, here.error);
}

static void test_a_process_that_dies_is_said_with_its_client(void **state)
{
    (void)state;
    plan = DIES;
    result r = run(&rogue, NULL, true);
    assert_int_equal(r.status, EG_EIO);
    assert_string_equal(r.error, "client 1: its process was ended by signal 9");
}

static int open_with_text(void **state)
{
    open_folder(state);
    files_write(folder, "t.yaml", text, sizeof text - 1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nonsense_is_left_out_with_a_line),
        cmocka_unit_test(test_too_few_good_uploads_skip_the_round),
        cmocka_unit_test(test_nonsense_in_the_second_exchange_is_left_out),
        cmocka_unit_test(test_a_part_may_refuse_an_answer),
        cmocka_unit_test(test_a_client_comes_back_from_a_broken_optimiser),
        cmocka_unit_test(test_a_memory_takes_no_logits_that_are_not_finite),
        cmocka_unit_test(test_a_broken_gradient_reaches_no_other_client),
        cmocka_unit_test(test_an_error_over_the_wire_is_the_same_sentence),
        cmocka_unit_test(test_a_process_that_dies_is_said_with_its_client),
    };
    return cmocka_run_group_tests(tests, open_with_text, close_folder);
}
