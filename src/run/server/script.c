/* script.c - what the log of a run says of who answered when.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/script.h"

#include "io/file.h"
#include "run/log/events.h"

#include <engram/log.h>

#include <stdlib.h>
#include <string.h>

enum { SCRIPT_SUMMARY = 1 << 26 };

static eg_status script_check(eg_script *s)
{
    if (!eg_run_is_finished(s->folder))
        return eg_fail(EG_ENOENT,
                       "%s: no finished run is there, and only the log of a whole run can be "
                       "replayed",
                       s->folder);
    EG_TRY(eg_events_load(s->folder, &s->log));
    return s->log->start.own_data
               ? eg_fail(EG_EINVAL,
                         "%s: its devices had data of their own, which are not here: it cannot "
                         "be replayed",
                         s->folder)
               : EG_OK;
}

eg_status eg_script_open(const char *folder, eg_script *out)
{
    *out = (eg_script){.folder = folder};
    return script_check(out);
}

void eg_script_close(eg_script *s)
{
    eg_events_free(s->log);
    *s = (eg_script){0};
}

/* The first loss of a round, or of one after it. */
static size_t script_first_loss(const eg_events *log, int64_t round)
{
    size_t low = 0, high = log->n_loss;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->loss[middle].round < round)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

eg_fate eg_script_fate(const eg_script *s, int64_t round, size_t exchange, int64_t client,
                       const char **why)
{
    const eg_events *log = s->log;
    *why = NULL;
    for (size_t i = script_first_loss(log, round);
         i < log->n_loss && log->loss[i].round == round; i++) {
        const eg_loss_event *e = &log->loss[i];
        if (e->client != client || e->exchange != (int64_t)exchange)
            continue;
        *why = e->why;
        return e->summed ? EG_FATE_COUNTS : e->answered ? EG_FATE_REFUSED : EG_FATE_UNHEARD;
    }
    return EG_FATE_COUNTS;
}

const eg_late_event *eg_script_late(const eg_script *s, int64_t asked, int64_t client)
{
    const eg_events *log = s->log;
    for (size_t i = 0; i < log->n_late; i++)
        if (log->late[i].client == client && log->late[i].round - log->late[i].age == asked)
            return &log->late[i];
    return NULL;
}

const eg_late_event *eg_script_heard(const eg_script *s, int64_t round, size_t *n)
{
    const eg_events *log = s->log;
    size_t first = 0;
    while (first < log->n_late && log->late[first].round < round)
        first++;
    for (*n = 0; first + *n < log->n_late && log->late[first + *n].round == round;)
        ++*n;
    return log->late + first;
}

bool eg_script_skips(const eg_script *s, int64_t round, const char *why)
{
    const eg_events *log = s->log;
    for (size_t i = script_first_loss(log, round);
         i < log->n_loss && log->loss[i].round == round; i++)
        if (log->loss[i].client < 0 && strncmp(log->loss[i].why, why, strlen(why)) == 0)
            return true;
    return false;
}

/* The digest that the run ended with, out of its summary. */
static eg_status script_end(const eg_script *s, char out[65])
{
    char path[EG_RUN_PATH];
    unsigned char *bytes;
    size_t n;
    eg_json *json = NULL;
    const eg_json *value;
    const char *text;
    EG_TRY(eg_run_file(s->folder, EG_RUN_SUMMARY, path));
    EG_TRY(eg_file_read(path, SCRIPT_SUMMARY, &bytes, &n));
    eg_status status = eg_json_parse((const char *)bytes, n, &json);
    if (status == EG_OK)
        status = eg_json_need(json, "params_sha256", EG_JSON_TEXT, &value);
    if (status == EG_OK)
        status = eg_json_text(value, &text);
    if (status == EG_OK && strlen(text) != 64)
        status = eg_fail(EG_EFORMAT, "params_sha256 is no digest");
    if (status == EG_OK)
        memcpy(out, text, 65);
    eg_json_free(json);
    free(bytes);
    return eg_blame(status, "%s", path);
}

eg_status eg_script_compare(const eg_script *s, const char *params_sha256)
{
    char then[65];
    EG_TRY(script_end(s, then));
    return strcmp(then, params_sha256) == 0
               ? EG_OK
               : eg_fail(
                     EG_EINVAL,
                     "the replay ends in other bits than %s: params_sha256 is %.16s..., not "
                     "%.16s...",
                     s->folder, params_sha256, then);
}
