/* folder.c - PNG, JPEG, WebP and BMP files, one folder per class.
 * SPDX-License-Identifier: Apache-2.0
 *
 * <path>/train/<class>/x.png and <path>/test/<class>/y.jpg (or val/), or only
 * <path>/train/<class>/x.png or <path>/<class>/x.png; then every test_every-th file of a class,
 * in the order of names, is for testing. A class's files may lie one folder deeper, in
 * "images". Classes are numbered in the order of their names (bytes), and called by them.
 */
#include "base/base.h"
#include "io/image.h"
#include "world/data/find.h"
#include "world/data/resize.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

typedef struct folder {
    char path[EG_OPT_TEXT_SIZE];
    int64_t height, width, test_every;
    int colour;
} folder;

static const eg_opt folder_opts[] = {
    EG_OPT_TEXT(folder, path, "folder",
                "of the classes; relative to the experiment file, the working folder or the "
                "data folder"),
    EG_OPT_INT(folder, height, 32, 1, 4096, "to scale to"),
    EG_OPT_INT(folder, width, 32, 1, 4096, "to scale to"),
    EG_OPT_CHOICE(folder, colour, 0, "what pictures become", "rgb|grey"),
    EG_OPT_INT(folder, test_every, 5, 2, 1000, "one of so many is for testing, if no split"),
    EG_OPT_END,
};

/* Sorted texts in an arena. */
typedef struct folder_names {
    eg_arena arena;
    char **at;
    size_t n, cap;
} folder_names;

/* The files of one split with their classes. */
typedef struct folder_files {
    folder_names paths;
    int32_t *y;
    size_t cap_y;
} folder_files;

static void folder_names_fini(folder_names *l)
{
    free(l->at);
    eg_arena_fini(&l->arena);
}

static eg_status folder_names_add(folder_names *l, const char *dir, const char *name)
{
    EG_TRY(eg_grow(&l->at, l->n, &l->cap, sizeof *l->at));
    l->at[l->n] = eg_arena_text(&l->arena, "%s%s%s", dir, *dir ? "/" : "", name);
    return l->at[l->n++] ? EG_OK : EG_ENOMEM;
}

static int folder_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool folder_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool folder_is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".webp", ".bmp"};
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

/* Lists the folders, or the pictures, in path, sorted by name. */
static eg_status folder_scan(const char *path, bool dirs, folder_names *out)
{
    DIR *d = opendir(path);
    if (!d)
        return eg_fail(EG_ENOENT, "%s: there is no such folder", path);
    eg_status s = EG_OK;
    for (struct dirent *e; s == EG_OK && (e = readdir(d));) {
        char inner[EG_PATH_SIZE];
        int n = snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (e->d_name[0] == '.' || n >= (int)sizeof inner)
            continue;
        if (dirs ? folder_is_dir(inner) : folder_is_picture(e->d_name))
            s = folder_names_add(out, dirs ? "" : path, e->d_name);
    }
    closedir(d);
    if (s == EG_OK && out->n)
        qsort(out->at, out->n, sizeof *out->at, folder_compare);
    return s;
}

/* Adds the pictures of one class that belong to the split; every = 0: all do. */
static eg_status folder_class(const char *base, const char *name, int32_t label, int64_t every,
                              eg_split split, folder_files *out)
{
    char path[EG_PATH_SIZE], deeper[EG_PATH_SIZE];
    EG_TRY(eg_path_join(base, name, path));
    EG_TRY(eg_path_join(path, "images", deeper));
    if (!folder_is_dir(path))
        return EG_OK; /* a class without test images */
    folder_names files = {0};
    eg_status s = folder_scan(folder_is_dir(deeper) ? deeper : path, false, &files);
    for (size_t i = 0; s == EG_OK && i < files.n; i++) {
        bool test = every && (int64_t)(i + 1) % every == 0;
        if (every && test != (split == EG_TEST))
            continue;
        s = eg_grow(&out->y, out->paths.n, &out->cap_y, sizeof *out->y);
        if (s == EG_OK) {
            out->y[out->paths.n] = label;
            s = folder_names_add(&out->paths, "", files.at[i]);
        }
    }
    folder_names_fini(&files);
    return s;
}

/* A class that only the test folder has cannot be learned. */
static eg_status folder_same_classes(const folder_names *classes, const char *base)
{
    folder_names here = {0};
    eg_status s = folder_scan(base, true, &here);
    for (size_t i = 0; s == EG_OK && i < here.n; i++)
        if (!bsearch(&here.at[i], classes->at, classes->n, sizeof here.at[i], folder_compare))
            s = eg_fail(EG_EFORMAT, "%s/%s: this class has no training folder", base,
                        here.at[i]);
    folder_names_fini(&here);
    return s;
}

/* The folder below root that is for testing; false: there is none. */
static bool folder_of_tests(const char *root, char out[EG_PATH_SIZE])
{
    static const char *const names[] = {"test", "val", "valid", "validation"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (eg_path_join(root, names[i], out) == EG_OK && folder_is_dir(out))
            return true;
    return false;
}

static eg_status folder_collect(const folder *f, const char *root, eg_split split,
                                folder_names *classes, folder_files *out)
{
    char train[EG_PATH_SIZE], test[EG_PATH_SIZE];
    EG_TRY(eg_path_join(root, "train", train));
    if (!folder_is_dir(train))
        EG_TRY(eg_path_join(root, ".", train));
    bool apart = train[strlen(train) - 1] != '.' && folder_of_tests(root, test);
    const char *base = apart && split == EG_TEST ? test : train;
    EG_TRY(folder_scan(train, true, classes));
    if (classes->n == 0)
        return eg_fail(EG_EFORMAT, "%s: there are no class folders in it", root);
    EG_TRY(folder_same_classes(classes, base));
    for (size_t k = 0; k < classes->n; k++)
        EG_TRY(folder_class(base, classes->at[k], (int32_t)k, apart ? 0 : f->test_every, split,
                            out));
    if (out->paths.n == 0)
        return eg_fail(EG_EFORMAT,
                       "%s: there are no PNG, JPEG, WebP or BMP files in its class folders",
                       base);
    return EG_OK;
}

/* Scales a picture into sample i of the table. */
static eg_status folder_place(const eg_image *im, eg_table *t, int64_t i)
{
    eg_table one = {0}; /* the picture as a table of its own */
    EG_TRY(eg_table_alloc_u8(&one, 1, im->channels, t->height, t->width, 1));
    eg_resizer *r;
    eg_status s = eg_resizer_new(im->height, im->width, t->height, t->width, &r);
    for (int64_t c = 0; s == EG_OK && c < im->channels; c++)
        eg_resizer_u8(r, im->pixels + c, im->channels, one.u8 + c * t->height * t->width);
    eg_resizer_free(r);
    if (s == EG_OK)
        s = eg_table_set_channels(&one, t->channels);
    if (s == EG_OK)
        memcpy(t->u8 + (size_t)i * eg_table_sample(t), one.u8, eg_table_sample(t));
    eg_table_fini(&one);
    return s;
}

enum { FOLDER_SHOWN = 256 }; /* files from one sign of life to the next */

static eg_status folder_load(const void *self, const eg_origin *from, eg_split split,
                             eg_table *out)
{
    const folder *f = self;
    char root[EG_PATH_SIZE];
    EG_TRY(eg_find_root(from, f->path, root));
    folder_names classes = {0};
    folder_files files = {0};
    eg_status s = folder_collect(f, root, split, &classes, &files);
    if (s == EG_OK)
        s = eg_table_alloc_u8(out, (int64_t)files.paths.n, f->colour == 0 ? 3 : 1, f->height,
                              f->width, (int64_t)classes.n);
    for (size_t i = 0; s == EG_OK && i < files.paths.n; i++) {
        eg_image im = {0};
        if (from->show && i % FOLDER_SHOWN == 0 &&
            !from->show(from->context, (int64_t)i, (int64_t)files.paths.n)) {
            s = eg_fail(EG_EIO, "loading was stopped after %zu of %zu files", i, files.paths.n);
            break;
        }
        s = eg_image_load(files.paths.at[i], &im);
        if (s == EG_OK)
            s = folder_place(&im, out, (int64_t)i);
        eg_image_fini(&im);
        out->y[i] = files.y[i];
    }
    if (s == EG_OK)
        s = eg_table_name_classes(out, (const char *const *)classes.at);
    folder_names_fini(&classes);
    folder_names_fini(&files.paths);
    free(files.y);
    return s;
}

/* Well-known sets that come as folders of pictures. */
static const eg_label_counts folder_counts[] = {
    {"tiny_imagenet", 200, 100000, 10000, NULL, NULL, 0},
    {"tiny_imagenet_100", 100, 50000, 5000, NULL, NULL, 0},
    {"imagenet_10", 10, 10000, 3000, NULL, NULL, 0},
    {"office31_amazon", 31, 2254, 563, NULL, NULL, 0}, /* of 2817, one in five for the test */
    {"office31_webcam", 31, 636, 159, NULL, NULL, 0},  /* of 795, likewise */
    {"office31_dslr", 31, 398, 100, NULL, NULL, 0},    /* of 498, likewise */
    {"domainnet_clipart", 345, 33525, 14604, NULL, NULL, 0},
    {"domainnet_infograph", 345, 36023, 15582, NULL, NULL, 0},
    {"domainnet_painting", 345, 50416, 21850, NULL, NULL, 0},
    {"domainnet_quickdraw", 345, 120750, 51750, NULL, NULL, 0},
    {"domainnet_real", 345, 120906, 52041, NULL, NULL, 0},
    {"domainnet_sketch", 345, 48212, 20916, NULL, NULL, 0},
    {"pacs_photo", 7, 1336, 334, NULL, NULL, 0},        /* of 1670, likewise */
    {"pacs_art", 7, 1639, 409, NULL, NULL, 0},          /* of 2048, likewise */
    {"pacs_cartoon", 7, 1876, 468, NULL, NULL, 0},      /* of 2344, likewise */
    {"pacs_sketch", 7, 3144, 785, NULL, NULL, 0},       /* of 3929, likewise */
    {"caltech10_amazon", 10, 767, 191, NULL, NULL, 0},  /* of 958, likewise */
    {"caltech10_caltech", 10, 899, 224, NULL, NULL, 0}, /* of 1123, likewise */
    {"caltech10_dslr", 10, 126, 31, NULL, NULL, 0},     /* of 157, likewise */
    {"caltech10_webcam", 10, 236, 59, NULL, NULL, 0},   /* of 295, likewise */
    {.name = NULL},
};

const eg_dataset eg_dataset_folder = {
    .component =
        {"folder",
         "your own pictures (PNG, JPEG, WebP, BMP), one folder per class, scaled to one size",
         sizeof(folder), folder_opts},
    .counts = folder_counts,
    .load = folder_load,
};
