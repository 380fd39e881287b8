/* held.c - clients one by one: what each one's training loss was, and what their memories hold.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LOSS_POINTS = 120, LOSS_LINES = 12, LOSS_LISTED = 200 };

static const eg_colour loss_ink = {0x16191d, 0xf4f6f8};

/* A client's loss in a round, NaN where it took no part that counts. */
static double loss_of(const eg_round_event *e, int64_t client)
{
    for (size_t i = 0; e->losses && i < e->n_clients; i++)
        if (e->clients[i] == client)
            return e->losses[i];
    return NAN;
}

/* The mean over clients, from the least to the greatest. */
static eg_chart_point loss_spread(const eg_round_event *e)
{
    eg_chart_point q = {(double)e->round, 0, INFINITY, -INFINITY};
    size_t n = 0;
    for (size_t i = 0; e->losses && i < e->n_clients; i++) {
        if (!isfinite(e->losses[i]))
            continue;
        q.y += e->losses[i];
        q.low = fmin(q.low, e->losses[i]);
        q.high = fmax(q.high, e->losses[i]);
        n++;
    }
    q.y = n > 0 ? q.y / (double)n : NAN;
    if (n < 2)
        q.low = q.high = NAN;
    return q;
}

/* One client's line, or with client -1 the mean's. */
static eg_status loss_line(eg_page *p, const eg_run *r, int64_t client, bool band,
                           eg_line *line)
{
    const eg_events *log = r->log;
    eg_chart_point *q = eg_arena_alloc(&p->arena, log->n_round * sizeof *q);
    *line = (eg_line){.name = "mean", .colour = loss_ink, .strong = true, .point = q};
    if (client >= 0) {
        line->name = eg_arena_text(&p->arena, "client %" PRId64, client);
        line->colour = eg_colour_task(client, r->start->clients);
        line->strong = false;
    }
    if (!q || !line->name)
        return EG_ENOMEM;
    for (size_t i = 0; i < log->n_round; i++) {
        if (!eg_chart_keeps(i, log->n_round, LOSS_POINTS))
            continue;
        q[line->n] = loss_spread(&log->round[i]);
        if (client >= 0)
            q[line->n].y = loss_of(&log->round[i], client);
        if (!band)
            q[line->n].low = q[line->n].high = NAN;
        line->n++;
    }
    return EG_OK;
}

/* First, least and last of a client's losses. */
typedef struct loss_row {
    double first, least, last;
} loss_row;

static void loss_add(loss_row *r, double loss)
{
    r->first = isnan(r->first) ? loss : r->first;
    r->least = fmin(r->least, loss); /* fmin passes over what is no number */
    r->last = isnan(loss) ? r->last : loss;
}

static void loss_table(eg_page *p, const eg_run *r)
{
    loss_row row[LOSS_LISTED];
    int64_t n = r->start->clients < LOSS_LISTED ? r->start->clients : LOSS_LISTED;
    for (int64_t c = 0; c < n; c++)
        row[c] = (loss_row){NAN, NAN, NAN};
    for (const eg_round_event *e = r->log->round; e < r->log->round + r->log->n_round; e++)
        for (size_t i = 0; e->losses && i < e->n_clients; i++)
            if (e->clients[i] < n)
                loss_add(&row[e->clients[i]], e->losses[i]);
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "client");
    eg_cell_head(p, "first");
    eg_cell_head(p, "least");
    eg_cell_head(p, "last");
    fprintf(p->f, "</tr>\n");
    for (int64_t c = 0; c < n; c++) {
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, c);
        eg_cell_unit(p, EG_UNIT_NUMBER, row[c].first);
        eg_cell_unit(p, EG_UNIT_NUMBER, row[c].least);
        eg_cell_unit(p, EG_UNIT_NUMBER, row[c].last);
        fprintf(p->f, "</tr>\n");
    }
    if (n < r->start->clients)
        fprintf(p->f, "<tr><td colspan=\"4\">and %" PRId64 " more</td></tr>\n",
                r->start->clients - n);
}

/* Rounds in which somebody's loss is known. */
static size_t loss_rounds(const eg_run *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->log->n_round; i++)
        n += isnan(loss_spread(&r->log->round[i]).y) ? 0 : 1;
    return n;
}

/* Of a few clients, on a page of one run, each has a line; else the mean alone is drawn, in a
 * band from the least to the greatest. */
static eg_status loss_figure(eg_page *p, const eg_group *g)
{
    const eg_run *r = g->run[0];
    bool each = r->start->clients <= LOSS_LINES && p->g->n == 1;
    size_t n = each ? (size_t)r->start->clients : 0;
    eg_line *line = eg_arena_alloc(&p->arena, (n + 1) * sizeof *line);
    EG_TRY(line ? EG_OK : EG_ENOMEM);
    for (size_t i = 0; i < n; i++)
        EG_TRY(loss_line(p, r, (int64_t)i, false, &line[i]));
    EG_TRY(loss_line(p, r, -1, !each, &line[n]));
    eg_line_chart c = {.chart = "client-loss", .title = "Training loss by client"};
    c.description = each ? "A line for each client, and one for the mean of a round's clients."
                         : "The mean over a round's clients, in a band from the least to the "
                           "greatest.";
    c.unit = EG_UNIT_NUMBER;
    c.small = true;
    c.range = "from";
    c.x_name = c.x_item = "round";
    c.x1 = (double)r->start->rounds;
    c.line = line;
    c.n = n + 1;
    eg_figure_open(p, eg_figure_of_seed(p, g, c.title), c.description);
    eg_chart_lines(p, &c);
    eg_figure_table(p, "by client");
    loss_table(p, r);
    eg_figure_close(p);
    return EG_OK;
}

/* Rounds as columns, classes as rows; the cells are shares of the rows in memories. */
typedef struct held {
    const eg_run *r;
    const eg_round_event **column; /* [columns] */
    int64_t columns, classes;
    const char **name; /* [classes] */
} held;

enum { HELD_COLUMNS = 12, HELD_ROWS = 25 };

static int64_t held_rows(const eg_round_event *e)
{
    int64_t sum = 0;
    for (size_t k = 0; k < e->n_held; k++)
        sum += e->held[k];
    return sum;
}

/* Of many rounds every so many, and the last. */
static eg_status held_make(eg_page *p, const eg_run *r, held *h)
{
    size_t n = 0, at = 0;
    *h = (held){.r = r};
    for (size_t i = 0; i < r->log->n_round; i++)
        n += r->log->round[i].n_held > 0;
    h->column = eg_arena_alloc(&p->arena, (n + 1) * sizeof(const eg_round_event *));
    EG_TRY(h->column ? EG_OK : EG_ENOMEM);
    for (size_t i = 0; i < r->log->n_round; i++) {
        const eg_round_event *e = &r->log->round[i];
        if (e->n_held == 0 || !eg_chart_keeps(at++, n, HELD_COLUMNS))
            continue;
        h->column[h->columns++] = e;
        h->classes = h->classes > (int64_t)e->n_held ? h->classes : (int64_t)e->n_held;
    }
    h->name = eg_arena_alloc(&p->arena, ((size_t)h->classes + 1) * sizeof(const char *));
    EG_TRY(h->name ? EG_OK : EG_ENOMEM);
    for (int64_t k = 0; k < h->classes; k++) {
        h->name[k] =
            r->start->names ? r->start->names[k] : eg_arena_text(&p->arena, "%" PRId64, k);
        EG_TRY(h->name[k] ? EG_OK : EG_ENOMEM);
    }
    return EG_OK;
}

static void held_cells(eg_page *p, const held *h, double left, double w, double height)
{
    for (int64_t x = 0; x < h->columns; x++) {
        const eg_round_event *e = h->column[x];
        double all = (double)held_rows(e);
        for (int64_t k = 0; k < h->classes; k++) {
            char tip[160];
            int64_t rows = k < (int64_t)e->n_held ? e->held[k] : 0;
            if (rows == 0)
                continue; /* an empty place says it, in fewer bytes */
            snprintf(tip, sizeof tip,
                     "class %.60s after round %" PRId64 ", %.1f rows per client", h->name[k],
                     e->round, (double)rows / (double)e->held_by);
            eg_heat_cell(
                p, (eg_box){left + (double)x * w, EG_HEAT_TOP + (double)k * height, w, height},
                (double)rows / all, tip, false);
        }
    }
}

static void held_table(eg_page *p, const held *h)
{
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "class");
    for (int64_t x = 0; x < h->columns; x++)
        eg_cell_head(p, "round %" PRId64, h->column[x]->round);
    fprintf(p->f, "</tr>\n");
    for (int64_t k = 0; k < h->classes; k++) {
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%s", h->name[k]);
        for (int64_t x = 0; x < h->columns; x++) {
            const eg_round_event *e = h->column[x];
            eg_cell_unit(p, EG_UNIT_NUMBER,
                         k < (int64_t)e->n_held ? (double)e->held[k] / (double)e->held_by : 0);
        }
        fprintf(p->f, "</tr>\n");
    }
}

/* Neighbours of many classes become one row, of fewer on a page of several labels, which has
 * the chart for each. */
static eg_status held_together(eg_page *p, held *h)
{
    int64_t each =
        p->g->n > 1 ? (h->classes + HELD_ROWS - 1) / HELD_ROWS : eg_tasks_together(h->classes);
    int64_t rows = (h->classes + each - 1) / each;
    if (each == 1)
        return EG_OK;
    for (int64_t x = 0; x < h->columns; x++) {
        const eg_round_event *from = h->column[x];
        eg_round_event *e = eg_arena_alloc(&p->arena, sizeof *e);
        int64_t *sum = eg_arena_alloc(&p->arena, (size_t)rows * sizeof *sum);
        EG_TRY(e && sum ? EG_OK : EG_ENOMEM);
        memset(sum, 0, (size_t)rows * sizeof *sum);
        for (size_t k = 0; k < from->n_held; k++)
            sum[(int64_t)k / each] += from->held[k];
        *e = *from;
        e->held = sum;
        e->n_held = (size_t)rows;
        h->column[x] = e;
    }
    for (int64_t k = 0; k < rows; k++) {
        int64_t last = (k + 1) * each < h->classes ? (k + 1) * each - 1 : h->classes - 1;
        h->name[k] = eg_arena_text(&p->arena, "%s to %s", h->name[k * each], h->name[last]);
        EG_TRY(h->name[k] ? EG_OK : EG_ENOMEM);
    }
    h->classes = rows;
    return EG_OK;
}

/* Room for the names of classes. */
static double held_left(const held *h)
{
    double most = 0;
    for (int64_t k = 0; k < h->classes; k++)
        most = fmax(most, eg_svg_label_width(h->name[k], 0));
    return fmin(fmax(EG_HEAT_LEFT, most + 30), 150);
}

static eg_status held_figure(eg_page *p, const eg_group *g, held *h)
{
    EG_TRY(held_together(p, h));
    double left = held_left(h), w = (EG_HEAT_WIDTH - left - 4) / (double)h->columns;
    double height = fmin(34, fmax(290 / (double)h->classes, 15));
    const char **column = eg_arena_alloc(&p->arena, (size_t)h->columns * sizeof(const char *));
    EG_TRY(column ? EG_OK : EG_ENOMEM);
    for (int64_t x = 0; x < h->columns; x++) {
        column[x] = eg_arena_text(&p->arena, "%" PRId64, h->column[x]->round);
        EG_TRY(column[x] ? EG_OK : EG_ENOMEM);
    }
    eg_figure_open(p, eg_figure_of_seed(p, g, "What memories hold"),
                   "Of the rows that clients keep when a task of theirs ends, how many percent "
                   "are of each class.");
    eg_svg_open(p, "held", EG_HEAT_WIDTH, EG_HEAT_TOP + (double)h->classes * height + 6,
                "What memories hold, in percent",
                "A heat map: rows are classes, columns rounds after which a task ended.");
    eg_heat_numbers(p,
                    &(eg_heat_sides){.rows = h->classes,
                                     .columns = h->columns,
                                     .name = h->name,
                                     .column = column,
                                     .left = left,
                                     .across = "after round",
                                     .down = "class"},
                    w, height);
    held_cells(p, h, left, w, height);
    eg_svg_close(p);
    eg_figure_table(p, "rows per client");
    held_table(p, h);
    eg_figure_close(p);
    return EG_OK;
}

eg_status eg_chart_held(eg_page *p, const eg_group *g)
{
    held h;
    size_t rounds = loss_rounds(g->run[0]);
    EG_TRY(held_make(p, g->run[0], &h));
    if (rounds == 0 && h.columns == 0)
        return EG_OK;
    fprintf(p->f, "<div class=\"pair\">\n");
    if (rounds > 0)
        EG_TRY(loss_figure(p, g));
    if (h.columns > 0)
        EG_TRY(held_figure(p, g, &h));
    fprintf(p->f, "</div>\n");
    return EG_OK;
}
