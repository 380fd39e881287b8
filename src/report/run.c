/* run.c - a run folder, read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/run.h"

#include "io/file.h"
#include "io/yaml.h"

#include <engram/log.h>

#include <stdlib.h>
#include <string.h>

static eg_status run_config(eg_run *r)
{
    char path[EG_RUN_PATH];
    unsigned char *text;
    size_t n;
    EG_TRY(eg_run_file(r->dir, EG_RUN_CONFIG, path));
    eg_status status = eg_file_read(path, (size_t)1 << 30, &text, &n);
    if (status == EG_ENOENT)
        return EG_OK;
    EG_TRY(status);
    r->config = eg_arena_text(&r->arena, "%s", (const char *)text);
    free(text);
    return r->config ? EG_OK : EG_ENOMEM;
}

/* The settings may have been written by hand; what cannot be read says nothing. */
static double run_scale(const eg_run *r)
{
    eg_yaml *y;
    double scale = 1;
    if (!r->config || eg_yaml_parse(r->dir, r->config, strlen(r->config), &y) != EG_OK)
        return 1;
    const eg_yaml_node *root = eg_yaml_root(y);
    const eg_yaml_node *node =
        root->type == EG_YAML_MAPPING ? eg_yaml_get(root, "scale") : NULL;
    if (node && node->text)
        scale = strtod(node->text, NULL);
    eg_yaml_free(y);
    return scale > 0 && scale < 1 ? scale : 1;
}

static eg_status run_method(eg_run *r)
{
    const char *all = "";
    for (size_t i = 0; i < r->start->n_method && all; i++)
        all = eg_arena_text(&r->arena, "%s%s%s", all, i ? ", " : "", r->start->method[i]);
    r->method = all;
    return all ? EG_OK : EG_ENOMEM;
}

static eg_status run_load(eg_run *r, const char *dir)
{
    r->dir = eg_arena_text(&r->arena, "%s", dir);
    if (!r->dir)
        return EG_ENOMEM;
    r->finished = eg_run_is_finished(dir);
    EG_TRY(eg_events_load(dir, &r->log));
    r->start = &r->log->start;
    EG_TRY(run_method(r));
    EG_TRY(run_config(r));
    r->scale = run_scale(r);
    return eg_run_rows(r);
}

eg_status eg_run_load(const char *dir, eg_run **out)
{
    eg_run *r = calloc(1, sizeof *r);
    if (!r)
        return eg_fail(EG_ENOMEM, "%s: out of memory", dir);
    eg_status status = run_load(r, dir);
    if (status != EG_OK) {
        eg_run_free(r);
        return status;
    }
    *out = r;
    return EG_OK;
}

void eg_run_free(eg_run *r)
{
    if (!r)
        return;
    eg_events_free(r->log);
    eg_arena_fini(&r->arena);
    free(r);
}
