/* table.c - several runs as one table: its cells, in the order that is wanted.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/table/table.h"

#include "base/base.h"
#include "report/runs/group.h"

#include <engram/log.h>
#include <engram/opt.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Ours beside theirs: a row for each figure that a paper gives. */

/* A figure of ours and a paper's. */
typedef struct published_row {
    const eg_group *of;
    const eg_column *column;
    eg_spread ours;
    const eg_published *theirs;
    double difference, deviations; /* ours less theirs; in the paper's deviations, or NaN */
} published_row;

typedef struct published_rows {
    published_row *list; /* [n] by group, then by column */
    size_t n;
} published_rows;

static published_row published_make(const eg_group *of, const eg_column *c,
                                    const eg_published *theirs)
{
    published_row r = {.of = of, .column = c, .theirs = theirs};
    r.ours = eg_group_summary(of, c->which);
    r.difference = r.ours.mean - theirs->mean;
    r.deviations = theirs->sd > 0 ? r.difference / theirs->sd : NAN;
    return r;
}

/* free() the list. */
static eg_status published_collect(const eg_groups *g, const eg_group *const *order,
                                   published_rows *out)
{
    size_t cap = 0;
    *out = (published_rows){0};
    for (size_t i = 0; i < g->n; i++)
        for (const eg_column *c = g->column; c < g->column + EG_SUMMARY_N; c++) {
            const eg_published *p = eg_groups_published(g, order[i], c->which);
            if (!p)
                continue;
            EG_TRY(eg_grow(&out->list, out->n, &cap, sizeof *out->list));
            out->list[out->n++] = published_make(order[i], c, p);
        }
    return EG_OK;
}

/* "+1.4", "-0.3"; a dash where there is no deviation. */
static void published_show(char out[32], double deviations)
{
    if (isnan(deviations))
        snprintf(out, 32, "–");
    else
        snprintf(out, 32, "%+.1f", deviations);
}

static eg_status published_cells(eg_groups *g, eg_grid *t, size_t row, const published_row *r)
{
    char ours[80], theirs[80], difference[96], deviations[32], seeds[32];
    eg_summary which = r->column->which;
    const eg_paired d = {.mean = r->difference, .sd = NAN, .p = NAN};
    const char *within = isnan(r->deviations) ? "–" : fabs(r->deviations) <= 2 ? "yes" : "no";
    snprintf(seeds, sizeof seeds, "%zu", r->of->n);
    eg_show_spread(ours, which, r->ours);
    eg_show_spread(theirs, which, (eg_spread){r->theirs->mean, r->theirs->sd, 1});
    eg_show_difference(difference, which, &d);
    published_show(deviations, r->deviations);
    const char *const texts[] = {r->column->heading, seeds,      ours,  theirs,
                                 difference,         deviations, within};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        EG_TRY(eg_grid_set(g, t, row, k + 1, texts[k],
                           k == 3 ? EG_CELL_PUBLISHED : EG_CELL_PLAIN));
    return EG_OK;
}

static eg_status published_grid(eg_groups *g, const published_rows *rows, bool brief,
                                eg_grid *t)
{
    static const struct {
        const char *heading;
        int weight; /* what follows from the others goes first */
    } columns[] = {{"label", EG_GRID_ALWAYS},
                   {"value", EG_GRID_ALWAYS},
                   {"seeds", 1},
                   {"ours", EG_GRID_ALWAYS},
                   {"published", EG_GRID_ALWAYS},
                   {"difference", 3},
                   {"deviations", 4},
                   {"within two", 2}};
    size_t n = sizeof columns / sizeof *columns;
    char scale[64];
    eg_show_scale(scale, g);
    EG_TRY(eg_grid_alloc(g, rows->n + 1, n, t));
    for (size_t k = 0; k < n; k++) {
        t->weight[k] = columns[k].weight;
        bool star = *scale && strcmp(columns[k].heading, "published") == 0;
        EG_TRY(eg_grid_set(g, t, 0, k, star ? EG_GRID_STARRED : columns[k].heading,
                           EG_CELL_PLAIN));
    }
    for (size_t i = 0; i < rows->n; i++) {
        const eg_group *of = t->of[i + 1] = rows->list[i].of;
        /* There are no columns for the values of a sweep, so the title has to tell them. */
        EG_TRY(of->n_swept ? eg_grid_set(g, t, i + 1, 0, of->title, EG_CELL_PLAIN)
                           : eg_grid_label(g, t, i + 1, brief));
        EG_TRY(published_cells(g, t, i + 1, &rows->list[i]));
    }
    return EG_OK;
}

/* A row for each figure that a paper gives: ours, theirs, and how many of the paper's
 * deviations lie between. EG_ENOENT: there is none. */
static eg_status grid_fill_published(eg_groups *g, const eg_compare_how *how, eg_grid *t)
{
    const eg_group **order;
    published_rows rows = {0};
    EG_TRY(eg_grid_sort(g, how->sort, &order));
    eg_status s = published_collect(g, order, &rows);
    if (s == EG_OK)
        s = published_grid(g, &rows, how->form == EG_COMPARE_TEXT, t);
    free(rows.list);
    return s;
}

static eg_status published_object(const void *context, size_t i, eg_json *to)
{
    const published_row *r = &((const published_rows *)context)->list[i];
    double sd = r->theirs->sd < 0 ? NAN : r->theirs->sd;
    EG_TRY(eg_json_set(to, "name", eg_json_of_text(r->of->run[0]->start->name)));
    EG_TRY(eg_json_set(to, "label", eg_json_of_text(r->of->run[0]->start->label)));
    EG_TRY(eg_json_set(to, "value", eg_json_of_text(eg_summary_name(r->column->which))));
    EG_TRY(eg_json_set(to, "seeds", eg_json_of_int((int64_t)r->of->n)));
    EG_TRY(eg_json_set(to, "scale", eg_json_of_real(r->of->run[0]->scale)));
    EG_TRY(eg_json_set(to, "mean", eg_grid_json_number(r->ours.mean)));
    EG_TRY(eg_json_set(to, "sd", eg_grid_json_number(r->ours.sd)));
    EG_TRY(eg_json_set(to, "published_mean", eg_grid_json_number(r->theirs->mean)));
    EG_TRY(eg_json_set(to, "published_sd", eg_grid_json_number(sd)));
    EG_TRY(eg_json_set(to, "difference", eg_grid_json_number(r->difference)));
    return eg_json_set(to, "deviations", eg_grid_json_number(r->deviations));
}

static eg_status grid_json_published(FILE *f, const eg_groups *g, const eg_group *const *order)
{
    published_rows rows = {0};
    eg_status s = published_collect(g, order, &rows);
    if (s == EG_OK)
        s = eg_grid_json_rows(f, rows.n, published_object, &rows);
    free(rows.list);
    return s;
}

static eg_status grid_csv_published(FILE *f, const eg_groups *g, const eg_group *const *order)
{
    published_rows rows = {0};
    eg_status status = published_collect(g, order, &rows);
    fputs("name,label,value,seeds,scale,mean,sd,published_mean,published_sd,difference,"
          "deviations\n",
          f);
    for (size_t i = 0; status == EG_OK && i < rows.n; i++) {
        const published_row *r = &rows.list[i];
        eg_csv_text(f, r->of->run[0]->start->name);
        fputc(',', f);
        eg_csv_text(f, r->of->run[0]->start->label);
        fprintf(f, ",%s,%zu,%g", eg_summary_name(r->column->which), r->of->n,
                r->of->run[0]->scale);
        const double numbers[] = {r->ours.mean,    r->ours.sd,
                                  r->theirs->mean, r->theirs->sd < 0 ? NAN : r->theirs->sd,
                                  r->difference,   r->deviations};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            eg_csv_number(f, numbers[k]);
        fputc('\n', f);
    }
    free(rows.list);
    return status;
}

/* --- The table of a comparison. */

enum { TABLE_LABEL = 40, TABLE_LABEL_LEAST = 12 }; /* characters of a short label */

static bool table_has_published(const eg_groups *g, const eg_column *c)
{
    for (size_t i = 0; i < g->n; i++)
        if (eg_groups_published(g, &g->group[i], c->which))
            return true;
    return false;
}

eg_status eg_grid_set(eg_groups *g, eg_grid *t, size_t row, size_t column, const char *text,
                      eg_cell_style style)
{
    char *copy = eg_arena_text(&g->arena, "%s", text);
    t->cell[row * t->columns + column] = (eg_cell){copy, style};
    return copy ? EG_OK : EG_ENOMEM;
}

/* A long label loses its middle, for labels are told apart by how they begin and end. What
 * tells groups of one label apart stays. */
eg_status eg_grid_label(eg_groups *g, eg_grid *t, size_t row, bool brief)
{
    const eg_group *of = t->of[row];
    size_t apart = *of->apart ? strlen(of->apart) + strlen(" ()") : 0;
    const char *tail = of->base + strlen(of->base) - apart;
    size_t wide = eg_show_length(tail), n = eg_show_length(of->base) - wide;
    size_t room =
        wide + TABLE_LABEL_LEAST < TABLE_LABEL ? TABLE_LABEL - wide : TABLE_LABEL_LEAST;
    if (!brief || n <= room)
        return eg_grid_set(g, t, row, 0, of->base, EG_CELL_PLAIN);
    size_t begin = eg_show_begin(of->base, room / 2);
    size_t end = eg_show_begin(of->base, n - (room - 1) / 2);
    char *text = eg_arena_text(&g->arena, "%.*s…%s", (int)begin, of->base, of->base + end);
    return text ? eg_grid_set(g, t, row, 0, text, EG_CELL_PLAIN) : EG_ENOMEM;
}

static eg_status table_column(eg_groups *g, eg_grid *t, size_t k, const eg_column *c)
{
    char text[80];
    t->weight[k] = c->weight;
    EG_TRY(eg_grid_set(g, t, 0, k, c->heading, EG_CELL_PLAIN));
    for (size_t i = 1; i < t->rows; i++) {
        bool best = eg_group_is_best(g, t->of[i], c);
        eg_show_spread(text, c->which, eg_group_summary(t->of[i], c->which));
        EG_TRY(eg_grid_set(g, t, i, k, text, best ? EG_CELL_BEST : EG_CELL_PLAIN));
    }
    return EG_OK;
}

/* A star leads to the note that these figures are of larger runs. */
static eg_status table_published(eg_groups *g, eg_grid *t, size_t k, const eg_column *c)
{
    char text[80], scale[64];
    eg_show_scale(scale, g);
    t->weight[k] = c->weight;
    EG_TRY(eg_grid_set(g, t, 0, k, *scale ? EG_GRID_STARRED : "published", EG_CELL_PUBLISHED));
    for (size_t i = 1; i < t->rows; i++) {
        const eg_published *p = eg_groups_published(g, t->of[i], c->which);
        eg_show_spread(text, c->which, (eg_spread){p ? p->mean : NAN, p ? p->sd : NAN, 1});
        EG_TRY(eg_grid_set(g, t, i, k, text, EG_CELL_PUBLISHED));
    }
    return EG_OK;
}

/* How the others differ from the one they are held against, in the value of column c. */
static eg_status table_difference(eg_groups *g, eg_grid *t, size_t k, const eg_column *c)
{
    char difference[96], p[32];
    t->weight[k] = t->weight[k + 1] = c->weight - 1;
    EG_TRY(eg_grid_set(g, t, 0, k, "difference", EG_CELL_PLAIN));
    EG_TRY(eg_grid_set(g, t, 0, k + 1, "p", EG_CELL_PLAIN));
    for (size_t i = 1; i < t->rows; i++) {
        eg_against_show(&t->against, g, t->of[i], difference, p);
        EG_TRY(eg_grid_set(g, t, i, k, difference, EG_CELL_PLAIN));
        EG_TRY(eg_grid_set(g, t, i, k + 1, p, EG_CELL_PLAIN));
    }
    return EG_OK;
}

eg_status eg_grid_alloc(eg_groups *g, size_t rows, size_t columns, eg_grid *t)
{
    *t = (eg_grid){.rows = rows, .columns = columns};
    t->cell = eg_arena_alloc(&g->arena, rows * columns * sizeof *t->cell);
    t->weight = eg_arena_alloc(&g->arena, columns * sizeof *t->weight);
    t->of = eg_arena_alloc(&g->arena, rows * sizeof *t->of);
    return t->cell && t->weight && t->of ? EG_OK : EG_ENOMEM;
}

static eg_status table_alloc(eg_groups *g, const eg_compare_how *how, size_t n_swept,
                             eg_grid *t)
{
    const eg_group **order;
    eg_against against;
    size_t columns = 2 + n_swept;
    EG_TRY(eg_grid_sort(g, how->sort, &order));
    EG_TRY(eg_groups_against(&g->arena, g, how, &against));
    for (const eg_column *c = g->column; c < g->column + EG_SUMMARY_N; c++) {
        columns += eg_column_used(g, c) ? 1U : 0U;
        columns += table_has_published(g, c) ? 1U : 0U;
        columns += against.words && c->which == against.which ? 2U : 0U;
    }
    EG_TRY(eg_grid_alloc(g, g->n + 1, columns, t));
    t->against = against;
    memcpy(t->of + 1, order, g->n * sizeof *order);
    return EG_OK;
}

/* What a row is of: its label, the values of a sweep, how many seeds. */
static eg_status table_heads(eg_groups *g, eg_grid *t, const char *const *keys, size_t n_keys,
                             bool brief)
{
    EG_TRY(eg_grid_set(g, t, 0, 0, "label", EG_CELL_PLAIN));
    EG_TRY(eg_grid_set(g, t, 0, n_keys + 1, "seeds", EG_CELL_PLAIN));
    t->weight[0] = EG_GRID_ALWAYS;
    for (size_t k = 0; k < n_keys; k++) {
        t->weight[k + 1] = EG_GRID_ALWAYS;
        EG_TRY(eg_grid_set(g, t, 0, k + 1, keys[k], EG_CELL_PLAIN));
    }
    for (size_t i = 1; i < t->rows; i++) {
        char text[32];
        snprintf(text, sizeof text, "%zu", t->of[i]->n);
        EG_TRY(eg_grid_label(g, t, i, brief));
        EG_TRY(eg_grid_set(g, t, i, n_keys + 1, text, EG_CELL_PLAIN));
        for (size_t k = 0; k < n_keys; k++) {
            const char *value = eg_group_swept(t->of[i], keys[k]);
            EG_TRY(eg_grid_set(g, t, i, k + 1, value ? value : "–", EG_CELL_PLAIN));
        }
    }
    return EG_OK;
}

eg_status eg_grid_fill(eg_groups *g, const eg_compare_how *how, eg_grid *t)
{
    const char **keys;
    size_t n_keys;
    EG_TRY(eg_groups_swept_keys(&g->arena, g, &keys, &n_keys));
    EG_TRY(table_alloc(g, how, n_keys, t));
    EG_TRY(table_heads(g, t, keys, n_keys, how->form == EG_COMPARE_TEXT));
    size_t k = 2 + n_keys;
    for (const eg_column *c = g->column; c < g->column + EG_SUMMARY_N; c++) {
        if (!eg_column_used(g, c))
            continue;
        EG_TRY(table_column(g, t, k++, c));
        if (table_has_published(g, c))
            EG_TRY(table_published(g, t, k++, c));
        if (t->against.words && c->which == t->against.which) {
            EG_TRY(table_difference(g, t, k, c));
            k += 2;
        }
    }
    return EG_OK;
}

/* A group's place among the others: less comes first, NaN last. */
static double table_key(const eg_group *g, eg_summary which, bool seeds)
{
    if (seeds)
        return -(double)g->n;
    double value = eg_group_summary(g, which).mean;
    return eg_column_of(which).better > 0 ? -value : value;
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

/* Every name of a list is that of a column. */
static eg_status table_check_columns(const char *list)
{
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        char *name = strndup(list, n);
        bool known = false;
        for (int i = 0; name && i < EG_SUMMARY_N; i++) {
            const eg_column c = eg_column_of((eg_summary)i);
            known |= eg_column_listed(name, &c);
        }
        eg_status s =
            known ? EG_OK
                  : eg_fail(EG_EINVAL,
                            "there is no column '%s' to show; there are acc_seen, client_mean, "
                            "fwt, rounds_to_best, flops_clients, server_seconds, ...",
                            name ? name : "");
        free(name);
        EG_TRY(s);
    }
    return EG_OK;
}

eg_status eg_compare_check(const eg_compare_how *how)
{
    const char *name;
    if (how->columns)
        EG_TRY(table_check_columns(how->columns));
    return how->sort ? table_sort_name(how->sort, &name) : EG_OK;
}

/* What the scale is, and that published figures, which have a star then, are of the whole
 * experiment. */
static eg_status table_scale_note(eg_groups *g, const eg_grid *t, const char **out)
{
    char scale[64];
    bool star = false;
    for (size_t k = 0; k < t->columns; k++)
        star |= strcmp(t->cell[k].text, EG_GRID_STARRED) == 0;
    eg_show_scale(scale, g);
    *out = NULL;
    if (!*scale)
        return EG_OK;
    *out = eg_arena_text(
        &g->arena, "%s%s: less data and fewer rounds than the experiment has%s",
        star ? "* " : "", scale, star ? "; published figures are of all of it" : "");
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
    const char **notes = eg_arena_alloc(&g->arena, (3 * g->n + 5) * sizeof *notes);
    *out = notes;
    *n = 0;
    if (!notes)
        return EG_ENOMEM;
    EG_TRY(table_scale_note(g, t, &notes[0]));
    *n = notes[0] != NULL;
    EG_TRY(table_forced_note(g, &notes[*n]));
    *n += notes[*n] != NULL;
    if (t->against.words && !(notes[(*n)++] = eg_against_note(&g->arena, &t->against)))
        return EG_ENOMEM;
    EG_TRY(eg_groups_sweep_notes(&g->arena, g, notes, n));
    for (size_t i = 1; i < t->rows; i++) {
        char text[128];
        if (t->of[i] == t->of[i - 1]) /* rows of one group say it once */
            continue;
        eg_show_ends(text, t->of[i]);
        if (*text &&
            !(notes[(*n)++] = eg_arena_text(&g->arena, "%s: %s", t->of[i]->title, text)))
            return EG_ENOMEM;
        eg_losses l = eg_group_losses(t->of[i]);
        if (!l.first)
            continue;
        eg_show_losses(text, &l);
        notes[*n] = eg_arena_text(&g->arena, "%s: %s", t->of[i]->title, text);
        if (!notes[(*n)++])
            return EG_ENOMEM;
    }
    return EG_OK;
}

/* For programs. */
static eg_status table_data(eg_groups *g, const eg_compare_how *how, FILE *f)
{
    const eg_group **order;
    eg_against against;
    bool json = how->form == EG_COMPARE_JSON;
    EG_TRY(eg_grid_sort(g, how->sort, &order));
    EG_TRY(eg_groups_against(&g->arena, g, how, &against));
    if (json)
        return how->published ? grid_json_published(f, g, order)
                              : eg_grid_json(f, g, order, &against);
    if (how->published)
        return grid_csv_published(f, g, order);
    eg_grid_csv(f, g, order, &against);
    return EG_OK;
}

static eg_status table_print(eg_groups *g, const eg_compare_how *how, FILE *f)
{
    eg_grid t;
    if (how->published && g->n_published == 0)
        return eg_fail(EG_ENOENT, "the file gives no published figures");
    if (how->form == EG_COMPARE_JSON || how->form == EG_COMPARE_CSV)
        return table_data(g, how, f);
    EG_TRY(how->published ? grid_fill_published(g, how, &t) : eg_grid_fill(g, how, &t));
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
    EG_TRY(eg_compare_check(how));
    EG_TRY(eg_groups_load(run_dirs, n, published, n_published, &g));
    g->columns = how->columns;
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
