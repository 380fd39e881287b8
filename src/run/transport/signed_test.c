/* signed_test.c - signed requests: what is signed, and what was seen before.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/signed.h"

#include "test.h"

#include <stdio.h>

static const eg_request_line asked = {"POST", "/engram/1/reply", 3, 77, 12};

static eg_identity who;

static eg_signed sign(void)
{
    eg_signed p = {.salt = "0123456789abcdef0123456789abcdef", .sequence = 9};
    eg_secret seed = {7};
    eg_identity_of(seed, &who);
    eg_signed_digest("body", 4, p.body);
    eg_signed_make(&p, &asked, &who);
    return p;
}

static void test_a_signature_is_for_one_request(void **state)
{
    (void)state;
    eg_signed p = sign(), q = p;
    eg_request_line others[] = {asked, asked, asked, asked, asked};
    assert_true(eg_signed_holds(&p, &asked, who.public));
    others[0].method = "GET";
    others[1].path = "/engram/1/alive";
    others[2].client = 4;
    others[3].session = 78;
    others[4].number = 13;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(eg_signed_holds(&p, &others[i], who.public));
    q.sequence++;
    assert_false(eg_signed_holds(&q, &asked, who.public));
    q = p, q.salt[3] = 'x';
    assert_false(eg_signed_holds(&q, &asked, who.public));
    q = p, q.body[31] ^= 1;
    assert_false(eg_signed_holds(&q, &asked, who.public));
    eg_identity other;
    eg_identity_new(&other);
    assert_false(eg_signed_holds(&p, &asked, other.public));
}

static void test_a_proof_survives_as_text(void **state)
{
    (void)state;
    eg_signed p = sign(), back = {0};
    char text[EG_SIGNED];
    static const char *const none[] = {"", ":::", "a:b:c:d", "0123456789abcdef0123456789abcdef",
                                       "0123456789abcdef0123456789abcdefff:1:2:3"};
    eg_signed_print(&p, text);
    assert_true(eg_signed_read(text, &back));
    assert_memory_equal(&back, &p, sizeof p);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(eg_signed_read(none[i], &back));
    for (size_t n = strlen(text); n-- > 0;) { /* cut anywhere */
        text[n] = 0;
        assert_false(eg_signed_read(text, &back));
    }
}

static void test_each_number_is_new_once(void **state)
{
    (void)state;
    eg_seen_numbers s = {0};
    assert_false(eg_seen_new(&s, 0));
    assert_true(eg_seen_new(&s, 5));
    assert_false(eg_seen_new(&s, 5));
    assert_true(eg_seen_new(&s, 3)); /* two connections overtake each other */
    assert_false(eg_seen_new(&s, 3));
    assert_true(eg_seen_new(&s, 68));
    assert_false(eg_seen_new(&s, 5));
    assert_true(eg_seen_new(&s, 6));
    assert_false(eg_seen_new(&s, 4)); /* too long ago to know */
    assert_true(eg_seen_new(&s, 1000000));
    assert_false(eg_seen_new(&s, 68));
    assert_true(eg_seen_new(&s, 1000000 - 63));
    assert_false(eg_seen_new(&s, 1000000 - 64));
}

static void test_who_enrols_has_the_secret_half(void **state)
{
    (void)state;
    eg_signature by;
    eg_identity other;
    sign();
    eg_identity_new(&other);
    eg_signed_enrol(&who, 3, by);
    assert_true(eg_signed_enrols(who.public, 3, by));
    assert_false(eg_signed_enrols(who.public, 4, by));
    assert_false(eg_signed_enrols(other.public, 3, by));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_signature_is_for_one_request),
        cmocka_unit_test(test_a_proof_survives_as_text),
        cmocka_unit_test(test_each_number_is_new_once),
        cmocka_unit_test(test_who_enrols_has_the_secret_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
