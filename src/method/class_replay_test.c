/* class_replay_test.c - how many rows are drawn, which of them are taken, and the loss on them
 * against logistic regression in double.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include "method/lib/class_replay.h"
#include "run/store/records_file.h"

enum { CLASSES = 4, SIDE = 8, PIXELS = SIDE * SIDE };

static void check_amounts(const float *now, const float *ever, const float *has,
                          const int64_t *wanted)
{
    int64_t out[CLASSES];
    eg_class_amounts(CLASSES, now, ever, has, out);
    for (int c = 0; c < CLASSES; c++)
        assert_int_equal(out[c], wanted[c]);
}

static void test_amounts_of_worked_cases(void **state)
{
    (void)state;
    /* A first round: nothing is past. */
    check_amounts((float[]){200, 200, 0, 0}, (float[]){200, 200, 0, 0}, (float[CLASSES]){0},
                  (int64_t[CLASSES]){0});
    /* Two new classes after two others were seen once: as many of each. */
    check_amounts((float[]){0, 0, 200, 200}, (float[]){200, 200, 200, 200},
                  (float[]){1, 1, 0, 0}, (int64_t[]){200, 200, 0, 0});
    /* Others were seen three times: never more than the new classes have. */
    check_amounts((float[]){0, 0, 200, 200}, (float[]){600, 600, 200, 200},
                  (float[]){1, 1, 1, 1}, (int64_t[]){200, 200, 0, 0});
    /* What is here was seen five times, the others once and twice: a fifth and two fifths. */
    check_amounts((float[]){200, 200, 0, 0}, (float[]){1000, 1000, 200, 400},
                  (float[]){1, 1, 1, 1}, (int64_t[]){0, 0, 40, 80});
    /* The class seen least before stays as it is, and the other is filled up to it. */
    check_amounts((float[]){100, 60, 0, 0}, (float[]){100, 600, 0, 50}, (float[]){1, 1, 0, 1},
                  (int64_t[]){0, 40, 0, 50});
    /* Without a generator nothing is drawn. */
    check_amounts((float[]){0, 0, 200, 200}, (float[]){200, 200, 200, 200},
                  (float[]){1, 0, 0, 0}, (int64_t[]){200, 0, 0, 0});
}

static void test_amounts_of_random_histories_are_within_bounds(void **state)
{
    (void)state;
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    for (int history = 0; history < 1000; history++) {
        float ever[CLASSES] = {0}, has[CLASSES] = {0};
        for (uint64_t round = 0, rounds = 1 + eg_rng_below(&rng, 30); round < rounds; round++) {
            float now[CLASSES] = {0}, most = 0;
            int64_t out[CLASSES];
            for (int c = 0; c < CLASSES; c++) {
                now[c] = eg_rng_below(&rng, 2) ? (float)eg_rng_below(&rng, 300) : 0;
                ever[c] += now[c];
                most = fmaxf(most, now[c]);
            }
            eg_class_amounts(CLASSES, now, ever, has, out);
            for (int c = 0; c < CLASSES; c++) {
                assert_true(out[c] >= 0);
                assert_true(out[c] == 0 || (float)out[c] + now[c] <= most);
                assert_true(out[c] == 0 || has[c] != 0);
                has[c] = has[c] != 0 || (now[c] > 0 && eg_rng_below(&rng, 2));
            }
        }
    }
}

/* With more classes than rows some are drawn at each `at`, and each by its share over all. */
static void test_portions_add_up_however_many_classes_there_are(void **state)
{
    (void)state;
    enum { MANY = 20, FEW = 8, TURNS = 1000 };
    float alike[MANY];
    double sums[MANY] = {0};
    int64_t out[MANY];
    for (int c = 0; c < MANY; c++)
        alike[c] = 1.0F / MANY;
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t n = 0;
        eg_class_portions(MANY, alike, FEW, (turn + 0.5) / TURNS, out);
        for (int c = 0; c < MANY; c++) {
            assert_in_range(out[c], 0, 1);
            n += out[c], sums[c] += (double)out[c] / TURNS;
        }
        assert_int_equal(n, FEW);
    }
    for (int c = 0; c < MANY; c++)
        assert_near(sums[c], (double)FEW / MANY, 2.0 / TURNS);
    /* What comes out even does so wherever it begins; a class without a share has no row. */
    for (int at = 0; at < 4; at++) {
        const float even[CLASSES] = {0.5F, 0, 0.125F, 0.375F};
        const int64_t wanted[CLASSES] = {100, 0, 25, 75};
        eg_class_portions(CLASSES, even, 200, at / 4.0, out);
        for (int c = 0; c < CLASSES; c++)
            assert_int_equal(out[c], wanted[c]);
    }
}

/* A guide that knows the classes in turn: of every CLASSES drawings one is of each. */
static eg_status look_in_turn(void *context, const float *x, int64_t n, float *logits)
{
    int64_t *seen = context;
    (void)x;
    for (int64_t i = 0; i < n * CLASSES; i++)
        logits[i] = i % CLASSES == (*seen + i / CLASSES) % CLASSES;
    *seen += n;
    return EG_OK;
}

static eg_status look_at_nothing(void *context, const float *x, int64_t n, float *logits)
{
    (void)context, (void)x;
    for (int64_t i = 0; i < n * CLASSES; i++)
        logits[i] = NAN;
    return EG_OK;
}

static eg_generator *machine(void)
{
    eg_generator *m;
    assert_ok(eg_generator_new(&(eg_generator_spec){.kind = "wgan-gp",
                                                    .options = "width=2",
                                                    .channels = 1,
                                                    .height = SIDE,
                                                    .width = SIDE,
                                                    .classes = CLASSES},
                               &m));
    eg_generator_init(m, 3);
    return m;
}

typedef eg_status (*looker)(void *context, const float *x, int64_t n, float *logits);

/* Draws `wanted` of class 1, or of any, and gives back what was taken of each class. */
static eg_class_drawings draw(eg_generator *m, looker look, bool decides, int64_t class,
                              int64_t wanted, int64_t left[CLASSES])
{
    int64_t seen = 0;
    const eg_class_guide guide = {
        .look = look, .context = &seen, .outputs = CLASSES, .fan = 1, .decides = decides};
    eg_class_drawings d = {0};
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    for (int c = 0; c < CLASSES; c++)
        left[c] = class == EG_ANY_CLASS || class == c ? wanted : 0;
    assert_ok(eg_class_draw(&(eg_class_wish){.m = m,
                                             .class = class,
                                             .classes = CLASSES,
                                             .tries = 3,
                                             .left = left,
                                             .guide = &guide},
                            &rng, &d));
    return d;
}

static void test_only_what_the_guide_knows_is_taken(void **state)
{
    (void)state;
    eg_generator *m = machine();
    int64_t left[CLASSES];
    eg_class_drawings d = draw(m, look_in_turn, true, 1, 40, left);
    assert_int_equal(d.tried, 120); /* three times as many as wanted, of which a quarter fits */
    assert_int_equal(d.n, 30);
    assert_int_equal(left[1], 10);
    for (int64_t i = 0; i < d.n; i++) {
        assert_true(d.labels[i] == 1);
        assert_true(d.logits[i * CLASSES + 1] == 1);
    }
    eg_class_drawings_fini(&d);
    d = draw(m, look_in_turn, false, 1, 40, left);
    assert_int_equal(d.n, 40);
    assert_int_equal(d.tried, 40);
    eg_class_drawings_fini(&d);
    d = draw(m, look_in_turn, true, EG_ANY_CLASS, 5, left);
    assert_int_equal(d.n, 20); /* the guide says what each is */
    for (int64_t i = 0; i < d.n; i++)
        assert_true(d.labels[i] == (float)(i % CLASSES));
    eg_class_drawings_fini(&d);
    eg_generator_free(m);
}

static void test_what_is_not_finite_is_never_taken(void **state)
{
    (void)state;
    eg_generator *m = machine();
    int64_t left[CLASSES];
    eg_class_drawings d = draw(m, look_at_nothing, true, 1, 4, left);
    assert_int_equal(d.n, 0);
    eg_class_drawings_fini(&d);
    for (size_t i = 0; i < m->learners[0]->n_params; i++)
        m->learners[0]->param[i] = NAN;
    for (int decides = 0; decides < 2; decides++) {
        d = draw(m, look_in_turn, decides, 1, 4, left);
        assert_int_equal(d.n, 0);
        assert_int_equal(d.tried, 12);
        eg_class_drawings_fini(&d);
    }
    eg_generator_free(m);
}

static void test_a_trial_is_the_share_that_is_known(void **state)
{
    (void)state;
    eg_generator *m = machine();
    int64_t seen = 0;
    const eg_class_guide guide = {
        .look = look_in_turn, .context = &seen, .outputs = CLASSES, .fan = 1, .decides = true};
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    double share;
    assert_ok(eg_class_trial(m, 2, 200, &guide, &rng, &share));
    assert_near(share, 0.25, 0.011); /* 200 are six runs of 32 and eight more */
    eg_generator_free(m);
}

/* --- The loss through the real worker. */

#define TEXT                                                                                   \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 160, test: 20, classes: 4, size: 8, mean: 0.5, std: 0.5}\n"   \
    "model: {name: mlp, depth: 0}\n"                                                           \
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 2}\n"                   \
    "optimizer: {lr: 0.2}\n"                                                                   \
    "train: {epochs: 3, batch: 16}\n"                                                          \
    "class_replay: {lambda: 0.7, epochs: 4, settings: width=4 lr=0.002 batch=8, tries: 50}\n"  \
    "runs: [{label: a, method: [class-replay, probe]}]\n"

/* A part that holds every batch's gradient against its definition. */
static struct {
    double worst; /* of what gradients are off by */
    int64_t drawn, own;
} probed;

typedef struct probe_weights {
    const float *w, *b;
} probe_weights;

static probe_weights probe_at(const eg_client *c, const float *param)
{
    const eg_params *p = eg_net_params(c->net);
    return (probe_weights){param + eg_params_at(p, 0)->offset,
                           param + eg_params_at(p, 1)->offset};
}

static void probe_logits(probe_weights at, const float *x, double z[CLASSES])
{
    for (int k = 0; k < CLASSES; k++) {
        z[k] = (double)at.b[k];
        for (int d = 0; d < PIXELS; d++)
            z[k] += (double)at.w[k * PIXELS + d] * (double)x[d];
    }
}

/* The gradient by a row's logits, of (CE + 0.7 mean (z - guide's)^2 if it was drawn) / batch.
 */
static void probe_row(const eg_client *c, int64_t i, double dz[CLASSES])
{
    double z[CLASSES], guide[CLASSES], sum = 0;
    bool drawn = c->drawn[i].task == EG_OWN_ROW;
    probe_logits(probe_at(c, c->param), c->x + i * PIXELS, z);
    probe_logits(probe_at(c, c->global), c->x + i * PIXELS, guide);
    for (int k = 0; k < CLASSES; k++)
        sum += exp(z[k]);
    for (int k = 0; k < CLASSES; k++) {
        dz[k] = exp(z[k]) / sum - (k == (int)c->labels[i]);
        dz[k] += drawn ? 0.7 * 2 * (z[k] - guide[k]) / CLASSES : 0;
        dz[k] /= (double)c->batch;
    }
    *(drawn ? &probed.drawn : &probed.own) += 1;
}

static eg_status probe_grad(void *self, eg_client *c)
{
    static double dw[CLASSES][PIXELS], db[CLASSES];
    probe_weights got = probe_at(c, c->grad);
    (void)self;
    memset(dw, 0, sizeof dw);
    memset(db, 0, sizeof db);
    for (int64_t i = 0; i < c->batch; i++) {
        double dz[CLASSES];
        probe_row(c, i, dz);
        for (int k = 0; k < CLASSES; k++) {
            db[k] += dz[k];
            for (int d = 0; d < PIXELS; d++)
                dw[k][d] += dz[k] * (double)c->x[i * PIXELS + d];
        }
    }
    for (int k = 0; k < CLASSES; k++) {
        probed.worst = fmax(probed.worst, fabs(db[k] - (double)got.b[k]));
        for (int d = 0; d < PIXELS; d++)
            probed.worst = fmax(probed.worst, fabs(dw[k][d] - (double)got.w[k * PIXELS + d]));
    }
    return EG_OK;
}

static const eg_method probe = {.component = {"probe", "checks gradients", 0, NULL},
                                .client = {.grad = probe_grad}};

static void test_the_gradient_is_that_of_equation_2(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT, NULL);
    for (int round = 0; round < 4; round++)
        one_client_train(&o);
    assert_true(probed.drawn > 100 && probed.own > 100);
    assert_true(probed.worst < 1e-5);
    one_client_close(&o);
}

/* --- What a client keeps, and when it trains generators. */

static void test_generators_are_trained_when_they_are_needed(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        double second; /* trained in the second round of the same classes; -1: it depends */
    } cases[] = {
        {"class_replay.threshold=0", 0},
        {"class_replay.threshold=1", 2},
        {"class_replay.update=always", 2},
        {"class_replay.generators=single", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one_client o;
        one_client_open(&o, TEXT, cases[i].set);
        one_client_train(&o);
        assert_near(one_client_noted(&o, "class_replay.updates"), i == 3 ? 1 : 2, 0);
        assert_near(one_client_noted(&o, "class_replay.drawn"), 0, 0);
        one_client_train(&o);
        assert_near(one_client_noted(&o, "class_replay.updates"), cases[i].second, 0);
        one_client_close(&o);
    }
}

static void test_a_generator_goes_on_from_its_old_weights_and_steps(void **state)
{
    (void)state;
    one_client o;
    double first, second;
    one_client_open(&o, TEXT, "class_replay.update=always");
    one_client_train(&o);
    assert_true(eg_bundle_scalar_of(one_client_kept(&o, "class_replay.0"),
                                    "class_replay.0.critic.steps", &first));
    assert_null(one_client_kept(&o, "class_replay.2")); /* of the second task */
    one_client_train(&o);
    assert_true(eg_bundle_scalar_of(one_client_kept(&o, "class_replay.0"),
                                    "class_replay.0.critic.steps", &second));
    assert_true(first > 0);
    assert_near(second, 2 * first, 0);
    one_client_close(&o);
}

/* Adds an entry to a bundle; a tensor with a value all over if one is given. */
static void copy_entry(const eg_bundle_entry *e, const float *value, eg_bundle *to)
{
    float *room;
    if (e->is_scalar) {
        assert_ok(eg_bundle_scalar(to, e->name, e->scalar));
        return;
    }
    assert_ok(eg_bundle_room(to, e->name, e->shape, &room));
    for (size_t k = 0; k < e->n; k++)
        room[k] = value ? *value : e->values[k];
}

/* Puts a value all over a tensor of a class's generator, as the client keeps it. */
static void spoil(one_client *o, int class, const char *tensor, float value)
{
    char record[64], name[96];
    eg_bundle *spoilt;
    eg_bundle_entry e;
    snprintf(record, sizeof record, "class_replay.%d", class);
    snprintf(name, sizeof name, "%s.%s", record, tensor);
    const eg_bundle *kept = one_client_kept(o, record);
    assert_ok(eg_bundle_new(&spoilt));
    for (size_t i = 0; i < eg_bundle_n(kept); i++) {
        eg_bundle_at(kept, i, &e);
        copy_entry(&e, strcmp(e.name, name) == 0 ? &value : NULL, spoilt);
    }
    one_client_keep(o, 0, record, spoilt);
}

static void check_is_finite(const one_client *o)
{
    for (size_t i = 0; i < o->c->n_params; i++)
        assert_true(isfinite(o->c->param[i]));
}

static void test_a_generator_that_diverges_is_said_and_stays_as_it_was(void **state)
{
    (void)state;
    one_client o;
    double steps;
    one_client_open(&o, TEXT, "class_replay.update=always");
    one_client_train(&o);
    assert_true(eg_bundle_scalar_of(one_client_kept(&o, "class_replay.1"),
                                    "class_replay.1.critic.steps", &steps));
    spoil(&o, 1, "critic.param", 1e30f);
    one_client_train(&o);
    assert_near(one_client_noted(&o, "class_replay.diverged"), 1, 0);
    assert_near(one_client_noted(&o, "class_replay.updates"), 1, 0);
    double after;
    assert_true(eg_bundle_scalar_of(one_client_kept(&o, "class_replay.1"),
                                    "class_replay.1.critic.steps", &after));
    assert_near(after, steps, 0);
    check_is_finite(&o);
    one_client_close(&o);
}

static void test_broken_generators_are_said_and_survived(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT, NULL);
    one_client_train(&o);
    one_client_train(&o);
    spoil(&o, 0, "generator.param", NAN);
    spoil(&o, 1, "generator.param", NAN);
    one_client_train(&o); /* the second task: drawings of the first are wanted */
    assert_near(one_client_noted(&o, "class_replay.drawn"), 0, 0);
    assert_near(one_client_noted(&o, "class_replay.refused"), 2, 0);
    check_is_finite(&o);
    one_client_close(&o);
}

/* Four rounds, each of one class. */
#define ONE_BY_ONE                                                                             \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 80, test: 20, classes: 4, size: 8, mean: 0.5, std: 0.5}\n"    \
    "model: {name: mlp, depth: 0}\n"                                                           \
    "scenario: {kind: class-incremental, clients: 1, tasks: 4, rounds: 1}\n"                   \
    "train: {epochs: 1, batch: 16}\n"                                                          \
    "class_replay: {epochs: 1, settings: width=4 batch=8}\n"                                   \
    "runs: [{label: a, method: [class-replay, probe]}]\n"

static void test_a_turn_writes_the_records_that_changed(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, ONE_BY_ONE, NULL);
    for (int round = 0; round < CLASSES; round++) {
        int64_t before = o.kept[0].version;
        char path[FILES_PATH * 2], changed[64];
        eg_records_head head;
        size_t written = 0;
        snprintf(changed, sizeof changed, "class_replay.%d", round);
        one_client_train(&o);
        eg_records_path(o.store, 0, o.kept[0].version, path);
        assert_ok(eg_records_file_head(path, 0, &o.kept[0], &head));
        assert_int_equal(head.n_places, round + 2); /* counts, and a generator for each class */
        for (size_t i = 0; i < head.n_places; i++)
            if (head.places[i].file > before) {
                assert_true(strcmp(head.places[i].name, "class_replay") == 0 ||
                            strcmp(head.places[i].name, changed) == 0);
                written++;
            }
        assert_int_equal(written, 2);
        eg_records_head_fini(&head);
    }
    one_client_close(&o);
}

static void test_bad_settings_are_refused_in_words(void **state)
{
    (void)state;
    eg_class_replay_opts o = {.generator = "wgan-gp", .generators = EG_ONE_FOR_ALL};
    const eg_setting in = {.augments = false}, changed = {.augments = true};
    eg_wishes wishes = {0};
    assert_fails(eg_class_replay_setup(&o, &in, &wishes), EG_EINVAL, "set guided to true");
    snprintf(o.generator, sizeof o.generator, "paintbrush");
    assert_fails(eg_class_replay_setup(&o, &in, &wishes), EG_ENOENT,
                 "there is no generator 'paintbrush'");
    /* What is changed at random is not what the guide saw: without a pull nobody asks it. */
    o = (eg_class_replay_opts){.generator = "wgan-gp", .guided = true, .lambda = 0.3};
    assert_ok(eg_class_replay_setup(&o, &in, &wishes));
    assert_fails(eg_class_replay_setup(&o, &changed, &wishes), EG_EINVAL, "set lambda to 0");
    o.lambda = 0;
    assert_ok(eg_class_replay_setup(&o, &changed, &wishes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amounts_of_worked_cases),
        cmocka_unit_test(test_amounts_of_random_histories_are_within_bounds),
        cmocka_unit_test(test_portions_add_up_however_many_classes_there_are),
        cmocka_unit_test(test_only_what_the_guide_knows_is_taken),
        cmocka_unit_test(test_what_is_not_finite_is_never_taken),
        cmocka_unit_test(test_a_trial_is_the_share_that_is_known),
        cmocka_unit_test(test_the_gradient_is_that_of_equation_2),
        cmocka_unit_test(test_generators_are_trained_when_they_are_needed),
        cmocka_unit_test(test_a_generator_goes_on_from_its_old_weights_and_steps),
        cmocka_unit_test(test_a_generator_that_diverges_is_said_and_stays_as_it_was),
        cmocka_unit_test(test_broken_generators_are_said_and_survived),
        cmocka_unit_test(test_a_turn_writes_the_records_that_changed),
        cmocka_unit_test(test_bad_settings_are_refused_in_words),
    };
    if (eg_method_add(&probe) != EG_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
