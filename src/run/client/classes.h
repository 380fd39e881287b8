/* classes.h - which of the head's outputs count: all, or those of classes that were met.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLASSES_H
#define EG_CLASSES_H

#include "run/client/worker.h"

/* What an output that does not count has added to it before the softmax: its probability, and
 * so its gradient, is exactly 0. */
#define EG_MASKED (-1e9f)

/* Marks the classes of all tasks that who (a client, or EG_SERVER: anyone) met in the rounds
 * before the cursor's. met: [n_classes]. */
void eg_classes_mark(const eg_scenario *s, const eg_cursor *c, int64_t who, uint8_t *met);

/* Writes the marked ones, ascending, and returns how many. list: [n_classes] */
int64_t eg_classes_list(const eg_scenario *s, const uint8_t *met, int32_t *list);

/* At the beginning of a turn: what the client's rows may be taken for. */
void eg_worker_meet(eg_worker *w);

/* The logits as the loss sees them: a plan's input "mask" is added if classes are left out, and
 * all are divided by the temperature. */
eg_node *eg_worker_judged(const eg_worker *w, eg_graph *g, eg_node *logits);

/* Fills that input, and the one of eg_client_counted, once the labels are there. The first n
 * rows are these samples; of the others the task is not known. */
void eg_worker_mask(eg_worker *w, eg_plan *plan, const eg_sample *samples, int64_t n,
                    int64_t rows);

#endif
