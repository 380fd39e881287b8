/* engram/predict.h - what a saved model says of images: for the machine where it is used.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A model is opened with eg_saved_open, and one thread uses it at a time. Images are brought to
 * the network's input and normalised as in training; pictures for a model that looks for boxes
 * keep their shape, with grey around, as the data set `boxes` has them.
 */
#ifndef EG_PUBLIC_PREDICT_H
#define EG_PUBLIC_PREDICT_H

#include <engram/box.h>
#include <engram/saved.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* What a model says of one image; the arrays are borrowed until the visit returns. */
typedef struct eg_prediction {
    int64_t index;            /* of the image, in the order asked */
    int64_t n_classes;        /* eg_saved_n_classes */
    const float *logits;      /* [n_classes], as the network puts them out */
    const float *probability; /* [n_classes], their softmax: from 0 to 1, 1 in all */
    int32_t best;             /* the class with the largest; the first of equal ones */
    /* Of a model that looks for boxes, which has none of these three (NULL, NULL, -1): boxes as
     * shares of the image as it was given, suppressed, the surest first. */
    int64_t n_found;
    const eg_found *found; /* [n_found] */
} eg_prediction;

/* Whether a saved model looks for boxes. */
bool eg_saved_finds_boxes(const eg_saved *s);

/* What a class is called where the run's data said so; else NULL. name: room for it */
enum { EG_CLASS_NAME = 64 };
const char *eg_saved_class(const eg_saved *s, int64_t label, char name[EG_CLASS_NAME]);

/* Takes a prediction; a failure ends the walk and is returned. */
typedef eg_status (*eg_predict_visit)(void *context, const eg_prediction *p);

/* Says of every image of t, in order; labels are not looked at. t is changed: its images are
 * brought to the network's input. */
eg_status eg_predict_table(eg_saved *s, eg_table *t, eg_predict_visit visit, void *context);

/* The same of PNG and JPEG files, each of any size, n at a time at most 4096. EG_ENOENT,
 * EG_EFORMAT: one is not there or is no picture; nothing is said of the others then. */
eg_status eg_predict_files(eg_saved *s, const char *const *paths, size_t n,
                           eg_predict_visit visit, void *context);

/* Draws what was found on a picture into a PNG file, with the names of classes and how sure
 * each box is; those less sure than `sure` are left out. */
eg_status eg_predict_draw(const eg_saved *s, const char *picture, const eg_prediction *p,
                          double sure, const char *out);

/* Average precision by COCO's rules (engram/box.h) over all of t, whose targets are boxes. t is
 * changed as by eg_predict_table. EG_EINVAL: the model tells classes, or t has no boxes or
 * classes that the model does not know. */
eg_status eg_saved_precision(eg_saved *s, eg_table *t, eg_precisions *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
