/* linear_probe.c - federated averaging of the last layer on features that stay as they are.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The features are those the run begins with (model.weights, pretrain); only the head is
 * trained, sent and averaged.
 */
#include <engram/method.h>

static eg_status linear_probe_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->train = "head";
    return EG_OK;
}

const eg_method eg_method_linear_probe = {
    .component = {"linear_probe", "frozen features, of which the last layer alone is trained",
                  0, NULL},
    .setup = linear_probe_setup,
};
