/* teacher.h - frozen models whose outputs a loss distils.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEACHER_H
#define EG_TEACHER_H

#include <engram/method.h>

/* The model that the client keeps under a name (eg_client_keep_model); NULL: none. */
eg_status eg_teacher_recall(eg_client *c, const char *name, eg_learner **out);

/* What the network at param and state makes of the batch's rows in eval form, into inputs of
 * the batch's plan: its logits [batch, n_classes], its features [batch, d]. A NULL name: that
 * is not wanted. */
eg_status eg_teacher_tell(eg_client *c, const float *param, const float *state,
                          const char *logits, const char *features);

/* The mean over rows of -sum p log q, where p = softmax(told / temperature) and q is the same
 * of own, both [n, k]. open [1, k], which is added to both before, may close outputs. */
eg_node *eg_teacher_loss(eg_graph *g, eg_node *told, eg_node *own, double temperature,
                         eg_node *open);

/* open [n_classes]: 0 for outputs of classes that tasks before the client's stage have, for
 * whichever client, and so low a number for the others that a softmax closes them. */
void eg_teacher_open_old(const eg_client *c, float *open);

#endif
