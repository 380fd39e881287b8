/* boxes.c - pictures with boxes: a folder of PNG and JPEG files, with what is on them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * <path>/train/x.jpg and <path>/test/y.jpg; or only <path>/x.jpg, then every test_every-th
 * picture in order is for testing. The order is that of names, numbers in them by their value,
 * so that frames of a film follow each other. What stands before the first "_" of a name is the
 * picture's owner: the town, the camera. Boxes are told beside each picture, in x.txt as YOLO
 * has them or in x.xml as PASCAL VOC does, or for all of a folder in one JSON file, as COCO
 * does. Classes are the lines of labels.txt, in <path> or in the folder above it; without it
 * those of the training pictures' JSON. A sample counts as its largest box's class.
 */
#include "io/file.h"
#include "io/image.h"
#include "world/data/coco.h"
#include "world/data/find.h"
#include "world/data/letterbox.h"
#include "world/data/voc.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { BOXES_TEXT = 1 << 24, BOXES_JSON = 1 << 30, BOXES_CLASSES = 1000 };

/* How boxes are told; as the option counts them. */
enum { BOXES_AUTO, BOXES_YOLO, BOXES_VOC, BOXES_COCO };

typedef struct boxes {
    char path[EG_OPT_TEXT_SIZE], only[EG_OPT_TEXT_SIZE];
    int64_t height, width, most, test_every;
    int format;
} boxes;

// clang-format off
static const eg_opt boxes_opts[] = {
    EG_OPT_TEXT(boxes, path, "boxes", "of the pictures; below the data folder, or absolute"),
    EG_OPT_TEXT(boxes, only, "", "the beginning of the names of the pictures that are taken: a town, a camera; empty: all"),
    EG_OPT_INT(boxes, height, 96, 1, 4096, "to scale to; what is left over is grey"),
    EG_OPT_INT(boxes, width, 160, 1, 4096, "to scale to; what is left over is grey"),
    EG_OPT_INT(boxes, most, 32, 1, EG_MAX_BOXES, "boxes kept of a picture, the largest first"),
    EG_OPT_CHOICE(boxes, format, 0, "how boxes are told: a YOLO text or a VOC file beside each picture, or COCO's JSON for a folder; auto: JSON if there is one, else VOC if there is any", "auto|yolo|voc|coco"),
    EG_OPT_INT(boxes, test_every, 5, 2, 1000, "one of so many is for testing, if no split"),
    EG_OPT_END,
};
// clang-format on

/* Names of pictures in order, and of classes. */
typedef struct boxes_list {
    char folder[EG_PATH_SIZE];
    int n;
    struct dirent **names; /* [n] */
    int64_t classes;
    char *labels; /* the text of labels.txt, lines ended by zeros */
    const char *label[BOXES_CLASSES];
    int format;
    eg_coco *coco;       /* of the folder, if boxes are told so */
    eg_coco *coco_train; /* of the training pictures' folder, where that is another */
} boxes_list;

static void boxes_fini(boxes_list *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->names[i]);
    free(l->names);
    free(l->labels);
    eg_coco_free(l->coco);
    eg_coco_free(l->coco_train);
}

static int boxes_is_picture(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return e->d_name[0] != '.' && dot &&
           (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".jpg") == 0 ||
            strcasecmp(dot, ".jpeg") == 0);
}

/* Names with their numbers by value: frame_9 before frame_10. */
static int boxes_compare(const struct dirent **a, const struct dirent **b)
{
    const char *x = (*a)->d_name, *y = (*b)->d_name;
    while (*x && *y) {
        size_t n = strspn(x, "0123456789"), m = strspn(y, "0123456789");
        if (n && m) {
            unsigned long long of_x = strtoull(x, NULL, 10), of_y = strtoull(y, NULL, 10);
            if (of_x != of_y)
                return of_x < of_y ? -1 : 1;
            x += n, y += m;
        } else if (*x != *y) {
            break;
        } else {
            x++, y++;
        }
    }
    return *x || *y ? (unsigned char)*x - (unsigned char)*y
                    : strcmp((*a)->d_name, (*b)->d_name);
}

static bool boxes_ends(const char *name, const char *with)
{
    size_t n = strlen(name), m = strlen(with);
    return n > m && name[0] != '.' && strcasecmp(name + n - m, with) == 0;
}

/* The first file of a folder whose name ends so; *n is how many there are. */
static eg_status boxes_only(const char *folder, const char *end, char out[EG_PATH_SIZE],
                            size_t *n)
{
    char name[NAME_MAX + 1] = "";
    DIR *dir = opendir(folder);
    *n = 0;
    if (!dir)
        return eg_file_fail(folder, "cannot be read");
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (boxes_ends(e->d_name, end) && ++*n == 1)
            snprintf(name, sizeof name, "%s", e->d_name);
    closedir(dir);
    return eg_path_join(folder, name, out);
}

static eg_status boxes_read_coco(const char *folder, eg_coco **out)
{
    char path[EG_PATH_SIZE];
    unsigned char *bytes;
    size_t n, size;
    EG_TRY(boxes_only(folder, ".json", path, &n));
    if (n != 1)
        return eg_fail(n ? EG_EFORMAT : EG_ENOENT,
                       "%s: there are %zu JSON files in it, not one with the boxes", folder, n);
    EG_TRY(eg_file_read(path, BOXES_JSON, &bytes, &size));
    eg_status s = eg_coco_parse(path, bytes, size, out);
    free(bytes);
    return s;
}

/* How boxes are told in a folder. */
static eg_status boxes_format(const boxes *b, boxes_list *l)
{
    char path[EG_PATH_SIZE];
    size_t json = 0, xml = 0;
    l->format = b->format;
    if (b->format == BOXES_AUTO) {
        EG_TRY(boxes_only(l->folder, ".json", path, &json));
        EG_TRY(boxes_only(l->folder, ".xml", path, &xml));
        l->format = json ? BOXES_COCO : xml ? BOXES_VOC : BOXES_YOLO;
    }
    return l->format == BOXES_COCO ? boxes_read_coco(l->folder, &l->coco) : EG_OK;
}

/* The names of the classes are those of the training pictures' categories. */
static eg_status boxes_categories(const char *train, bool whole, boxes_list *l)
{
    int64_t n;
    if (!whole && strcmp(l->folder, train) != 0)
        EG_TRY(boxes_read_coco(train, &l->coco_train));
    const char *const *names = eg_coco_names(l->coco_train ? l->coco_train : l->coco, &n);
    l->classes = n < BOXES_CLASSES ? n : BOXES_CLASSES;
    memcpy(l->label, names, (size_t)l->classes * sizeof *names);
    return EG_OK;
}

/* Reads the names of the classes, a line each. */
static eg_status boxes_labels(const char *path, boxes_list *l)
{
    size_t n;
    EG_TRY(eg_file_read(path, BOXES_TEXT, (unsigned char **)&l->labels, &n));
    char *rest = l->labels;
    for (char *at; (at = strtok_r(rest, "\r\n", &rest));)
        if (l->classes < BOXES_CLASSES)
            l->label[l->classes++] = at;
    return l->classes ? EG_OK : eg_fail(EG_EFORMAT, "%s: there are no classes in it", path);
}

static eg_status boxes_classes(const char *root, bool whole, boxes_list *l)
{
    char path[EG_PATH_SIZE], above[EG_PATH_SIZE], train[EG_PATH_SIZE];
    struct stat st;
    EG_TRY(eg_path_join(root, "labels.txt", path));
    EG_TRY(eg_path_join(root, "../labels.txt", above));
    EG_TRY(eg_path_join(root, "train", train));
    bool own = stat(path, &st) == 0, there = own || stat(above, &st) == 0;
    if (!there && l->coco)
        return boxes_categories(train, whole, l);
    return there ? boxes_labels(own ? path : above, l)
                 : eg_fail(EG_ENOENT,
                           "there is no labels.txt, with a class per line, in %s or the "
                           "folder above it",
                           root);
}

static eg_status boxes_find(const boxes *b, const eg_origin *from, eg_split split,
                            boxes_list *l, bool *whole)
{
    char root[EG_PATH_SIZE], train[EG_PATH_SIZE];
    struct stat st;
    EG_TRY(eg_find_root(from, b->path, root));
    EG_TRY(eg_path_join(root, "train", train));
    *whole = stat(train, &st) != 0 || !S_ISDIR(st.st_mode);
    EG_TRY(eg_path_join(root, *whole ? "." : split == EG_TRAIN ? "train" : "test", l->folder));
    if (stat(l->folder, &st) != 0 || !S_ISDIR(st.st_mode))
        return eg_fail(EG_ENOENT, "%s: there is no such folder", l->folder);
    l->n = scandir(l->folder, &l->names, boxes_is_picture, boxes_compare);
    if (l->n < 0) {
        l->n = 0;
        return eg_file_fail(l->folder, "cannot be read");
    }
    EG_TRY(boxes_format(b, l));
    return boxes_classes(root, *whole, l);
}

/* Keeps the names that are wanted: with their beginning, and of the split. */
static eg_status boxes_keep(const boxes *b, eg_split split, bool whole, boxes_list *l)
{
    int kept = 0, met = 0;
    for (int i = 0; i < l->n; i++) {
        bool named = strncmp(l->names[i]->d_name, b->only, strlen(b->only)) == 0;
        bool test = named && whole && ++met % b->test_every == 0;
        if (named && (!whole || test == (split == EG_TEST)))
            l->names[kept++] = l->names[i];
        else
            free(l->names[i]);
    }
    l->n = kept;
    return kept ? EG_OK
                : eg_fail(EG_EFORMAT, "%s: there are no PNG or JPEG files%s%s in it", l->folder,
                          *b->only ? " that begin with " : "", b->only);
}

/* The owner's number: of the first name that begins alike, counted. */
static int32_t boxes_owner(const boxes_list *l, int i, const int32_t *owners)
{
    if (i == 0)
        return 0;
    size_t n = strcspn(l->names[i]->d_name, "_");
    bool same = strcspn(l->names[i - 1]->d_name, "_") == n &&
                strncmp(l->names[i]->d_name, l->names[i - 1]->d_name, n) == 0;
    return owners[i - 1] + !same;
}

static int boxes_larger(const void *a, const void *b)
{
    const eg_box *x = a, *y = b;
    float of_x = x->w * x->h, of_y = y->w * y->h;
    return (of_x < of_y) - (of_x > of_y);
}

/* Moves boxes into the frame, as sample i's target; its label is the largest one's class. */
static void boxes_target(eg_box_list *l, const eg_letterbox *f, eg_table *t, int64_t i)
{
    float *to = t->target + i * t->target_width;
    qsort(l->box, (size_t)l->n, sizeof *l->box, boxes_larger);
    for (int64_t k = 0; k * EG_BOX_SIZE < t->target_width; k++) {
        eg_box b = {.label = EG_NO_BOX};
        if (k < l->n)
            b = eg_letterbox_into(f, l->box[k]);
        memcpy(to + k * EG_BOX_SIZE, &b, sizeof b);
    }
    t->y[i] = l->n && l->box[0].label >= 0 ? (int32_t)l->box[0].label : 0;
}

/* Reads the file beside a picture. */
static eg_status boxes_beside(const boxes_list *l, const char *picture, const int64_t size[2],
                              eg_box_list *to)
{
    char path[EG_PATH_SIZE];
    unsigned char *text;
    bool voc = l->format == BOXES_VOC;
    size_t n, stem = (size_t)(strrchr(picture, '.') - picture);
    struct stat st;
    if (stem + 5 > sizeof path)
        return eg_fail(EG_EINVAL, "%s: the path is too long", picture);
    snprintf(path, sizeof path, "%.*s%s", (int)stem, picture, voc ? ".xml" : ".txt");
    if (stat(path, &st) != 0)
        return eg_fail(EG_ENOENT, "%s has no %s of boxes beside it, %s; without boxes it %s",
                       picture, voc ? "file" : "text", path,
                       voc ? "has no object" : "is empty");
    EG_TRY(eg_file_read(path, BOXES_TEXT, &text, &n));
    eg_status s = voc ? eg_voc_parse(path, (const char *)text, size, l->label, to)
                      : eg_yolo_text_parse(path, (const char *)text, to);
    free(text);
    return s;
}

static eg_status boxes_sample(const boxes_list *l, int i, eg_table *t)
{
    const char *name = l->names[i]->d_name;
    char path[EG_PATH_SIZE];
    eg_image im;
    eg_box_list list = {.classes = l->classes};
    EG_TRY(eg_path_join(l->folder, name, path));
    EG_TRY(eg_image_load(path, &im));
    const int64_t size[2] = {im.height, im.width};
    eg_letterbox f = eg_letterbox_fit(&im, t->height, t->width);
    eg_status s = l->coco ? eg_coco_boxes(l->coco, name, size, l->label, &list)
                          : boxes_beside(l, path, size, &list);
    if (s == EG_OK)
        s = eg_letterbox_place(&f, &im, t->channels, t->u8 + (size_t)i * eg_table_sample(t));
    boxes_target(&list, &f, t, i);
    t->group[i] = boxes_owner(l, i, t->group);
    eg_image_fini(&im);
    return s;
}

static eg_status boxes_fill(const boxes *b, const boxes_list *l, eg_table *t)
{
    EG_TRY(eg_table_alloc_u8(t, l->n, 3, b->height, b->width, l->classes));
    EG_TRY(eg_table_alloc_targets(t, b->most * EG_BOX_SIZE));
    EG_TRY(eg_table_name_classes(t, l->label));
    EG_TRY(eg_alloc((size_t)t->n, sizeof *t->group, &t->group));
    for (int i = 0; i < l->n; i++)
        EG_TRY(boxes_sample(l, i, t));
    return EG_OK;
}

static eg_status boxes_load(const void *self, const eg_origin *from, eg_split split,
                            eg_table *out)
{
    const boxes *b = self;
    boxes_list l = {0};
    bool whole = false;
    eg_status s = boxes_find(b, from, split, &l, &whole);
    if (s == EG_OK)
        s = boxes_keep(b, split, whole, &l);
    if (s == EG_OK)
        s = boxes_fill(b, &l, out);
    boxes_fini(&l);
    return s;
}

const eg_dataset eg_dataset_boxes = {
    .component = {"boxes",
                  "your own pictures with boxes: PNG or JPEG, with YOLO texts, VOC or COCO",
                  sizeof(boxes), boxes_opts},
    .target = "detection",
    .load = boxes_load,
};
