/* fixture.h - small experiments for tests: written, loaded, run, and what they left read back.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_FED_FIXTURE_H
#define EG_FED_FIXTURE_H

#include "runs.h"

#include "run/log/events.h"

static char fixture_folder[FILES_PATH];

static inline int fixture_open(void **state)
{
    (void)state;
    files_folder(fixture_folder);
    return 0;
}

static inline int fixture_close(void **state)
{
    (void)state;
    files_remove(fixture_folder);
    return 0;
}

/* Loads the run 'a' of a file with this text; set: "key=value" or NULL. */
static inline eg_status fixture_load(const char *text, const char *set, eg_experiment **out)
{
    char file[FILES_PATH * 2];
    files_write(fixture_folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", fixture_folder);
    return eg_experiment_load(file, "a", set ? 1 : 0, &set, out);
}

/* Loads and runs it as runs_run does. */
static inline eg_status fixture_run(const char *text, const char *set, int workers,
                                    int64_t stop, char path[512])
{
    eg_experiment *e;
    assert_ok(fixture_load(text, set, &e));
    eg_status s = runs_run(e, fixture_folder, workers, stop, path);
    eg_experiment_free(e);
    return s;
}

static inline eg_events *fixture_events(const char *path)
{
    eg_events *events;
    assert_ok(eg_events_load(path, &events));
    return events;
}

#endif
