/* table_published.c - ours beside theirs: a row for each figure that a paper gives.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/table/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

eg_status eg_grid_fill_published(eg_groups *g, const eg_compare_how *how, eg_grid *t)
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

eg_status eg_grid_json_published(FILE *f, const eg_groups *g, const eg_group *const *order)
{
    published_rows rows = {0};
    eg_status s = published_collect(g, order, &rows);
    if (s == EG_OK)
        s = eg_grid_json_rows(f, rows.n, published_object, &rows);
    free(rows.list);
    return s;
}

eg_status eg_grid_csv_published(FILE *f, const eg_groups *g, const eg_group *const *order)
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
