/* figure.c - what stands around a chart: heading, sentence, and its numbers as a table.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"

#include <engram/log.h>

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

void eg_figure_open(eg_page *p, const char *heading, const char *sentence)
{
    fprintf(p->f, "<figure><figcaption><h3>");
    eg_html_text(p->f, heading);
    fprintf(p->f, "</h3><p>");
    eg_html_text(p->f, sentence);
    fprintf(p->f, "</p></figcaption>\n<div class=\"chart\">");
}

bool eg_chart_keeps(size_t i, size_t n, size_t most)
{
    return i % ((n + most - 1) / most) == 0 || i + 1 == n;
}

void eg_figure_table(eg_page *p, const char *heading)
{
    fprintf(p->f, "</div><details><summary>Table: ");
    eg_html_text(p->f, heading);
    fprintf(p->f, "</summary><div class=\"scroll\"><table>\n");
    p->in_table = true;
}

int64_t eg_tasks_together(int64_t n_tasks)
{
    return (n_tasks + EG_MANY_TASKS - 1) / EG_MANY_TASKS;
}

bool eg_figure_task_table(eg_page *p, const char *heading, int64_t n_tasks)
{
    if (n_tasks <= EG_MANY_TASKS) {
        eg_figure_table(p, heading);
        return true;
    }
    fprintf(p->f, "<p class=\"where\">The numbers are in the run&#39;s %s.</p>",
            EG_RUN_ACCURACY);
    return false;
}

void eg_figure_close(eg_page *p)
{
    fprintf(p->f, p->in_table ? "</table></div></details></figure>\n" : "</div></figure>\n");
    p->in_table = false;
}

const char *eg_figure_of_seed(eg_page *p, const eg_group *g, const char *heading)
{
    if (g->n == 1)
        return heading;
    const char *text =
        eg_arena_text(&p->arena, "%s, seed %" PRId64, heading, g->run[0]->start->seed);
    return text ? text : heading;
}

void eg_cell_head(eg_page *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char text[256];
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(p->f, "<th>");
    eg_html_text(p->f, text);
    fprintf(p->f, "</th>");
}

void eg_cell_percent(eg_page *p, double fraction)
{
    char text[32];
    eg_show_percent(text, fraction);
    fprintf(p->f, "<td>%s</td>", text);
}

void eg_cell_spread(eg_page *p, eg_spread s)
{
    char text[80];
    eg_show_spread(text, EG_SUMMARY_acc_final, s);
    fprintf(p->f, "<td>%s</td>", text);
}

void eg_cell_count(eg_page *p, int64_t n)
{
    fprintf(p->f, "<td>%" PRId64 "</td>", n);
}

void eg_cell_text(eg_page *p, const char *text)
{
    fprintf(p->f, "<td>");
    eg_html_text(p->f, text);
    fprintf(p->f, "</td>");
}

void eg_cell_bytes(eg_page *p, double bytes)
{
    char text[32];
    eg_show_bytes(text, bytes);
    fprintf(p->f, "<td>%s</td>", text);
}

void eg_cell_unit(eg_page *p, eg_unit unit, double x)
{
    char text[32];
    eg_show_unit(text, unit, x);
    fprintf(p->f, "<td>%s</td>", text);
}
