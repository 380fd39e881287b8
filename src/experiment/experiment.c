/* experiment.c - one setter for all settings of an experiment, and its resolved text.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "experiment/settings.h"

#include "base/sha256.h"
#include "experiment/numbers.h"
#include "experiment/sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_experiment_new(eg_experiment **out)
{
    eg_experiment *e = calloc(1, sizeof *e);
    *out = e;
    if (!e)
        return eg_fail(EG_ENOMEM, "no memory for an experiment");
    for (size_t i = 0; eg_sections[i].name; i++)
        eg_opts_init(eg_sections[i].opts, (char *)e + eg_sections[i].offset);
    eg_opts_init(eg_settings_of_data, &e->data);
    eg_opts_init(eg_settings_of_all, e);
    snprintf(e->model, sizeof e->model, "cnn-small");
    return eg_spec_new(&e->spec);
}

void eg_experiment_free(eg_experiment *e)
{
    if (!e)
        return;
    eg_spec_free(e->spec);
    eg_experiment_drop_sources(e);
    for (size_t i = 0; i < e->n_parts; i++)
        free(e->parts[i].options);
    free(e->resolved);
    free(e);
}

eg_status eg_experiment_add_part(eg_experiment *e, const char *word)
{
    const eg_method *m = eg_method_find(word);
    if (!m)
        return eg_fail(EG_ENOENT, "there is no method '%s'; see 'engram list methods'", word);
    if (e->n_parts == EG_MAX_PARTS)
        return eg_fail(EG_EINVAL, "a method has at most %d parts", EG_MAX_PARTS);
    for (size_t i = 0; i < e->n_parts; i++)
        if (e->parts[i].method == m)
            return eg_fail(EG_EINVAL, "the part '%s' is there twice", m->name);
    eg_part *p = &e->parts[e->n_parts];
    EG_TRY(eg_alloc(1, m->size ? m->size : 1, &p->options));
    p->method = m;
    eg_opts_init(m->opts, p->options);
    e->n_parts++;
    return EG_OK;
}

eg_status eg_experiment_add_source(eg_experiment *e, const char *word)
{
    const eg_dataset *d = eg_dataset_find(word);
    if (!d)
        return EG_ENOENT;
    if (e->n_sources == EG_MAX_SOURCES)
        return eg_fail(EG_EINVAL, "there are at most %d data sources", EG_MAX_SOURCES);
    EG_TRY(eg_alloc(1, d->size ? d->size : 1, &e->set_options[e->n_sources]));
    eg_opts_init(d->opts, e->set_options[e->n_sources]);
    e->sets[e->n_sources++] = d;
    return EG_OK;
}

void eg_experiment_drop_sources(eg_experiment *e)
{
    while (e->n_sources > 0)
        free(e->set_options[--e->n_sources]);
}

static const eg_numbers experiment_mean = {"mean", -1e3, 1e3, EG_MAX_NORM};
static const eg_numbers experiment_std = {"std", 1e-6, 1e3, EG_MAX_NORM};

eg_status eg_experiment_norm(const eg_data_opts *o, eg_transform *how)
{
    int64_t n_mean, n_std;
    EG_TRY(eg_numbers_read(&experiment_mean, o->mean, how->mean, &n_mean));
    EG_TRY(eg_numbers_read(&experiment_std, o->std, how->std, &n_std));
    how->n_norm = n_mean > n_std ? n_mean : n_std;
    if ((n_mean > 1 && n_mean < how->n_norm) || (n_std > 1 && n_std < how->n_norm))
        return eg_fail(EG_EINVAL, "data.mean has %lld numbers and data.std %lld",
                       (long long)n_mean, (long long)n_std);
    for (int64_t k = 1; k < how->n_norm; k++) {
        how->mean[k] = how->mean[n_mean > 1 ? k : 0];
        how->std[k] = how->std[n_std > 1 ? k : 0];
    }
    return EG_OK;
}

/* An option of the data: of how images are prepared, or of the newest source. */
static eg_status experiment_set_data(eg_experiment *e, const char *name, const char *value)
{
    if (strcmp(name, "mean") == 0)
        return eg_numbers_tidy(&experiment_mean, value, e->data.mean);
    if (strcmp(name, "std") == 0)
        return eg_numbers_tidy(&experiment_std, value, e->data.std);
    if (eg_opts_find(eg_settings_of_data, name))
        return eg_opts_set(eg_settings_of_data, &e->data, name, value);
    if (e->n_sources == 0)
        return eg_fail(EG_EINVAL, "the data set's name must come before its options");
    size_t i = e->n_sources - 1;
    return eg_opts_set(e->sets[i]->opts, e->set_options[i], name, value);
}

/* The model's options with all that was set; free() *out. */
static eg_status experiment_model(const eg_experiment *e, const eg_model *m, void **out)
{
    char text[sizeof e->model_options], *rest = NULL;
    memcpy(text, e->model_options, sizeof text);
    EG_TRY(eg_alloc(1, m->size ? m->size : 1, out));
    eg_opts_init(m->opts, *out);
    eg_status s = EG_OK;
    for (char *word = strtok_r(text, " ", &rest); word && s == EG_OK;
         word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        s = value ? eg_opts_set(m->opts, *out, word, value)
                  : eg_fail(EG_EINVAL, "'%s' stands apart: no value has a space", word);
    }
    if (s != EG_OK) {
        free(*out);
        *out = NULL;
    }
    return s;
}

/* Model options are kept as "name=value ...", as a net takes them. */
static eg_status experiment_set_model(eg_experiment *e, const char *name, const char *value)
{
    if (strcmp(name, "name") == 0) {
        if (!eg_model_find(value))
            return eg_fail(EG_ENOENT, "there is no model '%s'", value);
        snprintf(e->model, sizeof e->model, "%s", value);
        return EG_OK;
    }
    const eg_model *m = eg_model_find(e->model);
    if (!m || !eg_opts_find(m->opts, name))
        return eg_fail(EG_ENOENT, "the model '%s' has no option '%s'", e->model, name);
    size_t used = strlen(e->model_options);
    int n = snprintf(e->model_options + used, sizeof e->model_options - used, "%s%s=%s",
                     used ? " " : "", name, value);
    if (n < 0 || used + (size_t)n >= sizeof e->model_options)
        return eg_fail(EG_EINVAL, "the model has too many options");
    void *scratch;
    EG_TRY(experiment_model(e, m, &scratch));
    free(scratch);
    return EG_OK;
}

/* An option of a part. One that this run does not use is checked all the same. */
static eg_status experiment_set_part(eg_experiment *e, const char *part, const char *name,
                                     const char *value)
{
    for (size_t i = 0; i < e->n_parts; i++)
        if (eg_name_equal(e->parts[i].method->name, part))
            return eg_opts_set(e->parts[i].method->opts, e->parts[i].options, name, value);
    const eg_method *m = eg_method_find(part);
    if (!m)
        return eg_fail(EG_ENOENT, "there is no setting or method '%s'", part);
    void *scratch;
    EG_TRY(eg_alloc(1, m->size ? m->size : 1, &scratch));
    eg_status s = eg_opts_set(m->opts, scratch, name, value);
    free(scratch);
    return s;
}

eg_status eg_experiment_set(eg_experiment *e, const char *key, const char *value)
{
    char head[EG_OPT_TEXT_SIZE];
    size_t n = strcspn(key, ".");
    snprintf(head, sizeof head, "%.*s", (int)n, key);
    const char *name = key[n] ? key + n + 1 : "name";
    if (strcmp(key, "name") == 0) {
        snprintf(e->name, sizeof e->name, "%s", value);
        return EG_OK;
    }
    if (eg_opts_find(eg_settings_of_all, key))
        return eg_opts_set(eg_settings_of_all, e, key, value);
    if (strcmp(head, "data") == 0)
        return strcmp(name, "name") == 0 ? eg_experiment_add_source(e, value)
                                         : experiment_set_data(e, name, value);
    if (strcmp(head, "model") == 0)
        return experiment_set_model(e, name, value);
    if (strcmp(head, "scenario") == 0)
        return eg_spec_set(e->spec, strcmp(name, "partition.kind") == 0 ? "partition" : name,
                           value);
    for (size_t i = 0; eg_sections[i].name; i++)
        if (strcmp(eg_sections[i].name, head) == 0)
            return eg_opts_set(eg_sections[i].opts, (char *)e + eg_sections[i].offset, name,
                               value);
    return experiment_set_part(e, head, name, value);
}

/* Two parts that claim one exclusive hook, or want what is not there. */
eg_status eg_experiment_check(const eg_experiment *e)
{
    const eg_method *trains = NULL, *collects = NULL, *sides = NULL, *outputs = NULL;
    if (e->n_parts == 0)
        return eg_fail(EG_EINVAL, "a run needs a method");
    for (size_t i = 0; i < e->n_parts; i++) {
        const eg_method *m = e->parts[i].method;
        if (m->train && trains)
            return eg_fail(EG_EINVAL, "'%s' and '%s' both claim the local training",
                           trains->name, m->name);
        if (m->aggregate && collects)
            return eg_fail(EG_EINVAL, "'%s' and '%s' both claim the aggregation",
                           collects->name, m->name);
        if (m->side && sides)
            return eg_fail(EG_EINVAL, "'%s' and '%s' both want a second head", sides->name,
                           m->name);
        if (m->outputs && outputs)
            return eg_fail(EG_EINVAL, "'%s' and '%s' both make the outputs", outputs->name,
                           m->name);
        if (m->needs_memory && e->memory.kind == 0)
            return eg_fail(EG_EINVAL, "%s needs a memory; set memory.kind", m->name);
        trains = m->train ? m : trains;
        collects = m->aggregate ? m : collects;
        sides = m->side ? m : sides;
        outputs = m->outputs ? m : outputs;
    }
    return EG_OK;
}

/* Text that grows. */
typedef struct experiment_text {
    char *text;
    size_t n, cap;
    bool failed;
} experiment_text;

static void experiment_write(experiment_text *t, const char *format, const char *a,
                             const char *b)
{
    char line[3 * EG_OPT_TEXT_SIZE];
    int n = snprintf(line, sizeof line, format, a, b);
    while (!t->failed && t->n + (size_t)n + 1 > t->cap)
        t->failed = eg_grow(&t->text, t->cap, &t->cap, 1) != EG_OK;
    if (t->failed)
        return;
    memcpy(t->text + t->n, line, (size_t)n + 1);
    t->n += (size_t)n;
}

/* A quote within quotes is written twice. */
static void experiment_write_quoted(experiment_text *t, const char *key, const char *value)
{
    char quoted[2 * EG_OPT_TEXT_SIZE];
    size_t n = 0;
    for (; *value && n + 2 < sizeof quoted; value++) {
        if (*value == '\'')
            quoted[n++] = '\'';
        quoted[n++] = *value;
    }
    quoted[n] = 0;
    experiment_write(t, "%s: '%s'\n", key, quoted);
}

static void experiment_write_row(void *to, const char *name, const char *value)
{
    char key[EG_OPT_TEXT_SIZE];
    snprintf(key, sizeof key, "  %s", name);
    experiment_write_quoted(to, key, value);
}

static void experiment_write_rows(experiment_text *t, const eg_opt *opts, const void *self)
{
    for (const eg_opt *o = opts; o && o->name; o++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, self, value);
        experiment_write_row(t, o->name, value);
    }
}

static void experiment_write_opts(experiment_text *t, const char *section, const eg_opt *opts,
                                  const void *self)
{
    experiment_write(t, opts && opts->name ? "%s:\n" : "", section, "");
    experiment_write_rows(t, opts, self);
}

/* The sources; how images are prepared stands with the first. */
static void experiment_write_data(experiment_text *t, const eg_experiment *e)
{
    experiment_write(t, "data:%s%s\n", "", "");
    for (size_t i = 0; i < e->n_sources; i++) {
        experiment_write(t, "- name: %s%s\n", e->sets[i]->name, "");
        experiment_write_rows(t, e->sets[i]->opts, e->set_options[i]);
        if (i == 0)
            experiment_write_rows(t, eg_settings_of_data, &e->data);
    }
}

static eg_status experiment_write_model(experiment_text *t, const eg_experiment *e)
{
    const eg_model *m = eg_model_find(e->model);
    void *options;
    EG_ASSERT(m != NULL);
    EG_TRY(experiment_model(e, m, &options));
    experiment_write(t, "model:\n  name: %s%s\n", m->name, "");
    experiment_write_rows(t, m->opts, options);
    free(options);
    return EG_OK;
}

static void experiment_write_run(experiment_text *t, const eg_experiment *e)
{
    experiment_write(t, "runs:%s%s\n", "", "");
    experiment_write_quoted(t, "- label", e->label);
    experiment_write(t, "  method:%s%s\n", "", "");
    for (size_t i = 0; i < e->n_parts; i++)
        experiment_write(t, "  - %s%s\n", e->parts[i].method->name, "");
}

/* An experiment file again, with one run and every setting, which resolves to itself. */
eg_status eg_experiment_resolve(eg_experiment *e)
{
    experiment_text t = {0};
    experiment_write_quoted(&t, "name", e->name);
    char scale[EG_OPT_TEXT_SIZE];
    eg_opt_print(eg_settings_of_all, e, scale);
    experiment_write_quoted(&t, "scale", scale);
    experiment_write_data(&t, e);
    eg_status s = experiment_write_model(&t, e);
    experiment_write(&t, "scenario:%s%s\n", "", "");
    eg_spec_each(e->spec, experiment_write_row, &t);
    for (size_t i = 0; eg_sections[i].name; i++)
        experiment_write_opts(&t, eg_sections[i].name, eg_sections[i].opts,
                              (const char *)e + eg_sections[i].offset);
    for (size_t i = 0; i < e->n_parts; i++)
        experiment_write_opts(&t, e->parts[i].method->name, e->parts[i].method->opts,
                              e->parts[i].options);
    experiment_write_run(&t, e);
    if (t.failed && s == EG_OK)
        s = eg_fail(EG_ENOMEM, "no memory for the resolved experiment");
    if (s != EG_OK) {
        free(t.text);
        return s;
    }
    uint8_t digest[32];
    e->resolved = t.text;
    eg_sha256_of(t.text, t.n, digest);
    eg_sha256_text(digest, e->sha256);
    return EG_OK;
}

const char *eg_experiment_name(const eg_experiment *e)
{
    return e->name;
}

const char *eg_experiment_label(const eg_experiment *e)
{
    return e->label;
}

const char *eg_experiment_text(const eg_experiment *e)
{
    return e->resolved;
}

const char *eg_experiment_sha256(const eg_experiment *e)
{
    return e->sha256;
}
