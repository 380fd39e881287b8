/* gallery.h - what writing and reading generators share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_GALLERY_H
#define EG_SRC_GALLERY_H

#include <engram/gallery.h>

enum { EG_DRAWER_NAME = 64 };

/* What stands before the names of a drawer's tensors: "client3.class7.", or nothing. */
typedef struct eg_drawer_name {
    char text[EG_DRAWER_NAME];
} eg_drawer_name;
eg_drawer_name eg_drawer_prefix(eg_drawer who);

/* As eg_exhibits_open, of bytes in memory, which stay the caller's. */
eg_status eg_exhibits_parse(const void *bytes, size_t n, eg_exhibits **out);

/* Before anything is added: a gallery for a sheet, of whoever comes first alone. */
void eg_gallery_want_one(eg_gallery *g);

/* Who was added, in order; a machine for what they draw with, which draws and does not train;
 * and the weights of drawer i in it. Of a gallery that is not empty. */
eg_drawer eg_gallery_at(const eg_gallery *g, size_t i);
eg_status eg_gallery_machine(const eg_gallery *g, eg_generator **out);
eg_status eg_gallery_show(const eg_gallery *g, size_t i, eg_generator *m);

#endif
