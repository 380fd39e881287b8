/* hint.c - walks the names there are, to find the one that was probably meant.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "experiment/hint.h"

#include "experiment/sections.h"

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
    static const char *const names[] = {"name", "data", "model", "scenario.kind"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        eg_suggest_offer(s, names[i]);
    hint_rows(s, "", eg_settings_of_all);
    for (size_t i = 0; eg_sections[i].name; i++)
        hint_rows(s, eg_sections[i].name, eg_sections[i].opts);
    eg_spec_each(e->spec, hint_scenario_row, s);
    hint_rows(s, "data", eg_settings_of_data);
    for (size_t i = 0; i < e->n_sources; i++)
        hint_rows(s, "data", e->sets[i]->opts);
    hint_rows(s, "model", e->model->opts);
    for (const eg_method *const *m = eg_methods; *m; m++)
        hint_rows(s, (*m)->name, (*m)->opts);
}

void eg_hint_methods(eg_suggestion *s)
{
    for (const eg_method *const *m = eg_methods; *m; m++)
        eg_suggest_offer(s, (*m)->name);
}

/* The members of the family whose name a key holds; false: it holds none. */
static bool hint_members(eg_suggestion *s, const char *key)
{
    eg_member member;
    if (strcmp(key, "model") == 0 || strcmp(key, "model.name") == 0)
        for (const eg_model *const *m = eg_models; *m; m++)
            eg_suggest_offer(s, (*m)->name);
    else if (strcmp(key, "data") == 0 || strcmp(key, "data.name") == 0)
        for (const eg_dataset *const *d = eg_datasets; *d; d++)
            eg_suggest_offer(s, (*d)->name);
    else if (strcmp(key, "scenario.kind") == 0)
        for (size_t i = 0; eg_scenario_kind(i, &member); i++)
            eg_suggest_offer(s, member.name);
    else if (strcmp(key, "scenario.partition") == 0 ||
             strcmp(key, "scenario.partition.kind") == 0)
        for (size_t i = 0; eg_scenario_partition(i, &member); i++)
            eg_suggest_offer(s, member.name);
    else
        return false;
    return true;
}

eg_status eg_hint_setting(eg_status s, const eg_experiment *e, const char *key,
                          const char *value)
{
    if (s != EG_ENOENT)
        return s;
    eg_suggestion near = eg_suggest(value);
    if (!hint_members(&near, key)) {
        near = eg_suggest(key);
        hint_settings(&near, e);
    }
    return eg_fail(s, "%s%s", eg_error(), eg_suggest_words(&near));
}
