/* table.c - several runs as one table: its cells, in the order that is wanted.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/table.h"

#include "base/base.h"

#include <engram/log.h>
#include <engram/opt.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_LABEL = 40, TABLE_LABEL_LEAST = 12 }; /* characters of a short label */
enum { TABLE_ALWAYS = 1000 };                      /* the weight of what is never left out */

static bool table_has_published(const eg_groups *g, const eg_column *c)
{
    for (size_t i = 0; i < g->n; i++)
        if (eg_groups_published(g, &g->group[i], c->which))
            return true;
    return false;
}

static eg_status table_set(eg_groups *g, eg_grid *t, size_t row, size_t column,
                           const char *text, eg_cell_style style)
{
    char *copy = eg_arena_text(&g->arena, "%s", text);
    t->cell[row * t->columns + column] = (eg_cell){copy, style};
    return copy ? EG_OK : EG_ENOMEM;
}

/* A long label loses its middle, for labels are told apart by how they begin and end. What
 * tells groups of one label apart stays. */
static eg_status table_label(eg_groups *g, eg_grid *t, size_t row, bool brief)
{
    const eg_group *of = t->of[row];
    size_t apart = *of->apart ? strlen(of->apart) + strlen(" ()") : 0;
    const char *tail = of->title + strlen(of->title) - apart;
    size_t wide = eg_show_length(tail), n = eg_show_length(of->title) - wide;
    size_t room =
        wide + TABLE_LABEL_LEAST < TABLE_LABEL ? TABLE_LABEL - wide : TABLE_LABEL_LEAST;
    if (!brief || n <= room)
        return table_set(g, t, row, 0, of->title, EG_CELL_PLAIN);
    size_t begin = eg_show_begin(of->title, room / 2);
    size_t end = eg_show_begin(of->title, n - (room - 1) / 2);
    char *text = eg_arena_text(&g->arena, "%.*s…%s", (int)begin, of->title, of->title + end);
    return text ? table_set(g, t, row, 0, text, EG_CELL_PLAIN) : EG_ENOMEM;
}

static eg_status table_column(eg_groups *g, eg_grid *t, size_t k, const eg_column *c)
{
    char text[80];
    t->weight[k] = c->weight;
    EG_TRY(table_set(g, t, 0, k, c->heading, EG_CELL_PLAIN));
    for (size_t i = 1; i < t->rows; i++) {
        bool best = eg_group_is_best(g, t->of[i], c);
        eg_show_spread(text, c->which, eg_group_summary(t->of[i], c->which));
        EG_TRY(table_set(g, t, i, k, text, best ? EG_CELL_BEST : EG_CELL_PLAIN));
    }
    return EG_OK;
}

/* A star leads to the note that these figures are of larger runs. */
static eg_status table_published(eg_groups *g, eg_grid *t, size_t k, const eg_column *c)
{
    char text[80], scale[64];
    eg_show_scale(scale, g);
    t->weight[k] = c->weight;
    EG_TRY(table_set(g, t, 0, k, *scale ? "published*" : "published", EG_CELL_PUBLISHED));
    for (size_t i = 1; i < t->rows; i++) {
        const eg_published *p = eg_groups_published(g, t->of[i], c->which);
        eg_show_spread(text, c->which, (eg_spread){p ? p->mean : NAN, p ? p->sd : NAN, 1});
        EG_TRY(table_set(g, t, i, k, text, EG_CELL_PUBLISHED));
    }
    return EG_OK;
}

static eg_status table_alloc(eg_groups *g, const char *sort, eg_grid *t)
{
    const eg_group **order;
    *t = (eg_grid){.rows = g->n + 1, .columns = 2};
    for (const eg_column *c = eg_columns; c < eg_columns + eg_n_columns; c++)
        if (eg_column_used(g, c))
            t->columns += table_has_published(g, c) ? 2 : 1;
    t->cell = eg_arena_alloc(&g->arena, t->rows * t->columns * sizeof *t->cell);
    t->weight = eg_arena_alloc(&g->arena, t->columns * sizeof *t->weight);
    t->of = eg_arena_alloc(&g->arena, t->rows * sizeof *t->of);
    if (!t->cell || !t->weight || !t->of)
        return EG_ENOMEM;
    EG_TRY(eg_grid_sort(g, sort, &order));
    memcpy(t->of + 1, order, g->n * sizeof *order);
    return EG_OK;
}

eg_status eg_grid_fill(eg_groups *g, bool brief, const char *sort, eg_grid *t)
{
    char text[32];
    EG_TRY(table_alloc(g, sort, t));
    EG_TRY(table_set(g, t, 0, 0, "label", EG_CELL_PLAIN));
    EG_TRY(table_set(g, t, 0, 1, "seeds", EG_CELL_PLAIN));
    t->weight[0] = TABLE_ALWAYS;
    for (size_t i = 1; i < t->rows; i++) {
        snprintf(text, sizeof text, "%zu", t->of[i]->n);
        EG_TRY(table_label(g, t, i, brief));
        EG_TRY(table_set(g, t, i, 1, text, EG_CELL_PLAIN));
    }
    size_t k = 2;
    for (const eg_column *c = eg_columns; c < eg_columns + eg_n_columns; c++) {
        if (!eg_column_used(g, c))
            continue;
        EG_TRY(table_column(g, t, k++, c));
        if (table_has_published(g, c))
            EG_TRY(table_published(g, t, k++, c));
    }
    return EG_OK;
}

/* A group's place among the others: less comes first, NaN last. */
static double table_key(const eg_group *g, eg_summary which, bool seeds)
{
    const eg_column *c = which < EG_SUMMARY_N ? eg_column_find(eg_summary_name(which)) : NULL;
    double value = seeds ? -(double)g->n : eg_group_summary(g, which).mean;
    return c && c->better > 0 ? -value : value;
}

static bool table_before(const eg_group *a, const eg_group *b, const char *sort)
{
    eg_summary which = eg_summary_find(sort);
    bool seeds = strcmp(sort, "seeds") == 0;
    if (strcmp(sort, "label") == 0)
        return strcmp(a->title, b->title) < 0;
    double x = table_key(a, which, seeds), y = table_key(b, which, seeds);
    return x < y || (isnan(y) && !isnan(x));
}

/* The names as they are in summary.json; a dash may stand for an underscore. */
static eg_status table_sort_name(const char *sort, const char **out)
{
    static const char *const more[] = {"label", "seeds"};
    for (int i = 0; i < EG_SUMMARY_N; i++)
        if (eg_name_equal(eg_summary_name((eg_summary)i), sort)) {
            *out = eg_summary_name((eg_summary)i);
            return EG_OK;
        }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (strcmp(more[i], sort) == 0) {
            *out = more[i];
            return EG_OK;
        }
    return eg_fail(EG_EINVAL,
                   "there is no column '%s' to sort by; there are label, seeds and the values "
                   "of " EG_RUN_SUMMARY ": acc_final, forgetting, seconds, ...",
                   sort);
}

eg_status eg_grid_sort(eg_groups *g, const char *sort, const eg_group ***out)
{
    const eg_group **order = eg_arena_alloc(&g->arena, g->n * sizeof *order);
    if (!order)
        return EG_ENOMEM;
    *out = order;
    if (sort)
        EG_TRY(table_sort_name(sort, &sort));
    for (size_t i = 0; i < g->n; i++) { /* by insertion: equal ones stay in order */
        size_t at = i;
        for (; sort && at > 0 && table_before(&g->group[i], order[at - 1], sort); at--)
            order[at] = order[at - 1];
        order[at] = &g->group[i];
    }
    return EG_OK;
}

eg_status eg_compare_check(const eg_compare_how *how)
{
    const char *name;
    return how->sort ? table_sort_name(how->sort, &name) : EG_OK;
}

/* What the scale is, and that published figures are of the whole experiment. */
static eg_status table_scale_note(eg_groups *g, const char **out)
{
    char scale[64];
    eg_show_scale(scale, g);
    *out = NULL;
    if (!*scale)
        return EG_OK;
    *out =
        eg_arena_text(&g->arena, "%s%s: less data and fewer rounds than the experiment has%s",
                      g->n_published ? "* " : "", scale,
                      g->n_published ? "; published figures are of all of it" : "");
    return *out ? EG_OK : EG_ENOMEM;
}

/* How many logs have no checksums, so that damage to them would not show. */
static eg_status table_bare_note(eg_groups *g, const char **out)
{
    size_t bare = 0;
    for (size_t i = 0; i < g->n_runs; i++)
        bare += g->runs[i]->log->seal.bare;
    *out = NULL;
    if (bare == 0)
        return EG_OK;
    *out = eg_arena_text(&g->arena,
                         "%zu of %zu logs, of an older program, %s no checksums: damage to "
                         "them would not show",
                         bare, g->n_runs, bare == 1 ? "has" : "have");
    return *out ? EG_OK : EG_ENOMEM;
}

/* How many runs are not what an unbroken one would be, to the bit. */
static eg_status table_forced_note(eg_groups *g, const char **out)
{
    size_t forced = 0;
    for (size_t i = 0; i < g->n_runs; i++)
        forced += g->runs[i]->log->n_forced > 0;
    *out = NULL;
    if (forced == 0)
        return EG_OK;
    *out = eg_arena_text(&g->arena,
                         "%zu of %zu runs went on by force with other data or another "
                         "program: bits may differ",
                         forced, g->n_runs);
    return *out ? EG_OK : EG_ENOMEM;
}

eg_status eg_grid_notes(eg_groups *g, const eg_grid *t, const char ***out, size_t *n)
{
    const char **notes = eg_arena_alloc(&g->arena, (g->n + 3) * sizeof *notes);
    *out = notes;
    *n = 0;
    if (!notes)
        return EG_ENOMEM;
    EG_TRY(table_scale_note(g, &notes[0]));
    *n = notes[0] != NULL;
    EG_TRY(table_bare_note(g, &notes[*n]));
    *n += notes[*n] != NULL;
    EG_TRY(table_forced_note(g, &notes[*n]));
    *n += notes[*n] != NULL;
    for (size_t i = 1; i < t->rows; i++) {
        char text[96];
        eg_losses l = eg_group_losses(t->of[i]);
        if (!l.first)
            continue;
        eg_show_losses(text, &l);
        notes[*n] = eg_arena_text(&g->arena, "%s: %s", t->cell[i * t->columns].text, text);
        if (!notes[(*n)++])
            return EG_ENOMEM;
    }
    return EG_OK;
}

static eg_status table_print(eg_groups *g, const eg_compare_how *how, FILE *f)
{
    const eg_group **order;
    eg_grid t;
    if (how->form == EG_COMPARE_JSON || how->form == EG_COMPARE_CSV) {
        EG_TRY(eg_grid_sort(g, how->sort, &order));
        if (how->form == EG_COMPARE_JSON)
            return eg_grid_json(f, g, order);
        eg_grid_csv(f, g, order);
        return EG_OK;
    }
    EG_TRY(eg_grid_fill(g, how->form == EG_COMPARE_TEXT, how->sort, &t));
    if (how->form == EG_COMPARE_MARKDOWN)
        return eg_grid_markdown(f, g, &t);
    return how->form == EG_COMPARE_LATEX ? eg_grid_latex(f, g, &t)
                                         : eg_grid_text(f, g, &t, how);
}

static eg_status table_printed(eg_groups *g, const eg_compare_how *how, char **out)
{
    size_t n;
    FILE *f = open_memstream(out, &n);
    if (!f)
        return eg_fail(EG_ENOMEM, "the table is larger than memory");
    eg_status status = table_print(g, how, f);
    bool bad = ferror(f) != 0;
    if ((fclose(f) != 0 || bad) && status == EG_OK)
        status = eg_fail(EG_ENOMEM, "the table is larger than memory");
    if (status != EG_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

eg_status eg_compare_print(const char *const *run_dirs, size_t n, const eg_published *published,
                           size_t n_published, const eg_compare_how *how, char **out)
{
    eg_groups *g;
    *out = NULL;
    EG_TRY(eg_groups_load(run_dirs, n, published, n_published, &g));
    eg_status status = EG_OK;
    for (size_t i = 0; i < g->n_runs && status == EG_OK; i++)
        if (!g->runs[i]->finished)
            status = eg_fail(EG_ENOENT, "%s has no " EG_RUN_SUMMARY ": the run is not finished",
                             g->runs[i]->dir);
    if (status == EG_OK)
        status = table_printed(g, how, out);
    eg_groups_free(g);
    return status;
}
