/* experiments_test.c - every run of every file under experiments/ can be loaded, and those of
 * one table differ in what they are compared for.
 * SPDX-License-Identifier: Apache-2.0
 *
 * No data are needed: settings, parts, options and the names of published figures are checked.
 */
#include "files.h"
#include "test.h"

#include <engram/fed.h>
#include <engram/method.h>

#include "io/file.h"
#include "report/runs/run.h"

#include <stdlib.h>

/* Published figures stand beside metrics that are known. */
static void check_published(const eg_experiment_file *file)
{
    size_t n;
    const eg_published *list = eg_experiment_file_published(file, &n);
    for (size_t i = 0; i < n; i++) {
        const char *path = eg_experiment_file_name(file);
        if (eg_summary_find(list[i].metric) == EG_SUMMARY_N)
            fail_msg("%s: '%s' of '%s' stands beside nothing", path, list[i].metric,
                     list[i].label);
        if (fabs(list[i].mean) > 1 || list[i].sd > 1)
            fail_msg("%s: '%s' of '%s' is no percentage", path, list[i].metric, list[i].label);
    }
}

/* A setting in a run's resolved text, into out; the empty text if it has no such section. */
static const char *setting(const eg_experiment *e, const char *section, const char *key,
                           char out[64])
{
    char head[64], line[64];
    const char *text = eg_experiment_text(e), *at, *end;
    snprintf(head, sizeof head, "\n%s:\n", section);
    snprintf(line, sizeof line, "\n  %s: ", key);
    out[0] = '\0';
    at = strstr(text, head);
    if (!at)
        return out;
    for (at += strlen(head) - 1; strncmp(at, "\n  ", 3) == 0; at = end) {
        end = strchr(at + 1, '\n');
        size_t skip = strlen(line);
        if (strncmp(at, line, skip) == 0)
            snprintf(out, 64, "%.*s", (int)(end - at - (long)skip), at + skip);
    }
    return out;
}

static void check_setting(const eg_experiment *e, const char *section, const char *key,
                          const char *wanted)
{
    char is[64];
    if (strcmp(setting(e, section, key, is), wanted) != 0)
        fail_msg("'%s' of %s: %s.%s is '%s', not '%s'", eg_experiment_label(e),
                 eg_experiment_name(e), section, key, is, wanted);
}

/* An ACGAN's replay alone is averaged plainly: the ensemble of heads and the steps at the
 * server are FedCIL's consolidation. Deep generative replay draws with networks of its width.
 */
static void check_fedcil_row(const eg_experiment *e)
{
    const char *label = eg_experiment_label(e);
    char width[64];
    bool plain = strstr(label, "+acgan") != NULL,
         first = strstr(label, "consolidation") != NULL;
    if (plain || first) {
        check_setting(e, "fedcil", "heads", "mean");
        check_setting(e, "fedcil", "steps", "0");
        check_setting(e, "fedcil", "consistency", plain ? "0" : "1");
    }
    if (eg_experiment_has_part(e, "dgr"))
        check_setting(e, "dgr", "width", setting(e, "model", "width", width));
}

/* At the temperature of the training nothing is learned from a thousand systems of fractals,
 * and a head that was learned at another one does not fit. */
static void check_fedspace_row(const eg_experiment *e)
{
    char epochs[64];
    if (atof(setting(e, "pretrain", "epochs", epochs)) <= 0 ||
        strncmp(eg_experiment_name(e), "fedspace-table", 14) != 0)
        return;
    check_setting(e, "pretrain", "classes", "100");
    check_setting(e, "pretrain", "temperature", "1");
    check_setting(e, "pretrain", "head", "fresh");
}

/* Resolves every run. Returns how many there are. */
/* A run with a published regret has a run in its file that its own is held against. */
static void check_bound(const eg_experiment_file *file, const eg_experiment *e)
{
    char bound[EG_OPT_TEXT_SIZE] = "centralized";
    const char *label = eg_experiment_label(e), *other;
    size_t n, i = 0;
    const eg_published *list = eg_experiment_file_published(file, &n);
    while (i < n && (strcmp(list[i].label, label) != 0 || strcmp(list[i].metric, "ar") != 0))
        i++;
    const char *at = strstr(eg_experiment_text(e), "\nbound: '");
    if (at)
        snprintf(bound, sizeof bound, "%.*s", (int)strcspn(at + 9, "'"), at + 9);
    for (size_t k = 0; i < n && (other = eg_experiment_file_label(file, k)); k++)
        if (strcmp(other, bound) == 0)
            return;
    if (i < n)
        fail_msg("%s: '%s' has a regret to '%s', which is not there",
                 eg_experiment_file_name(file), label, bound);
}

static size_t check_file(const char *path)
{
    eg_experiment_file *file;
    size_t n = 0;
    if (eg_experiment_file_open(path, &file) != EG_OK)
        fail_msg("%s", eg_error());
    for (const char *label; (label = eg_experiment_file_label(file, n)); n++) {
        eg_experiment *e;
        if (eg_experiment_file_resolve(file, label, 0, NULL, &e) != EG_OK)
            fail_msg("%s", eg_error());
        if (strstr(path, "/fedcil/"))
            check_fedcil_row(e);
        check_fedspace_row(e);
        check_bound(file, e);
        eg_experiment_free(e);
    }
    check_published(file);
    eg_experiment_file_free(file);
    return n;
}

/* All .yaml files of a folder and those in it; scenario files have no runs. */
static size_t check_folder(const char *folder)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[FILES_PATH];
        struct stat info;
        const char *end = strrchr(e->d_name, '.');
        int length = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        assert_true(length < (int)sizeof path);
        if (e->d_name[0] == '.' || strcmp(e->d_name, "scenarios") == 0)
            continue;
        assert_int_equal(stat(path, &info), 0);
        if (S_ISDIR(info.st_mode))
            n += check_folder(path);
        else if (end && strcmp(end, ".yaml") == 0)
            n += check_file(path);
    }
    closedir(d);
    return n;
}

static void test_every_run_of_every_experiment_loads(void **state)
{
    (void)state;
    assert_true(check_folder("experiments") > 100);
}

/* The example in docs/experiment-file.md is a file that can be run. */
static void test_the_documented_file_loads(void **state)
{
    (void)state;
    char folder[FILES_PATH], path[FILES_PATH * 2];
    unsigned char *text;
    size_t n;
    assert_ok(eg_file_read("docs/experiment-file.md", 1 << 20, &text, &n));
    char *begin = strstr((char *)text, "```yaml\n");
    assert_non_null(begin);
    begin += strlen("```yaml\n");
    char *end = strstr(begin, "```");
    assert_non_null(end);
    files_folder(folder);
    files_write(folder, "doc.yaml", begin, (size_t)(end - begin));
    snprintf(path, sizeof path, "%s/doc.yaml", folder);
    assert_int_equal(check_file(path), 3);
    files_remove(folder);
    free(text);
}

/* The files of weights that experiments name; what they hold is looked at when a run starts. */
static char data[FILES_PATH];

static int open_data(void **state)
{
    (void)state;
    files_folder(data);
    files_write(data, "weights/use-lite.safetensors", "", 0);
    files_write(data, "weights/deit_tiny_patch16_224.safetensors", "", 0);
    return setenv("ENGRAM_DATA", data, 1);
}

static int close_data(void **state)
{
    (void)state;
    files_remove(data);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_run_of_every_experiment_loads),
        cmocka_unit_test(test_the_documented_file_loads),
    };
    return cmocka_run_group_tests(tests, open_data, close_data);
}
