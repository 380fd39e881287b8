/* experiment.c - where a call's experiment is, and whose fault it is that it cannot be read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/experiment.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char experiment_ending[] = ".yaml";

/* "<prefix>/share/engram/experiments" of a program in "<prefix>/bin"; "" if it is not known. */
static void experiment_shared_folder(char out[CLI_PATH])
{
    static const char share[] = "/share/engram/experiments";
    ssize_t n = readlink("/proc/self/exe", out, CLI_PATH - sizeof share - 1);
    out[n > 0 ? n : 0] = 0;
    for (int up = 0; up < 2 && *out; up++) {
        char *slash = strrchr(out, '/');
        if (slash)
            *slash = 0;
    }
    if (*out)
        memcpy(out + strlen(out), share, sizeof share);
}

static bool experiment_is_whole(const char *word)
{
    size_t n = strlen(word), ending = strlen(experiment_ending);
    return n > ending && strcmp(word + n - ending, experiment_ending) == 0;
}

/* Offers every name "demo" of a folder's file "demo.yaml". */
static void experiment_offer(const char *folder, eg_suggestion *near)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char name[256];
        snprintf(name, sizeof name, "%s", e->d_name);
        if (!experiment_is_whole(name))
            continue;
        name[strlen(name) - strlen(experiment_ending)] = 0;
        eg_suggest_offer(near, name);
    }
    if (d)
        closedir(d);
}

const char *cli_find_experiment(const char *word, char room[CLI_PATH])
{
    char shared[CLI_PATH];
    if (access(word, F_OK) == 0)
        return word;
    if (*word == '/' || *word == '.') {
        eg_fail(EG_ENOENT, "there is no file '%s'", word);
        return NULL;
    }
    experiment_shared_folder(shared);
    const char *const folders[] = {"experiments", shared};
    const char *ending = experiment_is_whole(word) ? "" : experiment_ending;
    eg_suggestion near = eg_suggest(word);
    for (int k = 0; k < 2; k++) {
        int n = snprintf(room, CLI_PATH, "%s/%s%s", folders[k], word, ending);
        if (*folders[k] && n > 0 && n < CLI_PATH && access(room, F_OK) == 0)
            return room;
        experiment_offer(folders[k], &near);
    }
    eg_fail(EG_ENOENT, "there is no '%s'%s: no such file, nor %s%s in experiments or in %s",
            word, eg_suggest_words(&near), word, ending,
            *shared ? shared : "the program's folder");
    return NULL;
}

/* The first sentence of the comment that a file begins with; "": it has none. */
static void experiment_about(const char *path, char out[CLI_PATH])
{
    char line[CLI_PATH];
    size_t n = 0;
    FILE *f = fopen(path, "r");
    out[0] = 0;
    while (f && n + 2 < CLI_PATH && fgets(line, sizeof line, f) && *line == '#') {
        const char *text = line + 1 + strspn(line + 1, " ");
        const char *dot = strstr(text, ". ");
        size_t length = dot ? (size_t)(dot - text) + 1 : strcspn(text, "\n");
        bool ends = dot || (length && text[length - 1] == '.');
        n += (size_t)snprintf(out + n, CLI_PATH - n, "%s%.*s", n ? " " : "", (int)length, text);
        if (ends)
            break;
    }
    if (f)
        fclose(f);
    if (n > 0 && n < CLI_PATH && out[n - 1] == '.')
        out[n - 1] = 0;
}

/* Prints those of a folder, and of the folders in it, in the order of names. */
static void experiment_list_folder(const char *folder, const char *prefix)
{
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[CLI_PATH], name[CLI_PATH], about[CLI_PATH];
        struct stat st;
        int fits = snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        snprintf(name, sizeof name, "%s%s", prefix, list[i]->d_name);
        bool shown = list[i]->d_name[0] != '.' && strcmp(list[i]->d_name, "scenarios") != 0 &&
                     fits < CLI_PATH && stat(path, &st) == 0;
        free(list[i]);
        if (shown && S_ISDIR(st.st_mode) && !*prefix) {
            strncat(name, "/", sizeof name - strlen(name) - 1);
            experiment_list_folder(path, name);
        } else if (shown && experiment_is_whole(name)) {
            name[strlen(name) - strlen(experiment_ending)] = 0;
            experiment_about(path, about);
            printf("  %-38s %s\n", name, about);
        }
    }
    if (n >= 0)
        free(list);
}

void cli_list_experiments(void)
{
    char shared[CLI_PATH];
    experiment_shared_folder(shared);
    bool here = access("experiments", R_OK) == 0;
    if (!here && (!*shared || access(shared, R_OK) != 0))
        printf("  none: there is no folder experiments here, nor %s\n", shared);
    else
        experiment_list_folder(here ? "experiments" : shared, "");
}

static bool experiment_has_label(const eg_experiment_file *f, const char *label)
{
    const char *there;
    for (size_t i = 0; (there = eg_experiment_file_label(f, i)); i++)
        if (strcmp(there, label) == 0)
            return true;
    return false;
}

int eg_cli_unresolved_in(const char *verb, const eg_experiment_file *file, const char *label,
                         const cli_texts *settings, eg_status s)
{
    char why[1024];
    eg_experiments plain = {0};
    snprintf(why, sizeof why, "%s", eg_error());
    bool unknown = label && !experiment_has_label(file, label);
    const char *of = label && !unknown ? label : eg_experiment_file_label(file, 0);
    bool wrong = (unknown && s == EG_ENOENT) ||
                 (settings->n && eg_experiment_file_sweep(file, of, 0, NULL, &plain) == EG_OK);
    eg_experiments_free(&plain);
    eg_fail(s, "%s", why);
    return wrong ? eg_cli_refused(verb, s) : eg_cli_failed();
}

int eg_cli_unresolved(const char *verb, const char *path, const char *label,
                      const cli_texts *settings, eg_status s)
{
    char why[1024];
    eg_experiment_file *file;
    snprintf(why, sizeof why, "%s", eg_error());
    bool opened = eg_experiment_file_open(path, &file) == EG_OK;
    eg_fail(s, "%s", why);
    if (!opened)
        return eg_cli_failed();
    int code = eg_cli_unresolved_in(verb, file, label, settings, s);
    eg_experiment_file_free(file);
    return code;
}
