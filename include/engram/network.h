/* engram/network.h - the run's network at any weights, on any rows: for a client's hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The worker computes, between the batches of training or beside them: what a hook has borrowed
 * of a batch stays. One thread at a time, as with all of a client.
 */
#ifndef EG_NETWORK_H
#define EG_NETWORK_H

#include <engram/client.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Where it stands. A NULL pointer, or NULL members: at the client's own model. In training form
 * batch norm's statistics in state move. */
typedef struct eg_point {
    float *param, *state;
} eg_point;

/* n rows: training samples, upright and without random crops and flips; or, with samples NULL,
 * rows of one's own, whose tasks are not known. */
typedef struct eg_rows {
    int64_t n;
    const eg_sample *samples; /* [n] */
    const float *x;           /* [n, c, h, w] */
    const float *labels;      /* their targets: [n, aim->width] */
} eg_rows;

typedef enum eg_form {
    EG_TRAIN_FORM, /* dropout, statistics of the batch */
    EG_EVAL_FORM,  /* no dropout, running statistics */
} eg_form;

/* The gradient of the rows' mean plain loss (of classes their cross entropy; without the parts'
 * terms). c->grad is untouched; *out [n_params] is valid until the next gradient is asked for.
 */
eg_status eg_client_gradient(eg_client *c, const eg_point *at, eg_form form,
                             const eg_rows *rows, const float **out);

/* The same in training form, with the squared norm of each row's own gradient in eval form,
 * norms [n]. A network without dropout and batch norm, whose forms are one, makes both in one
 * pass. In training form statistics move after the norms are taken. */
eg_status eg_client_gradient_norms(eg_client *c, const eg_point *at, const eg_rows *rows,
                                   float *norms, const float **out);

/* A gradient in training form at the client's model, of up to n rows drawn from its memory;
 * *out is NULL while it is empty. `draw` tells a part's draws of one batch apart. */
eg_status eg_client_replay_gradient(eg_client *c, int64_t n, uint32_t draw, const float **out);

/* What the network makes of rows in eval form; what is NULL is not computed. The work is cut
 * into batches of the run's size. at: as an eg_point. */
typedef struct eg_look {
    float *norms;    /* [n]: squared norm of each sample's own gradient */
    float *losses;   /* [n] */
    float *logits;   /* [n, n_classes] */
    float *features; /* [n, eg_net_n_features] */
} eg_look;
eg_status eg_client_look(eg_client *c, const eg_weights *at, const eg_rows *rows,
                         const eg_look *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
