/* chart_sheets.c - what a method's generators draw, a picture for some of the rounds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/file.h"
#include "io/png.h"
#include "report/heat.h"

#include <engram/log.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { SHEETS_MOST = 12, SHEETS_BYTES = 1 << 22 };

/* Of all sheets, as many as fit a page: evenly, the last among them. */
static bool sheets_kept(size_t i, size_t n)
{
    return n <= SHEETS_MOST || i * SHEETS_MOST / n != (i + 1) * SHEETS_MOST / n;
}

/* "Drawings after task 2", or after a round where no task ends. */
static const char *sheets_heading(eg_page *p, const eg_group *g, int64_t round)
{
    const eg_run_row *row = eg_run_row_at(g->run[0], round);
    const char *text =
        row && row->task_end
            ? eg_arena_text(&p->arena, "Drawings after task %" PRId64, row->period)
            : eg_arena_text(&p->arena, "Drawings after round %" PRId64, round);
    return text ? eg_figure_of_seed(p, g, text) : NULL;
}

static const char *sheets_sentence(eg_page *p, const eg_sheet_event *e)
{
    const char *who =
        e->who < 0 ? "the server" : eg_arena_text(&p->arena, "client %" PRId64, e->who);
    if (!who)
        return NULL;
    return eg_arena_text(&p->arena,
                         "Round %" PRId64 ": what %s draws, from the same noise each time; %s",
                         e->round, who,
                         e->n_classes ? "a row is a class, whose number stands before it."
                                      : "all classes together.");
}

/* The picture, twice as large or as wide as the chart, with the classes of its rows. */
static void sheets_picture(eg_page *p, const eg_sheet_event *e, const eg_image *im,
                           const uint8_t *bytes, size_t n)
{
    double left = e->n_classes ? EG_HEAT_LEFT / 2 : 0;
    double scale = fmin(2, (EG_HEAT_WIDTH - left) / (double)im->width);
    double row = (double)im->height * scale / (double)(e->n_classes ? e->n_classes : 1);
    eg_svg_open(p, "sheet", EG_HEAT_WIDTH, (double)im->height * scale, "Drawings",
                "Pictures in rows, a row for each class.");
    for (size_t i = 0; i < e->n_classes; i++)
        fprintf(p->f, "<text class=\"dim end\" x=\"%.1f\" y=\"%.1f\">%" PRId64 "</text>",
                left - 8, ((double)i + 0.5) * row + 4, e->classes[i]);
    fprintf(p->f,
            "<image x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%.1f\" "
            "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
            left, (double)im->width * scale, (double)im->height * scale);
    eg_html_base64(p->f, bytes, n);
    fprintf(p->f, "\"/>\n");
    eg_svg_close(p);
}

/* A picture that is not there any more, or is none, is left out: the run's numbers stand. */
static eg_status sheets_figure(eg_page *p, const eg_group *g, const eg_sheet_event *e)
{
    char path[EG_RUN_PATH];
    uint8_t *bytes = NULL;
    size_t n;
    eg_image im = {0};
    const char *heading = sheets_heading(p, g, e->round), *sentence = sheets_sentence(p, e);
    if (!heading || !sentence)
        return EG_ENOMEM;
    EG_TRY(eg_run_sheet(g->run[0]->dir, e->round, path));
    eg_status s = eg_file_read(path, SHEETS_BYTES, &bytes, &n);
    if (s == EG_OK)
        s = eg_png_parse(path, bytes, n, &im);
    if (s == EG_OK) {
        eg_figure_open(p, heading, sentence);
        sheets_picture(p, e, &im, bytes, n);
        eg_figure_close(p);
    }
    eg_image_fini(&im);
    free(bytes);
    return s == EG_ENOMEM ? s : EG_OK;
}

eg_status eg_chart_sheets(eg_page *p, const eg_group *g)
{
    const eg_events *log = g->run[0]->log;
    if (log->n_sheet == 0)
        return EG_OK;
    fprintf(p->f, "<div class=\"pair\">\n");
    for (size_t i = 0; i < log->n_sheet; i++)
        if (sheets_kept(i, log->n_sheet))
            EG_TRY(sheets_figure(p, g, &log->sheet[i]));
    fprintf(p->f, "</div>\n");
    return EG_OK;
}
