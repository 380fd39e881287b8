/* yolo_text_fuzz.c - texts of boxes, from any bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/yolo_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_box_list list = {.classes = 5};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    eg_status s = eg_yolo_text_parse("fuzz", text, &list);
    for (int64_t i = 0; s == EG_OK && i < list.n; i++)
        if (!(list.box[i].w > 0) || list.box[i].x > 1 || list.box[i].label >= 5)
            abort();
    free(text);
    return 0;
}
