/* image.c - tells PNG, JPEG, WebP and BMP apart.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/image.h"

#include "io/gz.h"

#include <stdlib.h>

#define IMAGE_MAX_FILE ((size_t)1 << 28)

void eg_image_fini(eg_image *im)
{
    free(im->pixels);
    *im = (eg_image){0};
}

eg_status eg_image_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out)
{
    *out = (eg_image){0};
    if (n == 0)
        return eg_fail(EG_EFORMAT, "%s: the file is empty", name);
    if (eg_png_known(bytes, n))
        return eg_png_parse(name, bytes, n, out);
    if (eg_jpeg_known(bytes, n))
        return eg_jpeg_parse(name, bytes, n, out);
    if (eg_webp_known(bytes, n))
        return eg_webp_parse(name, bytes, n, out);
    if (eg_bmp_known(bytes, n))
        return eg_bmp_parse(name, bytes, n, out);
    return eg_fail(EG_EFORMAT, "%s: no PNG, JPEG, WebP or BMP file", name);
}

eg_status eg_image_load(const char *path, eg_image *out)
{
    uint8_t *bytes;
    size_t n;
    *out = (eg_image){0};
    EG_TRY(eg_gz_load(path, IMAGE_MAX_FILE, &bytes, &n));
    eg_status s = eg_image_parse(path, bytes, n, out);
    free(bytes);
    return s;
}
