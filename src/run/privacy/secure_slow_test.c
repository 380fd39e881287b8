/* secure_slow_test.c - five hundred random exchanges of up to 40 clients, and twenty of 200.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "secure_play.h"

static void test_five_hundred_of_3_to_40_clients(void **state)
{
    (void)state;
    size_t abandoned = 0;
    eg_rng rng = eg_rng_at(21, 0, 0, EG_FOR_TEST);
    for (int k = 0; k < 500; k++) {
        size_t n = 3 + (size_t)eg_rng_below(&rng, 38);
        play_random(n, (size_t)eg_rng_below(&rng, n / 2 + 1), &rng, &abandoned);
    }
    print_message("%zu of 500 abandoned\n", abandoned);
    assert_in_range(abandoned, 25, 300);
}

static void test_twenty_of_200_clients(void **state)
{
    (void)state;
    size_t abandoned = 0;
    eg_rng rng = eg_rng_at(22, 0, 0, EG_FOR_TEST);
    for (int k = 0; k < 20; k++)
        play_random(200, (size_t)eg_rng_below(&rng, 40), &rng, &abandoned);
    print_message("%zu of 20 abandoned\n", abandoned);
    assert_in_range(abandoned, 0, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_five_hundred_of_3_to_40_clients),
        cmocka_unit_test(test_twenty_of_200_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
