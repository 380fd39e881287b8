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

#endif
