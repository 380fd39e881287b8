/* acgan.h - the losses of an ACGAN's two networks, and steps on images of one's own.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_ACGAN_H
#define EG_ACGAN_H

#include <engram/generator.h>
#include <engram/model.h>

/* The loss of a critic's class head on n rows: cross entropy; of ReACGAN's head, the one
 * between rows. features [n, d], labels [n] */
eg_node *eg_acgan_told(const eg_net *critic, eg_graph *g, eg_node *features, eg_node *labels);

/* How a critic (features, class head, side) takes n rows that are real or drawn:
 * BCE(side, real) + its head's loss. */
eg_node *eg_acgan_judged(const eg_net *critic, eg_graph *g, eg_node *features, eg_node *labels,
                         bool real);

/* The generator's own loss on its drawings: the critic should take them for real ones of their
 * labels. context is the critic, an eg_net. */
eg_node *eg_acgan_fool(void *context, eg_graph *g, eg_node *images, eg_node *labels);

/* One step of both networks. */
typedef struct eg_acgan_step {
    const eg_net *critic; /* any network with a side of 1 */
    eg_learner *learner;  /* its values and optimiser */
    eg_images now;        /* n rows taken for real */
    eg_images past; /* as many drawn ones of what was learned before, taken for real too; each
                       half counts 0.5. n is 0: there are none */
    int64_t n_labels;
    const float *labels; /* [n_labels]: the classes that are drawn, each as often */
} eg_acgan_step;

/* Steps the critic, then the machine's generator. losses: of generator and critic. A machine
 * has one critic all its life. */
eg_status eg_acgan_learn(eg_generator *m, const eg_acgan_step *step, eg_rng *rng,
                         double losses[EG_MAX_LEARNERS]);

/* Labels drawn uniformly from a list. out [n] */
void eg_labels_draw(eg_rng *rng, const float *labels, int64_t n_labels, int64_t n, float *out);

#endif
