/* engram/gallery.h - generators in a file, and sheets of what they draw.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A gallery holds drawing networks of one kind, options and image shape. As a file it is
 * safetensors: "client3.class7.up0.weight" is the tensor up0.weight, as PyTorch would name it,
 * of what client 3 has for class 7; the server's own has no "client", one for all classes no
 * "class". Notes say kind, options, shape ("1x28x28"), classes, version and commit. One thread
 * at a time.
 */
#ifndef EG_GALLERY_H
#define EG_GALLERY_H

#include <engram/generator.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Whose generator it is, and what it draws. */
typedef struct eg_drawer {
    int64_t client; /* -1: the server's */
    int64_t label;  /* -1: all classes */
} eg_drawer;

/* A gallery to be filled, and saved as the file path. add copies the drawing network, to the
 * disk where path is to be: memory holds one at a time. EG_EINVAL: there is one of this drawer,
 * or the others are of another kind, options or shape. */
typedef struct eg_gallery eg_gallery;
eg_status eg_gallery_new(const char *path, eg_gallery **out);
void eg_gallery_free(eg_gallery *g); /* NULL is fine */
eg_status eg_gallery_add(eg_gallery *g, const eg_generator *m, eg_drawer who);
size_t eg_gallery_n(const eg_gallery *g); /* generators */
/* Whether this client's are wanted (-1: the server's): a sheet shows one drawer's alone. What
 * is not wanted need not be recalled; adding it does nothing. */
bool eg_gallery_wants(const eg_gallery *g, int64_t client);

/* SHA-256, in hexadecimal, of all names and values in the order of adding. */
void eg_gallery_digest(const eg_gallery *g, char out[65]);

/* Writes the file in one step, with notes after its own. */
eg_status eg_gallery_save(const eg_gallery *g, const eg_stored_note *notes, size_t n_notes);

/* A file as it was found: every tensor belongs to a whole generator, has its shape and finite
 * values. EG_EFORMAT: it does not say what it is of; EG_ENOENT: its kind is not known here;
 * EG_ESHAPE names the tensor that is missing, left over or of another shape; EG_EINVAL: a value
 * is not finite. */
typedef struct eg_exhibits eg_exhibits;
eg_status eg_exhibits_open(const char *path, eg_exhibits **out);
void eg_exhibits_free(eg_exhibits *x); /* NULL is fine */

/* Who is there, in the order of the file; a note, NULL if there is none. Borrowed. */
size_t eg_exhibits_n(const eg_exhibits *x);
eg_drawer eg_exhibits_at(const eg_exhibits *x, size_t i);
const char *eg_exhibits_note(const eg_exhibits *x, const char *key);

/* The one machine, which draws and does not train, with the weights of drawer i. Borrowed. */
eg_status eg_exhibits_show(eg_exhibits *x, size_t i, eg_generator **out);

/* Rows of drawings, to become a picture. Zeroed, or released with eg_sheet_fini. */
typedef struct eg_sheet {
    int64_t n_rows, per_row, channels, height, width;
    float *x;      /* [n_rows, per_row, c, h, w], between -1 and 1 */
    float *labels; /* [n_rows]: -1 for all classes */
} eg_sheet;

eg_status eg_sheet_init(eg_sheet *s, const eg_generator *like, int64_t n_rows, int64_t per_row);
void eg_sheet_fini(eg_sheet *s);

/* Draws one row of a class, from the stream (seed, row, 0, EG_FOR_NOISE). */
eg_status eg_sheet_draw(eg_sheet *s, eg_generator *m, int64_t row, int64_t label,
                        uint64_t seed);

/* Writes the picture, rows as they are or a single one as a square. A path that ends in
 * ".safetensors" gets the numbers: "images" and "labels". */
eg_status eg_sheet_save(const eg_sheet *s, const char *path);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
