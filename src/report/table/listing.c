/* listing.c - the runs of a folder, one line each.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTING_COLUMNS = 7 };

typedef struct listing {
    const char *(*cell)[LISTING_COLUMNS]; /* [rows] */
    size_t rows;
    eg_arena arena;
} listing;

/* What is in a folder but cannot be read has a line too. */
static eg_status listing_row(listing *l, const char *dir, const char **cell)
{
    char state[64], accuracy[32], age[32];
    eg_run *r;
    for (int k = 0; k < LISTING_COLUMNS; k++)
        cell[k] = "–";
    cell[LISTING_COLUMNS - 1] = eg_arena_text(&l->arena, "%s", dir);
    eg_status s = eg_run_load(dir, &r);
    if (s != EG_OK) {
        cell[3] = "cannot be read"; /* its own report says why */
        return s == EG_ENOMEM ? s : EG_OK;
    }
    eg_show_state(state, r);
    eg_show_age(age, r);
    eg_show_percent(accuracy, r->summary[r->n_met ? EG_SUMMARY_aa : EG_SUMMARY_acc_final]);
    cell[0] = eg_arena_text(&l->arena, "%s", r->start->name);
    cell[1] = eg_arena_text(&l->arena, "%s", r->start->label);
    cell[2] = eg_arena_text(&l->arena, "%" PRId64, r->start->seed);
    cell[3] = eg_arena_text(&l->arena, "%s", state);
    cell[4] = eg_arena_text(&l->arena, "%s", accuracy);
    cell[5] = eg_arena_text(&l->arena, "%s", age);
    eg_run_free(r);
    for (int k = 0; k < LISTING_COLUMNS; k++)
        if (!cell[k])
            return EG_ENOMEM;
    return EG_OK;
}

static void listing_print(FILE *f, const listing *l)
{
    size_t widest[LISTING_COLUMNS] = {0};
    for (size_t i = 0; i < l->rows; i++)
        for (int k = 0; k < LISTING_COLUMNS; k++) {
            size_t n = eg_show_length(l->cell[i][k]);
            if (n > widest[k])
                widest[k] = n;
        }
    for (size_t i = 0; i < l->rows; i++) {
        for (int k = 0; k < LISTING_COLUMNS; k++) {
            size_t n = eg_show_length(l->cell[i][k]), fill = widest[k] > n ? widest[k] - n : 0;
            bool last = k + 1 == LISTING_COLUMNS, number = k == 2 || k == 4;
            fprintf(f, "%*s%s%*s", number ? (int)fill : 0, "", l->cell[i][k],
                    number || last ? 0 : (int)fill, "");
            fputs(last ? "\n" : "  ", f);
        }
    }
}

static eg_status listing_make(listing *l, const eg_run_folders *folders)
{
    static const char *const heads[LISTING_COLUMNS] = {"experiment", "label", "seed",  "state",
                                                       "accuracy %", "age",   "folder"};
    l->cell = eg_arena_alloc(&l->arena, (folders->n + 1) * sizeof *l->cell);
    if (!l->cell)
        return EG_ENOMEM;
    memcpy(l->cell[0], heads, sizeof heads);
    l->rows = 1;
    for (size_t i = 0; i < folders->n; i++)
        EG_TRY(listing_row(l, folders->list[i], l->cell[l->rows++]));
    return EG_OK;
}

eg_status eg_runs_print(const char *path, char **out)
{
    eg_run_folders folders;
    listing l = {.rows = 0};
    size_t n;
    *out = NULL;
    EG_TRY(eg_run_folders_find(path, &folders));
    eg_status s = listing_make(&l, &folders);
    FILE *f = s == EG_OK ? open_memstream(out, &n) : NULL;
    if (f)
        listing_print(f, &l);
    if (s == EG_OK && (!f || fclose(f) != 0))
        s = EG_ENOMEM;
    if (s == EG_ENOMEM)
        eg_fail(EG_ENOMEM, "%s: out of memory", path);
    eg_arena_fini(&l.arena);
    eg_run_folders_free(&folders);
    return s;
}
