/* heat.c - cells of a heat map, or a picture of many.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A map of many cells is a picture, a pixel for a cell or for several: elements for each would
 * be as many as the square of what it is about.
 */
#include "report/chart/chart.h"

#include "io/image.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* A cell is the card's colour at 0 and this at 100 %. */
static const eg_colour heat_card = {0xffffff, 0x171b22}, heat_full = {0x083d77, 0x58a6ff};

/* Nothing is told from nearly nothing. */
static double heat_part(double share)
{
    return isnan(share) ? 0 : 0.04 + 0.96 * share;
}

void eg_heat_cell(eg_page *p, eg_box b, double share, const char *tip, bool framed)
{
    char text[32];
    eg_show_percent(text, share);
    eg_colour paper = eg_colour_mix(heat_card, heat_full, heat_part(share));
    fprintf(p->f, "<g ");
    eg_svg_colour(p->f, paper);
    fprintf(p->f, "><title>");
    eg_html_text(p->f, tip);
    fprintf(p->f,
            ": %s %%</title><rect class=\"heat%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/>",
            text, framed ? " ownheat" : "", b.x, b.y, b.w - 2, b.h - 2);
    int digits = share >= 0.9995 ? 3 : share >= 0.0995 ? 2 : 1;
    if (b.w >= 26) {
        fprintf(p->f, "<g ");
        eg_svg_colour(p->f, eg_colour_ink(paper));
        fprintf(p->f, "><text class=\"own mid\" x=\"%.1f\" y=\"%.1f\">%.*s</text></g>",
                b.x + b.w / 2 - 1, b.y + b.h / 2 + 3, b.w >= 36 ? 31 : digits, text);
    }
    fprintf(p->f, "</g>\n");
}

enum { HEAT_NUMBER = 30 }; /* room that every number has */

/* What stands at place i of a side. */
static const char *heat_name(const char *const *name, int64_t i, char room[24])
{
    if (name)
        return name[i];
    snprintf(room, 24, "%" PRId64, i + 1);
    return room;
}

void eg_heat_numbers(eg_page *p, const eg_heat_sides *s, double w, double h)
{
    int64_t most = s->columns > s->rows ? s->columns : s->rows;
    int64_t stride = most / (most < 100 ? 20 : 12) + 1;
    double left = s->left > 0 ? s->left : EG_HEAT_LEFT;
    char room[24];
    for (int64_t t = 0; t < s->columns; t += stride)
        eg_svg_cut(p, "dim mid", left + ((double)t + 0.5) * w - 1, EG_HEAT_TOP - 8,
                   fmax((double)stride * w, HEAT_NUMBER),
                   heat_name(s->column ? s->column : s->name, t, room));
    for (int64_t i = 0; i < s->rows; i += stride)
        eg_svg_cut(p, "dim end", left - 8, EG_HEAT_TOP + ((double)i + 0.5) * h + 3, left - 28,
                   heat_name(s->name, i, room));
    fprintf(p->f,
            "<text class=\"dim mid\" x=\"%.1f\" y=\"14\">%s</text>"
            "<text class=\"dim mid\" transform=\"translate(14 %.1f) rotate(-90)\">%s</text>\n",
            left + (double)s->columns * w / 2, s->across, EG_HEAT_TOP + (double)s->rows * h / 2,
            s->down);
}

uint8_t eg_heat_shade(double share)
{
    return (uint8_t)lround(255 * heat_part(share));
}

/* The picture is a mask of the colour, so that it fits light pages and dark ones. */
eg_status eg_heat_picture(eg_page *p, const eg_image *im, eg_box b)
{
    uint8_t *bytes;
    size_t n;
    EG_TRY(eg_png_print(im, &bytes, &n));
    fprintf(p->f,
            "<mask id=\"m%d\"><image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
            "href=\"data:image/png;base64,",
            p->n_charts, b.x, b.y, b.w, b.h);
    eg_html_base64(p->f, bytes, n);
    free(bytes);
    fprintf(p->f, "\"/></mask><g ");
    eg_svg_colour(p->f, heat_full);
    fprintf(p->f,
            "><rect class=\"fill\" mask=\"url(#m%d)\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/></g>\n",
            p->n_charts, b.x, b.y, b.w, b.h);
    return EG_OK;
}
