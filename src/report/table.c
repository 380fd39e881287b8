/* table.c - several runs as one table: for the terminal, for Markdown, for programs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/group.h"

#include "io/json.h"

#include <engram/log.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A grid of cells; a published figure is a column of its own beside ours. */
typedef struct table {
    size_t rows, columns; /* row 0 holds the headings, column 0 the labels */
    char **cell;          /* [rows, columns], of the arena */
    bool brief;           /* long labels are shortened */
    eg_arena *arena;
} table;

enum { TABLE_LABEL = 40, TABLE_LABEL_LEAST = 12 }; /* characters of a short label */

static bool table_has_published(const eg_groups *g, const eg_column *c)
{
    for (size_t i = 0; i < g->n; i++)
        if (eg_groups_published(g, &g->group[i], c->which))
            return true;
    return false;
}

static eg_status table_set(table *t, size_t row, size_t column, const char *text)
{
    char *copy = eg_arena_text(t->arena, "%s", text);
    t->cell[row * t->columns + column] = copy;
    return copy ? EG_OK : EG_ENOMEM;
}

/* A long label loses its middle, for labels are told apart by how they begin and end. What
 * tells groups of one label apart stays. */
static eg_status table_label(table *t, size_t row, const eg_group *g)
{
    size_t apart = *g->apart ? strlen(g->apart) + strlen(" ()") : 0;
    const char *tail = g->title + strlen(g->title) - apart;
    size_t wide = eg_show_length(tail), n = eg_show_length(g->title) - wide;
    size_t room =
        wide + TABLE_LABEL_LEAST < TABLE_LABEL ? TABLE_LABEL - wide : TABLE_LABEL_LEAST;
    if (!t->brief || n <= room)
        return table_set(t, row, 0, g->title);
    size_t begin = eg_show_begin(g->title, room / 2);
    size_t end = eg_show_begin(g->title, n - (room - 1) / 2);
    char *text = eg_arena_text(t->arena, "%.*s…%s", (int)begin, g->title, g->title + end);
    return text ? table_set(t, row, 0, text) : EG_ENOMEM;
}

static eg_status table_published(table *t, const eg_groups *g, const eg_column *c, size_t k)
{
    char text[80];
    EG_TRY(table_set(t, 0, k, "published"));
    for (size_t i = 0; i < g->n; i++) {
        const eg_published *p = eg_groups_published(g, &g->group[i], c->which);
        eg_show_spread(text, c->which, (eg_spread){p ? p->mean : NAN, p ? p->sd : NAN, 1});
        EG_TRY(table_set(t, i + 1, k, text));
    }
    return EG_OK;
}

static eg_status table_fill(table *t, const eg_groups *g)
{
    char text[80];
    EG_TRY(table_set(t, 0, 0, "label"));
    EG_TRY(table_set(t, 0, 1, "seeds"));
    for (size_t i = 0; i < g->n; i++) {
        snprintf(text, sizeof text, "%zu", g->group[i].n);
        EG_TRY(table_label(t, i + 1, &g->group[i]));
        EG_TRY(table_set(t, i + 1, 1, text));
    }
    size_t k = 2;
    for (const eg_column *c = eg_columns; c < eg_columns + eg_n_columns; c++) {
        if (!eg_column_used(g, c))
            continue;
        EG_TRY(table_set(t, 0, k, c->heading));
        for (size_t i = 0; i < g->n; i++) {
            eg_show_spread(text, c->which, eg_group_summary(&g->group[i], c->which));
            EG_TRY(table_set(t, i + 1, k, text));
        }
        k++;
        if (table_has_published(g, c))
            EG_TRY(table_published(t, g, c, k++));
    }
    return EG_OK;
}

static size_t table_widest(const table *t, size_t column)
{
    size_t most = 0;
    for (size_t i = 0; i < t->rows; i++) {
        size_t n = eg_show_length(t->cell[i * t->columns + column]); /* wide ones aside */
        most = n > most ? n : most;
    }
    return most;
}

static void table_pad(FILE *f, size_t n, char with)
{
    while (n-- > 0)
        fputc(with, f);
}

static void table_clean(FILE *f, const char *text) /* a label may hold anything */
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' || *text == 127 ? '?' : *text, f);
}

static void table_escaped(FILE *f, const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            fputc(' ', f);
        else
            fprintf(f, strchr("|\\`*_<>&[]", *text) ? "\\%c" : "%c", *text);
}

/* A line for each label of which something was lost. */
static void table_losses(FILE *f, const table *t, const eg_groups *g, bool markdown)
{
    const char *before = markdown ? "\n" : "";
    for (size_t i = 0; i < g->n; i++) {
        char text[96];
        eg_losses l = eg_group_losses(&g->group[i]);
        if (!l.first)
            continue;
        eg_show_losses(text, &l);
        fprintf(f, "%s%s", before, markdown ? "- " : "");
        (markdown ? table_escaped : table_clean)(f, t->cell[(i + 1) * t->columns]);
        fprintf(f, ": %s\n", text);
        before = "";
    }
}

static void table_text(FILE *f, const table *t)
{
    for (size_t i = 0; i < t->rows; i++)
        for (size_t k = 0; k < t->columns; k++) {
            const char *cell = t->cell[i * t->columns + k];
            size_t space = table_widest(t, k) - eg_show_length(cell);
            bool last = k + 1 == t->columns;
            table_pad(f, k > 0 ? space : 0, ' ');
            table_clean(f, cell);
            table_pad(f, k > 0 ? 0 : space, ' ');
            fputs(last ? "\n" : "  ", f);
        }
}

static void table_markdown(FILE *f, const table *t)
{
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t k = 0; k < t->columns; k++) {
            fputs("| ", f);
            table_escaped(f, t->cell[i * t->columns + k]);
            fputc(' ', f);
        }
        fputs("|\n", f);
        for (size_t k = 0; i == 0 && k < t->columns; k++)
            fputs(k ? "| ---: " : "| --- ", f);
        fputs(i == 0 ? "|\n" : "", f);
    }
}

static eg_status table_print(eg_groups *g, bool markdown, char **out)
{
    table t = {.rows = g->n + 1, .columns = 2, .brief = !markdown, .arena = &g->arena};
    for (const eg_column *c = eg_columns; c < eg_columns + eg_n_columns; c++)
        if (eg_column_used(g, c))
            t.columns += table_has_published(g, c) ? 2 : 1;
    t.cell = eg_arena_alloc(t.arena, t.rows * t.columns * sizeof *t.cell);
    if (!t.cell)
        return EG_ENOMEM;
    EG_TRY(table_fill(&t, g));
    size_t n;
    FILE *f = open_memstream(out, &n);
    if (!f)
        return eg_fail(EG_ENOMEM, "the table is larger than memory");
    (markdown ? table_markdown : table_text)(f, &t);
    table_losses(f, &t, g, markdown);
    bool bad = ferror(f) != 0;
    if (fclose(f) == 0 && !bad)
        return EG_OK;
    free(*out);
    *out = NULL;
    return eg_fail(EG_ENOMEM, "the table is larger than memory");
}

static eg_json *table_number(double x)
{
    return isnan(x) ? eg_json_of_null() : eg_json_of_real(x);
}

static eg_status table_json_values(eg_json *row, const eg_groups *g, const eg_group *group)
{
    for (int i = 0; i < EG_SUMMARY_N; i++) {
        eg_summary which = (eg_summary)i;
        eg_spread s = eg_group_summary(group, which);
        const eg_published *p = eg_groups_published(g, group, which);
        eg_json *v = eg_json_object();
        eg_status status = v ? EG_OK : EG_ENOMEM;
        if (status == EG_OK)
            status = eg_json_set(v, "mean", table_number(s.mean));
        if (status == EG_OK)
            status = eg_json_set(v, "sd", table_number(s.sd));
        if (status == EG_OK && p)
            status = eg_json_set(v, "published_mean", table_number(p->mean));
        if (status == EG_OK && p)
            status = eg_json_set(v, "published_sd", table_number(p->sd < 0 ? NAN : p->sd));
        if (status != EG_OK) {
            eg_json_free(v);
            return status;
        }
        EG_TRY(eg_json_set(row, eg_summary_name(which), v));
    }
    return EG_OK;
}

static eg_status table_json_seeds(eg_json *row, const eg_group *group)
{
    eg_json *seeds = eg_json_array();
    for (size_t i = 0; seeds && i < group->n; i++)
        if (eg_json_add(seeds, eg_json_of_int(group->run[i]->start->seed)) != EG_OK) {
            eg_json_free(seeds);
            return EG_ENOMEM;
        }
    return eg_json_set(row, "seeds", seeds);
}

static eg_status table_json_settings(eg_json *row, const eg_group *group)
{
    eg_json *settings = eg_json_object();
    for (size_t i = 0; settings && i < group->n_differing; i++)
        if (eg_json_set(settings, group->differing[i].key,
                        eg_json_of_text(group->differing[i].value)) != EG_OK) {
            eg_json_free(settings);
            return EG_ENOMEM;
        }
    return eg_json_set(row, "differing_settings", settings);
}

static eg_status table_json_row(eg_json *row, const eg_groups *g, const eg_group *group)
{
    EG_TRY(eg_json_set(row, "name", eg_json_of_text(group->run[0]->start->name)));
    EG_TRY(eg_json_set(row, "label", eg_json_of_text(group->run[0]->start->label)));
    EG_TRY(eg_json_set(row, "config_sha256",
                       eg_json_of_text(group->run[0]->start->config_sha256)));
    EG_TRY(table_json_settings(row, group));
    EG_TRY(table_json_seeds(row, group));
    eg_losses l = eg_group_losses(group);
    EG_TRY(eg_json_set(row, "uploads_left_out", eg_json_of_int(l.left_out)));
    EG_TRY(eg_json_set(row, "rounds_skipped", eg_json_of_int(l.skipped)));
    return table_json_values(row, g, group);
}

static eg_status table_json(const eg_groups *g, char **out)
{
    eg_json *all = eg_json_array();
    eg_status status = all ? EG_OK : EG_ENOMEM;
    for (size_t i = 0; status == EG_OK && i < g->n; i++) {
        eg_json *row = eg_json_object();
        status = row ? table_json_row(row, g, &g->group[i]) : EG_ENOMEM;
        if (status == EG_OK)
            status = eg_json_add(all, row);
        else
            eg_json_free(row);
    }
    if (status == EG_OK)
        status = eg_json_print(all, 2, out, NULL);
    eg_json_free(all);
    return status;
}

eg_status eg_compare_print(const char *const *run_dirs, size_t n, const eg_published *published,
                           size_t n_published, eg_compare_form form, char **out)
{
    eg_groups *g;
    EG_TRY(eg_groups_load(run_dirs, n, published, n_published, &g));
    eg_status status = EG_OK;
    for (size_t i = 0; i < g->n_runs && status == EG_OK; i++)
        if (!g->runs[i]->finished)
            status = eg_fail(EG_ENOENT, "%s has no " EG_RUN_SUMMARY ": the run is not finished",
                             g->runs[i]->dir);
    if (status == EG_OK)
        status = form == EG_COMPARE_JSON ? table_json(g, out)
                                         : table_print(g, form == EG_COMPARE_MARKDOWN, out);
    eg_groups_free(g);
    return status;
}
