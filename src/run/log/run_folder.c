/* run_folder.c - a run's folder: made whole, opened again, and the events written into it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/run_folder.h"

#include "io/disk.h"
#include "io/file.h"
#include "run/log/events.h"
#include "run/log/fields.h"

#include <engram/log.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct eg_run_folder {
    char *path, *metrics;
    int fd;           /* of metrics.jsonl */
    int64_t position; /* its length */
    eg_seal seal;     /* of its last line */
};

/* The path of a file in a folder; free() *out. */
static eg_status run_join(const char *folder, const char *name, char **out)
{
    char path[EG_RUN_PATH];
    *out = NULL;
    EG_TRY(eg_run_file(folder, name, path));
    *out = strdup(path);
    return *out ? EG_OK : eg_fail(EG_ENOMEM, "%s: no memory for a path", folder);
}

eg_status eg_run_folder_path(const char *runs, const char *name, const char *label,
                             int64_t seed, const char *config_sha256, char **out)
{
    *out = NULL;
    if (!*runs) /* it would be the root of all files */
        return eg_fail(EG_EINVAL, "the folder that runs go into has an empty name");
    size_t n = strlen(name) + strlen(label) + 48;
    char *text = malloc(n);
    if (!text)
        return eg_fail(EG_ENOMEM, "no memory for a path");
    snprintf(text, n, "%s-%s-s%lld-%.8s", name, label, (long long)seed, config_sha256);
    static const char fit[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "._+-";
    for (char *c = text; *c; c++)
        if (!strchr(fit, *c) || (*c == '.' && c == text))
            *c = '_';
    eg_status status = run_join(runs, text, out);
    free(text);
    return status;
}

void eg_run_folder_free(eg_run_folder *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    free(f->metrics);
    free(f);
}

/* Writes the settings, with the program that resolved them in a comment before. */
static eg_status run_create_config(const char *path, const char *config)
{
    char head[128];
    int n = snprintf(head, sizeof head, "# engram %s%s%s\n", eg_version(),
                     *eg_commit() ? ", commit " : "", eg_commit());
    EG_ASSERT(n > 0 && n < (int)sizeof head);
    const eg_bytes parts[] = {{head, (size_t)n}, {config, strlen(config)}};
    return eg_file_create(path, parts, 2);
}

/* Removes a draft with what run_fill has put into it. */
static void run_remove(const char *folder)
{
    static const char *const names[] = {EG_RUN_CONFIG, EG_RUN_METRICS};
    char path[EG_RUN_PATH];
    for (int i = 0; i < 2; i++)
        if (eg_run_file(folder, names[i], path) == EG_OK)
            unlink(path);
    rmdir(folder);
}

/* Makes a folder beside path that is nobody else's: processes on machines with a common disk,
 * or in containers, may have the same number. */
static eg_status run_make_draft(const char *path, char *draft, size_t size)
{
    enum { RUN_ATTEMPTS = 1000 };
    const char *slash = strrchr(path, '/');
    snprintf(draft, size, "%.*s", slash ? (int)(slash - path) : 0, path);
    if (*draft)
        EG_TRY(eg_disk_make_folder(draft));
    for (int attempt = 0; attempt < RUN_ATTEMPTS; attempt++) {
        snprintf(draft, size, "%s.%ld.%d.tmp", path, (long)getpid(), attempt);
        if (mkdir(draft, 0777) == 0)
            return EG_OK;
        if (errno != EEXIST)
            break;
    }
    return eg_file_fail(draft, "the folder cannot be made");
}

/* Puts config.yaml and an empty metrics.jsonl into a folder, on disk; removes it if it cannot.
 */
static eg_status run_fill(const char *folder, const char *config)
{
    char *paths[3] = {NULL, NULL, (char *)folder};
    eg_status status = run_join(folder, EG_RUN_CONFIG, &paths[0]);
    if (status == EG_OK)
        status = run_join(folder, EG_RUN_METRICS, &paths[1]);
    if (status == EG_OK)
        status = run_create_config(paths[0], config);
    if (status == EG_OK)
        status = eg_file_create(paths[1], NULL, 0);
    if (status == EG_OK)
        status = eg_disk_sync(paths, 3);
    if (status != EG_OK)
        run_remove(folder);
    free(paths[0]);
    free(paths[1]);
    return status;
}

static eg_status run_is_there(const char *path)
{
    return eg_fail(EG_EBUSY, "%s: is there already; resume it or remove it", path);
}

eg_status eg_run_folder_new(const char *path, const char *config, eg_run_folder **out)
{
    struct stat info;
    *out = NULL;
    if (stat(path, &info) == 0)
        return run_is_there(path);
    size_t size = strlen(path) + 48;
    char *draft = malloc(size);
    if (!draft)
        return eg_fail(EG_ENOMEM, "%s: no memory for a path", path);
    eg_status status = run_make_draft(path, draft, size);
    if (status == EG_OK)
        status = run_fill(draft, config);
    if (status == EG_OK && rename(draft, path) != 0) {
        /* Somebody else may have made it since the look. */
        status = errno == EEXIST || errno == ENOTEMPTY
                     ? run_is_there(path)
                     : eg_file_fail(path, "the folder cannot be made");
        run_remove(draft);
    }
    free(draft);
    return status == EG_OK ? eg_run_folder_open(path, 0, out) : status;
}

eg_status eg_run_folder_lock(const char *path, int *out)
{
    char *metrics;
    EG_TRY(run_join(path, EG_RUN_METRICS, &metrics));
    eg_status status = eg_disk_lock(metrics, false, out);
    free(metrics);
    if (status == EG_OK && *out < 0)
        status = eg_fail(EG_EBUSY, "%s: another process carries out this run", path);
    return status;
}

bool eg_run_is_busy(const char *folder)
{
    char metrics[EG_RUN_PATH];
    int lock = -1;
    bool busy = eg_run_file(folder, EG_RUN_METRICS, metrics) == EG_OK &&
                eg_disk_lock(metrics, false, &lock) == EG_OK && lock < 0;
    if (lock >= 0)
        close(lock);
    return busy;
}

/* Reads the first `position` bytes, which must be whole events, so that damage is found before
 * anything trains. */
static eg_status run_read(eg_run_folder *f, int64_t position)
{
    eg_events *events;
    EG_TRY(eg_events_load_until(f->path, position, &events));
    f->seal = events->seal;
    eg_events_free(events);
    return EG_OK;
}

static eg_status run_cut(eg_run_folder *f, int64_t position)
{
    struct stat info;
    f->fd = open(f->metrics, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &info) != 0)
        return eg_file_fail(f->metrics, "cannot be opened");
    if (info.st_size < position)
        return eg_fail(EG_EFORMAT, "%s: %lld bytes, fewer than the checkpoint's %lld",
                       f->metrics, (long long)info.st_size, (long long)position);
    if (position > 0)
        EG_TRY(run_read(f, position));
    if (ftruncate(f->fd, position) != 0)
        return eg_file_fail(f->metrics, "cannot be cut");
    f->position = position;
    return EG_OK;
}

eg_status eg_run_folder_open(const char *path, int64_t position, eg_run_folder **out)
{
    *out = NULL;
    eg_run_folder *f = calloc(1, sizeof *f);
    if (!f)
        return eg_fail(EG_ENOMEM, "%s: no memory for a run", path);
    f->fd = -1;
    f->path = strdup(path);
    eg_status status = f->path ? run_join(path, EG_RUN_METRICS, &f->metrics)
                               : eg_fail(EG_ENOMEM, "%s: no memory for a run", path);
    if (status == EG_OK)
        status = run_cut(f, position);
    if (status == EG_OK)
        *out = f;
    else
        eg_run_folder_free(f);
    return status;
}

const char *eg_run_folder_name(const eg_run_folder *f)
{
    return f->path;
}

eg_status eg_run_folder_file(const eg_run_folder *f, const char *name, char **out)
{
    return run_join(f->path, name, out);
}

eg_status eg_run_folder_sync(eg_run_folder *f, int64_t *position)
{
    if (fsync(f->fd) != 0)
        return eg_file_fail(f->metrics, "cannot be brought to disk");
    *position = f->position;
    return EG_OK;
}

/* One write() per line, so that a concurrent reader sees whole lines only. */
static eg_status run_put(eg_run_folder *f, const char *line, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t put = write(f->fd, line + done, n - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            eg_status status = eg_file_fail(f->metrics, "cannot be written");
            if (ftruncate(f->fd, f->position) != 0)
                return status; /* half a line stays; the next open cuts it off */
            return status;
        }
        done += (size_t)put;
    }
    f->position += (int64_t)n;
    return EG_OK;
}

eg_status eg_run_folder_append(eg_run_folder *f, const char *line, size_t n)
{
    char *whole = malloc(n + EG_SEAL_SIZE + 1);
    if (!whole)
        return eg_fail(EG_ENOMEM, "no memory for a line of %zu bytes", n);
    memcpy(whole, line, n);
    eg_seal seal = f->seal;
    n = eg_seal_line(&seal, whole, n);
    whole[n] = '\n';
    eg_status status = run_put(f, whole, n + 1);
    if (status == EG_OK)
        f->seal = seal;
    free(whole);
    return status;
}

eg_status eg_run_file(const char *folder, const char *name, char out[EG_RUN_PATH])
{
    int n = snprintf(out, EG_RUN_PATH, "%s/%s", folder, name);
    return n > 0 && n < EG_RUN_PATH
               ? EG_OK
               : eg_fail(EG_EINVAL, "the path '%.200s...' is too long", folder);
}

eg_status eg_run_sheet(const char *folder, int64_t round, char out[EG_RUN_PATH])
{
    char name[64];
    snprintf(name, sizeof name, EG_RUN_SHEETS "/round-%06lld.png", (long long)round);
    return eg_run_file(folder, name, out);
}

eg_status eg_run_boxes(const char *folder, int64_t task, char out[EG_RUN_PATH])
{
    char name[64];
    snprintf(name, sizeof name, EG_RUN_BOXES "/task-%06lld.png", (long long)task + 1);
    return eg_run_file(folder, name, out);
}

bool eg_run_is_finished(const char *folder)
{
    char summary[EG_RUN_PATH];
    return eg_run_file(folder, EG_RUN_SUMMARY, summary) == EG_OK && access(summary, F_OK) == 0;
}

static eg_status run_event_fill(eg_json *object, const eg_event_kind *kind, void *event)
{
    eg_fields f = {.to = object};
    EG_TRY(eg_json_set(object, "event", eg_json_of_text(kind->name)));
    return kind->fields(&f, event);
}

/* The event is only read; it is not const because the same walk reads and writes. */
static eg_status run_event_write(eg_run_folder *f, const eg_event_kind *kind, void *event)
{
    char *line = NULL;
    size_t n;
    eg_json *object = eg_json_object();
    eg_status status = object ? run_event_fill(object, kind, event) : EG_ENOMEM;
    if (status == EG_OK)
        status = eg_json_print(object, 0, &line, &n);
    if (status == EG_OK)
        status = eg_run_folder_append(f, line, n);
    free(line);
    eg_json_free(object);
    return eg_blame(status, "event '%s'", kind->name);
}

eg_status eg_run_write_start(eg_run_folder *f, const eg_start_event *e)
{
    eg_start_event event = *e;
    event.version = eg_version();
    event.commit = eg_commit();
    return run_event_write(f, &eg_event_start, &event);
}

eg_status eg_run_write_round(eg_run_folder *f, const eg_round_event *e)
{
    eg_round_event event = *e;
    return run_event_write(f, &eg_event_round, &event);
}

eg_status eg_run_write_eval(eg_run_folder *f, const eg_eval_event *e)
{
    eg_eval_event event = *e;
    return run_event_write(f, &eg_event_eval, &event);
}

eg_status eg_run_write_confusion(eg_run_folder *f, const eg_confusion_event *e)
{
    eg_confusion_event event = *e;
    return run_event_write(f, &eg_event_confusion, &event);
}

eg_status eg_run_write_sheet(eg_run_folder *f, const eg_sheet_event *e)
{
    eg_sheet_event event = *e;
    return run_event_write(f, &eg_event_sheet, &event);
}

eg_status eg_run_write_boxes(eg_run_folder *f, const eg_boxes_event *e)
{
    eg_boxes_event event = *e;
    return run_event_write(f, &eg_event_boxes, &event);
}

eg_status eg_run_write_note(eg_run_folder *f, int64_t round, int64_t who, const char *name,
                            double value)
{
    return run_event_write(f, &eg_event_note, &(eg_note_event){round, who, name, value});
}

eg_status eg_run_write_left_out(eg_run_folder *f, const eg_loss_event *e)
{
    eg_loss_event event = *e;
    return run_event_write(f, &eg_event_left_out, &event);
}

eg_status eg_run_write_late(eg_run_folder *f, const eg_late_event *e)
{
    eg_late_event event = *e;
    return run_event_write(f, &eg_event_late, &event);
}

eg_status eg_run_write_skipped(eg_run_folder *f, int64_t round, const char *why)
{
    return run_event_write(f, &eg_event_skipped,
                           &(eg_loss_event){.round = round, .client = -1, .why = why});
}

eg_status eg_run_write_stop(eg_run_folder *f, const eg_stop_event *e)
{
    eg_stop_event event = *e;
    return run_event_write(f, &eg_event_stop, &event);
}

eg_status eg_run_write_forced(eg_run_folder *f, int64_t round, const char *why)
{
    return run_event_write(f, &eg_event_forced, &(eg_forced_event){round, why});
}

eg_status eg_run_write_end(eg_run_folder *f, const eg_end_event *e)
{
    eg_end_event event = *e;
    event.version = eg_version();
    event.commit = eg_commit();
    return run_event_write(f, &eg_event_end, &event);
}
