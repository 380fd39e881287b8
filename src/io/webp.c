/* webp.c - still WebP pictures, by libwebp.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/image.h"

#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>

bool eg_webp_known(const uint8_t *bytes, size_t n)
{
    return n >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0;
}

eg_status eg_webp_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out)
{
    WebPBitstreamFeatures about;
    *out = (eg_image){0};
    if (WebPGetFeatures(bytes, n, &about) != VP8_STATUS_OK)
        return eg_fail(EG_EFORMAT, "%s: the WebP is cut short or damaged", name);
    if (about.has_animation)
        return eg_fail(EG_ENOTSUP, "%s: the WebP is animated, not one picture", name);
    if ((int64_t)about.width * about.height > EG_IMAGE_MAX_PIXELS)
        return eg_fail(EG_EFORMAT, "%s: %d x %d pixels are too many", name, about.width,
                       about.height);
    size_t row = (size_t)about.width * 3, all = row * (size_t)about.height;
    *out = (eg_image){.height = about.height, .width = about.width, .channels = 3};
    EG_TRY(eg_alloc(all, 1, &out->pixels));
    if (WebPDecodeRGBInto(bytes, n, out->pixels, all, (int)row))
        return EG_OK;
    eg_image_fini(out);
    return eg_fail(EG_EFORMAT, "%s: the WebP is cut short or damaged", name);
}
