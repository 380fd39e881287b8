/* svg.c - frames, axes, colours and labels of charts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/svg.h"
#include "report/chart/chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SVG_LABEL_LEAD = 18, SVG_LABEL_DASH = 32 };
enum { SVG_PHONE = 600 }; /* a wider chart is no longer read when it is made to fit */

void eg_html_text(FILE *f, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", f);
            break;
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        case '\'':
            fputs("&#39;", f);
            break;
        default:
            fputc((unsigned char)*text < ' ' && !strchr("\n\t", *text) ? ' ' : *text, f);
        }
}

void eg_html_base64(FILE *f, const unsigned char *bytes, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned long x = (unsigned long)bytes[i] << 16;
        x |= i + 1 < n ? (unsigned long)bytes[i + 1] << 8 : 0;
        x |= i + 2 < n ? bytes[i + 2] : 0;
        fputc(digit[x >> 18 & 63], f);
        fputc(digit[x >> 12 & 63], f);
        fputc(i + 1 < n ? digit[x >> 6 & 63] : '=', f);
        fputc(i + 2 < n ? digit[x & 63] : '=', f);
    }
}

void eg_html_hint(FILE *f, const char *what)
{
    fprintf(f, "<p class=\"hint\">%s goes on: scroll sideways →</p>", what);
}

static unsigned svg_mix(const unsigned *stop, int n, double at)
{
    double where = at * (n - 1);
    int k = (int)fmin(floor(where), n - 2);
    double part = where - k;
    unsigned out = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        double a = (stop[k] >> shift) & 255, b = (stop[k + 1] >> shift) & 255;
        out |= (unsigned)lround(a + (b - a) * part) << shift;
    }
    return out;
}

/* From dark blue to salmon in even steps of lightness, after Crameri's batlow, which reads the
 * same with any colour vision. */
eg_colour eg_colour_task(int64_t task, int64_t n)
{
    static const unsigned light[] = {0x123a75, 0x1b6f84, 0x4d8b4a,
                                     0xb58a1b, 0xe0703c, 0xd9698f};
    static const unsigned dark[] = {0x5f8ff0, 0x3fb3c4, 0x7cc576, 0xdcb640, 0xff9966, 0xf7a8c4};
    double at = n > 1 ? (double)task / (double)(n - 1) : 0;
    return (eg_colour){svg_mix(light, 6, at), svg_mix(dark, 6, at)};
}

/* Okabe and Ito's colours, the yellow and black ones aside, lighter on dark pages. */
static const eg_colour svg_colours[] = {
    {0x0072b2, 0x5aaef0}, {0xd55e00, 0xff8f4a}, {0x00835f, 0x33c9a0}, {0xb5508a, 0xe79cc6},
    {0x9a6a00, 0xe9b949}, {0x3a8fc4, 0x9fd4f7}, {0x5b4bb0, 0xb3a8f5}, {0x60656c, 0xb4bac2},
};
static const size_t svg_n_colours = sizeof svg_colours / sizeof *svg_colours;

eg_colour eg_colour_label(size_t i)
{
    return svg_colours[i % svg_n_colours];
}

int eg_dash_label(size_t i)
{
    return (int)(i / svg_n_colours % (EG_DASHES + 1));
}

eg_colour eg_colour_mix(eg_colour a, eg_colour b, double part)
{
    return (eg_colour){svg_mix((unsigned[]){a.light, b.light}, 2, part),
                       svg_mix((unsigned[]){a.dark, b.dark}, 2, part)};
}

/* Black where the relative luminance (WCAG 2) has a ratio to black that is higher than white's
 * to it; the better of the two is never below 4.58. */
static unsigned svg_ink(unsigned paper)
{
    static const double weight[] = {0.0722, 0.7152, 0.2126};
    double luminance = 0;
    for (int i = 0; i < 3; i++) {
        double c = ((paper >> (8 * i)) & 255) / 255.0;
        luminance += weight[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return (luminance + 0.05) * (luminance + 0.05) > 1.05 * 0.05 ? 0x000000 : 0xffffff;
}

eg_colour eg_colour_ink(eg_colour paper)
{
    return (eg_colour){svg_ink(paper.light), svg_ink(paper.dark)};
}

void eg_svg_colour(FILE *f, eg_colour c)
{
    fprintf(f, "class=\"k\" style=\"--l:#%06x;--d:#%06x\"", c.light, c.dark);
}

void eg_svg_open(eg_page *p, const char *chart, double width, double height, const char *title,
                 const char *description)
{
    int id = ++p->n_charts;
    bool wide = width > SVG_PHONE;
    if (wide)
        eg_html_hint(p->f, "The chart");
    fprintf(p->f,
            "<svg data-chart=\"%s\" role=\"img\" viewBox=\"0 0 %.0f %.0f\" "
            "style=\"max-width:%.0fpx;min-width:%.0fpx\" aria-labelledby=\"t%d d%d\">"
            "<title id=\"t%d\">",
            chart, width, height, width * 1.25, width * (wide ? 0.7 : 0.58), id, id, id);
    eg_html_text(p->f, title);
    fprintf(p->f, "</title><desc id=\"d%d\">", id);
    eg_html_text(p->f, description);
    fprintf(p->f, "</desc>\n");
}

void eg_svg_close(eg_page *p)
{
    fprintf(p->f, "</svg>\n");
}

double eg_svg_x(const eg_svg_frame *m, double x)
{
    return m->left + (x - m->x0) / (m->x1 - m->x0) * (m->right - m->left);
}

double eg_svg_y(const eg_svg_frame *m, double y)
{
    return m->bottom - (y - m->y0) / (m->y1 - m->y0) * (m->bottom - m->top);
}

double eg_svg_step(double span, int n)
{
    double step = pow(10, floor(log10(span / n)));
    double parts = span / step * (1 - 1e-9); /* a whole number of steps stays one */
    if (parts > n * 5)
        return step * 10;
    return parts > n * 2 ? step * 5 : parts > n ? step * 2 : step;
}

/* The rounds of tasks [first, last] of n, as a piece of the band over a chart. */
static void svg_task(eg_page *p, const eg_svg_frame *m, const int64_t *end, size_t first,
                     size_t last, eg_colour colour)
{
    double begin = first ? (double)end[first - 1] : m->x0;
    double left = eg_svg_x(m, begin), right = eg_svg_x(m, (double)end[last]);
    double middle = (left + right) / 2, width = right - left;
    fprintf(p->f, "<g ");
    eg_svg_colour(p->f, colour);
    fprintf(p->f,
            "><rect class=\"fill\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"4\" "
            "rx=\"2\"><title>task %zu",
            left + 1, m->top - 14, fmax(width - 2, 0.5), first + 1);
    if (last > first)
        fprintf(p->f, " to %zu", last + 1);
    fprintf(p->f, ": rounds %.0f to %" PRId64 "</title></rect>", begin + 1, end[last]);
    if (width > 16 && first == last)
        fprintf(p->f, "<text class=\"small mid\" x=\"%.1f\" y=\"%.1f\">%s%zu</text>", middle,
                m->top - 20, width > 52 ? "task " : "", first + 1);
    fprintf(p->f, "</g>");
}

void eg_svg_tasks(eg_page *p, const eg_svg_frame *m, const int64_t *end, size_t n,
                  int64_t n_tasks)
{
    size_t each = (size_t)eg_tasks_together((int64_t)n);
    for (size_t i = 0; i < n; i += each) {
        size_t last = i + each < n ? i + each - 1 : n - 1;
        svg_task(p, m, end, i, last, eg_colour_task((int64_t)i % n_tasks, n_tasks));
        if (each == 1 && (i + 1 < n || (double)end[i] < m->x1))
            fprintf(p->f, "<path class=\"mark\" d=\"M%.1f %.1fV%.1f\"/>",
                    eg_svg_x(m, (double)end[i]), m->top - 14, m->bottom);
        fputc('\n', p->f);
    }
}

static int svg_by_y(const void *a, const void *b)
{
    double x = ((const eg_label *)a)->y, y = ((const eg_label *)b)->y;
    return (x > y) - (x < y);
}

/* About how wide a character of a label is, in pixels; a wide font is assumed. */
static double svg_wide(const char *c)
{
    unsigned char first = (unsigned char)*c;
    if (first >= 0xe0)
        return 12.5;
    if (first >= 0x80)
        return 9;
    if (strchr(" .,:;'|!()[]/-ijltfr", first))
        return 5.6;
    return strchr("mwMW%@=+<>", first) ? 12.5 : first >= 'A' && first <= 'Z' ? 9.6 : 8.5;
}

static double svg_text_width(const char *text)
{
    double width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) == 0x80 ? 0 : svg_wide(text);
    return width;
}

double eg_svg_label_width(const char *text, int dash)
{
    return SVG_LABEL_LEAD + (dash ? SVG_LABEL_DASH : 0) + svg_text_width(text);
}

/* Writes as many characters as fit; a longer text loses its middle, for labels are told apart
 * by how they begin and end. */
static void svg_shortened(FILE *f, const char *text, double room)
{
    char copy[256];
    size_t all = eg_show_length(text);
    bool fits = svg_text_width(text) <= room;
    for (size_t kept = all; !fits && kept-- > 1;) {
        size_t begin = eg_show_begin(text, kept - kept / 2);
        const char *end = text + eg_show_begin(text, all - kept / 2);
        int n = snprintf(copy, sizeof copy, "%.*s…%s", (int)begin, text, end);
        fits = kept == 1 || ((size_t)n < sizeof copy && svg_text_width(copy) <= room);
        text = fits ? copy : text;
    }
    eg_html_text(f, text);
}

void eg_svg_cut(eg_page *p, const char *look, double x, double y, double width,
                const char *text)
{
    fprintf(p->f, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", look, x, y);
    if (svg_text_width(text) > width) {
        fprintf(p->f, "<title>");
        eg_html_text(p->f, text);
        fprintf(p->f, "</title>");
    }
    svg_shortened(p->f, text, width);
    fprintf(p->f, "</text>");
}

static void svg_label(FILE *f, const eg_svg_frame *m, double edge, const eg_label *l, double y)
{
    double x = m->right + eg_svg_label_width("", l->dash);
    fprintf(f, "<g data-of=\"%zu\" ", l->line);
    eg_svg_colour(f, l->colour);
    fprintf(f, "><path class=\"lead\" d=\"M%.1f %.1fH%.1fL%.1f %.1f\"/>", l->x + 4, l->y,
            m->right + 4, m->right + 14, y);
    if (l->dash)
        fprintf(f, "<path class=\"line%s dash%d\" d=\"M%.1f %.1fH%.1f\"/>",
                l->strong ? " strong" : "", l->dash, m->right + SVG_LABEL_LEAD, y, x - 6);
    fprintf(f, "<text class=\"own%s\" x=\"%.1f\" y=\"%.1f\"><title>",
            l->strong ? " strong" : "", x, y + 4);
    eg_html_text(f, l->text);
    fprintf(f, "</title>");
    svg_shortened(f, l->text, edge - x);
    fprintf(f, "</text></g>\n");
}

void eg_svg_labels(eg_page *p, const eg_svg_frame *m, double edge, eg_label *labels, size_t n)
{
    size_t room = (size_t)((m->bottom - m->top) / EG_LABEL_GAP) + 1, kept = 0;
    size_t stride = room > 0 ? (n + room - 1) / room : n;
    for (size_t i = 0; i < n; i++)
        if (labels[i].strong || stride < 2 || i % stride == 0)
            labels[kept++] = labels[i];
    qsort(labels, kept, sizeof *labels, svg_by_y);
    double *at = eg_arena_alloc(&p->arena, (kept + 1) * sizeof *at);
    if (!at)
        return; /* the lines still have their tooltips */
    for (size_t i = 0; i < kept; i++)
        at[i] = i ? fmax(labels[i].y, at[i - 1] + EG_LABEL_GAP) : labels[i].y;
    double limit = m->bottom + 4;
    for (size_t i = kept; i-- > 0; limit = at[i] - EG_LABEL_GAP)
        at[i] = fmin(at[i], limit);
    for (size_t i = 0; i < kept; i++)
        svg_label(p->f, m, edge, &labels[i], at[i]);
}

enum { AXIS_STEPS = 6 };

/* The least that an axis spans: less would blow up noise. */
static double axis_least(eg_unit unit, double most)
{
    return unit == EG_UNIT_PERCENT ? 0.05 : fmax(fabs(most) * 1e-3, 1e-12);
}

void eg_axis_fit(eg_svg_frame *m, eg_unit unit, double low, double high)
{
    if (!(low <= high))
        low = 0, high = unit == EG_UNIT_PERCENT ? 1 : 0;
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
    if (unit == EG_UNIT_PERCENT) {
        m->y0 = fmax(m->y0, 0);
        m->y1 = fmin(m->y1, 1);
    }
}

/* A line's number has the decimals of the step, or lines of fast rounds would share one. */
static void axis_number(char out[32], eg_unit unit, double x, double step)
{
    if (unit == EG_UNIT_SECONDS && step < 0.01)
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
        if (unit != EG_UNIT_NUMBER)
            axis_trim(text);
        fprintf(p->f,
                "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/><text class=\"dim end\" x=\"%.1f\" "
                "y=\"%.1f\">%s%s</text>\n",
                k == 0 || (k == first && m->y0 > 0) ? "axis" : "grid", m->left, y, m->right,
                m->left - 7, y + 4, text, unit == EG_UNIT_PERCENT && k == last ? " %" : "");
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

void eg_svg_numbers(eg_page *p, const eg_svg_frame *m, eg_unit unit, const char *name)
{
    bool whole = unit == EG_UNIT_COUNT;
    double span = m->x1 - m->x0;
    double step = whole ? fmax(1, eg_svg_step(fmax(span, 1), 12)) : eg_svg_step(span, 5);
    int first = (int)ceil(m->x0 / step), last = (int)floor(m->x1 / step + 1e-9);
    for (int k = first; k <= last; k++) {
        char text[32];
        double x = eg_svg_x(m, k * step);
        if (whole) {
            snprintf(text, sizeof text, "%.0f", k * step);
        } else {
            axis_number(text, unit, k * step, step);
            axis_trim(text);
        }
        fprintf(p->f,
                "<path class=\"axis\" d=\"M%.1f %.1fv4\"/><text class=\"dim mid\" x=\"%.1f\" "
                "y=\"%.1f\">%s</text>\n",
                x, m->bottom, x, m->bottom + 18, text);
    }
    fprintf(p->f, "<text class=\"dim mid\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
            (m->left + m->right) / 2, m->bottom + 36, name);
}
