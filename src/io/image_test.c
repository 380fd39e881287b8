/* image_test.c - PNG and JPEG: what is written reads back; what is damaged is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"

#include "io/image.h"

static uint8_t *slurp(const char *path, size_t *n)
{
    uint8_t *bytes;
    assert_ok(eg_gz_load(path, 1 << 20, &bytes, n));
    return bytes;
}

static void check_roundtrip(const char *folder, int64_t channels)
{
    enum { H = 5, W = 7 };
    uint8_t pixels[H * W * 3];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 37);
    char path[FILES_PATH + 32];
    snprintf(path, sizeof path, "%s/a.png", folder);
    assert_ok(eg_png_save(path, &(eg_image){H, W, channels, pixels}));
    size_t n;
    uint8_t *bytes = slurp(path, &n);
    assert_true(eg_png_known(bytes, n));
    assert_false(eg_jpeg_known(bytes, n));
    eg_image im;
    assert_ok(eg_png_parse("a.png", bytes, n, &im));
    assert_int_equal(im.height, H);
    assert_int_equal(im.width, W);
    assert_int_equal(im.channels, channels);
    assert_memory_equal(im.pixels, pixels, (size_t)H * W * (size_t)channels);
    eg_image_fini(&im);
    for (size_t cut = 0; cut < n - 12; cut++) { /* the last 12 bytes only say that it ends */
        assert_int_equal(eg_png_parse("cut.png", bytes, cut, &im), EG_EFORMAT);
        assert_non_null(strstr(eg_error(), "cut.png: "));
        assert_null(im.pixels);
    }
    free(bytes);
}

static void test_png_reads_back_what_was_written(void **state)
{
    (void)state;
    char folder[FILES_PATH];
    files_folder(folder);
    check_roundtrip(folder, 1);
    check_roundtrip(folder, 3);
    files_remove(folder);
}

static void test_png_to_nowhere_is_an_error(void **state)
{
    (void)state;
    uint8_t pixel[3] = {0};
    assert_fails(eg_png_save("/nonexistent/a.png", &(eg_image){1, 1, 3, pixel}), EG_ENOENT,
                 "/nonexistent/a.png");
}

static void test_huge_png_is_refused_before_it_is_unpacked(void **state)
{
    (void)state;
    /* A header of 100000 x 100000 grey pixels, with the checksum that belongs to it. */
    uint8_t head[33] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0,    0,    13, 'I',
                        'H',  'D', 'R', 0,   1,    0x86, 0xa0, 0,    1, 0x86, 0xa0, 8};
    uint32_t crc = eg_gz_crc32(head + 12, 17);
    for (int i = 0; i < 4; i++)
        head[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
    uint8_t bytes[64] = {0};
    memcpy(bytes, head, 33);
    memcpy(bytes + 33, "\0\0\0\0IDAT\x35\xaf\x06\x1e", 12);
    eg_image im;
    assert_fails(eg_png_parse("huge.png", bytes, 45, &im), EG_EFORMAT,
                 "huge.png: 100000 x 100000 pixels are too many");
}

static void test_jpeg_has_the_colours_it_was_made_of(void **state)
{
    (void)state;
    size_t n;
    eg_image im;
    const char *names[] = {"colour", "progressive"}; /* 8 x 8, all of (200, 100, 50) */
    for (int k = 0; k < 2; k++) {
        char path[100];
        snprintf(path, sizeof path, "tests/fuzz/corpus/image/%s.jpg", names[k]);
        uint8_t *bytes = slurp(path, &n);
        assert_true(eg_jpeg_known(bytes, n));
        assert_ok(eg_jpeg_parse(path, bytes, n, &im));
        assert_int_equal(im.height * 100 + im.width * 10 + im.channels, 883);
        for (size_t i = 0; i < 64; i++) {
            assert_in_range(im.pixels[3 * i], 196, 204);
            assert_in_range(im.pixels[3 * i + 1], 96, 104);
            assert_in_range(im.pixels[3 * i + 2], 46, 54);
        }
        eg_image_fini(&im);
        free(bytes);
    }
}

static void test_cut_jpeg_is_refused(void **state)
{
    (void)state;
    size_t n;
    eg_image im;
    uint8_t *bytes = slurp("tests/fuzz/corpus/image/grey.jpg", &n);
    assert_ok(eg_jpeg_parse("grey.jpg", bytes, n, &im));
    assert_int_equal(im.channels, 1);
    eg_image_fini(&im);
    for (size_t cut = 0; cut < n - 6; cut++) {
        assert_int_equal(eg_jpeg_parse("cut.jpg", bytes, cut, &im), EG_EFORMAT);
        assert_non_null(strstr(eg_error(), "cut.jpg: "));
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png_reads_back_what_was_written),
        cmocka_unit_test(test_png_to_nowhere_is_an_error),
        cmocka_unit_test(test_huge_png_is_refused_before_it_is_unpacked),
        cmocka_unit_test(test_jpeg_has_the_colours_it_was_made_of),
        cmocka_unit_test(test_cut_jpeg_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
