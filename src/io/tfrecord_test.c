/* tfrecord_test.c - checksums by the book, and a record to the byte.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "io/tfrecord.h"

#include <stdlib.h>

static void test_checksum_is_castagnolis(void **state)
{
    (void)state;
    uint8_t bytes[32] = {0};
    assert_int_equal(eg_crc32c("", 0), 0);
    assert_int_equal(eg_crc32c("123456789", 9), 0xe3069283u);
    assert_int_equal(eg_crc32c(bytes, 32), 0x8a9136aau); /* RFC 3720, appendix B.4 */
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(eg_crc32c(bytes, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    assert_int_equal(eg_crc32c(bytes, 32), 0x46dd794eu);
}

/* The checksum of "123456789" is e3069283: turned right by 15 bits it is 2507c60d, and with
 * a282ead8 added c78ab0e5. */
static void test_record_is_length_checksum_bytes_checksum(void **state)
{
    (void)state;
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    assert_non_null(f);
    eg_tfrecord_write(f, "123456789", 9);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(n, 8 + 4 + 9 + 4);
    assert_memory_equal(text, "\x09\0\0\0\0\0\0\0", 8);
    assert_memory_equal(text + 12, "123456789", 9);
    assert_memory_equal(text + 21, "\xe5\xb0\x8a\xc7", 4);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksum_is_castagnolis),
        cmocka_unit_test(test_record_is_length_checksum_bytes_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
