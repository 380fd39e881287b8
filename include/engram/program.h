/* engram/program.h - one computation for any batch size: a bounded cache of plans.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Shapes are fixed in a graph, so every batch size has a plan of its own. A program records and
 * compiles one when a size is first asked for, keeps the few used last, and binds them all
 * alike. One thread at a time; two programs share nothing that changes.
 */
#ifndef EG_PROGRAM_H
#define EG_PROGRAM_H

#include <engram/graph.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_program eg_program;

/* Records the computation for a batch into g. Errors stick to g. What else the recording
 * depends on is the caller's, who gives each form of it another variant. */
typedef void (*eg_recorder)(void *context, eg_graph *g, int64_t batch);

/* A program that keeps at most max_plans plans. context must outlive it. */
eg_status eg_program_new(eg_recorder record, void *context, size_t max_plans, eg_program **out);
void eg_program_free(eg_program *p); /* NULL is fine */

/* From now on its plans share a room (eg_compile_in) with those of the thread's other programs.
 */
void eg_program_share(eg_program *p, eg_room *room);

/* Arrays for a table, as eg_plan_bind, for the plans there are and those to come. The same ones
 * again cost nothing. */
eg_status eg_program_bind(eg_program *p, const eg_params *table, float *value, float *grad,
                          float *state);
/* The same for plans without gradients whose batch norm has its eval form: these only read. */
eg_status eg_program_read(eg_program *p, const eg_params *table, const eg_weights *at);

/* The plan for a batch size, bound. Borrowed: valid until max_plans other sizes were asked for.
 */
eg_status eg_program_plan(eg_program *p, int64_t batch, eg_plan **out);
eg_status eg_program_plan_of(eg_program *p, int64_t batch, uint64_t variant, eg_plan **out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
