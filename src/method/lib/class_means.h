/* class_means.h - what methods share that answer with the class whose mean feature is nearest.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clients send sums of features and counts by class, measured at the new global model, in an
 * exchange of which only the mean is used. The server divides, and keeps a class's last mean
 * while nobody has rows of it. Tests know "means" [classes, d] and "there" [classes], 1 for a
 * class that has a mean.
 */
#ifndef EG_CLASS_MEANS_H
#define EG_CLASS_MEANS_H

#include <engram/method.h>

/* Rows and their features in eval form at the client's model. */
typedef struct eg_felt {
    int64_t n;
    float *x, *labels; /* [n, c, h, w], [n] */
    float *features;   /* [n, d] */
} eg_felt;
/* Of samples of spans, as they are. Free with eg_felt_free, also after a failure. */
eg_status eg_felt_spans(eg_client *c, const eg_span *spans, int64_t n_spans, bool unit,
                        eg_felt *out);
void eg_felt_free(eg_felt *f);

/* The exchange that brings them; of a part with these options, in which only the mean is used.
 */
typedef struct eg_class_means_opts {
    bool unit, mirror; /* features have length 1; rows count mirrored too */
} eg_class_means_opts;
enum { EG_CLASS_MEANS = 1 };

/* The answer of a client in that exchange, "<part>.sums" and "<part>.counts": of its samples
 * and of its memory's rows. */
eg_status eg_class_sums(eg_client *c, const eg_class_means_opts *is, eg_bundle *to);
eg_status eg_class_means_answer(void *self, eg_client *c, int exchange, eg_bundle *to);

/* The whole server half of such a part. */
typedef struct eg_class_means {
    eg_class_means_opts is;
    eg_bundle *known; /* NULL: nothing is yet */
} eg_class_means;
void eg_class_means_fini(void *self);
eg_status eg_class_means_begin(void *self, eg_server *s);
eg_status eg_class_means_accept(void *self, eg_server *s, int exchange, int64_t client,
                                const eg_bundle *from);
eg_status eg_class_means_collect(void *self, eg_server *s, int exchange, int64_t client,
                                 const eg_bundle *from);
eg_status eg_class_means_save(void *self, eg_server *s);
eg_status eg_class_means_know(void *self, eg_server *s, eg_bundle *to);
#define EG_CLASS_MEANS_SERVER                                                                  \
    {                                                                                          \
        .size = sizeof(eg_class_means), .fini = eg_class_means_fini,                           \
        .begin = eg_class_means_begin, .accept = eg_class_means_accept,                        \
        .collect = eg_class_means_collect, .save = eg_class_means_save,                        \
        .know = eg_class_means_know                                                            \
    }

/* Means from sums: a class without rows keeps its last. *known comes NULL, or as it was. */
eg_status eg_class_means_take(const char *part, const eg_net *net, bool unit,
                              const eg_bundle *from, eg_bundle **known);

/* Hooks of the method: what is declared, and the answers, minus the squared distance up to what
 * all classes share. */
eg_status eg_class_means_declare(const void *options, const eg_net *net, eg_bundle *out);
eg_node *eg_class_means_answers(const void *options, const eg_net *net, eg_graph *g,
                                const eg_asked *in);

#endif
