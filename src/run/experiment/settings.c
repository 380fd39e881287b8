/* settings.c - one setter for all settings of an experiment.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/settings.h"

#include "run/experiment/hint.h"
#include "run/experiment/sections.h"
#include "run/experiment/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_experiment_norm(const eg_data_opts *o, eg_transform *how)
{
    how->n_norm = o->mean.n > o->std.n ? o->mean.n : o->std.n;
    if ((o->mean.n > 1 && o->mean.n < how->n_norm) || (o->std.n > 1 && o->std.n < how->n_norm))
        return eg_fail(EG_EINVAL, "data.mean has %lld numbers and data.std %lld",
                       (long long)o->mean.n, (long long)o->std.n);
    for (int64_t k = 0; k < how->n_norm; k++) {
        how->mean[k] = o->mean.value[o->mean.n > 1 ? k : 0];
        how->std[k] = o->std.value[o->std.n > 1 ? k : 0];
    }
    return EG_OK;
}

/* An option of the data: of how images are prepared, or of the newest source. */
static eg_status settings_set_data(eg_experiment *e, const char *name, const char *value)
{
    if (eg_opts_find(eg_settings_of_data, name))
        return eg_opts_set(eg_settings_of_data, &e->data, name, value);
    if (e->n_sources == 0)
        return eg_fail(EG_EINVAL, "the data set's name must come before its options");
    size_t i = e->n_sources - 1;
    return eg_opts_set(e->sets[i]->component.opts, e->set_options[i], name, value);
}

/* A data set in place of those there were; how images are prepared stays. */
static eg_status settings_set_source(eg_experiment *e, const char *word)
{
    if (!eg_dataset_find(word))
        return EG_ENOENT;
    eg_experiment_drop_sources(e);
    return eg_experiment_add_source(e, word);
}

/* Another network, with its own options as they are; or an option of the one there is. */
static eg_status settings_set_model(eg_experiment *e, const char *name, const char *value)
{
    if (strcmp(name, "name") == 0)
        return eg_experiment_set_model(e, value);
    if (strcmp(name, "weights") == 0)
        return eg_start_set_weights(&e->start, value);
    if (eg_opts_find(eg_settings_of_model, name))
        return eg_opts_set(eg_settings_of_model, &e->start, name, value);
    if (!eg_opts_find(e->model->component.opts, name))
        return eg_fail(EG_ENOENT, "the model '%s' has no option '%s'", e->model->component.name,
                       name);
    e->layers.n = 0; /* where they stood; whoever read them from a file tells it anew */
    EG_TRY(eg_opts_set(e->model->component.opts, e->model_options, name, value));
    return e->model->settle ? e->model->settle(e->model_options) : EG_OK;
}

/* An option of a part. One that this run does not use is checked all the same. */
static eg_status settings_set_part(eg_experiment *e, const char *part, const char *name,
                                   const char *value)
{
    if (eg_parts_has(&e->parts, part))
        return eg_parts_set(&e->parts, part, name, value);
    const eg_method *m = eg_method_find(part);
    if (!m)
        return eg_fail(EG_ENOENT, "there is no setting or method '%s'", part);
    void *scratch;
    EG_TRY(eg_component_new(&m->component, &scratch));
    eg_status s = eg_opts_set(m->component.opts, scratch, name, value);
    free(scratch);
    return s;
}

/* The length of the character at the start of a text, 0 if it is none of UTF-8 or one that ends
 * a line or steers a terminal. */
static size_t settings_character(const unsigned char *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
    uint32_t code = n == 1 ? *at : *at & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        code = code << 6 | (at[i] & 0x3fU);
    }
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool strange = code == 0x2028 || code == 0x2029 || code == 0xfeff || code == 0xfffe ||
                   code == 0xffff || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
    return n == 0 || code < least[n] || control || strange ? 0 : n;
}

eg_status eg_setting_check_text(const char *name, const char *text, size_t room)
{
    if (strlen(text) >= room)
        return eg_fail(EG_EINVAL, "%s: more than %zu characters", name, room - 1);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t n = settings_character(at);
        if (n == 0)
            return eg_fail(EG_EINVAL,
                           "%s: a control character, a line end or what is not UTF-8, after "
                           "'%.*s'",
                           name, (int)(at - (const unsigned char *)text), text);
        at += n;
    }
    return EG_OK;
}

static eg_status settings_set(eg_experiment *e, const char *key, const char *value)
{
    char head[EG_OPT_TEXT_SIZE];
    size_t n = strcspn(key, ".");
    snprintf(head, sizeof head, "%.*s", (int)n, key);
    const char *name = key[n] ? key + n + 1 : "name";
    EG_TRY(eg_setting_check_text(key, value,
                                 strcmp(key, "name") == 0 ? EG_LABEL_SIZE : EG_OPT_TEXT_SIZE));
    if (strcmp(key, "name") == 0) {
        snprintf(e->name, sizeof e->name, "%s", value);
        return EG_OK;
    }
    if (eg_opts_find(eg_settings_of_all, key))
        return eg_opts_set(eg_settings_of_all, e, key, value);
    if (strcmp(head, "data") == 0)
        return strcmp(name, "name") == 0 ? settings_set_source(e, value)
                                         : settings_set_data(e, name, value);
    if (strcmp(head, "model") == 0)
        return settings_set_model(e, name, value);
    if (strcmp(head, "scenario") == 0)
        return eg_spec_set(e->spec, strcmp(name, "partition.kind") == 0 ? "partition" : name,
                           value);
    if (strcmp(head, "optimizer") == 0)
        return eg_experiment_set_optimizer(e, name, value);
    for (const eg_section *const *s = eg_sections; *s; s++)
        if (strcmp((*s)->component.name, head) == 0)
            return eg_opts_set((*s)->component.opts, (char *)e + (*s)->offset, name, value);
    return settings_set_part(e, head, name, value);
}

eg_status eg_experiment_set(eg_experiment *e, const char *key, const char *value)
{
    return eg_hint_setting(settings_set(e, key, value), e, key);
}

/* A text may hold commas, a list does. */
static bool settings_is_text(const eg_opt *opts, const char *name)
{
    const eg_opt *o = eg_opts_find(opts, name);
    return o && (o->type == EG_OPT_IS_TEXT || o->type == EG_OPT_IS_LIST);
}

/* Whether any member of a family has a text of this name. */
static bool settings_has_text(const eg_family *f, const char *name)
{
    const eg_component *c;
    for (size_t i = 0; (c = eg_family_at(f, i)); i++)
        if (settings_is_text(c->opts, name))
            return true;
    return false;
}

bool eg_setting_is_text(const char *key)
{
    static const char inner[] = "partition.";
    char head[EG_OPT_TEXT_SIZE];
    size_t n = strcspn(key, ".");
    if (!key[n])
        return strcmp(key, "name") == 0;
    snprintf(head, sizeof head, "%.*s", (int)n, key);
    const char *name = key + n + 1;
    if (strcmp(head, "model") == 0)
        return settings_is_text(eg_settings_of_model, name) ||
               settings_has_text(&eg_model_family, name);
    if (strcmp(head, "data") == 0)
        return settings_is_text(eg_settings_of_data, name) ||
               settings_has_text(&eg_dataset_family, name);
    if (strcmp(head, "optimizer") == 0)
        return settings_has_text(&eg_optim_family, name);
    if (strcmp(head, "scenario") == 0)
        return strncmp(name, inner, sizeof inner - 1) == 0
                   ? settings_has_text(&eg_partition_family, name + sizeof inner - 1)
                   : settings_has_text(&eg_kind_family, name);
    for (const eg_section *const *s = eg_sections; *s; s++)
        if (strcmp(head, (*s)->component.name) == 0)
            return settings_is_text((*s)->component.opts, name);
    const eg_method *m = eg_method_find(head);
    return m && settings_is_text(m->component.opts, name);
}
