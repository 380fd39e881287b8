/* hidden_net.h - a network with one hidden layer in double, for tests of losses.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TESTS_HIDDEN_NET_H
#define EG_TESTS_HIDDEN_NET_H

#include "one_client.h"

/* One client, one batch per epoch; features are the hidden layer's. */
#define HIDDEN_NET_TEXT(method, depth, epochs)                                                 \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 12, test: 6, classes: 3, dim: 4}\n"                            \
    "model: {name: mlp, depth: " depth ", width: 5}\n"                                         \
    "scenario: {kind: class-incremental, clients: 1, tasks: 1, rounds: 3}\n"                   \
    "train: {epochs: " epochs ", batch: 12}\n"                                                 \
    "optimizer: {lr: 0.5}\n"                                                                   \
    "runs: [{label: a, method: " method "}]\n"

enum { DIM = 4, WIDTH = 5, CLASSES = 3, ROWS = 12 };

/* The hidden layer's weights and biases, the head's, in the order of the table. */
typedef struct net {
    const eg_params *table;
    const float *x, *labels; /* [ROWS, DIM], [ROWS] */
} net;

static inline double at(const net *n, const float *param, size_t tensor, int i)
{
    return (double)param[eg_params_at(n->table, tensor)->offset + (size_t)i];
}

static inline void features(const net *n, const float *param, int row, double z[WIDTH])
{
    for (int k = 0; k < WIDTH; k++) {
        z[k] = at(n, param, 1, k);
        for (int d = 0; d < DIM; d++)
            z[k] += at(n, param, 0, k * DIM + d) * (double)n->x[row * DIM + d];
        z[k] = z[k] > 0 ? z[k] : 0;
    }
}

static inline void outputs(const net *n, const float *param, const double z[WIDTH],
                           double logits[CLASSES])
{
    for (int k = 0; k < CLASSES; k++) {
        logits[k] = at(n, param, 3, k);
        for (int j = 0; j < WIDTH; j++)
            logits[k] += at(n, param, 2, k * WIDTH + j) * z[j];
    }
}

static inline double cross_entropy(const net *n, const float *param, int row,
                                   const double z[WIDTH])
{
    double logits[CLASSES], sum = 0;
    outputs(n, param, z, logits);
    for (int k = 0; k < CLASSES; k++)
        sum += exp(logits[k]);
    return log(sum) - logits[(int)n->labels[row]];
}

/* The gradient in double of loss at param, place by place, is grad. */
typedef double (*net_loss)(const net *n, const float *param, const void *context);
static inline void assert_gradient(const net *n, const float *param, const float *grad,
                                   net_loss loss, const void *context)
{
    float *moved;
    size_t size = eg_params_length(n->table);
    double most = 0;
    assert_ok(eg_alloc(size, sizeof *moved, &moved));
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < eg_params_at(n->table, t)->size; i++) {
            size_t place = eg_params_at(n->table, t)->offset + i;
            double step = 1e-4, up, down;
            memcpy(moved, param, size * sizeof *moved);
            moved[place] = param[place] + (float)step;
            up = loss(n, moved, context);
            moved[place] = param[place] - (float)step;
            down = loss(n, moved, context);
            assert_near((double)grad[place], (up - down) / (2 * step), 2e-3);
            most = fmax(most, fabs((double)grad[place]));
        }
    assert_true(most > 0.05);
    free(moved);
}

/* Another model as one that the client has kept: its record before the round. The model is
 * returned, [n_params]. */
static inline float *put_past(one_client *o, const char *record_name, const char *tensor)
{
    float *past;
    eg_bundle *record;
    assert_ok(eg_params_alloc(eg_net_params(o->net), &past));
    eg_params_init(eg_net_params(o->net), 77, past, NULL);
    assert_ok(eg_bundle_new(&record));
    assert_ok(eg_bundle_add_flat(record, tensor, past, o->c->n_params));
    one_client_keep(o, 0, record_name, record);
    return past;
}

#endif
