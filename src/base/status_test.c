/* status_test.c - error texts, and memory that reports through them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/base.h"

#include <stdlib.h>

static void test_every_status_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(eg_status_text(EG_OK), "ok");
    assert_string_equal(eg_status_text(EG_ESHAPE), "shapes do not fit");
    assert_string_equal(eg_status_text(EG_ENOTSUP), "not supported");
    assert_string_equal(eg_status_text((eg_status)99), "unknown status");
}

static void test_a_failure_leaves_its_numbers(void **state)
{
    (void)state;
    assert_fails(eg_fail(EG_ESHAPE, "%d columns against %d rows", 3, 4), EG_ESHAPE,
                 "3 columns against 4 rows");
    assert_fails(eg_fail(EG_EINVAL, "again: %s", eg_error()), EG_EINVAL,
                 "again: 3 columns against 4 rows");
}

static void test_blame_goes_before_the_text(void **state)
{
    (void)state;
    eg_fail(EG_EIO, "no room");
    assert_fails(eg_blame(eg_blame(EG_EIO, "row %d", 3), "a.csv"), EG_EIO,
                 "a.csv: row 3: no room");
    assert_int_equal(eg_blame(EG_OK, "nobody"), EG_OK);
    assert_string_equal(eg_error(), "a.csv: row 3: no room");
}

static void test_control_characters_are_spelled_out(void **state)
{
    (void)state;
    char text[1100];
    eg_fail(EG_EFORMAT, "%s", "a\033[31m\n\x7f\xc2\x9b\xc3\xa9");
    assert_string_equal(eg_error(), "a\\x1b[31m\\x0a\\x7f\\xc2\\x9b\xc3\xa9");
    memset(text, '\n', sizeof text);
    text[sizeof text - 1] = 0;
    eg_fail(EG_EFORMAT, "%s", text);
    assert_int_equal(strlen(eg_error()), 1020); /* none is cut in the middle */
}

static void test_what_is_no_character_is_spelled_out(void **state)
{
    (void)state;
    eg_fail(EG_EFORMAT, "%s",
            "\xff\xc3\xa9\xed\xa0\x80\xf0\x80\xc0\xaf\xe2\x82\xac\xf0\x9f\x90\x88");
    assert_string_equal(eg_error(),
                        "\\xff\xc3\xa9\\xed\\xa0\\x80\\xf0\\x80\\xc0\\xaf\xe2\x82\xac"
                        "\xf0\x9f\x90\x88");
    eg_fail(EG_EFORMAT, "%.3s", "ab\xc3\xa9"); /* cut inside it */
    assert_string_equal(eg_error(), "ab\\xc3");
    eg_fail(EG_EFORMAT, "%1022s\xc3\xa9", "");
    assert_int_equal(strlen(eg_error()), 1022);
}

static void test_long_texts_are_cut(void **state)
{
    (void)state;
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    eg_fail(EG_EINVAL, "%s", text);
    assert_int_equal(strlen(eg_error()), 1023);
    eg_blame(EG_EINVAL, "%s", text);
    assert_int_equal(strlen(eg_error()), 1023);
    assert_non_null(strstr(eg_error(), "x: x"));
}

static eg_status try_twice(eg_status first, eg_status second, int *reached)
{
    EG_TRY(first);
    ++*reached;
    EG_TRY(second);
    ++*reached;
    return EG_OK;
}

static void test_try_forwards_the_first_failure(void **state)
{
    (void)state;
    int reached = 0;
    assert_int_equal(try_twice(EG_OK, EG_EIO, &reached), EG_EIO);
    assert_int_equal(reached, 1);
    assert_int_equal(try_twice(EG_ENOMEM, EG_EIO, &reached), EG_ENOMEM);
    assert_int_equal(reached, 1);
    assert_int_equal(try_twice(EG_OK, EG_OK, &reached), EG_OK);
    assert_int_equal(reached, 3);
}

static void test_memory_is_zeroed_aligned_and_bounded(void **state)
{
    (void)state;
    float *x;
    assert_ok(eg_alloc(1001, sizeof *x, &x));
    assert_int_equal((uintptr_t)x % EG_ALIGN, 0);
    for (int i = 0; i < 1001; i++)
        assert_true(x[i] == 0);
    free(x);
    assert_ok(eg_alloc(0, 8, &x));
    assert_null(x);
    assert_fails(eg_alloc(SIZE_MAX / 2, 4, &x), EG_ENOMEM, "more than memory can hold");
    assert_null(x);
}

static void test_a_list_grows_and_keeps_its_items(void **state)
{
    (void)state;
    int *items = NULL;
    size_t cap = 0;
    for (int i = 0; i < 1000; i++) {
        assert_ok(eg_grow(&items, (size_t)i, &cap, sizeof *items));
        items[i] = i;
    }
    assert_true(cap >= 1000 && cap < 4000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    size_t full = SIZE_MAX / 4;
    assert_fails(eg_grow(&items, full, &full, 8), EG_ENOMEM, "cannot allocate");
    assert_int_equal(items[999], 999); /* still there */
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_status_has_a_text),
        cmocka_unit_test(test_a_failure_leaves_its_numbers),
        cmocka_unit_test(test_blame_goes_before_the_text),
        cmocka_unit_test(test_control_characters_are_spelled_out),
        cmocka_unit_test(test_what_is_no_character_is_spelled_out),
        cmocka_unit_test(test_long_texts_are_cut),
        cmocka_unit_test(test_try_forwards_the_first_failure),
        cmocka_unit_test(test_memory_is_zeroed_aligned_and_bounded),
        cmocka_unit_test(test_a_list_grows_and_keeps_its_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
