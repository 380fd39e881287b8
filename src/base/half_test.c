/* half_test.c - 16-bit floats against their definition, all of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/half.h"

static void test_every_half_is_what_its_bits_say(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        int exponent = (int)(bits >> 10 & 31);
        double fraction = (double)(bits & 0x3ff) / 1024, sign = bits >> 15 ? -1 : 1;
        double want =
            exponent == 0 ? fraction * 0x1p-14 : (1 + fraction) * pow(2, exponent - 15);
        float got = eg_float_of_half((uint16_t)bits);
        if (exponent == 31)
            assert_true((bits & 0x3ff) != 0 ? isnan(got) : isinf(got) && got * sign > 0);
        else
            assert_true((double)got == sign * want);
    }
    assert_true(signbit(eg_float_of_half(0x8000)) != 0);
}

static void test_bfloats_are_the_upper_half_of_floats(void **state)
{
    (void)state;
    assert_near(eg_float_of_bfloat(0x3f80), 1, 0);
    assert_near(eg_float_of_bfloat(0xc049), -3.140625, 0);
    assert_true(isinf(eg_float_of_bfloat(0x7f80)));
    assert_true(isnan(eg_float_of_bfloat(0x7fc0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half_is_what_its_bits_say),
        cmocka_unit_test(test_bfloats_are_the_upper_half_of_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
