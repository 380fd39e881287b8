/* npy.c - your own NumPy arrays: x_train, y_train, x_test and y_test.
 * SPDX-License-Identifier: Apache-2.0
 *
 * path is a .npz that holds the four, or a folder with four .npy files. x is [n, d], [n, h, w]
 * or [n, c, h, w] (layout hwc: [n, h, w, c]), of bytes or numbers. y is [n] or [n, 1], of whole
 * numbers or of texts, which name the classes; or [n, classes], with a one at the class and
 * zeros. Numbers have names if an array `classes`, or beside .npy files a classes.txt with a
 * name a line, gives them. classes = 0: as many as these, or as the largest label of both
 * splits asks for. Pictures have 1, 3 or 4 channels: an array that has so many in its last axis
 * only is not read as channels first unless the layout says so.
 */
#include "io/npy.h"

#include "io/file.h"
#include "io/gz.h"
#include "world/data/find.h"
#include "world/data/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct npy {
    char path[EG_OPT_TEXT_SIZE];
    int layout; /* npy_layout */
    int64_t classes;
} npy;

typedef enum npy_layout { NPY_AUTO, NPY_CHW, NPY_HWC } npy_layout;

// clang-format off
static const eg_opt npy_opts[] = {
    EG_OPT_TEXT(npy, path, "npy",
                "a .npz file with x_train, y_train, x_test and y_test, or a folder of four .npy files; relative to the experiment file, the working folder or the data folder"),
    EG_OPT_CHOICE(npy, layout, 0, "axes of pictures with channels; auto: chw, and what looks like hwc is refused",
                  "auto|chw|hwc"),
    EG_OPT_INT(npy, classes, 0, 0, 1e6, "how many; 0: as the labels say"),
    EG_OPT_END,
};
// clang-format on

#define NPY_MAX_FILE ((size_t)1 << 36)

/* Reads a .npy, plain or gzip. Its header comes first and says how much may follow, so that a
 * small file does not become a large one in memory. */
static eg_status npy_read(const char *path, uint8_t **bytes, size_t *n)
{
    uint8_t *head;
    size_t got, size = 0;
    EG_TRY(eg_alloc(EG_NPY_HEAD, 1, &head));
    eg_status s = eg_gz_peek(path, EG_NPY_HEAD, head, &got);
    if (s == EG_OK)
        s = eg_npy_measure(path, head, got, &size);
    free(head);
    if (s == EG_OK && size > NPY_MAX_FILE)
        s = eg_fail(EG_EFORMAT, "%s: the shape needs %zu bytes, more than can be read", path,
                    size);
    return s == EG_OK ? eg_gz_load(path, size, bytes, n) : s;
}

static bool npy_is_zip(const char *root)
{
    size_t length = strlen(root);
    return length > 4 && strcmp(root + length - 4, ".npz") == 0;
}

/* Loads the array with this key; what it borrows is *bytes, to be freed. */
static eg_status npy_array(const char *root, const char *key, uint8_t **bytes, eg_npy *out)
{
    char path[EG_PATH_SIZE + 40];
    size_t n;
    *bytes = NULL;
    if (npy_is_zip(root)) {
        uint8_t *zip;
        size_t n_zip;
        EG_TRY(eg_file_read(root, NPY_MAX_FILE, &zip, &n_zip));
        eg_status s = eg_npz_entry(root, zip, n_zip, key, bytes, &n);
        free(zip);
        EG_TRY(s);
        snprintf(path, sizeof path, "%s: %s", root, key);
    } else {
        snprintf(path, sizeof path, "%s/%s.npy", root, key);
        EG_TRY(npy_read(path, bytes, &n));
    }
    return eg_npy_parse(path, *bytes, n, out);
}

/* What was met in the labels of both splits: numbers, or words. */
typedef struct npy_seen {
    int64_t least, most;
    bool numbers;
    eg_words words;
} npy_seen;

/* The class of row i of [n, width] zeros and a one. */
static eg_status npy_hot(const eg_npy *a, size_t i, size_t width, int64_t *out)
{
    *out = -1;
    for (size_t k = 0; k < width; k++) {
        double v = eg_npy_real(a, i * width + k);
        if ((v != 0 && v != 1) || (v == 1 && *out >= 0))
            return eg_fail(EG_EFORMAT,
                           "sample %zu: an axis of %zu is for a one at the class "
                           "and zeros, and there is %s%g",
                           i, width, v == 1 ? "a second " : "", v);
        if (v == 1)
            *out = (int64_t)k;
    }
    return *out >= 0 ? EG_OK : eg_fail(EG_EFORMAT, "sample %zu: all %zu are zero", i, width);
}

static eg_status npy_label(const eg_npy *a, size_t i, size_t width, npy_seen *seen,
                           int32_t *out)
{
    char word[256];
    int64_t v = 0;
    if (eg_npy_is_text(a)) {
        eg_npy_text(a, i, sizeof word, word);
        return eg_words_add(&seen->words, word, out);
    }
    if (width > 1)
        EG_TRY(npy_hot(a, i, width, &v));
    else
        v = eg_npy_whole(a, i);
    if (v < 0 || v >= 1000000 || (width == 1 && (double)v != eg_npy_real(a, i)))
        return eg_fail(EG_EFORMAT, "label %g of sample %zu is no class", eg_npy_real(a, i), i);
    seen->numbers = true;
    seen->least = v < seen->least ? v : seen->least;
    seen->most = v > seen->most ? v : seen->most;
    if (width > 1 && (int64_t)width - 1 > seen->most)
        seen->most = (int64_t)width - 1, seen->least = 0; /* there are as many as places */
    *out = (int32_t)v;
    return EG_OK;
}

/* Reads labels into y, which may be NULL. */
static eg_status npy_labels(const char *root, const char *key, int64_t n, int32_t *y,
                            npy_seen *seen)
{
    uint8_t *bytes;
    eg_npy a;
    eg_status s = npy_array(root, key, &bytes, &a);
    size_t rows = s == EG_OK && a.n_dims > 0 ? (size_t)a.shape[0] : 0;
    size_t width = s == EG_OK && a.n_dims == 2 ? (size_t)a.shape[1] : 1;
    if (s == EG_OK &&
        (a.n_dims < 1 || a.n_dims > 2 || width == 0 || (width > 1 && eg_npy_is_text(&a))))
        s = eg_fail(EG_ESHAPE, "%s: %s is neither a label a sample nor a one among zeros", root,
                    key);
    if (s == EG_OK && y && rows != (size_t)n)
        s = eg_fail(EG_ESHAPE, "%s: %lld samples, but %zu labels in %s", root, (long long)n,
                    rows, key);
    for (size_t i = 0; s == EG_OK && i < rows; i++) {
        int32_t label;
        s = eg_blame(npy_label(&a, i, width, seen, &label), "%s: %s", root, key);
        if (s == EG_OK && y)
            y[i] = label;
    }
    if (s == EG_OK && seen->numbers && seen->words.n)
        s = eg_fail(EG_EFORMAT, "%s: one of y_train and y_test has words and the other numbers",
                    root);
    free(bytes);
    return s;
}

/* Lines of classes.txt, or texts of the array `classes`, if there are any. */
static eg_status npy_name_lines(const char *path, const char ***names, size_t *n,
                                uint8_t **bytes)
{
    size_t size, cap = 0;
    eg_status s = eg_file_read(path, 1 << 26, bytes, &size);
    if (s != EG_OK)
        return s == EG_ENOENT ? EG_OK : s;
    for (char *at = (char *)*bytes; *at;) {
        char *line = at, *end = at + strcspn(at, "\n");
        at = end + (*end == '\n');
        end -= end > line && end[-1] == '\r';
        EG_TRY(eg_grow(names, *n, &cap, sizeof **names));
        (*names)[(*n)++] = line;
        *end = 0;
    }
    return EG_OK;
}

static eg_status npy_name_array(const char *root, const char ***names, size_t *n,
                                uint8_t **bytes, eg_arena *arena)
{
    enum { LONGEST = 256 };
    eg_npy a;
    eg_status s = npy_array(root, "classes", bytes, &a);
    if (s != EG_OK)
        return s == EG_ENOENT ? EG_OK : s;
    if (!eg_npy_is_text(&a) || a.n_dims != 1)
        return eg_fail(EG_ESHAPE, "%s: `classes` is no list of texts", root);
    EG_TRY(eg_alloc(a.n + 1, sizeof **names, names));
    for (; *n < a.n; ++*n) {
        char *name = eg_arena_alloc(arena, LONGEST);
        if (!name)
            return EG_ENOMEM;
        eg_npy_text(&a, *n, LONGEST, name);
        (*names)[*n] = name;
    }
    return EG_OK;
}

/* Names the classes of numbers, which are as many as there are names. */
static eg_status npy_names(const npy *o, const char *root, const npy_seen *seen, eg_table *t)
{
    const char **names = NULL;
    uint8_t *bytes = NULL;
    eg_arena arena = {0};
    size_t n = 0;
    char path[EG_PATH_SIZE];
    eg_status s = npy_is_zip(root) ? npy_name_array(root, &names, &n, &bytes, &arena)
                                   : eg_path_join(root, "classes.txt", path);
    if (s == EG_OK && !npy_is_zip(root))
        s = npy_name_lines(path, &names, &n, &bytes);
    if (s == EG_OK && n &&
        ((int64_t)n <= seen->most || (o->classes && o->classes != (int64_t)n)))
        s = eg_fail(EG_EFORMAT, "%s: there are names of %zu classes, and %lld classes", root, n,
                    (long long)(o->classes ? o->classes : seen->most + 1));
    t->classes = o->classes ? o->classes : n ? (int64_t)n : seen->most + 1;
    if (s == EG_OK && n)
        s = eg_table_name_classes(t, names);
    eg_arena_fini(&arena);
    free(names);
    free(bytes);
    return s;
}

/* Where value k of sample i, counted in [c, h, w], stands in the array. */
static size_t npy_at(const eg_table *t, bool hwc, size_t i, size_t k)
{
    if (!hwc)
        return i * eg_table_sample(t) + k;
    size_t plane = (size_t)(t->height * t->width);
    return i * eg_table_sample(t) + k % plane * (size_t)t->channels + k / plane;
}

/* What can be read: two to four axes, and of four no doubt about which are the channels. */
static eg_status npy_check_axes(const npy *o, const char *root, const char *key,
                                const eg_npy *a)
{
    if (eg_npy_is_text(a))
        return eg_fail(EG_ESHAPE, "%s: %s has texts in place of numbers", root, key);
    if (a->n_dims < 2 || a->n_dims > 4)
        return eg_fail(EG_ESHAPE, "%s: %s has %d axes; 2 to 4 can be read", root, key,
                       a->n_dims);
    if (a->n_dims < 4 || o->layout != NPY_AUTO)
        return EG_OK;
    int64_t first = a->shape[1], last = a->shape[3];
    if ((last == 1 || last == 3 || last == 4) && first != 1 && first != 3 && first != 4)
        return eg_fail(EG_ESHAPE,
                       "%s: %s is [%lld, %lld, %lld, %lld]: set data.layout to hwc if its last "
                       "axis are the channels, to chw if its second are",
                       root, key, (long long)a->shape[0], (long long)first,
                       (long long)a->shape[2], (long long)last);
    return EG_OK;
}

/* Pixels are 0 to 255, and measurements have fractions: larger whole numbers are names. */
static eg_status npy_check_value(const eg_npy *a, size_t at, const char *root, const char *key)
{
    bool whole = eg_npy_is_whole(a);
    double value = eg_npy_real(a, at);
    if (whole && (value < -255 || value > 255))
        return eg_fail(
            EG_EINVAL,
            "%s: %s has whole numbers such as %g, as ids of words have, which are no "
            "values to learn from; store it as floats if they are",
            root, key, value);
    if (!isfinite((float)value))
        return eg_fail(EG_EFORMAT, "%s: %s has a value that is not finite", root, key);
    return EG_OK;
}

static eg_status npy_samples(const npy *o, const char *root, const char *key, eg_table *t)
{
    uint8_t *bytes;
    eg_npy a;
    eg_status s = npy_array(root, key, &bytes, &a);
    if (s == EG_OK)
        s = npy_check_axes(o, root, key, &a);
    if (s == EG_OK) {
        bool hwc = a.n_dims == 4 && o->layout == NPY_HWC;
        const int64_t *d = a.shape;
        int64_t c = a.n_dims == 3 ? 1 : hwc ? d[3] : d[1];
        int64_t h = a.n_dims == 2 ? 1 : a.n_dims == 3 || hwc ? d[1] : d[2];
        int64_t w = a.n_dims == 2 ? 1 : a.n_dims == 3 || hwc ? d[2] : d[3];
        s = a.type == EG_NPY_U1 ? eg_table_alloc_u8(t, d[0], c, h, w, 1)
                                : eg_table_alloc_f32(t, d[0], c, h, w, 1);
        for (size_t k = 0; s == EG_OK && k < a.n; k++) {
            size_t at = npy_at(t, hwc, k / eg_table_sample(t), k % eg_table_sample(t));
            if (t->u8) {
                t->u8[k] = (uint8_t)eg_npy_whole(&a, at);
                continue;
            }
            s = eg_blame(npy_check_value(&a, at, root, key), "sample %zu",
                         k / eg_table_sample(t));
            t->f32[k] = (float)eg_npy_real(&a, at);
        }
    }
    free(bytes);
    return s;
}

/* Labels from 1 on would silently be a class too many. */
static eg_status npy_refuse_first(const char *root, const npy_seen *seen)
{
    return eg_fail(EG_EINVAL,
                   "%s: labels are %lld to %lld, and classes are counted from 0: that would "
                   "be %lld classes, %lld of them without a sample; take %lld off every "
                   "label, or set data.classes to %lld if that is meant",
                   root, (long long)seen->least, (long long)seen->most,
                   (long long)seen->most + 1, (long long)seen->least, (long long)seen->least,
                   (long long)seen->most + 1);
}

static eg_status npy_label_table(const npy *o, const char *root, bool train, npy_seen *seen,
                                 eg_table *t)
{
    EG_TRY(npy_labels(root, train ? "y_train" : "y_test", t->n, t->y, seen));
    if (!o->classes || seen->words.n)
        EG_TRY(npy_labels(root, train ? "y_test" : "y_train", 0, NULL, seen));
    if (!seen->numbers)
        return eg_words_settle(&seen->words, t);
    EG_TRY(npy_names(o, root, seen, t));
    return !o->classes && !t->names && seen->least > 0 ? npy_refuse_first(root, seen) : EG_OK;
}

static eg_status npy_load(const void *self, const eg_origin *from, eg_split split,
                          eg_table *out)
{
    const npy *o = self;
    char root[EG_PATH_SIZE];
    EG_TRY(eg_find_root(from, o->path, root));
    bool train = split == EG_TRAIN;
    EG_TRY(npy_samples(o, root, train ? "x_train" : "x_test", out));
    npy_seen seen = {.least = INT64_MAX};
    eg_status s = npy_label_table(o, root, train, &seen, out);
    eg_words_fini(&seen.words);
    return s;
}

const eg_dataset eg_dataset_npy = {
    .component = {"npy", "your own NumPy arrays, four .npy files or one .npz", sizeof(npy),
                  npy_opts},
    .load = npy_load,
};
