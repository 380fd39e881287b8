/* image_test.c - pictures of every format: what is written reads back; what is damaged is
 * refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"

#include "io/image.h"

#include <jpeglib.h>
#include <webp/encode.h>

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

static void test_webp_reads_back_and_cut_is_refused(void **state)
{
    (void)state;
    enum { H = 6, W = 9 };
    uint8_t pixels[H * W * 3], *bytes = NULL;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 37);
    size_t n = WebPEncodeLosslessRGB(pixels, W, H, W * 3, &bytes);
    assert_true(n > 0);
    eg_image im;
    assert_ok(eg_image_parse("a.webp", bytes, n, &im));
    assert_int_equal(im.height * 100 + im.width * 10 + im.channels, 693);
    assert_memory_equal(im.pixels, pixels, sizeof pixels);
    eg_image_fini(&im);
    for (size_t cut = 12; cut < n; cut++) {
        uint8_t *exact = malloc(cut);
        memcpy(exact, bytes, cut);
        assert_fails(eg_image_parse("cut.webp", exact, cut, &im), EG_EFORMAT,
                     "cut.webp: the WebP is cut short");
        assert_null(im.pixels);
        free(exact);
    }
    WebPFree(bytes);
}

/* A BMP of 3 x 2: a row of (1, 2, 3) (4, 5, 6) (7, 8, 9) above one of (200, 100, 50). */
static size_t make_bmp(uint8_t *out, int bits, bool from_top)
{
    static const uint8_t rgb[2][3][3] = {{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}},
                                         {{200, 100, 50}, {200, 100, 50}, {200, 100, 50}}};
    size_t colours = bits == 8 ? 4 : 0, at = 54 + 4 * colours;
    size_t stride = ((size_t)bits * 3 + 31) / 32 * 4;
    memset(out, 0, at + 2 * stride);
    memcpy(out, "BM", 2);
    out[10] = (uint8_t)at, out[14] = 40, out[18] = 3, out[22] = 2, out[28] = (uint8_t)bits;
    if (from_top)
        memset(out + 22, 0xff, 4), out[22] = 0xfe;
    out[46] = (uint8_t)colours;
    for (size_t k = 0; k < colours; k++)
        for (size_t c = 0; c < 3; c++)
            out[54 + 4 * k + c] = (k < 3 ? rgb[0][k] : rgb[1][0])[2 - c];
    for (size_t y = 0; y < 2; y++)
        for (size_t x = 0; x < 3; x++) {
            uint8_t *row = out + at + (from_top ? y : 1 - y) * stride;
            if (bits == 8)
                row[x] = (uint8_t)(y ? 3 : x);
            for (size_t c = 0; bits > 8 && c < 3; c++)
                row[x * (size_t)bits / 8 + c] = rgb[y][x][2 - c];
        }
    return at + 2 * stride;
}

static void test_bmp_of_every_depth_is_read(void **state)
{
    (void)state;
    static const uint8_t want[] = {1,   2,   3,  4,   5,   6,  7,   8,   9,
                                   200, 100, 50, 200, 100, 50, 200, 100, 50};
    uint8_t file[200];
    eg_image im;
    for (int k = 0; k < 6; k++) {
        size_t n = make_bmp(file, k % 3 == 0 ? 8 : k % 3 == 1 ? 24 : 32, k > 2);
        assert_ok(eg_image_parse("a.bmp", file, n, &im));
        assert_int_equal(im.height * 100 + im.width * 10 + im.channels, 233);
        assert_memory_equal(im.pixels, want, sizeof want);
        eg_image_fini(&im);
        for (size_t cut = 18; cut < n; cut++)
            assert_fails(eg_image_parse("cut.bmp", file, cut, &im), EG_EFORMAT, "cut.bmp: the");
    }
    make_bmp(file, 8, false);
    file[54 + 16] = 9;
    assert_fails(eg_image_parse("a.bmp", file, 200, &im), EG_EFORMAT, "beyond its palette");
    file[30] = 1;
    assert_fails(eg_image_parse("a.bmp", file, 200, &im), EG_ENOTSUP, "compressed");
    file[30] = 0, file[28] = 16;
    assert_fails(eg_image_parse("a.bmp", file, 200, &im), EG_ENOTSUP, "16 bits");
    file[28] = 24, file[21] = 0x7f;
    assert_fails(eg_image_parse("a.bmp", file, 200, &im), EG_EFORMAT, "pixels");
}

/* An 8 x 8 JPEG of one printing colour; adobe: marked, and so inverted. */
static size_t make_inks(const uint8_t ink[4], bool adobe, uint8_t **out)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned long n = 0;
    uint8_t row[8 * 4];
    JSAMPROW at = row;
    *out = NULL;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, out, &n);
    c.image_width = c.image_height = 8;
    c.input_components = 4;
    c.in_color_space = JCS_CMYK;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 100, TRUE);
    c.write_Adobe_marker = adobe;
    for (size_t i = 0; i < sizeof row; i++)
        row[i] = adobe ? (uint8_t)(255 - ink[i % 4]) : ink[i % 4];
    jpeg_start_compress(&c, TRUE);
    for (int y = 0; y < 8; y++)
        jpeg_write_scanlines(&c, &at, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return n;
}

static void test_printing_colours_become_rgb(void **state)
{
    (void)state;
    static const uint8_t ink[4] = {0, 128, 255, 51}; /* 204, 102, 0 */
    for (int adobe = 0; adobe < 2; adobe++) {
        uint8_t *bytes;
        eg_image im;
        size_t n = make_inks(ink, adobe, &bytes);
        assert_ok(eg_image_parse("inks.jpg", bytes, n, &im));
        assert_int_equal(im.height * 100 + im.width * 10 + im.channels, 883);
        for (size_t i = 0; i < 64; i++) {
            assert_in_range(im.pixels[3 * i], 202, 206);
            assert_in_range(im.pixels[3 * i + 1], 100, 104);
            assert_in_range(im.pixels[3 * i + 2], 0, 2);
        }
        eg_image_fini(&im);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png_reads_back_what_was_written),
        cmocka_unit_test(test_png_to_nowhere_is_an_error),
        cmocka_unit_test(test_huge_png_is_refused_before_it_is_unpacked),
        cmocka_unit_test(test_jpeg_has_the_colours_it_was_made_of),
        cmocka_unit_test(test_cut_jpeg_is_refused),
        cmocka_unit_test(test_webp_reads_back_and_cut_is_refused),
        cmocka_unit_test(test_bmp_of_every_depth_is_read),
        cmocka_unit_test(test_printing_colours_become_rgb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
