/* table_data.c - a comparison for programs: JSON and CSV, nothing rounded.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/group.h"
#include "report/table/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

eg_json *eg_grid_json_number(double x)
{
    return isnan(x) ? eg_json_of_null() : eg_json_of_real(x);
}

/* How a group differs from another one; all NaN if that is nobody, or itself. */
static eg_paired table_paired(const eg_group *group, const eg_group *other, eg_summary which)
{
    return other && other != group ? eg_group_paired(group, other, which)
                                   : eg_paired_of(NULL, 0);
}

/* How the value differs from that of the group it is held against. */
static eg_status table_json_difference(eg_json *to, const eg_group *group,
                                       const eg_group *other, eg_summary which)
{
    eg_paired d = table_paired(group, other, which);
    EG_TRY(eg_json_set(to, "difference", eg_grid_json_number(d.mean)));
    EG_TRY(eg_json_set(to, "difference_sd", eg_grid_json_number(d.sd)));
    return eg_json_set(to, "p", eg_grid_json_number(d.p));
}

/* Whether a value can be better or worse, so that a difference in it says something. */
static bool table_differs(eg_summary which)
{
    return eg_column_of(which).better != 0;
}

static eg_status table_json_values(eg_json *row, const eg_groups *g, const eg_group *group,
                                   const eg_group *against)
{
    for (int i = 0; i < EG_SUMMARY_N; i++) {
        eg_summary which = (eg_summary)i;
        eg_spread s = eg_group_summary(group, which);
        const eg_published *p = eg_groups_published(g, group, which);
        eg_json *v = eg_json_object();
        eg_status status = v ? EG_OK : EG_ENOMEM;
        if (status == EG_OK)
            status = eg_json_set(v, "mean", eg_grid_json_number(s.mean));
        if (status == EG_OK)
            status = eg_json_set(v, "sd", eg_grid_json_number(s.sd));
        if (status == EG_OK && p)
            status = eg_json_set(v, "published_mean", eg_grid_json_number(p->mean));
        if (status == EG_OK && p)
            status =
                eg_json_set(v, "published_sd", eg_grid_json_number(p->sd < 0 ? NAN : p->sd));
        if (status == EG_OK && against && table_differs(which))
            status = table_json_difference(v, group, against, which);
        if (status != EG_OK) {
            eg_json_free(v);
            return status;
        }
        EG_TRY(eg_json_set(row, eg_summary_name(which), v));
    }
    return EG_OK;
}

static eg_status table_json_seeds(eg_json *row, const eg_group *group)
{
    eg_json *seeds = eg_json_array();
    for (size_t i = 0; seeds && i < group->n; i++)
        if (eg_json_add(seeds, eg_json_of_int(group->run[i]->start->seed)) != EG_OK) {
            eg_json_free(seeds);
            return EG_ENOMEM;
        }
    return eg_json_set(row, "seeds", seeds);
}

static eg_status table_json_settings(eg_json *row, const eg_group *group)
{
    eg_json *settings = eg_json_object();
    for (size_t i = 0; settings && i < group->n_differing; i++)
        if (eg_json_set(settings, group->differing[i].key,
                        eg_json_of_text(group->differing[i].value)) != EG_OK) {
            eg_json_free(settings);
            return EG_ENOMEM;
        }
    return eg_json_set(row, "differing_settings", settings);
}

static eg_status table_json_sweep(eg_json *row, const eg_groups *g, const eg_group *group)
{
    eg_json *swept = eg_json_object();
    for (size_t i = 0; swept && i < group->n_swept; i++)
        if (eg_json_set(swept, group->swept[i].key, eg_json_of_text(group->swept[i].value)) !=
            EG_OK) {
            eg_json_free(swept);
            return EG_ENOMEM;
        }
    EG_TRY(eg_json_set(row, "sweep", swept));
    return eg_json_set(row, "best_by_validation",
                       eg_json_of_bool(eg_group_is_chosen(g, group)));
}

static eg_status table_json_row(eg_json *row, const eg_groups *g, const eg_group *group,
                                const eg_group *against)
{
    EG_TRY(eg_json_set(row, "name", eg_json_of_text(group->run[0]->start->name)));
    EG_TRY(eg_json_set(row, "label", eg_json_of_text(group->run[0]->start->label)));
    EG_TRY(eg_json_set(row, "config_sha256",
                       eg_json_of_text(group->run[0]->start->config_sha256)));
    EG_TRY(table_json_settings(row, group));
    if (group->n_swept)
        EG_TRY(table_json_sweep(row, g, group));
    EG_TRY(table_json_seeds(row, group));
    eg_losses l = eg_group_losses(group);
    EG_TRY(eg_json_set(row, "scale", eg_json_of_real(group->run[0]->scale)));
    EG_TRY(eg_json_set(row, "bound", eg_json_of_bool(group->bound)));
    EG_TRY(eg_json_set(row, "uploads_left_out", eg_json_of_int(l.left_out)));
    EG_TRY(eg_json_set(row, "rounds_skipped", eg_json_of_int(l.skipped)));
    if (against)
        EG_TRY(eg_json_set(row, "against", eg_json_of_text(against->title)));
    return table_json_values(row, g, group, against);
}

eg_status eg_grid_json_rows(FILE *f, size_t n, eg_grid_fill_json fill, const void *context)
{
    char *text = NULL;
    eg_json *all = eg_json_array();
    eg_status status = all ? EG_OK : EG_ENOMEM;
    for (size_t i = 0; status == EG_OK && i < n; i++) {
        eg_json *row = eg_json_object();
        status = row ? fill(context, i, row) : EG_ENOMEM;
        if (status == EG_OK)
            status = eg_json_add(all, row);
        else
            eg_json_free(row);
    }
    if (status == EG_OK)
        status = eg_json_print(all, 2, &text, NULL);
    if (status == EG_OK)
        fputs(text, f);
    free(text);
    eg_json_free(all);
    return status;
}

typedef struct table_json {
    const eg_groups *g;
    const eg_group *const *order; /* [g->n] */
    const eg_against *against;
} table_json;

static eg_status table_json_fill(const void *context, size_t i, eg_json *row)
{
    const table_json *t = context;
    return table_json_row(row, t->g, t->order[i], eg_against_of(t->against, t->g, t->order[i]));
}

eg_status eg_grid_json(FILE *f, const eg_groups *g, const eg_group *const *order,
                       const eg_against *against)
{
    return eg_grid_json_rows(f, g->n, table_json_fill, &(table_json){g, order, against});
}

/* A text as RFC 4180 has it: in quotes where it must be. */
void eg_csv_text(FILE *f, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (; *text; text++)
        fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', f);
}

void eg_csv_number(FILE *f, double x)
{
    fputc(',', f);
    if (isfinite(x))
        fprintf(f, "%.15g", x);
}

/* Whether any run, or any paper, has the value: others have no columns. */
static bool csv_has(const eg_groups *g, eg_summary which, bool published)
{
    for (size_t i = 0; i < g->n; i++)
        if (published ? eg_groups_published(g, &g->group[i], which) != NULL
                      : eg_group_summary(&g->group[i], which).n > 0)
            return true;
    return false;
}

static void csv_heading(FILE *f, const eg_groups *g, const eg_against *against)
{
    fputs("name,label,settings,seeds,scale,bound,uploads_left_out,rounds_skipped", f);
    for (int i = 0; i < EG_SUMMARY_N; i++) {
        const char *name = eg_summary_name((eg_summary)i);
        if (csv_has(g, (eg_summary)i, false))
            fprintf(f, ",%s,%s_sd", name, name);
        if (csv_has(g, (eg_summary)i, true))
            fprintf(f, ",%s_published,%s_published_sd", name, name);
        if (against->words && csv_has(g, (eg_summary)i, false) && table_differs((eg_summary)i))
            fprintf(f, ",%s_difference,%s_difference_sd,%s_p", name, name, name);
    }
    fputc('\n', f);
}

static void csv_row(FILE *f, const eg_groups *g, const eg_group *of, const eg_against *against)
{
    const eg_group *to = eg_against_of(against, g, of);
    eg_losses l = eg_group_losses(of);
    eg_csv_text(f, of->run[0]->start->name);
    fputc(',', f);
    eg_csv_text(f, of->run[0]->start->label);
    fputc(',', f);
    eg_csv_text(f, of->apart);
    fprintf(f, ",%zu,%g,%s,%" PRId64 ",%" PRId64, of->n, of->run[0]->scale,
            of->bound ? "true" : "false", l.left_out, l.skipped);
    for (int i = 0; i < EG_SUMMARY_N; i++) {
        eg_summary which = (eg_summary)i;
        const eg_published *p = eg_groups_published(g, of, which);
        if (csv_has(g, which, false)) {
            eg_spread s = eg_group_summary(of, which);
            eg_csv_number(f, s.mean);
            eg_csv_number(f, s.sd);
        }
        if (csv_has(g, which, true)) {
            eg_csv_number(f, p ? p->mean : NAN);
            eg_csv_number(f, p && p->sd >= 0 ? p->sd : NAN);
        }
        if (against->words && csv_has(g, which, false) && table_differs(which)) {
            eg_paired d = table_paired(of, to, which);
            eg_csv_number(f, d.mean);
            eg_csv_number(f, d.sd);
            eg_csv_number(f, d.p);
        }
    }
    fputc('\n', f);
}

void eg_grid_csv(FILE *f, const eg_groups *g, const eg_group *const *order,
                 const eg_against *against)
{
    csv_heading(f, g, against);
    for (size_t i = 0; i < g->n; i++)
        csv_row(f, g, order[i], against);
}
