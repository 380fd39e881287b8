/* keys_test.c - files of keys, and what a hello says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/hello.h"
#include "run/transport/keys.h"

#include "test.h"

#include <stdio.h>
#include <sys/stat.h>

#include "own_folder.h"

#define NINES "9999999999999999999999999999999999999999999999999999999999999999"

static int64_t is;
static char path[FILES_PATH * 2];

static const char *file(const char *text)
{
    files_write(folder, "keys", text, strlen(text));
    snprintf(path, sizeof path, "%s/keys", folder);
    assert_int_equal(chmod(path, 0600), 0);
    return path;
}

static void test_keys_that_others_can_read_are_refused(void **state)
{
    (void)state;
    eg_key one;
    file("0 0123456789abcdef\n");
    assert_ok(eg_keys_find(path, 0, &is, one));
    assert_int_equal(chmod(path, 0640), 0);
    assert_fails(eg_keys_find(path, 0, &is, one), EG_EINVAL, "chmod 600");
    assert_fails(eg_keys_load(path, 1, &one), EG_EINVAL, "chmod 600");
}

static void test_new_keys_are_read_back_and_differ(void **state)
{
    (void)state;
    eg_key keys[3] = {{0}}, one;
    struct stat about;
    snprintf(path, sizeof path, "%s/new", folder);
    assert_ok(eg_keys_make(path, 3));
    assert_ok(eg_keys_load(path, 3, keys));
    assert_int_equal(strlen(keys[0]), 64);
    assert_string_not_equal(keys[0], keys[1]);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_ok(eg_keys_find(path, 2, &is, one));
    assert_true(eg_keys_equal(keys[2], one));
    assert_false(eg_keys_equal(keys[1], one));
    assert_fails(eg_keys_make(path, 3), EG_EIO, "cannot be created");
}

static void test_a_device_may_have_its_key_alone(void **state)
{
    (void)state;
    eg_key one;
    assert_ok(eg_keys_find(file("# mine\n\n  0123456789abcdef \n"), 7, &is, one));
    assert_string_equal(one, "0123456789abcdef");
    assert_fails(eg_keys_find(file("3 0123456789abcdef\n"), 7, &is, one), EG_ENOENT,
                 "client 7");
}

static void test_what_is_no_key_is_said_with_its_line(void **state)
{
    (void)state;
    eg_key keys[2] = {{0}};
    static const struct {
        const char *text, *words;
    } wrong[] = {
        {"0 0123456789abcdef\n0 0123456789abcdef\n", "line 2: client 0 has a key already"},
        {"0 short\n", "line 1: a key is one word"},
        {"x 0123456789abcdef\n", "line 1: 'x' is no client"},
        {"-1 0123456789abcdef\n", "'-1' is no client"},
        {"\n0123456789abcdef\n", "line 2 does not say whose"},
        {"0 0123456789abcdef more\n", "line 1: a key is one word"},
        {"0 ed25519:12\n", "line 1: a key is one word"},
        {"0 code:12@3\n", "line 1: a key is one word"},
        {"0 ed25519-secret:" NINES "\n", "line 1 is a device's secret key"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memset(keys, 0, sizeof keys);
        assert_int_not_equal(eg_keys_load(file(wrong[i].text), 2, keys), EG_OK);
        if (!strstr(eg_error(), wrong[i].words))
            fail_msg("'%s' does not say '%s'", eg_error(), wrong[i].words);
    }
}

static void test_no_key_equals_none(void **state)
{
    (void)state;
    const eg_key none = {0}, key = "0123456789abcdef";
    assert_false(eg_keys_equal(none, ""));
    assert_false(eg_keys_equal(key, ""));
    assert_false(eg_keys_equal(key, "0123456789abcdefx"));
    assert_false(eg_keys_equal(key, "0123456789abcde"));
    assert_true(eg_keys_equal(key, "0123456789abcdef"));
}

/* The client's line that counts. */
static eg_key_kind kind(int64_t client)
{
    eg_key keys[8] = {{0}};
    assert_ok(eg_keys_load(path, 8, keys));
    return eg_key_kind_of(keys[client]);
}

static void test_the_last_line_about_a_client_counts(void **state)
{
    (void)state;
    file("3 0123456789abcdef\n# a comment without an end");
    assert_int_equal(kind(3), EG_KEY_WORD);
    assert_ok(eg_keys_revoke(path, 3));
    assert_int_equal(kind(3), EG_KEY_REVOKED);
    assert_fails(eg_keys_revoke(path, 3), EG_ENOENT, "client 3 has no key to be revoked");
    assert_ok(eg_keys_add(path, 3, "ed25519:" NINES));
    assert_int_equal(kind(3), EG_KEY_PUBLIC);
    assert_int_equal(kind(2), EG_KEY_NONE);
    assert_fails(eg_keys_add(path, 3, "ed25519:9"), EG_EINVAL, "'ed25519:9' is no public key");
}

static void test_a_code_is_good_once_and_for_a_while(void **state)
{
    (void)state;
    char code[EG_KEY], other[EG_KEY];
    eg_key keys[2] = {{0}};
    bool late;
    file("0 0123456789abcdef\n");
    assert_fails(eg_keys_invite(path, 0, 60, code), EG_EBUSY, "client 0 has a key");
    assert_ok(eg_keys_invite(path, -1, 60, code));
    assert_int_equal(eg_key_code_client(code), 1);
    assert_int_equal(eg_key_code_client("1-23"), -1);
    assert_int_equal(eg_key_code_client("x-0123456789abcdef012345"), -1);
    assert_ok(eg_keys_load(path, 2, keys));
    assert_true(eg_key_is_code(keys[1], code, &late));
    assert_null(strstr(keys[1], code)); /* the file has its digest alone */
    assert_ok(eg_keys_invite(path, 1, -60, other));
    assert_ok(eg_keys_load(path, 2, keys));
    assert_false(eg_key_is_code(keys[1], code, &late));
    assert_false(late);
    assert_false(eg_key_is_code(keys[1], other, &late));
    assert_true(late);
}

static void test_a_device_s_own_key_makes_its_public_one(void **state)
{
    (void)state;
    char public_key[EG_KEY], again[EG_KEY];
    int64_t client;
    eg_key key;
    eg_identity who;
    eg_secret bytes;
    snprintf(path, sizeof path, "%s/device", folder);
    assert_ok(eg_key_new(path, 5, public_key));
    assert_ok(eg_key_public(path, &client, again));
    assert_int_equal(client, 5);
    assert_string_equal(public_key, again);
    assert_ok(eg_keys_find(path, -1, &client, key));
    assert_int_equal(client, 5);
    assert_true(eg_key_read_secret(key, &who));
    assert_true(eg_key_read_public(public_key, bytes));
    assert_memory_equal(bytes, who.public, EG_SECRET);
    assert_fails(eg_key_new(path, 5, public_key), EG_EIO, "cannot be created");
    assert_fails(
        eg_keys_find(file("0 0123456789abcdef\n1 0123456789abcdeg\n"), -1, &client, key),
        EG_EINVAL, "does not say which client");
}

static const eg_hello mine = {.protocol = EG_PROTOCOL,
                              .version = "1.0 abc",
                              .isa = "avx2",
                              .labels = "l",
                              .pixels = "p",
                              .scenario = "s",
                              .classes = 10,
                              .params = 100};

static eg_hello again(const eg_hello *h)
{
    eg_hello out;
    eg_json *json = eg_json_object();
    assert_ok(eg_hello_put(h, json));
    assert_ok(eg_hello_get(json, &out));
    eg_json_free(json);
    return out;
}

static void test_a_hello_survives_its_json(void **state)
{
    (void)state;
    eg_hello own = mine;
    eg_hello back = again(&mine);
    assert_memory_equal(&back, &mine, sizeof mine);
    own.own_data = true;
    back = again(&own);
    assert_true(back.own_data);
    assert_string_equal(back.labels, ""); /* nothing is told of a device's own data */
    eg_json *json = eg_json_object();
    assert_fails(eg_hello_get(json, &back), EG_EFORMAT, "'protocol' is missing");
    eg_json_free(json);
}

static void test_a_device_that_does_not_fit_is_told_why(void **state)
{
    (void)state;
    eg_hello other = mine;
    assert_ok(eg_hello_compare(&mine, &other, false));
    snprintf(other.isa, sizeof other.isa, "avx512");
    assert_fails(eg_hello_compare(&mine, &other, false), EG_EINVAL,
                 "another instruction set than the server: avx512, not avx2; a server with "
                 "--mixed");
    assert_ok(eg_hello_compare(&mine, &other, true));
    snprintf(other.pixels, sizeof other.pixels, "q");
    assert_fails(eg_hello_compare(&mine, &other, true), EG_EINVAL,
                 "another set of pixels than the server: q, not p");
    other = mine;
    other.params = 99;
    assert_fails(eg_hello_compare(&mine, &other, true), EG_EINVAL, "99 weights");
    other = mine;
    other.protocol = 2;
    assert_fails(eg_hello_compare(&mine, &other, true), EG_EINVAL, "version 2 of the protocol");
    other = mine;
    other.own_data = true;
    assert_fails(eg_hello_compare(&mine, &other, true), EG_EINVAL, "without --own-data");
    assert_fails(eg_hello_compare(&other, &mine, true), EG_EINVAL, "join with --own-data");
    eg_hello wants = mine;
    wants.own_data = true;
    *other.labels = 'x';
    assert_ok(eg_hello_compare(&wants, &other, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_that_others_can_read_are_refused),
        cmocka_unit_test(test_new_keys_are_read_back_and_differ),
        cmocka_unit_test(test_a_device_may_have_its_key_alone),
        cmocka_unit_test(test_what_is_no_key_is_said_with_its_line),
        cmocka_unit_test(test_no_key_equals_none),
        cmocka_unit_test(test_the_last_line_about_a_client_counts),
        cmocka_unit_test(test_a_code_is_good_once_and_for_a_while),
        cmocka_unit_test(test_a_device_s_own_key_makes_its_public_one),
        cmocka_unit_test(test_a_hello_survives_its_json),
        cmocka_unit_test(test_a_device_that_does_not_fit_is_told_why),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
