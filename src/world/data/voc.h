/* voc.h - the boxes of one picture as PASCAL VOC has them: an XML file beside it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_VOC_H
#define EG_VOC_H

#include "world/data/yolo_text.h"

/* Reads such a file, which is followed by a zero. Its boxes are shares of the size that it
 * tells, or else of the picture's, [height, width]. names [to->classes]: classes are told by
 * name. A box that is difficult is a crowd. EG_EFORMAT has the line. */
eg_status eg_voc_parse(const char *name, const char *text, const int64_t size[2],
                       const char *const *names, eg_box_list *to);

#endif
