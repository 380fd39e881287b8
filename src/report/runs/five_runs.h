/* five_runs.h - five runs of two labels, made before a test and removed after it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_FIVE_RUNS_H
#define EG_REPORT_FIVE_RUNS_H

#include "report/runs/fixture.h"

enum { RUNS = 5 };

static char folder[FILES_PATH];
static char dir[RUNS][FILES_PATH + 16];
static const char *dirs[RUNS];

/* er with seeds 2, 0 and 1, fedavg with seeds 0 and 1, mixed. */
static int make_runs(void **state)
{
    (void)state;
    static const struct {
        const char *label;
        int64_t seed;
    } made[RUNS] = {{"er", 2}, {"fedavg|x", 0}, {"er", 0}, {"fedavg|x", 1}, {"er", 1}};
    files_folder(folder);
    for (int i = 0; i < RUNS; i++) {
        fixture s = {.name = "demo",
                     .label = made[i].label,
                     .seed = made[i].seed,
                     .tasks = 3,
                     .rounds_per_task = 4,
                     .clients = 4,
                     .chosen = 4,
                     .keep = made[i].label[0] == 'e' ? 0.8 : 0.1};
        snprintf(dir[i], sizeof dir[i], "%s/%d", folder, i);
        dirs[i] = dir[i];
        fixture_write(&s, dir[i]);
    }
    return 0;
}

static int remove_runs(void **state)
{
    (void)state;
    files_remove(folder);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_runs, remove_runs)

#endif
