/* op.h - what every op's file includes, and the few helpers many of them share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_OP_H
#define EG_SRC_OP_H

#include <engram/op.h>

#include "engine/conv/conv.h"
#include "engine/graph/dnnl.h"
#include "engine/graph/plan.h"

#define X(name, args, help) extern const eg_op eg_op_##name;
#include <engram/op.inc>
#undef X

/* Every op of the list, NULL at the end. */
typedef struct eg_op_entry {
    eg_component component; /* without options */
    const eg_op *op;
} eg_op_entry;
extern const eg_op_entry *const eg_ops[];

/* The reference form of y[i] = f(x[i]); out may be x. */
void eg_reference_map(const eg_node *y, const double *x, double *out, double (*f)(double));
/* The reference form of a softmax over the last axis. */
void eg_reference_softmax(const eg_node *y, const double *const *in, double *out);

/* Samples that ops of one kind share: sample i of f(a, b), two tensors with values in [low,
 * high] of which one may be broadcast; of f(x, win), windows over an image. NULL: there are no
 * more. */
eg_node *eg_sample_pair(eg_graph *g, int i, double low, double high,
                        eg_node *(*f)(eg_graph *, eg_node *, eg_node *));
eg_node *eg_sample_pool(eg_graph *g, int i, eg_node *(*f)(eg_graph *, eg_node *, eg_window));

typedef void (*eg_unary)(float *y, const float *x, size_t n);
typedef void (*eg_binary)(float *y, const float *a, const float *b, size_t n);

/* One step from y's only input to y, both in this layout. */
eg_status eg_emit_one(eg_plan *p, const eg_node *y, eg_status (*run)(const eg_step *),
                      eg_layout layout);
/* The same with a step that a team may share. */
eg_status eg_share_one(eg_plan *p, const eg_node *y,
                       eg_status (*share)(const eg_step *, const eg_team_part *),
                       eg_layout layout);
/* One step y = f(x) that keeps x's layout; keeps_zero: f(0) = 0, so filled-up lanes stay zero.
 */
eg_status eg_emit_unary(eg_plan *p, const eg_node *y, eg_unary f, bool keeps_zero);
/* One step y = f(a, b) on equal shapes; keeps_zero: f(0, 0) = 0. */
eg_status eg_emit_binary(eg_plan *p, const eg_node *y, eg_binary f, bool keeps_zero);

/* The shape of a and b broadcast together as NumPy does; poisons g when they do not fit. */
bool eg_broadcast(eg_graph *g, const char *op, eg_node **a, eg_node **b);
/* The layout for y in which every input may be read: blocked if one is and lanes allow it. */
eg_layout eg_elementwise_layout(const eg_plan *p, const eg_node *y, bool keeps_zero);

/* How a kernel sees [n, c, ...] in a layout; k may be NULL for the row-major one. */
eg_channels eg_channels_of(const eg_kernels *k, const eg_node *x, eg_layout layout);
/* Leaves only this part's channels, or blocks of them, in d, and says which channels these are;
 * none: false. */
bool eg_channels_part(const eg_kernels *k, const eg_team_part *part, eg_channels *d,
                      eg_range *own);
/* This part of n floats, for element-wise kernels: whole vectors but for the last. */
eg_range eg_part_floats(const eg_team_part *part, size_t n);
/* The layout for sums over a channel of x: its own, unless that has filled-up samples in it. */
eg_layout eg_channel_layout(const eg_plan *p, const eg_node *x);

/* Groups of channels of one sample are normalised together. */
typedef struct eg_group_attr {
    int64_t groups;
    double eps;
} eg_group_attr;
/* False: the graph is poisoned, x has not 4 axes or not so many groups of channels. */
bool eg_check_groups(eg_graph *g, const char *op, const eg_node *x, int64_t groups);
/* stats [2, c] = mean and 1 / standard deviation of each channel's group in one sample. */
void eg_group_moments(const eg_kernels *k, const float *x, const eg_channels *d,
                      const eg_group_attr *a, float *stats);
/* The layout for sums over groups of x: its own, unless samples are its lanes. */
eg_layout eg_group_layout(const eg_plan *p, const eg_node *x);
/* s [n, groups] for each channel, [n, channels]. */
eg_node *eg_group_spread(eg_graph *g, eg_node *s, int64_t channels);
/* Rows of a matrix are normalised each by itself; the attribute of such an op is its eps. */
typedef void (*eg_row_kernel)(float *y, const float *x, float eps, int64_t rows, int64_t cols);
eg_status eg_row_run(const eg_step *s, eg_row_kernel kernel);
/* Samples of f(x, eps), as above. */
eg_node *eg_sample_rows(eg_graph *g, int i, eg_node *(*f)(eg_graph *, eg_node *, double));
/* Records such an op on x [rows, cols], whole: with a result like it, else [rows, 1]. Poisons g
 * when x is no matrix. */
eg_node *eg_record_rows(eg_graph *g, const eg_op *op, eg_node *x, double eps, bool whole);
/* Mean and biased variance of n numbers. */
void eg_reference_moments(const double *x, int64_t n, double *mean, double *var);

/* The slope of a leaky relu node; relu is slope 0. */
double eg_rectify_slope(const eg_node *y);
/* The relu that alone reads x, to be taken into x's own step; NULL: none. */
const eg_node *eg_sole_relu(const eg_plan *p, const eg_node *x);

/* The geometry of a convolution from its input, weights and result. */
eg_conv eg_conv_of(eg_shape x, eg_shape w, eg_shape y, const eg_window *win);
/* Calls visit once for each product x[ix] w[iw] that is part of y[iy]. */
typedef void (*eg_conv_visitor)(void *context, int64_t ix, int64_t iw, int64_t iy);
void eg_conv_visit(const eg_conv *c, eg_conv_visitor visit, void *context);

/* The places of a window along a side; 0 when the window does not fit. */
int64_t eg_window_count(int64_t size, int64_t kernel, int64_t stride, int64_t padding);
/* A pooling window over x, checked; *y is the result's shape. False: the graph is poisoned. */
bool eg_pool_shape(eg_graph *g, const char *op, const eg_node *x, const eg_window *win,
                   eg_shape *y);
/* Calls visit for each pair of an input place and the output place whose window holds it. */
typedef void (*eg_pool_visitor)(void *context, int64_t in, int64_t out);
void eg_pool_visit(const eg_pool_dims *d, eg_pool_visitor visit, void *context);
/* The input place of the first maximum in the window of output place out. */
int64_t eg_pool_argmax(const eg_pool_dims *d, const double *x, int64_t out);
/* How a kernel sees pooling from x to y; k may be NULL for the row-major layout. */
eg_pool_dims eg_pool_dims_of(const eg_kernels *k, eg_shape x, eg_shape y, const eg_window *win,
                             eg_layout layout);

/* Leaves only this part's images in d; in and out are the floats before them. */
void eg_pool_part(const eg_team_part *part, eg_pool_dims *d, int64_t *in, int64_t *out);

/* True for windows of 2x2 places that neither meet nor leave a place of x out. */
bool eg_pool_halves(const eg_window *win, eg_shape x);
/* True when the only reader of this max_pool_back is a convolution's gradient for its weights,
 * and perhaps its bias, that can do its work if it has the places of the maxima. */
bool eg_pool_gradient_fits(const eg_plan *p, const eg_node *y);
bool eg_pool_gradient_fuses(const eg_plan *p, const eg_node *y); /* and it has them */

/* dy summed over each sample's image, squared and summed over channels: the squared norm of
 * each sample's gradient of a bias along axis 1. */
eg_node *eg_bias_sample_norms(eg_graph *g, eg_node *dy);

/* The row [c] tensors of channel ops, checked; false: the graph is poisoned. */
bool eg_check_channels(eg_graph *g, const char *op, const eg_node *x, int n,
                       eg_node *const *rows);

#endif
