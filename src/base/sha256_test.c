/* sha256_test.c - the examples of FIPS 180-4, and that cutting the input changes nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/checksum.h"

static void check(const char *text, const char *want)
{
    uint8_t digest[32];
    char hex[65];
    eg_sha256_of(text, strlen(text), digest);
    eg_sha256_text(digest, hex);
    assert_string_equal(hex, want);
}

static void test_digests_equal_the_published_ones(void **state)
{
    (void)state;
    check("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklm"
          "nopqrlmnopqrsmnopqrstnopqrstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

static void test_a_million_letters_in_uneven_pieces(void **state)
{
    (void)state;
    char piece[997];
    memset(piece, 'a', sizeof piece);
    eg_sha256 s;
    eg_sha256_init(&s);
    size_t left = 1000000;
    for (size_t n = 1; left > 0; n = n % 997 + 1) {
        size_t take = n < left ? n : left;
        eg_sha256_add(&s, piece, take);
        left -= take;
    }
    uint8_t digest[32];
    char hex[65];
    eg_sha256_end(&s, digest);
    eg_sha256_text(digest, hex);
    assert_string_equal(hex,
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests_equal_the_published_ones),
        cmocka_unit_test(test_a_million_letters_in_uneven_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
