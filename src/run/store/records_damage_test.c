/* records_damage_test.c - files of records with flipped bits, cut short, and forged.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "keeping.h"

#include "base/checksum.h"
#include "run/store/records_file.h"

/* Client 1 at version 3, with records in both files: "a" of version 2 in one, the others in
 * the other. Version 2 is committed, and version 1 holds "b" still. */
static eg_receipt make_client(const char *dir)
{
    eg_receipt at = {0};
    for (int64_t v = 1; v <= 3; v++) {
        eg_records *r;
        assert_ok(eg_records_open(dir, 1, &at, v == 3 ? 2 : 0, &r));
        if (v == 1) {
            keeping_put(r, "a", 10, 3);
            keeping_put(r, "b", 20, 3);
        } else {
            keeping_put(r, v == 2 ? "a" : "c", 10 + v, 3);
        }
        at = keeping_save(r);
        eg_records_free(r);
    }
    return at;
}

/* Reads everything, and says whether it is what was put. What fails names a file. */
static bool reads_well(const char *dir, const eg_receipt *at)
{
    static const struct {
        const char *name;
        int64_t value;
    } put[] = {{"a", 12}, {"b", 20}, {"c", 13}};
    eg_records *r = NULL;
    eg_status status = eg_records_open(dir, 1, at, 2, &r);
    for (size_t i = 0; i < 3 && status == EG_OK; i++) {
        const eg_bundle *b;
        status = eg_records_get(r, put[i].name, &b);
        if (status == EG_OK)
            assert_true(b && keeping_equal(b, put[i].value, 3));
    }
    if (status != EG_OK) {
        assert_true(status == EG_EFORMAT || status == EG_ENOTSUP);
        assert_non_null(strstr(eg_error(), "/0/1."));
    }
    eg_records_free(r);
    return status == EG_OK;
}

static void test_every_flipped_bit_is_found_or_harmless(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    size_t n, n_tried = 0, n_found = 0;
    files_folder(dir);
    eg_receipt at = make_client(dir);
    static const char *const names[] = {"0/1.1", "0/1.2", "0/1.3"};
    for (int k = 0; k < 3; k++) {
        unsigned char *bytes = keeping_read(dir, names[k], &n);
        size_t found = 0;
        for (size_t i = 0; i < n * 8; i++) {
            bytes[i / 8] ^= (unsigned char)(1 << i % 8);
            keeping_poke(dir, names[k], i / 8, &bytes[i / 8], 1);
            found += !reads_well(dir, &at);
            bytes[i / 8] ^= (unsigned char)(1 << i % 8);
            keeping_poke(dir, names[k], i / 8, &bytes[i / 8], 1);
        }
        if (k == 2) /* its head is the one that counts */
            assert_int_equal(found, n * 8);
        free(bytes);
        n_found += found;
        n_tried += n * 8;
    }
    assert_true(reads_well(dir, &at));
    print_message("%zu of %zu bits found, the others are not read any more\n", n_found,
                  n_tried);
    files_remove(dir);
}

static void test_cut_and_longer_files_are_found(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    size_t n;
    files_folder(dir);
    eg_receipt at = make_client(dir);
    static const char *const names[] = {"0/1.1", "0/1.2", "0/1.3"};
    for (int k = 0; k < 3; k++) {
        unsigned char *bytes = keeping_read(dir, names[k], &n);
        keeping_cut(dir, names[k], n + 1);
        assert_false(reads_well(dir, &at));
        for (size_t cut = n; cut-- > 0;) {
            keeping_cut(dir, names[k], cut);
            assert_false(reads_well(dir, &at));
        }
        files_write(dir, names[k], bytes, n);
        assert_true(reads_well(dir, &at));
        free(bytes);
    }
    files_remove(dir);
}

/* Opens, reads, changes and saves whatever is there; only that it comes back is asked. */
static bool use_all(const char *dir, const eg_receipt *at)
{
    eg_records *r;
    eg_receipt next;
    if (eg_records_open(dir, 1, at, 2, &r) != EG_OK)
        return false;
    for (size_t i = 0; i < eg_records_n(r); i++) {
        const eg_bundle *b;
        if (eg_records_get(r, eg_records_name(r, i), &b) == EG_OK)
            assert_non_null(b);
    }
    keeping_put(r, "c", 99, 3000);
    bool saved = eg_records_save(r, &next) == EG_OK;
    eg_records_free(r);
    return saved;
}

static void test_forged_heads_with_right_checksums_do_no_harm(void **state)
{
    (void)state;
    static const int64_t values[] = {
        0,
        1,
        2,
        3,
        4,
        7,
        79,
        80,
        81,
        1000,
        4096,
        4097,
        12291,
        12292,
        -1,
        -2,
        1 << 24,
        (int64_t)1 << 31,
        ((int64_t)1 << 40) - 1,
        ((int64_t)1 << 40) + 1,
        EG_MAX_VERSION,
        EG_MAX_VERSION + 1,
        INT64_MAX,
        INT64_MIN,
        INT64_MAX / 8,
    };
    char dir[FILES_PATH];
    size_t n, length;
    int n_used = 0, n_tried = 0;
    files_folder(dir);
    eg_receipt at = make_client(dir);
    unsigned char *bytes = keeping_read(dir, "0/1.3", &n), *forged = malloc(n);
    assert_non_null(forged);
    assert_ok(eg_records_head_measure(bytes, n, &length));
    for (size_t i = 8; i + 8 <= length; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            eg_receipt told = at;
            size_t covered;
            memcpy(forged, bytes, n);
            memcpy(forged + i, &values[k], sizeof values[k]);
            if (eg_records_head_measure(forged, n, &covered) != EG_OK || covered > n)
                continue;
            memcpy(&told.bytes, forged + 64, sizeof told.bytes);
            told.digest = eg_checksum(0, forged, covered);
            keeping_poke(dir, "0/1.3", 0, forged, n);
            n_used += use_all(dir, &told);
            n_tried++;
            if (!keeping_exists(dir, "0/1.1") || !keeping_exists(dir, "0/1.2"))
                make_client(dir); /* a forged list may give up its own files */
        }
    print_message("%d of %d forged heads could be used\n", n_used, n_tried);
    free(forged);
    free(bytes);
    files_remove(dir);
}

static void test_head_of_another_machine_is_said(void **state)
{
    (void)state;
    char dir[FILES_PATH];
    size_t n;
    eg_records *none;
    files_folder(dir);
    eg_receipt at = make_client(dir);
    unsigned char *bytes = keeping_read(dir, "0/1.3", &n);
    memcpy(bytes + 8, (unsigned char[]){1, 2, 3, 4}, 4);
    files_write(dir, "0/1.3", bytes, n);
    assert_fails(eg_records_open(dir, 1, &at, 2, &none), EG_ENOTSUP,
                 "0/1.3: written by a machine of another byte order");
    memcpy(bytes + 8, (unsigned char[]){4, 3, 2, 1, 9}, 5);
    files_write(dir, "0/1.3", bytes, n);
    assert_fails(eg_records_open(dir, 1, &at, 2, &none), EG_ENOTSUP,
                 "0/1.3: version 9 of the format is not known");
    free(bytes);
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_flipped_bit_is_found_or_harmless),
        cmocka_unit_test(test_cut_and_longer_files_are_found),
        cmocka_unit_test(test_forged_heads_with_right_checksums_do_no_harm),
        cmocka_unit_test(test_head_of_another_machine_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
