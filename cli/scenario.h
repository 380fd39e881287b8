/* scenario.h - what the files of `engram scenario` share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_SCENARIO_H
#define EG_CLI_SCENARIO_H

#include <engram/scenario.h>

#include <stdio.h>

/* What is drawn: for some clients and every round, the stage and whether it takes part. */
typedef struct scenario_chart {
    const eg_scenario *s;
    const eg_labels *labels; /* one per source */
    const char *title;
    int64_t n_rounds, n_shown;
    int64_t *client;   /* [n_shown], ascending */
    int32_t *stage;    /* [n_shown, n_rounds]: -1 where it is away or has no data */
    uint8_t *chosen;   /* [n_shown, n_rounds] */
    int64_t n_classes; /* columns of the tables below */
    int64_t *by_class; /* [n_shown, n_classes]: different samples held */
    int64_t *by_task;  /* [n_shown, n_tasks]: samples of each task, as often as it is met */
    bool partial;      /* some round leaves out somebody who is there */
} scenario_chart;

/* Walks the rounds and fills it; most is how many clients may be shown, evenly picked. */
eg_status scenario_chart_init(scenario_chart *c, const eg_scenario *s, const eg_labels *labels,
                              const char *title, int64_t most);
void scenario_chart_fini(scenario_chart *c);

void scenario_chart_print(const scenario_chart *c);
eg_status scenario_chart_save(const scenario_chart *c, const char *path); /* as SVG */

#endif
