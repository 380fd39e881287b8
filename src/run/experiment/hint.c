/* hint.c - walks the names there are, to find the one that was probably meant.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/hint.h"

#include "run/experiment/sections.h"
#include "run/experiment/settings.h"

#include <stdio.h>
#include <string.h>

/* "prefix.name" for every option. */
static void hint_rows(eg_suggestion *s, const char *prefix, const eg_opt *opts)
{
    for (const eg_opt *o = opts; o && o->name; o++) {
        char key[EG_OPT_TEXT_SIZE];
        snprintf(key, sizeof key, "%s%s%s", prefix, *prefix ? "." : "", o->name);
        eg_suggest_offer(s, key);
    }
}

static void hint_scenario_row(void *context, const char *name, const char *value)
{
    char key[EG_OPT_TEXT_SIZE];
    (void)value;
    snprintf(key, sizeof key, "scenario.%s", name);
    eg_suggest_offer(context, key);
}

/* Every setting that can be set as things are. */
static void hint_settings(eg_suggestion *s, const eg_experiment *e)
{
    static const char *const names[] = {"name", "data", "model", "optimizer", "scenario.kind"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        eg_suggest_offer(s, names[i]);
    hint_rows(s, "", eg_settings_of_all);
    hint_rows(s, "optimizer", e->optimizer.kind->component.opts);
    for (const eg_section *const *x = eg_sections; *x; x++)
        hint_rows(s, (*x)->component.name, (*x)->component.opts);
    eg_spec_each(e->spec, hint_scenario_row, s);
    hint_rows(s, "data", eg_settings_of_data);
    for (size_t i = 0; i < e->n_sources; i++)
        hint_rows(s, "data", e->sets[i]->component.opts);
    hint_rows(s, "model", eg_settings_of_model);
    hint_rows(s, "model", e->model->component.opts);
    const eg_component *m;
    for (size_t i = 0; (m = eg_family_at(&eg_method_family, i)); i++)
        hint_rows(s, m->name, m->opts);
}

/* True for a key that holds the name of a family's member: that it is not there was said with
 * the nearest one. */
static bool hint_is_name(const char *key)
{
    static const char *const names[] = {
        "model",     "model.name",    "optimizer",          "optimizer.name",         "data",
        "data.name", "scenario.kind", "scenario.partition", "scenario.partition.kind"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], key) == 0)
            return true;
    return false;
}

eg_status eg_hint_setting(eg_status s, const eg_experiment *e, const char *key)
{
    if (s != EG_ENOENT || hint_is_name(key))
        return s;
    eg_suggestion near = eg_suggest(key);
    hint_settings(&near, e);
    return eg_fail(s, "%s%s", eg_error(), eg_suggest_words(&near));
}
