/* experiment_optimizer.c - the optimiser of a run: `optimizer: {name: adam, lr: 0.001}`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What stands under `optimizer` belongs to the optimiser that is named there: another name
 * begins with that one's defaults. The older keys train.lr, train.momentum and
 * train.weight_decay hold whatever the optimiser, and train.optimizer changes the rule alone.
 * Of two keys for one value the one set last counts. Both forms resolve to the first.
 */
#include "run/experiment/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The older keys, in the order of eg_optimizer_opts.older, with what they may hold. */
const eg_opt eg_settings_older[] = {
    EG_OPT_REAL_AS("lr", eg_optimizer_opts, older[0], 0, 0, 1e3, "step size"),
    EG_OPT_REAL_AS("momentum", eg_optimizer_opts, older[1], 0, 0, 1, "share that is kept"),
    EG_OPT_REAL_AS("weight_decay", eg_optimizer_opts, older[2], 0, 0, 1e3, "pull towards 0"),
    EG_OPT_END,
};
enum { N_OLDER = sizeof eg_settings_older / sizeof *eg_settings_older - 1 };

/* Shows methods what the optimiser has. */
static void optimizer_show(eg_experiment *e)
{
    const eg_opt *opts = e->optimizer.kind->component.opts;
    e->train.optimizer = e->optimizer.kind->component.name;
    eg_opts_get_real(opts, e->optimizer.options, "lr", &e->train.lr);
    eg_opts_get_real(opts, e->optimizer.options, "momentum", &e->train.momentum);
    eg_opts_get_real(opts, e->optimizer.options, "weight_decay", &e->train.weight_decay);
}

/* Gives the optimiser those of the values that were said (no NAN) and that it has. */
static eg_status optimizer_apply(eg_optimizer_opts *o, const double values[N_OLDER])
{
    const eg_opt *opts = o->kind->component.opts;
    for (size_t i = 0; i < N_OLDER; i++)
        if (!isnan(values[i]) && eg_opts_find(opts, eg_settings_older[i].name))
            EG_TRY(eg_opts_set_real(opts, o->options, eg_settings_older[i].name, values[i]));
    return EG_OK;
}

/* Another optimiser, with its own defaults. */
static eg_status optimizer_choose(eg_optimizer_opts *o, const char *word)
{
    const eg_optim *kind = eg_optim_find(word);
    void *options;
    if (!kind)
        return EG_ENOENT;
    EG_TRY(eg_component_new(&kind->component, &options));
    free(o->options);
    o->kind = kind, o->options = options;
    return EG_OK;
}

eg_status eg_experiment_new_optimizer(eg_experiment *e)
{
    for (size_t i = 0; i < N_OLDER; i++)
        e->optimizer.older[i] = NAN;
    EG_TRY(optimizer_choose(&e->optimizer, "sgd"));
    optimizer_show(e);
    return EG_OK;
}

eg_status eg_experiment_set_optimizer(eg_experiment *e, const char *name, const char *value)
{
    eg_optimizer_opts *o = &e->optimizer;
    if (strcmp(name, "name") == 0) {
        EG_TRY(optimizer_choose(o, value));
        EG_TRY(optimizer_apply(o, o->older));
    } else {
        const eg_opt *opts = o->kind->component.opts;
        EG_TRY(eg_blame(eg_opts_set(opts, o->options, name, value), "%s",
                        o->kind->component.name));
        for (size_t i = 0; i < N_OLDER; i++)
            if (eg_name_equal(eg_settings_older[i].name, name))
                o->older[i] = NAN;
    }
    optimizer_show(e);
    return EG_OK;
}

bool eg_experiment_has_older(const char *name)
{
    return strcmp(name, "optimizer") == 0 || eg_opts_find(eg_settings_older, name);
}

/* train.optimizer: the rate, the momentum and the decay are those of the optimiser before. */
static eg_status optimizer_change(eg_optimizer_opts *o, const char *word)
{
    double values[N_OLDER];
    for (size_t i = 0; i < N_OLDER; i++)
        if (!eg_opts_get_real(o->kind->component.opts, o->options, eg_settings_older[i].name,
                              &values[i]))
            values[i] = o->older[i];
    EG_TRY(optimizer_choose(o, word));
    return optimizer_apply(o, values);
}

eg_status eg_experiment_set_older(eg_experiment *e, const char *name, const char *value)
{
    eg_optimizer_opts *o = &e->optimizer;
    if (strcmp(name, "optimizer") == 0) {
        EG_TRY(optimizer_change(o, value));
    } else {
        EG_TRY(eg_opts_set(eg_settings_older, o, name, value));
        EG_TRY(optimizer_apply(o, o->older));
    }
    optimizer_show(e);
    return EG_OK;
}

/* A count of rounds under `scale`; 0 has a meaning of its own. */
static int64_t optimizer_rounds(const eg_experiment *e, int64_t n)
{
    double less = floor((double)n * e->scale + 1e-9);
    return n == 0 ? 0 : (int64_t)fmax(less, 1);
}

double eg_experiment_rate(const eg_experiment *e, int64_t round, int64_t n_rounds)
{
    eg_schedule s = e->schedule;
    s.every = optimizer_rounds(e, s.every);
    s.warmup = optimizer_rounds(e, s.warmup);
    return eg_schedule_factor(&s, round, n_rounds);
}
