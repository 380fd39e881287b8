/* engram/saved.h - a trained model in a file that says all that is needed to use it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run writes model.safetensors: the tensors by PyTorch's names, and notes with the network
 * and its options, the input's shape, the classes, means and deviations, the data sets with
 * their options and the share of them that was used, seed and version. One thread at a time.
 */
#ifndef EG_SAVED_H
#define EG_SAVED_H

#include <engram/data.h>
#include <engram/metric.h>
#include <engram/model.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_saved eg_saved;

/* Reads such a file. EG_EFORMAT: it does not say what it is of; EG_ESHAPE names the tensors
 * that do not fit the network it tells of; EG_ENOTSUP: a method's part answered in place of the
 * network's head. */
eg_status eg_saved_open(const char *path, eg_saved **out);
void eg_saved_free(eg_saved *s); /* NULL is fine */

/* The classes it tells apart: its outputs, or a fourth of them if it learned from images turned
 * four ways (train.rotations), where a class's first output is that of the upright image. */
int64_t eg_saved_n_classes(const eg_saved *s);

/* What it holds, borrowed: the network; a note, NULL if there is none of this key. */
const eg_net *eg_saved_net(const eg_saved *s);
const char *eg_saved_note(const eg_saved *s, const char *key);

/* The data set of the run that saved it, if it had one alone and the program knows it; else
 * NULL. */
const eg_dataset *eg_saved_dataset(const eg_saved *s);

/* Sets a data set's options as the run had them; without effect if it had no such data set. */
eg_status eg_saved_set(const eg_saved *s, const eg_dataset *set, void *options);

/* Loads test images as the run did that saved it: of a data set that it had, the share that it
 * used. Release out with eg_table_fini. */
eg_status eg_saved_load(const eg_saved *s, const eg_dataset *set, const void *options,
                        const eg_origin *from, eg_table *out);

/* Answers for the samples of t, whose images are brought to the network's input and normalised
 * as in training. Only samples of these classes count (NULL: all). all: every answer is
 * allowed; within, unless it is NULL: answers are these classes alone. Both are of
 * eg_saved_n_classes, and are added to. EG_ESHAPE: t has a class that the network
 * does not know, or it is asked for one. */
eg_status eg_saved_test(eg_saved *s, eg_table *t, const int32_t *classes, int64_t n_classes,
                        eg_confusion *all, eg_confusion *within);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
