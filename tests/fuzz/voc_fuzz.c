/* voc_fuzz.c - VOC's files of boxes, from any bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/voc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"car", "sign"};
    static const int64_t picture[2] = {20, 40};
    eg_box_list list = {.classes = 2};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    eg_status s = eg_voc_parse("fuzz", text, picture, names, &list);
    for (int64_t i = 0; s == EG_OK && i < list.n; i++)
        if (!(list.box[i].w > 0) || list.box[i].x > 1 || list.box[i].label >= 2)
            abort();
    free(text);
    return 0;
}
