/* npy_test.c - array files as NumPy writes them, in every type, and as it does not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"

#include "io/file.h"
#include "io/npy.h"

/* Writes a version 1 file; returns its size. */
static size_t make_npy(uint8_t *out, const char *header, const void *data, size_t n)
{
    memcpy(out, "\x93NUMPY\1\0", 8);
    size_t length = strlen(header);
    out[8] = (uint8_t)length;
    out[9] = (uint8_t)(length >> 8);
    memcpy(out + 10, header, length);
    memcpy(out + 10 + length, data, n);
    return 10 + length + n;
}

static void test_every_type_is_read(void **state)
{
    (void)state;
    uint8_t file[300];
    eg_npy a;
    const uint8_t u1[] = {1, 2, 250};
    const int32_t i4[] = {1, 2, -250};
    const int64_t i8[] = {1, 2, -250};
    const float f4[] = {1, 2, -250.5f};
    const double f8[] = {1, 2, -250.5};
    const int8_t i1[] = {1, 2, -100};
    const uint16_t u2[] = {1, 2, 65000}, f2[] = {0x3c00, 0x4000, 0xdbd4};
    const int16_t i2[] = {1, 2, -30000};
    const uint32_t u4[] = {1, 2, 4000000000U};
    const uint64_t u8[] = {1, 2, 1ULL << 40};
    const struct {
        const char *type;
        const void *data;
        size_t size;
        double last;
    } rows[] = {{"|u1", u1, 3, 250},     {"<i4", i4, 12, -250},   {"<i8", i8, 24, -250},
                {"<f4", f4, 12, -250.5}, {"<f8", f8, 24, -250.5}, {"|i1", i1, 3, -100},
                {"|b1", u1, 3, 250},     {"<u2", u2, 6, 65000},   {"<i2", i2, 6, -30000},
                {"<u4", u4, 12, 4e9},    {"<u8", u8, 24, 0x1p40}, {"<f2", f2, 6, -250.5}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char header[100];
        snprintf(header, sizeof header,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (3, 1), }   \n",
                 rows[k].type);
        size_t n = make_npy(file, header, rows[k].data, rows[k].size);
        assert_ok(eg_npy_parse("a.npy", file, n, &a));
        assert_int_equal(a.n_dims, 2);
        assert_int_equal(a.shape[0], 3);
        assert_int_equal(a.n, 3);
        assert_near(eg_npy_real(&a, 0), 1, 0);
        assert_near(eg_npy_real(&a, 2), rows[k].last, 0);
        assert_int_equal(eg_npy_whole(&a, 2), (int64_t)rows[k].last);
        assert_fails(eg_npy_parse("a.npy", file, n - 1, &a), EG_EFORMAT, "a.npy: ");
        assert_fails(eg_npy_parse("a.npy", file, n + 1, &a), EG_EFORMAT, "the shape needs");
    }
}

static void test_the_first_axis_may_vary_fastest(void **state)
{
    (void)state;
    uint8_t file[300], data[24];
    eg_npy a;
    for (uint8_t i = 0; i < 24; i++)
        data[i] = i;
    size_t n = make_npy(file, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }\n",
                        data, 24);
    assert_ok(eg_npy_parse("a.npy", file, n, &a));
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++)
            for (size_t k = 0; k < 4; k++)
                assert_int_equal(eg_npy_whole(&a, (i * 3 + j) * 4 + k), i + 2 * j + 6 * k);
}

static void test_texts_become_utf8(void **state)
{
    (void)state;
    uint8_t file[300];
    char text[40];
    eg_npy a;
    const uint32_t wide[] = {'a', 0xe9, 0x20ac, 0x1f600, 0xd800, 0, 'x', 0};
    size_t n =
        make_npy(file, "{'descr': '<U4', 'fortran_order': False, 'shape': (2,), }\n", wide, 32);
    assert_ok(eg_npy_parse("a.npy", file, n, &a));
    assert_true(eg_npy_is_text(&a));
    eg_npy_text(&a, 0, sizeof text, text);
    assert_string_equal(text, "a\u00e9\u20ac\U0001f600");
    eg_npy_text(&a, 0, 4, text);
    assert_string_equal(text, "a\u00e9");
    eg_npy_text(&a, 1, sizeof text, text);
    assert_string_equal(text, "?");
    n = make_npy(file, "{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }\n",
                 "abcd\0\0", 6);
    assert_ok(eg_npy_parse("a.npy", file, n, &a));
    eg_npy_text(&a, 0, sizeof text, text);
    assert_string_equal(text, "abc");
    eg_npy_text(&a, 1, sizeof text, text);
    assert_string_equal(text, "d");
    assert_near(eg_npy_real(&a, 0), 0, 0);
}

static void test_keys_may_come_in_any_order(void **state)
{
    (void)state;
    uint8_t file[300], data[6] = {0};
    eg_npy a;
    size_t n =
        make_npy(file, "{'shape': (6,), 'fortran_order':False,'descr':\"|u1\"}\n", data, 6);
    assert_ok(eg_npy_parse("a.npy", file, n, &a));
    assert_int_equal(a.n_dims, 1);
    n = make_npy(file, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", data, 1);
    assert_ok(eg_npy_parse("a.npy", file, n, &a));
    assert_int_equal(a.n, 1);
}

static void test_bad_headers_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *header, *words;
    } rows[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "type '>f4'"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "array.astype(str)"},
        {"{'descr': '<U0', 'fortran_order': False, 'shape': (1,), }", "type '<U0'"},
        {"{'descr': '<f4', 'fortran_order': False, }", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 1), }", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }", "header"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': "
         "(2000000000,2000000000,2000000000)}",
         "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,", "header"},
        {"", "header"},
    };
    uint8_t file[300];
    eg_npy a;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        size_t n = make_npy(file, rows[k].header, "\0\0\0\0", 4);
        assert_int_not_equal(eg_npy_parse("bad.npy", file, n, &a), EG_OK);
        assert_non_null(strstr(eg_error(), "bad.npy: "));
        if (!strstr(eg_error(), rows[k].words))
            fail_msg("%s: %s", rows[k].header, eg_error());
    }
    assert_fails(eg_npy_parse("x", (const uint8_t *)"PK", 2, &a), EG_EFORMAT, "x: not a .npy");
    assert_fails(eg_npy_parse("x", file, 0, &a), EG_EFORMAT, "x: not a .npy");
}

static uint8_t *put16(uint8_t *p, size_t v)
{
    *p++ = (uint8_t)v;
    *p++ = (uint8_t)(v >> 8);
    return p;
}

/* A zip of one entry, stored or (in stored blocks) deflated. */
static size_t make_zip(uint8_t *out, const char *name, const uint8_t *data, size_t n,
                       int method)
{
    uint8_t packed[600], *p = out;
    size_t size = n;
    if (method == 8)
        size = files_deflate(data, n, packed);
    else
        memcpy(packed, data, n);
    uint32_t crc = eg_gz_crc32(data, n);
    for (int pass = 0; pass < 2; pass++) {
        p = files_put32(p, pass ? 0x02014b50 : 0x04034b50);
        if (pass)
            p = put16(p, 20);
        p = put16(put16(put16(p, 20), 0), (size_t)method);
        p = files_put32(p, 0); /* time and date */
        p = files_put32(files_put32(files_put32(p, crc), (uint32_t)size), (uint32_t)n);
        p = put16(put16(p, strlen(name)), 0);
        if (pass) {
            p = put16(put16(put16(p, 0), 0), 0);
            p = files_put32(files_put32(p, 0), 0);
        }
        memcpy(p, name, strlen(name));
        p += strlen(name);
        if (!pass) {
            memcpy(p, packed, size);
            p += size;
        }
    }
    size_t start = 30 + strlen(name) + size, length = (size_t)(p - out) - start;
    p = files_put32(p, 0x06054b50);
    p = put16(put16(put16(put16(p, 0), 0), 1), 1);
    p = files_put32(files_put32(p, (uint32_t)length), (uint32_t)start);
    p = put16(p, 0);
    return (size_t)(p - out);
}

/* A .npy of n bytes, 72 of them the header with this shape of bytes. */
static void fill_array(uint8_t *to, size_t n, const char *shape)
{
    memcpy(to, "\x93NUMPY\1\0\x3e", 10);
    int length = snprintf((char *)to + 10, 63,
                          "{'descr': '|u1', 'fortran_order': False, 'shape': %s}", shape);
    memset(to + 10 + length, ' ', (size_t)(62 - length));
    for (size_t i = 72; i < n; i++)
        to[i] = (uint8_t)i;
}

/* Before memory is taken, the shape and the directory must agree. */
static void test_npz_entry_that_is_larger_than_its_shape_is_refused(void **state)
{
    (void)state;
    uint8_t zip[1500], *entry, data[200];
    size_t n_entry, size;
    fill_array(data, sizeof data, "(2, 4)");
    assert_ok(eg_npy_measure("a", data, 72, &size));
    assert_int_equal(size, 80);
    for (int method = 0; method <= 8; method += 8) {
        size_t n = make_zip(zip, "x_train.npy", data, sizeof data, method);
        assert_fails(eg_npz_entry("a.npz", zip, n, "x_train", &entry, &n_entry), EG_EFORMAT,
                     "a.npz: an entry of 200 bytes, but the shape needs 80");
    }
}

static void test_npz_gives_its_entries(void **state)
{
    (void)state;
    uint8_t zip[1500], *entry, data[200];
    size_t n_entry;
    fill_array(data, sizeof data, "(128,)");
    for (int method = 0; method <= 8; method += 8) {
        size_t n = make_zip(zip, "x_train.npy", data, sizeof data, method);
        assert_ok(eg_npz_entry("a.npz", zip, n, "x_train", &entry, &n_entry));
        assert_int_equal(n_entry, sizeof data);
        assert_memory_equal(entry, data, sizeof data);
        free(entry);
        assert_fails(eg_npz_entry("a.npz", zip, n, "x", &entry, &n_entry), EG_ENOENT,
                     "a.npz: there is no array 'x'");
        for (size_t cut = 0; cut < n; cut++)
            assert_fails(eg_npz_entry("a.npz", zip, cut, "x_train", &entry, &n_entry),
                         EG_EFORMAT, "a.npz: ");
        zip[200] ^= 1;
        assert_fails(eg_npz_entry("a.npz", zip, n, "x_train", &entry, &n_entry), EG_EFORMAT,
                     "checksum");
    }
}

static void test_what_is_written_is_read_again(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH + 16];
    const double values[6] = {1, -2.5, 1e300, NAN, 0, 7};
    const eg_npz_array arrays[] = {
        {"whole", 2, {2, 3}, values}, {"part", 1, {2}, values + 1}, {"none", 1, {0}, values}};
    uint8_t *bytes, *entry;
    size_t n, size;
    eg_npy a;
    files_folder(dir);
    snprintf(path, sizeof path, "%s/a.npz", dir);
    assert_ok(eg_npz_save(path, arrays, 3));
    assert_ok(eg_file_read(path, 1 << 20, &bytes, &n));
    assert_ok(eg_npz_entry(path, bytes, n, "whole", &entry, &size));
    assert_ok(eg_npy_parse(path, entry, size, &a));
    assert_int_equal(a.type, EG_NPY_F8);
    assert_int_equal(a.shape[0], 2);
    assert_int_equal(a.shape[1], 3);
    for (size_t i = 0; i < 6; i++)
        assert_true(i == 3 ? isnan(eg_npy_real(&a, i)) : eg_npy_real(&a, i) == values[i]);
    free(entry);
    assert_ok(eg_npz_entry(path, bytes, n, "part", &entry, &size));
    assert_ok(eg_npy_parse(path, entry, size, &a));
    assert_int_equal(a.n_dims, 1);
    assert_near(eg_npy_real(&a, 1), 1e300, 0);
    assert_int_equal((size - 16) % 64, 0); /* two values after an even head */
    free(entry);
    free(bytes);
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_is_read),
        cmocka_unit_test(test_the_first_axis_may_vary_fastest),
        cmocka_unit_test(test_texts_become_utf8),
        cmocka_unit_test(test_keys_may_come_in_any_order),
        cmocka_unit_test(test_bad_headers_are_refused),
        cmocka_unit_test(test_npz_gives_its_entries),
        cmocka_unit_test(test_npz_entry_that_is_larger_than_its_shape_is_refused),
        cmocka_unit_test(test_what_is_written_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
