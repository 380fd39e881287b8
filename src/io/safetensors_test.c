/* safetensors_test.c - the format byte by byte, round trips, and every way a file can lie.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/safetensors.h>
#include <stdlib.h>
#include <unistd.h>

/* Length, header and n_data zero bytes. The caller frees. */
static unsigned char *file_of(const char *header, size_t n_data, size_t *n)
{
    size_t length = strlen(header);
    unsigned char *bytes = calloc(1, 8 + length + n_data);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(length >> 8 * i);
    memcpy(bytes + 8, header, length);
    *n = 8 + length + n_data;
    return bytes;
}

static void expect_refusal(const char *header, size_t n_data, eg_status code, const char *words)
{
    size_t n;
    eg_tensors *t;
    unsigned char *bytes = file_of(header, n_data, &n);
    assert_fails(eg_safetensors_parse(bytes, n, &t), code, words);
    assert_non_null(strstr(eg_error(), "safetensors: "));
    assert_null(t);
    free(bytes);
}

static void test_a_file_spelled_out_by_the_format_is_read(void **state)
{
    (void)state;
    static const char bytes[] =
        "\x70\0\0\0\0\0\0\0" /* 112 bytes of header */
        "{\"b\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[8,16]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}"
        "   "
        "\0\0\x80\x3f\0\0\x20\xc0" /* 1, -2.5 */
        "\x07\0\0\0\0\0\0\0";
    eg_tensors *t;
    float x[2], counter;
    assert_int_equal(sizeof bytes - 1, 8 + 112 + 16);
    assert_ok(eg_safetensors_parse(bytes, sizeof bytes - 1, &t));
    assert_int_equal(eg_tensors_count(t), 2);
    const eg_stored *a = eg_tensors_at(t, 0); /* by place, not by header */
    assert_string_equal(a->name, "a");
    assert_string_equal(eg_stored_type_text(a->type), "F32");
    assert_int_equal(a->rank, 2);
    assert_int_equal(a->dims[0], 1);
    assert_int_equal(a->dims[1], 2);
    assert_int_equal(a->n_bytes, 8);
    assert_ptr_equal(a->bytes, bytes + 120);
    assert_ptr_equal(eg_tensors_find(t, "b"), eg_tensors_at(t, 1));
    assert_null(eg_tensors_find(t, "c"));
    assert_ok(eg_tensors_read(t, "a", 2, (const int64_t[]){1, 2}, x));
    assert_near(x[0], 1, 0);
    assert_near(x[1], -2.5, 0);
    assert_ok(eg_tensors_read(t, "b", 0, NULL, &counter));
    assert_near(counter, 7, 0);
    assert_ok(eg_tensors_check_finite(t));
    eg_tensors_free(t);
    eg_tensors_free(NULL);
}

static void test_the_writer_spells_the_format_out(void **state)
{
    (void)state;
    static const char expected[] =
        "\x90\0\0\0\0\0\0\0"
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
        "\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}      "
        "\x07\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\x20\xc0";
    const int64_t seven = 7;
    const float w[] = {1, -2.5f};
    const eg_stored tensors[] = {
        {.name = "w", .type = EG_STORED_F32, .rank = 1, .dims = {2}, .bytes = w},
        {.name = "n", .type = EG_STORED_I64, .bytes = &seven}, /* 8-byte elements come first */
    };
    for (int again = 0; again < 2; again++) {
        unsigned char *bytes;
        size_t n;
        assert_ok(
            eg_safetensors_pack(tensors, 2, &(eg_stored_note){"format", "pt"}, 1, &bytes, &n));
        assert_int_equal(n, sizeof expected - 1);
        assert_memory_equal(bytes, expected, n);
        free(bytes);
    }
}

static void test_files_round_trip(void **state)
{
    (void)state;
    char path[] = "/tmp/engram_st_XXXXXX";
    close(mkstemp(path));
    float big[60];
    const unsigned char small[3] = {1, 2, 3};
    for (int i = 0; i < 60; i++)
        big[i] = (float)i / 7;
    const eg_stored tensors[] = {
        {.name = "mask", .type = EG_STORED_U8, .rank = 1, .dims = {3}, .bytes = small},
        {.name = "empty", .type = EG_STORED_F32, .rank = 2, .dims = {0, 5}},
        {.name = "conv1.weight",
         .type = EG_STORED_F32,
         .rank = 4,
         .dims = {3, 4, 5, 1},
         .bytes = big},
        {.name = "none", .type = EG_STORED_F64, .rank = 1, .dims = {0}},
    };
    const eg_stored_note notes[] = {{"z", "last \"first\""}, {"a", ""}};
    eg_tensors *t;
    float back[60];
    assert_ok(eg_safetensors_save(path, tensors, 4, notes, 2));
    assert_ok(eg_safetensors_load(path, &t));
    assert_int_equal(eg_tensors_count(t), 4);
    for (size_t i = 0; i < 4; i++) {
        const eg_stored *s = eg_tensors_find(t, tensors[i].name);
        assert_non_null(s);
        assert_int_equal(s->type, tensors[i].type);
        assert_int_equal(s->rank, tensors[i].rank);
        assert_memory_equal(s->dims, tensors[i].dims, sizeof s->dims);
    }
    assert_memory_equal(eg_tensors_find(t, "mask")->bytes, small, 3);
    assert_ok(eg_tensors_read(t, "conv1.weight", 4, tensors[2].dims, back));
    assert_memory_equal(back, big, sizeof big);
    assert_ok(eg_tensors_read(t, "empty", 2, tensors[1].dims, back));
    assert_string_equal(eg_tensors_note(t, "z"), "last \"first\"");
    assert_string_equal(eg_tensors_note(t, "a"), "");
    assert_null(eg_tensors_note(t, "b"));
    eg_stored_note note = {0};
    assert_true(eg_tensors_next_note(t, &note));
    assert_string_equal(note.key, "z");
    assert_true(eg_tensors_next_note(t, &note));
    assert_string_equal(note.key, "a");
    assert_false(eg_tensors_next_note(t, &note));
    eg_tensors_free(t);
    unlink(path);
}

static void test_a_file_without_tensors_is_fine(void **state)
{
    (void)state;
    eg_tensors *t;
    unsigned char *bytes;
    size_t n;
    assert_ok(eg_safetensors_pack(NULL, 0, NULL, 0, &bytes, &n));
    assert_memory_equal(bytes, "\x08\0\0\0\0\0\0\0{}      ", n);
    assert_ok(eg_safetensors_parse(bytes, n, &t));
    assert_int_equal(eg_tensors_count(t), 0);
    assert_null(eg_tensors_note(t, "x"));
    assert_false(eg_tensors_next_note(t, &(eg_stored_note){0}));
    eg_tensors_free(t);
    free(bytes);
}

static void test_a_lying_header_length_is_refused(void **state)
{
    (void)state;
    unsigned char bytes[120] = {0x84, 3, 0, 0, 0, 0, 0, 0, '{'}; /* 900 */
    eg_tensors *t;
    assert_fails(eg_safetensors_parse(bytes, 120, &t), EG_EFORMAT,
                 "header says 900 bytes, the file has 120");
    assert_fails(eg_safetensors_parse(bytes, 7, &t), EG_EFORMAT,
                 "7 bytes are too few for the length of a header");
    assert_fails(eg_safetensors_parse(bytes, 0, &t), EG_EFORMAT, "0 bytes are too few");
    memset(bytes, 0xff, 8);
    assert_fails(eg_safetensors_parse(bytes, 120, &t), EG_EFORMAT,
                 "header says 18446744073709551615 bytes, the file has 120");
    memset(bytes, 0, 9);
    assert_fails(eg_safetensors_parse(bytes, 120, &t), EG_EFORMAT, "does not begin with '{'");
}

static void test_another_kind_of_file_is_told_as_such(void **state)
{
    (void)state;
    const char *text = "name: experiment\nruns: []\n";
    eg_tensors *t;
    assert_fails(eg_safetensors_parse((const unsigned char *)text, strlen(text), &t),
                 EG_EFORMAT, "this is no safetensors file");
    assert_fails(eg_safetensors_parse((const unsigned char *)text, 8, &t), EG_EFORMAT,
                 "this is no safetensors file");
}

static void test_a_header_above_the_cap_is_refused(void **state)
{
    (void)state;
    size_t n = 8 + 100000008;
    unsigned char *bytes = calloc(1, n);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((n - 8) >> 8 * i);
    eg_tensors *t;
    assert_fails(eg_safetensors_parse(bytes, n, &t), EG_EFORMAT,
                 "header says 100000008 bytes, more than 100000000");
    free(bytes);
}

static void test_a_malformed_header_is_refused(void **state)
{
    (void)state;
    expect_refusal(" {}", 0, EG_EFORMAT, "header does not begin with '{'");
    expect_refusal("{", 0, EG_EFORMAT, "header: line 1, column 1: ");
    expect_refusal("{} x", 0, EG_EFORMAT, "end of file expected");
    expect_refusal("{\"__metadata__\": 3}", 0, EG_EFORMAT,
                   "__metadata__: an integer, not an object");
    expect_refusal("{\"__metadata__\": {\"a\": 3}}", 0, EG_EFORMAT,
                   "__metadata__: 'a': an integer, not a text");
    expect_refusal("{\"a\": 3}", 0, EG_EFORMAT, "tensor 'a': an integer, not an object");
    expect_refusal("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                   "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                   2, EG_EFORMAT, "duplicate object key");
}

/* A header with one tensor, w. */
#define ONE(dtype, shape, offsets)                                                             \
    "{\"w\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void test_a_malformed_tensor_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *header;
        size_t n_data;
        eg_status code;
        const char *words;
    } bad[] = {
        {"{\"w\":{\"shape\":[],\"data_offsets\":[0,4]}}", 4, EG_EFORMAT, "'dtype' is missing"},
        {"{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, EG_EFORMAT,
         "'shape' is missing"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[]}}", 4, EG_EFORMAT,
         "'data_offsets' is missing"},
        {ONE("4", "[]", "[0,4]"), 4, EG_EFORMAT, "'dtype': an integer, not a text"},
        {ONE("\"F31\"", "[]", "[0,4]"), 4, EG_ENOTSUP, "dtype 'F31' is not known"},
        {ONE("\"F32\"", "1", "[0,4]"), 4, EG_EFORMAT, "'shape': an integer, not an array"},
        {ONE("\"F32\"", "[1.5]", "[0,4]"), 4, EG_EFORMAT, "'shape': a number, not an integer"},
        {ONE("\"F32\"", "[-1]", "[0,4]"), 4, EG_EFORMAT, "'shape' has -1 in it"},
        {ONE("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, EG_ENOTSUP,
         "'shape' has 9 numbers"},
        {ONE("\"F32\"", "[4294967296,4294967296]", "[0,4]"), 4, EG_EFORMAT,
         "than memory can hold"},
        {ONE("\"F32\"", "[4611686018427387905]", "[0,4]"), 4, EG_EFORMAT,
         "than memory can hold"},
        {ONE("\"F32\"", "[1]", "[0]"), 4, EG_EFORMAT, "'data_offsets' has 1 numbers, not 2"},
        {ONE("\"F32\"", "[1]", "[0,4,8]"), 4, EG_ENOTSUP, "'data_offsets' has 3 numbers"},
        {ONE("\"F32\"", "[1]", "[-4,0]"), 4, EG_EFORMAT, "'data_offsets' has -4 in it"},
        {ONE("\"F32\"", "[1]", "[0,900]"), 4, EG_EFORMAT,
         "ends at byte 900 of the data, which has 4"},
        {ONE("\"F32\"", "[1]", "[4,0]"), 4, EG_EFORMAT, "begins at byte 4 and ends at 0"},
        {ONE("\"F32\"", "[2]", "[0,4]"), 4, EG_EFORMAT,
         "its shape makes 8 bytes, its offsets 4"},
        {ONE("\"F16\"", "[1]", "[0,4]"), 4, EG_EFORMAT,
         "its shape makes 2 bytes, its offsets 4"},
        {ONE("\"F32\"", "[1]", "[4,8]"), 8, EG_EFORMAT,
         "bytes 0 to 4 before it are no tensor's"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        expect_refusal(bad[i].header, bad[i].n_data, bad[i].code, bad[i].words);
        assert_non_null(strstr(eg_error(), "tensor 'w': "));
    }
}

static void test_holes_overlaps_and_leftovers_are_refused(void **state)
{
    (void)state;
#define TWO(a, b)                                                                              \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" a "},"                          \
    "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" b "}}"
    expect_refusal(TWO("[0,4]", "[2,6]"), 6, EG_EFORMAT, "tensor 'b': overlaps tensor 'a'");
    expect_refusal(TWO("[0,4]", "[0,4]"), 4, EG_EFORMAT, "tensor 'b': overlaps tensor 'a'");
    expect_refusal(TWO("[5,9]", "[0,4]"), 9, EG_EFORMAT,
                   "tensor 'a': bytes 4 to 5 before it are no tensor's");
    expect_refusal(TWO("[0,4]", "[4,8]"), 9, EG_EFORMAT,
                   "the tensors end at byte 8 of the data, which has 9");
    expect_refusal("{}", 1, EG_EFORMAT, "the tensors end at byte 0 of the data, which has 1");
}

static void test_hostile_names_do_not_reach_the_terminal(void **state)
{
    (void)state;
    expect_refusal("{\"\\u001b[2Jx\\n\": 3}", 0, EG_EFORMAT, "tensor '?[2Jx?': ");
}

static void test_reading_checks_name_shape_and_type(void **state)
{
    (void)state;
    size_t n;
    unsigned char *bytes =
        file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                "\"h\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[24,28]},"
                "\"n\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[28,44]}}",
                44, &n);
    eg_tensors *t;
    float x[6];
    const int64_t dims[EG_STORED_RANK] = {3, 2};
    assert_ok(eg_safetensors_parse(bytes, n, &t));
    assert_fails(eg_tensors_read(t, "b", 2, dims, x), EG_ENOENT, "there is no tensor 'b'");
    assert_fails(eg_tensors_read(t, "a", 2, dims, x), EG_ESHAPE,
                 "safetensors: tensor 'a': it is [2, 3], not [3, 2]");
    assert_fails(eg_tensors_read(t, "a", 0, NULL, x), EG_ESHAPE, "it is [2, 3], not []");
    assert_fails(eg_tensors_read(t, "h", 1, dims + 1, x), EG_ENOTSUP,
                 "it holds F16, and only F32 can be read as floats");
    assert_fails(eg_tensors_read(t, "n", 1, dims + 1, x), EG_ENOTSUP, "it holds I64");
    eg_tensors_free(t);
    free(bytes);
}

static void test_long_shapes_print_cut_short(void **state)
{
    (void)state;
    size_t n;
    unsigned char *bytes = file_of(ONE("\"U8\"", "[0]", "[0,0]"), 0, &n);
    int64_t dims[EG_STORED_RANK];
    float x;
    for (int i = 0; i < EG_STORED_RANK; i++)
        dims[i] = INT64_MAX;
    eg_tensors *t;
    assert_ok(eg_safetensors_parse(bytes, n, &t));
    assert_fails(eg_tensors_read(t, "w", EG_STORED_RANK, dims, &x), EG_ESHAPE, "...]");
    eg_tensors_free(t);
    free(bytes);
}

static void test_weights_that_are_not_finite_are_found(void **state)
{
    (void)state;
    float w[3] = {1, 2, NAN};
    const eg_stored stored = {
        .name = "fc.weight", .type = EG_STORED_F32, .rank = 1, .dims = {3}, .bytes = w};
    char path[] = "/tmp/engram_st_XXXXXX";
    close(mkstemp(path));
    eg_tensors *t;
    assert_ok(eg_safetensors_save(path, &stored, 1, NULL, 0));
    assert_ok(eg_safetensors_load(path, &t));
    assert_fails(eg_tensors_check_finite(t), EG_EINVAL, "tensor 'fc.weight': element 2 is ");
    assert_non_null(strstr(eg_error(), path));
    eg_tensors_free(t);
    unlink(path);
    assert_fails(eg_safetensors_load(path, &t), EG_ENOENT, path);
}

static void test_what_cannot_be_stored_is_refused(void **state)
{
    (void)state;
    const float x[2] = {0};
    unsigned char *bytes;
    size_t n;
    eg_stored two[2] = {{.name = "a", .bytes = x}, {.name = "a", .bytes = x}};
    const eg_stored_note notes[] = {{"k", "1"}, {"k", "2"}};
    assert_fails(eg_safetensors_pack(two, 2, NULL, 0, &bytes, &n), EG_EINVAL,
                 "tensor 'a': the name is there twice");
    assert_null(bytes);
    assert_fails(eg_safetensors_pack(two, 1, notes, 2, &bytes, &n), EG_EINVAL,
                 "note 'k' is there twice");
    two[0].name = "__metadata__";
    assert_fails(eg_safetensors_pack(two, 1, NULL, 0, &bytes, &n), EG_EINVAL,
                 "no tensor may have this name");
    two[0].name = "\xff";
    assert_fails(eg_safetensors_pack(two, 1, NULL, 0, &bytes, &n), EG_EINVAL, "not UTF-8");
    two[0] = (eg_stored){.name = "a", .rank = 1, .dims = {-2}};
    assert_fails(eg_safetensors_pack(two, 1, NULL, 0, &bytes, &n), EG_ESHAPE,
                 "dimension 0 is -2");
    two[0].rank = 9;
    assert_fails(eg_safetensors_pack(two, 1, NULL, 0, &bytes, &n), EG_ENOTSUP,
                 "rank 9, more than 8");
    two[0].rank = 1;
    two[0].dims[0] = INT64_MAX;
    assert_fails(eg_safetensors_save("/tmp/never", two, 1, NULL, 0), EG_ESHAPE,
                 "/tmp/never: tensor 'a': the shape has more elements than memory can hold");
    assert_int_equal(access("/tmp/never", F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_spelled_out_by_the_format_is_read),
        cmocka_unit_test(test_the_writer_spells_the_format_out),
        cmocka_unit_test(test_files_round_trip),
        cmocka_unit_test(test_a_file_without_tensors_is_fine),
        cmocka_unit_test(test_a_lying_header_length_is_refused),
        cmocka_unit_test(test_another_kind_of_file_is_told_as_such),
        cmocka_unit_test(test_a_header_above_the_cap_is_refused),
        cmocka_unit_test(test_a_malformed_header_is_refused),
        cmocka_unit_test(test_a_malformed_tensor_is_refused),
        cmocka_unit_test(test_holes_overlaps_and_leftovers_are_refused),
        cmocka_unit_test(test_hostile_names_do_not_reach_the_terminal),
        cmocka_unit_test(test_reading_checks_name_shape_and_type),
        cmocka_unit_test(test_long_shapes_print_cut_short),
        cmocka_unit_test(test_weights_that_are_not_finite_are_found),
        cmocka_unit_test(test_what_cannot_be_stored_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
