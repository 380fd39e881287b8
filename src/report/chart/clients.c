/* clients.c - who took part when, who was left out, and how each client is doing.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Many clients share a row and many rounds a column, so that the chart stays small.
 */
#include "report/chart/chart.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CLIENTS_WIDTH = 960, CLIENTS_ROWS = 50, CLIENTS_COLUMNS = 200, CLIENTS_LISTED = 200 };

typedef struct clients {
    eg_page *p;
    const eg_run *r;
    eg_svg_frame m;
    int64_t rows, columns;       /* of the chart */
    int64_t per_row, per_column; /* clients in a row, rounds in a column */
    int64_t *took;               /* [rows, columns] how often */
    int64_t *took_by, *left_by;  /* [n_clients] */
    int64_t *out_of;             /* [n_clients] the last round a client was left out of */
    const int64_t *end;          /* [n_ends] of tasks */
    size_t n_ends;
    double step; /* the height of a row */
} clients;

static eg_status clients_init(clients *c)
{
    const eg_run *r = c->r;
    c->per_row = (r->start->clients + CLIENTS_ROWS - 1) / CLIENTS_ROWS;
    c->per_column = (r->start->rounds + CLIENTS_COLUMNS - 1) / CLIENTS_COLUMNS;
    c->rows = (r->start->clients + c->per_row - 1) / c->per_row;
    c->columns = (r->start->rounds + c->per_column - 1) / c->per_column;
    size_t cells = (size_t)(c->rows * c->columns) * sizeof(int64_t);
    size_t all = (size_t)r->start->clients * sizeof(int64_t);
    c->took = eg_arena_alloc(&c->p->arena, cells);
    c->took_by = eg_arena_alloc(&c->p->arena, all);
    c->left_by = eg_arena_alloc(&c->p->arena, all);
    c->out_of = eg_arena_alloc(&c->p->arena, all);
    return c->took && c->took_by && c->left_by && c->out_of ? EG_OK : EG_ENOMEM;
}

static int64_t clients_cell(const clients *c, int64_t client, int64_t round)
{
    return client / c->per_row * c->columns + (round - 1) / c->per_column;
}

/* A round names all clients that were asked; those left out of it did not take part. Rounds and
 * losses are both in order. */
static void clients_count(clients *c)
{
    const eg_run *r = c->r;
    const eg_loss_event *loss = r->log->loss, *end = r->log->loss + r->log->n_loss;
    for (size_t i = 0; i < r->log->n_round; i++) {
        int64_t round = r->log->round[i].round;
        for (; loss < end && loss->round <= round; loss++)
            if (loss->client >= 0)
                c->out_of[loss->client] = loss->round;
        for (size_t k = 0; k < r->log->round[i].n_clients; k++) {
            int64_t client = r->log->round[i].clients[k];
            if (c->out_of[client] == round)
                continue;
            c->took[clients_cell(c, client, round)]++;
            c->took_by[client]++;
        }
    }
    for (size_t i = 0; i < r->log->n_loss; i++)
        if (r->log->loss[i].client >= 0)
            c->left_by[r->log->loss[i].client]++;
}

/* How much of a cell took part, in quarters. */
static int clients_level(const clients *c, int64_t row, int64_t column)
{
    double share =
        (double)c->took[row * c->columns + column] / (double)(c->per_row * c->per_column);
    return share > 0 ? (int)fmin(4, ceil(share * 4)) : 0;
}

static void clients_name(FILE *f, const clients *c, int64_t row)
{
    int64_t first = row * c->per_row, last = first + c->per_row - 1;
    last = last < c->r->start->clients ? last : c->r->start->clients - 1;
    if (first == last)
        fprintf(f, "client %" PRId64, first);
    else
        fprintf(f, "clients %" PRId64 " to %" PRId64, first, last);
}

/* Columns [from, to) of a row, all of one level. */
static void clients_bar(const clients *c, int64_t row, int64_t from, int64_t to, int level)
{
    FILE *f = c->p->f;
    int64_t first = from * c->per_column + 1, last = to * c->per_column;
    last = last < c->r->start->rounds ? last : c->r->start->rounds;
    double x = eg_svg_x(&c->m, (double)(first - 1)), right = eg_svg_x(&c->m, (double)last);
    fprintf(f, "<path style=\"stroke-opacity:%.2f\" d=\"M%.1f %.1fH%.1f\"><title>",
            0.1 + 0.225 * level, x + 0.5, c->m.top + ((double)row + 0.5) * c->step,
            fmax(right - 0.5, x + 1.1));
    clients_name(f, c, row);
    fprintf(f,
            first == last ? ": round %" PRId64 "</title></path>"
                          : ": rounds %" PRId64 " to %" PRId64 "</title></path>",
            first, last);
}

/* The rows within the rounds of one task, in its colour. */
static void clients_task(const clients *c, size_t task)
{
    int64_t begin = task ? (c->end[task - 1] + c->per_column - 1) / c->per_column : 0;
    int64_t stop = (c->end[task] + c->per_column - 1) / c->per_column;
    fprintf(c->p->f, "<g ");
    eg_svg_colour(c->p->f,
                  eg_colour_task((int64_t)task % c->r->start->tasks, c->r->start->tasks));
    fprintf(c->p->f, "><g class=\"bars\" stroke-width=\"%.1f\">", c->step - 2);
    for (int64_t row = 0; row < c->rows; row++)
        for (int64_t k = begin, to; k < stop; k = to) {
            int level = clients_level(c, row, k);
            for (to = k + 1; to < stop && clients_level(c, row, to) == level;)
                to++;
            if (level > 0)
                clients_bar(c, row, k, to, level);
        }
    fprintf(c->p->f, "</g></g>\n");
}

static void clients_row_names(const clients *c)
{
    int64_t stride = c->step >= 11 ? 1 : (int64_t)ceil(13 / c->step);
    for (int64_t row = 0; row < c->rows; row++) {
        double y = c->m.top + ((double)row + 0.5) * c->step;
        fprintf(c->p->f, "<path class=\"rowline\" d=\"M%.1f %.1fH%.1f\"/>", c->m.left, y,
                c->m.right);
        if (row % stride == 0)
            fprintf(c->p->f, "<text class=\"dim end\" x=\"%.1f\" y=\"%.1f\">%" PRId64 "</text>",
                    c->m.left - 8, y + 4, row * c->per_row);
        if (c->per_row == 1 && c->step >= 11 && c->r->log->n_round > 0)
            fprintf(c->p->f, "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\">%" PRId64 "</text>",
                    c->m.right + 10, y + 4, c->took_by[row]);
    }
    fprintf(c->p->f, "<text class=\"dim end\" x=\"%.1f\" y=\"%.1f\">client</text>",
            c->m.left - 8, c->m.top - 6);
    if (c->per_row == 1 && c->step >= 11)
        fprintf(c->p->f, "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\">rounds</text>",
                c->m.right + 10, c->m.top - 6);
    fputc('\n', c->p->f);
}

static void clients_losses(const clients *c)
{
    FILE *f = c->p->f;
    for (size_t i = 0; i < c->r->log->n_loss; i++) {
        const eg_loss_event *loss = &c->r->log->loss[i];
        double x = eg_svg_x(&c->m, (double)loss->round - 0.5);
        fprintf(f, "<g class=\"bad\"><title>");
        if (loss->client < 0) {
            fprintf(f, "round %" PRId64 " skipped: ", loss->round);
            eg_html_text(f, loss->why);
            fprintf(f, "</title><path d=\"M%.1f %.1fV%.1f\"/></g>\n", x, c->m.top, c->m.bottom);
            continue;
        }
        int64_t row = loss->client / c->per_row;
        double y = c->m.top + ((double)row + 0.5) * c->step;
        double a = fmin(4, c->step / 2 - 1);
        fprintf(f, "client %" PRId64 " left out of round %" PRId64 ": ", loss->client,
                loss->round);
        eg_html_text(f, loss->why);
        fprintf(f, "</title><path d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\"/></g>\n", x - a,
                y - a, 2 * a, 2 * a, -2 * a, -2 * a, 2 * a);
    }
}

static void clients_table(const clients *c)
{
    eg_page *p = c->p;
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "client");
    eg_cell_head(p, "rounds taken part");
    eg_cell_head(p, "left out");
    fprintf(p->f, "</tr>\n");
    for (int64_t k = 0; k < c->r->start->clients && k < CLIENTS_LISTED; k++) {
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, k);
        eg_cell_count(p, c->took_by[k]);
        eg_cell_count(p, c->left_by[k]);
        fprintf(p->f, "</tr>\n");
    }
    if (c->r->start->clients > CLIENTS_LISTED)
        fprintf(p->f, "<tr><td colspan=\"3\">and %" PRId64 " more</td></tr>\n",
                c->r->start->clients - CLIENTS_LISTED);
}

static const char *clients_sentence(const clients *c)
{
    int64_t out = 0, skipped = 0;
    for (size_t i = 0; i < c->r->log->n_loss; i++)
        *(c->r->log->loss[i].client >= 0 ? &out : &skipped) += 1;
    const char *text = eg_arena_text(
        &c->p->arena,
        "A bar is a client taking part, in the colour of the current task; a cross is one left "
        "out (%" PRId64 "), a broken line is a round skipped (%" PRId64 ").%s",
        out, skipped, c->per_row * c->per_column > 1 ? " The paler, the fewer." : "");
    return text ? text : "";
}

eg_status eg_chart_clients(eg_page *p, const eg_group *g)
{
    clients c = {.p = p, .r = g->run[0]};
    EG_TRY(clients_init(&c));
    EG_TRY(eg_task_ends(p, c.r, &c.end, &c.n_ends));
    clients_count(&c);
    c.step = fmin(20, fmax(300 / (double)c.rows, 6));
    c.m = (eg_svg_frame){.left = 62, .right = CLIENTS_WIDTH - 60, .top = 40, .y1 = 1};
    c.m.x1 = (double)c.r->start->rounds;
    c.m.bottom = c.m.top + (double)c.rows * c.step + 4;
    eg_figure_open(p, eg_figure_of_seed(p, g, "Who took part"), clients_sentence(&c));
    eg_svg_open(
        p, "clients", CLIENTS_WIDTH, c.m.bottom + 44, "Clients over rounds",
        "A row for each client, or for several, with a bar for every round it took part "
        "in. The table below counts them.");
    clients_row_names(&c);
    eg_svg_numbers(p, &c.m, EG_UNIT_COUNT, "round");
    eg_svg_tasks(p, &c.m, c.end, c.n_ends, c.r->start->tasks);
    for (size_t i = 0; i < c.n_ends; i++)
        clients_task(&c, i);
    clients_losses(&c);
    eg_svg_close(p);
    eg_figure_table(p, "rounds by client");
    clients_table(&c);
    eg_figure_close(p);
    return EG_OK;
}

/* Of a few clients each has a line; of many only the mean is drawn, in a band from the worst
 * to the best. In a stream a client is judged by what it has met. */

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
        eg_cell_unit(p, EG_UNIT_PERCENT, each_accuracy(e, last, c));
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
    c.description = few ? "One line per client, on the tasks it has learned so far or the "
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
