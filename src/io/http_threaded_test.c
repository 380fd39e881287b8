/* http_threaded_test.c - the server and the client of HTTP, one against the other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/http_client.h"
#include "io/http_server.h"
#include "test.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_BODY = 1 << 20 };

/* What the server saw last, and what it is to say. */
static struct {
    pthread_mutex_t lock;
    char path[64], key[64];
    int64_t client, number;
    size_t n_body;
    bool released, late;
    int n_asked;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* How long a head or a body may take: long, where a slow machine must not matter. */
static double most_seconds = 30;
static eg_http_server *server;
static eg_spool *spool;
static char url[64];

static void say(eg_http_answer *out, int code, const char *text)
{
    out->code = code;
    snprintf(out->text, sizeof out->text, "%s", text);
}

static void answer_page(eg_http_answer *out)
{
    unsigned char *bytes = malloc(3);
    assert_non_null(bytes);
    memcpy(bytes, "a\0b", 3);
    if (eg_http_page_new(bytes, 3, &out->page) == EG_OK)
        out->code = 200;
}

static void handle(void *context, const eg_http_request *r, eg_http_answer *out)
{
    (void)context;
    pthread_mutex_lock(&seen.lock);
    out->most = MAX_BODY, out->known = true;
    if (r->begins) {
        if (strcmp(r->path, "/closed") == 0)
            say(out, 409, "not you");
        if (strcmp(r->path, "/strange") == 0)
            say(out, 401, "who are you?");
    } else {
        snprintf(seen.path, sizeof seen.path, "%s", r->path);
        snprintf(seen.key, sizeof seen.key, "%s", r->key);
        seen.client = r->client, seen.number = r->number, seen.n_body = 0;
        if (r->body)
            eg_chunk_bytes(r->body, &seen.n_body);
        seen.late = r->late;
        seen.n_asked++;
        if (strcmp(r->path, "/wait") != 0)
            strcmp(r->path, "/page") == 0 ? answer_page(out) : say(out, 200, "hello");
        else if (seen.released || r->late)
            say(out, seen.released ? 200 : 204, seen.released ? "at last" : "");
    }
    pthread_mutex_unlock(&seen.lock);
}

static int open_server(void **state)
{
    (void)state;
    assert_ok(eg_spool_new("/tmp", MAX_BODY / 2, &spool));
    assert_ok(eg_http_server_new(&(eg_http_listen){.host = "127.0.0.1",
                                                   .port = "0",
                                                   .spool = spool,
                                                   .head_seconds = most_seconds,
                                                   .body_seconds = most_seconds,
                                                   .connections = 60,
                                                   .wait = 2,
                                                   .handle = handle},
                                 &server));
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", eg_http_server_port(server));
    return 0;
}

static int close_server(void **state)
{
    (void)state;
    eg_http_server_free(server);
    eg_spool_free(spool);
    return 0;
}

static eg_http_client *client(void)
{
    eg_http_client *c;
    assert_ok(eg_http_client_new(&(eg_http_to){.url = url, .key = "secret"}, &c));
    return c;
}

static eg_http_reply call(eg_http_client *c, const char *method, const char *path,
                          const void *body, size_t n)
{
    eg_http_reply reply;
    assert_ok(eg_http_client_call(
        c,
        &(eg_http_call){.method = method, .path = path, .body = body, .n_body = n, .max = 4096},
        &reply));
    return reply;
}

static void test_a_request_reaches_the_function_and_its_answer_comes_back(void **state)
{
    (void)state;
    eg_http_client *c = client();
    eg_http_reply r = call(c, "GET", "/x?client=3&number=70000000000", NULL, 0);
    assert_int_equal(r.code, 200);
    assert_string_equal((char *)r.bytes, "hello");
    free(r.bytes);
    assert_string_equal(seen.path, "/x");
    assert_string_equal(seen.key, "secret");
    assert_int_equal(seen.client, 3);
    assert_true(seen.number == 70000000000);
    r = call(c, "GET", "/x?client=-1&number=7x", NULL, 0);
    free(r.bytes);
    assert_int_equal(seen.client, -1);
    assert_true(seen.number == -1);
    eg_http_client_free(c);
}

static void test_bodies_and_pages_may_hold_any_bytes(void **state)
{
    (void)state;
    static char body[300000];
    eg_http_client *c = client();
    eg_http_reply r = call(c, "POST", "/x", body, sizeof body);
    free(r.bytes);
    assert_int_equal(seen.n_body, sizeof body);
    r = call(c, "GET", "/page", NULL, 0);
    assert_int_equal(r.n, 3);
    assert_memory_equal(r.bytes, "a\0b", 3);
    free(r.bytes);
    eg_http_client_free(c);
}

static void test_what_is_too_long_or_refused_is_not_taken(void **state)
{
    (void)state;
    char *body = calloc(1, MAX_BODY + 1);
    eg_http_client *c = client();
    eg_http_reply r = call(c, "POST", "/x", body, MAX_BODY + 1);
    assert_int_equal(r.code, 413);
    free(r.bytes);
    int asked = seen.n_asked;
    r = call(c, "POST", "/closed", body, 1000);
    assert_int_equal(r.code, 409);
    free(r.bytes);
    assert_int_equal(seen.n_asked, asked);
    eg_http_reply none;
    assert_fails(
        eg_http_client_call(c, &(eg_http_call){.method = "GET", .path = "/x", .max = 2}, &none),
        EG_EFORMAT, "more than 2 bytes");
    eg_http_client_free(c);
    free(body);
}

/* Waits until the server was asked once more. */
static void wait_asked(int before)
{
    for (bool more = false; !more;) {
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
        pthread_mutex_lock(&seen.lock);
        more = seen.n_asked > before;
        pthread_mutex_unlock(&seen.lock);
    }
}

static void *release(void *context)
{
    wait_asked(*(int *)context);
    eg_http_server_wake(server, 4); /* another client's */
    pthread_mutex_lock(&seen.lock);
    seen.released = true;
    pthread_mutex_unlock(&seen.lock);
    eg_http_server_wake(server, 5);
    return NULL;
}

static void test_a_request_waits_until_it_is_woken_or_late(void **state)
{
    (void)state;
    pthread_t thread;
    int before = seen.n_asked; /* nobody asks now */
    eg_http_client *c = client();
    assert_int_equal(pthread_create(&thread, NULL, release, &before), 0);
    eg_http_reply r = call(c, "GET", "/wait?client=5", NULL, 0);
    pthread_join(thread, NULL);
    assert_int_equal(r.code, 200);
    assert_string_equal((char *)r.bytes, "at last");
    free(r.bytes);
    seen.released = false;
    r = call(c, "GET", "/wait?client=5", NULL, 0);
    assert_int_equal(r.code, 204);
    assert_true(seen.late);
    free(r.bytes);
    eg_http_client_free(c);
}

static void *wait_for_it(void *context)
{
    eg_http_client *c = client();
    eg_http_reply r = call(c, "GET", "/wait?client=6", NULL, 0);
    *(int *)context = r.code;
    free(r.bytes);
    eg_http_client_free(c);
    return NULL;
}

static void test_a_server_that_closes_lets_those_go_who_wait(void **state)
{
    (void)state;
    pthread_t thread;
    int code = 0, before = seen.n_asked;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &code), 0);
    wait_asked(before);
    close_server(NULL);
    pthread_join(thread, NULL);
    assert_int_equal(code, 204);
    eg_http_client *c = client();
    eg_http_reply none;
    assert_fails(
        eg_http_client_call(c, &(eg_http_call){.method = "GET", .path = "/x", .max = 2}, &none),
        EG_EIO, "127.0.0.1");
    eg_http_client_free(c);
    open_server(NULL);
}

static void open_anew(double seconds)
{
    close_server(NULL);
    most_seconds = seconds;
    open_server(NULL);
}

/* A connection of somebody who does not know HTTP. */
static int stranger(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)eg_http_server_port(server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(s >= 0);
    assert_int_equal(connect(s, (struct sockaddr *)&to, sizeof to), 0);
    return s;
}

/* Sends a text, then a byte every 50 ms; the seconds until the server has hung up. */
static double drip(const char *begin)
{
    int s = stranger();
    double since = eg_seconds();
    char byte;
    assert_int_equal(send(s, begin, strlen(begin), MSG_NOSIGNAL), strlen(begin));
    while (eg_seconds() - since < 60) {
        if (recv(s, &byte, 1, MSG_DONTWAIT) == 0 || send(s, "x", 1, MSG_NOSIGNAL) < 0)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
    }
    close(s);
    return eg_seconds() - since;
}

static void test_drips_are_ended_though_they_never_pause(void **state)
{
    (void)state;
    open_anew(0.5);
    double head = drip("GET /");
    assert_true(head > 0.3 && head < 60);
    double body = drip("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
    assert_true(body > 0.3 && body < 60); /* whole, it would take four minutes */
    open_anew(30);
}

static void test_strangers_leave_room_for_those_with_a_key(void **state)
{
    (void)state;
    enum { STRANGERS = 200 };
    int held[STRANGERS];
    open_anew(0.5);
    for (int i = 0; i < STRANGERS; i++)
        held[i] = stranger();
    eg_http_client *c = client();
    eg_http_reply none, r = {0};
    const eg_http_call get = {.method = "GET", .path = "/x", .max = 4096};
    for (int i = 0; i < 600 && r.code != 200; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
        if (eg_http_client_call(c, &get, &none) == EG_OK) {
            r = none;
            free(r.bytes);
        }
    }
    assert_int_equal(r.code, 200);
    eg_http_client_free(c);
    for (int i = 0; i < STRANGERS; i++)
        close(held[i]);
    open_anew(30);
}

static void test_wrong_keys_are_answered_later_each_time(void **state)
{
    (void)state;
    double took[6];
    for (int i = 0; i < 6; i++) {
        eg_http_client *c = client();
        double since = eg_seconds();
        eg_http_reply r = call(c, "GET", "/strange", NULL, 0);
        took[i] = eg_seconds() - since;
        assert_int_equal(r.code, 401);
        assert_string_equal((char *)r.bytes, "who are you?");
        free(r.bytes);
        eg_http_client_free(c);
    }
    assert_true(took[5] > 0.7); /* 0.1, doubled three times */
    assert_true(took[0] < took[5]);
}

static void test_addresses_that_cannot_be_are_refused(void **state)
{
    (void)state;
    eg_http_client *c;
    eg_http_server *s;
    static const char *const wrong[] = {
        "localhost:80", "ftp://localhost", "http://",     "https://me@there",
        "https://a b",  "https://a:",      "https://a:x", "https://a:70000",
        "https://[::1", "https://[::1]x",  "https://a\rb"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_fails(eg_http_client_new(&(eg_http_to){.url = wrong[i], .key = "k"}, &c),
                     EG_EINVAL, "is no address");
    assert_fails(eg_http_client_new(&(eg_http_to){.url = "http://192.0.2.1"}, &c), EG_EINVAL,
                 "for all to");
    assert_fails(eg_http_client_new(&(eg_http_to){.url = "http://127.0.0.1.example.com"}, &c),
                 EG_EINVAL, "for all to");
    assert_fails(eg_http_client_new(&(eg_http_to){.url = url, .address = "here"}, &c),
                 EG_EINVAL, "'here' is no address");
    char port[8];
    snprintf(port, sizeof port, "%d", eg_http_server_port(server));
    assert_fails(eg_http_server_new(&(eg_http_listen){.host = "127.0.0.1", .port = port}, &s),
                 EG_EIO, "cannot listen");
    assert_fails(
        eg_http_server_new(&(eg_http_listen){.host = "no.such.host.invalid", .port = "0"}, &s),
        EG_EINVAL, "cannot listen");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_reaches_the_function_and_its_answer_comes_back),
        cmocka_unit_test(test_bodies_and_pages_may_hold_any_bytes),
        cmocka_unit_test(test_what_is_too_long_or_refused_is_not_taken),
        cmocka_unit_test(test_a_request_waits_until_it_is_woken_or_late),
        cmocka_unit_test(test_a_server_that_closes_lets_those_go_who_wait),
        cmocka_unit_test(test_drips_are_ended_though_they_never_pause),
        cmocka_unit_test(test_strangers_leave_room_for_those_with_a_key),
        cmocka_unit_test(test_wrong_keys_are_answered_later_each_time),
        cmocka_unit_test(test_addresses_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
