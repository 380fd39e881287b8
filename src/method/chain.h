/* chain.h - the parts of a run, and the only place that walks them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every hook is called, timed and blamed here: its seconds count for its part, its error has
 * the part's name before it.
 */
#ifndef EG_CHAIN_H
#define EG_CHAIN_H

#include <engram/method.h>

enum {
    EG_MAX_PARTS = 8,
    EG_ALL_REPLAYS = EG_MAX_PARTS * EG_MAX_REPLAYS,
    EG_ALL_EXCHANGES = 1 + EG_MAX_PARTS * EG_MAX_EXCHANGES
};

/* One part of a method, with its options as set. */
typedef struct eg_part {
    const eg_method *method;
    void *options; /* [method->size] */
} eg_part;

/* The parts of a run, in the order they were written. */
typedef struct eg_parts {
    size_t n;
    eg_part at[EG_MAX_PARTS];
} eg_parts;

eg_status eg_parts_add(eg_parts *p, const eg_method *m); /* EG_EINVAL: twice, or too many */
void eg_parts_free(eg_parts *p);
const char *eg_parts_name(const eg_parts *p, size_t i);
/* Whose name its random numbers follow. */
const char *eg_parts_stream(const eg_parts *p, size_t i);
void eg_parts_names(const eg_parts *p, const char *names[EG_MAX_PARTS]);

/* Calls visit for every part, in order. */
typedef void (*eg_part_visit)(void *to, const eg_method *method, const void *options);
void eg_parts_each(const eg_parts *p, eg_part_visit visit, void *to);

/* Whether an entry of a bundle is a part's: its name begins with the part's, "ewc.fisher". */
bool eg_parts_own(const eg_parts *p, const char *entry);

/* Whether a part of this name is among them; sets one of its options (EG_ENOENT: it is not). */
bool eg_parts_has(const eg_parts *p, const char *part);
eg_status eg_parts_set(eg_parts *p, const char *part, const char *option, const char *value);

/* The names of a replay's inputs in a plan. */
typedef struct eg_replay_inputs {
    char x[24], labels[24], logits[24];
} eg_replay_inputs;

/* What the parts wish, all together. */
typedef struct eg_agreement {
    eg_wishes all;   /* replays and exchanges are below */
    size_t outputs;  /* the part that makes outputs; EG_MAX_PARTS: none */
    size_t answers;  /* the part that answers tests; likewise */
    bool weighs;     /* a part has factors for the mean */
    bool sends_each; /* a part sends each client something of its own */
    bool has_models; /* a part has models of clients */
    bool shows;      /* a part's clients draw */
    bool hides;      /* the server learns sums of answers alone */
    bool fixed_rows; /* no part changes samples or rows of batches, or leaves rounds out */
    size_t n_replays, n_exchanges, n_uploads;
    const char *uploads[EG_MAX_PARTS * EG_MAX_UPLOADS];
    struct {
        size_t part, index; /* whose, and which of its own */
        eg_replay is;
        eg_replay_inputs inputs;
    } replays[EG_ALL_REPLAYS];
    struct {
        size_t part; /* EG_MAX_PARTS: all of them */
        int number;  /* as the part counts */
        eg_exchange is;
    } exchanges[EG_ALL_EXCHANGES]; /* the first is training */
} eg_agreement;

/* Asks every part once. has_memory: the experiment declares one. */
eg_status eg_parts_setup(const eg_parts *p, const eg_setting *in, bool has_memory,
                         eg_agreement *out);

/* sums.c: what answers to exchange x hold beside the model where their sum alone is told, a
 * bundle to be freed. */
eg_status eg_parts_sums(const eg_parts *p, const eg_agreement *a, const eg_net *net, size_t x,
                        eg_bundle **out);
/* EG_ENOTSUP: the server looks at single answers of a part that wishes this. */
eg_status eg_part_check_sums(const eg_method *m, const eg_wishes *w);

/* EG_ENOTSUP: the part needs its answers in the round they were asked for. */
eg_status eg_part_check_late(const eg_method *m, const eg_wishes *w);

/* What the answering part declares, a bundle to be freed; NULL if there is no such part. */
eg_status eg_parts_known(const eg_parts *p, const eg_agreement *a, const eg_net *net,
                         eg_bundle **out);

/* The answers of a method alone. Declares what they know; records them, with known's tensors as
 * inputs; fills these, from `values` where it has them, else with those declared. */
eg_status eg_answers_know(const eg_method *m, const void *options, const eg_net *net,
                          eg_bundle **out);
eg_node *eg_answers_record(const eg_method *m, const void *options, const eg_net *net,
                           const eg_bundle *known, eg_graph *g, eg_asked in);
eg_status eg_answers_fill(eg_plan *plan, const eg_bundle *known, const eg_bundle *values);

/* One half of every part, with its state. */
typedef struct eg_chain {
    const eg_parts *parts;
    const eg_agreement *agreed;
    bool is_server;
    void *states[EG_MAX_PARTS];
    double seconds[EG_MAX_PARTS]; /* spent in each part's hooks so far */
    uint64_t flops;               /* that plans computed in hooks so far */
} eg_chain;

eg_status eg_chain_open(eg_chain *c, const eg_parts *parts, const eg_agreement *agreed,
                        bool is_server);
void eg_chain_close(eg_chain *c);
/* Ends the states there are and begins them anew: options, then zeros. */
void eg_chain_reset(eg_chain *c);

/* The client's hooks. x is the exchange's place in the agreement. */
eg_status eg_chain_download(eg_chain *k, eg_client *c, size_t x, const eg_bundle *from);
eg_status eg_chain_task(eg_chain *k, eg_client *c);
eg_status eg_chain_samples(eg_chain *k, eg_client *c);
eg_node *eg_chain_outputs(const eg_chain *k, const eg_net *net, eg_graph *g, eg_node *features,
                          eg_node *tasks);
eg_node *eg_chain_loss(eg_chain *k, eg_client *c, eg_graph *g, eg_node *loss);
uint64_t eg_chain_form(eg_chain *k, eg_client *c, uint64_t form); /* mixed into form */
eg_status eg_chain_fill(eg_chain *k, eg_client *c);
eg_status eg_chain_grad(eg_chain *k, eg_client *c);
eg_status eg_chain_trained(eg_chain *k, eg_client *c);
eg_status eg_chain_answer(eg_chain *k, eg_client *c, size_t x, eg_bundle *to);

eg_status eg_chain_show(eg_chain *k, eg_client *c, struct eg_gallery *to);
eg_status eg_chain_know_own(eg_chain *k, eg_client *c, eg_bundle *to);
eg_node *eg_chain_answers(const eg_chain *k, const eg_net *net, const eg_bundle *known,
                          eg_graph *g, eg_asked in);

/* The server's. */
eg_status eg_chain_begin(eg_chain *k, eg_server *s);
bool eg_chain_wants(eg_chain *k, eg_server *s, size_t x);
eg_status eg_chain_send(eg_chain *k, eg_server *s, size_t x, eg_bundle *to);
eg_status eg_chain_send_one(eg_chain *k, eg_server *s, int64_t client, eg_bundle *to);
eg_status eg_chain_accept(eg_chain *k, eg_server *s, size_t x, int64_t client,
                          const eg_bundle *from);
double eg_chain_weight(eg_chain *k, eg_server *s, int64_t client, const eg_bundle *from);
eg_status eg_chain_collect(eg_chain *k, eg_server *s, size_t x, int64_t client,
                           const eg_bundle *from);
eg_status eg_chain_refine(eg_chain *k, eg_server *s, float *param, float *state);
eg_status eg_chain_work(const eg_chain *k, size_t part, const eg_piece *p, eg_bundle *to);
eg_status eg_chain_finish(eg_chain *k, eg_server *s, size_t x);
eg_status eg_chain_model_of(eg_chain *k, eg_server *s, int64_t client, eg_bundle *to);
eg_status eg_chain_save(eg_chain *k, eg_server *s);
eg_status eg_chain_exhibit(eg_chain *k, eg_server *s, struct eg_gallery *to);
eg_status eg_chain_know(eg_chain *k, eg_server *s, eg_bundle *to);

#endif
