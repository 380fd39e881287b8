/* family.c - the families that `engram list` and `engram help` know, read from their lists.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "family.h"

#include <engram/engram.h>

static bool family_op(size_t i, cli_member *out)
{
    *out = (cli_member){.name = eg_op_name(i), .help = eg_op_help(i)};
    return out->name != NULL;
}

static bool family_model(size_t i, cli_member *out)
{
    const eg_model *m = eg_models[i];
    *out = m ? (cli_member){m->name, m->help, NULL, m->opts} : (cli_member){0};
    return m != NULL;
}

static bool family_optim(size_t i, cli_member *out)
{
    const eg_optim *o = eg_optims[i];
    *out = o ? (cli_member){o->name, o->help, NULL, o->opts} : (cli_member){0};
    return o != NULL;
}

static bool family_dataset(size_t i, cli_member *out)
{
    const eg_dataset *d = eg_datasets[i];
    *out = d ? (cli_member){d->name, d->help, NULL, d->opts} : (cli_member){0};
    return d != NULL;
}

static bool family_kind(size_t i, cli_member *out)
{
    eg_member m = {0};
    bool there = eg_scenario_kind(i, &m);
    *out = (cli_member){m.name, m.help, NULL, m.opts};
    return there;
}

static bool family_partition(size_t i, cli_member *out)
{
    eg_member m = {0};
    bool there = eg_scenario_partition(i, &m);
    *out = (cli_member){m.name, m.help, NULL, m.opts};
    return there;
}

static bool family_metric(size_t i, cli_member *out)
{
    const eg_metric *m = eg_metrics[i];
    *out = m ? (cli_member){m->name, m->help, m->formula, NULL} : (cli_member){0};
    return m != NULL;
}

static bool family_method(size_t i, cli_member *out)
{
    const eg_method *m = eg_methods[i];
    *out = m ? (cli_member){m->name, m->help, NULL, m->opts} : (cli_member){0};
    return m != NULL;
}

static bool family_settings(size_t i, cli_member *out)
{
    eg_member m = {0};
    bool there = eg_experiment_settings(i, &m);
    *out = (cli_member){m.name, m.help, NULL, m.opts};
    return there;
}

const cli_family cli_families[] = {
    {"methods", "method", family_method, NULL, false},
    {"ops", "op", family_op, NULL, false},
    {"models", "model", family_model, NULL, false},
    {"optimisers", "optimiser", family_optim, NULL, false},
    {"data", "data set", family_dataset, NULL, false},
    {"scenarios", "scenario", family_kind, eg_scenario_opts, false},
    {"partitioners", "partitioner", family_partition, NULL, false},
    {"metrics", "metric", family_metric, NULL, false},
    {"settings", "settings of", family_settings, NULL, true},
    {NULL, NULL, NULL, NULL, false},
};
