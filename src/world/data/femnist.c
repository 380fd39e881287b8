/* femnist.c - FEMNIST, characters by their writers (Caldas et al., 2018, arXiv:1812.01097).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files: femnist-images-idx3-ubyte, femnist-labels-idx1-ubyte, femnist-writer-idx1-short (who
 * wrote each image) and femnist-leaf-istest-idx1-ubyte. A writer all of whose images are marked
 * in the last one lost the others when the sample was made; by default such writers are left
 * out. There is no official split: of each writer's images, in file order, every test_every-th
 * is a test image. Groups are numbered from 0 in the order of the writers kept. With the digits
 * alone, or the letters, all else is as if the files held nothing else. Letters are 26 classes:
 * capital and small ones together, as in EMNIST-Letters.
 */
#include "world/data/idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct femnist {
    int writers, characters;
    int64_t test_every;
} femnist;

enum { FEMNIST_COMPLETE, FEMNIST_ALL };
enum { FEMNIST_OF_ALL, FEMNIST_OF_DIGITS, FEMNIST_OF_LETTERS };
enum { FEMNIST_CLASSES = 62, FEMNIST_DIGITS = 10, FEMNIST_LETTERS = 26 };

static const eg_opt femnist_opts[] = {
    EG_OPT_CHOICE(femnist, writers, FEMNIST_COMPLETE, "which writers to take", "complete|all"),
    EG_OPT_CHOICE(femnist, characters, 0,
                  "all, the ten digits alone, or the 26 letters, whether capital or small",
                  "all|digits|letters"),
    EG_OPT_INT(femnist, test_every, 10, 2, 1000, "one of so many images is for testing"),
    EG_OPT_END,
};

#define FEMNIST_MAX_WRITERS 32768 /* a short names them */

typedef struct femnist_writers {
    int32_t group[FEMNIST_MAX_WRITERS]; /* -1: not taken */
    int64_t count[FEMNIST_MAX_WRITERS];
} femnist_writers;

static eg_status femnist_find(const eg_origin *from, const char *name, char out[EG_PATH_SIZE])
{
    static const eg_place place = {
        "femnist", NULL, "it is LEAF's FEMNIST as IDX files; 'tools/data femnist' says more"};
    return eg_find(from, &place, (const char *const[]){name, NULL}, out);
}

/* Reads a file of one number per image. */
static eg_status femnist_column(const eg_origin *from, const char *name, size_t width,
                                int64_t n, uint8_t **out)
{
    char path[EG_PATH_SIZE];
    eg_idx idx;
    EG_TRY(femnist_find(from, name, path));
    EG_TRY(eg_idx_read(path, 1, &idx, out));
    if (idx.width != width || idx.shape[0] != n)
        return eg_fail(EG_EFORMAT, "%s: %lld entries of %zu bytes, but %lld of %zu are needed",
                       path, (long long)idx.shape[0], idx.width, (long long)n, width);
    return EG_OK;
}

static int32_t femnist_writer(const uint8_t *column, int64_t i)
{
    return (column[2 * i] << 8 | column[2 * i + 1]) & (FEMNIST_MAX_WRITERS - 1);
}

/* Numbers the writers that are taken: complete ones, with an image of a class that is. */
static void femnist_number(const uint8_t *writer, const uint8_t *marked, const eg_table *t,
                           femnist_writers *w)
{
    for (int64_t i = 0; i < t->n; i++)
        w->count[femnist_writer(writer, i)] |= (!marked || !marked[i]) | (t->y[i] < t->classes)
                                                                             << 1;
    int32_t next = 0;
    for (int i = 0; i < FEMNIST_MAX_WRITERS; i++) {
        w->group[i] = w->count[i] == 3 ? next++ : -1;
        w->count[i] = 0;
    }
}

/* Moves the samples of the wanted split to the front. */
static void femnist_select(const femnist *f, const uint8_t *writer, femnist_writers *w,
                           eg_split split, eg_table *t)
{
    size_t sample = eg_table_sample(t);
    int64_t kept = 0;
    for (int64_t i = 0; i < t->n; i++) {
        int32_t who = femnist_writer(writer, i);
        if (w->group[who] < 0 || t->y[i] >= t->classes)
            continue;
        bool test = ++w->count[who] % f->test_every == 0;
        if (test != (split == EG_TEST))
            continue;
        memmove(t->u8 + (size_t)kept * sample, t->u8 + (size_t)i * sample, sample);
        t->y[kept] = t->y[i];
        t->group[kept++] = w->group[who];
    }
    t->n = kept;
}

/* Labels among the classes that are taken; those of others become n_classes. */
static void femnist_label(const femnist *f, eg_table *t)
{
    if (f->characters == FEMNIST_OF_ALL)
        return;
    bool letters = f->characters == FEMNIST_OF_LETTERS;
    t->classes = letters ? FEMNIST_LETTERS : FEMNIST_DIGITS;
    for (int64_t i = 0; i < t->n; i++) {
        bool digit = t->y[i] < FEMNIST_DIGITS;
        int32_t label = letters ? (t->y[i] - FEMNIST_DIGITS) % FEMNIST_LETTERS : t->y[i];
        t->y[i] = digit == letters ? (int32_t)t->classes : label;
    }
}

static eg_status femnist_load(const void *self, const eg_origin *from, eg_split split,
                              eg_table *out)
{
    const femnist *f = self;
    char images[EG_PATH_SIZE], labels[EG_PATH_SIZE];
    EG_TRY(femnist_find(from, "femnist-images-idx3-ubyte", images));
    EG_TRY(femnist_find(from, "femnist-labels-idx1-ubyte", labels));
    EG_TRY(eg_idx_table(images, labels, 0, FEMNIST_CLASSES, out));
    femnist_label(f, out);
    uint8_t *writer = NULL, *marked = NULL;
    femnist_writers *w = NULL;
    eg_status s = femnist_column(from, "femnist-writer-idx1-short", 2, out->n, &writer);
    if (s == EG_OK && f->writers == FEMNIST_COMPLETE)
        s = femnist_column(from, "femnist-leaf-istest-idx1-ubyte", 1, out->n, &marked);
    if (s == EG_OK)
        s = eg_alloc(1, sizeof *w, &w);
    if (s == EG_OK)
        s = eg_alloc((size_t)out->n, sizeof *out->group, &out->group);
    if (s == EG_OK) {
        femnist_number(writer, marked, out, w);
        femnist_select(f, writer, w, split, out);
    }
    free(writer);
    free(marked);
    free(w);
    return s;
}

static const eg_label_counts femnist_counts[] = {
    {"femnist", 62, 805263, 0, NULL, NULL, 3550}, /* LEAF's writers; uneven in truth */
    {.name = NULL},
};

const eg_dataset eg_dataset_femnist = {
    .component = {"femnist", "hand-written characters by writer, 28x28 grey, 62 classes",
                  sizeof(femnist), femnist_opts},
    .counts = femnist_counts,
    .load = femnist_load,
};
