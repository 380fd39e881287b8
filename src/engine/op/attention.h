/* attention.h - what attention and its gradient share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_ATTENTION_H
#define EG_SRC_ATTENTION_H

#include "engine/op/op.h"

enum { EG_ATTENTION_SAMPLE = 64 }; /* tokens of a definition's samples at most */

/* Of attention or attention_back, whose first input is x [n, t, 3 w]. */
eg_attention_dims eg_attention_of(const eg_node *y);
size_t eg_attention_scratch(const eg_attention_dims *d); /* bytes */

/* Whether the shapes fit; false: the graph is poisoned. lengths may be NULL. */
bool eg_attention_fits(eg_graph *g, const char *op, const eg_node *x, const eg_node *lengths,
                       int64_t heads);
/* Lengths are whole and within the tokens, or an error that names one. */
eg_status eg_attention_check(const char *op, const float *lengths, const eg_attention_dims *d);

/* Adds the step of either, of so many products of tokens by tokens per head. */
eg_status eg_attention_emit(eg_plan *p, const eg_node *y,
                            eg_status (*share)(const eg_step *, const eg_team_part *),
                            double products);

/* Calls visit for each row of each softmax, p [tokens]: of the definition. */
typedef struct eg_attention_place {
    int64_t sample, head, row, tokens;
} eg_attention_place;
typedef void (*eg_attention_visitor)(void *context, const eg_attention_dims *d,
                                     eg_attention_place at, const double *p);
void eg_attention_walk(const eg_node *y, const double *x, const double *lengths,
                       eg_attention_visitor visit, void *context);

/* The inputs of sample i, x; NULL: there are no more. */
eg_node *eg_sample_attention(eg_graph *g, int i, eg_node **lengths, int64_t *heads);

#endif
