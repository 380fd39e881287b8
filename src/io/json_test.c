/* json_test.c - JSON: what is parsed, what is refused and where, what is printed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "io/file.h"
#include "io/json.h"

#include <float.h>
#include <stdlib.h>
#include <unistd.h>

static eg_json *parse(const char *text)
{
    eg_json *v;
    assert_ok(eg_json_parse(text, strlen(text), &v));
    return v;
}

static void test_every_kind_is_read(void **state)
{
    (void)state;
    eg_json *v = parse("{\"a\": [1, -2.5, true, null, \"x\\u00e9\"], \"b\": {}}");
    const eg_json *a = eg_json_get(v, "a");
    const char *text;
    int64_t i;
    double r;
    bool b;
    assert_int_equal(eg_json_kind_of(v), EG_JSON_OBJECT);
    assert_int_equal(eg_json_count(v), 2);
    assert_int_equal(eg_json_count(a), 5);
    assert_ok(eg_json_int(eg_json_at(a, 0), &i));
    assert_int_equal(i, 1);
    assert_ok(eg_json_real(eg_json_at(a, 0), &r)); /* an integer is a real, too */
    assert_near(r, 1, 0);
    assert_ok(eg_json_real(eg_json_at(a, 1), &r));
    assert_near(r, -2.5, 0);
    assert_ok(eg_json_bool(eg_json_at(a, 2), &b));
    assert_true(b);
    assert_int_equal(eg_json_kind_of(eg_json_at(a, 3)), EG_JSON_NULL);
    assert_ok(eg_json_text(eg_json_at(a, 4), &text));
    assert_string_equal(text, "x\xc3\xa9");
    assert_null(eg_json_at(a, 5));
    assert_null(eg_json_get(v, "c"));
    assert_null(eg_json_get(a, "a"));
    assert_int_equal(eg_json_count(eg_json_at(a, 0)), 0);
    eg_json_free(v);
    eg_json_free(NULL);
}

static void test_errors_say_line_and_column(void **state)
{
    (void)state;
    const struct {
        const char *text, *words;
    } bad[] = {
        {"", "line 1, column 0: "},
        {"{\n  \"a\": 1,\n  \"b\" 2\n}", "line 3, column 7: ':' expected"},
        {"[1, 2] x", "line 1, column 8: end of file expected"},
        {"{\"a\": 1, \"a\": 2}", "duplicate object key"},
        {"[99999999999999999999]", "too big integer"},
        {"[1e999]", "real number overflow"},
        {"[NaN]", "invalid token near 'NaN'"},
        {"[01]", "line 1"},
        {"[\"\\u0000\"]", "\\u0000 is not allowed"},
        {"[\"a\nb\"]", "unexpected newline"},
        {"[\"\xff\"]", "unable to decode byte 0xff"},
        {"[1,]", "line 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        eg_json *v;
        assert_fails(eg_json_parse(bad[i].text, strlen(bad[i].text), &v), EG_EFORMAT,
                     bad[i].words);
        assert_null(v);
    }
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    static char deep[100000];
    memset(deep, '[', sizeof deep);
    eg_json *v;
    assert_fails(eg_json_parse(deep, sizeof deep, &v), EG_EFORMAT, "maximum parsing depth");
}

static void test_a_wrong_kind_is_named(void **state)
{
    (void)state;
    eg_json *v = parse("{\"shape\": \"x\", \"n\": 1.5}");
    const eg_json *m = NULL;
    const char *text;
    int64_t i;
    double r;
    bool b;
    assert_fails(eg_json_need(v, "shape", EG_JSON_ARRAY, &m), EG_EINVAL,
                 "'shape': a text, not an array");
    assert_fails(eg_json_need(v, "size", EG_JSON_INT, &m), EG_ENOENT, "'size' is missing");
    assert_null(m);
    assert_ok(eg_json_need(v, "n", EG_JSON_REAL, &m));
    assert_fails(eg_json_need(m, "n", EG_JSON_REAL, &m), EG_EINVAL, "a number, not an object");
    assert_fails(eg_json_int(m, &i), EG_EINVAL, "a number, not an integer");
    assert_fails(eg_json_text(m, &text), EG_EINVAL, "a number, not a text");
    assert_fails(eg_json_bool(m, &b), EG_EINVAL, "a number, not true or false");
    assert_fails(eg_json_real(v, &r), EG_EINVAL, "an object, not a number");
    eg_json_free(v);
}

static void test_members_come_in_the_order_written(void **state)
{
    (void)state;
    eg_json *v = parse("{\"z\": 1, \"a\": 2, \"m\": 3, \"b\": 4}");
    char order[5] = "";
    size_t n = 0;
    const char *key = NULL;
    const eg_json *value;
    while (eg_json_next(v, &key, &value))
        order[n++] = *key;
    assert_string_equal(order, "zamb");
    eg_json_free(v);
    v = parse("[1]");
    key = NULL;
    assert_false(eg_json_next(v, &key, &value));
    eg_json_free(v);
}

static void expect_print(eg_json *v, int indent, const char *expected)
{
    char *text;
    size_t n;
    assert_ok(eg_json_print(v, indent, &text, &n));
    assert_string_equal(text, expected);
    assert_int_equal(n, strlen(expected));
    free(text);
    eg_json_free(v);
}

static void test_built_values_print_on_one_line_or_many(void **state)
{
    (void)state;
    for (int indent = 0; indent <= 2; indent += 2) {
        eg_json *v = eg_json_object(), *list = eg_json_array();
        assert_ok(eg_json_add(list, eg_json_of_int(INT64_MIN)));
        assert_ok(eg_json_add(list, eg_json_of_bool(false)));
        assert_ok(eg_json_add(list, eg_json_of_null()));
        assert_ok(eg_json_set(v, "name", eg_json_of_text("a \"b\"\n\t\\/\xc3\xa9")));
        assert_ok(eg_json_set(v, "list", list));
        assert_ok(eg_json_set(v, "none", eg_json_object()));
        assert_ok(eg_json_set(v, "loss", eg_json_of_real(0.1)));
        assert_ok(eg_json_set(v, "loss", eg_json_of_real(0.5))); /* the key keeps its place */
        expect_print(v, indent,
                     indent ? "{\n  \"name\": \"a \\\"b\\\"\\n\\t\\\\/\xc3\xa9\",\n"
                              "  \"list\": [\n    -9223372036854775808,\n    false,\n    null\n"
                              "  ],\n  \"none\": {},\n  \"loss\": 0.5\n}\n"
                            : "{\"name\":\"a \\\"b\\\"\\n\\t\\\\/\xc3\xa9\",\"list\":"
                              "[-9223372036854775808,false,null],\"none\":{},\"loss\":0.5}");
    }
}

static void test_reals_print_short_and_read_back(void **state)
{
    (void)state;
    const struct {
        double r;
        const char *text;
    } known[] = {
        {0.1, "0.1"},
        {1, "1.0"},
        {-0.0, "-0.0"},
        {1e21, "1e+21"},
        {1e15, "1e+15"},
        {4444444824824578, "4444444824824578.0"},
        {1234567890123456789.0, "1.2345678901234568e+18"},
        {1e-5, "1e-05"},
        {5e-324, "5e-324"},
        {1.0 / 3, "0.3333333333333333"},
        {-1200, "-1200.0"},
        {0.1 + 0.2, "0.30000000000000004"},
        {DBL_MAX, "1.7976931348623157e+308"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        expect_print(eg_json_of_real(known[i].r), 0, known[i].text);
    double r = 1.1;
    for (int i = 0; i < 2000; i++) {
        char *text;
        double back;
        r = fmod(r * 997.13 + 1e-7, 3) * (i % 7 ? 1 : 1e-30);
        eg_json *v = eg_json_of_real(r);
        assert_ok(eg_json_print(v, 0, &text, NULL));
        eg_json_free(v);
        v = parse(text);
        assert_ok(eg_json_real(v, &back));
        assert_true(back == r);
        assert_int_equal(eg_json_kind_of(v), EG_JSON_REAL);
        eg_json_free(v);
        free(text);
    }
}

static void test_what_json_cannot_hold_is_refused(void **state)
{
    (void)state;
    eg_json *v = eg_json_object(), *list = eg_json_array();
    assert_fails(eg_json_set(v, "loss", eg_json_of_real(NAN)), EG_EINVAL,
                 "'loss': JSON cannot hold NaN");
    assert_fails(eg_json_set(v, "loss", eg_json_of_real(-INFINITY)), EG_EINVAL,
                 "'loss': JSON cannot hold infinity");
    assert_fails(eg_json_set(v, "name", eg_json_of_text("\xff")), EG_EINVAL, "not UTF-8");
    assert_fails(eg_json_set(v, "\xff", eg_json_of_null()), EG_EINVAL, "not UTF-8");
    assert_fails(eg_json_add(list, eg_json_of_real(NAN)), EG_EINVAL, "JSON cannot hold NaN");
    eg_json_free(list);
    expect_print(v, 0, "{}");
}

static void test_a_file_is_parsed_and_its_errors_name_it(void **state)
{
    (void)state;
    char path[] = "/tmp/engram_json_XXXXXX";
    close(mkstemp(path));
    eg_json *v;
    assert_ok(eg_file_write(path, &(eg_bytes){"[1]", 3}, 1));
    assert_ok(eg_json_load(path, &v));
    assert_int_equal(eg_json_count(v), 1);
    eg_json_free(v);
    assert_ok(eg_file_write(path, &(eg_bytes){"[1", 2}, 1));
    assert_fails(eg_json_load(path, &v), EG_EFORMAT, path);
    assert_non_null(strstr(eg_error(), ": line 1, column 2: "));
    unlink(path);
    assert_fails(eg_json_load(path, &v), EG_ENOENT, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_is_read),
        cmocka_unit_test(test_errors_say_line_and_column),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_a_wrong_kind_is_named),
        cmocka_unit_test(test_members_come_in_the_order_written),
        cmocka_unit_test(test_built_values_print_on_one_line_or_many),
        cmocka_unit_test(test_reals_print_short_and_read_back),
        cmocka_unit_test(test_what_json_cannot_hold_is_refused),
        cmocka_unit_test(test_a_file_is_parsed_and_its_errors_name_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
