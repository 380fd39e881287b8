/* show.c - how values look on screen, and the columns of a comparison.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/group.h"

#include <engram/opt.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is no metric: its name is the summary's. */
enum { SHOW_METRICS = EG_SUMMARY_acc_task_il };
static const eg_column show_others[] = {
    {"task-IL %", "the same when the task is known at test time", EG_SUMMARY_acc_task_il,
     EG_UNIT_PERCENT, 1, false, 60, 50},
    {"validation %", "the same on samples held out of training", EG_SUMMARY_acc_validation,
     EG_UNIT_PERCENT, 1, false, 95, 40},
    {"sent up", "bytes from clients to the server", EG_SUMMARY_bytes_up, EG_UNIT_BYTES, 0,
     false, 20, 170},
    {"sent down", "bytes from the server to clients", EG_SUMMARY_bytes_down, EG_UNIT_BYTES, 0,
     false, 10, 180},
    {"time", "from start to end", EG_SUMMARY_seconds, EG_UNIT_SECONDS, 0, false, 55, 190},
    {"memory", "the most that the process had at once", EG_SUMMARY_peak_rss_bytes,
     EG_UNIT_BYTES, 0, true, 15, 230},
    {"clients' work", "multiplications and additions of clients' networks",
     EG_SUMMARY_flops_clients, EG_UNIT_FLOPS, 0, true, 19, 200},
    {"server's work", "the same of what a method has the server compute",
     EG_SUMMARY_flops_server, EG_UNIT_FLOPS, 0, true, 18, 210},
    {"server's time", "in the method's hooks on the server", EG_SUMMARY_server_seconds,
     EG_UNIT_SECONDS, 0, true, 17, 220},
    {"rounds", "until the end", EG_SUMMARY_rounds, EG_UNIT_COUNT, 0, true, 16, 240},
    {"task-IL AIA %", "average incremental accuracy when the task is known at test time",
     EG_SUMMARY_aia_task_il, EG_UNIT_PERCENT, 1, true, 49, 61},
    {"task-IL forgetting", "the mean fall from a task's best accuracy when the task is known",
     EG_SUMMARY_forgetting_task_il, EG_UNIT_PERCENT, -1, true, 48, 101},
    {"task-IL BWT", "backward transfer when the task is known at test time",
     EG_SUMMARY_bwt_task_il, EG_UNIT_PERCENT, 1, true, 47, 121},
    {"task-IL FWT", "forward transfer when the task is known at test time",
     EG_SUMMARY_fwt_task_il, EG_UNIT_PERCENT, 1, true, 46, 131},
};

/* A metric says itself how it is shown. The summary has them first, in the family's order. */
eg_column eg_column_of(eg_summary which)
{
    if ((int)which >= SHOW_METRICS)
        return show_others[(int)which - SHOW_METRICS];
    const eg_metric *m = eg_metrics[which];
    return (eg_column){m->heading, m->component.help, which,     m->unit,
                       m->better,  m->aside,          m->weight, m->place};
}

void eg_columns_fill(eg_column out[EG_SUMMARY_N])
{
    for (int i = 0; i < EG_SUMMARY_N; i++) {
        eg_column c = eg_column_of((eg_summary)i);
        int at = i;
        for (; at > 0 && out[at - 1].place > c.place; at--)
            out[at] = out[at - 1];
        out[at] = c;
    }
}

bool eg_column_listed(const char *list, const eg_column *c)
{
    const char *name = eg_summary_name(c->which);
    for (size_t n; list && *list; list += n + (list[n] == ',')) {
        char word[64];
        n = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : 0), list);
        if (eg_name_equal(name, word))
            return true;
    }
    return false;
}

bool eg_column_used(const eg_groups *g, const eg_column *c)
{
    bool listed = eg_column_listed(g->columns, c), wanted = !c->aside;
    for (size_t i = 0; i < g->n; i++)
        if ((wanted && eg_group_summary(&g->group[i], c->which).n > 0) ||
            eg_groups_published(g, &g->group[i], c->which))
            return true;
    return listed; /* with dashes, if nothing has it */
}

size_t eg_show_length(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

size_t eg_show_begin(const char *text, size_t n)
{
    size_t bytes = 0, seen = 0;
    for (; text[bytes]; bytes++)
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && ++seen > n)
            break;
    return bytes;
}

void eg_show_percent(char out[32], double fraction)
{
    if (isnan(fraction))
        snprintf(out, 32, "–");
    else /* the sum turns -0 into 0 */
        snprintf(out, 32, "%.1f", round(fraction * 1000) / 10 + 0.0);
}

/* Three digits with a unit of which the value has less than a thousand. */
static void show_scaled(char out[32], double value, const char *unit)
{
    static const char *const thousands[] = {"", "k", "M", "G", "T", "P", "E"};
    int k = 0;
    while (value >= 999.5 && k < 6) {
        value /= 1000;
        k++;
    }
    if (isnan(value))
        snprintf(out, 32, "–");
    else
        snprintf(out, 32, "%.*f %s%s",
                 k == 0 || value >= 99.95 ? 0
                 : value >= 9.995         ? 1
                                          : 2,
                 value, thousands[k], unit);
}

void eg_show_bytes(char out[32], double bytes)
{
    show_scaled(out, bytes, "B");
}

void eg_show_seconds(char out[32], double seconds)
{
    double whole = round(seconds);
    if (isnan(seconds))
        snprintf(out, 32, "–");
    else if (seconds < 9.995)
        snprintf(out, 32, "%.2f s", seconds);
    else if (seconds < 99.95)
        snprintf(out, 32, "%.1f s", seconds);
    else if (whole < 3600)
        snprintf(out, 32, "%.0f min %02.0f s", floor(whole / 60), fmod(whole, 60));
    else
        snprintf(out, 32, "%.0f h %02.0f min", floor(whole / 3600),
                 floor(fmod(whole, 3600) / 60));
}

void eg_show_unit(char out[32], eg_unit unit, double x)
{
    if (unit == EG_UNIT_PERCENT)
        eg_show_percent(out, x);
    else if (unit == EG_UNIT_BYTES)
        eg_show_bytes(out, fabs(x));
    else if (unit == EG_UNIT_SECONDS)
        eg_show_seconds(out, x);
    else if (unit == EG_UNIT_FLOPS)
        show_scaled(out, x, "FLOP");
    else if (isnan(x))
        snprintf(out, 32, "–");
    else
        snprintf(out, 32, unit == EG_UNIT_COUNT ? "%.0f" : "%.4g", x + 0.0);
}

void eg_show_value(char out[32], eg_summary which, double value)
{
    eg_show_unit(out, eg_column_of(which).unit, value);
}

void eg_show_scale(char out[64], const eg_groups *g)
{
    double least = 1, most = 0;
    for (size_t i = 0; i < g->n_runs; i++) {
        least = fmin(least, g->runs[i]->scale);
        most = fmax(most, g->runs[i]->scale);
    }
    *out = 0;
    if (least < 1)
        snprintf(out, 64, least == most ? "scale %g" : "scales %g to %g", least, most);
}

void eg_show_ends(char out[128], const eg_group *g)
{
    size_t n = 0;
    const eg_run *first = NULL;
    for (size_t i = 0; i < g->n; i++)
        if (g->run[i]->log->stopped) {
            first = first ? first : g->run[i];
            n++;
        }
    *out = 0;
    if (n == 1)
        snprintf(out, 128,
                 "seed %" PRId64 " ended early, after round %" PRId64 " of %" PRId64
                 ": validation had not become better",
                 first->start->seed, first->log->stop.round, first->start->rounds);
    else if (n > 1)
        snprintf(out, 128, "%zu of %zu runs ended early: validation had not become better", n,
                 g->n);
}

void eg_show_losses(char out[96], const eg_losses *l)
{
    char skipped[40];
    snprintf(out, 96, "%" PRId64 " upload%s left out", l->left_out,
             l->left_out == 1 ? "" : "s");
    snprintf(skipped, sizeof skipped, "%" PRId64 " round%s skipped", l->skipped,
             l->skipped == 1 ? "" : "s");
    size_t n = l->left_out ? strlen(out) : 0;
    if (l->skipped)
        snprintf(out + n, 96 - n, "%s%s", n ? ", " : "", skipped);
}

void eg_show_spread(char out[80], eg_summary which, eg_spread s)
{
    char mean[32], sd[32];
    eg_show_value(mean, which, s.mean);
    eg_show_value(sd, which, s.sd);
    /* Counts need no "± 0 B". */
    bool exact = s.sd == 0 && eg_column_of(which).unit != EG_UNIT_PERCENT;
    if (isnan(s.mean) || !(s.sd >= 0) || exact)
        snprintf(out, 80, "%s", mean);
    else
        snprintf(out, 80, "%s ± %s", mean, sd);
}
