/* record.c - the tables of all papers: how many cells come out, and what runs have come to,
 * beside published figures.
 * SPDX-License-Identifier: Apache-2.0
 *
 * measured.yml lists the cells, each with the run and the value that it is of, and what came
 * out. Finished runs that are at hand count in its place. A list of cells with `size: paper` is
 * of runs as large as the paper's.
 */
#include "report/runs/group.h"

#include "io/yaml.h"

#include <engram/log.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_FILE "measured.yml"

enum { RECORD_MOST_SYSTEMS = 64 };

/* Cells of one paper: those of smaller runs, and of runs as large as its own. */
typedef struct record_count {
    const char *system;
    struct {
        size_t cells, judged, within; /* judged: the paper gives a deviation */
    } of[2];
} record_count;

typedef struct record {
    const char *folder; /* of the experiment files */
    eg_yaml *y;
    eg_groups *runs;          /* those at hand; NULL: none */
    eg_experiment_file *file; /* of the cells that are being printed */
    FILE *f;
    size_t n_counts;
    record_count count[RECORD_MOST_SYSTEMS];
} record;

static eg_status record_text(const record *r, const eg_yaml_node *of, const char *key,
                             const char **out)
{
    const eg_yaml_node *node = of->type == EG_YAML_MAPPING ? eg_yaml_get(of, key) : NULL;
    if (!node)
        return eg_yaml_fail(r->y, of, EG_EFORMAT, "'%s' is missing", key);
    return eg_yaml_text(r->y, node, out);
}

static eg_status record_number(const record *r, const eg_yaml_node *node, double *out)
{
    const char *text;
    char *end;
    EG_TRY(eg_yaml_text(r->y, node, &text));
    *out = strtod(text, &end);
    if (!*text || *end || !isfinite(*out))
        return eg_yaml_fail(r->y, node, EG_EFORMAT, "'%s' is no number", text);
    return EG_OK;
}

/* The figure that the file gives for a run. A paper may mean one of several values: the first
 * that the file has is what the cell is of. */
static eg_status record_published(const record *r, const eg_yaml_node *cell, const char *run,
                                  eg_published *out)
{
    size_t n;
    const char *value = "";
    const eg_published *list = eg_experiment_file_published(r->file, &n);
    const eg_yaml_node *node = eg_yaml_get(cell, "value");
    if (!node)
        return eg_yaml_fail(r->y, cell, EG_EFORMAT, "'value' is missing");
    for (const eg_yaml_node *v = node->type == EG_YAML_SEQUENCE ? node->child : node; v;
         v = v == node ? NULL : v->next) {
        EG_TRY(eg_yaml_text(r->y, v, &value));
        if (eg_summary_find(value) == EG_SUMMARY_N)
            return eg_yaml_fail(r->y, v, EG_EFORMAT, "there is no value '%s'", value);
        for (size_t i = 0; i < n; i++)
            if (strcmp(list[i].label, run) == 0 && strcmp(list[i].metric, value) == 0) {
                *out = list[i];
                return EG_OK;
            }
    }
    return eg_yaml_fail(r->y, cell, EG_ENOENT, "%s publishes no %s of a run '%s'",
                        eg_experiment_file_name(r->file), value, run);
}

/* What runs at hand have come to, if they are whole. */
static eg_status record_at_hand(const record *r, const char *run, eg_summary which,
                                eg_spread *out)
{
    eg_experiment *e;
    *out = (eg_spread){NAN, NAN, 0};
    if (!r->runs || eg_experiment_file_resolve(r->file, run, 0, NULL, &e) != EG_OK)
        return EG_OK;
    for (size_t i = 0; i < r->runs->n; i++) {
        const eg_group *g = &r->runs->group[i];
        if (strcmp(g->run[0]->start->config_sha256, eg_experiment_sha256(e)) == 0)
            *out = eg_group_summary(g, which);
    }
    eg_experiment_free(e);
    return EG_OK;
}

/* What stands in the record, in percent there. */
static eg_status record_on_file(const record *r, const eg_yaml_node *cell, eg_spread *out)
{
    const eg_yaml_node *ours = eg_yaml_get(cell, "ours");
    const eg_yaml_node *seeds = eg_yaml_get(cell, "seeds");
    double n, sd = NAN;
    if (!ours || !seeds || ours->type != EG_YAML_SEQUENCE || ours->n < 1 || ours->n > 2)
        return eg_yaml_fail(r->y, cell, EG_EFORMAT,
                            "a cell has ours: [MEAN, DEVIATION], and seeds");
    EG_TRY(record_number(r, ours->child, &out->mean));
    if (ours->n == 2)
        EG_TRY(record_number(r, ours->child->next, &sd));
    EG_TRY(record_number(r, seeds, &n));
    if (!(n >= 1) || (n > 1) != !isnan(sd))
        return eg_yaml_fail(r->y, seeds, EG_EFORMAT,
                            "a deviation is of several seeds, and of one there is none");
    *out = (eg_spread){out->mean / 100, sd / 100, (size_t)n};
    return EG_OK;
}

static void record_show(char out[80], double mean, double sd)
{
    eg_show_spread(out, EG_SUMMARY_acc_final,
                   (eg_spread){mean, sd >= 0 ? sd : NAN, sd >= 0 ? 2 : 1});
}

/* A list of cells: of which paper and table, whether of runs of its size. */
typedef struct record_of {
    const char *system, *table;
    bool full;
    record_count *count;
} record_of;

static eg_status record_cell(const record *r, const record_of *of, const eg_yaml_node *cell)
{
    const char *name, *run, *why = "";
    char published[80], mine[80];
    eg_published p = {.sd = -1};
    eg_spread ours;
    EG_TRY(record_text(r, cell, "cell", &name));
    EG_TRY(record_text(r, cell, "run", &run));
    if (eg_yaml_get(cell, "why"))
        EG_TRY(record_text(r, cell, "why", &why));
    EG_TRY(record_published(r, cell, run, &p));
    EG_TRY(record_at_hand(r, run, eg_summary_find(p.metric), &ours));
    if (ours.n == 0)
        EG_TRY(record_on_file(r, cell, &ours));
    record_show(published, p.mean, p.sd);
    record_show(mine, ours.mean, ours.sd);
    double difference = 100 * (ours.mean - p.mean);
    bool judged = p.sd > 0, within = judged && fabs(ours.mean - p.mean) <= 2 * p.sd;
    of->count->of[of->full].cells++;
    of->count->of[of->full].judged += judged;
    of->count->of[of->full].within += within;
    fprintf(r->f, "| %s | %s | %s | %s | %s | %zu | %+.1f | %s | %s |\n", of->system, of->table,
            name, published, mine, ours.n, round(difference * 10) / 10 + 0.0,
            within   ? "yes"
            : judged ? "no"
                     : "–",
            why);
    return EG_OK;
}

/* What is counted of a paper. */
static eg_status record_counted(record *r, const eg_yaml_node *of, record_of *out)
{
    size_t i = 0;
    const char *size = "";
    EG_TRY(record_text(r, of, "system", &out->system));
    EG_TRY(record_text(r, of, "table", &out->table));
    if (eg_yaml_get(of, "size"))
        EG_TRY(record_text(r, of, "size", &size));
    out->full = strcmp(size, "paper") == 0;
    if (*size && !out->full)
        return eg_yaml_fail(r->y, eg_yaml_get(of, "size"), EG_EFORMAT,
                            "size is 'paper' or is not there, not '%s'", size);
    while (i < r->n_counts && strcmp(r->count[i].system, out->system) != 0)
        i++;
    if (i == RECORD_MOST_SYSTEMS)
        return eg_yaml_fail(r->y, of, EG_EFORMAT, "more than %d papers", RECORD_MOST_SYSTEMS);
    out->count = &r->count[i];
    if (i == r->n_counts)
        r->count[r->n_counts++].system = out->system;
    return EG_OK;
}

static eg_status record_table(record *r, const eg_yaml_node *of)
{
    const char *file;
    char path[EG_RUN_PATH];
    record_of list = {0};
    EG_TRY(record_counted(r, of, &list));
    EG_TRY(record_text(r, of, "file", &file));
    EG_TRY(eg_run_file(r->folder, file, path));
    EG_TRY(eg_experiment_file_open(path, &r->file));
    const eg_yaml_node *cells = eg_yaml_get(of, "cells");
    eg_status s = cells ? EG_OK : eg_yaml_fail(r->y, of, EG_EFORMAT, "'cells' is missing");
    for (const eg_yaml_node *c = cells ? cells->child : NULL; c && s == EG_OK; c = c->next)
        s = record_cell(r, &list, c);
    eg_experiment_file_free(r->file);
    return s;
}

static eg_status record_print(record *r)
{
    fputs(
        "| system | table | cell | published | ours | seeds | difference | within two | why |\n"
        "|---|---|---|---|---|---|---|---|---|\n",
        r->f);
    const eg_yaml_node *root = eg_yaml_root(r->y);
    if (root->type != EG_YAML_SEQUENCE)
        return eg_yaml_fail(r->y, root, EG_EFORMAT, "a list of tables is wanted");
    for (const eg_yaml_node *of = root->child; of; of = of->next)
        EG_TRY(record_table(r, of));
    return EG_OK;
}

/* The counts, and behind them the cells. The caller frees *out. */
static eg_status record_join(const record *r, const char *cells, char **out)
{
    size_t n;
    FILE *f = open_memstream(out, &n);
    if (!f)
        return eg_fail(EG_ENOMEM, "the table is larger than memory");
    fputs("| paper | cells at the paper's size | with a deviation | of these within two | "
          "smaller "
          "| with a deviation | of these within two |\n|---|---|---|---|---|---|---|\n",
          f);
    for (size_t i = 0; i < r->n_counts; i++) {
        const record_count *c = &r->count[i];
        fprintf(f, "| %s | %zu | %zu | %zu | %zu | %zu | %zu |\n", c->system, c->of[1].cells,
                c->of[1].judged, c->of[1].within, c->of[0].cells, c->of[0].judged,
                c->of[0].within);
    }
    fprintf(f, "\n%s", cells);
    return fclose(f) == 0 ? EG_OK : eg_fail(EG_ENOMEM, "the table is larger than memory");
}

/* The finished runs at hand that are as large as their experiment; none is fine. */
static eg_status record_runs(record *r, const char *path)
{
    eg_run_folders folders;
    size_t n = 0;
    eg_status s = eg_run_folders_find(path, &folders);
    if (s != EG_OK)
        return s == EG_ENOENT ? EG_OK : s;
    const char **dirs;
    s = eg_alloc(folders.n, sizeof *dirs, &dirs);
    for (size_t i = 0; s == EG_OK && i < folders.n; i++)
        if (eg_run_is_finished(folders.list[i]))
            dirs[n++] = folders.list[i];
    if (s == EG_OK && n > 0)
        s = eg_groups_load(dirs, n, NULL, 0, &r->runs);
    free(dirs);
    eg_run_folders_free(&folders);
    return s;
}

eg_status eg_compare_all(const char *folder, const char *runs, char **out)
{
    record r = {.folder = folder};
    char path[EG_RUN_PATH], *cells = NULL;
    size_t n;
    *out = NULL;
    EG_TRY(eg_run_file(folder, RECORD_FILE, path));
    EG_TRY(eg_yaml_load(path, &r.y));
    eg_status s = record_runs(&r, runs);
    r.f = s == EG_OK ? open_memstream(&cells, &n) : NULL;
    if (s == EG_OK && !r.f)
        s = eg_fail(EG_ENOMEM, "the table is larger than memory");
    if (s == EG_OK)
        s = record_print(&r);
    if (r.f && fclose(r.f) != 0 && s == EG_OK)
        s = eg_fail(EG_ENOMEM, "the table is larger than memory");
    if (s == EG_OK)
        s = record_join(&r, cells, out);
    if (s != EG_OK) {
        free(*out);
        *out = NULL;
    }
    free(cells);
    eg_groups_free(r.runs);
    eg_yaml_free(r.y);
    return s;
}
