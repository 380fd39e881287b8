/* experiment_optimizer.c - the optimiser of a run: `optimizer: {name: adam, lr: 0.001}`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What stands under `optimizer` belongs to the optimiser that is named there: another name
 * begins with that one's defaults.
 */
#include "run/experiment/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shows methods what the optimiser has. */
static void optimizer_show(eg_experiment *e)
{
    const eg_opt *opts = e->optimizer.kind->component.opts;
    e->train.optimizer = e->optimizer.kind->component.name;
    eg_opts_get_real(opts, e->optimizer.options, "lr", &e->train.lr);
    eg_opts_get_real(opts, e->optimizer.options, "momentum", &e->train.momentum);
    eg_opts_get_real(opts, e->optimizer.options, "weight_decay", &e->train.weight_decay);
}

eg_status eg_experiment_set_optimizer(eg_experiment *e, const char *name, const char *value)
{
    eg_optimizer_opts *o = &e->optimizer;
    if (strcmp(name, "name") == 0) {
        const eg_optim *kind = eg_optim_find(value);
        void *options;
        if (!kind)
            return EG_ENOENT;
        EG_TRY(eg_component_new(&kind->component, &options));
        free(o->options);
        *o = (eg_optimizer_opts){kind, options};
    } else {
        const eg_component *c = &o->kind->component;
        EG_TRY(eg_blame(eg_opts_set(c->opts, o->options, name, value), "%s", c->name));
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
