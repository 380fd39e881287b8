/* record.c - the table of all papers: what runs have come to, beside published figures.
 * SPDX-License-Identifier: Apache-2.0
 *
 * measured.yml lists the cells, each with the run and the value that it is of, and what came
 * out. Finished runs that are at hand count in its place.
 */
#include "report/runs/group.h"

#include "io/yaml.h"

#include <engram/log.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_FILE "measured.yml"

typedef struct record {
    const char *folder; /* of the experiment files */
    eg_yaml *y;
    eg_groups *runs;          /* those at hand; NULL: none */
    eg_experiment_file *file; /* of the cells that are being printed */
    FILE *f;
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

static eg_status record_cell(const record *r, const char *system, const char *table,
                             const eg_yaml_node *cell)
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
    const char *within = !(p.sd > 0)                            ? "–"
                         : fabs(ours.mean - p.mean) <= 2 * p.sd ? "yes"
                                                                : "no";
    fprintf(r->f, "| %s | %s | %s | %s | %s | %zu | %+.1f | %s | %s |\n", system, table, name,
            published, mine, ours.n, round(difference * 10) / 10 + 0.0, within, why);
    return EG_OK;
}

static eg_status record_table(record *r, const eg_yaml_node *of)
{
    const char *system, *table, *file;
    char path[EG_RUN_PATH];
    EG_TRY(record_text(r, of, "system", &system));
    EG_TRY(record_text(r, of, "table", &table));
    EG_TRY(record_text(r, of, "file", &file));
    EG_TRY(eg_run_file(r->folder, file, path));
    EG_TRY(eg_experiment_file_open(path, &r->file));
    const eg_yaml_node *cells = eg_yaml_get(of, "cells");
    eg_status s = cells ? EG_OK : eg_yaml_fail(r->y, of, EG_EFORMAT, "'cells' is missing");
    for (const eg_yaml_node *c = cells ? cells->child : NULL; c && s == EG_OK; c = c->next)
        s = record_cell(r, system, table, c);
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
    char path[EG_RUN_PATH];
    size_t n;
    *out = NULL;
    EG_TRY(eg_run_file(folder, RECORD_FILE, path));
    EG_TRY(eg_yaml_load(path, &r.y));
    eg_status s = record_runs(&r, runs);
    r.f = s == EG_OK ? open_memstream(out, &n) : NULL;
    if (s == EG_OK && !r.f)
        s = eg_fail(EG_ENOMEM, "the table is larger than memory");
    if (s == EG_OK)
        s = record_print(&r);
    if (r.f && fclose(r.f) != 0 && s == EG_OK)
        s = eg_fail(EG_ENOMEM, "the table is larger than memory");
    if (s != EG_OK) {
        free(*out);
        *out = NULL;
    }
    eg_groups_free(r.runs);
    eg_yaml_free(r.y);
    return s;
}
