/* checksum_test.c - the checksum sees every flipped bit, and pieces can be chained.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/checksum.h"

static void test_every_flipped_bit_shows(void **state)
{
    (void)state;
    unsigned char text[43] = "a few words whose length is no whole eight";
    uint64_t sum = eg_checksum(7, text, sizeof text);
    for (size_t i = 0; i < 8 * sizeof text; i++) {
        text[i / 8] ^= (unsigned char)(1U << i % 8);
        assert_true(eg_checksum(7, text, sizeof text) != sum);
        text[i / 8] ^= (unsigned char)(1U << i % 8);
    }
    assert_true(eg_checksum(7, text, sizeof text) == sum);
}

static void test_length_and_what_stood_before_count(void **state)
{
    (void)state;
    static const char zeros[16] = {0};
    for (size_t n = 0; n < sizeof zeros; n++)
        assert_true(eg_checksum(0, zeros, n) != eg_checksum(0, zeros, n + 1));
    assert_true(eg_checksum(1, zeros, 8) != eg_checksum(2, zeros, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_flipped_bit_shows),
        cmocka_unit_test(test_length_and_what_stood_before_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
