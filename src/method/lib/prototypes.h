/* prototypes.h - one vector for every class, the mean of its features, and a radius for all.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Equations are those of FedSpace (Shenaj et al., 2023, arXiv:2304.03626).
 */
#ifndef EG_PROTOTYPES_H
#define EG_PROTOTYPES_H

#include <engram/method.h>

typedef struct eg_prototypes {
    int64_t n_classes, d;
    bool *known;   /* [n_classes] */
    float *means;  /* [n_classes, d] */
    double radius; /* of the noise around them; below 0: not known */
} eg_prototypes;

/* The setup hook of parts that need nothing but classes. */
eg_status eg_prototypes_setup(const void *options, const eg_setting *in, eg_wishes *out);

/* Room for all classes, none of which is known. Zeroed bytes may be ended too. */
eg_status eg_prototypes_init(eg_prototypes *p, const eg_scenario *s, const eg_net *net);
void eg_prototypes_fini(eg_prototypes *p);
void eg_prototypes_clear(eg_prototypes *p);
int64_t eg_prototypes_count(const eg_prototypes *p); /* of known ones */

/* Takes over what is known in `from`, radius included; the others stay. */
void eg_prototypes_update(eg_prototypes *p, const eg_prototypes *from);

/* Into a bundle and back: "<part>.classes" [m], "<part>.prototypes" [m, d], "<part>.radius".
 * What is there is taken over as eg_prototypes_update does, once all of it is found good: class
 * numbers that are whole, in range and there once, a radius of 0 or more. */
eg_status eg_prototypes_write(const eg_prototypes *p, const char *part, eg_bundle *to);
eg_status eg_prototypes_read(eg_prototypes *p, const char *part, const eg_bundle *from);

/* EG_EINVAL unless these are n different classes, whole numbers in range. */
eg_status eg_prototypes_check_classes(const eg_prototypes *p, const float *classes, size_t n);

/* The same for a client's record under the part's name. */
eg_status eg_prototypes_recall(eg_prototypes *p, const char *part, eg_client *c);
eg_status eg_prototypes_keep(const eg_prototypes *p, const char *part, eg_client *c);

/* Where and of what prototypes are measured: as the paper has it, upright samples as they are;
 * or as its release does, with random crops and flips, padded, and with classes of fewer than
 * two samples in the radius, as 0. */
typedef enum eg_measure { EG_MEASURE_PAPER, EG_MEASURE_RELEASE } eg_measure;

/* Equations 4 and 5 for the client's samples of this round, at its model as it stands. */
eg_status eg_prototypes_measure(eg_prototypes *p, eg_client *c, eg_measure how);

/* Known prototypes that are drawn from. */
typedef struct eg_draws {
    const eg_prototypes *of;
    int64_t n;
    int32_t *classes; /* [n] */
} eg_draws;
/* All that are known, or without those of the client's task. Free classes. */
eg_status eg_draws_init(eg_draws *d, const eg_prototypes *of, const eg_client *c,
                        bool with_current);
bool eg_prototypes_is_current(const eg_client *c, int64_t class);

/* Equation 7: fills x [n, d] and classes [n] with prototypes drawn evenly, each with normal
 * noise as wide as the radius. number: which of the part's random draws. */
void eg_draws_fill(const eg_draws *d, const eg_client *c, uint32_t number, int64_t n, float *x,
                   float *classes);

/* Samples of the current batch: as many are drawn. */
static inline int64_t eg_draws_count(const eg_client *c)
{
    return c->n_drawn / eg_train_fan(c->train);
}

/* Equation 8: records the mean cross entropy, over all outputs and at the run's temperature, of
 * drawn prototypes; and draws them, with number 0. Inputs are "<part>.old" and "<part>.old
 * labels". */
eg_node *eg_draws_loss(const char *part, eg_client *c, eg_graph *g);
void eg_draws_fill_loss(const eg_draws *d, const char *part, const eg_client *c);

#endif
