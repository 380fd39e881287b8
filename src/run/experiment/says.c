/* says.c - the keys of an experiment file that change no result: how its runs are carried out.
 * SPDX-License-Identifier: Apache-2.0
 *
 * They are in no configuration and no hash, but for plugins: a run that goes on needs them.
 */
#include "run/experiment/says.h"

#include "base/base.h"
#include "world/data/find.h"

#include <engram/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const says_keys[] = {"seeds", "workers", "threads", "out", "plugins"};

bool eg_says_knows(const char *key)
{
    for (size_t i = 0; i < sizeof says_keys / sizeof *says_keys; i++)
        if (strcmp(says_keys[i], key) == 0)
            return true;
    return false;
}

/* A value, or those of a list with commas between. */
static eg_status says_text(const eg_yaml *y, const eg_yaml_node *node, char out[EG_SAYS_SIZE])
{
    bool list = node->type == EG_YAML_SEQUENCE;
    size_t used = 0;
    for (const eg_yaml_node *c = list ? node->child : node; c; c = list ? c->next : NULL) {
        const char *text;
        EG_TRY(eg_yaml_text(y, c, &text));
        used +=
            (size_t)snprintf(out + used, EG_SAYS_SIZE - used, "%s%s", used ? "," : "", text);
        if (used >= EG_SAYS_SIZE)
            return eg_yaml_fail(y, c, EG_EINVAL, "%s: more than %d characters", node->key,
                                EG_SAYS_SIZE - 1);
    }
    return used ? EG_OK : eg_yaml_fail(y, node, EG_EINVAL, "%s: a value is wanted", node->key);
}

/* A count under a key; none: 0. */
static eg_status says_count(const eg_yaml *y, const char *key, int64_t *out)
{
    const eg_yaml_node *node = eg_yaml_get(eg_yaml_root(y), key);
    char text[EG_SAYS_SIZE], *end;
    *out = 0;
    if (!node)
        return EG_OK;
    EG_TRY(says_text(y, node, text));
    *out = strtol(text, &end, 10);
    return *end || *out < 1 || *out > EG_MOST_WORKERS
               ? eg_yaml_fail(y, node, EG_EINVAL, "%s: '%.40s' is no number from 1 to %d", key,
                              text, EG_MOST_WORKERS)
               : EG_OK;
}

eg_status eg_says_read(const eg_yaml *y, eg_file_says *out)
{
    const eg_yaml_node *root = eg_yaml_root(y);
    const eg_yaml_node *seeds = eg_yaml_get(root, "seeds");
    const eg_yaml_node *to = eg_yaml_get(root, "out");
    *out = (eg_file_says){0};
    if (seeds)
        EG_TRY(says_text(y, seeds, out->seeds));
    if (to)
        EG_TRY(says_text(y, to, out->out));
    EG_TRY(says_count(y, "workers", &out->workers));
    return says_count(y, "threads", &out->threads);
}

eg_status eg_says_plugins(const eg_yaml *y, const char *folder, char out[EG_PLUGINS_SIZE])
{
    const eg_yaml_node *node = eg_yaml_get(eg_yaml_root(y), "plugins");
    bool list = node && node->type == EG_YAML_SEQUENCE;
    size_t used = 0;
    out[0] = 0;
    for (const eg_yaml_node *c = list ? node->child : node; c; c = list ? c->next : NULL) {
        const char *path;
        char whole[EG_PATH_SIZE];
        EG_TRY(eg_yaml_text(y, c, &path));
        if (!eg_find_own(folder, path, whole))
            snprintf(whole, sizeof whole, "%s", path);
        EG_TRY(eg_yaml_blame(y, c, eg_plugin_load(whole)));
        used += (size_t)snprintf(out + used, EG_PLUGINS_SIZE - used, "%s\n", whole);
        if (used >= EG_PLUGINS_SIZE)
            return eg_yaml_fail(y, c, EG_EINVAL, "plugins: their paths are too long");
    }
    return EG_OK;
}
