/* notes.c - what parts of a method note, a curve per name, and what their generators draw.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A round's value is the mean over those who noted it, the server or clients; the band reaches
 * from the least to the greatest of them.
 */
#include "report/chart/chart.h"

#include "io/file.h"
#include "io/image.h"

#include <engram/log.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOTES_POINTS = 240, NOTES_ROWS = 60 };

static const eg_colour notes_colour = {0x5b4bb0, 0xb3a8f5};

/* The values of one name, a point per round. */
typedef struct notes {
    const char *name;
    eg_chart_point *point; /* [n] */
    int64_t *count;        /* [n], those who noted it */
    size_t n;
} notes;

/* Adds a value to its round's point, which holds the sum until all are in. */
static void notes_add(notes *s, const eg_note_event *e)
{
    if (isnan(e->value))
        return;
    if (s->n == 0 || s->point[s->n - 1].x != (double)e->round)
        s->point[s->n++] = (eg_chart_point){(double)e->round, 0, e->value, e->value};
    eg_chart_point *q = &s->point[s->n - 1];
    q->y += e->value;
    q->low = fmin(q->low, e->value);
    q->high = fmax(q->high, e->value);
    s->count[s->n - 1]++;
}

static eg_status notes_collect(eg_page *p, const eg_events *log, notes *s)
{
    s->point = eg_arena_alloc(&p->arena, log->n_note * sizeof *s->point);
    s->count = eg_arena_alloc(&p->arena, log->n_note * sizeof *s->count);
    if (!s->point || !s->count)
        return EG_ENOMEM;
    for (size_t i = 0; i < log->n_note; i++)
        if (strcmp(log->note[i].name, s->name) == 0)
            notes_add(s, &log->note[i]);
    for (size_t i = 0; i < s->n; i++) {
        s->point[i].y /= (double)s->count[i];
        if (s->count[i] == 1)
            s->point[i].low = s->point[i].high = NAN;
    }
    return EG_OK;
}

static void notes_table(eg_page *p, const notes *s)
{
    static const char *const heads[] = {"round", "mean", "least", "greatest", "noted by"};
    fprintf(p->f, "<tr>");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        eg_cell_head(p, "%s", heads[i]);
    fprintf(p->f, "</tr>\n");
    for (size_t i = 0; i < s->n; i++) {
        const eg_chart_point *q = &s->point[i];
        if (!eg_chart_keeps(i, s->n, NOTES_ROWS))
            continue;
        fprintf(p->f, "<tr>");
        eg_cell_head(p, "%.0f", q->x);
        eg_cell_unit(p, EG_UNIT_NUMBER, q->y);
        eg_cell_unit(p, EG_UNIT_NUMBER, isnan(q->low) ? q->y : q->low);
        eg_cell_unit(p, EG_UNIT_NUMBER, isnan(q->high) ? q->y : q->high);
        eg_cell_count(p, s->count[i]);
        fprintf(p->f, "</tr>\n");
    }
}

/* Long runs are drawn with fewer points. */
static eg_status notes_line(eg_page *p, const notes *s, eg_line *line)
{
    eg_chart_point *point = eg_arena_alloc(&p->arena, s->n * sizeof *point);
    if (!point)
        return EG_ENOMEM;
    *line = (eg_line){.name = s->name, .colour = notes_colour, .strong = true, .point = point};
    for (size_t i = 0; i < s->n; i++)
        if (eg_chart_keeps(i, s->n, NOTES_POINTS))
            point[line->n++] = s->point[i];
    return EG_OK;
}

static eg_status notes_figure(eg_page *p, const eg_group *g, const notes *s)
{
    bool several = false;
    eg_line line;
    for (size_t i = 0; i < s->n; i++)
        several |= s->count[i] > 1;
    EG_TRY(notes_line(p, s, &line));
    eg_line_chart c = {
        .chart = "note", .title = s->name, .unit = EG_UNIT_NUMBER, .small = true};
    c.description = several
                        ? "The mean over clients of what the method noted, in a band from the "
                          "least to the greatest. The table below holds the numbers."
                        : "What the method noted. The table below holds the numbers.";
    c.range = "from";
    c.x_name = c.x_item = "round";
    c.x1 = (double)g->run[0]->start->rounds;
    c.line = &line;
    c.n = 1;
    eg_figure_open(p, eg_figure_of_seed(p, g, s->name),
                   several ? "Noted by the method: the mean over clients, in a band from the "
                             "least to the greatest."
                           : "Noted by the method.");
    eg_chart_lines(p, &c);
    eg_figure_table(p, "by round");
    notes_table(p, s);
    eg_figure_close(p);
    return EG_OK;
}

/* Whether no note before number i has its name. */
static bool notes_first(const eg_events *log, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(log->note[k].name, log->note[i].name) == 0)
            return false;
    return true;
}

eg_status eg_chart_notes(eg_page *p, const eg_group *g)
{
    const eg_events *log = g->run[0]->log;
    bool any = false;
    for (size_t i = 0; i < log->n_note; i++) {
        if (!notes_first(log, i) || eg_note_is_rate(g->run[0], log->note[i].name))
            continue;
        notes s = {.name = log->note[i].name};
        EG_TRY(notes_collect(p, log, &s));
        if (s.n == 0)
            continue;
        fprintf(p->f, any ? "" : "<div class=\"pair\">\n");
        any = true;
        EG_TRY(notes_figure(p, g, &s));
    }
    fprintf(p->f, any ? "</div>\n" : "");
    return EG_OK;
}

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
