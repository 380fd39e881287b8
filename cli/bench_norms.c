/* bench_norms.c - `engram bench --norms`: what every sample's gradient norm costs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"

#include <engram/op.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The norms of a batch, in eval form, for the job's network and values. */
static eg_status bench_norms_compile(const bench_job *j, eg_graph *g, eg_plan **plan)
{
    const eg_net_spec *n = eg_net_spec_of(j->net);
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(j->batch, n->channels, n->height, n->width));
    eg_node *labels = eg_one_hot(g, eg_input(g, "labels", eg_dims(j->batch)), n->classes);
    eg_node *losses = eg_cross_entropies(g, eg_net_forward(j->net, g, x), labels);
    const eg_params *table = eg_net_params(j->net);
    eg_output(g, "norms", eg_sample_norms(g, losses, table));
    EG_TRY(eg_compile(g, plan));
    EG_TRY(eg_plan_bind(*plan, table, j->value, NULL, j->state));
    size_t sample = (size_t)(n->channels * n->height * n->width);
    memcpy(eg_plan_input(*plan, "x"), eg_plan_input(j->plan, "x"),
           (size_t)j->batch * sample * sizeof(float));
    memcpy(eg_plan_input(*plan, "labels"), eg_plan_input(j->plan, "labels"),
           (size_t)j->batch * sizeof(float));
    return EG_OK;
}

/* The fastest step and the fastest norms, taken in turns. */
static eg_status bench_norms_best(bench_job *j, eg_plan *norms, double seconds, double best[2])
{
    best[0] = best[1] = 1e9;
    double end = bench_clock() + seconds;
    for (int i = 0; i < 8 || bench_clock() < end; i++) {
        double start = bench_clock();
        EG_TRY(i % 2 == 0 ? bench_job_step(j) : eg_plan_run(norms));
        double took = bench_clock() - start;
        best[i % 2] = took < best[i % 2] ? took : best[i % 2];
    }
    return EG_OK;
}

eg_status bench_norms(const char *model, int64_t batch, double seconds)
{
    bench_job j;
    eg_graph *g = NULL;
    eg_plan *plan = NULL;
    double best[2];
    eg_status s = bench_job_open(&j, model, batch, true);
    if (s == EG_OK)
        s = eg_graph_new(&g);
    if (s == EG_OK)
        s = bench_norms_compile(&j, g, &plan);
    if (s == EG_OK)
        s = bench_norms_best(&j, plan, seconds, best);
    if (s == EG_OK)
        printf("%-14s %5lld  step %8.3f ms  norms %8.3f ms  ratio %5.2f\n", model,
               (long long)batch, 1e3 * best[0], 1e3 * best[1], best[1] / best[0]);
    eg_plan_free(plan);
    eg_graph_free(g);
    bench_job_close(&j);
    return s;
}
