/* image_fuzz.c - the PNG and JPEG readers on any bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_image im;
    if (eg_image_parse("fuzz", data, size, &im) == EG_OK) {
        EG_ASSERT(im.height > 0 && im.width > 0 && (im.channels == 1 || im.channels == 3));
        volatile uint8_t last = im.pixels[im.height * im.width * im.channels - 1];
        (void)last; /* it can be read */
    } else {
        EG_ASSERT(!im.pixels);
    }
    eg_image_fini(&im);
    return 0;
}
