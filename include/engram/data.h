/* engram/data.h - data sets: tables of labelled samples, loaded from files or generated.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A table owns its arrays; read-only use from several threads is fine. A data set is a const
 * descriptor plus a struct of options; loading the same set with the same options, files and
 * seed gives the same bytes.
 */
#ifndef EG_DATA_H
#define EG_DATA_H

#include <engram/component.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef enum eg_split { EG_TRAIN, EG_TEST } eg_split;

#define EG_NOTE_SIZE 96

/* Samples and labels of one split. What a sample is to come to is its label, or, where a data
 * set says so (eg_dataset.target), numbers of its own: then the label is what the sample counts
 * as where classes are counted and dealt. */
typedef struct eg_table {
    int64_t n, channels, height, width, classes;
    uint8_t *u8;    /* [n, c, h, w], or NULL */
    float *f32;     /* [n, c, h, w], when values are not bytes; exactly one is set */
    int64_t ids;    /* 0: values are pixels; else f32 holds numbers of pieces of a vocabulary of
                       so many, and -1 behind a text's end */
    bool borrowed;  /* these values are another's, who keeps them: never changed, never freed */
    int32_t *y;     /* [n], in [0, classes) */
    int32_t *group; /* [n] or NULL: natural owner of each sample (FEMNIST's writer) */
    char **names;   /* [classes] or NULL: what classes are called; eg_table_name_classes */
    int64_t target_width;
    float *target; /* [n, target_width] or NULL: the label is the target */
    /* What a user should know, "1 of 5 training files"; mostly empty. */
    char note[EG_NOTE_SIZE];
} eg_table;

/* Makes a zeroed table of bytes, or of floats, without groups. Release with eg_table_fini. */
eg_status eg_table_alloc_u8(eg_table *t, int64_t n, int64_t channels, int64_t height,
                            int64_t width, int64_t classes);
eg_status eg_table_alloc_f32(eg_table *t, int64_t n, int64_t channels, int64_t height,
                             int64_t width, int64_t classes);
void eg_table_fini(eg_table *t); /* a zeroed table is fine */

/* Gives a table's samples targets of so many numbers, all 0. */
eg_status eg_table_alloc_targets(eg_table *t, int64_t width);

/* Makes out a copy of t. */
eg_status eg_table_copy(const eg_table *t, eg_table *out);

/* Before values are changed: copies those that are borrowed. */
eg_status eg_table_own(eg_table *t);

/* Values of one sample. */
static inline size_t eg_table_sample(const eg_table *t)
{
    return (size_t)(t->channels * t->height * t->width);
}

/* Scales every sample to height x width, bilinear; when shrinking, each output pixel averages
 * all the pixels it covers. */
eg_status eg_table_resize(eg_table *t, int64_t height, int64_t width);

/* Turns grey into RGB (the same value thrice) or RGB into grey (0.299 R + 0.587 G + 0.114 B).
 */
eg_status eg_table_set_channels(eg_table *t, int64_t channels);

/* Says what the classes are called; names [classes] are copied, the first 60 bytes of each,
 * with a question mark for what a line of text cannot have. NULL takes names away. */
eg_status eg_table_name_classes(eg_table *t, const char *const *names);

/* Samples per class. counts: [classes]. */
void eg_table_count(const eg_table *t, int64_t *counts);

/* SHA-256, in hexadecimal, of the shape, values, labels, groups and targets. */
void eg_table_digest(const eg_table *t, char out[65]);

/* EG_ESHAPE, with both names, if images of b have another shape than those of a. */
eg_status eg_table_same_shape(const eg_table *a, const char *name, const eg_table *b,
                              const char *other);

/* How many samples of b have the same values as some sample of a. Labels do not matter. */
eg_status eg_table_overlap(const eg_table *a, const eg_table *b, int64_t *out);

/* How many samples have the same values as an earlier one. */
eg_status eg_table_repeats(const eg_table *t, int64_t *out);

/* Writes a contact sheet as PNG: one row per class, the first per_class samples of each. */
eg_status eg_table_sheet(const eg_table *t, int64_t per_class, const char *path);
/* The same with boxes, whose targets they must be, drawn in; a sample is in the row of its
 * label. */
eg_status eg_table_sheet_boxes(const eg_table *t, int64_t per_class, const char *path);

/* Writes a table into a folder as x_NAME.npy and y_NAME.npy, and the names of its classes, if
 * it has some, as classes.txt: with NAME train and test the data set npy reads them. The folder
 * is made. EG_EINVAL: such a file is there already; the table has groups. */
eg_status eg_table_store(const eg_table *t, const char *name, const char *folder);

/* Where a data set comes from. */
typedef struct eg_origin {
    const char *dir; /* the data folder; NULL: ENGRAM_DATA, else ~/.local/share/engram */
    uint64_t seed;   /* of what is generated; files do not depend on it */
    /* Where a relative path of one's own data is looked for first, before the working folder
     * and the data folder: that of the experiment file. NULL: nowhere. */
    const char *beside;
    /* Told now and then, by what loads many files, how many are done; false ends the loading
     * with EG_EIO. NULL: nobody is told. */
    bool (*show)(void *context, int64_t done, int64_t all);
    void *context;
} eg_origin;

/* How many samples a set has as its authors say, so that a scenario can be planned without the
 * data. */
typedef struct eg_label_counts {
    const char *name; /* the data set's, or what its options make of it: "emnist_letters" */
    int64_t classes, n_train, n_test;
    /* [classes], or NULL: spread evenly, the first classes taking one more. */
    const int64_t *train, *test;
    int64_t owners; /* natural owners, to whom training samples go in turn; 0: there are none */
} eg_label_counts;

/* Gets the text of a sample, as people read it. */
typedef void (*eg_speller)(void *context, int64_t row, const char *text);

/* The contract of a data set: one file src/world/data/<name>.c, one line in
 * src/world/data/list.inc. */
typedef struct eg_dataset {
    eg_component component;
    bool generated;     /* no files are needed */
    const char *target; /* the kind of its targets (<engram/target.h>); NULL: classes */
    const eg_label_counts *counts; /* up to a row without a name; NULL: nothing is published */
    /* Fills out (zeroed) with one split; on failure what it holds is released by the caller. */
    eg_status (*load)(const void *self, const eg_origin *from, eg_split split, eg_table *out);
    /* NULL, or of texts: calls visit with each row of a table it loaded. */
    eg_status (*spell)(const void *self, const eg_origin *from, const eg_table *t,
                       eg_speller visit, void *context);
} eg_dataset;

extern const eg_dataset *const eg_datasets[]; /* alphabetical, NULL at the end */
extern const eg_family eg_dataset_family;
const eg_dataset *eg_dataset_find(const char *word); /* as eg_family_find */

/* The published counts of that name, of whichever data set; NULL: there are none. */
const eg_label_counts *eg_dataset_counts(const char *word);

/* Adds a data set of one's own, as eg_family_add does, with data in memory or from anywhere:
 * its load may copy a table (eg_table_copy). */
eg_status eg_dataset_add(const eg_dataset *d);

/* The folder that a data set's files would be taken from, as far as its name tells; false if
 * there is none, or nothing in it. */
bool eg_dataset_where(const eg_dataset *d, const eg_origin *from, size_t size, char *out);

/* Loads one split and checks what the member promised. self: options, NULL for the defaults;
 * from: NULL for the environment's folder and seed 0. Release out with eg_table_fini. EG_ENOENT
 * says where the files were looked for and how to get them. */
eg_status eg_dataset_load(const eg_dataset *d, const void *self, const eg_origin *from,
                          eg_split split, eg_table *out);

/* Fractals one at a time, for images too large to hold. Any number of threads may draw at once.
 */
typedef struct eg_fractals eg_fractals;

typedef struct eg_fractals_opts {
    int64_t classes; /* each its own iterated function system */
    int64_t size;    /* images are size x size */
    int64_t points;  /* drawn per image */
} eg_fractals_opts;

eg_status eg_fractals_new(const eg_fractals_opts *opts, uint64_t seed, eg_fractals **out);
void eg_fractals_free(eg_fractals *f);

/* Draws image index of a split as planes, [3, size, size]. Its class is index mod classes. */
eg_status eg_fractals_image(const eg_fractals *f, eg_split split, int64_t index, uint8_t *rgb);
/* The same fractal on black, brighter where more points fell: [size, size]. A coloured one
 * would be hard to see in grey, since its hues and those behind it are equally bright. */
eg_status eg_fractals_grey(const eg_fractals *f, eg_split split, int64_t index, uint8_t *grey);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
