/* sodium_test.c - published examples of each primitive, and what it refuses.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "io/sodium.h"

#include <stdlib.h>

static void from_hex(const char *text, unsigned char *out)
{
    for (size_t i = 0; text[2 * i]; i++) {
        char two[3] = {text[2 * i], text[2 * i + 1], 0};
        out[i] = (unsigned char)strtoul(two, NULL, 16);
    }
}

static void assert_hex(const unsigned char *got, size_t n, const char *want)
{
    unsigned char bytes[256];
    assert_int_equal(strlen(want), 2 * n);
    from_hex(want, bytes);
    assert_memory_equal(got, bytes, n);
}

/* RFC 8032, section 7.1, test 2. */
static void test_signatures_are_those_of_the_rfc(void **state)
{
    (void)state;
    eg_secret seed;
    eg_identity who;
    eg_signature by;
    const unsigned char text[] = {0x72}, other[] = {0x73};
    from_hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", seed);
    eg_identity_of(seed, &who);
    assert_hex(who.public, 32,
               "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    eg_sign(&who, text, 1, by);
    assert_hex(by, 64,
               "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
               "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
    assert_true(eg_is_signed(who.public, text, 1, by));
    assert_false(eg_is_signed(who.public, other, 1, by));
    by[3] ^= 1;
    assert_false(eg_is_signed(who.public, text, 1, by));
}

static void test_identities_differ(void **state)
{
    (void)state;
    eg_identity a, b;
    eg_signature by;
    eg_identity_new(&a);
    eg_identity_new(&b);
    assert_memory_not_equal(a.public, b.public, 32);
    eg_sign(&a, "text", 4, by);
    assert_true(eg_is_signed(a.public, "text", 4, by));
    assert_false(eg_is_signed(b.public, "text", 4, by));
}

/* RFC 7748, section 6.1. */
static void test_agreed_keys_are_those_of_the_rfc(void **state)
{
    (void)state;
    eg_secret a, b, pa, pb, k, zero = {0};
    from_hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a", a);
    from_hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb", b);
    eg_agree_public(a, pa);
    eg_agree_public(b, pb);
    assert_hex(pa, 32, "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    assert_hex(pb, 32, "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    assert_ok(eg_agree(a, pb, k));
    assert_hex(k, 32, "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    assert_ok(eg_agree(b, pa, k));
    assert_hex(k, 32, "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    assert_fails(eg_agree(a, zero, k), EG_EFORMAT, "a public key is none");
}

/* RFC 8439, appendix A.1: key 0 and 0..01, nonce 0; the second from block 1 on. */
static void test_streams_are_those_of_the_rfc(void **state)
{
    (void)state;
    eg_secret key = {0};
    unsigned char out[64], two[128];
    eg_stream(key, 0, out, 64);
    assert_hex(out, 64,
               "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
               "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586");
    eg_stream(key, 0, two, 128);
    eg_stream(key, 1, out, 64);
    assert_memory_equal(two + 64, out, 64);
    key[31] = 1;
    eg_stream(key, 1, out, 64);
    assert_hex(out, 64,
               "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
               "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0");
}

static void test_sealed_text_is_for_one_key_and_one_purpose(void **state)
{
    (void)state;
    eg_secret key, other;
    unsigned char sealed[5 + EG_SEAL], again[5 + EG_SEAL], text[5];
    const eg_piece_of about = {"round 3", 7}, else_about = {"round 4", 7};
    eg_random(key, sizeof key);
    eg_random(other, sizeof other);
    eg_seal(key, about, "hello", 5, sealed);
    eg_seal(key, about, "hello", 5, again);
    assert_memory_not_equal(sealed, again, sizeof sealed);
    assert_ok(eg_unseal(key, about, sealed, sizeof sealed, text));
    assert_memory_equal(text, "hello", 5);
    assert_fails(eg_unseal(other, about, sealed, sizeof sealed, text), EG_EFORMAT, "not made");
    assert_memory_equal(text, "\0\0\0\0\0", 5);
    assert_fails(eg_unseal(key, else_about, sealed, sizeof sealed, text), EG_EFORMAT,
                 "not for");
    assert_fails(eg_unseal(key, about, sealed, EG_SEAL - 1, text), EG_EFORMAT, "39 bytes");
    for (size_t i = 0; i < sizeof sealed; i++) {
        sealed[i] ^= 0x10;
        assert_fails(eg_unseal(key, about, sealed, sizeof sealed, text), EG_EFORMAT, "");
        sealed[i] ^= 0x10;
    }
}

static void test_digests_know_purpose_and_cuts(void **state)
{
    (void)state;
    eg_secret a, b;
    const eg_piece_of one[] = {{"ab", 2}, {"c", 1}}, two[] = {{"a", 1}, {"bc", 2}};
    eg_digest("mask", one, 2, a);
    eg_digest("mask", one, 2, b);
    assert_memory_equal(a, b, 32);
    eg_digest("mask", two, 2, b);
    assert_memory_not_equal(a, b, 32);
    eg_digest("seal", one, 2, b);
    assert_memory_not_equal(a, b, 32);
}

/* The order is 2^252 + 27742317777372353535851937790883648493. */
static void test_scalars_count_modulo_the_order(void **state)
{
    (void)state;
    eg_secret order, most, one, a, b, c, d;
    from_hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010", order);
    memcpy(most, order, sizeof most);
    most[0]--;
    eg_scalar_of(1, one);
    assert_false(eg_scalar_is(order));
    assert_true(eg_scalar_is(most));
    eg_scalar_add(most, one, a);
    eg_scalar_of(0, b);
    assert_memory_equal(a, b, 32);
    assert_fails(eg_scalar_invert(b, c), EG_EFORMAT, "0 has no inverse");
    eg_scalar_mul(most, most, a); /* (-1)^2 */
    assert_memory_equal(a, one, 32);
    eg_scalar_of(1ULL << 40, a);
    eg_scalar_of((1ULL << 40) - 3, b);
    eg_scalar_sub(a, b, c);
    eg_scalar_of(3, d);
    assert_memory_equal(c, d, 32);
    eg_scalar_random(a);
    assert_true(eg_scalar_is(a));
    assert_ok(eg_scalar_invert(a, b));
    eg_scalar_mul(a, b, c);
    assert_memory_equal(c, one, 32);
}

static void test_what_is_wiped_is_zero_and_random_bytes_differ(void **state)
{
    (void)state;
    eg_secret a, b, zero = {0};
    eg_random(a, sizeof a);
    eg_random(b, sizeof b);
    assert_false(eg_same(a, b, sizeof a));
    assert_true(eg_same(a, a, sizeof a));
    eg_wipe(a, sizeof a);
    assert_memory_equal(a, zero, sizeof a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signatures_are_those_of_the_rfc),
        cmocka_unit_test(test_identities_differ),
        cmocka_unit_test(test_agreed_keys_are_those_of_the_rfc),
        cmocka_unit_test(test_streams_are_those_of_the_rfc),
        cmocka_unit_test(test_sealed_text_is_for_one_key_and_one_purpose),
        cmocka_unit_test(test_digests_know_purpose_and_cuts),
        cmocka_unit_test(test_scalars_count_modulo_the_order),
        cmocka_unit_test(test_what_is_wiped_is_zero_and_random_bytes_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
