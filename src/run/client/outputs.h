/* outputs.h - what the network puts out, of its head or as a part makes it of features, and
 * which of these outputs count: all, or those of classes that were met.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_OUTPUTS_H
#define EG_OUTPUTS_H

#include "run/client/worker.h"

/* Plan inputs [n, n_tasks], 1 where a row may be of the task: OPEN with the task hidden, TOLD
 * in task-IL tests. They are there only if a part makes outputs, or features that read OPEN. */
#define EG_OUTPUTS_OPEN EG_TASKS_OPEN
#define EG_OUTPUTS_TOLD "told tasks"
/* The same for rows apart from the batch: [n_tasks], one for all of them. */
#define EG_OUTPUTS_MET EG_TASKS_MET

/* Whether a part makes outputs. */
bool eg_outputs_own(const eg_agreement *a);

/* Before the features of a batch: declares the tasks that a part's features may read. */
void eg_outputs_declare(const eg_worker *w, eg_graph *g, int64_t batch);

/* Records outputs [n, n_classes] of features [n, d]; tasks is the input's name. */
eg_node *eg_outputs_record(const eg_worker *w, eg_graph *g, eg_node *features,
                           const char *tasks);

/* Says which tasks the rows of a plan are of: the first n are samples; of the others, which
 * come from a memory, only that they are of the client's tasks so far. */
void eg_outputs_tell(eg_worker *w, eg_plan *plan, const eg_sample *samples, int64_t n,
                     int64_t rows);

/* A graph that skips a head does not write its gradient, so grad [n_params] is cleared before
 * each run. */
void eg_outputs_clear(const eg_worker *w, float *grad);

/* What eg_outputs_tell says, for the rows of a test: of a task learned by now, and of the
 * exam's. */
void eg_outputs_ask(eg_worker *w, eg_plan *plan, const eg_exam *exam, int64_t rows);

/* --- Which of them count. */

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
