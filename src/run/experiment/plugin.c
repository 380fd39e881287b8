/* plugin.c - parts of methods, data sets and networks that come from shared objects.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/plugin.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { PLUGIN_PATH = 1024 };

/* A part with all the hooks that it cannot be without. */
static eg_status plugin_add(const eg_family *family, const eg_component *c, bool whole)
{
    if (!whole)
        return eg_fail(EG_EINVAL, "its %s '%.40s' lacks a hook that every one has",
                       family->singular, c->name ? c->name : "");
    return eg_family_add(family, c);
}

static eg_status plugin_add_all(const eg_plugin *p)
{
    for (const eg_method *const *m = p->methods; m && *m; m++)
        EG_TRY(eg_method_add(*m));
    for (const eg_dataset *const *d = p->datasets; d && *d; d++)
        EG_TRY(eg_dataset_add(*d));
    for (const eg_model *const *m = p->models; m && *m; m++)
        EG_TRY(plugin_add(&eg_model_family, &(*m)->component, (*m)->features && (*m)->head));
    for (const eg_metric *const *m = p->metrics; m && *m; m++)
        EG_TRY(plugin_add(&eg_metric_family, &(*m)->component, (*m)->value && (*m)->formula));
    for (const eg_optim *const *o = p->optimisers; o && *o; o++)
        EG_TRY(plugin_add(&eg_optim_family, &(*o)->component,
                          (*o)->step && (*o)->n_slots >= 0 && (*o)->n_slots <= 2));
    for (const eg_generator_kind *const *g = p->generators; g && *g; g++)
        EG_TRY(plugin_add(&eg_generator_family, &(*g)->component,
                          (*g)->open && (*g)->images && (*g)->prepare && (*g)->train));
    return EG_OK;
}

/* The version comes first in every table there ever was, so that it can be read. */
static eg_status plugin_check(const eg_plugin *p)
{
    static const eg_plugin_form ours = EG_PLUGIN_FORM;
    if (strcmp(p->form.version, ours.version) != 0)
        return eg_fail(EG_ENOTSUP, "it was built for engram %.20s, and this is engram %s",
                       p->form.version, ours.version);
    if (memcmp(p->form.sizes, ours.sizes, sizeof ours.sizes) != 0)
        return eg_fail(EG_ENOTSUP,
                       "it was built with other headers of engram %s than this "
                       "program: build it anew",
                       ours.version);
    return EG_OK;
}

/* Whether a member of the plugin is there already, because it was loaded before. */
static bool plugin_is_loaded(const eg_plugin *p)
{
    const struct {
        const eg_family *family;
        const void *list;
    } all[] = {{&eg_method_family, p->methods},   {&eg_dataset_family, p->datasets},
               {&eg_model_family, p->models},     {&eg_metric_family, p->metrics},
               {&eg_optim_family, p->optimisers}, {&eg_generator_family, p->generators}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const eg_component *const *members = all[i].list, *c;
        for (size_t k = 0; members && *members && (c = eg_family_at(all[i].family, k)); k++)
            if (c == *members)
                return true;
    }
    return false;
}

static eg_status plugin_open(const char *path)
{
    char file[PLUGIN_PATH];
    /* without a slash the system's folders would be searched */
    int n = snprintf(file, sizeof file, "%s%s", strchr(path, '/') ? "" : "./", path);
    if (n < 0 || n >= PLUGIN_PATH)
        return eg_fail(EG_ENOENT, "its name is too long");
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return eg_fail(EG_ENOENT, "it cannot be loaded: %s", dlerror());
    const eg_plugin *p = dlsym(handle, "eg_plugin_table");
    if (!p)
        return eg_fail(EG_ENOENT, "it is no plugin of engram: EG_PLUGIN is not in it");
    EG_TRY(plugin_check(p));
    return plugin_is_loaded(p) ? EG_OK : plugin_add_all(p);
}

eg_status eg_plugin_load(const char *path)
{
    return eg_blame(plugin_open(path), "plugin %s", path);
}

eg_status eg_plugin_load_all(const char *paths)
{
    for (const char *at = paths; at && *at;) {
        char path[PLUGIN_PATH];
        size_t n = strcspn(at, ":");
        if (n >= sizeof path)
            return eg_fail(EG_ENOENT, "plugin %.40s...: its name is too long", at);
        snprintf(path, sizeof path, "%.*s", (int)n, at);
        if (n)
            EG_TRY(eg_plugin_load(path));
        at += n + (at[n] != 0);
    }
    return EG_OK;
}
