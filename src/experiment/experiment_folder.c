/* experiment_folder.c - the experiment and the seed of a run that was begun, from its folder.
 * SPDX-License-Identifier: Apache-2.0
 *
 * config.yaml is an experiment file with one run. What was written beside it when the run began
 * (its first event, or the folder's name) tells the seed, and whether the file was changed.
 */
#include "experiment/experiment.h"
#include "io/file.h"
#include "log/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDER_MAX_EVENTS ((size_t)1 << 32)

/* What is known of the run without its configuration. */
typedef struct folder_origin {
    bool known;
    uint64_t seed;
    char sha256[65]; /* all of it, or its beginning */
} folder_origin;

static eg_status folder_path(const char *folder, const char *name, char out[1024])
{
    int n = snprintf(out, 1024, "%s/%s", folder, name);
    return n > 0 && n < 1024 ? EG_OK : eg_fail(EG_EINVAL, "%.200s...: too long", folder);
}

/* The end of "<name>-<label>-s<seed>-<8 of the hash>". */
static void folder_read_name(const char *folder, folder_origin *out)
{
    const char *at = folder;
    for (const char *next; (next = strstr(at, "-s"));)
        at = next + 1;
    unsigned long long seed;
    char hash[9], rest;
    int n = sscanf(at, "s%llu-%8[0-9a-f]%c", &seed, hash, &rest);
    if (at == folder || n < 2 || (n == 3 && rest != '/') || strlen(hash) != 8)
        return;
    *out = (folder_origin){.known = true, .seed = seed};
    memcpy(out->sha256, hash, sizeof hash);
}

static void folder_read_start(const eg_json *start, folder_origin *out)
{
    int64_t seed;
    const char *hash;
    if (eg_json_int(eg_json_get(start, "seed"), &seed) != EG_OK ||
        eg_json_text(eg_json_get(start, "config_sha256"), &hash) != EG_OK || strlen(hash) != 64)
        return;
    *out = (folder_origin){.known = true, .seed = (uint64_t)seed};
    memcpy(out->sha256, hash, 65);
}

/* The first event, if it is whole; else the name, for a folder may be moved but an event may
 * not have been written yet. */
static eg_status folder_read_origin(const char *folder, folder_origin *out)
{
    char path[1024];
    unsigned char *bytes;
    size_t n, at = 0;
    *out = (folder_origin){0};
    folder_read_name(folder, out);
    EG_TRY(folder_path(folder, "metrics.jsonl", path));
    if (eg_file_read(path, FOLDER_MAX_EVENTS, &bytes, &n) == EG_OK) {
        const unsigned char *end = memchr(bytes, '\n', n);
        eg_events *events;
        if (end &&
            eg_events_parse((const char *)bytes, (size_t)(end - bytes) + 1, &events) == EG_OK) {
            const eg_json *start = eg_events_next(events, "start", &at);
            if (start)
                folder_read_start(start, out);
            eg_events_free(events);
        }
        free(bytes);
    }
    return out->known ? EG_OK
                      : eg_fail(EG_EFORMAT, "%s: neither its events nor its name tell the seed",
                                folder);
}

/* There is something to go on with. */
static eg_status folder_check(const char *folder, char config[1024])
{
    struct stat about;
    char summary[1024];
    EG_TRY(folder_path(folder, "config.yaml", config));
    EG_TRY(folder_path(folder, "summary.json", summary));
    if (stat(folder, &about) != 0)
        return eg_fail(EG_ENOENT, "%s: there is no such run", folder);
    if (stat(config, &about) != 0)
        return eg_fail(EG_ENOENT, "%s: is no run's folder, it has no config.yaml", folder);
    if (stat(summary, &about) == 0)
        return eg_fail(EG_EINVAL, "%s: the run is finished, there is nothing to resume",
                       folder);
    return EG_OK;
}

eg_status eg_experiment_of_folder(const char *folder, eg_experiment **out, uint64_t *seed)
{
    char config[1024];
    folder_origin origin;
    *out = NULL;
    EG_TRY(folder_check(folder, config));
    EG_TRY(folder_read_origin(folder, &origin));
    EG_TRY(eg_experiment_load(config, NULL, 0, NULL, out));
    if (strncmp((*out)->sha256, origin.sha256, strlen(origin.sha256)) != 0) {
        eg_experiment_free(*out);
        *out = NULL;
        return eg_fail(EG_EFORMAT,
                       "%s: this is not what the run began with: it was changed, or written by "
                       "another version",
                       config);
    }
    *seed = origin.seed;
    return EG_OK;
}
