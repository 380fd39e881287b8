/* engram/target.h - what samples are to come to: a class, boxes, or numbers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kind of target says how a loss is recorded of outputs and targets, and how outputs are
 * judged: answers are counted as right or wrong, or a judge says what all outputs of a test
 * come to. A target is `width` floats: it stands beside its sample in tables, batches and
 * memories. Parts that need one class for each sample say so (eg_wishes.classes). All of it is
 * constant, so that threads may share it.
 */
#ifndef EG_TARGET_H
#define EG_TARGET_H

#include <engram/box.h>
#include <engram/data.h>
#include <engram/exchange.h>
#include <engram/model.h>
#include <engram/op.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_target eg_target;

/* What the outputs of a run's network are held to: the kind, with what data and network settle.
 */
typedef struct eg_aim {
    const eg_target *kind;
    int64_t classes;  /* of samples, or of what is on them */
    int64_t width;    /* floats of a target */
    int64_t outputs;  /* floats that the network puts out for a sample */
    eg_region region; /* of boxes */
    char model[512];  /* what the network is to be told: "anchors=[...]" */
} eg_aim;

/* What an aim is made of; all of it the caller's. */
typedef struct eg_aiming {
    const eg_model *model;
    const void *options;   /* the model's, as they are set */
    const eg_table *train; /* [n_train], with samples as they are fed */
    size_t n_train;
    int64_t fan; /* outputs of a class */
} eg_aiming;

/* A score that is no count of right answers is so many millionths. */
#define EG_MILLION 1000000
/* What the first rate of a judge counts as among right answers of EG_MILLION. */
int64_t eg_rate_right(double rate);

/* The contract of a kind: one file src/engine/target/<name>.c, one line in
 * src/engine/target/list.inc. Targets are [n] where their width is 1, else [n, width]. */
struct eg_target {
    eg_component component; /* without options */
    const char *things;     /* what targets are, in sentences: "classes" */
    bool classes;           /* a target is the number of its sample's one class */
    /* What a judge's rates are, up to a NULL: the first, from 0 to 1, is the test's accuracy.
     * They are followed by the same of each class if `by_class`. NULL: answers are counted. */
    const char *const *rates;
    bool by_class;
    /* Settles what the network puts out. */
    eg_status (*settle)(eg_aim *a, const eg_aiming *in);
    /* Records the mean loss over rows, a scalar. outputs [n, a->outputs] */
    eg_node *(*loss)(const eg_aim *a, eg_graph *g, eg_node *outputs, eg_node *targets);
    /* Records the loss of each row, [n]. */
    eg_node *(*losses)(const eg_aim *a, eg_graph *g, eg_node *outputs, eg_node *targets);
    /* NULL, or changes a target as crop and flip changed its image. */
    void (*move)(const eg_aim *a, float *target, const eg_box_move *how);
    /* A judge of the outputs of n rows, and its end. It says what there is to look at if it is
     * to `tell`. */
    eg_status (*judge_new)(const eg_aim *a, int64_t n, bool tells, void **judge);
    void (*judge_free)(void *judge);
    /* n rows more, in order. */
    eg_status (*judge_add)(void *judge, int64_t n, const float *outputs, const float *targets);
    /* Adds what all of them come to: "rates"; and what else is told. */
    eg_status (*judge_end)(void *judge, eg_bundle *to);
};

extern const eg_target *const eg_targets[]; /* NULL at the end */
extern const eg_family eg_target_family;
const eg_target *eg_target_find(const char *word); /* as eg_family_find; NULL: classification */

/* What is shown of a test of n rows: up to EG_SHOWN_ROWS that lie evenly. Row number k of them,
 * and how many there are. */
#define EG_SHOWN_ROWS ((int64_t)6)
static inline int64_t eg_shown_rows(int64_t n)
{
    return n < EG_SHOWN_ROWS ? n : EG_SHOWN_ROWS;
}
static inline int64_t eg_shown_row(int64_t n, int64_t k)
{
    return (2 * k + 1) * n / (2 * eg_shown_rows(n));
}

/* Boxes that a row of outputs says, suppressed and the surest first; returns how many. found
 * has room for every class at every anchor of every cell. */
int64_t eg_region_found(const eg_region *r, const float *outputs, eg_found *found);

/* What a run's outputs are held to: classes and targets as the tables have them. */
eg_status eg_aim_new(const eg_target *kind, const eg_aiming *in, eg_aim *out);

/* Numbers in "rates". */
size_t eg_aim_rates(const eg_aim *a);

/* The shape of n targets. */
eg_shape eg_aim_shape(const eg_aim *a, int64_t n);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
