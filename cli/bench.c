/* bench.c - `engram bench`: training and evaluation speed, beside a peer, or layer by layer.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"
#include "cli.h"

#include <engram/generator.h>

#include <stdio.h>
#include <string.h>

typedef struct bench_options {
    const char *peer, *model, *generator;
    int64_t batch;
    double seconds;
    bool layers, data, norms, convs, json;
} bench_options;

typedef struct bench_row {
    const char *model;
    int64_t batch;
    bool train;
    double samples, gflops, share, peer_samples;
} bench_row;

static const struct {
    const char *model;
    int64_t batch;
} bench_table[] = {
    {"cnn-small", 32},
    {"cnn", 10},
    {"cnn", 32},
    {"cnn", 64},
    {"resnet18-thin", 64},
    {"resnet18", 32},
    {"tiny-yolo-thin", 16},
    {"tiny-yolo", 16},
    {"tiny-yolo-416", 4},
};

enum { BENCH_TABLE = sizeof bench_table / sizeof *bench_table };

eg_status bench_best(bench_step step, void *job, double (*clock)(void), double seconds,
                     double *best)
{
    for (int i = 0; i < 3; i++)
        EG_TRY(step(job));
    *best = 1e9;
    double end = clock() + seconds;
    for (int i = 0; i < 3 || clock() < end; i++) {
        double start = clock();
        EG_TRY(step(job));
        double took = clock() - start;
        *best = took < *best ? took : *best;
    }
    return EG_OK;
}

/* Ours, the peer, ours again, the peer again: the better of two each, since machines waver. */
static eg_status bench_measure(const bench_options *o, bench_peer *peer, double peak,
                               bench_row *row)
{
    bench_job j;
    bool own = strncmp(row->model, "tiny-yolo", strlen("tiny-yolo")) == 0; /* as the peer */
    eg_status s = bench_job_open(&j, row->model, row->batch, row->train);
    for (int turn = 0; turn < 2 && s == EG_OK; turn++) {
        double best = 0, samples = 0;
        s = bench_best(bench_job_step, &j, own ? bench_clock : eg_seconds, o->seconds / 2,
                       &best);
        if (s == EG_OK && peer)
            s = bench_peer_measure(peer, row->model, row->batch, row->train, o->seconds / 2,
                                   &samples);
        if (s == EG_OK && (double)row->batch / best > row->samples) {
            row->samples = (double)row->batch / best;
            row->gflops = 1e-9 * eg_plan_flops(j.plan) / best;
            row->share = row->gflops / peak;
        }
        row->peer_samples = samples > row->peer_samples ? samples : row->peer_samples;
    }
    bench_job_close(&j);
    return s;
}

static void bench_print(const bench_row *r, const bench_options *o, bool first)
{
    const char *mode = r->train ? "train" : "eval";
    double ratio = r->peer_samples > 0 ? r->samples / r->peer_samples : 0;
    if (o->json) {
        printf(
            "%s\n  {\"model\": \"%s\", \"batch\": %lld, \"mode\": \"%s\", \"samples_per_s\": "
            "%.1f, \"gflops\": %.2f, \"peak_share\": %.3f",
            first ? "" : ",", r->model, (long long)r->batch, mode, r->samples, r->gflops,
            r->share);
        if (o->peer)
            printf(", \"peer\": \"%s\", \"peer_samples_per_s\": %.1f, \"ratio\": %.2f}",
                   o->peer, r->peer_samples, ratio);
        else
            printf(", \"peer\": null, \"peer_samples_per_s\": null, \"ratio\": null}");
    } else {
        printf("%-14s %5lld  %-5s %11.0f %9.1f %5.0f %%", r->model, (long long)r->batch, mode,
               r->samples, r->gflops, 100 * r->share);
        if (o->peer)
            printf(" %11.0f %7.2f", r->peer_samples, ratio);
        printf("\n");
    }
    fflush(stdout);
}

static bool bench_wanted(const bench_options *o, int i)
{
    return (!o->model || strcmp(o->model, bench_table[i].model) == 0) &&
           (!o->batch || o->batch == bench_table[i].batch);
}

static eg_status bench_run_table(const bench_options *o, bench_peer *peer)
{
    double peak = eg_isa_peak_gflops();
    bool first = true, found = false;
    if (o->json)
        printf("[");
    else
        printf("%d thread%s, %s, measured peak %.0f GFLOP/s%s%s\n\n%-14s %5s  %-5s %11s %9s "
               "%7s%s\n",
               eg_threads(), eg_threads() > 1 ? "s" : "", eg_isa_name(), peak,
               peer ? "; peer " : "", peer ? peer->about : "", "model", "batch", "mode",
               "samples/s", "GFLOP/s", "of peak", peer ? "      peer/s   ratio" : "");
    for (int i = 0; i < 2 * BENCH_TABLE + 2; i++) {
        bench_row row = {.train = i % 2 == 0};
        if (i < 2 * BENCH_TABLE && bench_wanted(o, i / 2)) {
            row.model = bench_table[i / 2].model;
            row.batch = bench_table[i / 2].batch;
            found = true;
        } else if (i >= 2 * BENCH_TABLE && !found && o->model) {
            row.model = o->model;
            row.batch = o->batch ? o->batch : 32;
        } else {
            continue;
        }
        EG_TRY(bench_measure(o, peer, peak, &row));
        bench_print(&row, o, first);
        first = false;
    }
    if (o->json)
        printf("\n]\n");
    return EG_OK;
}

static void bench_print_layers(const eg_plan *plan)
{
    double total = 0, weights = 0;
    int activations = 0;
    for (size_t i = 0; i < eg_plan_n_steps(plan); i++) {
        eg_step_info t = eg_plan_step_info(plan, i);
        double one = t.seconds;
        total += one;
        weights += t.reorder && !t.activation ? one : 0;
        activations += t.activation;
        char rate[32] = "";
        if (t.flops > 0)
            snprintf(rate, sizeof rate, "%9.1f", 1e-9 * t.flops / one);
        printf("%-22s %-22s %-22s %9.1f %9s%s\n", t.op, t.shape, t.kernel, 1e6 * one, rate,
               t.activation ? "  reorder of activations"
               : t.reorder  ? "  reorder of weights"
                            : "");
    }
    printf("\n%zu steps, %.3f ms; arena %.1f MB; %d reorders of activations; reorders of "
           "weights %.3f ms\n",
           eg_plan_n_steps(plan), 1e3 * total, 1e-6 * (double)eg_plan_bytes(plan), activations,
           1e3 * weights);
}

eg_status bench_layers(const char *name, int64_t batch, bench_step step, void *job,
                       eg_plan *plan, double seconds)
{
    double best = 0;
    EG_TRY(bench_best(step, job, eg_seconds, seconds / 2, &best));
    eg_plan_set_timing(plan, true);
    double end = eg_seconds() + seconds / 2;
    for (int runs = 0; runs < 3 || eg_seconds() < end; runs++)
        EG_TRY(step(job));
    printf("%s, batch %lld, training step %.3f ms, %s\n\n%-22s %-22s %-22s %9s %9s\n", name,
           (long long)batch, 1e3 * best, eg_isa_name(), "op", "result", "kernel", "us",
           "GFLOP/s");
    bench_print_layers(plan);
    return EG_OK;
}

static eg_status bench_run_layers(const bench_options *o)
{
    bench_job j;
    const char *model = o->model ? o->model : "resnet18";
    if (o->generator)
        return bench_generator_layers(o->generator, o->seconds);
    eg_status s = bench_job_open(&j, model, o->batch ? o->batch : 32, true);
    if (s == EG_OK)
        s = bench_layers(model, j.batch, bench_job_step, &j, j.plan, o->seconds);
    bench_job_close(&j);
    return s;
}

/* Gradient norms of one model, or of one without and one with batch norm. */
static eg_status bench_run_norms(const bench_options *o)
{
    int64_t batch = o->batch ? o->batch : 64;
    if (o->model)
        return bench_norms(o->model, batch, o->seconds);
    EG_TRY(bench_norms("cnn", batch, o->seconds));
    return bench_norms("resnet18-thin", batch, o->seconds);
}

static const cli_option bench_rows[] = {
    CLI_TEXT("--peer", "NAME", bench_options, peer,
             "PyTorch beside it, after tools/setup torch", .words = "torch"),
    CLI_FLAG("--layers", bench_options, layers,
             "every step of one network: kernel, time, GFLOP/s"),
    CLI_FLAG("--norms", bench_options, norms,
             "a gradient norm for every sample, against a training step"),
    CLI_FLAG("--convs", bench_options, convs,
             "the convolutions of generators and critics, each pass alone"),
    CLI_FLAG("--data", bench_options, data, "what making batches costs"),
    CLI_TEXT("--model", "NAME", bench_options, model,
             "this network alone, by name or experiment file"),
    CLI_MEMBER("--generator", "NAME", bench_options, generator, eg_generator_family,
               "the training steps of one that draws; of acgan also an iteration of FedCIL's "
               "client, with rows of replay and consistency"),
    CLI_INT("--batch", "N", bench_options, batch, 1, 65536, "samples per batch",
            .what = "samples"),
    CLI_REAL("--seconds", "S", bench_options, seconds, 0.001, 3600, "time for each figure (4)",
             .what = "seconds"),
    CLI_THREADS,
    CLI_ISA,
    CLI_FLAG("--json", bench_options, json, "as JSON"),
    CLI_END,
};

/* Options that do not go together. */
static int bench_check(const bench_options *o)
{
    const char *text = o->layers      ? "--layers"
                       : o->norms     ? "--norms"
                       : o->convs     ? "--convs"
                       : o->data      ? "--data"
                       : o->generator ? "--generator"
                                      : NULL;
    if (o->layers + o->norms + o->data + o->convs > 1)
        return eg_cli_usage("bench",
                            "--layers, --norms, --convs and --data exclude each other");
    if (o->json && text)
        return eg_cli_usage("bench", "%s prints a text alone, so that --json excludes it",
                            text);
    if (o->model && !bench_job_knows(o->model))
        return eg_cli_usage("bench", "there is no model and no file '%s'", o->model);
    return 0;
}

static int bench_run(int argc, char **argv)
{
    bench_options o = {.seconds = 4};
    int wrong = cli_parse(&eg_verb_bench, argc, argv, &o);
    if (wrong == 0)
        wrong = bench_check(&o);
    if (wrong)
        return wrong;
    if (o.layers)
        return bench_run_layers(&o) == EG_OK ? 0 : eg_cli_failed();
    if (o.norms)
        return bench_run_norms(&o) == EG_OK ? 0 : eg_cli_failed();
    if (o.convs)
        return bench_convs(o.batch ? o.batch : 64, o.seconds) == EG_OK ? 0 : eg_cli_failed();
    if (o.data)
        return bench_data(o.seconds) == EG_OK ? 0 : eg_cli_failed();
    bench_peer peer = {0};
    eg_status s = o.peer ? bench_peer_open(&peer, o.peer) : EG_OK;
    if (s == EG_OK)
        s = o.generator ? bench_generator(o.generator, o.peer ? &peer : NULL, o.seconds)
                        : bench_run_table(&o, o.peer ? &peer : NULL);
    bench_peer_close(&peer);
    return s == EG_OK ? 0 : eg_cli_failed();
}

const eg_verb eg_verb_bench = {
    .name = "bench",
    .run = bench_run,
    .usage = "[--peer torch] [options]\n"
             "--generator NAME [--peer torch | --layers] [options]\n"
             "--layers | --norms | --convs | --data [options]",
    .help = "measure training and evaluation speed",
    .details = "Work is counted as the definitions have it. Winograd's convolutions take fewer "
               "multiplications than that, so that their share of the peak may exceed 100 %.",
    .options = bench_rows,
};
