/* no_dnnl.c - a build without oneDNN, whose kernels leave nothing to it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/dnnl.h"

static eg_status no_dnnl(void)
{
    return eg_fail(EG_ENOTSUP, "this program was built without oneDNN");
}

eg_status eg_dnnl_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                       const eg_conv_nodes *nodes)
{
    (void)p, (void)y, (void)pass, (void)c, (void)nodes;
    return no_dnnl();
}

eg_status eg_dnnl_is_reference(const eg_plan *p, eg_conv_pass pass, const eg_conv *c, bool *out)
{
    (void)p, (void)pass, (void)c, (void)out;
    return no_dnnl();
}

eg_status eg_dnnl_conv_sample_norms(eg_plan *p, const eg_node *y, const eg_conv *c,
                                    const eg_node *x, const eg_node *dy)
{
    (void)p, (void)y, (void)c, (void)x, (void)dy;
    return no_dnnl();
}

eg_status eg_dnnl_relayout(eg_plan *p, const eg_node *x, eg_value *from, eg_value *to)
{
    (void)p, (void)x, (void)from, (void)to;
    return no_dnnl();
}

eg_status eg_dnnl_product(const eg_product_shape *d, const float *a, const float *b, float *c)
{
    (void)d, (void)a, (void)b, (void)c;
    return no_dnnl();
}

eg_status eg_dnnl_open(eg_dnnl **out)
{
    (void)out;
    return no_dnnl();
}

void eg_dnnl_close(eg_dnnl *d)
{
    (void)d;
}

void eg_dnnl_enter(void)
{
}
