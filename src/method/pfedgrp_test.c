/* pfedgrp_test.c - pFedGRP in whole runs: what clients start from and are sent, what each
 * ablation changes, who is tested, and what the server refuses or survives.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <engram/method.h>

#include "method/lib/pfedgrp.h"

extern const eg_method eg_method_pfedgrp;

/* Four clients, each with two types of two classes in turn, 24 images per class. */
#define TEXT_OF(method, scenario)                                                              \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 600, test: 80, classes: 4, size: 8, mean: 0.5, std: 0.5}\n"   \
    "model: {name: layers, layers: '[conv 4 k3, batch-norm, relu, flatten]'}\n"                \
    "scenario: {kind: realtime, clients: 4, path: cycle, classes: 2, samples: 24, test: 5, "   \
    "rounds: 5, partition: types" scenario "}\n"                                               \
    "optimizer: {lr: 0.05, momentum: 0.9}\n"                                                   \
    "train: {epochs: 2, batch: 16}\n"                                                          \
    "pfedgrp: {epochs: 6, settings: width=4 lr=0.002 batch=8, trial: 40, tries: 30, "          \
    "server_epochs: 3, server_lr: 0.1}\n"                                                      \
    "class_replay: {epochs: 6, settings: width=4 lr=0.002 batch=8, trial: 40, tries: 30}\n"    \
    "memory: {kind: reservoir, size: 20}\n"                                                    \
    "runs: [{label: a, method: " method "}]\n"
#define TEXT TEXT_OF("pfedgrp", "")

enum { CLIENTS = 4, CLASSES = 4, ROUNDS = 5 };

/* All right answers of a run's tests as one number, beside the model's bits. */
typedef struct outcome {
    char hash[65];
    int64_t right;
} outcome;

static outcome outcome_of(const char *path)
{
    outcome o = {.right = 0};
    eg_events *events = fixture_events(path);
    runs_hash(path, o.hash);
    for (size_t i = 0; i < events->n_eval; i++)
        for (int64_t t = 0; t < events->eval[i].n_tasks; t++)
            o.right = (o.right * 31 + events->eval[i].correct[t]) % 1000000007;
    eg_events_free(events);
    return o;
}

static outcome run(const char *text, const char *set, int workers, int64_t stop)
{
    char path[512];
    assert_ok(fixture_run(text, set, workers, stop, path));
    return outcome_of(path);
}

static bool same(outcome a, outcome b)
{
    return strcmp(a.hash, b.hash) == 0 && a.right == b.right;
}

/* A note's values, all added up; how many there are, and the least. */
typedef struct notes {
    double sum, least;
    int64_t n;
} notes;

static notes notes_of(const char *path, const char *name)
{
    eg_events *events = fixture_events(path);
    notes out = {.least = INFINITY};
    for (size_t i = 0; i < events->n_note; i++)
        if (strcmp(events->note[i].name, name) == 0) {
            out.sum += events->note[i].value, out.n++;
            out.least = fmin(out.least, events->note[i].value);
        }
    eg_events_free(events);
    return out;
}

static double noted(const char *path, const char *name)
{
    return notes_of(path, name).sum;
}

static void test_personal_models_are_the_same_wherever_they_are_made(void **state)
{
    (void)state;
    outcome one = run(TEXT, NULL, 1, 0);
    assert_true(same(one, run(TEXT, NULL, 2, 3)));
    assert_true(same(one, run(TEXT, NULL, -2, 2)));
    assert_int_equal(setenv("ENGRAM_CHECKPOINT_SECONDS", "0", 1), 0); /* in every round */
    assert_true(same(one, run(TEXT, NULL, 1, 0)));
    assert_int_equal(unsetenv("ENGRAM_CHECKPOINT_SECONDS"), 0);
}

static void test_methods_that_share_its_machinery_differ(void **state)
{
    (void)state;
    static const char *const texts[] = {TEXT, TEXT_OF("class-replay", ""),
                                        TEXT_OF("[pfedgraph, class-replay]", ""),
                                        TEXT_OF("fedavg", "")};
    outcome all[4];
    for (size_t i = 0; i < 4; i++) {
        all[i] = run(texts[i], NULL, 2, 0);
        for (size_t j = 0; j < i; j++)
            assert_false(same(all[i], all[j]));
    }
}

/* AS1: without a guide every drawing is taken, on clients and on the server; with one not. */
static void test_a_guide_leaves_drawings_out(void **state)
{
    (void)state;
    static const char *const names[] = {"pfedgrp.accepted", "pfedgrp.server_accepted"};
    char guided[512], not [512];
    assert_ok(fixture_run(TEXT, NULL, 2, 0, guided));
    assert_ok(fixture_run(TEXT, "pfedgrp.guided=false", 2, 0, not ));
    for (int i = 0; i < 2; i++) {
        notes with = notes_of(guided, names[i]), without = notes_of(not, names[i]);
        assert_true(with.n > 3 && without.n > 3);
        assert_true(with.least < 0.9);
        assert_near(without.least, 1, 0);
        assert_near(without.sum, (double)without.n, 0);
    }
    assert_near(noted(not, "pfedgrp.refused"), 0, 0);
    /* Every class that a client has met is drawn on the server, as often as is its share. */
    assert_int_equal(notes_of(not, "pfedgrp.server_missing").n, 0);
    assert_int_equal(notes_of(not, "pfedgrp.server_refused").n, 0);
}

/* AS2, AS3, and the threshold: in every round a client has two of four classes, and each once
 * more than the first time. */
static void test_which_generators_are_trained(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        double least, most; /* updates, in all */
    } rows[] = {
        {"pfedgrp.update=always", 2 * CLIENTS * ROUNDS, 2 * CLIENTS * ROUNDS},
        {"pfedgrp.generators=single", CLIENTS * ROUNDS, CLIENTS * ROUNDS},
        {"pfedgrp.threshold=0", CLIENTS * CLASSES, CLIENTS * CLASSES}, /* those there are not */
        {"pfedgrp.threshold=0.9", CLIENTS * CLASSES + 1, 2 * CLIENTS * ROUNDS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[512];
        assert_ok(fixture_run(TEXT, rows[i].set, 2, 0, path));
        double updates = noted(path, "pfedgrp.updates");
        assert_true(updates >= rows[i].least && updates <= rows[i].most);
    }
}

/* Without a pass over drawings all uploads weigh alike; with some the own one weighs more. */
static void test_drawings_say_how_uploads_weigh(void **state)
{
    (void)state;
    char fitted[512], not [512];
    assert_ok(fixture_run(TEXT, NULL, 2, 0, fitted));
    assert_ok(fixture_run(TEXT, "pfedgrp.server_epochs=0", 2, 0, not ));
    notes own = notes_of(not, "pfedgrp.own_weight");
    assert_int_equal(own.n, ROUNDS);
    assert_near(own.sum, (double)ROUNDS / CLIENTS, 1e-9);
    assert_true(noted(fitted, "pfedgrp.own_weight") > own.sum + 0.1);
}

/* What a client is sent, seen by a part behind: two models, and nothing else. */
static struct {
    int64_t turns, personal, anchored;
    const char *strange;
} spied;

static void spy_walk(const eg_bundle *b)
{
    static char name[201];
    eg_bundle_entry e;
    for (size_t i = 0; b && i < eg_bundle_n(b); i++) {
        eg_bundle_at(b, i, &e);
        if (strcmp(e.name, "param") == 0 || strcmp(e.name, "state") == 0)
            continue;
        snprintf(name, sizeof name, "%s", e.name);
        spied.strange = name;
    }
}

static eg_status spy_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    (void)self, (void)exchange;
    const eg_bundle *all = eg_bundle_below(from);
    spy_walk(from);
    spy_walk(all);
    spied.turns++;
    if (!all)
        return EG_OK;
    spied.personal++;
    /* It stands at everybody's model, and was sent its own. */
    if (memcmp(c->param, eg_bundle_find(all, "param", NULL), c->n_params * sizeof(float)) != 0)
        return eg_fail(EG_EINVAL, "a client does not start from the average");
    if (memcmp(c->state, eg_bundle_find(all, "state", NULL), c->n_state * sizeof(float)) != 0)
        return eg_fail(EG_EINVAL, "nor from its statistics");
    const float *own = eg_bundle_find(from, "param", NULL);
    if (memcmp(c->param, own, c->n_params * sizeof(float)) == 0)
        return eg_fail(EG_EINVAL, "its personal model is the average");
    return EG_OK;
}

/* Before the first step a client is where parts like fedprox and scaffold think it started. */
static eg_status spy_grad(void *self, eg_client *c)
{
    (void)self;
    if (c->step > 0)
        return EG_OK;
    spied.anchored++;
    if (memcmp(c->param, c->global, c->n_params * sizeof(float)) != 0)
        return eg_fail(EG_EINVAL, "others are anchored elsewhere than where it starts");
    return EG_OK;
}

/* --- The pull (ASG) and the start (ASP), seen from inside. */

static struct {
    bool personal;      /* clients are to start from their own */
    const float *param; /* this turn's personal model; NULL: none yet */
    const float *state;
    int64_t n_starts, n_pulled, n_rows;
} pull;

static eg_status pull_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    (void)self, (void)exchange;
    const eg_bundle *all = eg_bundle_below(from);
    pull.param = eg_bundle_find(from, "param", NULL);
    pull.state = eg_bundle_find(from, "state", NULL);
    if (!all)
        return EG_OK;
    const float *start = pull.personal ? pull.param : eg_bundle_find(all, "param", NULL);
    assert_memory_equal(c->param, start, c->n_params * sizeof *start);
    pull.n_starts++;
    return EG_OK;
}

/* The guide of a drawn row is what the personal model makes of it as it stands in the batch. */
static eg_status pull_grad(void *self, eg_client *c)
{
    (void)self;
    const float *guide = eg_plan_input(c->plan, "pfedgrp.guide");
    const float *drawn = eg_plan_input(c->plan, "pfedgrp.drawn");
    float logits[16 * CLASSES];
    assert_true(c->batch <= 16 && (guide != NULL) == (drawn != NULL));
    if (!guide || !drawn)
        return EG_OK;
    pull.n_pulled++;
    const eg_weights at = {pull.param, pull.state};
    assert_ok(eg_client_look(c, &at, &(eg_rows){.n = c->batch, .x = c->x},
                             &(eg_look){.logits = logits}));
    for (int64_t i = 0; i < c->batch * CLASSES; i++)
        if (drawn[i / CLASSES] > 0) {
            assert_near((double)guide[i], (double)logits[i], 1e-4);
            pull.n_rows++;
        }
    return EG_OK;
}

static const eg_method pulls = {
    .component = {"pulls", "sees what drawn rows are held to", 0, NULL},
    .client = {.download = pull_download, .grad = pull_grad}};

static void test_drawn_rows_are_held_to_the_personal_models_outputs(void **state)
{
    (void)state;
    static const char *const sets[] = {NULL, "pfedgrp.start=personal", "pfedgrp.lambda=0"};
    char path[512];
    for (int i = 0; i < 3; i++) {
        memset(&pull, 0, sizeof pull);
        pull.personal = i == 1;
        assert_ok(fixture_run(TEXT_OF("[pfedgrp, pulls]", ""), sets[i], 1, 0, path));
        assert_int_equal(pull.n_starts, CLIENTS * (ROUNDS - 1));
        assert_true(noted(path, "pfedgrp.drawn") > 0);
        assert_int_equal(pull.n_pulled > 5 && pull.n_rows > 20, i < 2);
        assert_true(i < 2 || pull.n_pulled == 0);
    }
}

static const eg_method spy = {.component = {"spy", "sees what clients are sent", 0, NULL},
                              .client = {.download = spy_download, .grad = spy_grad}};

static void test_clients_start_from_the_average_and_are_sent_no_generator(void **state)
{
    (void)state;
    char path[512];
    memset(&spied, 0, sizeof spied);
    assert_ok(fixture_run(TEXT_OF("[pfedgrp, spy]", ""), NULL, 1, 0, path));
    assert_int_equal(spied.turns, CLIENTS * ROUNDS);
    assert_int_equal(spied.personal, CLIENTS * (ROUNDS - 1)); /* nobody has one at first */
    if (spied.strange)
        fail_msg("'%s' was sent", spied.strange);
}

/* A proximal term, or a control, is of the way from where training starts. */
static void test_other_parts_count_from_where_a_client_starts(void **state)
{
    (void)state;
    static const char *const texts[] = {TEXT_OF("[pfedgrp, fedprox, spy]", ""),
                                        TEXT_OF("[scaffold, pfedgrp, spy]", "")};
    char path[512];
    memset(&spied, 0, sizeof spied);
    assert_ok(fixture_run(texts[0], NULL, 1, 0, path));
    assert_ok(fixture_run(texts[1], "optimizer.momentum=0", 1, 0, path));
    assert_int_equal(spied.anchored, 2 * CLIENTS * ROUNDS);
}

static int64_t n_tested(const eg_events *events, int64_t round)
{
    int64_t n = 0;
    for (size_t i = 0; i < events->n_eval; i++)
        n += events->eval[i].round == round && events->eval[i].met > 0;
    return n;
}

/* Who took part in a round up to this one. */
static int64_t n_met(const eg_events *events, int64_t round)
{
    bool met[CLIENTS] = {false};
    int64_t n = 0;
    for (size_t i = 0; i < events->n_round; i++)
        for (size_t k = 0; k < events->round[i].n_clients; k++)
            if (events->round[i].round <= round)
                met[events->round[i].clients[k]] = true;
    for (int c = 0; c < CLIENTS; c++)
        n += met[c];
    return n;
}

static void test_whoever_has_met_data_is_tested_in_every_round(void **state)
{
    (void)state;
    static const char *const texts[] = {
        TEXT_OF("pfedgrp", ", per_round: 2"),
        TEXT_OF("pfedgrp", ", away: 0.3, away_rounds: 2"),
        TEXT_OF("pfedgraph", ", per_round: 2"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[512];
        assert_ok(fixture_run(texts[i], NULL, 2, 2, path));
        eg_events *events = fixture_events(path);
        int64_t fewest = CLIENTS;
        for (size_t k = 0; k < events->n_round; k++) {
            int64_t round = events->round[k].round, there = (int64_t)events->round[k].n_clients;
            assert_int_equal(n_tested(events, round), n_met(events, round));
            fewest = there < fewest ? there : fewest;
        }
        assert_true(fewest < CLIENTS);
        eg_events_free(events);
    }
}

/* --- What the server takes. */

typedef struct hand_server {
    eg_experiment *e;
    eg_pfedgrp_server p;
} hand_server;

static void hand_server_open(hand_server *h)
{
    memset(h, 0, sizeof *h);
    h->p.is.replay.generators = EG_ONE_PER_CLASS;
    h->p.classes = CLASSES;
    assert_ok(eg_generator_new(&(eg_generator_spec){.kind = "wgan-gp",
                                                    .options = "width=2",
                                                    .channels = 1,
                                                    .height = 8,
                                                    .width = 8,
                                                    .classes = CLASSES,
                                                    .draws_only = true},
                               &h->p.shape));
}

/* An upload with this share of the first class, and a tensor of so many values. */
static eg_bundle *upload(const hand_server *h, float first, const char *name, size_t n)
{
    const float share[CLASSES] = {first, 0.5f};
    eg_bundle *up;
    float *values;
    assert_ok(eg_bundle_new(&up));
    assert_ok(eg_bundle_add_flat(up, EG_PFEDGRP_SHARE, share, CLASSES));
    assert_ok(eg_generator_keep(h->p.shape, "pfedgrp.1", EG_DRAWING_ALONE, up));
    if (name)
        assert_ok(eg_bundle_room(up, name, eg_dims((int64_t)n), &values));
    return up;
}

static void check_upload(hand_server *h, eg_bundle *up, const char *words)
{
    eg_status s = eg_method_pfedgrp.server.accept(&h->p, NULL, EG_TRAINING, 0, up);
    if (words ? s == EG_OK || !strstr(eg_error(), words) : s != EG_OK)
        fail_msg("'%s' for '%s'", s == EG_OK ? "accepted" : eg_error(), words ? words : "");
    eg_bundle_free(up);
}

static void test_uploads_are_judged(void **state)
{
    (void)state;
    hand_server h;
    hand_server_open(&h);
    eg_bundle *none;
    assert_ok(eg_bundle_new(&none));
    check_upload(&h, upload(&h, 0.5f, NULL, 0), NULL);
    check_upload(&h, none, "pfedgrp.share");
    check_upload(&h, upload(&h, 0.7f, NULL, 0), "add up to 1.2");
    check_upload(&h, upload(&h, -0.5f, NULL, 0), "a share of -0.5");
    check_upload(&h, upload(&h, 0.5f, "pfedgrp.2.generator.param", 3), "generator 2 has 3");
    check_upload(
        &h, upload(&h, 0.5f, "pfedgrp.2.generator.param", h.p.shape->learners[0]->n_params),
        "and 0 values"); /* without its statistics */
    check_upload(&h, upload(&h, 0.5f, "pfedgrp.9.generator.param", 3), "no generator's");
    check_upload(&h, upload(&h, 0.5f, "pfedgrp.1.critic.param", 3), "no generator's");
    eg_method_pfedgrp.server.fini(&h.p);
}

/* A part that spoils what client 1 sends: finite, but of no use. */
static eg_status spoil_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    eg_bundle_entry e;
    (void)self, (void)exchange;
    for (size_t i = 0; c->id == 1 && i < eg_bundle_n(to); i++) {
        eg_bundle_at(to, i, &e);
        float *values = eg_bundle_values(to, e.name);
        bool drawing = !e.is_scalar && strstr(e.name, ".generator.");
        for (size_t k = 0; drawing && k < e.n; k++)
            values[k] = k % 2 ? 3e38f : -3e38f; /* sums of both are not numbers */
    }
    return EG_OK;
}

static const eg_method spoil = {.component = {"spoil", "spoils generators", 0, NULL},
                                .client = {.answer = spoil_answer}};

static void test_generators_that_draw_nothing_are_said_and_survived(void **state)
{
    (void)state;
    char path[512], good[512];
    assert_ok(fixture_run(TEXT_OF("[pfedgrp, spoil]", ""), NULL, 2, 0, path));
    assert_ok(fixture_run(TEXT, NULL, 2, 0, good));
    assert_true(noted(path, "pfedgrp.server_refused") > noted(good, "pfedgrp.server_refused"));
    assert_true(noted(path, "pfedgrp.server_missing") >
                noted(good, "pfedgrp.server_missing") + 48);
    assert_true(isfinite(runs_value(path, "acc_final")));
    assert_false(same(outcome_of(path), outcome_of(good)));
}

/* Whoever has the run's folder can draw what its clients have met. */
static void test_the_generators_are_left_in_the_folder(void **state)
{
    (void)state;
    char path[512], file[600];
    eg_exhibits *x;
    eg_generator *m;
    for (int single = 0; single < 2; single++) {
        assert_ok(fixture_run(TEXT, single ? "pfedgrp.generators=single" : NULL, 2, 0, path));
        snprintf(file, sizeof file, "%s/generators.safetensors", path);
        assert_ok(eg_exhibits_open(file, &x));
        assert_int_equal(eg_exhibits_n(x), single ? CLIENTS : CLIENTS * CLASSES);
        assert_int_equal(eg_exhibits_at(x, 1).client, single ? 1 : 0);
        assert_int_equal(eg_exhibits_at(x, 1).label, single ? -1 : 1);
        assert_ok(eg_exhibits_show(x, 1, &m));
        eg_exhibits_free(x);
    }
}

/* All count alike in the average, whatever server.weights says. */
static void test_the_average_is_the_plain_mean(void **state)
{
    (void)state;
    assert_true(same(run(TEXT, "server.weights=samples", 1, 0),
                     run(TEXT, "server.weights=uniform", 1, 0)));
    static const char uneven[] =
        "name: t\n"
        "data: {name: glyphs, train: 200, test: 40, classes: 4, size: 8, mean: 0.5, std: 0.5}\n"
        "model: {name: mlp, depth: 0}\n"
        "scenario: {kind: class-incremental, clients: 3, tasks: 1, rounds: 2, "
        "partition: {kind: dirichlet, alpha: 0.3, min: 2}}\n"
        "optimizer: {lr: 0.1}\n"
        "train: {batch: 8}\n"
        "pfedgrp: {epochs: 1, settings: width=2 batch=8}\n"
        "runs: [{label: a, method: %s}]\n";
    char text[1024], plain[1024];
    snprintf(text, sizeof text, uneven, "pfedgrp");
    snprintf(plain, sizeof plain, uneven, "fedavg");
    assert_true(same(run(text, "server.weights=samples", 1, 0),
                     run(text, "server.weights=uniform", 1, 0)));
    assert_false(same(run(plain, "server.weights=samples", 1, 0),
                      run(plain, "server.weights=uniform", 1, 0)));
}

static void test_what_cannot_be_drawn_is_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *method, *set, *words;
    } bad[] = {
        {"pfedgrp", "data.size=12", "squares of 8, 16, 28, 32 or 64"},
        {"class-replay", "data.size=12", "squares of 8, 16, 28, 32 or 64"},
        {"pfedgrp", "data.mean=0", "set data.mean and data.std to 0.5"},
        {"pfedgrp", "data.crop=1", "pfedgrp: lambda pulls a drawing"},
        {"pfedgrp", "data.flip=true", "set lambda to 0, or leave these out"},
        {"pfedgrp", "data.cutout=2", "set lambda to 0"},
        {"[pfedgrp, pfedgraph]", NULL, "both have models of clients"},
        {"[local, pfedgrp]", NULL, "needs the global model"},
        {"pfedgrp", "pfedgrp.settings=colour=red", "no option 'colour'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[2048], path[512];
        eg_experiment *e;
        snprintf(text, sizeof text, TEXT_OF("%s", ""), bad[i].method);
        eg_status s = fixture_load(text, bad[i].set, &e);
        if (s == EG_OK) {
            s = runs_run(e, fixture_folder, 1, 0, path);
            eg_experiment_free(e);
        }
        if (s == EG_OK || !strstr(eg_error(), bad[i].words))
            fail_msg("'%s' does not say '%s'", s == EG_OK ? "it runs" : eg_error(),
                     bad[i].words);
        if (strstr(eg_error(), "client 0")) /* it takes no round to see it */
            fail_msg("'%s' is said by a client", eg_error());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_personal_models_are_the_same_wherever_they_are_made),
        cmocka_unit_test(test_methods_that_share_its_machinery_differ),
        cmocka_unit_test(test_a_guide_leaves_drawings_out),
        cmocka_unit_test(test_which_generators_are_trained),
        cmocka_unit_test(test_drawings_say_how_uploads_weigh),
        cmocka_unit_test(test_drawn_rows_are_held_to_the_personal_models_outputs),
        cmocka_unit_test(test_clients_start_from_the_average_and_are_sent_no_generator),
        cmocka_unit_test(test_other_parts_count_from_where_a_client_starts),
        cmocka_unit_test(test_whoever_has_met_data_is_tested_in_every_round),
        cmocka_unit_test(test_uploads_are_judged),
        cmocka_unit_test(test_generators_that_draw_nothing_are_said_and_survived),
        cmocka_unit_test(test_the_generators_are_left_in_the_folder),
        cmocka_unit_test(test_the_average_is_the_plain_mean),
        cmocka_unit_test(test_what_cannot_be_drawn_is_refused_in_words),
    };
    if (eg_method_add(&spy) != EG_OK || eg_method_add(&spoil) != EG_OK ||
        eg_method_add(&pulls) != EG_OK)
        return 1;
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
