/* runs.h - carrying out a run in a test, and what its folder says afterwards.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_RUNS_H
#define EG_TEST_RUNS_H

#include "files.h"
#include "test.h"

#include <engram/fed.h>

#include "io/json.h"

static inline bool runs_goes_on(void *context, const eg_progress *p)
{
    return p->round < *(const int64_t *)context;
}

/* Threads of each worker in later runs; 0: not said. */
static int runs_threads;

/* Runs it with seed 3 in a folder of its own inside `folder`, stopped and resumed after `stop`
 * rounds, if that is not 0; path: where. Workers below 0: so many processes of their own. */
static inline eg_status runs_run(const eg_experiment *e, const char *folder, int workers,
                                 int64_t stop, char path[512])
{
    static int number;
    char out[FILES_PATH * 2];
    bool stopped = false;
    snprintf(out, sizeof out, "%s/runs%d", folder, number++);
    eg_run_how how = {.seed = 3, .workers = abs(workers), .threads = runs_threads, .out = out};
    how.transport = workers < 0 ? "processes" : NULL;
    if (stop) {
        how.progress = runs_goes_on, how.context = &stop;
        EG_TRY(eg_experiment_run(e, &how, path, &stopped));
        assert_true(stopped);
        how.progress = NULL, how.resume = true;
    }
    EG_TRY(eg_experiment_run(e, &how, path, &stopped));
    assert_false(stopped);
    return EG_OK;
}

static inline eg_json *runs_summary(const char *path)
{
    char file[1024];
    eg_json *summary;
    snprintf(file, sizeof file, "%s/summary.json", path);
    assert_ok(eg_json_load(file, &summary));
    return summary;
}

/* A number of summary.json; NaN if it is null or not there. */
static inline double runs_value(const char *path, const char *key)
{
    eg_json *summary = runs_summary(path);
    const eg_json *v = eg_json_get(summary, key);
    double value = NAN;
    if (v && eg_json_kind_of(v) != EG_JSON_NULL)
        assert_ok(eg_json_real(v, &value));
    eg_json_free(summary);
    return value;
}

/* The digest of the parameters at its end. */
static inline void runs_hash(const char *path, char hash[65])
{
    eg_json *summary = runs_summary(path);
    const char *text;
    assert_ok(eg_json_text(eg_json_get(summary, "params_sha256"), &text));
    snprintf(hash, 65, "%s", text);
    eg_json_free(summary);
}

#endif
