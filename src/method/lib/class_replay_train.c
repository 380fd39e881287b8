/* class_replay_train.c - which generators a client trains after its own training, and how.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/class_replay.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRAIN_TRIAL = 1, TRAIN_INIT, TRAIN_STEPS }; /* its draws, beside the turn's */

/* What all updates of a turn share. */
typedef struct train_updates {
    eg_class_replay *r;
    eg_client *c;
    eg_generator *m;
    eg_rng trial, init, steps;
    int64_t n_updates, n_diverged;
} train_updates;

/* The images of a class, or of all and the drawn ones too; repeated if they are fewer than a
 * batch. x is the caller's to free. */
static eg_status train_images(const train_updates *u, int64_t class, float **x, eg_images *out)
{
    const eg_class_replay *r = u->r;
    bool all = class == EG_ANY_CLASS;
    int64_t n = all ? r->n + r->drawn.n : (int64_t)r->now[class], k = 0;
    int64_t batch = u->m->kind->batch(u->m->self), rows = n > batch ? n : batch;
    size_t pixels = (size_t)u->m->pixels;
    EG_TRY(eg_alloc((size_t)rows * (pixels + 1), sizeof **x, x));
    float *labels = *x + (size_t)rows * pixels;
    for (int64_t i = 0; i < r->n; i++)
        if (all || (int64_t)r->labels[i] == class) {
            eg_client_feed(u->c, &r->own[i], 1, *x + (size_t)k * pixels, &labels[k]);
            labels[k++] = r->labels[i]; /* the class, whatever output stands for it */
        }
    if (all && r->drawn.n > 0) {
        memcpy(*x + (size_t)k * pixels, r->drawn.x, (size_t)r->drawn.n * pixels * sizeof **x);
        memcpy(&labels[k], r->drawn.labels, (size_t)r->drawn.n * sizeof *labels);
        k += r->drawn.n;
    }
    for (; k < rows; k++) {
        memcpy(*x + (size_t)k * pixels, *x + (size_t)(k % n) * pixels, pixels * sizeof **x);
        labels[k] = labels[k % n];
    }
    *out = (eg_images){rows, *x, labels};
    return EG_OK;
}

static int64_t train_n_steps(const train_updates *u, int64_t images)
{
    const eg_class_replay_opts *o = u->r->is;
    int64_t steps = o->epochs * (images / u->m->kind->batch(u->m->self));
    return o->steps > 0 && o->steps < steps ? o->steps : steps;
}

static eg_class_place train_place(const train_updates *u, int64_t class)
{
    return (eg_class_place){u->c, u->r->part, class};
}

/* Keeps what the machine holds as a class's generator, unless it is not finite. */
static eg_status train_keep(train_updates *u, int64_t class)
{
    eg_class_place at = train_place(u, class);
    bool finite;
    EG_TRY(eg_class_keep(&at, u->m, &finite));
    if (!finite) {
        u->n_diverged++;
        return EG_OK;
    }
    for (int64_t k = 0; k < u->r->classes; k++)
        if (k == class || (class == EG_ANY_CLASS && u->r->ever[k] > 0))
            u->r->has[k] = u->r->changed[k] = 1;
    u->n_updates++;
    return EG_OK;
}

/* Trains a class's generator from where it was left, or a new one. One that diverges stays as
 * it was, or away. */
static eg_status train_one(train_updates *u, int64_t class)
{
    bool found;
    float *x = NULL;
    eg_images on;
    uint64_t seed = eg_rng_u64(&u->init);
    eg_class_place at = train_place(u, class);
    EG_TRY(eg_class_recall(&at, u->m, EG_WHOLE_GENERATOR, &found));
    if (!found)
        eg_generator_init(u->m, seed);
    eg_status s = train_images(u, class, &x, &on);
    if (s == EG_OK)
        s = eg_generator_train(u->m, &on, train_n_steps(u, on.n), &u->steps, NULL);
    free(x);
    if (s == EG_EINVAL) {
        u->n_diverged++;
        return EG_OK;
    }
    EG_TRY(s);
    return train_keep(u, class);
}

/* Whether a class's generator must be trained: there is none, or the client's new model knows
 * too few of its drawings. */
static eg_status train_must(train_updates *u, int64_t class, bool *out)
{
    const eg_class_replay_opts *o = u->r->is;
    eg_class_looker own = {.c = u->c};
    eg_class_guide judge = eg_class_guide_of(&own);
    eg_class_place at = train_place(u, class);
    bool found;
    double share = 0;
    *out = true;
    if (o->update == EG_UPDATE_ALWAYS || u->r->has[class] == 0)
        return EG_OK;
    EG_TRY(eg_class_recall(&at, u->m, EG_DRAWING_ALONE, &found));
    if (found)
        EG_TRY(eg_class_trial(u->m, class, o->trial, &judge, &u->trial, &share));
    *out = share < o->threshold;
    return EG_OK;
}

static eg_status train_note(const train_updates *u, const char *what, int64_t value)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", u->r->part, what);
    return eg_client_note(u->c, name, (double)value);
}

eg_status eg_class_replay_update(eg_class_replay *r, eg_client *c)
{
    bool single = r->is->generators == EG_ONE_FOR_ALL;
    train_updates u = {.r = r,
                       .c = c,
                       .trial = eg_client_stream(c, TRAIN_TRIAL),
                       .init = eg_client_stream(c, TRAIN_INIT),
                       .steps = eg_client_stream(c, TRAIN_STEPS)};
    EG_TRY(eg_class_machine(c->worker, r->part, r->is, c->net, &u.m));
    if (single && r->n > 0)
        EG_TRY(train_one(&u, EG_ANY_CLASS));
    for (int64_t class = 0; !single && class < r->classes; class ++) {
        bool must = false;
        if (r->now[class] > 0)
            EG_TRY(train_must(&u, class, &must));
        if (must)
            EG_TRY(train_one(&u, class));
    }
    EG_TRY(train_note(&u, "updates", u.n_updates));
    return u.n_diverged > 0 ? train_note(&u, "diverged", u.n_diverged) : EG_OK;
}
