/* experiment.c - an experiment: its parts, its data, its network, and what excludes what.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/settings.h"

#include "run/experiment/sections.h"

#include <stdlib.h>
#include <string.h>

eg_status eg_experiment_new(eg_experiment **out)
{
    eg_experiment *e = calloc(1, sizeof *e);
    *out = e;
    if (!e)
        return eg_fail(EG_ENOMEM, "no memory for an experiment");
    for (const eg_section *const *s = eg_sections; *s; s++)
        eg_opts_init((*s)->component.opts, (char *)e + (*s)->offset);
    eg_opts_init(eg_settings_of_data, &e->data);
    eg_opts_init(eg_settings_of_all, e);
    EG_TRY(eg_experiment_set_model(e, "cnn-small"));
    EG_TRY(eg_experiment_set_optimizer(e, "name", "sgd"));
    return eg_spec_new(&e->spec);
}

void eg_experiment_free(eg_experiment *e)
{
    if (!e)
        return;
    eg_spec_free(e->spec);
    eg_experiment_drop_sources(e);
    free(e->model_options);
    free(e->optimizer.options);
    eg_parts_free(&e->parts);
    free(e->resolved);
    free(e);
}

eg_status eg_experiment_add_part(eg_experiment *e, const char *word)
{
    const eg_method *m = eg_method_find(word);
    if (!m)
        return EG_ENOENT;
    for (const eg_section *const *s = eg_sections; *s; s++)
        if (strcmp((*s)->component.name, m->component.name) == 0)
            return eg_fail(EG_EINVAL,
                           "the method '%s' has the name of a section, so its options cannot "
                           "be set",
                           m->component.name);
    return eg_parts_add(&e->parts, m);
}

eg_status eg_experiment_add_source(eg_experiment *e, const char *word)
{
    const eg_dataset *d = eg_dataset_find(word);
    if (!d)
        return EG_ENOENT;
    if (e->n_sources == EG_MAX_SOURCES)
        return eg_fail(EG_EINVAL, "there are at most %d data sources", EG_MAX_SOURCES);
    EG_TRY(eg_component_new(&d->component, &e->set_options[e->n_sources]));
    e->sets[e->n_sources++] = d;
    return EG_OK;
}

eg_status eg_experiment_set_model(eg_experiment *e, const char *word)
{
    const eg_model *m = eg_model_find(word);
    void *options;
    if (!m)
        return EG_ENOENT;
    EG_TRY(eg_component_new(&m->component, &options));
    eg_opts_init(eg_settings_of_model, &e->start); /* weights are one network's */
    free(e->model_options);
    e->model = m;
    e->model_options = options;
    return EG_OK;
}

void eg_experiment_drop_sources(eg_experiment *e)
{
    while (e->n_sources > 0)
        free(e->set_options[--e->n_sources]);
}

eg_setting eg_experiment_setting(const eg_experiment *e, const eg_scenario *scenario)
{
    return (eg_setting){.scenario = scenario,
                        .train = &e->train,
                        .interval = e->server.interval,
                        .augments = e->data.crop > 0 || e->data.cutout > 0 || e->data.flip,
                        .other_mean = e->server.mean.rule != EG_MEAN_PLAIN ||
                                      e->server.optimizer.rule != EG_SERVER_NONE};
}

eg_status eg_experiment_check(const eg_experiment *e)
{
    const eg_setting setting = eg_experiment_setting(e, NULL);
    eg_agreement agreed;
    EG_TRY(eg_optim_check(e->optimizer.kind, e->optimizer.options));
    if (e->eval.patience > 0 && e->data.validation <= 0)
        return eg_fail(EG_EINVAL, "eval.patience needs data.validation, which it goes by");
    if (e->eval.patience > 0 && e->eval.every == EG_EVERY_TASK)
        return eg_fail(EG_EINVAL, "eval.patience counts points of a curve, but eval.every is "
                                  "task; it wants round or a number of rounds");
    if (e->pretrain.epochs > 0 && *e->start.weights)
        return eg_fail(EG_EINVAL, "model.weights and pretrain exclude each other: both say "
                                  "where the run starts from");
    /* Uploads of the rounds between serve the tests, and must leave no trace in the model. */
    if (e->server.interval > 1 && e->server.optimizer.rule != EG_SERVER_NONE)
        return eg_fail(EG_EINVAL, "server.optimizer steps from a model that all clients began "
                                  "with: it needs server.interval 1");
    return eg_parts_setup(&e->parts, &setting, e->memory.kind != 0, &agreed);
}

const char *eg_experiment_name(const eg_experiment *e)
{
    return e->name;
}

const char *eg_experiment_label(const eg_experiment *e)
{
    return e->label;
}

bool eg_experiment_has_part(const eg_experiment *e, const char *name)
{
    for (size_t i = 0; i < e->parts.n; i++)
        if (strcmp(eg_parts_name(&e->parts, i), name) == 0)
            return true;
    return false;
}

const char *eg_experiment_text(const eg_experiment *e)
{
    return e->resolved;
}

const char *eg_experiment_sha256(const eg_experiment *e)
{
    return e->sha256;
}
