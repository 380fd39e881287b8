/* classification.c - a sample is of one class: cross entropy; answers are right or wrong.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/op.h>
#include <engram/target.h>

static eg_node *classification_loss(const eg_aim *a, eg_graph *g, eg_node *outputs,
                                    eg_node *targets)
{
    (void)a;
    return eg_cross_entropy(g, outputs, targets, NULL);
}

static eg_node *classification_losses(const eg_aim *a, eg_graph *g, eg_node *outputs,
                                      eg_node *targets)
{
    return eg_cross_entropies(g, outputs, eg_one_hot(g, targets, a->outputs));
}

static eg_status classification_settle(eg_aim *a, const eg_aiming *in)
{
    if (in->model->region)
        return eg_fail(EG_ENOTSUP, "%s looks for boxes; the targets of these data are classes",
                       in->model->component.name);
    a->outputs = in->fan * a->classes;
    return EG_OK;
}

const eg_target eg_target_classification = {
    .component = {"classification", "one class for each sample: cross entropy, accuracy", 0,
                  NULL},
    .things = "classes",
    .classes = true,
    .settle = classification_settle,
    .loss = classification_loss,
    .losses = classification_losses,
};
