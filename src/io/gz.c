/* gz.c - zlib behind four calls; no other file sees it.
 * SPDX-License-Identifier: Apache-2.0
 */
#define _DEFAULT_SOURCE /* madvise */
#include "io/gz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

/* Memory is taken in advance up to here; beyond, it follows what the file really holds. */
#define GZ_AHEAD ((size_t)64 << 20)

/* The longest beginning that is left out, and a large page. */
enum { GZ_HEAD = 64, GZ_PAGE = 2 << 20 };

static eg_status gz_open(const char *path, gzFile *out)
{
    errno = 0;
    *out = gzopen(path, "rb"); /* reads plain files as they are */
    if (!*out)
        return eg_fail(errno == ENOENT ? EG_ENOENT : EG_EIO, "%s: %s", path,
                       errno ? strerror(errno) : "out of memory");
    gzbuffer(*out, 1 << 18);
    return EG_OK;
}

/* Reads until n bytes are there or the file ends. */
static eg_status gz_read(gzFile f, const char *path, uint8_t *to, size_t n, size_t *got)
{
    *got = 0;
    while (*got < n) {
        size_t want = n - *got < (1u << 30) ? n - *got : 1u << 30;
        int more = gzread(f, to + *got, (unsigned)want);
        if (more > 0)
            *got += (size_t)more;
        int code = Z_OK;
        const char *text = gzerror(f, &code);
        if (code == Z_BUF_ERROR)
            return eg_fail(EG_EFORMAT, "%s: the gzip file is cut short", path);
        if (code == Z_ERRNO)
            return eg_fail(EG_EIO, "%s: %s", path, strerror(errno));
        if (code < 0)
            return eg_fail(EG_EFORMAT, "%s: the gzip file is damaged (%s)", path, text);
        if (more <= 0)
            break;
    }
    return EG_OK;
}

eg_status eg_gz_peek(const char *path, size_t n, void *head, size_t *got)
{
    gzFile f;
    *got = 0;
    EG_TRY(gz_open(path, &f));
    eg_status s = gz_read(f, path, head, n, got);
    gzclose_r(f);
    return s;
}

/* Many bytes are to be written for the first time: in pages of 2 MB that is one fault for 512
 * of the usual ones, which took a tenth of the time that a short run's start has. */
static void gz_pages(uint8_t *bytes, size_t n)
{
#ifdef MADV_HUGEPAGE
    uintptr_t first = ((uintptr_t)bytes + GZ_PAGE - 1) / GZ_PAGE * GZ_PAGE;
    uintptr_t end = ((uintptr_t)bytes + n) / GZ_PAGE * GZ_PAGE;
    if (end > first)
        madvise((void *)first, end - first, MADV_HUGEPAGE); /* a wish */
#else
    (void)bytes, (void)n;
#endif
}

eg_status eg_gz_load(const char *path, size_t max, uint8_t **out, size_t *n)
{
    return eg_gz_load_behind(path, 0, max, out, n);
}

eg_status eg_gz_load_behind(const char *path, size_t head, size_t max, uint8_t **out, size_t *n)
{
    *out = NULL;
    *n = 0;
    gzFile f;
    EG_TRY(gz_open(path, &f));
    EG_ASSERT(max < SIZE_MAX / 4 && head <= GZ_HEAD && head <= max);
    size_t most = max - head;
    uint8_t *bytes = NULL, skipped[GZ_HEAD];
    size_t room = 0, used = 0, got;
    eg_status s = gz_read(f, path, skipped, head, &got);
    if (s != EG_OK)
        goto done;
    do { /* one byte more than allowed tells an oversized file from a full one */
        room = room ? room * 2 : GZ_AHEAD;
        if (room > most + 1)
            room = most + 1;
        uint8_t *more = realloc(bytes, room);
        if (!more) {
            s = eg_fail(EG_ENOMEM, "%s: cannot allocate %zu bytes", path, room);
            goto done;
        }
        bytes = more;
        gz_pages(bytes, room);
        s = gz_read(f, path, bytes + used, room - used, &got);
        if (s != EG_OK)
            goto done;
        used += got;
    } while (used == room && used <= most);
    if (used > most) {
        s = eg_fail(EG_EFORMAT, "%s: holds more than the expected %zu bytes", path, max);
        goto done;
    }
    *out = bytes;
    *n = used;
    bytes = NULL;
done:
    free(bytes);
    gzclose_r(f);
    return s;
}

eg_status eg_gz_inflate(const uint8_t *in, size_t n, uint8_t *out, size_t n_out)
{
    if (n > UINT32_MAX || n_out > UINT32_MAX)
        return eg_fail(EG_ENOTSUP, "a deflate stream of more than 4 GiB");
    uint8_t spare; /* zlib wants somewhere to write even when nothing is to come */
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in, .avail_in = (uInt)n};
    z.next_out = n_out ? out : &spare;
    z.avail_out = (uInt)n_out;
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return eg_fail(EG_ENOMEM, "out of memory");
    int code = inflate(&z, Z_FINISH);
    bool whole = code == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    if (!whole)
        return eg_fail(EG_EFORMAT, "the deflate stream is damaged or not of its stated size");
    return EG_OK;
}

eg_status eg_gz_inflate_head(const uint8_t *in, size_t n, uint8_t *out, size_t room,
                             size_t *got)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in,
                  .avail_in = n < UINT32_MAX ? (uInt)n : UINT32_MAX,
                  .next_out = out,
                  .avail_out = (uInt)room};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return eg_fail(EG_ENOMEM, "out of memory");
    int code = inflate(&z, Z_SYNC_FLUSH);
    *got = room - z.avail_out;
    inflateEnd(&z);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return eg_fail(EG_EFORMAT, "the deflate stream is damaged");
    return EG_OK;
}

uint32_t eg_gz_crc32(const uint8_t *bytes, size_t n)
{
    return (uint32_t)crc32_z(0, bytes, n);
}
