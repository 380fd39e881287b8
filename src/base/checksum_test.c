/* checksum_test.c - every flipped bit shows, pieces can be chained, flaws are seen anywhere.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/checksum.h"

#include <float.h>
#include <math.h>

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

static void test_one_flaw_anywhere_is_seen(void **state)
{
    (void)state;
    static const float flaws[] = {NAN, INFINITY, -INFINITY};
    float values[37] = {0};
    for (size_t k = 0; k < sizeof flaws / sizeof *flaws; k++)
        for (size_t i = 0; i < 37; i++) {
            values[i] = flaws[k];
            assert_false(eg_all_finite(values, 37));
            assert_true(eg_all_finite(values, i)); /* behind the end it does not count */
            values[i] = 0;
        }
}

static void test_largest_smallest_and_no_numbers_are_finite(void **state)
{
    (void)state;
    const float values[] = {FLT_MAX, -FLT_MAX, FLT_MIN / 2, -0.0f};
    assert_true(eg_all_finite(values, sizeof values / sizeof *values));
    assert_true(eg_all_finite(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_flipped_bit_shows),
        cmocka_unit_test(test_length_and_what_stood_before_count),
        cmocka_unit_test(test_one_flaw_anywhere_is_seen),
        cmocka_unit_test(test_largest_smallest_and_no_numbers_are_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
