/* resolve.c - an experiment as a text in which every setting stands, and the hash of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "experiment/settings.h"

#include "base/sha256.h"
#include "experiment/sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that grows. */
typedef struct resolve_text {
    char *text;
    size_t n, cap;
    bool failed;
} resolve_text;

static void resolve_write(resolve_text *t, const char *format, const char *a, const char *b)
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
static void resolve_write_quoted(resolve_text *t, const char *key, const char *value)
{
    char quoted[2 * EG_OPT_TEXT_SIZE];
    size_t n = 0;
    for (; *value && n + 2 < sizeof quoted; value++) {
        if (*value == '\'')
            quoted[n++] = '\'';
        quoted[n++] = *value;
    }
    quoted[n] = 0;
    resolve_write(t, "%s: '%s'\n", key, quoted);
}

static void resolve_write_row(void *to, const char *name, const char *value)
{
    char key[EG_OPT_TEXT_SIZE];
    snprintf(key, sizeof key, "  %s", name);
    resolve_write_quoted(to, key, value);
}

static void resolve_write_rows(resolve_text *t, const eg_opt *opts, const void *self)
{
    for (const eg_opt *o = opts; o && o->name; o++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, self, value);
        resolve_write_row(t, o->name, value);
    }
}

static void resolve_write_opts(resolve_text *t, const char *section, const eg_opt *opts,
                               const void *self)
{
    resolve_write(t, opts && opts->name ? "%s:\n" : "", section, "");
    resolve_write_rows(t, opts, self);
}

/* The sources; how images are prepared stands with the first. */
static void resolve_write_data(resolve_text *t, const eg_experiment *e)
{
    resolve_write(t, "data:%s%s\n", "", "");
    for (size_t i = 0; i < e->n_sources; i++) {
        resolve_write(t, "- name: %s%s\n", e->sets[i]->name, "");
        resolve_write_rows(t, e->sets[i]->opts, e->set_options[i]);
        if (i == 0)
            resolve_write_rows(t, eg_settings_of_data, &e->data);
    }
}

static void resolve_write_model(resolve_text *t, const eg_experiment *e)
{
    resolve_write(t, "model:\n  name: %s%s\n", e->model->name, "");
    resolve_write_rows(t, e->model->opts, e->model_options);
}

static void resolve_write_run(resolve_text *t, const eg_experiment *e)
{
    resolve_write(t, "runs:%s%s\n", "", "");
    resolve_write_quoted(t, "- label", e->label);
    resolve_write(t, "  method:%s%s\n", "", "");
    for (size_t i = 0; i < e->n_parts; i++)
        resolve_write(t, "  - %s%s\n", e->parts[i].method->name, "");
}

/* The model's options as a net takes them. */
static eg_status resolve_net(eg_experiment *e)
{
    size_t used = 0;
    e->net_options[0] = 0;
    for (const eg_opt *o = e->model->opts; o && o->name; o++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, e->model_options, value);
        size_t room = sizeof e->net_options - used;
        int n =
            snprintf(e->net_options + used, room, "%s%s=%s", used ? " " : "", o->name, value);
        if (n < 0 || (size_t)n >= room)
            return eg_fail(EG_EINVAL, "the model '%s' has too many options", e->model->name);
        used += (size_t)n;
    }
    return EG_OK;
}

/* An experiment file again, with one run and every setting, which resolves to itself. */
eg_status eg_experiment_resolve(eg_experiment *e)
{
    resolve_text t = {0};
    EG_TRY(resolve_net(e));
    resolve_write_quoted(&t, "name", e->name);
    char scale[EG_OPT_TEXT_SIZE];
    eg_opt_print(eg_settings_of_all, e, scale);
    resolve_write_quoted(&t, "scale", scale);
    resolve_write_data(&t, e);
    resolve_write_model(&t, e);
    resolve_write(&t, "scenario:%s%s\n", "", "");
    eg_spec_each(e->spec, resolve_write_row, &t);
    for (size_t i = 0; eg_sections[i].name; i++)
        resolve_write_opts(&t, eg_sections[i].name, eg_sections[i].opts,
                           (const char *)e + eg_sections[i].offset);
    for (size_t i = 0; i < e->n_parts; i++)
        resolve_write_opts(&t, e->parts[i].method->name, e->parts[i].method->opts,
                           e->parts[i].options);
    resolve_write_run(&t, e);
    if (t.failed) {
        free(t.text);
        return eg_fail(EG_ENOMEM, "no memory for the resolved experiment");
    }
    uint8_t digest[32];
    e->resolved = t.text;
    eg_sha256_of(t.text, t.n, digest);
    eg_sha256_text(digest, e->sha256);
    return EG_OK;
}
