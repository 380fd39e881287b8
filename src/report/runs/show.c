/* show.c - how values look on screen, and the columns of a comparison.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/group.h"

#include <engram/opt.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const eg_column eg_columns[] = {
    {"accuracy %", "mean accuracy over all tasks after the last", EG_SUMMARY_acc_final, 1,
     false, 99},
    {"seen %", "accuracy of the global model on all classes met, each test image once",
     EG_SUMMARY_acc_seen, 1, true, 97},
    {"last ten %", "mean accuracy in the last ten rounds", EG_SUMMARY_acc_last_ten, 1, true,
     90},
    {"validation %", "the same on samples held out of training", EG_SUMMARY_acc_validation, 1,
     false, 95},
    {"task-IL %", "the same when the task is known at test time", EG_SUMMARY_acc_task_il, 1,
     false, 60},
    {"average %", "average incremental accuracy: mean over the task ends", EG_SUMMARY_aia, 1,
     false, 50},
    {"AA %", "average accuracy: on what each client has met, mean over rounds", EG_SUMMARY_aa,
     1, false, 85},
    {"AR", "average regret: how far AA stays behind that of the run 'centralized', points",
     EG_SUMMARY_ar, -1, false, 80},
    {"met %", "accuracy on what each client has met, at the end", EG_SUMMARY_acc_t, 1, true,
     75},
    {"forgetting", "mean fall from a task's best accuracy, points; below 0: a gain",
     EG_SUMMARY_forgetting, -1, false, 70},
    {"from first", "the same, the best taken from the first task's end on",
     EG_SUMMARY_forgetting_from_first, -1, true, 45},
    {"backward", "backward transfer: change since a task was learned; below 0: a loss",
     EG_SUMMARY_bwt, 1, false, 30},
    {"forward",
     "forward transfer: accuracy on a task just before it, above the untrained "
     "model's",
     EG_SUMMARY_fwt, 1, true, 40},
    {"clients %", "mean of the clients' final accuracies", EG_SUMMARY_client_mean, 1, true, 65},
    {"client sd", "standard deviation of the clients' final accuracies", EG_SUMMARY_client_sd,
     -1, true, 35},
    {"worst %", "final accuracy of the worst client", EG_SUMMARY_client_worst, 1, true, 36},
    {"sent up", "bytes from clients to the server", EG_SUMMARY_bytes_up, 0, false, 20},
    {"sent down", "bytes from the server to clients", EG_SUMMARY_bytes_down, 0, false, 10},
    {"time", "from start to end", EG_SUMMARY_seconds, 0, false, 55},
    {"clients' work", "multiplications and additions of clients' networks",
     EG_SUMMARY_flops_clients, 0, true, 19},
    {"server's work", "the same of what a method has the server compute",
     EG_SUMMARY_flops_server, 0, true, 18},
    {"server's time", "in the method's hooks on the server", EG_SUMMARY_server_seconds, 0, true,
     17},
};
const size_t eg_n_columns = sizeof eg_columns / sizeof *eg_columns;

const eg_column *eg_column_find(const char *name)
{
    for (const eg_column *c = eg_columns; c < eg_columns + eg_n_columns; c++)
        if (strcmp(eg_summary_name(c->which), name) == 0)
            return c;
    return NULL;
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
    bool listed = eg_column_listed(g->columns, c), wanted = !c->beside_a_paper;
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

void eg_show_flops(char out[32], double flops)
{
    show_scaled(out, flops, "FLOP");
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

void eg_show_value(char out[32], eg_summary which, double value)
{
    switch (which) {
    case EG_SUMMARY_bytes_up:
    case EG_SUMMARY_bytes_down:
    case EG_SUMMARY_peak_rss_bytes:
        eg_show_bytes(out, value);
        break;
    case EG_SUMMARY_flops_clients:
    case EG_SUMMARY_flops_server:
        eg_show_flops(out, value);
        break;
    case EG_SUMMARY_seconds:
    case EG_SUMMARY_server_seconds:
        eg_show_seconds(out, value);
        break;
    case EG_SUMMARY_rounds:
    case EG_SUMMARY_rounds_to_best:
        snprintf(out, 32, isnan(value) ? "–" : "%.0f", value);
        break;
    default:
        eg_show_percent(out, value);
    }
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
    bool exact = s.sd == 0 && which >= EG_SUMMARY_bytes_up && which <= EG_SUMMARY_rounds;
    if (isnan(s.mean) || !(s.sd >= 0) || exact)
        snprintf(out, 80, "%s", mean);
    else
        snprintf(out, 80, "%s ± %s", mean, sd);
}
