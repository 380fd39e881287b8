/* tiles.c - the numbers at the head of a run's part of the page.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"
#include "report/table/table.h"

#include <math.h>
#include <stdio.h>

/* A number: the mean large, its deviation and unit beside, a note below. */
static void tiles_one(eg_page *p, const char *name, eg_summary which, eg_spread s,
                      const char *unit, const char *note)
{
    char mean[32], sd[32];
    eg_show_value(mean, which, s.mean);
    eg_show_value(sd, which, s.sd);
    fprintf(p->f, "<div class=\"tile\"><p>%s</p><strong>%s<span>", name, mean);
    if (!isnan(s.sd))
        fprintf(p->f, "± %s", sd);
    fprintf(p->f, "%s%s</span></strong><p>%s</p></div>\n", isnan(s.sd) || !*unit ? "" : " ",
            isnan(s.mean) ? "" : unit, note);
}

/* A change without its sign, which the word beside it tells. */
static eg_spread tiles_unsigned(eg_spread s)
{
    s.mean = fabs(s.mean);
    return s;
}

/* "19.7 points lost", and below it "backward transfer: 19.7 points lost". */
static void tiles_forgetting(eg_page *p, const eg_group *g)
{
    char change[80], note[160] = "so far";
    eg_spread lost = eg_group_summary(g, EG_SUMMARY_forgetting);
    eg_spread gained = eg_group_summary(g, EG_SUMMARY_bwt);
    if (g->run[0]->finished) {
        eg_show_spread(change, EG_SUMMARY_bwt, tiles_unsigned(gained));
        snprintf(note, sizeof note, "backward transfer: %s%s", change,
                 isnan(gained.mean) ? ""
                 : gained.mean < 0  ? " points lost"
                                    : " points gained");
    }
    tiles_one(p, "Forgetting", EG_SUMMARY_forgetting, tiles_unsigned(lost),
              lost.mean < 0 ? "points gained" : "points lost", note);
}

/* "1.25 TFLOP", and below it what the server had to do; nothing where it was not counted. */
static void tiles_work(eg_page *p, const eg_group *g)
{
    char flops[32], seconds[32], note[128];
    eg_spread s = eg_group_summary(g, EG_SUMMARY_flops_clients);
    if (s.n == 0)
        return;
    double server = eg_group_summary(g, EG_SUMMARY_flops_server).mean;
    eg_show_unit(flops, EG_UNIT_FLOPS, server);
    eg_show_seconds(seconds, eg_group_summary(g, EG_SUMMARY_server_seconds).mean);
    snprintf(note, sizeof note, "the method on the server: %s%s%s", server > 0 ? flops : "",
             server > 0 ? ", " : "", seconds);
    s.sd = NAN;
    tiles_one(p, "Computed by clients", EG_SUMMARY_flops_clients, s, "", note);
}

/* What the first tile shows. */
static const char *tiles_measure(const eg_run *r)
{
    if (eg_run_has_boxes(r))
        return r->finished ? "Final mAP at 0.5" : "mAP at 0.5 so far";
    return r->finished ? "Final accuracy" : "Accuracy so far";
}

/* Below it: accuracy if the task is known; of boxes, that over all overlaps. */
static void tiles_beside(const eg_group *g, char note[200])
{
    bool boxes = eg_run_has_boxes(g->run[0]);
    eg_summary which = boxes ? EG_SUMMARY_map : EG_SUMMARY_acc_task_il;
    eg_spread s = eg_group_summary(g, which);
    char a[80];
    eg_show_spread(a, which, s);
    snprintf(note, 200,
             s.n == 0 ? "mean over all tasks"
             : boxes  ? "%s %% over overlaps 0.5 to 0.95"
                      : "%s %% if the task is known",
             a);
}

void eg_page_tiles(eg_page *p, const eg_group *g)
{
    char a[80], b[80], note[200];
    eg_spread up = eg_group_summary(g, EG_SUMMARY_bytes_up), s;
    eg_spread down = eg_group_summary(g, EG_SUMMARY_bytes_down);
    bool counted = eg_group_summary(g, EG_SUMMARY_flops_clients).n > 0;
    fprintf(p->f, "<div class=\"tiles%s\">\n", counted ? " six" : "");
    tiles_beside(g, note);
    tiles_one(p, tiles_measure(g->run[0]), EG_SUMMARY_acc_final,
              eg_group_summary(g, EG_SUMMARY_acc_final), "%", note);
    tiles_forgetting(p, g);
    tiles_one(p, eg_run_has_boxes(g->run[0]) ? "Average mAP at 0.5" : "Average accuracy",
              EG_SUMMARY_aia, eg_group_summary(g, EG_SUMMARY_aia), "%", "mean over task ends");
    eg_show_bytes(a, up.mean);
    eg_show_bytes(b, down.mean);
    snprintf(note, sizeof note, "%s up, %s down", a, b);
    tiles_one(p, "Sent", EG_SUMMARY_bytes_up, (eg_spread){up.mean + down.mean, NAN, up.n}, "",
              note);
    eg_show_bytes(a, eg_group_summary(g, EG_SUMMARY_peak_rss_bytes).mean);
    snprintf(note, sizeof note, g->run[0]->finished ? "%s of memory" : "so far", a);
    s = eg_group_summary(g, EG_SUMMARY_seconds);
    s.sd = NAN;
    tiles_one(p, "Time", EG_SUMMARY_seconds, s, "", note);
    tiles_work(p, g);
    fprintf(p->f, "</div>\n");
}
