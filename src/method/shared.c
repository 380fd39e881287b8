/* shared.c - a shared body with a last layer of its own for every task (Re-Fed's "Shared").
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: every task has a linear head over all classes on the network's features; a sample is
 * trained through its task's, so the others stay as they are. Server: the usual mean.
 *
 * Where the task is known (task-IL) its head answers. Where it is not (class-IL, and rows from
 * a memory), each class takes its largest output of all heads of tasks met so far. The
 * network's own head is not used.
 */
#include <engram/method.h>
#include <engram/op.h>

/* Below every output, so that a head that is not asked is neither the largest nor learns. */
static const double shared_closed = 1e4;

static eg_status shared_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const eg_scenario *s = in->scenario;
    (void)options;
    out->offers = EG_OFFERS_TASK_IDS;
    out->classes = true; /* its heads have an output for each */
    int64_t outputs = s ? eg_scenario_n_classes(s) * eg_train_fan(in->train) : 1;
    out->side = s ? eg_scenario_n_tasks(s) * outputs : 1;
    return EG_OK;
}

static eg_node *shared_outputs(const void *self, const eg_net *net, eg_graph *g,
                               eg_node *features, eg_node *tasks)
{
    (void)self;
    int64_t n = eg_node_shape(tasks).dim[0], n_tasks = eg_node_shape(tasks).dim[1];
    int64_t classes = eg_net_spec_of(net)->classes;
    eg_node *heads = eg_reshape(g, eg_net_side(net, g, features), eg_dims(n, n_tasks, classes));
    eg_node *shift = eg_affine(g, tasks, shared_closed, -shared_closed); /* 0 where asked */
    eg_node *asked = eg_add(g, heads, eg_reshape(g, shift, eg_dims(n, n_tasks, 1)));
    return eg_reshape(g, eg_max(g, asked, EG_AXIS(1)), eg_dims(n, classes));
}

const eg_method eg_method_shared = {
    .component = {"shared", "a shared body with a last layer of its own for every task", 0,
                  NULL},
    .setup = shared_setup,
    .outputs = shared_outputs,
};
