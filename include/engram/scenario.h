/* engram/scenario.h - who sees what when: a data set as a stream of samples per client.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A scenario gives every client a list of stages. A stage is a list of spans; a span is sample
 * numbers of one task. A cursor walks the rounds: it says who takes part, and which stage each
 * of them is in. A scenario is read-only once built, and everything in it, selection included,
 * is a function of (spec, labels, seed): a cursor can be moved to any round. It knows labels,
 * never pixels. Scenarios may be shared between threads; a cursor belongs to one.
 *
 * Draws come from eg_rng_at(seed, client, round, purpose); which stream serves what, and the
 * rule of every split and schedule, is in docs/scenario-rules.md.
 */
#ifndef EG_SCENARIO_H
#define EG_SCENARIO_H

#include <engram/component.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Where a function asks for a client: the server's view, over all clients. */
#define EG_SERVER (-1)

typedef struct eg_spec eg_spec;
typedef struct eg_scenario eg_scenario;
typedef struct eg_cursor eg_cursor;

/* What a scenario lets a method know. */
typedef enum eg_offer {
    EG_OFFERS_BOUNDARIES = 1,   /* a client is told when its task changes */
    EG_OFFERS_TASK_IDS = 2,     /* a client is told which task it works on */
    EG_OFFERS_COMMON_TASKS = 4, /* all clients change task in the same round */
    EG_OFFERS_TASK_CLASSES = 8, /* tasks differ in classes: task-IL accuracy has a meaning */
    EG_OFFERS_TEST_TASKS = 16,  /* the task is known at test time */
} eg_offer;

/* What a scenario needs of one data source. The arrays stay the caller's. */
typedef struct eg_labels {
    int64_t n_train, n_test, classes;
    const int32_t *train; /* [n_train] */
    const int32_t *test;  /* [n_test] */
    const int32_t *group; /* [n_train], the natural owner of each sample from 0 on; or NULL */
} eg_labels;

typedef enum eg_warp { EG_WARP_NONE, EG_WARP_ROTATE, EG_WARP_PERMUTE } eg_warp;

typedef struct eg_task {
    int32_t source;  /* which data source */
    eg_warp warp;    /* how its images are changed, in training and test alike */
    double angle;    /* of a rotation: degrees, counter-clockwise */
    uint32_t key[2]; /* of a permutation: see eg_task_permutation */
    int64_t n_classes;
    const int32_t *classes; /* ascending; with own classes, all that any client has in it */
} eg_task;

typedef struct eg_span {
    int32_t task, n;
    const int64_t *ids; /* [n], numbers of training samples of the task's source */
} eg_span;

/* What one client has in one round. */
typedef struct eg_view {
    int64_t stage;    /* which of the client's stages */
    int64_t task;     /* of its first span */
    int64_t n;        /* samples, all spans together: the client's weight */
    int64_t n_padded; /* n filled up to a multiple of `pad`: sample i >= n is sample i mod n */
    int64_t n_spans;
    const eg_span *spans; /* borrowed from the scenario */
    int64_t left;         /* the stage it took part in last, -1 if none */
    bool first;           /* it has not taken part in this stage before: a task begins */
    bool last;            /* the stage ends with this round, as far as can be known now */
} eg_view;

/* The kinds of scenarios, and the options they all share; the partitioners. */
extern const eg_family eg_kind_family, eg_partition_family;
const eg_opt *eg_scenario_opts(void);

/* An empty description. Set "kind" first, then its options ("clients", "rounds"), then
 * "partition" and "partition.alpha" and the like: the same names in files and flags. */
eg_status eg_spec_new(eg_spec **out);
eg_status eg_spec_set(eg_spec *spec, const char *name, const char *value);
void eg_spec_free(eg_spec *spec); /* NULL is fine */

/* Holds a share of each client's training samples out of training, of every class alike; 0:
 * none. EG_EINVAL: not from 0 to EG_MAX_VALIDATION. */
#define EG_MAX_VALIDATION 0.9
eg_status eg_spec_hold_out(eg_spec *spec, double share);
double eg_spec_validation(const eg_spec *spec);

/* Every setting as eg_spec_set takes it, in an order in which it can be set again. */
typedef void (*eg_spec_row)(void *to, const char *name, const char *value);
void eg_spec_each(const eg_spec *spec, eg_spec_row row, void *to);

/* Reads `data` and `scenario` of an experiment file and leaves the other keys alone. Errors
 * have file, line and column. */
eg_status eg_spec_load(const char *path, eg_spec **out);
size_t eg_spec_n_data(const eg_spec *spec);
const char *eg_spec_data(const eg_spec *spec, size_t i); /* NULL past the last */

/* Labels made from published counts, class after class: to plan a scenario without the data.
 * EG_ENOENT: none are known of this set. Free with eg_labels_free. */
eg_status eg_labels_published(const char *data, eg_labels *out);
void eg_labels_free(eg_labels *labels);

/* Builds it. A setting the labels cannot meet is one sentence that names it. Borrowed are only
 * the label arrays, until the scenario is freed. */
eg_status eg_scenario_new(const eg_spec *spec, uint64_t seed, const eg_labels *sources,
                          size_t n_sources, eg_scenario **out);
void eg_scenario_free(eg_scenario *s); /* NULL is fine */

const char *eg_scenario_name(const eg_scenario *s); /* its kind */
unsigned eg_scenario_offers(const eg_scenario *s);  /* eg_offer bits */
int64_t eg_scenario_n_clients(const eg_scenario *s);
/* The chance with which each client is drawn for a round by itself; 0: so many are drawn. */
double eg_scenario_chance(const eg_scenario *s);
/* The most samples that a client has in one stage. */
int64_t eg_scenario_most_samples(const eg_scenario *s);
/* How many of n clients that are there are wanted in a round. */
int64_t eg_scenario_wanted(const eg_scenario *s, int64_t n);
int64_t eg_scenario_n_tasks(const eg_scenario *s);
int64_t eg_scenario_n_rounds(const eg_scenario *s);
int64_t eg_scenario_n_classes(const eg_scenario *s);

/* True for a real-time stream: a client is tested on what it has met (eg_cursor_test). */
bool eg_scenario_streams(const eg_scenario *s);

/* EG_OK, or EG_ENOTSUP: "icarl needs task boundaries; scenario 'realtime' does not announce
 * them". */
eg_status eg_scenario_require(const eg_scenario *s, const char *who, unsigned needs);

/* Task t as the server sees it. */
const eg_task *eg_scenario_task(const eg_scenario *s, int64_t t);

/* The classes a client has in task t; all clients' together for EG_SERVER. Returns how many. */
int64_t eg_scenario_classes(const eg_scenario *s, int64_t client, int64_t t,
                            const int32_t **classes);

/* A permutation task's order of n pixels: pixel i of the result is pixel out[i] of the image.
 */
void eg_task_permutation(const eg_task *task, size_t n, int64_t *out);

/* A client's stages, whoever takes part when. */
int64_t eg_scenario_n_stages(const eg_scenario *s, int64_t client);
const eg_span *eg_scenario_spans(const eg_scenario *s, int64_t client, int64_t stage,
                                 int64_t *n);
/* What a client has in a stage, as far as no cursor is needed to tell: left, first and last are
 * not set. False: it has no such stage, or no data in it. */
bool eg_scenario_view(const eg_scenario *s, int64_t client, int64_t stage, eg_view *out);
/* Its rounds as scheduled, [begin, end); of a stage that lasts a number of participations,
 * those numbers. */
void eg_scenario_rounds(const eg_scenario *s, int64_t client, int64_t stage, int64_t *begin,
                        int64_t *end);

/* Fills ids with the test samples of task t (of a client's own classes in it, or the server's)
 * and returns how many; ids has room for eg_scenario_max_test(). */
int64_t eg_scenario_max_test(const eg_scenario *s);
int64_t eg_scenario_test(const eg_scenario *s, int64_t client, int64_t t, int64_t *ids);

/* The training samples of task t that are held out of the client's training; none is trained on
 * by anyone. Returns how many; ids are borrowed from the scenario. */
int64_t eg_scenario_validation(const eg_scenario *s, int64_t client, int64_t t,
                               const int64_t **ids);

/* True in the round after which a common task ends, and in the last round of all. The period of
 * a round, from 1 on: common tasks are one each, else all rounds are one. The period in which
 * some client first meets task t. */
bool eg_scenario_task_ends(const eg_scenario *s, int64_t round);
int64_t eg_scenario_period(const eg_scenario *s, int64_t round);
int64_t eg_scenario_learned(const eg_scenario *s, int64_t t);

/* How the split came out: who holds what, how often. */
typedef struct eg_proof {
    int64_t samples;     /* training samples of all sources */
    int64_t held;        /* of these, held by some client */
    int64_t lost;        /* in some task's classes, held by none */
    int64_t outside;     /* of classes in no task */
    int64_t shared;      /* held by more than one client */
    int64_t most;        /* the largest number of clients that hold one sample */
    int64_t twice;       /* held more than once by one client within one task */
    int64_t mislabelled; /* held in a task whose classes do not have its label */
    int64_t validation;  /* held out of training */
    int64_t leaked;      /* of these, some client trains on */
    int64_t strays;      /* sample numbers outside the training data: test data, or nothing */
    int64_t smallest, largest; /* samples of a client, counted once each */
} eg_proof;
eg_status eg_scenario_prove(const eg_scenario *s, eg_proof *out);

/* The digest of who gets what when, and the text it is a digest of, written piece by piece. */
typedef void (*eg_text_sink)(void *to, const char *text, size_t n);
eg_status eg_scenario_describe(const eg_scenario *s, eg_text_sink sink, void *to);
eg_status eg_scenario_digest(const eg_scenario *s, char out[65]);

/* A cursor stands before a round, at first before round 0. */
eg_status eg_cursor_new(const eg_scenario *s, eg_cursor **out);
void eg_cursor_free(eg_cursor *c); /* NULL is fine */
int64_t eg_cursor_round(const eg_cursor *c);

/* The clients of this round, ascending; borrowed until the cursor moves. Fewer than wanted when
 * fewer are there with data; may be none. */
const int32_t *eg_cursor_selected(const eg_cursor *c, int64_t *n);

/* What the client has if it takes part in this round; false if it is away, has not joined, or
 * has no data now. */
bool eg_cursor_view(const eg_cursor *c, int64_t client, eg_view *out);
bool eg_cursor_present(const eg_cursor *c, int64_t client);

/* Whether the client would take part in this round if it had data: everybody who is there is
 * wanted, it is there and took part before, but has no data now. *out is what it had then. */
bool eg_cursor_idle(const eg_cursor *c, int64_t client, eg_view *out);

/* Ends the round: the clients selected have taken part, but for those who were lost on the way.
 * lost: [n selected], by their place among them; NULL: none. */
void eg_cursor_next(eg_cursor *c, const bool *lost);

/* A client that was lost in an earlier round has taken part in that stage after all. */
void eg_cursor_took_part(eg_cursor *c, int64_t client, int64_t stage);

/* Moves to any round, by walking there from the start if it lies behind; nobody is lost. */
void eg_cursor_seek(eg_cursor *c, int64_t round);

/* What came before this round: whether the client (or any, EG_SERVER) has trained on the task,
 * and how many training samples it has met. */
bool eg_cursor_seen(const eg_cursor *c, int64_t client, int64_t t);
int64_t eg_cursor_samples(const eg_cursor *c, int64_t client);

/* The cumulative test set of a real-time stream: the test samples that belong to the stages the
 * client has taken part in. Elsewhere: those of the tasks it has seen. Needs one source. */
int64_t eg_cursor_test(const eg_cursor *c, int64_t client, int64_t *ids);
/* What of a real-time stream's belongs to task t. */
int64_t eg_cursor_test_of(const eg_cursor *c, int64_t client, int64_t t, int64_t *ids);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
