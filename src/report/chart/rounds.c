/* rounds.c - what every round tells: the loss of training, how long it took, what was sent.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"

#include <inttypes.h>
#include <math.h>

enum { ROUNDS_POINTS = 240, ROUNDS_ROWS = 60 };

static const eg_colour rounds_loss_colour = {0xb5508a, 0xe79cc6},
                       rounds_time_colour = {0x00835f, 0x33c9a0};

/* What is taken from a round. */
typedef double (*rounds_value)(const eg_round_event *e);

static double rounds_loss(const eg_round_event *e)
{
    return e->loss;
}

static double rounds_seconds(const eg_round_event *e)
{
    return e->seconds;
}

/* Over the seeds; of more than so many, the first show the spread well enough. */
static eg_spread rounds_spread(const eg_group *g, int64_t round, rounds_value value)
{
    enum { ROUNDS_SEEDS = 64 };
    double values[ROUNDS_SEEDS];
    size_t n = 0;
    for (size_t i = 0; i < g->n && n < ROUNDS_SEEDS; i++) {
        const eg_events *log = g->run[i]->log;
        const eg_round_event *e =
            eg_run_find(log->round, log->n_round, sizeof *log->round, round);
        if (e)
            values[n++] = value(e);
    }
    return eg_spread_of(values, n);
}

static eg_spread rounds_line(const eg_group *g, int64_t round, const void *value)
{
    return rounds_spread(g, round, *(const rounds_value *)value);
}

static eg_status rounds_points(eg_page *p, const eg_group *g, rounds_value value, eg_line *line)
{
    const eg_events *log = eg_group_longest(g)->log;
    eg_chart_point *q = eg_arena_alloc(&p->arena, (log->n_round + 1) * sizeof *q);
    if (!q)
        return EG_ENOMEM;
    line->point = q;
    for (size_t i = 0; i < log->n_round; i++)
        if (eg_chart_keeps(i, log->n_round, ROUNDS_POINTS))
            q[line->n++] = eg_chart_point_of((double)log->round[i].round,
                                             rounds_spread(g, log->round[i].round, value));
    return eg_line_add_seeds(p, g, rounds_line, &value, line);
}

static void rounds_table(eg_page *p, const eg_group *g, rounds_value value, eg_unit unit)
{
    const eg_events *log = eg_group_longest(g)->log;
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "round");
    eg_cell_head(p, "mean");
    eg_cell_head(p, "deviation");
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < log->n_round; i++) {
        if (!eg_chart_keeps(i, log->n_round, ROUNDS_ROWS))
            continue;
        eg_spread s = rounds_spread(g, log->round[i].round, value);
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, log->round[i].round);
        eg_cell_unit(p, unit, s.mean);
        eg_cell_unit(p, unit, s.sd);
        fprintf(p->f, "</tr>\n");
    }
}

/* Whether a line has anything to show. */
static bool rounds_is_finite(const eg_line *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (isfinite(l->point[i].y))
            return true;
    return false;
}

/* What stands in place of a chart without a line. */
static void rounds_never(eg_page *p)
{
    fprintf(p->f, "<p class=\"warn\" data-warn=\"loss\">The training loss was never finite."
                  "</p>\n");
}

static eg_status rounds_figure(eg_page *p, const eg_group *g, eg_line_chart *c,
                               rounds_value value, eg_line *line)
{
    const eg_events *log = eg_group_longest(g)->log;
    EG_TRY(rounds_points(p, g, value, line));
    if (!rounds_is_finite(line)) {
        rounds_never(p);
        return EG_OK;
    }
    line->name = c->title;
    line->strong = log->n_round <= ROUNDS_POINTS / 2;
    c->small = true;
    c->x_name = c->x_item = "round";
    c->x1 = (double)g->run[0]->start->rounds;
    c->line = line;
    c->n = 1;
    eg_figure_open(p, c->title, c->description);
    eg_chart_lines(p, c);
    eg_figure_table(p, "by round");
    rounds_table(p, g, value, c->unit);
    eg_figure_close(p);
    return EG_OK;
}

eg_status eg_chart_rounds(eg_page *p, const eg_group *g)
{
    eg_line loss = {.colour = rounds_loss_colour}, time = {.colour = rounds_time_colour};
    eg_line_chart of_loss = {.chart = "loss", .title = "Training loss", .unit = EG_UNIT_NUMBER};
    eg_line_chart of_time = {
        .chart = "time", .title = "Time per round", .unit = EG_UNIT_SECONDS};
    of_loss.description = "The mean over the clients of a round.";
    of_time.description = "How long each round took, tests aside.";
    if (eg_group_longest(g)->log->n_round == 0)
        return EG_OK;
    fprintf(p->f, "<div class=\"pair\">\n");
    EG_TRY(rounds_figure(p, g, &of_loss, rounds_loss, &loss));
    EG_TRY(rounds_figure(p, g, &of_time, rounds_seconds, &time));
    fprintf(p->f, "</div>\n");
    return EG_OK;
}

static void losses_table(eg_page *p, const eg_events *log)
{
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "round");
    for (size_t i = 0; i < p->g->n; i++)
        eg_cell_head(p, "%s", p->g->group[i].title);
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < log->n_round; i++) {
        if (!eg_chart_keeps(i, log->n_round, ROUNDS_ROWS))
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, log->round[i].round);
        for (size_t k = 0; k < p->g->n; k++)
            eg_cell_unit(p, EG_UNIT_NUMBER,
                         rounds_spread(&p->g->group[k], log->round[i].round, rounds_loss).mean);
        fprintf(p->f, "</tr>\n");
    }
}

eg_status eg_chart_losses(eg_page *p)
{
    const eg_groups *g = p->g;
    const eg_run *longest = eg_group_longest(&g->group[0]);
    eg_line *line = eg_arena_alloc(&p->arena, g->n * sizeof *line);
    eg_line_chart c = {.chart = "losses", .title = "Training loss", .unit = EG_UNIT_NUMBER};
    EG_TRY(line ? EG_OK : EG_ENOMEM);
    for (size_t i = 0; i < g->n; i++) {
        line[i] = (eg_line){.name = g->group[i].title, .strong = true};
        line[i].colour = eg_colour_label(i);
        line[i].dash = eg_dash_label(i);
        EG_TRY(rounds_points(p, &g->group[i], rounds_loss, &line[i]));
        const eg_run *r = eg_group_longest(&g->group[i]);
        longest = r->log->n_round > longest->log->n_round ? r : longest;
        c.x1 = fmax(c.x1, (double)r->start->rounds);
    }
    if (longest->log->n_round == 0)
        return EG_OK;
    bool finite = false;
    for (size_t i = 0; i < g->n; i++)
        finite |= rounds_is_finite(&line[i]);
    if (!finite) {
        rounds_never(p);
        return EG_OK;
    }
    EG_TRY(eg_task_ends(p, longest, &c.task_end, &c.n_ends));
    c.n_tasks = longest->start->tasks;
    c.line = line;
    c.n = g->n;
    c.x_name = c.x_item = "round";
    c.description =
        "One line per label: the mean training loss over clients and seeds, in a band "
        "of one standard deviation over seeds.";
    eg_figure_open(p, c.title, c.description);
    eg_chart_lines(p, &c);
    eg_figure_table(p, "loss");
    losses_table(p, longest->log);
    eg_figure_close(p);
    return EG_OK;
}

enum { BYTES_WIDTH = 470, BYTES_HEIGHT = 250, BYTES_BINS = 80, BYTES_ROWS = 200 };

static const eg_colour bytes_up = {0x0072b2, 0x5aaef0}, bytes_down = {0xd98200, 0xf2b84b};

typedef struct bytes_bin {
    double up, down; /* per round, on average; then in all until here */
    double first, last;
} bytes_bin;

/* Rounds put together so that at most BYTES_BINS bars are drawn. */
static size_t bytes_bins(const eg_run *r, bytes_bin *bin, bool sum)
{
    size_t size = (r->log->n_round + BYTES_BINS - 1) / BYTES_BINS, n = 0;
    double up = 0, down = 0;
    for (size_t i = 0; i < r->log->n_round; i += size, n++) {
        size_t end = i + size < r->log->n_round ? i + size : r->log->n_round;
        bytes_bin b = {.first = (double)r->log->round[i].round,
                       .last = (double)r->log->round[end - 1].round};
        for (size_t k = i; k < end; k++) {
            b.up += (double)r->log->round[k].bytes_up;
            b.down += (double)r->log->round[k].bytes_down;
        }
        up += b.up;
        down += b.down;
        bin[n] = b;
        bin[n].up = sum ? up : b.up / (double)(end - i);
        bin[n].down = sum ? down : b.down / (double)(end - i);
    }
    return n;
}

static void bytes_bar(eg_page *p, const eg_svg_frame *m, const bytes_bin *b, bool down)
{
    char text[32];
    double v = down ? b->down : b->up, zero = eg_svg_y(m, 0);
    double x = eg_svg_x(m, b->first - 1), w = eg_svg_x(m, b->last) - x;
    eg_show_bytes(text, v);
    fprintf(p->f, "<path d=\"M%.1f %.1fV%.1f\"><title>", x + w / 2, zero,
            eg_svg_y(m, down ? -v : v));
    if (b->first == b->last)
        fprintf(p->f, "round %.0f: %s %s</title></path>", b->first, text, down ? "down" : "up");
    else
        fprintf(p->f, "rounds %.0f to %.0f: %s %s per round</title></path>", b->first, b->last,
                text, down ? "down" : "up");
}

static void bytes_rounds(eg_page *p, const eg_svg_frame *m, const bytes_bin *bin, size_t n)
{
    double wide = n ? 0.8 * (eg_svg_x(m, bin[0].last) - eg_svg_x(m, bin[0].first - 1)) : 0;
    for (int down = 0; down < 2; down++) {
        fprintf(p->f, "<g ");
        eg_svg_colour(p->f, down ? bytes_down : bytes_up);
        fprintf(p->f, "><g class=\"bars\" stroke-width=\"%.1f\">", wide);
        for (size_t i = 0; i < n; i++)
            bytes_bar(p, m, &bin[i], down);
        fprintf(p->f, "</g><text class=\"own strong\" x=\"%.1f\" y=\"%.1f\">%s</text></g>\n",
                m->right + 6, down ? eg_svg_y(m, 0) + 20 : eg_svg_y(m, 0) - 10,
                down ? "down" : "up");
    }
}

static void bytes_area(eg_page *p, const eg_svg_frame *m, const bytes_bin *bin, size_t n,
                       bool down)
{
    fprintf(p->f, "<g ");
    eg_svg_colour(p->f, down ? bytes_down : bytes_up);
    fprintf(p->f, "><path class=\"area\" d=\"M%.1f %.1f", eg_svg_x(m, 0), eg_svg_y(m, 0));
    for (size_t i = 0; i < n; i++)
        fprintf(p->f, "L%.1f %.1f", eg_svg_x(m, bin[i].last),
                eg_svg_y(m, bin[i].up + (down ? bin[i].down : 0)));
    for (size_t i = n; down && i-- > 0;)
        fprintf(p->f, "L%.1f %.1f", eg_svg_x(m, bin[i].last), eg_svg_y(m, bin[i].up));
    if (!down)
        fprintf(p->f, "L%.1f %.1f", eg_svg_x(m, bin[n - 1].last), eg_svg_y(m, 0));
    char text[32];
    double v = down ? bin[n - 1].down : bin[n - 1].up;
    eg_show_bytes(text, v);
    fprintf(p->f,
            "Z\"><title>%s: %s in all</title></path><text class=\"own strong\" x=\"%.1f\" "
            "y=\"%.1f\">%s<tspan x=\"%.1f\" dy=\"14\">%s</tspan></text></g>\n",
            down ? "down" : "up", text, m->right + 6,
            eg_svg_y(m, (down ? bin[n - 1].up : 0) + v / 2), text, m->right + 6,
            down ? "down" : "up");
}

static void bytes_table(eg_page *p, const eg_run *r)
{
    double up = 0, down = 0;
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "round");
    eg_cell_head(p, "up");
    eg_cell_head(p, "down");
    eg_cell_head(p, "in all");
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < r->log->n_round; i++) {
        up += (double)r->log->round[i].bytes_up;
        down += (double)r->log->round[i].bytes_down;
        if (i % (r->log->n_round / BYTES_ROWS + 1) != 0 && i + 1 < r->log->n_round)
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, r->log->round[i].round);
        eg_cell_bytes(p, (double)r->log->round[i].bytes_up);
        eg_cell_bytes(p, (double)r->log->round[i].bytes_down);
        eg_cell_bytes(p, up + down);
        fprintf(p->f, "</tr>\n");
    }
}

eg_status eg_chart_bytes(eg_page *p, const eg_group *g)
{
    const eg_run *r = g->run[0];
    bytes_bin *bin = eg_arena_alloc(&p->arena, (r->log->n_round + 1) * sizeof *bin);
    EG_TRY(bin ? EG_OK : EG_ENOMEM);
    size_t n = bytes_bins(r, bin, false);
    if (n == 0)
        return EG_OK;
    eg_svg_frame m = {
        .left = 62, .right = BYTES_WIDTH - 72, .top = 12, .bottom = BYTES_HEIGHT - 46};
    m.x1 = (double)r->start->rounds;
    for (size_t i = 0; i < n; i++) {
        m.y1 = fmax(m.y1, bin[i].up);
        m.y0 = fmin(m.y0, -bin[i].down);
    }
    m.y1 = m.y1 - m.y0 > 0 ? m.y1 : 1;
    eg_figure_open(p, "Bytes per round", "Up: clients to server. Down: server to clients.");
    eg_svg_open(
        p, "bytes", BYTES_WIDTH, BYTES_HEIGHT, "Bytes per round",
        "Bars of bytes sent up, above the line, and down, below it. The table below holds "
        "the numbers.");
    eg_svg_axis(p, &m, EG_UNIT_BYTES);
    eg_svg_numbers(p, &m, EG_UNIT_COUNT, "round");
    bytes_rounds(p, &m, bin, n);
    eg_svg_close(p);
    eg_figure_table(p, "bytes");
    bytes_table(p, r);
    eg_figure_close(p);
    n = bytes_bins(r, bin, true);
    m.y0 = 0;
    m.y1 = fmax((bin[n - 1].up + bin[n - 1].down) * 1.02, 1);
    eg_figure_open(p, "Bytes in all", "Everything sent until a round, up and down stacked.");
    eg_svg_open(p, "bytes-total", BYTES_WIDTH, BYTES_HEIGHT, "Bytes in all",
                "Areas of all bytes sent until a round. The table of bytes per round holds the "
                "numbers.");
    eg_svg_axis(p, &m, EG_UNIT_BYTES);
    eg_svg_numbers(p, &m, EG_UNIT_COUNT, "round");
    bytes_area(p, &m, bin, n, false);
    bytes_area(p, &m, bin, n, true);
    eg_svg_close(p);
    eg_figure_close(p);
    return EG_OK;
}
