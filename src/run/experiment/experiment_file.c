/* experiment_file.c - an experiment file: read once, asked for its runs as often as wanted.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run's folder holds such a file too: config.yaml has one run. What was written beside it
 * when the run began (its first event, or the folder's name) tells the seed, and whether the
 * file was changed.
 */
#include "base/base.h"
#include "io/yaml.h"
#include "run/experiment/apply.h"
#include "run/experiment/says.h"
#include "run/experiment/settings.h"
#include "run/log/summary.h"
#include "world/scenario/scenario.h"

#include <engram/log.h>
#include <engram/suggest.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The figures of papers in the file, in percent there and fractions here. */
typedef struct file_figures {
    eg_published *list; /* [n], texts borrowed from the document */
    size_t n, cap;
} file_figures;

/* Every metric has a column, and so has what it is when the task is known at test time. */
static bool file_figures_known(eg_summary which)
{
    return which <= EG_SUMMARY_acc_task_il ||
           (which >= EG_SUMMARY_aia_task_il && which < EG_SUMMARY_N);
}

static eg_status file_figures_check_metric(const eg_yaml *y, const eg_yaml_node *node)
{
    eg_suggestion near = eg_suggest(node->key);
    if (file_figures_known(eg_summary_find(node->key)))
        return EG_OK;
    for (int i = 0; i < EG_SUMMARY_N; i++)
        if (file_figures_known((eg_summary)i))
            eg_suggest_offer(&near, eg_summary_name((eg_summary)i));
    return eg_yaml_fail(y, node, EG_EINVAL, "published: there is no column '%s'%s", node->key,
                        eg_suggest_words(&near));
}

/* In percent, unless the metric is counted. */
static eg_status file_figures_number(const eg_yaml *y, const eg_yaml_node *node,
                                     const char *metric, double *out)
{
    char *end;
    const eg_metric *m = eg_metric_find(metric);
    if (!node->text || !*node->text)
        return eg_yaml_fail(y, node, EG_EINVAL, "a published figure is a number");
    *out = strtod(node->text, &end) / (m && m->unit != EG_UNIT_PERCENT ? 1 : 100);
    return *end || !isfinite(*out)
               ? eg_yaml_fail(y, node, EG_EINVAL, "'%s' is no number", node->text)
               : EG_OK;
}

/* One "metric: [mean, sd]" or "metric: mean". */
static eg_status file_figures_one(const eg_yaml *y, const eg_yaml_node *node, eg_published *out)
{
    if (node->type == EG_YAML_SCALAR)
        return file_figures_number(y, node, out->metric, &out->mean);
    if (node->type != EG_YAML_SEQUENCE || node->n < 1 || node->n > 2)
        return eg_yaml_fail(y, node, EG_EINVAL, "a published figure is a number or [mean, sd]");
    EG_TRY(file_figures_number(y, node->child, out->metric, &out->mean));
    if (node->n == 1)
        return EG_OK;
    EG_TRY(file_figures_number(y, node->child->next, out->metric, &out->sd));
    return out->sd >= 0 ? EG_OK
                        : eg_yaml_fail(y, node->child->next, EG_EINVAL,
                                       "a published deviation is not below 0");
}

/* Adds the figures of a run: {metric: [mean, sd], metric: mean}, in percent. */
static eg_status file_figures_read(file_figures *to, const eg_yaml *y,
                                   const eg_yaml_node *published, const char *label)
{
    for (const eg_yaml_node *c = published->child; c; c = c->next) {
        EG_TRY(file_figures_check_metric(y, c));
        EG_TRY(eg_grow(&to->list, to->n, &to->cap, sizeof *to->list));
        eg_published *p = &to->list[to->n++];
        *p = (eg_published){.label = label, .metric = c->key, .sd = -1};
        EG_TRY(file_figures_one(y, c, p));
    }
    return EG_OK;
}

struct eg_experiment_file {
    eg_yaml *y;
    size_t n_runs;
    const eg_yaml_node **runs; /* [n_runs], each checked */
    file_figures figures;
    char folder[EG_FOLDER_SIZE]; /* where it is; "": nowhere */
    char plugins[EG_PLUGINS_SIZE];
    eg_file_says says;
};

/* The keys every file may have that are no method's name. */
static const char *const file_keys[] = {
    "name",  "scale",    "bound",   "data",    "model", "scenario", "memory", "optimizer",
    "train", "schedule", "server",  "secure",  "dp",    "pretrain", "eval",   "runs",
    "sweep", "seeds",    "workers", "threads", "out",   "plugins"};

static const char *file_label(const eg_yaml_node *run)
{
    return eg_yaml_get(run, "label")->text;
}

static eg_status file_check_label(const eg_experiment_file *f, const eg_yaml_node *run)
{
    const eg_yaml_node *label = eg_yaml_get(run, "label");
    if (!label || !label->text || !*label->text)
        return eg_yaml_fail(f->y, label ? label : run, EG_EINVAL,
                            "a run needs a label, a text that is not empty");
    EG_TRY(
        eg_yaml_blame(f->y, label, eg_setting_check_text("label", label->text, EG_LABEL_SIZE)));
    for (size_t i = 0; i < f->n_runs; i++)
        if (strcmp(file_label(f->runs[i]), label->text) == 0)
            return eg_yaml_fail(f->y, label, EG_EINVAL, "the label '%s' is there twice",
                                label->text);
    return EG_OK;
}

/* A method's name, or a list of names. */
static eg_status file_check_method(const eg_experiment_file *f, const eg_yaml_node *method)
{
    bool fits =
        method->type == EG_YAML_SCALAR || (method->type == EG_YAML_SEQUENCE && method->n);
    for (const eg_yaml_node *c = method->child; c; c = c->next)
        fits &= c->type == EG_YAML_SCALAR;
    return fits ? EG_OK
                : eg_yaml_fail(f->y, method, EG_EINVAL,
                               "method: the name of a method or a list of names is wanted");
}

static eg_status file_check_mapping(const eg_experiment_file *f, const eg_yaml_node *node)
{
    return node->type == EG_YAML_MAPPING
               ? EG_OK
               : eg_yaml_fail(f->y, node, EG_EINVAL, "%s: a mapping is wanted, not a %s",
                              node->key, eg_yaml_type_name(node->type));
}

/* The form of a run: which keys there are, and of what type their values. */
static eg_status file_check_run(const eg_experiment_file *f, const eg_yaml_node *run)
{
    static const char *const keys[] = {"label", "method", "overrides", "published", "sweep"};
    EG_TRY(file_check_label(f, run));
    for (const eg_yaml_node *c = run->child; c; c = c->next) {
        eg_suggestion near = eg_suggest(c->key);
        bool known = false;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            known |= strcmp(c->key, keys[i]) == 0;
            eg_suggest_offer(&near, keys[i]);
        }
        if (!known)
            return eg_yaml_fail(f->y, c, EG_EINVAL, "a run has no key '%s'%s", c->key,
                                eg_suggest_words(&near));
        if (strcmp(c->key, "overrides") == 0 || strcmp(c->key, "published") == 0)
            EG_TRY(file_check_mapping(f, c));
    }
    const eg_yaml_node *method = eg_yaml_get(run, "method");
    if (!method)
        return eg_yaml_fail(f->y, run, EG_EINVAL, "the run '%s' needs a method",
                            file_label(run));
    return file_check_method(f, method);
}

static eg_status file_read_runs(eg_experiment_file *f)
{
    const eg_yaml_node *root = eg_yaml_root(f->y), *runs = eg_yaml_get(root, "runs");
    if (!runs || runs->type != EG_YAML_SEQUENCE || !runs->n)
        return eg_yaml_fail(f->y, runs ? runs : root, runs ? EG_EINVAL : EG_ENOENT,
                            "the file has no list 'runs'");
    EG_TRY(eg_alloc(runs->n, sizeof *f->runs, &f->runs));
    for (const eg_yaml_node *run = runs->child; run; run = run->next) {
        EG_TRY(file_check_run(f, run));
        f->runs[f->n_runs++] = run;
        const eg_yaml_node *published = eg_yaml_get(run, "published");
        if (published)
            EG_TRY(file_figures_read(&f->figures, f->y, published, file_label(run)));
    }
    return EG_OK;
}

/* Takes the document over, even when it fails. */
static eg_status file_new(eg_yaml *y, eg_experiment_file **out)
{
    eg_experiment_file *f = calloc(1, sizeof *f);
    if (!f) {
        eg_yaml_free(y);
        return eg_fail(EG_ENOMEM, "no memory for an experiment file");
    }
    f->y = y;
    eg_status s = file_read_runs(f);
    if (s == EG_OK)
        s = eg_says_read(y, &f->says);
    if (s == EG_OK)
        *out = f;
    else
        eg_experiment_file_free(f);
    return s;
}

/* The folder of a file, absolute; "" if its name is too long. */
static void file_note_folder(const char *path, char out[EG_FOLDER_SIZE])
{
    char here[EG_FOLDER_SIZE];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) : 0, n;
    if (*path == '/')
        n = snprintf(out, EG_FOLDER_SIZE, "%.*s", length ? length : 1, path);
    else if (getcwd(here, sizeof here))
        n = snprintf(out, EG_FOLDER_SIZE, "%s%s%.*s", here, slash ? "/" : "", length, path);
    else
        n = EG_FOLDER_SIZE;
    if (n >= EG_FOLDER_SIZE)
        out[0] = 0;
}

eg_status eg_experiment_file_open(const char *path, eg_experiment_file **out)
{
    eg_yaml *y;
    *out = NULL;
    EG_TRY(eg_yaml_load(path, &y));
    EG_TRY(file_new(y, out));
    file_note_folder(path, (*out)->folder);
    eg_status s = eg_says_plugins(y, (*out)->folder, (*out)->plugins);
    if (s != EG_OK) {
        eg_experiment_file_free(*out);
        *out = NULL;
    }
    return s;
}

eg_status eg_experiment_parse(const char *name, const char *text, eg_experiment_file **out)
{
    eg_yaml *y;
    *out = NULL;
    EG_TRY(eg_yaml_parse(name, text, strlen(text), &y));
    return file_new(y, out);
}

void eg_experiment_file_free(eg_experiment_file *f)
{
    if (!f)
        return;
    free(f->runs);
    free(f->figures.list);
    eg_yaml_free(f->y);
    free(f);
}

const char *eg_experiment_file_name(const eg_experiment_file *f)
{
    return eg_yaml_name(f->y);
}

const char *eg_experiment_file_label(const eg_experiment_file *f, size_t i)
{
    return i < f->n_runs ? file_label(f->runs[i]) : NULL;
}

const eg_published *eg_experiment_file_published(const eg_experiment_file *f, size_t *n)
{
    *n = f->figures.n;
    return f->figures.list;
}

const eg_file_says *eg_experiment_file_says(const eg_experiment_file *f)
{
    return &f->says;
}

static bool file_knows(const char *key)
{
    for (size_t i = 0; i < sizeof file_keys / sizeof *file_keys; i++)
        if (strcmp(file_keys[i], key) == 0)
            return true;
    return eg_method_find(key) != NULL;
}

static eg_status file_unknown_key(const eg_yaml *y, const eg_yaml_node *node)
{
    eg_suggestion near = eg_suggest(node->key);
    const char *meant = eg_setting_meant(node->key);
    if (meant)
        return eg_yaml_fail(y, node, EG_EINVAL, "there is no key '%s' (here it is '%s')",
                            node->key, meant);
    for (size_t i = 0; i < sizeof file_keys / sizeof *file_keys; i++)
        eg_suggest_offer(&near, file_keys[i]);
    eg_family_offer(&eg_method_family, &near);
    return eg_yaml_fail(y, node, EG_EINVAL, "there is no key '%s'%s", node->key,
                        eg_suggest_words(&near));
}

/* The settings that all runs share; the parts are known by now. */
static eg_status file_apply_base(eg_experiment *e, const eg_yaml *y)
{
    for (const eg_yaml_node *c = eg_yaml_root(y)->child; c; c = c->next) {
        if (!file_knows(c->key))
            return file_unknown_key(y, c);
        if (strcmp(c->key, "runs") != 0 && strcmp(c->key, "sweep") != 0 &&
            !eg_says_knows(c->key))
            EG_TRY(eg_apply_section(e, y, c));
    }
    return EG_OK;
}

static eg_status file_apply_run(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *run)
{
    const eg_yaml_node *overrides = eg_yaml_get(run, "overrides");
    for (const eg_yaml_node *c = overrides ? overrides->child : NULL; c; c = c->next)
        EG_TRY(eg_apply_section(e, y, c));
    return EG_OK;
}

static eg_status file_no_run(const eg_experiment_file *f, const char *label)
{
    char labels[600] = "";
    eg_suggestion near = eg_suggest(label);
    for (size_t i = 0, n = 0; i < f->n_runs && n < sizeof labels; i++) {
        eg_suggest_offer(&near, file_label(f->runs[i]));
        n += (size_t)snprintf(labels + n, sizeof labels - n, "%s%s", i ? ", " : "",
                              file_label(f->runs[i]));
    }
    return eg_fail(EG_ENOENT, "%s: there is no run '%s'%s; there are %s", eg_yaml_name(f->y),
                   label, eg_suggest_words(&near), labels);
}

/* The run a label belongs to, with its sweep or one of its runs; label NULL: the first. */
static eg_status file_find_run(const eg_experiment_file *f, const char *label,
                               const eg_yaml_node **out)
{
    size_t best = 0; /* "a b x=1" is of the run "a b", if there is one, and not of "a" */
    EG_ASSERT(f->runs != NULL); /* a file without runs is not opened */
    *out = label ? NULL : f->runs[0];
    for (size_t i = 0; label && i < f->n_runs; i++) {
        size_t n = strlen(file_label(f->runs[i]));
        bool same = strncmp(file_label(f->runs[i]), label, n) == 0;
        if (same && n > best && (!label[n] || label[n] == ' ')) {
            best = n;
            *out = f->runs[i];
        }
    }
    return *out ? EG_OK : file_no_run(f, label);
}

/* What is set beyond the run's own settings. */
static eg_status file_read_sweep(const eg_experiment_file *f, const eg_yaml_node *run, size_t n,
                                 const char *const *overrides, eg_sweep *out)
{
    const eg_yaml_node *const from[] = {eg_yaml_get(eg_yaml_root(f->y), "sweep"),
                                        eg_yaml_get(run, "sweep")};
    for (int i = 0; i < 2; i++)
        if (from[i])
            EG_TRY(eg_sweep_read(out, f->y, from[i]));
    for (size_t i = 0; i < n; i++)
        EG_TRY(eg_sweep_override(out, overrides[i]));
    return EG_OK;
}

static eg_status file_fill(eg_experiment *e, const eg_experiment_file *f,
                           const eg_yaml_node *run, const eg_sweep *sweep, size_t i)
{
    memcpy(e->folder, f->folder, sizeof e->folder);
    memcpy(e->plugins, f->plugins, sizeof e->plugins);
    EG_TRY(eg_apply_method(e, f->y, eg_yaml_get(run, "method")));
    EG_TRY(file_apply_base(e, f->y));
    EG_TRY(file_apply_run(e, f->y, run));
    EG_TRY(eg_sweep_label(sweep, i, file_label(run), e->label));
    EG_TRY(eg_sweep_apply(sweep, i, f->y, e));
    const char *missing = !e->name[0]         ? "name"
                          : e->n_sources == 0 ? "data"
                          : !e->spec->kind    ? "scenario.kind"
                                              : NULL;
    if (missing)
        return eg_fail(EG_EINVAL, "%s: the key '%s' is missing", eg_yaml_name(f->y), missing);
    EG_TRY(eg_yaml_blame(f->y, run, eg_experiment_check(e)));
    return eg_experiment_resolve(e);
}

/* Combination i of a run's sweep. */
static eg_status file_resolve(const eg_experiment_file *f, const eg_yaml_node *run,
                              const eg_sweep *sweep, size_t i, eg_experiment **out)
{
    eg_experiment *e;
    *out = NULL;
    eg_status s = eg_experiment_new(&e);
    if (s == EG_OK)
        s = file_fill(e, f, run, sweep, i);
    if (s == EG_OK)
        *out = e;
    else
        eg_experiment_free(e);
    return s;
}

/* All combinations, or the one whose label was given in full. */
static eg_status file_resolve_all(const eg_experiment_file *f, const char *label,
                                  const eg_yaml_node *run, const eg_sweep *sweep,
                                  eg_experiments *out)
{
    size_t n;
    EG_TRY(eg_sweep_count(sweep, &n));
    EG_TRY(eg_alloc(n, sizeof(eg_experiment *), &out->list));
    bool all = !label || strcmp(label, file_label(run)) == 0;
    for (size_t i = 0; i < n; i++) {
        char full[EG_LABEL_SIZE];
        EG_TRY(eg_sweep_label(sweep, i, file_label(run), full));
        if (!all && strcmp(label, full) != 0)
            continue;
        EG_TRY(file_resolve(f, run, sweep, i, &out->list[out->n]));
        out->n++;
    }
    return out->n ? EG_OK : file_no_run(f, label);
}

eg_status eg_experiment_file_sweep(const eg_experiment_file *f, const char *label, size_t n,
                                   const char *const *overrides, eg_experiments *out)
{
    const eg_yaml_node *run = NULL;
    eg_sweep sweep = {0};
    *out = (eg_experiments){0};
    EG_TRY(file_find_run(f, label, &run));
    eg_status s = file_read_sweep(f, run, n, overrides, &sweep);
    if (s == EG_OK)
        s = file_resolve_all(f, label, run, &sweep, out);
    eg_sweep_fini(&sweep);
    if (s != EG_OK)
        eg_experiments_free(out);
    return s;
}

void eg_experiments_free(eg_experiments *e)
{
    for (size_t i = 0; i < e->n; i++)
        eg_experiment_free(e->list[i]);
    free(e->list);
    *e = (eg_experiments){0};
}

eg_status eg_experiment_file_resolve(const eg_experiment_file *f, const char *label, size_t n,
                                     const char *const *overrides, eg_experiment **out)
{
    eg_experiments all;
    *out = NULL;
    EG_TRY(eg_experiment_file_sweep(f, label, n, overrides, &all));
    eg_status s = EG_OK;
    if (label && all.n > 1)
        s = eg_fail(EG_EINVAL, "%s: '%s' stands for %zu runs; one of them is '%s'",
                    eg_yaml_name(f->y), label, all.n, all.list[0]->label);
    if (s == EG_OK) {
        *out = all.list[0];
        all.list[0] = NULL;
    }
    eg_experiments_free(&all);
    return s;
}

eg_status eg_experiment_load(const char *path, const char *label, size_t n,
                             const char *const *overrides, eg_experiment **out)
{
    eg_experiment_file *f;
    *out = NULL;
    EG_TRY(eg_experiment_file_open(path, &f));
    eg_status s = eg_experiment_file_resolve(f, label, n, overrides, out);
    eg_experiment_file_free(f);
    return s;
}

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

static eg_status folder_check(const char *folder, char config[EG_RUN_PATH])
{
    struct stat about;
    EG_TRY(eg_run_file(folder, EG_RUN_CONFIG, config));
    if (stat(folder, &about) != 0)
        return eg_fail(EG_ENOENT, "%s: there is no such run", folder);
    if (stat(config, &about) != 0)
        return eg_fail(EG_ENOENT, "%s: is no run's folder, it has no %s", folder,
                       EG_RUN_CONFIG);
    return EG_OK;
}

eg_status eg_experiment_of_folder(const char *folder, eg_experiment **out, uint64_t *seed)
{
    *out = NULL;
    if (eg_run_is_finished(folder))
        return eg_fail(EG_EINVAL, "%s: the run is finished, there is nothing to resume",
                       folder);
    return eg_experiment_of_run(folder, out, seed);
}

eg_status eg_experiment_of_run(const char *folder, eg_experiment **out, uint64_t *seed)
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
