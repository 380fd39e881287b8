/* apply_layers.c - a model's list of layers from its file, with the place of every entry.
 * SPDX-License-Identifier: Apache-2.0
 *
 * YAML's list becomes the text that the model reads: "[conv 8 k3, residual [relu]]". The text
 * so far is read after each entry, so that a mistake is told at its line and column.
 */
#include "io/yaml.h"
#include "run/experiment/apply.h"
#include "run/experiment/settings.h"

#include <stdio.h>
#include <string.h>

typedef struct layers_writer {
    const eg_yaml *y;
    char text[EG_OPT_TEXT_SIZE]; /* so far */
    size_t used;
    int open; /* brackets */
    size_t n; /* entries */
    eg_mark at[EG_MAX_LAYERS];
} layers_writer;

static eg_status layers_put(layers_writer *w, const eg_yaml_node *at, const char *text)
{
    size_t n = strlen(text);
    if (w->used + n + EG_MAX_LAYERS_DEPTH >= sizeof w->text)
        return eg_yaml_fail(w->y, at, EG_EINVAL,
                            "the list of layers is longer than %d characters",
                            EG_OPT_TEXT_SIZE - 1);
    memcpy(w->text + w->used, text, n + 1);
    w->used += n;
    return EG_OK;
}

/* Reads what there is, brackets closed, and notes where the new entries stand. */
static eg_status layers_read(layers_writer *w, const eg_yaml_node *at)
{
    eg_layer_list list;
    memset(w->text + w->used, ']', (size_t)w->open);
    w->text[w->used + (size_t)w->open] = 0;
    eg_status s = eg_yaml_blame(w->y, at, eg_layers_parse(w->text, &list));
    w->text[w->used] = 0;
    while (s == EG_OK && w->n < list.n)
        w->at[w->n++] = (eg_mark){at->line, at->column};
    return s;
}

static eg_status layers_list(layers_writer *w, const eg_yaml_node *list);

/* "conv 8 k3", or "residual: [...]". */
static eg_status layers_entry(layers_writer *w, const eg_yaml_node *node)
{
    const eg_yaml_node *inside = node->type == EG_YAML_MAPPING ? node->child : NULL;
    if (node->type == EG_YAML_SCALAR) {
        EG_TRY(layers_put(w, node, node->text));
        return layers_read(w, node);
    }
    if (!inside || node->n != 1 || strcmp(inside->key, "residual") != 0 ||
        inside->type != EG_YAML_SEQUENCE)
        return eg_yaml_fail(w->y, node, EG_EINVAL,
                            "a layer is a text, as 'conv 32 k3', or 'residual: [...]'");
    if (w->n < EG_MAX_LAYERS)
        w->at[w->n++] = (eg_mark){node->line, node->column};
    EG_TRY(layers_put(w, node, "residual "));
    return layers_list(w, inside);
}

static eg_status layers_list(layers_writer *w, const eg_yaml_node *list)
{
    if (w->open == EG_MAX_LAYERS_DEPTH)
        return eg_yaml_fail(w->y, list, EG_EINVAL, "residuals lie more than %d deep",
                            EG_MAX_LAYERS_DEPTH - 1);
    w->open++;
    EG_TRY(layers_put(w, list, "["));
    for (const eg_yaml_node *c = list->child; c; c = c->next) {
        EG_TRY(layers_put(w, c, c == list->child ? "" : ", "));
        EG_TRY(layers_entry(w, c));
    }
    w->open--;
    return layers_put(w, list, "]");
}

eg_status eg_apply_layers(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *list,
                          const char *key)
{
    layers_writer w = {.y = y};
    EG_TRY(layers_list(&w, list));
    EG_TRY(eg_yaml_blame(y, list, eg_experiment_set(e, key, w.text)));
    snprintf(e->layers_file, sizeof e->layers_file, "%s", eg_yaml_name(y));
    memcpy(e->layers_at, w.at, sizeof w.at);
    e->layers = (eg_marks){.file = e->layers_file, .n = w.n, .at = e->layers_at};
    return EG_OK;
}
