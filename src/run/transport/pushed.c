/* pushed.c - samples that a program brings as they come, as a data set.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A data set's hooks get its options alone, so each joiner has a slot by which they find its
 * samples.
 */
#include "run/transport/device.h"

#include <engram/data.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PUSHED_SLOTS = 64 };

struct eg_pushed {
    int slot;
    int64_t cap;
    eg_table t; /* its arrays have room for cap samples */
};

typedef struct pushed_opts {
    int64_t slot;
} pushed_opts;

static const eg_opt pushed_options[] = {
    EG_OPT_INT(pushed_opts, slot, 0, 0, PUSHED_SLOTS - 1, "which joiner's"),
    EG_OPT_END,
};

static pthread_mutex_t pushed_lock = PTHREAD_MUTEX_INITIALIZER;
static eg_pushed *pushed_by_slot[PUSHED_SLOTS]; /* under the lock */

/* A device tests nothing: one sample stands for all. */
static eg_status pushed_load(const void *self, const eg_origin *from, eg_split split,
                             eg_table *out)
{
    const pushed_opts *o = self;
    (void)from;
    pthread_mutex_lock(&pushed_lock);
    const eg_pushed *p = pushed_by_slot[o->slot];
    pthread_mutex_unlock(&pushed_lock);
    if (!p || p->t.n == 0)
        return eg_fail(EG_EINVAL, "nothing was pushed yet");
    eg_table some = p->t;
    some.n = split == EG_TEST ? 1 : p->t.n;
    return eg_table_copy(&some, out);
}

static const eg_dataset pushed_set = {
    .component = {"pushed", "samples that a program brings", sizeof(pushed_opts),
                  pushed_options},
    .generated = true,
    .load = pushed_load,
};

static void pushed_add(void)
{
    (void)eg_dataset_add(&pushed_set);
}

eg_status eg_pushed_new(const eg_join_shape *shape, eg_pushed **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    eg_pushed *p;
    *out = NULL;
    if (shape->channels < 1 || shape->height < 1 || shape->width < 1 || shape->classes < 2 ||
        shape->channels > 4096 || shape->height > 65536 || shape->width > 65536 ||
        shape->classes > 1000000)
        return eg_fail(EG_EINVAL, "no sample can be %lldx%lldx%lld of %lld classes",
                       (long long)shape->channels, (long long)shape->height,
                       (long long)shape->width, (long long)shape->classes);
    pthread_once(&once, pushed_add);
    EG_TRY(eg_alloc(1, sizeof *p, &p));
    p->t = (eg_table){.channels = shape->channels,
                      .height = shape->height,
                      .width = shape->width,
                      .classes = shape->classes};
    p->slot = -1;
    pthread_mutex_lock(&pushed_lock);
    for (int i = 0; i < PUSHED_SLOTS && p->slot < 0; i++)
        if (!pushed_by_slot[i]) {
            pushed_by_slot[i] = p;
            p->slot = i;
        }
    pthread_mutex_unlock(&pushed_lock);
    if (p->slot < 0) {
        free(p);
        return eg_fail(EG_EBUSY, "a process may have %d joiners", PUSHED_SLOTS);
    }
    *out = p;
    return EG_OK;
}

void eg_pushed_free(eg_pushed *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&pushed_lock);
    pushed_by_slot[p->slot] = NULL;
    pthread_mutex_unlock(&pushed_lock);
    free(p->t.f32);
    free(p->t.y);
    free(p);
}

static eg_status pushed_check(const eg_pushed *p, const float *x, const int32_t *y, int64_t n)
{
    size_t sample = eg_table_sample(&p->t);
    for (int64_t i = 0; i < n; i++) {
        if (y[i] < 0 || y[i] >= p->t.classes)
            return eg_fail(EG_EINVAL, "sample %lld is of class %d, and there are %lld",
                           (long long)i, y[i], (long long)p->t.classes);
        for (size_t k = 0; k < sample; k++)
            if (!isfinite(x[(size_t)i * sample + k]))
                return eg_fail(EG_EINVAL, "sample %lld has a value that is not finite",
                               (long long)i);
    }
    return EG_OK;
}

eg_status eg_pushed_add(eg_pushed *p, const float *x, const int32_t *y, int64_t n)
{
    size_t sample = eg_table_sample(&p->t);
    EG_TRY(pushed_check(p, x, y, n));
    if (p->t.n + n > p->cap) {
        int64_t cap = 2 * p->cap > p->t.n + n ? 2 * p->cap : p->t.n + n;
        float *values = realloc(p->t.f32, (size_t)cap * sample * sizeof *values);
        p->t.f32 = values ? values : p->t.f32;
        int32_t *labels = realloc(p->t.y, (size_t)cap * sizeof *labels);
        p->t.y = labels ? labels : p->t.y;
        if (!values || !labels)
            return eg_fail(EG_ENOMEM, "no memory for %lld samples", (long long)cap);
        p->cap = cap;
    }
    memcpy(p->t.f32 + (size_t)p->t.n * sample, x, (size_t)n * sample * sizeof *x);
    memcpy(p->t.y + p->t.n, y, (size_t)n * sizeof *y);
    p->t.n += n;
    return EG_OK;
}

int64_t eg_pushed_n(const eg_pushed *p)
{
    return p->t.n;
}

int eg_pushed_slot(const eg_pushed *p)
{
    return p->slot;
}
