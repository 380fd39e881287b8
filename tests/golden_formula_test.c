/* golden_formula_test.c - the formula against values that NumPy computed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "golden_formula.h"
#include "test.h"

static void test_values_equal_numpys_bit_by_bit(void **state)
{
    (void)state;
    static const struct {
        size_t j;
        int t;
        uint32_t hash;
        float weight, norm; /* scale 1/sqrt(784) on base 0; scale 0.1 on base 1 */
    } known[] = {
        {0, 0, 7350539, -0x1.21a3cap-8f, 0x1.f9aa04p-1f},
        {1, 0, 402734, -0x1.168674p-5f, 0x1.cf4212p-1f},
        {2359295, 7, 11831021, 0x1.e03f54p-7f, 0x1.0a8162p+0f},
        {98303, 1003, 6158842, -0x1.371280p-7f, 0x1.f263fep-1f},
        {5, 9000, 12604245, 0x1.260f3cp-6f, 0x1.0cdd78p+0f},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int t = known[i].t;
        size_t j = known[i].j;
        assert_int_equal(golden_hash((uint32_t)t, j), known[i].hash);
        assert_true(golden_value(t, j, 0, (float)(1 / sqrt(784.0))) == known[i].weight);
        assert_true(golden_value(t, j, 1, 0.1f) == known[i].norm);
    }
}

static void test_fills_follow_the_hash(void **state)
{
    (void)state;
    float value[8], label[8], mask[8], rarer[8];
    golden_fill(GOLDEN_INPUT, 0, 1, 8, value);
    golden_fill_labels(GOLDEN_INPUT, 10, 8, label);
    golden_fill_mask(GOLDEN_INPUT, 2, 8, mask);
    golden_fill_mask(GOLDEN_INPUT, 4, 8, rarer);
    for (size_t j = 0; j < 8; j++) {
        uint32_t h = golden_hash(GOLDEN_INPUT, j);
        assert_true(value[j] == (float)(h / 8388608.0 - 1));
        assert_true(label[j] == (float)(h % 10));
        assert_true(mask[j] == (h % 2 ? 0.0f : 2.0f));
        assert_true(rarer[j] == (h % 4 == 3 ? 0.0f : (float)(4.0 / 3)));
    }
    assert_true(golden_value(-1, 3, 1, 5) == 1);
}

static void test_entries_spread_over_a_tensor(void **state)
{
    (void)state;
    assert_int_equal(golden_n_entries(10), 10);
    assert_int_equal(golden_entry(9, 10), 9);
    assert_int_equal(golden_n_entries(100), 64);
    assert_int_equal(golden_entry(63, 100), 98);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_equal_numpys_bit_by_bit),
        cmocka_unit_test(test_fills_follow_the_hash),
        cmocka_unit_test(test_entries_spread_over_a_tensor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
