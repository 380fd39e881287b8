/* coco.c - the boxes of many pictures as COCO has them: one JSON file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/coco.h"

#include "io/json.h"

#include <stdlib.h>
#include <string.h>

typedef struct coco_category {
    int64_t id;
    const char *name;
} coco_category;

typedef struct coco_image {
    int64_t id;
    const char *name; /* without folders */
    double size[2];   /* height, width; 0: not told */
    size_t from, n;   /* its boxes */
} coco_image;

typedef struct coco_box {
    size_t image, category; /* their places */
    double at[4];           /* left, top, width, height, in pixels */
    bool crowd;
    size_t number; /* in the file, from 0 on */
} coco_box;

struct eg_coco {
    char *name; /* of the file */
    eg_json *file;
    coco_category *categories; /* [n_categories] by id */
    coco_image *images;        /* [n_images] by id */
    size_t *by_name;           /* [n_images] places of images */
    coco_box *boxes;           /* [n_boxes] by image, then as in the file */
    const char **names;        /* [n_categories] */
    size_t n_categories, n_images, n_boxes;
};

void eg_coco_free(eg_coco *c)
{
    if (!c)
        return;
    eg_json_free(c->file);
    free(c->categories);
    free(c->images);
    free(c->by_name);
    free(c->boxes);
    free(c->names);
    free(c->name);
    free(c);
}

/* A member that must be there, of a list's element. */
static eg_status coco_int(const eg_json *v, const char *key, int64_t *out)
{
    const eg_json *m;
    EG_TRY(eg_json_need(v, key, EG_JSON_INT, &m));
    return eg_json_int(m, out);
}

static eg_status coco_text(const eg_json *v, const char *key, const char **out)
{
    const eg_json *m;
    EG_TRY(eg_json_need(v, key, EG_JSON_TEXT, &m));
    return eg_json_text(m, out);
}

static int coco_compare_ids(const void *a, const void *b)
{
    const int64_t *x = a, *y = b; /* both kinds begin with it */
    return (*x > *y) - (*x < *y);
}

/* The list of a name; room for its elements in *items. */
static eg_status coco_list(const eg_coco *c, const char *key, size_t size, const eg_json **list,
                           void *items, size_t *n)
{
    EG_TRY(eg_json_need(c->file, key, EG_JSON_ARRAY, list));
    *n = eg_json_count(*list);
    return eg_alloc(*n + 1, size, items);
}

/* Puts elements in order of their ids, which must differ. */
static eg_status coco_sort(const char *key, void *items, size_t n, size_t size)
{
    qsort(items, n, size, coco_compare_ids);
    for (size_t i = 1; i < n; i++) {
        const char *at = (const char *)items + i * size;
        if (coco_compare_ids(at - size, at) == 0)
            return eg_fail(EG_EFORMAT, "%s: the id %lld is there twice", key,
                           (long long)*(const int64_t *)(const void *)at);
    }
    return EG_OK;
}

static eg_status coco_categories(eg_coco *c)
{
    enum { MOST = 10000 };
    const eg_json *list;
    EG_TRY(coco_list(c, "categories", sizeof *c->categories, &list, &c->categories,
                     &c->n_categories));
    for (size_t i = 0; i < c->n_categories; i++) {
        const eg_json *v = eg_json_at(list, i);
        EG_TRY(
            eg_blame(coco_int(v, "id", &c->categories[i].id), "categories, number %zu", i + 1));
        EG_TRY(eg_blame(coco_text(v, "name", &c->categories[i].name), "categories, number %zu",
                        i + 1));
    }
    if (c->n_categories == 0 || c->n_categories > MOST)
        return eg_fail(EG_EFORMAT, "categories: there are %zu", c->n_categories);
    EG_TRY(coco_sort("categories", c->categories, c->n_categories, sizeof *c->categories));
    EG_TRY(eg_alloc(c->n_categories, sizeof *c->names, &c->names));
    for (size_t i = 0; i < c->n_categories; i++)
        c->names[i] = c->categories[i].name;
    return EG_OK;
}

/* A picture's side; 0 where it is not told. */
static eg_status coco_side(const eg_json *v, const char *key, double *out)
{
    const eg_json *m = eg_json_get(v, key);
    *out = 0;
    if (!m)
        return EG_OK;
    EG_TRY(eg_json_real(m, out));
    return *out >= 0 && *out < 1e9 ? EG_OK
                                   : eg_fail(EG_EFORMAT, "%s: %g is no size", key, *out);
}

static eg_status coco_image_of(const eg_json *v, coco_image *out)
{
    const char *name;
    EG_TRY(coco_int(v, "id", &out->id));
    EG_TRY(coco_text(v, "file_name", &name));
    out->name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    EG_TRY(coco_side(v, "height", &out->size[0]));
    return coco_side(v, "width", &out->size[1]);
}

static eg_status coco_images(eg_coco *c)
{
    const eg_json *list;
    EG_TRY(coco_list(c, "images", sizeof *c->images, &list, &c->images, &c->n_images));
    for (size_t i = 0; i < c->n_images; i++)
        EG_TRY(eg_blame(coco_image_of(eg_json_at(list, i), &c->images[i]), "images, number %zu",
                        i + 1));
    return coco_sort("images", c->images, c->n_images, sizeof *c->images);
}

/* The place of an id; SIZE_MAX: there is none. */
static size_t coco_place(const void *items, size_t n, size_t size, int64_t id)
{
    const char *at = n ? bsearch(&id, items, n, size, coco_compare_ids) : NULL;
    return at ? (size_t)(at - (const char *)items) / size : SIZE_MAX;
}

static eg_status coco_corners(const eg_json *v, double at[4])
{
    const eg_json *list;
    EG_TRY(eg_json_need(v, "bbox", EG_JSON_ARRAY, &list));
    if (eg_json_count(list) != 4)
        return eg_fail(EG_EFORMAT, "bbox: %zu numbers, not 4", eg_json_count(list));
    for (size_t k = 0; k < 4; k++)
        EG_TRY(eg_blame(eg_json_real(eg_json_at(list, k), &at[k]), "bbox"));
    return EG_OK;
}

static eg_status coco_box_of(const eg_coco *c, const eg_json *v, coco_box *out)
{
    int64_t image, category, crowd = 0;
    const eg_json *m = eg_json_get(v, "iscrowd");
    EG_TRY(coco_int(v, "image_id", &image));
    EG_TRY(coco_int(v, "category_id", &category));
    EG_TRY(coco_corners(v, out->at));
    if (m)
        EG_TRY(eg_blame(eg_json_int(m, &crowd), "iscrowd"));
    out->crowd = crowd != 0;
    out->image = coco_place(c->images, c->n_images, sizeof *c->images, image);
    out->category = coco_place(c->categories, c->n_categories, sizeof *c->categories, category);
    if (out->image == SIZE_MAX)
        return eg_fail(EG_EFORMAT, "no image has the id %lld", (long long)image);
    return out->category < SIZE_MAX
               ? EG_OK
               : eg_fail(EG_EFORMAT, "no category has the id %lld", (long long)category);
}

static int coco_compare_boxes(const void *a, const void *b)
{
    const coco_box *x = a, *y = b;
    int by_image = (x->image > y->image) - (x->image < y->image);
    return by_image ? by_image : (x->number > y->number) - (x->number < y->number);
}

static eg_status coco_boxes_all(eg_coco *c)
{
    const eg_json *list;
    EG_TRY(coco_list(c, "annotations", sizeof *c->boxes, &list, &c->boxes, &c->n_boxes));
    for (size_t i = 0; i < c->n_boxes; i++) {
        c->boxes[i].number = i;
        EG_TRY(eg_blame(coco_box_of(c, eg_json_at(list, i), &c->boxes[i]),
                        "annotations, number %zu", i + 1));
    }
    qsort(c->boxes, c->n_boxes, sizeof *c->boxes, coco_compare_boxes);
    for (size_t i = 0; i < c->n_boxes; i++) {
        coco_image *image = &c->images[c->boxes[i].image];
        image->from = image->n ? image->from : i;
        image->n++;
    }
    return EG_OK;
}

/* The names that are sorted, for those who compare; one thread reads at a time. */
typedef struct coco_entry {
    const char *name;
    size_t place;
} coco_entry;

static int coco_compare_names(const void *a, const void *b)
{
    const coco_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static eg_status coco_index(eg_coco *c)
{
    coco_entry *list;
    EG_TRY(eg_alloc(c->n_images + 1, sizeof *list, &list));
    eg_status s = eg_alloc(c->n_images + 1, sizeof *c->by_name, &c->by_name);
    for (size_t i = 0; i < c->n_images && s == EG_OK; i++)
        list[i] = (coco_entry){c->images[i].name, i};
    if (s == EG_OK)
        qsort(list, c->n_images, sizeof *list, coco_compare_names);
    for (size_t i = 0; i < c->n_images && s == EG_OK; i++) {
        c->by_name[i] = list[i].place;
        if (i && strcmp(list[i].name, list[i - 1].name) == 0)
            s = eg_fail(EG_EFORMAT, "images: '%.200s' is there twice", list[i].name);
    }
    free(list);
    return s;
}

static eg_status coco_read(eg_coco *c, const void *bytes, size_t n)
{
    EG_TRY(eg_json_parse(bytes, n, &c->file));
    EG_TRY(coco_categories(c));
    EG_TRY(coco_images(c));
    EG_TRY(coco_boxes_all(c));
    return coco_index(c);
}

eg_status eg_coco_parse(const char *name, const void *bytes, size_t n, eg_coco **out)
{
    eg_coco *c;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *c, &c));
    c->name = strdup(name);
    eg_status s = c->name ? coco_read(c, bytes, n) : eg_fail(EG_ENOMEM, "out of memory");
    if (s == EG_OK) {
        *out = c;
        return EG_OK;
    }
    eg_coco_free(c);
    return eg_blame(s == EG_ENOMEM ? s : EG_EFORMAT, "%s", name);
}

const char *const *eg_coco_names(const eg_coco *c, int64_t *n)
{
    *n = (int64_t)c->n_categories;
    return c->names;
}

/* The image of a name; NULL: there is none. */
static const coco_image *coco_find(const eg_coco *c, const char *name)
{
    size_t low = 0, high = c->n_images;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(c->images[c->by_name[middle]].name, name);
        if (order == 0)
            return &c->images[c->by_name[middle]];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static eg_status coco_add(const eg_coco *c, const coco_box *b, const double size[2],
                          const char *const *names, eg_box_list *to)
{
    int64_t class = 0;
    const char *name = c->categories[b->category].name;
    while (class < to->classes && strcmp(names[class], name) != 0)
        class ++;
    if (class == to->classes)
        return eg_fail(EG_EFORMAT, "class '%.60s' is none of the %lld classes", name,
                       (long long)to->classes);
    const eg_box box = {.label = (float)(b->crowd ? EG_CROWD - class : class),
                        .x = (float)((b->at[0] + b->at[2] / 2) / size[1]),
                        .y = (float)((b->at[1] + b->at[3] / 2) / size[0]),
                        .w = (float)(b->at[2] / size[1]),
                        .h = (float)(b->at[3] / size[0])};
    return eg_box_list_add(to, &box);
}

eg_status eg_coco_boxes(const eg_coco *c, const char *picture, const int64_t size[2],
                        const char *const *names, eg_box_list *to)
{
    const coco_image *image = coco_find(c, picture);
    if (!image)
        return eg_fail(EG_ENOENT, "%s: no image is called '%.200s'", c->name, picture);
    bool told = image->size[0] > 0 && image->size[1] > 0;
    const double sides[2] = {told ? image->size[0] : (double)size[0],
                             told ? image->size[1] : (double)size[1]};
    for (size_t i = image->from; i < image->from + image->n; i++)
        EG_TRY(eg_blame(coco_add(c, &c->boxes[i], sides, names, to),
                        "%s: annotations, number %zu (%.200s)", c->name, c->boxes[i].number + 1,
                        picture));
    return EG_OK;
}
