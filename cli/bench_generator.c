/* bench_generator.c - `engram bench --generator`: training steps of networks that draw.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"

#include <engram/generator.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps that are measured: by the key of their program, and whose optimiser steps. The
 * iteration of an acgan is one of FedCIL's client (bench_iteration.c), and has several. */
static const struct {
    const char *kind, *program;
    size_t learner;
    int64_t channels, side, batch;
} generator_table[] = {
    {"wgan-gp", "critic", 1, 1, 28, 64},  {"wgan-gp", "fool", 0, 1, 28, 64},
    {"wgan-gp", "critic", 1, 3, 32, 64},  {"wgan-gp", "fool", 0, 3, 32, 64},
    {"acgan", "critic", 1, 1, 32, 32},    {"acgan", "fool", 0, 1, 32, 32},
    {"acgan", "iteration", 0, 1, 32, 32}, {"ddpm", "denoise", 1, 1, 28, 32},
};

enum { GENERATOR_ROWS = sizeof generator_table / sizeof *generator_table, FIRST_STEPS = 10 };

typedef struct generator_job {
    eg_generator *machine;
    eg_plan *plan;
    eg_learner *learner;
} generator_job;

/* The machine takes its first steps on noise, so that its programs are there, inputs filled. */
static eg_status generator_warm(eg_generator *m, int64_t batch)
{
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    float *x = malloc((size_t)(batch * m->pixels) * sizeof *x);
    float *labels = malloc((size_t)batch * sizeof *labels);
    if (x && labels)
        for (int64_t i = 0; i < batch * m->pixels; i++)
            x[i] = (float)eg_rng_uniform(&rng, -1, 1);
    for (int64_t i = 0; labels && i < batch; i++)
        labels[i] = (float)(i % m->classes);
    eg_status s = x && labels ? eg_generator_train(m, &(eg_images){batch, x, labels},
                                                   FIRST_STEPS, &rng, NULL)
                              : eg_fail(EG_ENOMEM, "no memory for a batch");
    free(x);
    free(labels);
    return s;
}

/* A run of its own, which is not opened here. */
static bool generator_iterates(int row)
{
    return strcmp(generator_table[row].program, "iteration") == 0;
}

static eg_status generator_open(generator_job *j, int row)
{
    char options[32];
    eg_program *program;
    int64_t side = generator_table[row].side, batch = generator_table[row].batch;
    snprintf(options, sizeof options, "batch=%lld", (long long)batch);
    const eg_generator_spec spec = {.kind = generator_table[row].kind,
                                    .options = options,
                                    .channels = generator_table[row].channels,
                                    .height = side,
                                    .width = side,
                                    .classes = 10};
    EG_TRY(eg_generator_new(&spec, &j->machine));
    eg_generator_init(j->machine, 1);
    EG_TRY(generator_warm(j->machine, batch));
    EG_TRY(
        eg_generator_program(j->machine, generator_table[row].program, NULL, NULL, &program));
    j->learner = j->machine->learners[generator_table[row].learner];
    return eg_program_plan(program, batch, &j->plan);
}

static eg_status generator_step(void *job)
{
    generator_job *j = job;
    EG_TRY(eg_plan_run(j->plan));
    eg_optimizer_step(j->learner->optimizer, j->learner->param, j->learner->grad);
    return EG_OK;
}

/* Whether a row is of the kind that a user named. */
static bool generator_is(int row, const char *kind)
{
    const eg_generator_kind *found = eg_generator_find(generator_table[row].kind);
    return found && eg_name_equal(found->component.name, kind);
}

/* As the table of networks: ours and the peer in turn, the better of two each. */
static eg_status generator_row(int row, bench_peer *peer, double seconds)
{
    generator_job j = {0};
    char name[64];
    double ours = 1e9, theirs = 0, batch = (double)generator_table[row].batch;
    snprintf(name, sizeof name, "%s/%s/%lldx%lld", generator_table[row].kind,
             generator_table[row].program, (long long)generator_table[row].channels,
             (long long)generator_table[row].side);
    bool iterates = generator_iterates(row);
    eg_status s = iterates ? EG_OK : generator_open(&j, row);
    for (int turn = 0; turn < 2 && s == EG_OK; turn++) {
        double best = 0, samples = 0;
        s = iterates ? bench_iteration(seconds / 2, &best)
                     : bench_best(generator_step, &j, bench_clock, seconds / 2, &best);
        if (s == EG_OK && peer)
            s = bench_peer_measure(peer, name, (int64_t)batch, true, seconds / 2, &samples);
        ours = best < ours ? best : ours;
        theirs = samples > theirs ? samples : theirs;
    }
    if (s == EG_OK) {
        char rate[16] = "-"; /* of one plan alone */
        if (j.plan)
            snprintf(rate, sizeof rate, "%.1f", 1e-9 * eg_plan_flops(j.plan) / ours);
        printf("%-24s %5.0f %10.3f %9s", name, batch, 1e3 * ours, rate);
        if (peer)
            printf(" %10.3f %7.2f", 1e3 * batch / theirs, batch / ours / theirs);
        printf("\n");
        fflush(stdout);
    }
    eg_generator_free(j.machine);
    return s;
}

eg_status bench_generator(const char *kind, bench_peer *peer, double seconds)
{
    bool found = false;
    printf("%d thread%s, %s%s%s; %s time of the fastest step, with Adam\n\n%-24s %5s "
           "%10s %9s%s\n",
           eg_threads(), eg_threads() > 1 ? "s" : "", eg_isa_name(), peer ? "; peer " : "",
           peer ? peer->about : "", eg_threads() > 1 ? "the clock's" : "processor", "step",
           "batch", "ms", "GFLOP/s", peer ? "    peer ms   ratio" : "");
    for (int i = 0; i < GENERATOR_ROWS; i++)
        if (generator_is(i, kind)) {
            EG_TRY(generator_row(i, peer, seconds));
            found = true;
        }
    return found ? EG_OK : eg_fail(EG_ENOTSUP, "no step of %s is measured", kind);
}

eg_status bench_generator_layers(const char *kind, double seconds)
{
    int row = 0;
    generator_job j = {0};
    while (row < GENERATOR_ROWS && !generator_is(row, kind))
        row++;
    if (row == GENERATOR_ROWS)
        return eg_fail(EG_ENOTSUP, "no step of %s is measured", kind);
    eg_status s = generator_open(&j, row);
    if (s == EG_OK)
        s = bench_layers(generator_table[row].kind, generator_table[row].batch, generator_step,
                         &j, j.plan, seconds);
    eg_generator_free(j.machine);
    return s;
}
