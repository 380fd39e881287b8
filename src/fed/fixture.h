/* fixture.h - small experiments for tests: written, loaded, run, and what they left read back.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_FED_FIXTURE_H
#define EG_FED_FIXTURE_H

#include "files.h"
#include "test.h"

#include <engram/fed.h>

#include "fed/events.h"

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

static inline bool fixture_stop(void *context, const eg_progress *p)
{
    return p->round < *(const int64_t *)context;
}

/* Runs it with seed 3, stopped and resumed after `stop` rounds; path: its folder. Workers below
 * 0: so many processes of their own. */
static inline eg_status fixture_run(const char *text, const char *set, int workers,
                                    int64_t stop, char path[512])
{
    static int number;
    char out[FILES_PATH * 2];
    eg_experiment *e;
    bool stopped = false;
    snprintf(out, sizeof out, "%s/runs%d", fixture_folder, number++);
    assert_ok(fixture_load(text, set, &e));
    eg_run_how how = {.seed = 3, .workers = abs(workers), .wire = workers < 0, .out = out};
    if (stop) {
        how.progress = fixture_stop, how.context = &stop;
        assert_ok(eg_experiment_run(e, &how, path, &stopped));
        assert_true(stopped);
        how.progress = NULL, how.resume = true;
    }
    eg_status s = eg_experiment_run(e, &how, path, &stopped);
    eg_experiment_free(e);
    return s;
}

static inline eg_json *fixture_summary(const char *path)
{
    char file[1024];
    eg_json *summary;
    snprintf(file, sizeof file, "%s/summary.json", path);
    assert_ok(eg_json_load(file, &summary));
    return summary;
}

/* A number of summary.json; NaN if it is null or not there. */
static inline double fixture_value(const char *path, const char *key)
{
    eg_json *summary = fixture_summary(path);
    const eg_json *v = eg_json_get(summary, key);
    double value = NAN;
    if (v && eg_json_kind_of(v) != EG_JSON_NULL)
        assert_ok(eg_json_real(v, &value));
    eg_json_free(summary);
    return value;
}

static inline void fixture_hash(const char *path, char hash[65])
{
    eg_json *summary = fixture_summary(path);
    const char *text;
    assert_ok(eg_json_text(eg_json_get(summary, "params_sha256"), &text));
    snprintf(hash, 65, "%s", text);
    eg_json_free(summary);
}

/* A whole number of an event, or of a list in it. */
static inline int64_t fixture_int(const eg_json *v)
{
    int64_t value;
    assert_ok(eg_json_int(v, &value));
    return value;
}

static inline double fixture_real(const eg_json *v)
{
    double value;
    assert_ok(eg_json_real(v, &value));
    return value;
}

static inline eg_events *fixture_events(const char *path)
{
    char file[1024];
    eg_events *events;
    snprintf(file, sizeof file, "%s/metrics.jsonl", path);
    assert_ok(eg_events_load(file, &events));
    return events;
}

#endif
