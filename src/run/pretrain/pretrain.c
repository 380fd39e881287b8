/* pretrain.c - finds an encoder or makes it: one process trains, the others wait.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/pretrain/encoder.h"

#include "base/base.h"
#include "io/disk.h"
#include "run/experiment/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PRETRAIN_TESTS = 2000, PRETRAIN_LOOK = 200 };

static eg_status pretrain_tell(const eg_pretrain_how *how, const eg_pretraining *p)
{
    if (!how->progress || how->progress(how->context, p))
        return EG_OK;
    return eg_fail(EG_EINVAL, "pre-training was stopped, and begins anew next time");
}

/* A loss can be finite where values are not: a relu makes 0 of NaN. */
static eg_status pretrain_check_finite(const eg_encoder *c, eg_trainer *t)
{
    size_t n = eg_params_length(eg_net_params(c->net));
    if (!eg_all_finite(eg_trainer_values(t), n))
        return eg_fail(EG_EINVAL,
                       "pre-training: values are not finite at its end; pretrain.lr is %g",
                       c->opts->lr);
    return EG_OK;
}

/* Every image once, in an order of the epoch's own; a last one alone is left out, since batch
 * norm cannot learn from it. */
static eg_status pretrain_epoch(const eg_encoder *c, eg_trainer *t, const eg_drawing *train,
                                const eg_pretrain_how *how, eg_pretraining *p)
{
    const eg_trainer_samples all = {c->images, eg_drawing_fill, (void *)(uintptr_t)train};
    double since = eg_seconds() - p->seconds;
    for (int64_t at = 0; at < c->images; at += c->opts->batch) {
        int64_t left = c->images - at, n = left < c->opts->batch ? left : c->opts->batch;
        if (n > 1 || c->opts->batch == 1)
            EG_TRY(eg_trainer_step(t, &all, at, n, &p->loss));
        p->batch++;
        p->seconds = eg_seconds() - since;
        EG_TRY(pretrain_tell(how, p));
    }
    return EG_OK;
}

static eg_status pretrain_epochs(const eg_encoder *c, eg_trainer *t, int64_t *order,
                                 const eg_pretrain_how *how)
{
    const eg_pretrain_opts *o = c->opts;
    eg_pretraining p = {.n_batches = o->epochs * ((c->images + o->batch - 1) / o->batch)};
    eg_drawing train;
    EG_TRY(eg_drawing_init(c, EG_TRAIN, o->batch, &train));
    train.order = order;
    eg_status s = EG_OK;
    for (int64_t epoch = 0; epoch < o->epochs && s == EG_OK; epoch++) {
        eg_rng rng = eg_rng_at((uint64_t)o->seed, 0, (uint32_t)epoch, EG_FOR_SHUFFLE);
        eg_rng_shuffle(&rng, (size_t)c->images, order);
        s = pretrain_epoch(c, t, &train, how, &p);
    }
    eg_drawing_fini(&train);
    return s;
}

/* On fractals of the same classes that no batch had. */
static eg_status pretrain_test(const eg_encoder *c, eg_trainer *t, double *accuracy)
{
    eg_drawing test;
    EG_TRY(eg_drawing_init(c, EG_TEST, PRETRAIN_LOOK, &test));
    eg_status s = eg_trainer_test(
        t, &(eg_trainer_samples){PRETRAIN_TESTS, eg_drawing_fill, &test}, accuracy);
    eg_drawing_fini(&test);
    return s;
}

static eg_status pretrain_set(eg_trainer *t, const char *option, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", value);
    return eg_trainer_set(t, option, text);
}

static eg_status pretrain_learn(const eg_encoder *c, eg_trainer *t, const eg_pretrain_how *how)
{
    int64_t *order;
    double accuracy;
    EG_TRY(pretrain_set(t, "lr", c->opts->lr));
    EG_TRY(pretrain_set(t, "weight_decay", c->opts->weight_decay));
    EG_TRY(eg_alloc((size_t)c->images, sizeof *order, &order));
    for (int64_t i = 0; i < c->images; i++)
        order[i] = i;
    eg_status s = pretrain_epochs(c, t, order, how);
    free(order);
    if (s == EG_OK)
        s = pretrain_check_finite(c, t);
    if (s == EG_OK)
        s = pretrain_test(c, t, &accuracy);
    return s == EG_OK ? eg_encoder_write(c, eg_trainer_values(t), eg_trainer_state(t), accuracy)
                      : s;
}

static eg_status pretrain_make(const eg_encoder *c, const eg_pretrain_how *how)
{
    eg_trainer *t;
    EG_TRY(eg_trainer_new(&(eg_trainer_spec){.net = c->net,
                                             .optimizer = "adam",
                                             .temperature = c->opts->temperature,
                                             .seed = (uint64_t)c->opts->seed},
                          &t));
    eg_status s = pretrain_learn(c, t, how);
    eg_trainer_free(t);
    return s;
}

/* Waits until no other process makes it. */
static eg_status pretrain_lock(const eg_encoder *c, const eg_pretrain_how *how, int *lock)
{
    char path[EG_PRETRAIN_PATH + 8];
    double since = eg_seconds();
    snprintf(path, sizeof path, "%s.lock", c->path);
    EG_TRY(eg_disk_lock(path, true, lock));
    while (*lock < 0) {
        EG_TRY(pretrain_tell(
            how, &(eg_pretraining){.seconds = eg_seconds() - since, .waiting = true}));
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        EG_TRY(eg_disk_lock(path, true, lock));
    }
    return EG_OK;
}

/* With the lock: somebody else may have made it meanwhile; one that is no good is told of. */
static eg_status pretrain_find(const eg_encoder *c, const eg_pretrain_how *how,
                               eg_pretrained *out)
{
    char sentence[2048];
    eg_status s = eg_encoder_check(c, out);
    out->found = s == EG_OK;
    if (s == EG_OK || s == EG_ENOMEM)
        return s;
    if (s != EG_ENOENT && how->say) {
        snprintf(sentence, sizeof sentence, "%s; it is made again", eg_error());
        how->say(how->context, sentence);
    }
    EG_TRY(pretrain_make(c, how));
    return eg_encoder_check(c, out);
}

bool eg_experiment_pretrains(const eg_experiment *e)
{
    return e->pretrain.epochs > 0;
}

eg_status eg_pretrain_for(const eg_experiment *e, const eg_net_spec *as_run,
                          const eg_pretrain_how *how, eg_pretrained *out)
{
    eg_encoder c;
    int lock = -1;
    *out = (eg_pretrained){0};
    EG_TRY(eg_encoder_init(e, as_run, &c));
    eg_status s = pretrain_lock(&c, how, &lock);
    if (s == EG_OK)
        s = pretrain_find(&c, how, out);
    if (lock >= 0)
        close(lock);
    eg_encoder_fini(&c);
    return s;
}

eg_status eg_pretrain(const eg_experiment *e, const eg_pretrain_how *how, eg_pretrained *out)
{
    eg_feed f;
    EG_TRY(eg_feed_open(e, 0, how->data_dir, &f));
    eg_net_spec spec = eg_feed_net(e, &f);
    eg_status s = eg_pretrain_for(e, &spec, how, out);
    eg_feed_close(&f);
    return s;
}
