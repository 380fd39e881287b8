/* scenario_svg.c - the same chart as an SVG: bars of tasks over rounds, and a heat map.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SVG_WIDTH = 960, SVG_LEFT = 70, SVG_TOP = 82, SVG_ROW = 16, SVG_BAR = 12 };

typedef struct svg {
    FILE *f;
    const scenario_chart *c;
    double x0, scale; /* where round 0 is, and the width of a round */
} svg;

static const char svg_style[] =
    "<style>text{font:12px sans-serif;fill:#222}.dim{fill:#666}.line{stroke:#999}"
    ".tick{stroke:#000;stroke-opacity:.55;fill:none}.cell{fill:#1f4e9c}.paper{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.dim{fill:#999}.line{stroke:#666}"
    ".tick{stroke:#fff}.cell{fill:#7fb0ff}.paper{fill:#16181c}}</style>\n";

/* Neighbouring tasks get hues far enough apart to be told from each other. */
static void svg_colour(const svg *v, int64_t task)
{
    int64_t n = eg_scenario_n_tasks(v->c->s);
    double hue = (double)task * 360 / (double)n;
    fprintf(v->f, "hsl(%.0f,%d%%,%d%%)", hue, task % 2 ? 55 : 70, task % 2 ? 68 : 55);
}

static void svg_bar(const svg *v, double x, double width, double y, int64_t task)
{
    fprintf(v->f, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"", x, y,
            width, SVG_BAR);
    svg_colour(v, task);
    fprintf(v->f, "\"><title>task %" PRId64 "</title></rect>\n", task);
}

/* One stage: its spans side by side, as wide as they have samples. */
static void svg_stage(const svg *v, int64_t client, int64_t stage, double x, double width,
                      double y)
{
    int64_t n, total = 0;
    const eg_span *spans = eg_scenario_spans(v->c->s, client, stage, &n);
    for (int64_t k = 0; k < n; k++)
        total += spans[k].n;
    for (int64_t k = 0; k < n && total > 0; k++) {
        double part = width * (double)spans[k].n / (double)total;
        svg_bar(v, x, part, y, spans[k].task);
        x += part;
    }
}

static void svg_client(const svg *v, int64_t i, double y)
{
    const scenario_chart *c = v->c;
    const int32_t *stage = c->stage + i * c->n_rounds;
    fprintf(v->f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%" PRId64 "</text>\n",
            SVG_LEFT - 8, y + 10, c->client[i]);
    for (int64_t r = 0, end; r < c->n_rounds; r = end) {
        for (end = r + 1; end < c->n_rounds && stage[end] == stage[r];)
            end++;
        if (stage[r] >= 0)
            svg_stage(v, c->client[i], stage[r], v->x0 + (double)r * v->scale,
                      (double)(end - r) * v->scale, y);
    }
    if (!c->partial)
        return;
    fprintf(v->f, "<path class=\"tick\" stroke-width=\"%.2f\" d=\"",
            v->scale < 1 ? 0.6 : v->scale * 0.5);
    for (int64_t r = 0; r < c->n_rounds; r++)
        if (c->chosen[i * c->n_rounds + r])
            fprintf(v->f, "M%.1f %.1fv4", v->x0 + ((double)r + 0.5) * v->scale, y + 4);
    fprintf(v->f, "\"/>\n");
}

/* Lines where stages of equal length end, if they are few, else at round numbers. */
static int64_t svg_step(const scenario_chart *c)
{
    static const int64_t nice[] = {2, 5, 10};
    int64_t n = c->n_rounds, step = 1, begin = 0, end = 1;
    if (eg_scenario_n_stages(c->s, 0) > 0)
        eg_scenario_rounds(c->s, 0, 0, &begin, &end);
    if (end > begin && n % (end - begin) == 0 && n / (end - begin) <= 20)
        return end - begin;
    for (int64_t base = 1, k = 0; n / step > 12; k++) {
        step = base * nice[k % 3];
        base *= k % 3 == 2 ? 10 : 1;
    }
    return step;
}

static void svg_axis(const svg *v, double bottom)
{
    int64_t n = v->c->n_rounds, step = svg_step(v->c);
    for (int64_t r = 0; r <= n; r += step) {
        double x = v->x0 + (double)r * v->scale;
        fprintf(
            v->f,
            "<line class=\"line\" stroke-dasharray=\"2 4\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%d\" "
            "y2=\"%.1f\"/><text class=\"dim\" x=\"%.2f\" y=\"%.1f\" "
            "text-anchor=\"middle\">%" PRId64 "</text>\n",
            x, x, SVG_TOP - 4, bottom, x, bottom + 14, r);
    }
    fprintf(v->f, "<text class=\"dim\" x=\"%d\" y=\"%.1f\">round%s</text>\n", SVG_LEFT,
            bottom + 30, v->c->partial ? " (a tick: the client takes part)" : "");
}

static void svg_legend(const svg *v)
{
    int64_t n = eg_scenario_n_tasks(v->c->s);
    double step = (double)(SVG_WIDTH - SVG_LEFT - 60) / (double)n;
    step = step > 60 ? 60 : step;
    fprintf(v->f, "<text class=\"dim\" x=\"%d\" y=\"58\" text-anchor=\"end\">task</text>\n",
            SVG_LEFT - 8);
    for (int64_t t = 0; t < n; t++) {
        double x = SVG_LEFT + (double)t * step;
        fprintf(v->f, "<rect x=\"%.2f\" y=\"48\" width=\"%.2f\" height=\"%d\" fill=\"", x,
                step > 20 ? 12 : step - 0.5, SVG_BAR);
        svg_colour(v, t);
        fprintf(v->f, "\"/>\n");
        if (step > 20)
            fprintf(v->f, "<text x=\"%.2f\" y=\"58\">%" PRId64 "</text>\n", x + 16, t);
    }
}

/* Samples by client and class: the darker, the more. */
static void svg_heat(const svg *v, double top)
{
    const scenario_chart *c = v->c;
    double width = (double)(SVG_WIDTH - SVG_LEFT - 30) / (double)c->n_classes;
    int64_t most = 1, n = c->n_shown * c->n_classes;
    for (int64_t i = 0; i < n; i++)
        most = c->by_class[i] > most ? c->by_class[i] : most;
    fprintf(v->f,
            "<text x=\"%d\" y=\"%.1f\">samples by client and class, 0 to %" PRId64 "</text>\n",
            SVG_LEFT, top - 10, most);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i / c->n_classes, column = i % c->n_classes;
        double x = SVG_LEFT + (double)column * width, y = top + (double)row * SVG_ROW;
        if (i % c->n_classes == 0)
            fprintf(v->f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%" PRId64 "</text>\n",
                    SVG_LEFT - 8, y + 11, c->client[i / c->n_classes]);
        if (c->by_class[i] > 0)
            fprintf(
                v->f,
                "<rect class=\"cell\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" "
                "fill-opacity=\"%.3f\"><title>class %" PRId64 ": %" PRId64 "</title></rect>\n",
                x, y, width, SVG_ROW - 1, 0.08 + 0.92 * (double)c->by_class[i] / (double)most,
                i % c->n_classes, c->by_class[i]);
    }
    double bottom = top + (double)c->n_shown * SVG_ROW + 12;
    fprintf(v->f,
            "<text class=\"dim\" x=\"%d\" y=\"%.1f\">class 0</text><text class=\"dim\" "
            "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%" PRId64 "</text>\n",
            SVG_LEFT, bottom, SVG_WIDTH - 30, bottom, c->n_classes - 1);
}

/* The title, safe inside XML. */
static void svg_text(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else
            fputc(*text, f);
}

static void svg_head(const svg *v, double height)
{
    const scenario_chart *c = v->c;
    fprintf(v->f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
            "height=\"%.0f\">\n%s<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
            SVG_WIDTH, height, SVG_WIDTH, height, svg_style);
    fprintf(v->f, "<text x=\"%d\" y=\"24\" style=\"font-size:16px;font-weight:600\">",
            SVG_LEFT);
    svg_text(v->f, c->title);
    fprintf(v->f,
            "</text><text class=\"dim\" x=\"%d\" y=\"24\" text-anchor=\"end\">%s, %" PRId64
            " of %" PRId64 " clients, %" PRId64 " rounds</text>\n",
            SVG_WIDTH - 30, eg_scenario_name(c->s), c->n_shown, eg_scenario_n_clients(c->s),
            c->n_rounds);
    fprintf(v->f, "<text class=\"dim\" x=\"%d\" y=\"%d\" text-anchor=\"end\">client</text>\n",
            SVG_LEFT - 8, SVG_TOP - 2);
}

static void svg_draw(const scenario_chart *c, FILE *f)
{
    double rows = (double)c->n_shown * SVG_ROW, bottom = SVG_TOP + rows, heat = bottom + 74;
    svg v = {.f = f, .c = c, .x0 = SVG_LEFT};
    v.scale = (double)(SVG_WIDTH - SVG_LEFT - 30) / (double)c->n_rounds;
    svg_head(&v, heat + rows + 24);
    svg_legend(&v);
    svg_axis(&v, bottom);
    for (int64_t i = 0; i < c->n_shown; i++)
        svg_client(&v, i, SVG_TOP + (double)i * SVG_ROW + 2);
    svg_heat(&v, heat);
    fprintf(f, "</svg>\n");
}

/* A picture that is there stays until the new one is whole; what is no regular file, as a pipe,
 * is written to. */
eg_status scenario_chart_save(const scenario_chart *c, const char *path)
{
    struct stat about;
    char temp[4096];
    bool direct = lstat(path, &about) == 0 && !S_ISREG(about.st_mode);
    int n = snprintf(temp, sizeof temp, "%s.%ld.tmp", path, (long)getpid());
    if (n < 0 || n >= (int)sizeof temp)
        return eg_fail(EG_EINVAL, "--out: the path is too long");
    FILE *f = fopen(direct ? path : temp, direct ? "w" : "wx");
    if (!f)
        return eg_fail(EG_EIO, "%s: %s", path, strerror(errno));
    svg_draw(c, f);
    bool bad = ferror(f) != 0;
    bad |= fclose(f) != 0;
    bad = bad || (!direct && rename(temp, path) != 0);
    if (bad && !direct)
        unlink(temp);
    return bad ? eg_fail(EG_EIO, "%s: writing failed", path) : EG_OK;
}
