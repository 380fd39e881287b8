/* coco_fuzz.c - COCO's files of boxes, from any bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/coco.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t picture[2] = {20, 40};
    eg_coco *c;
    eg_box_list list = {0};
    if (eg_coco_parse("fuzz", data, size, &c) != EG_OK)
        return 0;
    const char *const *names = eg_coco_names(c, &list.classes);
    eg_status s = eg_coco_boxes(c, "a_1.png", picture, names, &list);
    for (int64_t i = 0; s == EG_OK && i < list.n; i++)
        if (!(list.box[i].w > 0) || list.box[i].x > 1 ||
            list.box[i].label >= (float)list.classes)
            abort();
    eg_coco_free(c);
    return 0;
}
