/* experiment_file.c - an experiment file: read once, asked for its runs as often as wanted.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "experiment/apply.h"
#include "experiment/hint.h"
#include "experiment/published.h"
#include "experiment/settings.h"

#include "io/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct eg_experiment_file {
    eg_yaml *y;
    size_t n_runs;
    const eg_yaml_node **runs; /* [n_runs], each checked */
    eg_figures figures;
};

/* The keys every file may have that are no method's name. */
static const char *const file_keys[] = {"name",   "scale", "data",   "model", "scenario",
                                        "memory", "train", "server", "eval",  "runs"};

static const char *file_label(const eg_yaml_node *run)
{
    return eg_yaml_get(run, "label")->text;
}

static eg_status file_check_label(const eg_experiment_file *f, const eg_yaml_node *run)
{
    const eg_yaml_node *label = eg_yaml_get(run, "label");
    if (!label || !label->text || !*label->text)
        return eg_yaml_fail(f->y, label ? label : run, EG_EINVAL, "a run needs a label");
    for (size_t i = 0; i < f->n_runs; i++)
        if (strcmp(file_label(f->runs[i]), label->text) == 0)
            return eg_yaml_fail(f->y, label, EG_EINVAL, "the label '%s' is there twice",
                                label->text);
    return EG_OK;
}

/* The form of a run: which keys there are, and of what type their values. */
static eg_status file_check_run(const eg_experiment_file *f, const eg_yaml_node *run)
{
    static const char *const keys[] = {"label", "method", "overrides", "published"};
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
    }
    if (!eg_yaml_get(run, "method"))
        return eg_yaml_fail(f->y, run, EG_EINVAL, "the run '%s' needs a method",
                            file_label(run));
    return EG_OK;
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
            EG_TRY(eg_figures_read(&f->figures, f->y, published, file_label(run)));
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
        *out = f;
    else
        eg_experiment_file_free(f);
    return s;
}

eg_status eg_experiment_file_open(const char *path, eg_experiment_file **out)
{
    eg_yaml *y;
    *out = NULL;
    EG_TRY(eg_yaml_load(path, &y));
    return file_new(y, out);
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
    for (size_t i = 0; i < sizeof file_keys / sizeof *file_keys; i++)
        eg_suggest_offer(&near, file_keys[i]);
    eg_hint_methods(&near);
    return eg_yaml_fail(y, node, EG_EINVAL, "there is no key '%s'%s", node->key,
                        eg_suggest_words(&near));
}

/* The settings that all runs share; the parts are known by now. */
static eg_status file_apply_base(eg_experiment *e, const eg_yaml *y)
{
    for (const eg_yaml_node *c = eg_yaml_root(y)->child; c; c = c->next) {
        if (!file_knows(c->key))
            return file_unknown_key(y, c);
        if (strcmp(c->key, "runs") != 0)
            EG_TRY(eg_apply_section(e, y, c));
    }
    return EG_OK;
}

static eg_status file_apply_run(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *run)
{
    const eg_yaml_node *overrides = eg_yaml_get(run, "overrides");
    snprintf(e->label, sizeof e->label, "%s", file_label(run));
    for (const eg_yaml_node *c = overrides ? overrides->child : NULL; c; c = c->next)
        EG_TRY(eg_apply_section(e, y, c));
    return EG_OK;
}

/* "key=value": the key's length, 0 if it is none. */
static size_t file_key_length(const char *pair)
{
    const char *equals = strchr(pair, '=');
    size_t n = equals ? (size_t)(equals - pair) : 0;
    return n < EG_OPT_TEXT_SIZE ? n : 0;
}

/* When a key's turn is: what a name replaces must be there before its options are set. */
static int file_turn(const char *pair)
{
    static const char *const names[] = {"data",
                                        "data.name",
                                        "model",
                                        "model.name",
                                        "scenario.kind",
                                        "scenario.partition",
                                        "scenario.partition.kind"};
    enum { N_NAMES = sizeof names / sizeof *names, N_FIRST = 5 };
    size_t n = file_key_length(pair);
    for (int i = 0; i < N_NAMES; i++)
        if (strlen(names[i]) == n && strncmp(names[i], pair, n) == 0)
            return i < N_FIRST ? 0 : 1;
    return 2;
}

static eg_status file_override(eg_experiment *e, const char *pair)
{
    char key[EG_OPT_TEXT_SIZE];
    size_t n = file_key_length(pair);
    if (n == 0)
        return eg_fail(EG_EINVAL, "--set: '%s' is not key=value", pair);
    snprintf(key, sizeof key, "%.*s", (int)n, pair);
    return eg_blame(eg_experiment_set(e, key, pair + n + 1), "--set %s", key);
}

static eg_status file_override_all(eg_experiment *e, size_t n, const char *const *overrides)
{
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < n; i++)
            if (file_turn(overrides[i]) == turn)
                EG_TRY(file_override(e, overrides[i]));
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

/* The run with this label; label NULL: the first. */
static eg_status file_find_run(const eg_experiment_file *f, const char *label,
                               const eg_yaml_node **out)
{
    for (size_t i = 0; i < f->n_runs; i++)
        if (!label || strcmp(file_label(f->runs[i]), label) == 0) {
            *out = f->runs[i];
            return EG_OK;
        }
    return file_no_run(f, label);
}

static eg_status file_resolve(eg_experiment *e, const eg_experiment_file *f,
                              const eg_yaml_node *run, size_t n, const char *const *overrides)
{
    EG_TRY(eg_apply_method(e, f->y, eg_yaml_get(run, "method")));
    EG_TRY(file_apply_base(e, f->y));
    EG_TRY(file_apply_run(e, f->y, run));
    EG_TRY(file_override_all(e, n, overrides));
    if (!e->name[0] || e->n_sources == 0)
        return eg_fail(EG_EINVAL, "%s: the key '%s' is missing", eg_yaml_name(f->y),
                       e->name[0] ? "data" : "name");
    EG_TRY(eg_yaml_blame(f->y, run, eg_experiment_check(e)));
    return eg_experiment_resolve(e);
}

eg_status eg_experiment_file_resolve(const eg_experiment_file *f, const char *label, size_t n,
                                     const char *const *overrides, eg_experiment **out)
{
    const eg_yaml_node *run = NULL;
    eg_experiment *e;
    *out = NULL;
    EG_TRY(file_find_run(f, label, &run));
    eg_status s = eg_experiment_new(&e);
    if (s == EG_OK)
        s = file_resolve(e, f, run, n, overrides);
    if (s == EG_OK)
        *out = e;
    else
        eg_experiment_free(e);
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
