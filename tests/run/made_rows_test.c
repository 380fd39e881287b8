/* made_rows_test.c - rows that a part made, trained on among a round's samples.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The part's hooks see every batch and fail with a sentence where one is not as it should be.
 */
#include "fixture.h"
#include "method_wishes.h"

#include <engram/method.h>
#include <math.h>
#include <stdlib.h>

#include "run/client/outputs.h"

enum { SIDE = 8, PIXELS = SIDE * SIDE, CLASSES = 4, MADE = 6 };

/* Black is -1 to the network. Two clients of 20 samples per task: 26 rows per round, in
 * batches. */
#define TEXT(method)                                                                           \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 80, test: 20, classes: 4, size: 8, mean: 0.5, std: 0.5}\n"    \
    "model: {name: mlp, depth: 1, width: 8}\n"                                                 \
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}\n"   \
    "memory: {kind: reservoir, size: 100}\n"                                                   \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "train: {epochs: 2, batch: 8}\n"                                                           \
    "re_fed: {size: 15, epochs: 2}\n"                                                          \
    "fedcil: {width: 4, steps: 2}\n"                                                           \
    "dualprompt: {pool: 2}\n"                                                                  \
    "dgr: {width: 4}\n"                                                                        \
    "class_replay: {epochs: 2, settings: width=2 batch=4}\n"                                   \
    "pfedgrp: {epochs: 2, settings: width=2 batch=4, server_epochs: 2}\n"                      \
    "target: {rounds: 3, batch: 4, steps: 2, warmup: 1, lessons: 2, noise: 4, width: 4}\n"     \
    "lander: {rounds: 3, batch: 4, steps: 2, warmup: 1, lessons: 2, noise: 4, width: 4}\n"     \
    "mfcl: {batch: 4, steps: 3, noise: 4, width: 4, replay: 5}\n"                              \
    "runs: [{label: a, method: " method "}]\n"

static bool same_values(const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        if (!(a[i] == b[i]))
            return false;
    return true;
}

/* A row that tells its number: dark, with one pixel of its own brightness near a corner. */
static void made_row(int64_t id, float *x)
{
    for (int i = 0; i < PIXELS; i++)
        x[i] = -0.5F;
    x[SIDE + 1] = 0.125F * (float)(id + 1);
}

static float made_label(int64_t id)
{
    return (float)(id % CLASSES);
}

/* A turn of the part. */
typedef struct made_turn {
    int64_t first; /* the number of its first row: another part may have made some too */
} made_turn;

static int64_t made_n_rows(const eg_client *c)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->n_samples; i++)
        n += c->samples[i].task == EG_OWN_ROW;
    return n;
}

/* In two pieces, so that a table must grow and numbers go on. */
static eg_status made_samples(void *self, eg_client *c)
{
    made_turn *t = self;
    float x[MADE * PIXELS], labels[MADE];
    int64_t before = c->n_samples;
    t->first = c->n_rows;
    for (int64_t i = 0; i < MADE; i++) {
        made_row(i, x + i * PIXELS);
        labels[i] = made_label(i);
    }
    if (c->n_rows != made_n_rows(c))
        return eg_fail(EG_EINVAL, "rows are left of another turn");
    EG_TRY(eg_client_add_rows(c, x, labels, 2));
    EG_TRY(eg_client_add_rows(c, x + 2 * PIXELS, labels + 2, MADE - 2));
    if (c->n_rows != t->first + MADE || c->n_samples != before + MADE)
        return eg_fail(EG_EINVAL, "%lld rows", (long long)c->n_rows);
    memset(x, 0, sizeof x); /* they were copied */
    return EG_OK;
}

/* What a batch may make of row id, turned by k quarters: with crops and flips its pixels move,
 * and what comes in from outside is black. */
static bool made_is(const eg_client *c, const float *x, int64_t id, int64_t k)
{
    static const int place[] = {SIDE + 1, (SIDE - 2) * SIDE + 1, (SIDE - 2) * SIDE + SIDE - 2,
                                SIDE + SIDE - 2};
    float want[PIXELS], bright = 0.125F * (float)(id + 1);
    const eg_data_opts *d = &c->worker->e->data;
    int n_bright = 0, n_strange = 0;
    made_row(id, want);
    want[SIDE + 1] = -0.5F;
    want[place[k]] = bright;
    if (!d->crop && !d->flip && !d->cutout)
        return same_values(x, want, PIXELS);
    for (int i = 0; i < PIXELS; i++) {
        n_bright += fabsf(x[i] - bright) < 1e-9F;
        n_strange += fabsf(x[i] - bright) > 1e-9F && fabsf(x[i] + 0.5F) > 1e-9F &&
                     (d->cutout ? fabsf(x[i]) : fabsf(x[i] + 1)) > 1e-9F;
    }
    return n_strange == 0 && (n_bright == 1 || (n_bright == 0 && d->cutout));
}

static eg_status made_grad(void *self, eg_client *c)
{
    const made_turn *t = self;
    int64_t fan = eg_train_fan(c->train);
    for (int64_t i = 0; i < c->n_drawn; i++) {
        int64_t id = c->drawn[i].id - t->first, turn = i % fan;
        if (c->drawn[i].task != EG_OWN_ROW)
            continue;
        if (id < -t->first || id >= c->n_rows - t->first)
            return eg_fail(EG_EINVAL, "row %lld is nobody's", (long long)c->drawn[i].id);
        if (id < 0 || id >= MADE)
            continue; /* another part's */
        if (!made_is(c, c->x + i * PIXELS, id, turn))
            return eg_fail(EG_EINVAL, "row %lld of the batch is not row %lld of the part's",
                           (long long)i, (long long)id);
        float label = made_label(id) * (float)fan + (float)turn;
        if (fabsf(c->labels[i] - label) > 0)
            return eg_fail(EG_EINVAL, "row %lld has the label %g, not %g", (long long)id,
                           (double)c->labels[i], (double)label);
    }
    return EG_OK;
}

/* All of the memory's rows are real ones: none has a made row's paper. */
static eg_status made_trained(void *self, eg_client *c)
{
    (void)self;
    const eg_memory_rows kept = c->memory ? eg_memory_get(c->memory) : (eg_memory_rows){0};
    for (int64_t i = 0; i < kept.n; i++) {
        int64_t paper = 0;
        for (int k = 0; k < PIXELS; k++)
            paper += fabsf(kept.x[i * PIXELS + k] + 0.5F) < 1e-9F;
        if (paper > PIXELS / 2)
            return eg_fail(EG_EINVAL, "the memory has a row that a part made");
    }
    return EG_OK;
}

static const eg_method made = {
    .component = {.name = "made", .help = "adds six rows of its own to every round"},
    .client = {.size = sizeof(made_turn),
               .samples = made_samples,
               .grad = made_grad,
               .trained = made_trained},
};

static void test_made_rows_come_as_they_are_with_every_change_of_images(void **state)
{
    (void)state;
    static const char *const sets[] = {NULL,
                                       "train.rotations=true",
                                       "data.crop=1",
                                       "data.flip=true",
                                       "data.cutout=3",
                                       "train.steps=5",
                                       "train.batch=5"};
    char path[512];
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_ok(fixture_run(TEXT("[made, er]"), sets[i], 1, 0, path));
}

/* How often each row came in the round, and in which batch. */
static struct {
    int64_t batches, rows, times[MADE], made_in[64];
} counted;

static eg_status count_grad(void *self, eg_client *c)
{
    (void)self;
    if (c->id != 0 || c->round != 0 || counted.batches == 64)
        return EG_OK;
    for (int64_t i = 0; i < c->n_drawn; i++) {
        bool own = c->drawn[i].task == EG_OWN_ROW;
        counted.rows++;
        counted.made_in[counted.batches] += own;
        counted.times[own ? c->drawn[i].id : 0] += own;
    }
    counted.batches++;
    return EG_OK;
}

static const eg_method count = {
    .component = {.name = "count", .help = "counts the rows that parts made"},
    .client = {.grad = count_grad},
};

static void test_made_rows_are_shuffled_among_the_samples_of_every_epoch(void **state)
{
    (void)state;
    char path[512];
    int64_t with = 0;
    memset(&counted, 0, sizeof counted);
    assert_ok(fixture_run(TEXT("[made, count]"), "train.epochs=3", 1, 0, path));
    assert_int_equal(counted.rows, 3 * (20 + MADE));
    for (int i = 0; i < MADE; i++)
        assert_int_equal(counted.times[i], 3);
    for (int64_t i = 0; i < counted.batches; i++)
        with += counted.made_in[i] > 0;
    assert_true(with > 3); /* not the last batch of each epoch alone */
}

/* The upload counts real samples alone. */
static void test_made_rows_do_not_weigh(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(TEXT("made"), NULL, 1, 0, path));
    eg_events *events = fixture_events(path);
    for (size_t i = 0; i < events->n_round; i++)
        assert_int_equal(events->round[i].samples, 40);
    eg_events_free(events);
}

/* Rows of no known task may be of any that was met: classes 0 and 1 in the first, 2 and 3. */
static eg_status told_grad(void *self, eg_client *c)
{
    (void)self;
    const float *mask = eg_plan_input(c->plan, "mask");          /* [batch, classes] */
    const float *open = eg_plan_input(c->plan, EG_OUTPUTS_OPEN); /* [batch, tasks] */
    for (int64_t i = 0; i < c->n_drawn; i++) {
        bool own = c->drawn[i].task == EG_OWN_ROW;
        for (int64_t k = 0; mask && k < CLASSES; k++) {
            bool met = k / 2 <= c->view.stage && (own || k / 2 == c->drawn[i].task);
            if ((mask[i * CLASSES + k] >= 0) != (met || k == (int64_t)c->labels[i]))
                return eg_fail(EG_EINVAL, "class %lld of row %lld", (long long)k, (long long)i);
        }
        for (int64_t t = 0; open && t < 2; t++)
            if ((open[i * 2 + t] > 0) != (own ? t <= c->view.stage : t == c->drawn[i].task))
                return eg_fail(EG_EINVAL, "task %lld of row %lld", (long long)t, (long long)i);
    }
    return mask || open ? EG_OK : eg_fail(EG_EINVAL, "there is nothing to look at");
}

static const eg_method told = {
    .component = {.name = "told", .help = "checks what rows may be"},
    .client = {.grad = told_grad},
};

static void test_made_rows_may_be_of_any_task_that_was_met(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(TEXT("[made, told]"), "train.classes=task", 1, 0, path));
    assert_ok(fixture_run(TEXT("[made, told, shared]"), NULL, 1, 0, path));
}

/* A look at samples that parts made is a look at their rows. */
static eg_status looking_trained(void *self, eg_client *c)
{
    (void)self;
    float x[MADE * PIXELS], labels[MADE], by_sample[MADE], by_row[MADE];
    eg_sample samples[MADE];
    for (int64_t i = 0; i < MADE; i++) {
        samples[i] = (eg_sample){EG_OWN_ROW, i};
        made_row(i, x + i * PIXELS);
        labels[i] = made_label(i);
    }
    EG_TRY(eg_client_look(c, NULL, &(eg_rows){.n = MADE, .samples = samples},
                          &(eg_look){.losses = by_sample}));
    EG_TRY(eg_client_look(c, NULL, &(eg_rows){.n = MADE, .x = x, .labels = labels},
                          &(eg_look){.losses = by_row}));
    return same_values(by_sample, by_row, MADE) ? EG_OK
                                                : eg_fail(EG_EINVAL, "the losses differ");
}

static const eg_method looking = {
    .component = {.name = "looking", .help = "looks at rows that parts made"},
    .client = {.trained = looking_trained},
};

static void test_made_rows_can_be_looked_at_until_the_turn_ends(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(TEXT("[made, looking]"), NULL, 1, 0, path));
    assert_ok(fixture_run(TEXT("[made, looking]"), "train.classes=task", 1, 0, path));
}

static eg_status wrong_samples(void *self, eg_client *c)
{
    (void)self;
    static const float x[2 * PIXELS];
    return eg_client_add_rows(c, x, (const float[]){1, 2.5F}, 2);
}

static eg_status beyond_samples(void *self, eg_client *c)
{
    (void)self;
    static const float x[PIXELS];
    return eg_client_add_rows(c, x, (const float[]){CLASSES}, 1);
}

static const eg_method wrong = {
    .component = {.name = "wrong", .help = "half a class"},
    .client = {.samples = wrong_samples},
};
static const eg_method beyond = {
    .component = {.name = "beyond", .help = "a class too many"},
    .client = {.samples = beyond_samples},
};

static void test_a_label_that_is_no_class_is_refused(void **state)
{
    (void)state;
    char path[512];
    assert_fails(fixture_run(TEXT("wrong"), NULL, 1, 0, path), EG_EINVAL,
                 "wrong: row 1 is of class 2.5, but classes are 0 to 3");
    assert_fails(fixture_run(TEXT("beyond"), NULL, 1, 0, path), EG_EINVAL,
                 "beyond: row 0 is of class 4, but classes are 0 to 3");
}

/* Two ways to carry out a run of the part and another, in this order. */
static void check_pair(const char *first, const char *second, const char *set)
{
    char text[1024], path[512], one[65], other[65];
    snprintf(text, sizeof text, TEXT("[%s, %s]"), first, second);
    assert_ok(fixture_run(text, set, 1, 0, path));
    runs_hash(path, one);
    assert_ok(fixture_run(text, set, -2, 3, path));
    runs_hash(path, other);
    assert_string_equal(one, other);
}

static void test_every_method_bears_rows_that_another_part_made(void **state)
{
    (void)state;
    for (const eg_method *const *m = eg_methods; *m; m++) {
        if ((*m)->features) { /* takes a transformer alone, and this network is none */
            char text[1024], path[512];
            snprintf(text, sizeof text, TEXT("[made, %s]"), (*m)->component.name);
            assert_true(fixture_run(text, NULL, 1, 0, path) != EG_OK);
            assert_true(strstr(eg_error(), "no transformer") ||
                        strstr(eg_error(), "no tensor"));
            continue;
        }
        check_pair("made", (*m)->component.name,
                   method_augments(*m) ? "data.flip=true" : "data.flip=false");
        if (method_rotates(*m))
            check_pair((*m)->component.name, "made", "train.rotations=true");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_rows_come_as_they_are_with_every_change_of_images),
        cmocka_unit_test(test_made_rows_are_shuffled_among_the_samples_of_every_epoch),
        cmocka_unit_test(test_made_rows_do_not_weigh),
        cmocka_unit_test(test_made_rows_may_be_of_any_task_that_was_met),
        cmocka_unit_test(test_made_rows_can_be_looked_at_until_the_turn_ends),
        cmocka_unit_test(test_a_label_that_is_no_class_is_refused),
        cmocka_unit_test(test_every_method_bears_rows_that_another_part_made),
    };
    const eg_method *const parts[] = {&made, &count, &told, &looking, &wrong, &beyond};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (eg_method_add(parts[i]) != EG_OK)
            return 1;
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
