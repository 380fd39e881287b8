/* generate.c - `engram generate`: what the generators of a run or of a file draw.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "drawing.h"
#include "score.h"

#include <engram/gallery.h>
#include <engram/log.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { GENERATE_ROW = 10, GENERATE_ALONE = 64, GENERATE_SCORED = 100 };

/* Any client's: the server's, or those of the first client there is. */
enum { GENERATE_ANY = -2 };

typedef struct generate_call {
    const char *path, *out, *data;
    int64_t client, label; /* GENERATE_ANY; label -1: all */
    int64_t n;             /* 0: as many as are usual */
    drawing_source source; /* of real images, for scores */
    cli_texts settings;    /* of that source */
    bool scores;
} generate_call;

static const cli_option generate_options[] = {
    CLI_FILE("RUN", NULL, generate_call, path, NULL, .what = "a run or file", .needed = true),
    CLI_FILE("--out", "FILE", generate_call, out,
             "FILE.png: the picture; FILE.safetensors: the numbers, between -1 and 1"),
    CLI_INT("--client", "C", generate_call, client, 0, INT32_MAX,
            "of a run: what client C has (the server's; else the first one's)"),
    CLI_INT("--class", "K", generate_call, label, 0, INT32_MAX, "this class alone"),
    CLI_INT("--n", "N", generate_call, n, 1, INT32_MAX,
            "drawings of each class (10; of a single one 64)", .what = "drawings"),
    CLI_SEED("--seed", "N", generate_call, source.from.seed,
             "of the noise they are made of (0)"),
    CLI_FLAG("--score", generate_call, scores,
             "what a cnn-small makes of them that has learned the real images"),
    CLI_TEXT("--data", "NAME", generate_call, data,
             "where the real images come from (what the file says)", .with = "--score"),
    CLI_TEXTS("--set", "KEY=VALUE", generate_call, settings, 64,
              "an option of that data set: classes=26", .with = "--score"),
    CLI_DATA_DIR(generate_call, source.from.dir),
    CLI_THREADS,
    CLI_END,
};

/* A row of the picture: a generator of the file and the class it is told, or draws alone. */
typedef struct generate_row {
    size_t drawer;
    int64_t label; /* -1: not known */
} generate_row;

/* Why a run has no file of generators. */
static const char *generate_why_none(const char *run)
{
    char sheets[EG_RUN_PATH];
    struct stat about;
    if (!eg_run_is_finished(run))
        return "the run is not finished";
    if (eg_run_file(run, EG_RUN_SHEETS, sheets) == EG_OK && stat(sheets, &about) == 0)
        return "its generators stay with its clients, and what they drew is in " EG_RUN_SHEETS;
    return "its server has no generators";
}

/* A run's file, or the file itself. */
static eg_status generate_open(const generate_call *c, eg_exhibits **out)
{
    char path[EG_RUN_PATH];
    struct stat about;
    if (stat(c->path, &about) != 0 || !S_ISDIR(about.st_mode))
        return eg_exhibits_open(c->path, out);
    EG_TRY(eg_run_file(c->path, EG_RUN_GENERATORS, path));
    if (stat(path, &about) != 0)
        return eg_fail(EG_ENOENT, "%s has no " EG_RUN_GENERATORS ": %s", c->path,
                       generate_why_none(c->path));
    return eg_exhibits_open(path, out);
}

/* The client whose generators are shown, if none was named. */
static int64_t generate_client(const eg_exhibits *x)
{
    int64_t first = eg_exhibits_at(x, 0).client;
    for (size_t i = 0; i < eg_exhibits_n(x); i++) {
        int64_t client = eg_exhibits_at(x, i).client;
        first = client < first ? client : first; /* the server is -1 */
    }
    return first;
}

/* One row of each class: what is known of them all. rows: [n_drawers + classes] */
static int64_t generate_rows(const generate_call *c, const eg_exhibits *x,
                             const eg_generator *m, generate_row *rows)
{
    int64_t client = c->client == GENERATE_ANY ? generate_client(x) : c->client, n = 0;
    const char *note = eg_exhibits_note(x, "class");
    int64_t alone = note ? strtoll(note, NULL, 10) : -1;
    for (size_t i = 0; i < eg_exhibits_n(x); i++) {
        eg_drawer who = eg_exhibits_at(x, i);
        bool each = who.label < 0 && m->kind->labelled && alone < 0;
        if (who.client != client)
            continue;
        for (int64_t k = 0; each && k < m->classes; k++)
            if (c->label < 0 || c->label == k)
                rows[n++] = (generate_row){i, k};
        int64_t label = who.label >= 0 ? who.label : alone;
        if (!each && (c->label < 0 || c->label == label))
            rows[n++] = (generate_row){i, label};
    }
    return n;
}

static eg_status generate_sheet(const generate_call *c, eg_exhibits *x,
                                const generate_row *rows, int64_t n)
{
    eg_sheet sheet = {0};
    eg_generator *m;
    EG_TRY(eg_exhibits_show(x, rows[0].drawer, &m));
    int64_t wide = c->n ? c->n : n == 1 ? GENERATE_ALONE : GENERATE_ROW;
    eg_status s = eg_sheet_init(&sheet, m, n, wide);
    for (int64_t i = 0; i < n && s == EG_OK; i++) {
        s = eg_exhibits_show(x, rows[i].drawer, &m);
        if (s == EG_OK)
            s = eg_sheet_draw(&sheet, m, i, rows[i].label, c->source.from.seed);
    }
    if (s == EG_OK)
        s = eg_sheet_save(&sheet, c->out);
    eg_sheet_fini(&sheet);
    return s;
}

static eg_status generate_score_row(const generate_call *c, score_judge *judge, eg_generator *m,
                                    const generate_row *row, int64_t at)
{
    float *x = malloc((size_t)(GENERATE_SCORED * m->pixels) * sizeof *x);
    eg_rng rng = eg_rng_at(c->source.from.seed, (uint32_t)at, 0, EG_FOR_NOISE);
    score of = {0};
    if (!x)
        return eg_fail(EG_ENOMEM, "no memory for %d drawings", GENERATE_SCORED);
    eg_status s = eg_generator_draw_class(m, row->label, GENERATE_SCORED, &rng, x);
    if (s == EG_OK)
        s = score_drawings(judge, x, GENERATE_SCORED, row->label, &of);
    if (s == EG_OK)
        printf("  class %-4lld %6.1f %% %10.2f %10.2f\n", (long long)row->label,
               100 * of.agreement, of.distance, of.real);
    free(x);
    return s;
}

/* What the file has learned from, or --data: with the options it was learned with, and those
 * of --set. *self is free()d by the caller. */
static eg_status generate_source(const generate_call *c, const eg_exhibits *x,
                                 drawing_source *source, void **self)
{
    const char *data = c->data ? c->data : eg_exhibits_note(x, "data");
    const char *options = c->data ? NULL : eg_exhibits_note(x, "data_options");
    if (!data)
        return eg_fail(EG_ENOENT,
                       "the file does not say what it has learned: --data NAME does");
    source->set = eg_dataset_find(data);
    if (!source->set)
        return EG_ENOENT;
    EG_TRY(eg_component_new(&source->set->component, self));
    source->options = *self;
    if (options)
        EG_TRY(eg_blame(eg_opts_set_text(source->set->component.opts, *self, options), "%s",
                        data));
    for (size_t i = 0; i < c->settings.n; i++)
        EG_TRY(eg_cli_set_pair(&source->set->component, *self, c->settings.list[i]));
    return EG_OK;
}

/* That every row has a class, which there are real images of. */
static eg_status generate_check(const generate_row *rows, int64_t n, int64_t classes)
{
    for (int64_t i = 0; i < n; i++) {
        if (rows[i].label < 0)
            return eg_fail(EG_EINVAL,
                           "a generator of all classes together has no class to score");
        if (rows[i].label >= classes)
            return eg_fail(EG_ENOENT,
                           "class %lld was drawn, but the real images have classes 0 to %lld",
                           (long long)rows[i].label, (long long)classes - 1);
    }
    return EG_OK;
}

static eg_status generate_score_rows(const generate_call *c, score_judge *judge, eg_exhibits *x,
                                     const generate_row *rows, int64_t n)
{
    eg_generator *m;
    for (int64_t i = 0; i < n; i++) {
        EG_TRY(eg_exhibits_show(x, rows[i].drawer, &m));
        EG_TRY(generate_score_row(c, judge, m, &rows[i], i));
    }
    return EG_OK;
}

static void generate_score_head(double accuracy, const char *data)
{
    printf("a cnn-small that is right on %.1f %% of the test images of %s, on %d drawings of\n"
           "each class: how many it takes for that class, and how far they are from real ones\n"
           "(Frechet distance in its hidden units; beside it that of real test images)\n\n",
           100 * accuracy, data, GENERATE_SCORED);
}

static eg_status generate_score(const generate_call *c, eg_exhibits *x,
                                const generate_row *rows, int64_t n)
{
    drawing_source source = c->source;
    score_judge *judge = NULL;
    void *self = NULL;
    eg_generator *m;
    double accuracy = 0;
    EG_TRY(eg_exhibits_show(x, 0, &m));
    source.channels = m->channels, source.side = m->height;
    eg_status s = generate_source(c, x, &source, &self);
    if (s == EG_OK)
        s = score_judge_new(&source, &judge, &accuracy);
    if (s == EG_OK)
        s = generate_check(rows, n, score_judge_classes(judge));
    if (s == EG_OK) {
        generate_score_head(accuracy, source.set->component.name);
        s = generate_score_rows(c, judge, x, rows, n);
    }
    score_judge_free(judge);
    free(self);
    return s;
}

static eg_status generate_all(const generate_call *c, eg_exhibits *x)
{
    eg_generator *m;
    EG_TRY(eg_exhibits_show(x, 0, &m));
    size_t most = eg_exhibits_n(x) * (size_t)(m->kind->labelled ? m->classes : 1);
    generate_row *rows = calloc(most, sizeof *rows);
    if (!rows)
        return eg_fail(EG_ENOMEM, "no memory for %zu rows", most);
    int64_t n = generate_rows(c, x, m, rows);
    eg_status s =
        n > 0 ? EG_OK
              : eg_fail(EG_ENOENT, "%s holds no generator of this client and class", c->path);
    if (s == EG_OK && c->out)
        s = generate_sheet(c, x, rows, n);
    if (s == EG_OK && c->out)
        printf("%s\n", c->out);
    if (s == EG_OK && c->scores)
        s = generate_score(c, x, rows, n);
    free(rows);
    return s;
}

static int generate_run(int argc, char **argv)
{
    generate_call c = {.client = GENERATE_ANY, .label = -1};
    eg_exhibits *x = NULL;
    int wrong = cli_parse(&eg_verb_generate, argc, argv, &c);
    if (wrong)
        return wrong;
    if (!c.out && !c.scores)
        return eg_cli_usage("generate", "--out FILE.png or --score is needed");
    eg_status s = generate_open(&c, &x);
    if (s == EG_OK)
        s = generate_all(&c, x);
    eg_exhibits_free(x);
    return s == EG_OK ? 0 : eg_cli_failed();
}

const eg_verb eg_verb_generate = {
    .name = "generate",
    .run = generate_run,
    .usage = "RUN|FILE [options] --out FILE.png",
    .help = "draw with the generators of a run or of a file",
    .details =
        "FILE is what `engram train --generator` or a run has written. One row per class.",
    .options = generate_options,
};
