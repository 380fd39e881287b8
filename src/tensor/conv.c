/* conv.c - the rule that gives each convolution its kernels.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tensor/conv.h"

#include "tensor/dnnl.h"

double eg_conv_flops(const eg_conv *c)
{
    int64_t inputs = c->ic / c->groups * c->kh * c->kw; /* of one result */
    return 2.0 * (double)(c->n * c->oc * c->oh * c->ow) * (double)inputs;
}

/* Blocks of channels would be filled up with zeros, nearly doubling the work of 10 or 20
 * channels; with the batch innermost no lane is lost. */
bool eg_conv_is_batched(const eg_kernels *k, const eg_conv *c)
{
    return c->groups == 1 && (c->oc % k->width || (c->ic > 4 && c->ic % k->width));
}

eg_status eg_emit_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                       const eg_conv_nodes *nodes)
{
    if (eg_conv_is_batched(eg_plan_kernels(p), c))
        return eg_batched_conv(p, y, pass, c, nodes);
    return eg_dnnl_conv(p, y, pass, c, nodes);
}
