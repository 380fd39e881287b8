/* arena_test.c - objects in an arena: zeroed, aligned, apart from each other, never moved.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/base.h"

static void test_objects_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    eg_arena a = {0};
    enum { N = 500 };
    unsigned char *object[N];
    for (size_t i = 0; i < N; i++) {
        size_t n = i * 7 % 300;
        object[i] = eg_arena_alloc(&a, n);
        assert_non_null(object[i]);
        assert_int_equal((uintptr_t)object[i] % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < n; j++)
            assert_int_equal(object[i][j], 0);
        memset(object[i], (int)(i % 251 + 1), n);
    }
    for (size_t i = 0; i < N; i++) /* nothing moved, nothing was written over */
        for (size_t j = 0; j < i * 7 % 300; j++)
            assert_int_equal(object[i][j], i % 251 + 1);
    eg_arena_fini(&a);
    assert_null(a.blocks);
}

static void test_an_object_may_be_larger_than_a_block(void **state)
{
    (void)state;
    eg_arena a = {0};
    char *small = eg_arena_alloc(&a, 1);
    char *large = eg_arena_alloc(&a, 1 << 20);
    assert_non_null(small);
    assert_non_null(large);
    memset(large, 1, 1 << 20);
    assert_int_equal(*small, 0);
    eg_arena_fini(&a);
    eg_arena_fini(&a); /* an empty arena is fine */
}

static void test_too_large_an_object_is_an_error(void **state)
{
    (void)state;
    eg_arena a = {0};
    assert_null(eg_arena_alloc(&a, SIZE_MAX));
    assert_non_null(strstr(eg_error(), "cannot allocate 18446744073709551615 bytes"));
    assert_non_null(eg_arena_alloc(&a, 8)); /* and the arena lives on */
    eg_arena_fini(&a);
}

static void test_texts_are_printed_into_the_arena(void **state)
{
    (void)state;
    eg_arena a = {0};
    const char *one = eg_arena_text(&a, "layer%d.%s", 3, "weight");
    const char *two = eg_arena_text(&a, "%5000d", 7);
    assert_string_equal(one, "layer3.weight");
    assert_int_equal(strlen(two), 5000);
    eg_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_are_zeroed_aligned_and_apart),
        cmocka_unit_test(test_an_object_may_be_larger_than_a_block),
        cmocka_unit_test(test_too_large_an_object_is_an_error),
        cmocka_unit_test(test_texts_are_printed_into_the_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
