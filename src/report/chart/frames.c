/* frames.c - test images with the boxes that were found, and those that were missed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A figure per task, of the first seed: how it was found when it was learned, and beside it at
 * the end; or, where these are the same, more images. The images lie in the run's folder, one
 * below the other; each stands in the page once.
 */
#include "report/chart/chart.h"

#include "io/file.h"
#include "io/image.h"

#include <engram/log.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { FRAMES_TASKS = 12, FRAMES_BYTES = 1 << 24, FRAMES_HEAD = 44, FRAMES_GAP = 8 };
enum { FRAMES_ROWS = 3, FRAMES_COLUMNS = 2 };

/* What a box is: its colour, on light and dark images alike, its dashes, and its word. */
static const struct {
    const char *colour, *dash, *word;
} frames_kinds[] = {
    [EG_BOXES_RIGHT] = {"#2ee6a6", "", "found"},
    [EG_BOXES_WRONG] = {"#ff6a5e", "5 2.5", "found, but not there"},
    [EG_BOXES_MISSED] = {"#ffd23f", "1.5 2.5", "missed"},
};

/* One figure in the making. */
typedef struct frames {
    eg_page *p;
    const eg_run *r;
    const eg_boxes_event *then, *now; /* when the task was learned, if not now; at the end */
    eg_image all;                     /* the images, one below the other */
    double w, h;                      /* of an image in the chart */
} frames;

static void frames_rect(FILE *f, double x, double y, double w, double h, const char *more)
{
    fprintf(f, "<rect fill=\"none\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s/>",
            x, y, fmax(w, 1), fmax(h, 1), more);
}

/* One box, dark below its colour, and its name where there is room. */
static void frames_box(const frames *s, const int64_t *b, double left, double top)
{
    const double share = 1.0 / EG_BOXES_SHARE;
    double x = left + (double)b[3] * share * s->w, w = (double)(b[5] - b[3]) * share * s->w;
    double y = top + (double)b[4] * share * s->h, h = (double)(b[6] - b[4]) * share * s->h;
    const char *class = eg_run_class(s->p, s->r, b[2]);
    char look[120];
    FILE *f = s->p->f;
    if (!class)
        return;
    fprintf(f, "<g><title>");
    eg_html_text(f, class);
    fprintf(f, ", %s", frames_kinds[b[1]].word);
    if (b[1] != EG_BOXES_MISSED)
        fprintf(f, ", %.0f %% sure", 100 * (double)b[7] * share);
    fprintf(f, "</title>");
    frames_rect(f, x, y, w, h, "stroke=\"#000\" stroke-opacity=\".35\" stroke-width=\"3.2\"");
    snprintf(look, sizeof look, "stroke=\"%s\" stroke-width=\"1.7\" stroke-dasharray=\"%s\"",
             frames_kinds[b[1]].colour, frames_kinds[b[1]].dash);
    frames_rect(f, x, y, w, h, look);
    if (y - top >= 9 && left + s->w - x >= 40 && w >= 12) { /* else the title tells it */
        fprintf(f,
                "<text x=\"%.1f\" y=\"%.1f\" style=\"font-size:8.5px;fill:%s;stroke:#000;"
                "stroke-opacity:.7;stroke-width:2.2px;paint-order:stroke\">",
                x, y - 2.5, frames_kinds[b[1]].colour);
        eg_html_text(f, class);
        fprintf(f, "</text>");
    }
    fprintf(f, "</g>\n");
}

/* Image number k by itself, as PNG. */
static eg_status frames_bytes(const frames *s, int64_t k, uint8_t **out, size_t *n)
{
    int64_t h = s->now->height, row = s->all.width * s->all.channels;
    const eg_image one = {.height = h,
                          .width = s->all.width,
                          .channels = s->all.channels,
                          .pixels = s->all.pixels + k * h * row};
    return eg_png_print(&one, out, n);
}

/* The images of a column, which is of one moment, and their boxes. */
static eg_status frames_column(const frames *s, const eg_boxes_event *e, int column,
                               int64_t first, bool drawn)
{
    FILE *f = s->p->f;
    double x = column * (s->w + FRAMES_GAP);
    for (int64_t k = first; k < e->images && k < first + FRAMES_ROWS; k++) {
        double y = FRAMES_HEAD + (double)(k - first) * (s->h + FRAMES_GAP);
        uint8_t *bytes;
        size_t n;
        if (drawn) {
            fprintf(f, "<use href=\"#frame%d-%" PRId64 "\" x=\"%.1f\"/>\n", s->p->n_charts, k,
                    x);
        } else {
            EG_TRY(frames_bytes(s, k, &bytes, &n));
            fprintf(f,
                    "<image id=\"frame%d-%" PRId64 "\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                    "height=\"%.1f\" href=\"data:image/png;base64,",
                    s->p->n_charts, k, x, y, s->w, s->h);
            eg_html_base64(f, bytes, n);
            fprintf(f, "\"/>\n");
            free(bytes);
        }
        for (size_t i = 0; i < e->n_boxes; i += EG_BOXES_SIZE)
            if (e->boxes[i] == k)
                frames_box(s, e->boxes + i, x, y);
    }
    return EG_OK;
}

static void frames_legend(FILE *f)
{
    double x = 1;
    for (size_t i = 0; i < sizeof frames_kinds / sizeof *frames_kinds; i++) {
        char look[120];
        snprintf(look, sizeof look,
                 "stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" rx=\"1\"",
                 frames_kinds[i].colour, frames_kinds[i].dash);
        frames_rect(f, x, 3, 14, 10,
                    "stroke=\"#000\" stroke-opacity=\".55\" stroke-width=\"3.4\"");
        frames_rect(f, x, 3, 14, 10, look);
        fprintf(f, "<text class=\"small\" x=\"%.1f\" y=\"12\">%s</text>\n", x + 20,
                frames_kinds[i].word);
        x += 34 + eg_svg_label_width(frames_kinds[i].word, 0);
    }
}

static void frames_moment(const frames *s, int column, const char *word, int64_t round)
{
    fprintf(s->p->f,
            "<text class=\"dim small\" x=\"%.1f\" y=\"%d\">%s, round %" PRId64 "</text>\n",
            column * (s->w + FRAMES_GAP), FRAMES_HEAD - 7, word, round);
}

static eg_status frames_draw(frames *s, const char *title)
{
    s->w = (EG_HEAT_WIDTH - FRAMES_GAP) / (double)FRAMES_COLUMNS;
    s->h = s->w * (double)s->now->height / (double)s->now->width;
    int64_t rows = s->then ? s->now->images : (s->now->images + 1) / 2;
    rows = rows < FRAMES_ROWS ? rows : FRAMES_ROWS;
    eg_svg_open(s->p, "frames", EG_HEAT_WIDTH, FRAMES_HEAD + (double)rows * (s->h + FRAMES_GAP),
                title, "Test images with boxes: found, found but not there, and missed.");
    frames_legend(s->p->f);
    frames_moment(s, 0, s->then ? "when it was learned" : "at the end",
                  s->then ? s->then->round : s->now->round);
    EG_TRY(frames_column(s, s->then ? s->then : s->now, 0, 0, false));
    if (s->then) {
        frames_moment(s, 1, "at the end", s->now->round);
        EG_TRY(frames_column(s, s->now, 1, 0, true));
    } else {
        EG_TRY(frames_column(s, s->now, 1, FRAMES_ROWS, false));
    }
    eg_svg_close(s->p);
    return EG_OK;
}

/* A picture that is not there any more, or is none, is left out: the run's numbers stand. */
static eg_status frames_figure(eg_page *p, const eg_group *g, frames *s)
{
    char path[EG_RUN_PATH];
    uint8_t *bytes = NULL;
    size_t n;
    const char *heading = eg_arena_text(&p->arena, "Boxes of task %" PRId64, s->now->task + 1);
    heading = heading ? eg_figure_of_seed(p, g, heading) : NULL;
    if (!heading)
        return EG_ENOMEM;
    EG_TRY(eg_run_boxes(s->r->dir, s->now->task, path));
    eg_status status = eg_file_read(path, FRAMES_BYTES, &bytes, &n);
    if (status == EG_OK)
        status = eg_png_parse(path, bytes, n, &s->all);
    free(bytes);
    bool fits = status == EG_OK && s->all.width == s->now->width &&
                s->all.height == s->now->images * s->now->height;
    if (fits) {
        eg_figure_open(p, heading,
                       "Some of its test images. A found box is right if it has half in common "
                       "with a true one of its class; those less sure than 25 % are left out.");
        status = frames_draw(s, heading);
        eg_figure_close(p);
    }
    eg_image_fini(&s->all);
    return status == EG_ENOMEM ? status : EG_OK;
}

eg_status eg_chart_frames(eg_page *p, const eg_group *g)
{
    const eg_run *r = g->run[0];
    int64_t tasks = r->start->tasks, step = (tasks + FRAMES_TASKS - 1) / FRAMES_TASKS;
    if (r->log->n_boxes == 0)
        return EG_OK;
    fprintf(p->f, "<div class=\"pair\">\n");
    for (int64_t t = 0; t < tasks; t += step) {
        frames s = {.p = p, .r = r};
        s.now = eg_run_boxes_of(r, t, INT64_MAX);
        const eg_run_row *row = eg_run_period_end(r, r->start->learned[t]);
        s.then = row ? eg_run_boxes_of(r, t, row->round) : NULL;
        if (!s.now || s.now->width < 1 || s.now->height < 1 || s.now->images < 1)
            continue;
        if (s.then && (s.then->round == s.now->round || s.then->images != s.now->images))
            s.then = NULL;
        EG_TRY(frames_figure(p, g, &s));
    }
    fprintf(p->f, "</div>\n");
    return EG_OK;
}
