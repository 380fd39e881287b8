/* experiment_folder.c - the experiment and the seed of a run that was begun, from its folder.
 * SPDX-License-Identifier: Apache-2.0
 *
 * config.yaml is an experiment file with one run. What was written beside it when the run began
 * (its first event, or the folder's name) tells the seed, and whether the file was changed.
 */
#include "run/experiment/experiment.h"
#include "run/log/events.h"

#include <engram/log.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is known of the run without its configuration. */
typedef struct folder_origin {
    bool known;
    uint64_t seed;
    char sha256[65]; /* all of it, or its beginning */
} folder_origin;

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

/* The first event, if it is whole; else the name, for a folder may be moved but an event may
 * not have been written yet. */
static eg_status folder_read_origin(const char *folder, folder_origin *out)
{
    eg_events *events;
    *out = (folder_origin){0};
    folder_read_name(folder, out);
    eg_status s = eg_events_load_start(folder, &events);
    if (s != EG_OK && s != EG_ENOENT)
        return s;
    if (s == EG_OK) {
        if (strlen(events->start.config_sha256) == 64) {
            *out = (folder_origin){.known = true, .seed = (uint64_t)events->start.seed};
            memcpy(out->sha256, events->start.config_sha256, 65);
        }
        eg_events_free(events);
    }
    return out->known ? EG_OK
                      : eg_fail(EG_EFORMAT, "%s: neither its events nor its name tell the seed",
                                folder);
}

/* There is something to go on with. */
static eg_status folder_check(const char *folder, char config[EG_RUN_PATH])
{
    struct stat about;
    EG_TRY(eg_run_file(folder, EG_RUN_CONFIG, config));
    if (stat(folder, &about) != 0)
        return eg_fail(EG_ENOENT, "%s: there is no such run", folder);
    if (stat(config, &about) != 0)
        return eg_fail(EG_ENOENT, "%s: is no run's folder, it has no %s", folder,
                       EG_RUN_CONFIG);
    if (eg_run_is_finished(folder))
        return eg_fail(EG_EINVAL, "%s: the run is finished, there is nothing to resume",
                       folder);
    return EG_OK;
}

eg_status eg_experiment_of_folder(const char *folder, eg_experiment **out, uint64_t *seed)
{
    char config[EG_RUN_PATH];
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
