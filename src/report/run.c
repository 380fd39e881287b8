/* run.c - a run folder, read and checked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/run.h"

#include "io/file.h"
#include "io/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_PATH = 4096 };

static const size_t run_max = (size_t)1 << 30;

static const char *const run_summary_name[] = {
#define RUN_NAME(name) #name,
    EG_SUMMARY_MAP(RUN_NAME)
#undef RUN_NAME
};

const char *eg_summary_name(eg_summary which)
{
    return run_summary_name[which];
}

eg_summary eg_summary_find(const char *name)
{
    int i = 0;
    while (i < EG_SUMMARY_N && strcmp(run_summary_name[i], name) != 0)
        i++;
    return (eg_summary)i;
}

static eg_status run_path(const char *dir, const char *name, char out[RUN_PATH])
{
    if (snprintf(out, RUN_PATH, "%s/%s", dir, name) >= RUN_PATH)
        return eg_fail(EG_EINVAL, "%s: the path is too long", dir);
    return EG_OK;
}

static eg_status run_line(eg_runlog *r, const char *line, size_t n)
{
    eg_json *event;
    EG_TRY(eg_json_parse(line, n, &event));
    eg_status status = eg_runlog_event(r, event);
    eg_json_free(event);
    return status;
}

static eg_status run_lines(eg_runlog *r, const char *path, const char *text, size_t n)
{
    size_t number = 1;
    for (const char *line = text, *end; line < text + n; line = end + 1, number++) {
        end = memchr(line, '\n', (size_t)(text + n - line));
        if (!end && !r->finished)
            break;
        if (!end)
            return eg_fail(EG_EFORMAT, "%s:%zu: the line has no end", path, number);
        EG_TRY(eg_blame(run_line(r, line, (size_t)(end - line)), "%s:%zu", path, number));
    }
    if (!r->label)
        return eg_fail(EG_EFORMAT, "%s:1: there is no start event", path);
    return EG_OK;
}

static eg_status run_metrics(eg_runlog *r)
{
    char path[RUN_PATH];
    unsigned char *text;
    size_t n;
    EG_TRY(run_path(r->dir, "metrics.jsonl", path));
    EG_TRY(eg_file_read(path, run_max, &text, &n));
    eg_status status = run_lines(r, path, (const char *)text, n);
    free(text);
    return status;
}

static eg_status run_summary_values(eg_runlog *r, const eg_json *v)
{
    for (int i = 0; i < EG_SUMMARY_N; i++) {
        const eg_json *value = eg_json_get(v, run_summary_name[i]);
        if (!value && i == EG_SUMMARY_acc_last_ten)
            continue;
        if (!value)
            return eg_fail(EG_EFORMAT, "'%s' is missing", run_summary_name[i]);
        if (eg_json_kind_of(value) != EG_JSON_NULL)
            EG_TRY(eg_blame(eg_json_real(value, &r->summary[i]), "%s", run_summary_name[i]));
    }
    return EG_OK;
}

static eg_status run_summary(eg_runlog *r)
{
    char path[RUN_PATH];
    eg_json *v;
    for (int i = 0; i < EG_SUMMARY_N; i++)
        r->summary[i] = NAN;
    EG_TRY(run_path(r->dir, "summary.json", path));
    eg_status status = eg_json_load(path, &v);
    if (status == EG_ENOENT)
        return EG_OK;
    EG_TRY(status);
    r->finished = true;
    status = eg_blame(run_summary_values(r, v), "%s", path);
    eg_json_free(v);
    return status;
}

static eg_status run_config(eg_runlog *r)
{
    char path[RUN_PATH];
    unsigned char *text;
    size_t n;
    EG_TRY(run_path(r->dir, "config.yaml", path));
    eg_status status = eg_file_read(path, run_max, &text, &n);
    if (status == EG_ENOENT)
        return EG_OK;
    EG_TRY(status);
    r->config = eg_arena_text(&r->arena, "%s", (const char *)text);
    free(text);
    return r->config ? EG_OK : EG_ENOMEM;
}

static eg_status run_load(eg_runlog *r, const char *dir)
{
    r->dir = eg_arena_text(&r->arena, "%s", dir);
    if (!r->dir)
        return EG_ENOMEM;
    EG_TRY(run_summary(r));
    EG_TRY(run_metrics(r));
    EG_TRY(run_config(r));
    return eg_runlog_rows(r);
}

eg_status eg_runlog_load(const char *dir, eg_runlog **out)
{
    eg_runlog *r = calloc(1, sizeof *r);
    if (!r)
        return eg_fail(EG_ENOMEM, "%s: out of memory", dir);
    eg_status status = run_load(r, dir);
    if (status != EG_OK) {
        eg_runlog_free(r);
        return status;
    }
    *out = r;
    return EG_OK;
}

void eg_runlog_free(eg_runlog *r)
{
    if (!r)
        return;
    eg_arena_fini(&r->arena);
    free(r->round);
    free(r->eval);
    free(r->note);
    free(r->row);
    free(r);
}
