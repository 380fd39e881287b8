/* csv_test.c - comma-separated files as RFC 4180 has them, as programs write them, and damaged.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "io/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All rows as "a|b/c|d/", or the status. */
static eg_status read_all(const char *text, char separator, char *out, size_t room)
{
    size_t n = strlen(text), used = 0;
    char *bytes = malloc(n + 1); /* so that a sanitizer sees the end */
    assert_non_null(bytes);
    memcpy(bytes, text, n + 1);
    eg_csv c;
    bool more = true;
    eg_status s = eg_csv_begin("a.csv", bytes, n, separator, &c);
    out[0] = 0;
    while (s == EG_OK && (s = eg_csv_next(&c, &more)) == EG_OK && more) {
        for (size_t i = 0; i < c.n; i++)
            used += (size_t)snprintf(out + used, room - used, "%s%s", i ? "|" : "", c.field[i]);
        used += (size_t)snprintf(out + used, room - used, "/");
    }
    eg_csv_end(&c);
    free(bytes);
    return s;
}

static void test_rows_are_read_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *text, *rows;
    } all[] = {
        {"a,b\n1,2\n", "a|b/1|2/"},
        {"a,b\r\n1,2", "a|b/1|2/"},
        {"a,b\r1,2\r", "a|b/1|2/"},
        {"\xef\xbb\xbf"
         "a,b\n\n\r\n1,2\n\n",
         "a|b/1|2/"},
        {"a;b,c;d\n1;2;3", "a|b,c|d/1|2|3/"},
        {"a\tb\n1,5\t2\n", "a|b/1,5|2/"},
        {"a,,\n,,\n", "a||/||/"},
        {"\"a,b\",\"c\"\"d\"\n\"x\ny\",\"\"\n", "a,b|c\"d/x\ny|/"},
        {"one\ntwo", "one/two/"},
        {"\"a;b\",c\n", "a;b|c/"},
        {"a\"b,c\n", "a\"b|c/"},
        {"a,", "a|/"},
        {"", ""},
        {"\n\n", ""},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char out[200];
        assert_ok(read_all(all[i].text, 0, out, sizeof out));
        assert_string_equal(out, all[i].rows);
    }
    char out[200];
    assert_ok(read_all("a;b,c", ',', out, sizeof out));
    assert_string_equal(out, "a;b|c/");
}

static void test_damage_is_named_by_its_line(void **state)
{
    (void)state;
    char out[200];
    assert_fails(read_all("a,b\n1,\"2\n3,4\n", 0, out, sizeof out), EG_EFORMAT,
                 "a.csv:2: a quote is opened and not closed");
    assert_fails(read_all("a,b\n\n\"x\ny\"z,4\n", 0, out, sizeof out), EG_EFORMAT,
                 "a.csv:4: text behind a closing quote");
    char zero[] = "a\0b";
    eg_csv c;
    assert_fails(eg_csv_begin("a.csv", zero, 3, 0, &c), EG_EFORMAT, "is no text");
}

static void test_rows_know_their_line(void **state)
{
    (void)state;
    char text[] = "\"a\nb\",1\r\n\r\n2,3\r4,5\n\n6,7";
    static const int64_t lines[] = {1, 4, 5, 7};
    eg_csv c;
    bool more;
    assert_ok(eg_csv_begin("a.csv", text, sizeof text - 1, 0, &c));
    for (int i = 0; i < 4; i++) {
        assert_ok(eg_csv_next(&c, &more));
        assert_true(more);
        assert_int_equal(c.line, lines[i]);
    }
    assert_ok(eg_csv_next(&c, &more));
    assert_false(more);
    eg_csv_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_read_in_every_form),
        cmocka_unit_test(test_damage_is_named_by_its_line),
        cmocka_unit_test(test_rows_know_their_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
