/* texts.h - texts as a network sees them: numbers of pieces, lengths, and what is behind them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_TEXTS_H
#define EG_SRC_TEXTS_H

#include <engram/layers.h>

/* Of x [n, 1, 1, t], whose numbers are -1 behind a text's end. */
typedef struct eg_texts {
    int64_t n, most;
    eg_node *ids;     /* [n, t], 0 behind the end; poison: x is no text */
    eg_node *within;  /* [n, t, 1]: 1 within the text, else 0 */
    eg_node *lengths; /* [n] */
} eg_texts;
eg_texts eg_texts_of(eg_graph *g, eg_node *x);

/* Rows of a table [pieces, w]: [n, t, w]. */
eg_node *eg_texts_embed(eg_graph *g, const eg_texts *t, eg_node *table);

/* The first t rows of a table of positions [longest, w], as [1, t, w]. */
typedef struct eg_positions {
    const char *name;
    int64_t longest, width;
    eg_init init;
} eg_positions;
eg_node *eg_texts_positions(eg_graph *g, eg_params *p, const eg_texts *t,
                            const eg_positions *spec);

/* The mean of h [n, t, w] over each text: [n, w]; zeros for a text without pieces. */
eg_node *eg_texts_mean(eg_graph *g, const eg_texts *t, eg_node *h);

/* "layer.part" */
eg_layer_name eg_layer_part(const char *layer, const char *part);

#endif
