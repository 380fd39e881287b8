/* http_answer_test.c - answers of HTTP, whole, cut, too long, and none at all.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/http_answer.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100 };

/* Reads a text in pieces of so many bytes, and then the connection's end. */
static eg_status read_text(eg_answer *a, const char *text, size_t piece)
{
    size_t n = strlen(text), used;
    eg_answer_init(a, MOST);
    for (size_t at = 0; at < n && a->state != EG_ANSWER_DONE; at += used) {
        EG_TRY(eg_answer_read(a, text + at, n - at < piece ? n - at : piece, &used));
        assert_true(used > 0);
    }
    return eg_answer_end(a);
}

/* Whatever the pieces, the answer is this one. */
static void expect(const char *text, int code, const char *body, bool closes)
{
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        eg_answer a;
        assert_ok(read_text(&a, text, piece));
        assert_int_equal(a.code, code);
        assert_int_equal(a.closes, closes);
        assert_int_equal(a.n, strlen(body));
        if (a.n)
            assert_string_equal((char *)a.bytes, body);
        eg_answer_fini(&a);
    }
}

static void refuse(const char *text, eg_status status, const char *words)
{
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        eg_answer a;
        assert_fails(read_text(&a, text, piece), status, words);
        eg_answer_fini(&a);
    }
}

static void test_a_body_has_the_length_that_is_said(void **state)
{
    (void)state;
    expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false);
    expect("HTTP/1.1 200\ncontent-length:  5 \n\nhello", 200, "hello", false);
    expect("HTTP/1.1 204 No Content\r\n\r\n", 204, "", false);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 200, "", true);
    expect("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 Long\r\nContent-Length: 1\r\n\r\nx", 413,
           "x", false);
}

static void test_a_body_may_come_in_pieces_or_end_with_the_connection(void **state)
{
    (void)state;
    expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
           "3\r\nabc\r\nA;q=1\r\ndefghijklm\r\n0\r\nX: y\r\n\r\n",
           200, "abcdefghijklm", false);
    expect("HTTP/1.0 200 OK\r\n\r\nall of it", 200, "all of it", true);
}

static void test_what_follows_an_answer_is_not_taken(void **state)
{
    (void)state;
    static const char two[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n";
    eg_answer a;
    size_t used;
    eg_answer_init(&a, MOST);
    assert_ok(eg_answer_read(&a, two, sizeof two - 1, &used));
    assert_int_equal(a.state, EG_ANSWER_DONE);
    assert_int_equal(used, strlen("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"));
    eg_answer_fini(&a);
}

static void test_a_server_that_stops_in_the_middle_is_noticed(void **state)
{
    (void)state;
    refuse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", EG_EIO, "in the middle");
    refuse("HTTP/1.1 200 OK\r\nContent-Le", EG_EIO, "in the middle");
    refuse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", EG_EIO,
           "in the middle");
    eg_answer a;
    eg_answer_init(&a, MOST);
    assert_fails(eg_answer_end(&a), EG_EIO, "without an answer");
}

static void test_what_is_too_long_is_refused_before_it_has_come(void **state)
{
    (void)state;
    refuse("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", EG_EFORMAT, "more than 100 bytes");
    refuse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", EG_EFORMAT,
           "more than 100 bytes");
    char text[4096] = "HTTP/1.0 200 OK\r\n\r\n";
    memset(text + strlen(text), 'x', MOST + 1);
    refuse(text, EG_EFORMAT, "more than 100 bytes");
}

static void test_a_head_without_end_takes_no_memory(void **state)
{
    (void)state;
    static const char line[] = "X-Header: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n";
    eg_answer a;
    eg_status s;
    size_t used, sent = 0;
    eg_answer_init(&a, MOST);
    s = eg_answer_read(&a, "HTTP/1.1 200 OK\r\n", 17, &used);
    for (; s == EG_OK && sent < 1 << 24; sent += used)
        s = eg_answer_read(&a, line, sizeof line - 1, &used);
    assert_fails(s, EG_EFORMAT, "the head of an answer has more than 65536 bytes");
    assert_true(sent <= EG_HTTP_HEAD);
    assert_null(a.bytes);
    eg_answer_init(&a, MOST); /* one line alone */
    for (s = EG_OK, sent = 0; s == EG_OK && sent < 1 << 24; sent += used)
        s = eg_answer_read(&a, "xxxxxxxxxxxxxxxx", 16, &used);
    assert_fails(s, EG_EFORMAT, "the head of an answer has more than 65536 bytes");
}

static void test_what_is_no_answer_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/2 200 OK\r\n",
        "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1 20 OK\r\n",
        "HTTP/1.1 700 OK\r\n",
        "HTTP/1.1 200 OK\r\nno name\r\n",
        "HTTP/1.1 200 OK\r\n: value\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551617\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i], EG_EIO, "what came is no answer of HTTP/1.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_body_has_the_length_that_is_said),
        cmocka_unit_test(test_a_body_may_come_in_pieces_or_end_with_the_connection),
        cmocka_unit_test(test_what_follows_an_answer_is_not_taken),
        cmocka_unit_test(test_a_server_that_stops_in_the_middle_is_noticed),
        cmocka_unit_test(test_what_is_too_long_is_refused_before_it_has_come),
        cmocka_unit_test(test_a_head_without_end_takes_no_memory),
        cmocka_unit_test(test_what_is_no_answer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
