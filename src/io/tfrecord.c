/* tfrecord.c - writes records with their checksums.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/tfrecord.h"

uint32_t eg_crc32c(const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < n; i++) { /* bit by bit: files are small, a table would be larger */
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    return ~crc;
}

static void tfrecord_number(FILE *f, uint64_t x, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        fputc((int)(x >> 8 * i & 255), f);
}

static void tfrecord_checksum(FILE *f, const void *bytes, size_t n)
{
    uint32_t crc = eg_crc32c(bytes, n);
    tfrecord_number(f, (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8), 4);
}

void eg_tfrecord_write(FILE *f, const void *bytes, size_t n)
{
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)n >> 8 * i);
    fwrite(length, 1, sizeof length, f);
    tfrecord_checksum(f, length, sizeof length);
    fwrite(bytes, 1, n, f);
    tfrecord_checksum(f, bytes, n);
}
