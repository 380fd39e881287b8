/* ridge.h - least squares by sums that do not care how the rows were split or ordered.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For rows f [d] with labels y the sums are G = sum f f^T [d, d], Q = sum f onehot(y)^T [d, k]
 * and the labels' counts [k]. W = (G + gamma 1)^-1 Q minimises sum |onehot(y) - W^T f|^2 +
 * gamma |W|^2 over all rows whose sums were added, whoever had them and whenever.
 */
#ifndef EG_RIDGE_H
#define EG_RIDGE_H

#include <engram/network.h>
#include <engram/server.h>

typedef struct eg_ridge {
    int64_t d, k;
    double *gram;  /* [d, d] */
    double *cross; /* [d, k] */
    float *counts; /* [k] */
} eg_ridge;

eg_status eg_ridge_init(eg_ridge *r, int64_t d, int64_t k); /* all 0 */
void eg_ridge_fini(eg_ridge *r);

/* Adds rows f [n, d] with labels [n], whole numbers below k. */
eg_status eg_ridge_rows(eg_ridge *r, const float *f, const float *labels, int64_t n);

/* Into a bundle, every name with a prefix ("afcl.gram"): G by its lower half, which has d (d +
 * 1) / 2 numbers. In single precision, to be sent; or exactly, each number as a sum of three.
 */
eg_status eg_ridge_put(const eg_ridge *r, const char *prefix, bool exactly, eg_bundle *to);

/* Judges what a client sent: the sizes, and that no entry of G and Q is larger than the
 * diagonal and the counts allow. EG_ENOENT, EG_ESHAPE, EG_EINVAL. */
eg_status eg_ridge_judge(const eg_ridge *r, const char *prefix, const eg_bundle *from);

/* Adds what eg_ridge_put made, in the same way. */
eg_status eg_ridge_add(eg_ridge *r, const char *prefix, bool exactly, const eg_bundle *from);

/* w [d, k] <- (G + gamma 1)^-1 Q. EG_EINVAL: G + gamma 1 is not positive definite. */
eg_status eg_ridge_solve(const eg_ridge *r, double gamma, double *w);

/* What becomes of features f [n, c's features] before they are summed: out [n, d]. */
typedef void (*eg_ridge_map)(const void *context, const float *f, int64_t n, float *out);

/* Adds the samples of the client's stage, upright and as they are, by their features at a
 * model; map NULL: as these are. */
eg_status eg_ridge_stage(eg_ridge *r, eg_client *c, const eg_weights *at, eg_ridge_map map,
                         const void *context);

/* The server's half of a part that has each stage of each client summed once: the sums of all,
 * and how many stages of each client it has heard. Names in messages and records begin with the
 * part's. */
typedef struct eg_ridge_server {
    const char *part;
    eg_ridge sum;
    float *heard; /* [n_clients] */
    bool fresh;   /* something was added since this was last set to false */
} eg_ridge_server;

eg_status eg_ridge_server_begin(eg_ridge_server *r, const char *part, int64_t d, eg_server *s);
void eg_ridge_server_fini(eg_ridge_server *r);
eg_status eg_ridge_server_send(const eg_ridge_server *r, const eg_server *s, eg_bundle *to);
eg_status eg_ridge_server_accept(const eg_ridge_server *r, const eg_server *s, int64_t client,
                                 const eg_bundle *from);
eg_status eg_ridge_server_collect(eg_ridge_server *r, const eg_server *s, int64_t client,
                                  const eg_bundle *from);
eg_status eg_ridge_server_save(const eg_ridge_server *r, eg_server *s);

/* The client's: whether the server, by its last message, lacks the client's stage; and the
 * answer that tells it. */
eg_status eg_ridge_lacks(const eg_client *c, const char *part, const eg_bundle *from,
                         bool *lacks);
eg_status eg_ridge_tell(const eg_ridge *r, const eg_client *c, const char *part, eg_bundle *to);

#endif
