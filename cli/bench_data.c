/* bench_data.c - `engram bench --data`: how long batches take to assemble.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"

#include <engram/transform.h>

#include <stdio.h>
#include <stdlib.h>

enum { BENCH_BATCH = 32, BENCH_PIXELS = 28 * 28 };

/* Mean microseconds of a batch of random rows, as training draws them: mostly not in a cache.
 */
static eg_status bench_data_fill(const eg_table *t, const eg_transform *how, double seconds,
                                 double *us)
{
    eg_recipe *recipe;
    EG_TRY(eg_recipe_new(how, t, &recipe));
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    static float x[BENCH_BATCH * BENCH_PIXELS];
    int64_t rows[BENCH_BATCH];
    double spent = 0;
    int n = 0;
    for (double end = eg_seconds() + seconds; eg_seconds() < end; n++) {
        for (int i = 0; i < BENCH_BATCH; i++)
            rows[i] = (int64_t)eg_rng_below(&rng, (uint64_t)t->n);
        double start = eg_seconds();
        eg_recipe_fill(recipe, t, rows, BENCH_BATCH, &rng, x);
        spent += eg_seconds() - start;
    }
    eg_recipe_free(recipe);
    *us = 1e6 * spent / n;
    return EG_OK;
}

/* Mean microseconds of a training step of cnn-small. */
static eg_status bench_data_step(double seconds, double *us)
{
    bench_job j;
    eg_status s = bench_job_open(&j, "cnn-small", BENCH_BATCH, true);
    int n = 0;
    double start = eg_seconds(), end = start + seconds;
    for (; s == EG_OK && eg_seconds() < end; n++)
        s = bench_job_step(&j);
    *us = 1e6 * (eg_seconds() - start) / n;
    bench_job_close(&j);
    return s;
}

static eg_status bench_data_table(const eg_table *t, double seconds)
{
    static int32_t permutation[BENCH_PIXELS];
    for (int i = 0; i < BENCH_PIXELS; i++)
        permutation[i] = (i * 611 + 7) % BENCH_PIXELS; /* 611 shares no factor with 784 */
    const struct {
        const char *name;
        eg_transform how;
    } rows[] = {
        {"scaled", {.angle = 0}},
        {"rotated", {.angle = 33}},
        {"permuted", {.permutation = permutation}},
        {"crop, flip, cutout", {.pad = 4, .flip = true, .cutout = 14}},
    };
    double step, us;
    EG_TRY(bench_data_step(seconds / 4, &step));
    printf("a training step of cnn-small, batch %d: %.0f us\n\n%-20s %9s %13s\n", BENCH_BATCH,
           step, "batch of 32", "us", "of the step");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EG_TRY(bench_data_fill(t, &rows[i].how, seconds / 4, &us));
        printf("%-20s %9.1f %11.1f %%\n", rows[i].name, us, 100 * us / step);
    }
    return EG_OK;
}

eg_status bench_data(double seconds)
{
    eg_table t = {0};
    EG_TRY(eg_dataset_load(eg_dataset_find("glyphs"), NULL, NULL, EG_TRAIN, &t));
    eg_status s = bench_data_table(&t, seconds);
    eg_table_fini(&t);
    return s;
}
