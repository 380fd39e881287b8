/* prompts.h - what methods with prompts share: the query of an image, its likeness with keys,
 * which tasks a row may be of, and prompts as keys and values of blocks.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_LIB_PROMPTS_H
#define EG_LIB_PROMPTS_H

#include <engram/method.h>

/* The blocks that have prompts: `count` of them, from block `first` on. */
typedef struct eg_prompted {
    int64_t first, count;
} eg_prompted;

/* The features [n, d] that the frozen network itself has of x, as constants. */
eg_node *eg_prompts_query(const eg_net *net, eg_graph *g, eg_node *x);

/* Cosines [n, pool] of queries with trained keys, named "<method>.key". */
eg_node *eg_prompts_likeness(const eg_net *net, eg_graph *g, eg_node *query, const char *key,
                             int64_t pool);

/* loss - pull mean_x sum_chosen likeness; chosen [n, k] are indices into its rows. */
eg_node *eg_prompts_pull(eg_graph *g, eg_node *loss, eg_node *likeness, eg_node *chosen,
                         double pull);

/* [n, n_tasks], 1 where a row of x may be of the task: of the batch at its own, or where that
 * is not known, at all that were met. NULL: nobody tells, as with a saved model of old. */
eg_node *eg_prompts_tasks(eg_graph *g, const eg_node *x);
/* [n_tasks], 1 at tasks that were met. NULL: nobody tells. */
eg_node *eg_prompts_met(eg_graph *g);

/* Marks the graph and returns false if the network lacks one of the blocks. */
bool eg_prompts_fit(const eg_net *net, eg_graph *g, eg_prompted blocks);

/* The features [n, d] of tokens with keys and values beside those of blocks: prefixes [depth].
 */
eg_node *eg_prompts_features(const eg_net *net, eg_graph *g, eg_node *x,
                             eg_node *const *prefixes);

/* The most blocks that a network with prompts may have. */
enum { EG_PROMPTS_DEPTH = 128 };

#endif
