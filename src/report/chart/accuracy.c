/* accuracy.c - accuracy over rounds: task by task, of all groups, on what was met.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"

#include <inttypes.h>
#include <math.h>

enum { ACCURACY_POINTS = 240, ACCURACY_ROWS = 60 };

static const eg_colour accuracy_ink = {0x16191d, 0xf4f6f8};
static const eg_colour accuracy_grey = {0x6b7280, 0xa3acb8};

eg_status eg_task_ends(eg_page *p, const eg_run *r, const int64_t **out, size_t *n)
{
    int64_t *end = eg_arena_alloc(&p->arena, (r->n_row + 1) * sizeof *end);
    *out = end;
    *n = 0;
    if (!end)
        return EG_ENOMEM;
    for (size_t i = 0; i < r->n_row; i++)
        if (r->row[i].task_end && r->row[i].round > 0)
            end[(*n)++] = r->row[i].round;
    int64_t seen = r->log->n_round ? r->log->round[r->log->n_round - 1].round : 0;
    if (seen > (*n ? end[*n - 1] : 0)) /* the task that is being learned */
        end[(*n)++] = seen;
    return EG_OK;
}

/* Every row, or every so many of them and all ends of tasks. */
static bool accuracy_kept(const eg_run *r, size_t i, size_t most)
{
    size_t stride = (r->n_row + most - 1) / most;
    return i % stride == 0 || r->row[i].task_end || i + 1 == r->n_row;
}

/* A figure's sentence, and what became of seeds that stopped early, if any did. */
static const char *accuracy_sentence(eg_page *p, const eg_group *groups, size_t n,
                                     const char *sentence)
{
    const char *whole = NULL;
    for (size_t i = 0; i < n && !whole; i++)
        if (eg_group_stopped(&groups[i]))
            whole = eg_arena_text(&p->arena,
                                  "%s A seed that stopped early counts with its last model "
                                  "from then on.",
                                  sentence);
    return whole ? whole : sentence;
}

static eg_spread accuracy_value(const eg_group *g, int64_t round, const void *task)
{
    return eg_group_acc(g, round, *(const int64_t *)task);
}

static eg_status accuracy_points(eg_page *p, const eg_group *g, int64_t task, bool band,
                                 eg_line *line)
{
    const eg_run *r = eg_group_longest(g);
    eg_chart_point *q = eg_arena_alloc(&p->arena, (r->n_row + 1) * sizeof *q);
    if (!q)
        return EG_ENOMEM;
    line->point = q;
    for (size_t i = 0; i < r->n_row; i++) {
        if (!accuracy_kept(r, i, ACCURACY_POINTS))
            continue;
        eg_spread s = eg_group_acc(g, r->row[i].round, task);
        s.sd = band ? s.sd : NAN;
        q[line->n++] = eg_chart_point_of((double)r->row[i].round, s);
    }
    return band ? eg_line_add_seeds(p, g, accuracy_value, &task, line) : EG_OK;
}

/* The round in which a task begins to be learned. */
static double accuracy_since(const eg_run *r, int64_t task, const int64_t *end, size_t n)
{
    int64_t own = r->start->learned[task], now = r->n_row ? r->row[r->n_row - 1].period : 0;
    if (own < 2)
        return own == 1 ? 0 : INFINITY;
    return own <= now && own - 2 < (int64_t)n ? (double)end[own - 2] : INFINITY;
}

/* What a table is of. */
static const char *accuracy_percent(eg_page *p, const eg_run *r)
{
    const char *text = eg_arena_text(&p->arena, "%s in percent",
                                     eg_run_has_boxes(r) ? eg_run_measure(r) : "accuracy");
    return text ? text : "in percent";
}

static void accuracy_table(eg_page *p, const eg_group *g)
{
    const eg_run *r = eg_group_longest(g);
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "round");
    eg_cell_head(p, "mean");
    for (int64_t t = 0; t < r->start->tasks; t++)
        eg_cell_head(p, "task %" PRId64, t + 1);
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < r->n_row; i++) {
        if (!accuracy_kept(r, i, ACCURACY_ROWS))
            continue;
        int64_t round = r->row[i].round;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, round);
        eg_cell_spread(p, eg_group_acc(g, round, EG_MEAN));
        for (int64_t t = 0; t < r->start->tasks; t++)
            eg_cell_percent(p, eg_group_acc(g, round, t).mean);
        fprintf(p->f, "</tr>\n");
    }
}

eg_status eg_chart_accuracy(eg_page *p, const eg_group *g)
{
    const eg_run *r = eg_group_longest(g);
    size_t n = 0;
    eg_line *line = eg_arena_alloc(&p->arena, (size_t)(r->start->tasks + 3) * sizeof *line);
    eg_line_chart c = {.chart = "accuracy", .n_tasks = r->start->tasks};
    c.title = eg_arena_text(&p->arena, "%s over rounds", eg_run_measure(r));
    EG_TRY(line && c.title ? EG_OK : EG_ENOMEM);
    EG_TRY(eg_task_ends(p, r, &c.task_end, &c.n_ends));
    int64_t each = eg_tasks_together(r->start->tasks);
    for (int64_t t = 0; t < r->start->tasks; t += each, n++) {
        line[n].name = eg_arena_text(&p->arena, "task %" PRId64, t + 1);
        EG_TRY(line[n].name ? EG_OK : EG_ENOMEM);
        line[n].colour = eg_colour_task(t, r->start->tasks);
        line[n].since = accuracy_since(r, t, c.task_end, c.n_ends);
        EG_TRY(accuracy_points(p, g, t, false, &line[n]));
    }
    if (r->n_row > 0 && r->row[r->n_row - 1].task_il) {
        line[n] = (eg_line){.name = "mean, task known", .colour = accuracy_grey, .dash = 1};
        EG_TRY(accuracy_points(p, g, EG_MEAN_IL, false, &line[n++]));
    }
    if (r->n_row > 0 && !isnan(r->row[r->n_row - 1].validation)) {
        line[n] = (eg_line){.name = "mean, validation", .colour = accuracy_grey, .dash = 2};
        EG_TRY(accuracy_points(p, g, EG_MEAN_VALIDATION, false, &line[n++]));
    }
    line[n] = (eg_line){.name = "mean of learned", .colour = accuracy_ink, .strong = true};
    EG_TRY(accuracy_points(p, g, EG_MEAN, true, &line[n++]));
    c.line = line;
    c.n = n;
    c.x1 = (double)r->start->rounds;
    c.x_name = c.x_item = "round";
    c.description = "Lines of test accuracy, one for each task and a thick one for the mean "
                    "over the tasks learned so far. The table below holds the numbers.";
    const char *sentence =
        each > 1
            ? "A line for some of the tasks, faint until it is learned; the thick line is "
              "the mean over the tasks learned so far."
            : "One line per task, faint until it is learned; the thick line is the mean over "
              "the tasks learned so far.";
    eg_figure_open(p, c.title, accuracy_sentence(p, g, 1, sentence));
    eg_chart_lines(p, &c);
    if (eg_figure_task_table(p, accuracy_percent(p, r), r->start->tasks))
        accuracy_table(p, g);
    eg_figure_close(p);
    return EG_OK;
}

static void compare_table(eg_page *p, const eg_run *r)
{
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "round");
    for (size_t i = 0; i < p->g->n; i++)
        eg_cell_head(p, "%s", p->g->group[i].title);
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < r->n_row; i++) {
        if (!accuracy_kept(r, i, ACCURACY_ROWS) || r->row[i].round == 0)
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, r->row[i].round);
        for (size_t k = 0; k < p->g->n; k++)
            eg_cell_spread(p, eg_group_acc(&p->g->group[k], r->row[i].round, EG_MEAN));
        fprintf(p->f, "</tr>\n");
    }
}

eg_status eg_chart_compare(eg_page *p)
{
    const eg_groups *g = p->g;
    const eg_run *longest = eg_group_longest(&g->group[0]);
    eg_line *line = eg_arena_alloc(&p->arena, g->n * sizeof *line);
    eg_line_chart c = {.chart = "compare"};
    c.title = eg_arena_text(&p->arena, "Mean %s on the tasks learned so far",
                            eg_run_has_boxes(longest) ? eg_run_measure(longest) : "accuracy");
    EG_TRY(line && c.title ? EG_OK : EG_ENOMEM);
    for (size_t i = 0; i < g->n; i++) {
        line[i] = (eg_line){.name = g->group[i].title, .strong = true};
        line[i].colour = eg_colour_label(i);
        line[i].dash = eg_dash_label(i);
        EG_TRY(accuracy_points(p, &g->group[i], EG_MEAN, true, &line[i]));
        const eg_run *r = eg_group_longest(&g->group[i]);
        if (eg_run_last_round(r) > eg_run_last_round(longest))
            longest = r;
        c.x1 = fmax(c.x1, (double)r->start->rounds);
    }
    EG_TRY(eg_task_ends(p, longest, &c.task_end, &c.n_ends));
    c.n_tasks = longest->start->tasks;
    c.line = line;
    c.n = g->n;
    c.x_name = c.x_item = "round";
    c.description = "One line per label: the mean over its seeds, in a band of one standard "
                    "deviation. The table below holds the numbers.";
    eg_figure_open(
        p, c.title,
        accuracy_sentence(p, g->group, g->n,
                          "One line per label: the mean over its seeds, in a band of "
                          "one standard deviation."));
    eg_chart_lines(p, &c);
    eg_figure_table(p, accuracy_percent(p, longest));
    compare_table(p, longest);
    eg_figure_close(p);
    return EG_OK;
}

static eg_spread final_acc(const eg_group *g, int64_t task)
{
    const eg_run_row *last = eg_run_last(eg_group_longest(g));
    return eg_group_acc(g, last ? last->round : -1, task);
}

static void final_table(eg_page *p, int64_t n_tasks)
{
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "label");
    for (int64_t t = 0; t < n_tasks; t++)
        eg_cell_head(p, "task %" PRId64, t + 1);
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < p->g->n; i++) {
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%s", p->g->group[i].title);
        for (int64_t t = 0; t < n_tasks; t++)
            eg_cell_spread(p, final_acc(&p->g->group[i], t));
        fprintf(p->f, "</tr>\n");
    }
}

eg_status eg_chart_final(eg_page *p)
{
    const eg_groups *g = p->g;
    eg_line *line = eg_arena_alloc(&p->arena, g->n * sizeof *line);
    eg_line_chart c = {.chart = "final", .title = "What is left of each task at the end"};
    EG_TRY(line ? EG_OK : EG_ENOMEM);
    for (size_t i = 0; i < g->n; i++) {
        int64_t n = g->group[i].run[0]->start->tasks;
        eg_chart_point *q = eg_arena_alloc(&p->arena, (size_t)n * sizeof *q);
        EG_TRY(q ? EG_OK : EG_ENOMEM);
        for (int64_t t = 0; t < n; t++) {
            eg_spread s = final_acc(&g->group[i], t);
            q[n - 1 - t] = eg_chart_point_of((double)(n - 1 - t), s);
        }
        line[i] = (eg_line){.name = g->group[i].title, .point = q, .n = (size_t)n};
        line[i].colour = eg_colour_label(i);
        line[i].dash = eg_dash_label(i);
        line[i].strong = true;
        c.n_tasks = n > c.n_tasks ? n : c.n_tasks;
    }
    c.line = line;
    c.n = g->n;
    c.x1 = (double)(c.n_tasks - 1);
    c.x_name = "how many tasks were learned since";
    c.x_item = "tasks since:";
    c.description =
        "One line per label: accuracy on each task after the last one, the newest task "
        "at the left, with a band of one standard deviation. The table below holds "
        "the numbers.";
    eg_figure_open(
        p, c.title,
        "The newest task at the left, the oldest at the right: a line that falls has "
        "forgotten, a level one remembers.");
    eg_chart_lines(p, &c);
    if (eg_figure_task_table(p, "final accuracy in percent", c.n_tasks))
        final_table(p, c.n_tasks);
    eg_figure_close(p);
    return EG_OK;
}

enum { MET_POINTS = 240, MET_ROWS = 60 };

static const eg_colour met_ink = {0x16191d, 0xf4f6f8};

static eg_spread met_value(const eg_group *g, int64_t round, const void *context)
{
    (void)context;
    return eg_group_met(g, round);
}

static eg_status met_points(eg_page *p, const eg_group *g, eg_line *line)
{
    const eg_run *r = eg_group_longest(g);
    eg_chart_point *q = eg_arena_alloc(&p->arena, (r->n_met + 1) * sizeof *q);
    if (!q)
        return EG_ENOMEM;
    line->point = q;
    for (size_t i = 0; i < r->n_met; i++)
        if (eg_chart_keeps(i, r->n_met, MET_POINTS))
            q[line->n++] =
                eg_chart_point_of((double)r->met[i].round, eg_group_met(g, r->met[i].round));
    return eg_line_add_seeds(p, g, met_value, NULL, line);
}

static void met_table(eg_page *p, const eg_group *groups, size_t n, const eg_run *longest)
{
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "round");
    for (size_t k = 0; k < n; k++)
        eg_cell_head(p, "%s", n == 1 ? "accuracy" : groups[k].title);
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < longest->n_met; i++) {
        if (!eg_chart_keeps(i, longest->n_met, MET_ROWS))
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, longest->met[i].round);
        for (size_t k = 0; k < n; k++)
            eg_cell_spread(p, eg_group_met(&groups[k], longest->met[i].round));
        fprintf(p->f, "</tr>\n");
    }
}

eg_status eg_chart_met(eg_page *p, const eg_group *groups, size_t n)
{
    const eg_run *longest = eg_group_longest(&groups[0]);
    eg_line *line = eg_arena_alloc(&p->arena, n * sizeof *line);
    eg_line_chart c = {.chart = "met", .title = "Accuracy on what was met"};
    EG_TRY(line ? EG_OK : EG_ENOMEM);
    for (size_t i = 0; i < n; i++) {
        line[i] = (eg_line){.name = n == 1 ? "Acc^t" : groups[i].title, .strong = true};
        line[i].colour = n == 1 ? met_ink : eg_colour_label(i);
        line[i].dash = n == 1 ? 0 : eg_dash_label(i);
        EG_TRY(met_points(p, &groups[i], &line[i]));
        const eg_run *r = eg_group_longest(&groups[i]);
        longest = r->n_met > longest->n_met ? r : longest;
    }
    if (longest->n_met == 0)
        return EG_OK;
    c.line = line;
    c.n = n;
    c.x1 = (double)longest->start->rounds;
    c.x_name = c.x_item = "round";
    c.description = "Acc^t: the clients' accuracy after each round on all they have met until "
                    "then, each weighted by its samples; over several seeds the mean, in a "
                    "band of one standard deviation.";
    eg_figure_open(p, c.title, c.description);
    eg_chart_lines(p, &c);
    eg_figure_table(p, "accuracy in percent");
    met_table(p, groups, n, longest);
    eg_figure_close(p);
    return EG_OK;
}
