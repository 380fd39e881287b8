/* find.c - looks for data files where people put them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/find.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The data folder: as given, the environment's, or where tools/data puts things. False if there
 * is none, or none that fits. */
static bool find_dir(const eg_origin *from, char out[EG_PATH_SIZE])
{
    const char *dir = from->dir ? from->dir : getenv("ENGRAM_DATA"), *home = getenv("HOME");
    int n = -1;
    if (dir && *dir)
        n = snprintf(out, EG_PATH_SIZE, "%s", dir);
    else if (home && *home)
        n = snprintf(out, EG_PATH_SIZE, "%s/.local/share/engram", home);
    return n >= 0 && n < EG_PATH_SIZE;
}

eg_status eg_path_join(const char *dir, const char *name, char out[EG_PATH_SIZE])
{
    int n = snprintf(out, EG_PATH_SIZE, "%s/%s", dir, name);
    if (n < 0 || n >= EG_PATH_SIZE)
        return eg_fail(EG_EINVAL, "the path of '%s' is too long", name);
    return EG_OK;
}

bool eg_find_own(const char *beside, const char *path, char out[EG_PATH_SIZE])
{
    char here[EG_PATH_SIZE];
    const char *const places[] = {beside, getcwd(here, sizeof here)};
    for (int i = 0; i < 2 && *path && *path != '/'; i++)
        if (places[i] && eg_path_join(places[i], path, out) == EG_OK && access(out, F_OK) == 0)
            return true;
    return false;
}

eg_status eg_find_root(const eg_origin *from, const char *path, char out[EG_PATH_SIZE])
{
    char dir[EG_PATH_SIZE], here[EG_PATH_SIZE], looked[3 * EG_PATH_SIZE] = "";
    if (path[0] == '/')
        return eg_path_join("", path + 1, out);
    bool given = find_dir(from, dir), known = getcwd(here, sizeof here) != NULL;
    const char *const places[] = {from->beside, known ? here : NULL, given ? dir : NULL};
    for (size_t i = 0, n = 0; i < 3; i++) {
        if (!places[i] || (i == 1 && from->beside && strcmp(from->beside, here) == 0))
            continue;
        EG_TRY(eg_path_join(places[i], path, out));
        if (access(out, F_OK) == 0)
            return EG_OK;
        n += (size_t)snprintf(looked + n, sizeof looked - n, "%s%s", n ? ", " : "", out);
    }
    return eg_fail(EG_ENOENT, "there is no '%s'; looked for: %s%s", path, looked,
                   given ? "" : " (no data folder is given: --data-dir or ENGRAM_DATA)");
}

static bool find_in(const char *folder, const char *const *names, char out[EG_PATH_SIZE])
{
    for (; *names; names++)
        for (int gz = 0; gz < 2; gz++) {
            int n = snprintf(out, EG_PATH_SIZE, "%s/%s%s", folder, *names, gz ? ".gz" : "");
            if (n < EG_PATH_SIZE && access(out, F_OK) == 0)
                return true;
        }
    return false;
}

/* Fills places with the folders to look in; returns how many. */
static int find_places(const char *dir, const eg_place *place, char places[4][EG_PATH_SIZE])
{
    int n = 0;
    if (dir) {
        snprintf(places[n++], EG_PATH_SIZE, "%s/%s", dir, place->folder);
        if (strchr(place->folder, '_')) {
            snprintf(places[n], EG_PATH_SIZE, "%s/%s", dir, place->folder);
            for (char *c = places[n] + strlen(dir); *c; c++)
                *c = *c == '_' ? '-' : *c;
            n++;
        }
        snprintf(places[n++], EG_PATH_SIZE, "%s", dir);
    }
    if (place->system)
        snprintf(places[n++], EG_PATH_SIZE, "%s", place->system);
    return n;
}

eg_status eg_find(const eg_origin *from, const eg_place *place, const char *const *names,
                  char out[EG_PATH_SIZE])
{
    char dir[EG_PATH_SIZE], places[4][EG_PATH_SIZE];
    bool given = find_dir(from, dir);
    int n = find_places(given ? dir : NULL, place, places);
    for (int i = 0; i < n; i++)
        if (find_in(places[i], names, out))
            return EG_OK;
    char looked[600] = "";
    for (int i = 0; i < n; i++) {
        size_t used = strlen(looked);
        const char *joint = i == 0 ? " in " : i + 1 == n ? " or " : ", ";
        snprintf(looked + used, sizeof looked - used, "%s%s", joint, places[i]);
    }
    return eg_fail(EG_ENOENT, "%s(.gz) was not found%s%s; %s", names[0], looked,
                   given ? "" : " (no data folder is given: use --data-dir or ENGRAM_DATA)",
                   place->get);
}

/* Whether a folder holds anything: which files a set has, only its own reader knows. */
static bool find_has_files(const char *folder)
{
    DIR *d = opendir(folder);
    bool any = false;
    for (const struct dirent *e; d && !any && (e = readdir(d));)
        any = e->d_name[0] != '.';
    if (d)
        closedir(d);
    return any;
}

bool eg_dataset_where(const eg_dataset *d, const eg_origin *from, size_t size, char *out)
{
    char dir[EG_PATH_SIZE], places[4][EG_PATH_SIZE], system[EG_PATH_SIZE];
    bool given = find_dir(from, dir);
    snprintf(system, sizeof system, "/usr/share/datasets/%s", d->component.name);
    for (char *c = system; *c; c++)
        *c = *c == '_' ? '-' : *c;
    int n =
        find_places(given ? dir : NULL, &(eg_place){d->component.name, system, NULL}, places);
    for (int i = 0; i < n; i++)
        if ((!given || strcmp(places[i], dir) != 0) && find_has_files(places[i])) {
            snprintf(out, size, "%s", places[i]);
            return true;
        }
    return false;
}
