/* glfc.h - what the two halves of GLFC share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_GLFC_H
#define EG_GLFC_H

#include <engram/method.h>
#include <engram/network.h>

typedef struct eg_glfc {
    int signal; /* what tells of a new task: EG_GLFC_ENTROPY, EG_GLFC_BOUNDARY */
    double rise;
    int64_t shakes; /* steps that disturb a prototype */
    double shake;
    int64_t steps, keep; /* of the reconstruction; images of it that are kept */
    double lr;
} eg_glfc;
enum { EG_GLFC_ENTROPY, EG_GLFC_BOUNDARY };

/* Everybody's network for gradients of prototypes has these values. */
#define EG_GLFC_SEED 2021

/* glfc_server.c: the proxy. Its state begins with the options. */
typedef struct eg_glfc_server {
    eg_glfc is;
    int64_t n_gradients; /* that came this round */
    size_t cap;
    float *gradients;  /* [n_gradients, size] */
    size_t size;       /* of one */
    float *x, *labels; /* what they were turned into: [n, pixels], [n] */
    int64_t n;
    double best;         /* accuracy of the second slot's model on these */
    eg_bundle *slots[2]; /* "param", "state"; NULL: empty */
} eg_glfc_server;
void eg_glfc_server_fini(void *self);
eg_status eg_glfc_begin(void *self, eg_server *s);
eg_status eg_glfc_send(void *self, eg_server *s, int exchange, eg_bundle *to);
eg_status eg_glfc_accept(void *self, eg_server *s, int exchange, int64_t client,
                         const eg_bundle *from);
eg_status eg_glfc_collect(void *self, eg_server *s, int exchange, int64_t client,
                          const eg_bundle *from);
eg_status eg_glfc_finish(void *self, eg_server *s, int exchange);
eg_status eg_glfc_work(const void *options, const eg_piece *piece, eg_bundle *to);
eg_status eg_glfc_save(void *self, eg_server *s);

#endif
