/* chart_each.c - accuracy by client, where clients were tested.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of a few clients each has a line; of many only the mean is drawn, in a band from the worst to
 * the best. In a stream a client is judged by what it has met.
 */
#include "report/chart.h"

#include <inttypes.h>
#include <math.h>

enum { EACH_POINTS = 240, EACH_LINES = 12, EACH_LISTED = 200 };

static const eg_colour each_ink = {0x16191d, 0xf4f6f8};

typedef struct each {
    eg_page *p;
    const eg_record *record;
    int64_t n_clients;
    int64_t *row; /* [n_rows], rows of the record with tests of clients */
    size_t n_rows;
} each;

static double each_accuracy(const each *e, int64_t row, int64_t client)
{
    double a;
    bool stream = eg_record_samples(e->record, row, client) > 0;
    bool known = stream ? eg_record_pooled(e->record, row, client, &a)
                        : eg_record_mean(e->record, row, client, &a);
    return known ? a : NAN;
}

/* The rows with an accuracy in them; of many every so many, and the last. */
static eg_status each_rows(each *e)
{
    int64_t n = eg_record_n_rows(e->record);
    size_t tested = 0;
    e->row = eg_arena_alloc(&e->p->arena, (size_t)n * sizeof *e->row);
    if (!e->row)
        return EG_ENOMEM;
    for (int64_t row = 0; row < n; row++) {
        bool any = false;
        for (int64_t c = 0; c < e->n_clients && !any; c++)
            any = !isnan(each_accuracy(e, row, c));
        if (any)
            e->row[tested++] = row;
    }
    for (size_t i = 0; i < tested; i++)
        if (eg_chart_keeps(i, tested, EACH_POINTS))
            e->row[e->n_rows++] = e->row[i];
    return EG_OK;
}

/* The mean over clients, from the worst to the best. */
static eg_chart_point each_summary(const each *e, int64_t row)
{
    eg_chart_point q = {(double)eg_record_round(e->record, row), 0, INFINITY, -INFINITY};
    int64_t n = 0;
    for (int64_t c = 0; c < e->n_clients; c++) {
        double a = each_accuracy(e, row, c);
        if (isnan(a))
            continue;
        q.y += a;
        q.low = fmin(q.low, a);
        q.high = fmax(q.high, a);
        n++;
    }
    q.y = n > 0 ? q.y / (double)n : NAN;
    if (n == 0)
        q.low = q.high = NAN;
    return q;
}

/* One client's line, or with client -1 the mean's. */
static eg_status each_line(const each *e, int64_t client, bool band, eg_line *line)
{
    eg_chart_point *q = eg_arena_alloc(&e->p->arena, e->n_rows * sizeof *q);
    *line = (eg_line){.name = "mean", .colour = each_ink, .strong = true, .point = q};
    if (client >= 0) {
        line->name = eg_arena_text(&e->p->arena, "client %" PRId64, client);
        line->colour = eg_colour_task(client, e->n_clients);
        line->strong = false;
    }
    if (!q || !line->name)
        return EG_ENOMEM;
    for (size_t i = 0; i < e->n_rows; i++, line->n++) {
        q[i] = each_summary(e, e->row[i]);
        if (client >= 0)
            q[i].y = each_accuracy(e, e->row[i], client);
        if (!band)
            q[i].low = q[i].high = NAN;
    }
    return EG_OK;
}

static void each_table(const each *e)
{
    eg_page *p = e->p;
    int64_t last = e->row[e->n_rows - 1];
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "client");
    eg_cell_head(p, "at the end");
    fprintf(p->f, "</tr>\n");
    for (int64_t c = 0; c < e->n_clients && c < EACH_LISTED; c++) {
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, c);
        eg_cell_unit(p, EG_PERCENT, each_accuracy(e, last, c));
        fprintf(p->f, "</tr>\n");
    }
    if (e->n_clients > EACH_LISTED)
        fprintf(p->f, "<tr><td colspan=\"2\">and %" PRId64 " more</td></tr>\n",
                e->n_clients - EACH_LISTED);
}

static eg_status each_figure(const each *e, const eg_group *g)
{
    eg_page *p = e->p;
    bool few = e->n_clients <= EACH_LINES;
    size_t n = 0;
    eg_line line[EACH_LINES + 1];
    eg_line_chart c = {.chart = "client-accuracy", .title = "Accuracy by client"};
    for (int64_t k = 0; few && k < e->n_clients; k++)
        EG_TRY(each_line(e, k, false, &line[n++]));
    EG_TRY(each_line(e, -1, !few, &line[n++]));
    EG_TRY(eg_task_ends(p, g->run[0], &c.task_end, &c.n_ends));
    c.n_tasks = g->run[0]->start->tasks;
    c.range = "from";
    c.x1 = (double)g->run[0]->start->rounds;
    c.x_name = c.x_item = "round";
    c.line = line;
    c.n = n;
    c.description = few ? "One line a client, on the tasks it has learned so far or the "
                          "samples it has met; "
                          "the thick line is their mean."
                        : "The mean over clients, on the tasks each has learned so far or the "
                          "samples it has "
                          "met, in a band from the worst client to the best.";
    eg_figure_open(p, eg_figure_of_seed(p, g, c.title), c.description);
    eg_chart_lines(p, &c);
    eg_figure_table(p, "accuracy in percent");
    each_table(e);
    eg_figure_close(p);
    return EG_OK;
}

eg_status eg_chart_each(eg_page *p, const eg_group *g)
{
    eg_record *record;
    EG_TRY(eg_run_record(g->run[0]->log, EG_RECORD_CLASS_IL, &record));
    each e = {.p = p, .record = record, .n_clients = eg_record_n_clients(record)};
    eg_status status = each_rows(&e);
    if (status == EG_OK && e.n_clients > 1 && e.n_rows > 0)
        status = each_figure(&e, g);
    eg_record_free(record);
    return status;
}
