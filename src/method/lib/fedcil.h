/* fedcil.h - what the two halves of FedCIL share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_FEDCIL_H
#define EG_FEDCIL_H

#include <engram/method.h>

enum { EG_FEDCIL_BY_TASK, EG_FEDCIL_BY_ROUND };
enum { EG_FEDCIL_LATER, EG_FEDCIL_ALWAYS };
enum { EG_FEDCIL_HEADS_SEEN, EG_FEDCIL_HEADS_MEAN };

/* Tasks are counted no further. */
enum { EG_FEDCIL_MOST_TASKS = 1 << 30 };

typedef struct eg_fedcil {
    double consistency, pull;
    int64_t steps, width;
    int form, heads, boundary, agrees;
    double lr, beta1, beta2, weight_decay;
} eg_fedcil;

/* Some of the classes. Zeroed bytes are a set of none of no classes. */
typedef struct eg_label_set {
    int64_t classes, n;
    float *mask; /* [classes]: 1 or 0 */
    float *list; /* [n], rising; room for all */
} eg_label_set;

eg_status eg_label_set_init(eg_label_set *s, int64_t classes);
void eg_label_set_fini(eg_label_set *s);
void eg_label_set_clear(eg_label_set *s);
void eg_label_set_add(eg_label_set *s, int64_t label);
/* Adds all of another set, as a mask [classes]. */
void eg_label_set_join(eg_label_set *s, const float *mask);

/* Its mask in a bundle, and back: a failure unless it is there, whole and of ones and zeros.
 */
eg_status eg_label_set_write(const eg_label_set *s, const char *name, eg_bundle *to);
eg_status eg_label_set_read(eg_label_set *s, const char *name, const eg_bundle *from);

/* The generator of these options, for the run's network. */
typedef struct eg_fedcil_spec {
    char options[256];
    eg_generator_spec is;
} eg_fedcil_spec;
void eg_fedcil_describe(const eg_fedcil *f, const eg_net *net, bool draws_only,
                        eg_fedcil_spec *out);

/* The client's half (fedcil.c). */
typedef struct eg_fedcil_client {
    eg_fedcil is;
    eg_generator *own, *past, *global; /* trained now; as the last task left it; the server's */
    eg_label_set now, before;          /* the client's classes of this task, of earlier ones */
    eg_label_set mine, all;            /* both of these; any client's */
    int64_t tasks;                     /* that have ended */
    bool replays, agrees;              /* there is a past; consistency counts */
    double loss;                       /* of the generator: sum over the steps of this turn */
} eg_fedcil_client;

/* fedcil_variety.c: a note if the generator's drawings of a class of now vary less than 5 % of
 * what the real ones do. */
eg_status eg_fedcil_note_alike(const eg_fedcil_client *f, eg_client *c);

/* fedcil_server.c */
typedef struct eg_fedcil_server {
    eg_fedcil is;
    eg_generator *own;           /* the global one */
    eg_learner *critic;          /* the model while it is consolidated, and its Adam */
    eg_label_set known;          /* any client's classes so far */
    eg_label_set now, past;      /* an upload's, */
    int64_t tasks;               /* and how many tasks have ended for its client */
    struct eg_fedcil_sums *sums; /* of this round's uploads */
    int64_t *clients;            /* [n_clients]: who sent them */
    size_t n_clients, cap_clients;
} eg_fedcil_server;

void eg_fedcil_server_fini(void *self);
eg_status eg_fedcil_begin(void *self, eg_server *s);
eg_status eg_fedcil_send(void *self, eg_server *s, int exchange, eg_bundle *to);
eg_status eg_fedcil_accept(void *self, eg_server *s, int exchange, int64_t client,
                           const eg_bundle *from);
eg_status eg_fedcil_collect(void *self, eg_server *s, int exchange, int64_t client,
                            const eg_bundle *from);
eg_status eg_fedcil_refine(void *self, eg_server *s, float *param, float *state);
eg_status eg_fedcil_save(void *self, eg_server *s);
eg_status eg_fedcil_exhibit(void *self, eg_server *s, struct eg_gallery *to);

/* fedcil_consolidate.c: the server's steps (Equation 10), on param and state, the mean of the
 * models, and on the generator. Leaves all as it is, and says so in a note, if they diverge. */
eg_status eg_fedcil_consolidate(eg_fedcil_server *f, eg_server *s, float *param, float *state);

/* A client's drawings for it, as a piece of the server's work. */
eg_status eg_fedcil_work(const void *options, const eg_piece *piece, eg_bundle *to);

/* What the server keeps of a client: "now" is its generator of its last upload, "last" the one
 * its last task left. */
void eg_fedcil_record_name(int64_t client, char out[48]);

#endif
