/* axis.c - the scale of a chart's values: what it spans, its lines and its numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/svg.h"

#include <math.h>
#include <string.h>

enum { AXIS_STEPS = 6 };

/* The least that an axis spans: less would blow up noise. */
static double axis_least(eg_unit unit, double most)
{
    return unit == EG_PERCENT ? 0.05 : fmax(fabs(most) * 1e-3, 1e-12);
}

void eg_axis_fit(eg_svg_frame *m, eg_unit unit, double low, double high)
{
    if (!(low <= high))
        low = 0, high = unit == EG_PERCENT ? 1 : 0;
    double lack = axis_least(unit, fmax(fabs(low), fabs(high))) - (high - low);
    if (lack > 0) {
        low -= lack / 2;
        high += lack / 2;
    }
    /* An axis that could begin at 0 with little loss does, so that heights can be compared. */
    if (low > 0 && low < 0.4 * high)
        low = 0;
    m->y0 = low;
    m->y1 = high;
    for (int i = 0; i < 3; i++) { /* rounding may make the steps larger, and so once more */
        double step = eg_svg_step(m->y1 - m->y0, AXIS_STEPS);
        m->y0 = floor(low / step + 1e-9) * step;
        m->y1 = ceil(high / step - 1e-9) * step;
    }
    if (unit == EG_PERCENT) {
        m->y0 = fmax(m->y0, 0);
        m->y1 = fmin(m->y1, 1);
    }
}

void eg_show_unit(char out[32], eg_unit unit, double x)
{
    if (unit == EG_PERCENT)
        eg_show_percent(out, x);
    else if (unit == EG_BYTES)
        eg_show_bytes(out, fabs(x));
    else if (unit == EG_SECONDS)
        eg_show_seconds(out, x);
    else if (isnan(x))
        snprintf(out, 32, "–");
    else
        snprintf(out, 32, "%.4g", x + 0.0);
}

/* A line's number has the decimals of the step, or lines of fast rounds would share one. */
static void axis_number(char out[32], eg_unit unit, double x, double step)
{
    if (unit == EG_SECONDS && step < 0.01)
        snprintf(out, 32, "%.*f s", (int)ceil(-log10(step) - 1e-9), x);
    else
        eg_show_unit(out, unit, x);
}

/* "20.0 MB" as "20 MB", "5.00 s" as "5 s". */
static void axis_trim(char *text)
{
    char *dot = strchr(text, '.'), *unit = strchr(text, ' ');
    char *after = unit ? unit : text + strlen(text), *end = after;
    if (!dot || dot > after)
        return;
    while (end[-1] == '0')
        end--;
    memmove(end[-1] == '.' ? end - 1 : end, after, strlen(after) + 1);
}

void eg_svg_axis(eg_page *p, const eg_svg_frame *m, eg_unit unit)
{
    double step = eg_svg_step(m->y1 - m->y0, AXIS_STEPS);
    int first = (int)ceil(m->y0 / step - 1e-9), last = (int)floor(m->y1 / step + 1e-9);
    for (int k = first; k <= last; k++) {
        char text[32];
        double y = eg_svg_y(m, k * step);
        axis_number(text, unit, k * step, step);
        if (unit != EG_NUMBER)
            axis_trim(text);
        fprintf(p->f,
                "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/><text class=\"dim end\" x=\"%.1f\" "
                "y=\"%.1f\">%s%s</text>\n",
                k == 0 || (k == first && m->y0 > 0) ? "axis" : "grid", m->left, y, m->right,
                m->left - 7, y + 4, text, unit == EG_PERCENT && k == last ? " %" : "");
    }
}

void eg_svg_shares(eg_page *p, const eg_svg_frame *m)
{
    for (int k = 0; k <= 100; k += 25)
        fprintf(p->f,
                "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/><text class=\"dim mid\" x=\"%.1f\" "
                "y=\"%.1f\">%d%s</text>\n",
                k ? "grid" : "axis", eg_svg_x(m, k / 100.0), m->top - 4, m->bottom,
                eg_svg_x(m, k / 100.0), m->bottom + 16, k, k == 100 ? " %" : "");
}
