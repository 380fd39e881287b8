/* spec.c - the description of a scenario: options by name, from flags or from a file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/spec.h"

#include "io/yaml.h"
#include "world/scenario/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
static const eg_opt spec_opts[] = {
    EG_OPT_INT(eg_common, clients, 10, 1, 1e6, "clients, at the start"),
    EG_OPT_INT(eg_common, join, 0, 0, 1e6, "clients that join with each further task"),
    EG_OPT_INT(eg_common, per_round, 0, 0, 1e6, "clients chosen each round; 0: by participation"),
    EG_OPT_REAL(eg_common, participation, 1, 0, 1, "the part of the clients chosen each round"),
    EG_OPT_CHOICE(eg_common, selection, 0, "of clients: as many as participation says; or each by itself with that chance, as differential privacy wants it", "exact|poisson"),
    EG_OPT_REAL(eg_common, away, 0, 0, 0.999, "the part of the time a client is away"),
    EG_OPT_INT(eg_common, away_rounds, 10, 1, 1e6, "rounds for which it leaves or stays"),
    EG_OPT_CHOICE(eg_common, order, 0, "of tasks: by number, one shuffle for all, or each client its own", "auto|natural|shuffled|own"),
    EG_OPT_INT(eg_common, curriculum, 0, 0, 1e6, "which shuffle"),
    EG_OPT_INT(eg_common, pad, 1, 1, 1e6, "a stage's samples are repeated to a multiple of this"),
    EG_OPT_INT(eg_common, seed, -1, -1, 1e9, "the seed tasks, orders and splits are drawn with, so that runs share them; -1: the run's own, which who takes part when follows in any case"),
    EG_OPT_BOOL(eg_common, announce, 1, "whether boundaries and task ids are announced, where there are any"),
    EG_OPT_END,
};
// clang-format on

const eg_opt *eg_scenario_opts(void)
{
    return spec_opts;
}

eg_status eg_spec_new(eg_spec **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return eg_fail(EG_ENOMEM, "out of memory");
    eg_opts_init(spec_opts, &(*out)->common);
    return EG_OK;
}

void eg_spec_free(eg_spec *spec)
{
    if (!spec)
        return;
    for (size_t i = 0; i < spec->n_data; i++)
        free(spec->data[i]);
    free(spec->data);
    free(spec->kind_self);
    free(spec->partition_self);
    free(spec);
}

/* Takes a member of a family, with default options in place of what was there. */
static eg_status spec_choose(const eg_family *family, const char *name, void **self,
                             const eg_component **out)
{
    const eg_component *c = eg_family_find(family, name);
    if (!c)
        return EG_ENOENT;
    free(*self);
    *out = c;
    return eg_component_new(c, self);
}

static eg_status spec_set_partition(eg_spec *spec, const char *name)
{
    const eg_component *c = NULL;
    EG_TRY(spec_choose(&eg_partition_family, name, &spec->partition_self, &c));
    spec->partition = (const eg_partition *)c;
    return EG_OK;
}

static eg_status spec_set_kind(eg_spec *spec, const char *name)
{
    const eg_component *c = NULL;
    EG_TRY(spec_choose(&eg_kind_family, name, &spec->kind_self, &c));
    spec->kind = (const eg_kind *)c;
    return spec_set_partition(spec, spec->kind->partition);
}

eg_status eg_spec_set(eg_spec *spec, const char *name, const char *value)
{
    if (strcmp(name, "kind") == 0)
        return spec_set_kind(spec, value);
    if (!spec->kind)
        return eg_fail(EG_EINVAL, "kind: it must be set before '%s'", name);
    if (strcmp(name, "partition") == 0 || strcmp(name, "partition.kind") == 0)
        return spec_set_partition(spec, value);
    if (strncmp(name, "partition.", 10) == 0)
        return eg_blame(eg_opts_set(spec->partition->component.opts, spec->partition_self,
                                    name + 10, value),
                        "partition '%s'", spec->partition->component.name);
    if (eg_opts_find(spec->kind->component.opts, name))
        return eg_opts_set(spec->kind->component.opts, spec->kind_self, name, value);
    if (eg_opts_find(spec_opts, name))
        return eg_opts_set(spec_opts, &spec->common, name, value);
    return eg_fail(EG_ENOENT, "scenario '%s' has no option '%s'", spec->kind->component.name,
                   name);
}

eg_status eg_spec_hold_out(eg_spec *spec, double share)
{
    if (!(share >= 0 && share <= EG_MAX_VALIDATION))
        return eg_fail(EG_EINVAL, "validation: %g is outside [0, %g]", share,
                       EG_MAX_VALIDATION);
    spec->validation = share;
    return EG_OK;
}

double eg_spec_validation(const eg_spec *spec)
{
    return spec->validation;
}

static void spec_rows(const eg_opt *opts, const void *self, const char *prefix, eg_spec_row row,
                      void *to)
{
    for (const eg_opt *o = opts; o && o->name; o++) {
        char name[128], value[EG_OPT_TEXT_SIZE];
        snprintf(name, sizeof name, "%s%s", prefix, o->name);
        eg_opt_print(o, self, value);
        row(to, name, value);
    }
}

/* The selection is there if it is not the usual one, so that what was written before it could
 * be chosen stays what it was. */
static void spec_common_rows(const eg_spec *spec, eg_spec_row row, void *to)
{
    for (const eg_opt *o = spec_opts; o->name; o++) {
        const eg_opt one[] = {*o, EG_OPT_END};
        if (spec->common.selection || strcmp(o->name, "selection") != 0)
            spec_rows(one, &spec->common, "", row, to);
    }
}

void eg_spec_each(const eg_spec *spec, eg_spec_row row, void *to)
{
    if (!spec->kind)
        return;
    row(to, "kind", spec->kind->component.name);
    spec_rows(spec->kind->component.opts, spec->kind_self, "", row, to);
    spec_common_rows(spec, row, to);
    row(to, "partition", spec->partition->component.name);
    spec_rows(spec->partition->component.opts, spec->partition_self, "partition.", row, to);
}

static eg_status spec_set_node(eg_spec *spec, const eg_yaml *y, const eg_yaml_node *node,
                               const char *prefix)
{
    const char *text = NULL;
    char name[128];
    EG_TRY(eg_yaml_text(y, node, &text));
    snprintf(name, sizeof name, "%s%s", prefix, node->key);
    return eg_yaml_blame(y, node, eg_spec_set(spec, name, text));
}

static eg_status spec_load_partition(eg_spec *spec, const eg_yaml *y, const eg_yaml_node *node)
{
    if (node->type == EG_YAML_SCALAR)
        return spec_set_node(spec, y, node, "");
    if (node->type != EG_YAML_MAPPING)
        return eg_yaml_fail(y, node, EG_EINVAL, "partition: a name or a mapping is wanted");
    const eg_yaml_node *kind = eg_yaml_get(node, "kind");
    if (kind)
        EG_TRY(spec_set_node(spec, y, kind, "partition."));
    for (const eg_yaml_node *c = node->child; c; c = c->next)
        if (c != kind)
            EG_TRY(spec_set_node(spec, y, c, "partition."));
    return EG_OK;
}

eg_status eg_spec_load_scenario(eg_spec *spec, const eg_yaml *y, const eg_yaml_node *node)
{
    if (node->type != EG_YAML_MAPPING)
        return eg_yaml_fail(y, node, EG_EINVAL, "scenario: a mapping is wanted, not a %s",
                            eg_yaml_type_name(node->type));
    const eg_yaml_node *kind = eg_yaml_get(node, "kind");
    const eg_yaml_node *partition = eg_yaml_get(node, "partition");
    if (!kind)
        return eg_yaml_fail(y, node, EG_EINVAL, "scenario: the key 'kind' is missing");
    EG_TRY(spec_set_node(spec, y, kind, ""));
    if (partition)
        EG_TRY(spec_load_partition(spec, y, partition));
    for (const eg_yaml_node *c = node->child; c; c = c->next)
        if (c != kind && c != partition)
            EG_TRY(spec_set_node(spec, y, c, ""));
    return EG_OK;
}

/* What of the other settings of a source a scenario needs. */
static eg_status spec_read_validation(eg_spec *spec, const eg_yaml *y, const eg_yaml_node *node)
{
    const eg_yaml_node *share = eg_yaml_get(node, "validation");
    const char *text = "";
    char *end;
    if (!share)
        return EG_OK;
    EG_TRY(eg_yaml_text(y, share, &text));
    double value = strtod(text, &end);
    if (end == text || *end)
        return eg_yaml_fail(y, share, EG_EINVAL, "validation: '%s' is not a number", text);
    return eg_yaml_blame(y, share, eg_spec_hold_out(spec, value));
}

static eg_status spec_add_data(eg_spec *spec, const eg_yaml *y, const eg_yaml_node *node)
{
    const char *text = NULL;
    const eg_yaml_node *name = node->type == EG_YAML_MAPPING ? eg_yaml_get(node, "name") : node;
    if (!name)
        return eg_yaml_fail(y, node, EG_EINVAL, "data: the key 'name' is missing");
    EG_TRY(spec_read_validation(spec, y, node));
    EG_TRY(eg_yaml_text(y, name, &text));
    EG_TRY(eg_grow(&spec->data, spec->n_data, &spec->cap_data, sizeof *spec->data));
    if (!(spec->data[spec->n_data] = strdup(text)))
        return eg_fail(EG_ENOMEM, "out of memory");
    spec->n_data++;
    return EG_OK;
}

eg_status eg_spec_load_data(eg_spec *spec, const eg_yaml *y, const eg_yaml_node *node)
{
    if (node->type != EG_YAML_SEQUENCE)
        return spec_add_data(spec, y, node);
    for (const eg_yaml_node *c = node->child; c; c = c->next)
        EG_TRY(spec_add_data(spec, y, c));
    return EG_OK;
}

static eg_status spec_load_root(eg_spec *spec, const eg_yaml *y)
{
    const eg_yaml_node *root = eg_yaml_root(y);
    const eg_yaml_node *data = eg_yaml_get(root, "data");
    const eg_yaml_node *scenario = eg_yaml_get(root, "scenario");
    if (!data || !scenario)
        return eg_yaml_fail(y, root, EG_EINVAL, "the key '%s' is missing",
                            data ? "scenario" : "data");
    EG_TRY(eg_spec_load_data(spec, y, data));
    return eg_spec_load_scenario(spec, y, scenario);
}

eg_status eg_spec_load(const char *path, eg_spec **out)
{
    *out = NULL;
    eg_yaml *y;
    EG_TRY(eg_yaml_load(path, &y));
    eg_spec *spec = NULL;
    eg_status status = eg_spec_new(&spec);
    if (status == EG_OK)
        status = spec_load_root(spec, y);
    eg_yaml_free(y);
    if (status == EG_OK)
        *out = spec;
    else
        eg_spec_free(spec);
    return status;
}

size_t eg_spec_n_data(const eg_spec *spec)
{
    return spec->n_data;
}

const char *eg_spec_data(const eg_spec *spec, size_t i)
{
    return i < spec->n_data ? spec->data[i] : NULL;
}
