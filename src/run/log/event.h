/* event.h - what happens in a run: the kinds of events, each a struct.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An event is one JSON object. Each kind has one function that walks its fields, whichever way
 * they go, so that a field is named and bounded in one place. Keys that are not known are
 * passed over, so that a newer program may write more; kinds that are not known are errors.
 * What an event points to belongs to its maker: the caller who writes it, the arena it is read
 * into.
 */
#ifndef EG_EVENT_H
#define EG_EVENT_H

#include "base/base.h"
#include "io/json.h"

/* The largest run there can be, to be written or to be read. */
#define EG_MOST_FLOPS (INT64_C(1) << 62)
enum {
    EG_MOST_TASKS = 1000000,
    EG_MOST_CLIENTS = 100000000,
    EG_MOST_ROUNDS = 1000000000,
    EG_MOST_EXCHANGES = 1000
};

typedef struct eg_start_event {
    const char *name, *label;
    int64_t seed;
    const char *const *method; /* [n_method], the parts */
    size_t n_method;
    int64_t clients, tasks, rounds, classes;
    const char *isa, *config_sha256;
    const char *encoder_sha256; /* of what the network was pre-trained to; NULL, and not
                                 * written: it was not */
    const int64_t *learned; /* [tasks], the period (from 1) in which each task comes first */
    const char *version, *commit; /* of the program that writes; of no repository: "" */
    const char *labels, *pixels;  /* checksums of the data as it is used */
    const char *const *names; /* [n_names] of classes, all or none (NULL, and not written) */
    size_t n_names;
    bool own_data; /* clients are devices with data of their own; written if it is so */
    bool replay;   /* who answers when is another log's; likewise */
} eg_start_event;

typedef struct eg_round_event {
    int64_t round;          /* from 1 on */
    const int64_t *clients; /* [n_clients], in the order of the sum */
    size_t n_clients;
    const int64_t *lost; /* [n_lost], those of them whom the transport lost in training; NULL
                          * and not written if there were none */
    size_t n_lost;
    int64_t samples;
    double loss;          /* mean of training; null when NaN or infinite */
    const double *losses; /* [n_clients], of each; NaN: it does not count, or nobody knows. NULL
                           * and not written: so are all */
    const int64_t *held; /* [n_held], how many rows of each class, up to the last of which there
                          * are any, the memories of held_by of these clients hold: those for
                          * whom a stage ended. NULL and not written: of none */
    size_t n_held;
    int64_t held_by;
    int64_t bytes_up, bytes_down;
    double seconds;
} eg_round_event;

typedef struct eg_eval_event {
    int64_t round; /* 0: the untrained model */
    int64_t who;   /* a client, or -1: the server's model */
    bool task_end; /* a task is over for this model */
    bool full;     /* on whole test sets */
    int64_t n_tasks;
    const int64_t *n;               /* [n_tasks], test samples; 0: not measured, null */
    const int64_t *correct;         /* [n_tasks], right ones of them */
    const int64_t *correct_task_il; /* [n_tasks], likewise; or NULL where it has no meaning */
    int64_t met; /* training samples a client has met so far; below 0 it is not written */
    const int64_t *n_validation; /* [n_tasks], samples held out of training; NULL: there are
                                  * none */
    const int64_t *correct_validation; /* [n_tasks], right ones of them */
    const int64_t *map; /* [n_tasks], of boxes: mean average precision over overlaps 0.5 to
                         * 0.95, of n; NULL: there are none. Their accuracy is that at 0.5 */
} eg_eval_event;

/* What the server's model takes for what, over the distinct test images of all classes met. */
typedef struct eg_confusion_event {
    int64_t round;
    const int64_t *cells; /* [n_cells], three of each cell that is not 0: the true class, the
                           * answer, how many; by class, then by answer */
    size_t n_cells;
} eg_confusion_event;

/* What the server's model finds on the test images of a task, at the end of one; shares are
 * ten-thousandths. A box that is shown is EG_BOXES_SIZE numbers: the image's, what it is
 * (eg_boxes_is), its class, left, top, right and bottom within the image, and how surely it was
 * found. */
enum { EG_BOXES_SIZE = 8, EG_BOXES_SHARE = 10000, EG_BOXES_CURVE = 101 };
typedef enum eg_boxes_is { EG_BOXES_RIGHT, EG_BOXES_WRONG, EG_BOXES_MISSED } eg_boxes_is;
typedef struct eg_boxes_event {
    int64_t round, task;    /* the task from 0 on */
    const int64_t *classes; /* [n_classes] ascending, those with a true box */
    const int64_t *half;    /* [n_classes] average precision at overlap 0.5 */
    const int64_t *each;    /* [n_classes] over the overlaps from 0.5 to 0.95 */
    /* [n_classes, EG_BOXES_CURVE] precision at recalls 0, 0.01, ..., 1, at overlap 0.5 */
    const int64_t *curve;
    size_t n_classes, n_curve;
    int64_t images, height, width; /* that are shown, one below the other (eg_run_boxes) */
    const int64_t *boxes;          /* [n_boxes]: numbers of all that are shown */
    size_t n_boxes;
} eg_boxes_event;

/* The run ends before its last round, since validation has not become better for long. */
typedef struct eg_stop_event {
    int64_t round, best_round;
    double best; /* accuracy in validation, after best_round */
} eg_stop_event;

/* The run went on by force, with other data or another program than it began with: its bits
 * may be others than those of a run without a stop. */
typedef struct eg_forced_event {
    int64_t round; /* rounds that were done */
    const char *why;
} eg_forced_event;

/* A figure that a part of the method names, to be drawn as a curve. */
typedef struct eg_note_event {
    int64_t round;
    int64_t who; /* a client, or -1: the server */
    const char *name;
    double value; /* null when NaN or infinite */
} eg_note_event;

/* Drawings of the method's generators were written after a round (eg_run_sheet). */
typedef struct eg_sheet_event {
    int64_t round;
    int64_t who;            /* whose generators: a client's, or -1: the server's */
    const int64_t *classes; /* [n_classes]: of the rows, from the top; none: all together */
    size_t n_classes;
} eg_sheet_event;

/* What went wrong: a client was left out of a round, or the round was skipped. */
typedef struct eg_loss_event {
    int64_t round, client; /* -1: the whole round */
    const char *why;
    int64_t exchange; /* that it was left out of; 0, and not written: training */
    bool answered;    /* what it keeps counts, though its answer does not */
    bool summed;      /* its answer is in the sum: it was left out of a later step */
} eg_loss_event;

/* An answer was heard after its time. */
typedef struct eg_late_event {
    int64_t round, client;
    int64_t age;     /* rounds since it was asked; 0: late, but before the round was over */
    int64_t stage;   /* the client's, then */
    const char *why; /* it does not count; NULL, and not written: it does */
} eg_late_event;

/* What a run cost. Seconds of work are summed over all clients, whoever worked beside whom. */
typedef struct eg_end_event {
    double seconds; /* from start to end */
    int64_t peak_rss_bytes;
    double train_seconds; /* of work in clients' training */
    double phase_seconds; /* of work in second exchanges */
    const char *const *parts;
    const double *part_seconds;   /* [n_parts]: of train_seconds, within the part's own hooks */
    const double *server_seconds; /* [n_parts]: within its hooks on the server */
    size_t n_parts;
    /* Multiplications and additions, by the definition, of the plans that ran in clients'
     * turns, and in hooks on the server. */
    int64_t flops_clients, flops_server;
    const char *version, *commit; /* of the program that ended it, as in the start event */
} eg_end_event;

typedef struct eg_fields eg_fields; /* fields.h */

typedef struct eg_event_kind {
    const char *name; /* "round" */
    /* Walks the fields of an event of this kind: writes them, or reads them into one that is
     * all zero. */
    eg_status (*fields)(eg_fields *f, void *event);
} eg_event_kind;

extern const eg_event_kind eg_event_start, eg_event_round, eg_event_eval, eg_event_note,
    eg_event_confusion, eg_event_left_out, eg_event_skipped, /* both: eg_loss_event */
    eg_event_stop, eg_event_forced, eg_event_end, eg_event_sheet, eg_event_boxes, eg_event_late;

#endif
