/* sheets.c - pictures of what a method's generators draw, for people who look on.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The noise is the same each time, from a stream that nothing else draws from, so that sheets
 * show how the same drawings become better, and no result depends on whether they are made.
 */
#include "engine/generator/gallery.h"
#include "io/disk.h"
#include "run/client/outputs.h"
#include "run/server/federation.h"

#include <stdlib.h>

/* A class is a row; of many, some that lie evenly. A generator of all classes together has a
 * few rows for itself. */
enum { SHEET_COLUMNS = 8, SHEET_ROWS = 20, SHEET_MIXED = 4 };

typedef struct sheet_row {
    size_t drawer;
    int64_t label; /* -1: all classes */
} sheet_row;

/* The server's generators, or those of the first client that has some, if its records are
 * within reach. */
static eg_status sheets_gather(eg_federation *f, eg_gallery *to)
{
    EG_TRY(eg_chain_exhibit(&f->chain, &f->server, to));
    bool reach = f->agreed.shows && !f->transport->apart;
    int64_t n = reach ? eg_scenario_n_clients(f->feed.scenario) : 0;
    for (int64_t c = 0; c < n && eg_gallery_n(to) == 0; c++) {
        int64_t committed;
        eg_receipt kept = eg_ledger_receipt(f->ledger, c, &committed);
        EG_TRY(eg_worker_exhibit(&f->workers[0], c, &kept, committed, to));
    }
    return EG_OK;
}

/* The rows of all drawers: each one's class, or those of the classes met so far. rows: room for
 * all classes of each. Returns how many. */
static int64_t sheets_rows(const eg_gallery *g, const eg_generator *m, const int32_t *met,
                           int64_t n_met, sheet_row *rows)
{
    int64_t n = 0;
    for (size_t i = 0; i < eg_gallery_n(g); i++) {
        int64_t label = eg_gallery_at(g, i).label;
        if (label < 0 && m->kind->labelled) {
            for (int64_t k = 0; k < n_met && met[k] < m->classes; k++)
                rows[n++] = (sheet_row){i, met[k]};
        } else {
            for (int64_t k = 0; k < (label < 0 ? SHEET_MIXED : 1); k++)
                rows[n++] = (sheet_row){i, label};
        }
    }
    if (n <= SHEET_ROWS)
        return n;
    for (int64_t i = 0; i < SHEET_ROWS; i++)
        rows[i] = rows[i * n / SHEET_ROWS];
    return SHEET_ROWS;
}

static eg_status sheets_draw(const eg_federation *f, const eg_gallery *g, eg_generator *m,
                             const sheet_row *rows, int64_t n, const char *path)
{
    eg_sheet sheet;
    eg_status s = eg_sheet_init(&sheet, m, n, SHEET_COLUMNS);
    for (int64_t i = 0; i < n && s == EG_OK; i++) {
        eg_federation_moment(
            f, (eg_moment){.at = EG_AT_SERVER, .what = "drawings", .done = i, .of = n});
        s = eg_gallery_show(g, rows[i].drawer, m);
        if (s == EG_OK)
            s = eg_sheet_draw(&sheet, m, i, rows[i].label, f->seed);
    }
    if (s == EG_OK)
        s = eg_sheet_save(&sheet, path);
    eg_sheet_fini(&sheet);
    return s;
}

static eg_status sheets_log(eg_federation *f, const eg_gallery *g, const sheet_row *rows,
                            int64_t n, int64_t round)
{
    int64_t classes[SHEET_ROWS];
    eg_sheet_event e = {.round = round, .who = eg_gallery_at(g, 0).client, .classes = classes};
    for (int64_t i = 0; i < n && rows[i].label >= 0; i++)
        classes[e.n_classes++] = rows[i].label;
    return eg_run_write_sheet(f->folder, &e);
}

static eg_status sheets_write(eg_federation *f, const eg_gallery *g, eg_generator *m,
                              int64_t round)
{
    const eg_scenario *s = f->feed.scenario;
    int64_t classes = eg_scenario_n_classes(s), n_met;
    char path[EG_RUN_PATH];
    int32_t *met; /* [classes], and as many marks behind */
    sheet_row *rows = NULL;
    EG_TRY(eg_alloc(2 * (size_t)classes, sizeof *met, &met));
    eg_status status =
        eg_alloc(eg_gallery_n(g) * (size_t)(classes + SHEET_MIXED), sizeof *rows, &rows);
    if (status == EG_OK) {
        uint8_t *marks = (uint8_t *)(met + classes);
        eg_classes_mark(s, f->cursor, EG_SERVER, marks);
        n_met = eg_classes_list(s, marks, met);
        int64_t n = sheets_rows(g, m, met, n_met, rows);
        status = eg_run_sheet(f->folder_path, round, path);
        if (status == EG_OK && n > 0)
            status = sheets_draw(f, g, m, rows, n, path);
        if (status == EG_OK && n > 0)
            status = sheets_log(f, g, rows, n, round);
    }
    free(rows);
    free(met);
    return status;
}

eg_status eg_federation_draw(eg_federation *f, int64_t round)
{
    char folder[EG_RUN_PATH], path[EG_RUN_PATH];
    eg_gallery *g;
    eg_generator *m = NULL;
    EG_TRY(eg_run_file(f->folder_path, EG_RUN_GENERATORS, path)); /* it is not saved there */
    EG_TRY(eg_gallery_new(path, &g));
    eg_gallery_want_one(g);
    eg_status s = sheets_gather(f, g);
    bool any = s == EG_OK && eg_gallery_n(g) > 0;
    if (any)
        s = eg_run_file(f->folder_path, EG_RUN_SHEETS, folder);
    if (any && s == EG_OK)
        s = eg_disk_make_folder(folder);
    if (any && s == EG_OK)
        s = eg_gallery_machine(g, &m);
    if (any && s == EG_OK)
        s = sheets_write(f, g, m, round);
    eg_generator_free(m);
    eg_gallery_free(g);
    return s;
}
