/* engram/predict.h - what a saved model says of images: for the machine where it is used.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A model is opened with eg_saved_open, and one thread uses it at a time. Images are brought to
 * the network's input and normalised as in training.
 */
#ifndef EG_PUBLIC_PREDICT_H
#define EG_PUBLIC_PREDICT_H

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
} eg_prediction;

/* Takes a prediction; a failure ends the walk and is returned. */
typedef eg_status (*eg_predict_visit)(void *context, const eg_prediction *p);

/* Says of every image of t, in order; labels are not looked at. t is changed: its images are
 * brought to the network's input. */
eg_status eg_predict_table(eg_saved *s, eg_table *t, eg_predict_visit visit, void *context);

/* The same of PNG and JPEG files, each of any size, n at a time at most 4096. EG_ENOENT,
 * EG_EFORMAT: one is not there or is no picture; nothing is said of the others then. */
eg_status eg_predict_files(eg_saved *s, const char *const *paths, size_t n,
                           eg_predict_visit visit, void *context);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
