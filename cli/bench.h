/* bench.h - what the benchmark's files share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_BENCH_H
#define EG_BENCH_H

#include <engram/model.h>
#include <engram/optim.h>

/* One network made ready to be measured: its plan, arrays and optimiser. */
typedef struct bench_job {
    eg_net *net;
    eg_graph *graph;
    eg_plan *plan;
    eg_optimizer *optimizer; /* NULL: evaluation */
    float *value, *grad, *state;
    int64_t batch;
    uint64_t step;
} bench_job;

/* Whether a word is a network: a model's name, vit-tiny-32, deit-tiny, or an experiment file.
 */
bool bench_job_knows(const char *model);
eg_status bench_job_open(bench_job *j, const char *model, int64_t batch, bool train);
void bench_job_close(bench_job *j);
/* One step: forward, and when training backward and the optimiser's update. */
eg_status bench_job_step(void *job);

/* The fastest step within the time, by a clock of choice, after three to warm up. */
typedef eg_status (*bench_step)(void *job);
eg_status bench_best(bench_step step, void *job, double (*clock)(void), double seconds,
                     double *best);

/* Prints every step of a training plan with its time; reorders are marked. */
eg_status bench_layers(const char *name, int64_t batch, bench_step step, void *job,
                       eg_plan *plan, double seconds);

/* This thread's own time: others on the machine do not count. Where several threads compute,
 * that of the clock. */
double bench_clock(void);

/* Prints how long batches take to assemble, beside a training step of cnn-small. */
eg_status bench_data(double seconds);

/* Prints the processor time of the convolutions of generators and critics, all passes. */
eg_status bench_convs(int64_t batch, double seconds);

/* Prints the processor time of a batch's gradient norms, sample by sample, beside that of a
 * training step. */
eg_status bench_norms(const char *model, int64_t batch, double seconds);

/* The processor time of the fastest iteration of FedCIL's client among about two per second:
 * the steps of both networks, width 64, batch 32, with all the rows that a later task has. */
eg_status bench_iteration(double seconds, double *best);

/* A program beside ours that measures the same, spoken to through pipes. */
typedef struct bench_peer {
    int pid;
    void *to, *from; /* FILE * */
    char about[512]; /* its first line: what it is */
} bench_peer;

eg_status bench_peer_open(bench_peer *p, const char *name);
/* Samples per second of the peer for the same job. */
eg_status bench_peer_measure(bench_peer *p, const char *model, int64_t batch, bool train,
                             double seconds, double *out);
void bench_peer_close(bench_peer *p);

/* Prints how fast a generator's training steps are, beside a peer unless it is NULL; every step
 * of the first one's plan. EG_ENOTSUP: none of this kind is measured. */
eg_status bench_generator(const char *kind, bench_peer *peer, double seconds);
eg_status bench_generator_layers(const char *kind, double seconds);

#endif
