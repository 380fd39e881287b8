/* chart_classes.c - how many images of each class are told right at the end.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart.h"
#include "report/taken.h"

#include <engram/log.h>

#include <inttypes.h>
#include <math.h>

enum { CLASSES_WIDTH = 470, CLASSES_LEFT = 62, CLASSES_LISTED = 200 };

/* Classes number [first, last] in one bar. */
typedef struct classes_bin {
    int64_t first, last, tested, right;
} classes_bin;

static classes_bin classes_sum(const eg_taken *t, int64_t first, int64_t last)
{
    classes_bin b = {.first = first, .last = last};
    for (int64_t k = first; k <= last; k++) {
        b.tested += t->tested[k];
        b.right += t->right[k];
    }
    return b;
}

static void classes_bar(eg_page *p, const eg_svg_frame *m, const eg_taken *t,
                        const classes_bin *b, double y, double h)
{
    char percent[32];
    if (b->tested == 0) /* only answered: no client has met it */
        return;
    double share = (double)b->right / (double)b->tested;
    eg_show_percent(percent, share);
    fprintf(p->f, "<g><title>class%s %" PRId64, b->first < b->last ? "es" : "",
            t->class[b->first]);
    if (b->first < b->last)
        fprintf(p->f, " to %" PRId64, t->class[b->last]);
    fprintf(p->f, ": %s %% of %" PRId64 " images</title>", percent, b->tested);
    if (h >= 8 || b->first / (b->last - b->first + 1) % 2 == 0) /* else every other has room */
        fprintf(p->f, "<text class=\"dim end\" x=\"%.1f\" y=\"%.1f\">%s%" PRId64 "</text>",
                m->left - 8, y + h / 2 + 4, h >= 14 ? "class " : "", t->class[b->first]);
    fprintf(p->f, "<g ");
    eg_svg_colour(p->f, eg_colour_task(b->first, t->n));
    fprintf(p->f,
            "><rect class=\"fill\" rx=\"2\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/></g>",
            m->left, y, fmax(eg_svg_x(m, share) - m->left, 0.8), h);
    if (h >= 9)
        fprintf(p->f, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                eg_svg_x(m, share) + 6, y + h / 2 + 4, percent);
    fprintf(p->f, "</g>\n");
}

static void classes_table(eg_page *p, const eg_taken *t)
{
    fprintf(p->f, "<tr>");
    eg_cell_head(p, "class");
    eg_cell_head(p, "images");
    eg_cell_head(p, "right");
    eg_cell_head(p, "else mostly taken for");
    fprintf(p->f, "</tr>\n");
    for (int64_t k = 0; k < t->n; k++) {
        if (t->tested[k] == 0)
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%" PRId64, t->class[k]);
        eg_cell_count(p, t->tested[k]);
        eg_cell_percent(p, (double)t->right[k] / (double)t->tested[k]);
        if (t->worst[k] < 0)
            fprintf(p->f, "<td>–</td>");
        else
            eg_cell_count(p, t->class[t->worst[k]]);
        fprintf(p->f, "</tr>\n");
    }
}

void eg_chart_classes(eg_page *p, const eg_taken *t)
{
    int64_t each = eg_tasks_together(t->n), bars = (t->n + each - 1) / each;
    double step = fmin(36, fmax(380 / (double)bars, 8)), h = step * 0.68;
    eg_svg_frame m = {.left = CLASSES_LEFT, .right = CLASSES_WIDTH - 60, .top = 16};
    m.x1 = m.y1 = 1;
    m.bottom = m.top + step * (double)bars + 4;
    eg_figure_open(p, "Accuracy by class",
                   each > 1 ? "Of the test images of neighbouring classes, each counted once, "
                              "how many are told right at the end."
                            : "Of the test images of each class that was met, each counted "
                              "once, how many are told right at the end.");
    eg_svg_open(p, "classes", CLASSES_WIDTH, m.bottom + 24, "Accuracy by class",
                "Bars of the share of each class's images that are told right.");
    eg_svg_shares(p, &m);
    for (int64_t i = 0; i < bars; i++) {
        int64_t last = (i + 1) * each < t->n ? (i + 1) * each - 1 : t->n - 1;
        classes_bin b = classes_sum(t, i * each, last);
        classes_bar(p, &m, t, &b, m.top + (double)i * step + (step - h) / 2, h);
    }
    eg_svg_close(p);
    if (t->n > CLASSES_LISTED) {
        fprintf(p->f, "<p class=\"where\">The numbers are in the run&#39;s %s.</p>",
                EG_RUN_CLASSES);
    } else {
        eg_figure_table(p, "percent by class");
        classes_table(p, t);
    }
    eg_figure_close(p);
}
