/* bundle_test.c - bundles, their byte form and what is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/exchange.h>
#include <engram/safetensors.h>

#include <stdio.h>
#include <stdlib.h>

static eg_bundle *bundle(void)
{
    eg_bundle *b;
    assert_ok(eg_bundle_new(&b));
    return b;
}

/* Two tensors and two scalars, not in the order of their names. */
static eg_bundle *sample(void)
{
    static const float w[6] = {1, -2, 3e-40f, 4, -0.0f, 6}, v[3] = {7, 8, 9};
    eg_bundle *b = bundle();
    assert_ok(eg_bundle_add(b, "w", eg_dims(2, 3), w));
    assert_ok(eg_bundle_scalar(b, "samples", 600));
    assert_ok(eg_bundle_add_flat(b, "b", v, 3));
    assert_ok(eg_bundle_scalar(b, "loss", 0.1));
    return b;
}

static void assert_same(const eg_bundle *a, const eg_bundle *b)
{
    assert_int_equal(eg_bundle_n(a), eg_bundle_n(b));
    for (size_t i = 0; i < eg_bundle_n(a); i++) {
        eg_bundle_entry x, y;
        eg_bundle_at(a, i, &x);
        eg_bundle_at(b, i, &y);
        assert_string_equal(x.name, y.name);
        assert_int_equal(x.is_scalar, y.is_scalar);
        assert_memory_equal(&x.scalar, &y.scalar, sizeof x.scalar);
        assert_true(x.is_scalar || eg_shape_equal(x.shape, y.shape));
        assert_int_equal(x.n, y.n);
        assert_int_equal(x.type, y.type);
        if (x.n > 0)
            assert_memory_equal(x.bytes, y.bytes, x.n * (x.type == EG_BUNDLE_U8 ? 1 : 4));
    }
}

/* Bytes and back, and bytes again; the size is the one that was promised. */
static void assert_round_trip(const eg_bundle *b)
{
    unsigned char *bytes, *again;
    size_t n, n_again;
    eg_bundle *back;
    assert_ok(eg_bundle_pack(b, &bytes, &n));
    assert_int_equal(n, eg_bundle_bytes(b));
    assert_ok(eg_bundle_unpack(bytes, n, &back));
    assert_same(b, back);
    assert_ok(eg_bundle_pack(back, &again, &n_again));
    assert_int_equal(n, n_again);
    assert_memory_equal(bytes, again, n);
    free(bytes);
    free(again);
    eg_bundle_free(back);
}

static void test_bundle_finds_what_was_added(void **state)
{
    (void)state;
    eg_bundle *b = sample();
    size_t n;
    double x;
    const float *w = eg_bundle_find(b, "w", &n);
    assert_int_equal(n, 6);
    assert_true(w[3] == 4);
    assert_true(eg_bundle_scalar_of(b, "samples", &x));
    assert_true(x == 600);
    assert_null(eg_bundle_find(b, "samples", &n));
    assert_int_equal(n, 0);
    assert_false(eg_bundle_scalar_of(b, "w", &x));
    float *room;
    assert_ok(eg_bundle_room(b, "room", eg_dims(2, 2), &room));
    room[3] = 5;
    assert_ptr_equal(room, eg_bundle_find(b, "room", NULL));
    assert_true(w == eg_bundle_find(b, "w", NULL));
    eg_bundle_free(b);
}

static void test_names_are_checked(void **state)
{
    (void)state;
    eg_bundle *b = sample();
    char name[256];
    memset(name, 'x', sizeof name);
    name[201] = 0;
    assert_fails(eg_bundle_scalar(b, "w", 1), EG_EINVAL, "'w' is in the bundle already");
    assert_fails(eg_bundle_add_flat(b, "loss", NULL, 0), EG_EINVAL, "already");
    assert_fails(eg_bundle_scalar(b, "", 1), EG_EINVAL, "no name");
    assert_fails(eg_bundle_scalar(b, "a\"b", 1), EG_EINVAL, "no name");
    assert_fails(eg_bundle_scalar(b, "a\nb", 1), EG_EINVAL, "no name");
    assert_fails(eg_bundle_scalar(b, "__metadata__", 1), EG_EINVAL, "no name");
    assert_fails(eg_bundle_scalar(b, name, 1), EG_EINVAL, "no name");
    assert_fails(eg_bundle_add(b, "c", eg_dims(2, -1), NULL), EG_ESHAPE, "tensor 'c'");
    assert_fails(eg_bundle_add(b, "c", eg_dims(INT64_MAX, 9), NULL), EG_ESHAPE, "tensor 'c'");
    name[200] = 0;
    assert_ok(eg_bundle_scalar(b, name, 1));
    assert_int_equal(eg_bundle_n(b), 5); /* nothing of a failure stays */
    assert_round_trip(b);
    eg_bundle_free(b);
}

static void test_bytes_and_back_gives_the_same_bits(void **state)
{
    (void)state;
    eg_bundle *b = bundle();
    assert_round_trip(b);
    assert_ok(eg_bundle_scalar(b, "nan", NAN));
    assert_round_trip(b);
    eg_bundle_free(b);
    b = sample();
    assert_ok(eg_bundle_add(b, "point", eg_scalar(), &(float){INFINITY}));
    assert_round_trip(b);
    assert_ok(eg_bundle_add(b, "z", eg_dims(0, 4), NULL)); /* empty, and not in alphabetical */
    assert_ok(eg_bundle_add(b, "a", eg_dims(0), NULL));    /* order */
    assert_ok(eg_bundle_add(b, "end", eg_dims(1, 1, 1, 1, 1, 1), &(float){1}));
    assert_round_trip(b);
    eg_bundle_free(b);
}

static void test_size_is_exact_for_any_length(void **state)
{
    (void)state;
    eg_bundle *b = bundle();
    float *values = calloc(4000, sizeof *values);
    for (size_t i = 0; i < 60; i++) { /* digits of sizes and offsets grow on the way */
        char name[40];
        snprintf(name, sizeof name, "layer.%zu", i * i * i);
        assert_ok(eg_bundle_add(b, name, eg_dims((int64_t)(i % 3), (int64_t)(i * 20)), values));
        assert_round_trip(b);
    }
    free(values);
    eg_bundle_free(b);
}

static void test_cleared_bundle_is_as_new(void **state)
{
    (void)state;
    eg_bundle *b = sample(), *fresh = sample();
    const float *before = eg_bundle_find(b, "w", NULL);
    eg_bundle_clear(b);
    assert_int_equal(eg_bundle_n(b), 0);
    assert_null(eg_bundle_find(b, "w", NULL));
    float *room;
    assert_ok(eg_bundle_room(b, "w", eg_dims(2, 3), &room));
    assert_ptr_equal(room, before); /* no new memory */
    for (size_t i = 0; i < 6; i++)
        assert_true(room[i] == 0);
    eg_bundle_clear(b);
    assert_ok(eg_bundle_scalar(b, "other", 1));
    assert_ok(eg_bundle_add(b, "longer", eg_dims(10), (float[10]){0}));
    assert_round_trip(b);
    assert_round_trip(fresh);
    eg_bundle_free(b);
    eg_bundle_free(fresh);
}

static void test_what_is_no_bundle_is_refused(void **state)
{
    (void)state;
    const int64_t counter = 3;
    const double pair[2] = {1, 2};
    const eg_stored bad[] = {
        {.name = "counter", .type = EG_STORED_I64, .bytes = &counter},
        {.name = "pair", .type = EG_STORED_F64, .rank = 1, .dims = {2}, .bytes = pair},
        {.name = "deep",
         .type = EG_STORED_F32,
         .rank = 7,
         .dims = {1, 1, 1, 1, 1, 1, 1},
         .bytes = pair},
        {.name = "na\nme", .type = EG_STORED_F64, .bytes = pair},
    };
    eg_bundle *b;
    unsigned char *bytes;
    size_t n;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_ok(eg_safetensors_pack(&bad[i], 1, NULL, 0, &bytes, &n));
        assert_int_equal(eg_bundle_unpack(bytes, n, &b), EG_EFORMAT);
        assert_null(b);
        free(bytes);
    }
    assert_fails(eg_bundle_unpack("short", 5, &b), EG_EFORMAT, "too few");
    eg_bundle *good = sample();
    assert_ok(eg_bundle_pack(good, &bytes, &n));
    for (size_t cut = 0; cut < n; cut++)
        assert_int_equal(eg_bundle_unpack(bytes, cut, &b), EG_EFORMAT);
    free(bytes);
    eg_bundle_free(good);
}

static void test_check_says_what_is_wrong(void **state)
{
    (void)state;
    eg_bundle *like = sample(), *b = bundle();
    float delta[8] = {0};
    assert_ok(eg_bundle_check(like, like));
    assert_fails(eg_bundle_check(b, like), EG_ENOENT, "scalar 'samples' is missing");
    assert_ok(eg_bundle_scalar(b, "samples", 1));
    assert_ok(eg_bundle_scalar(b, "loss", 1));
    assert_fails(eg_bundle_check(b, like), EG_ENOENT, "tensor 'w' is missing");
    assert_ok(eg_bundle_add(b, "w", eg_dims(3, 2), delta));
    assert_fails(eg_bundle_check(b, like), EG_ESHAPE, "tensor 'w': [3, 2], not [2, 3]");
    eg_bundle_free(b);
    b = sample();
    delta[7] = NAN;
    assert_ok(eg_bundle_add_flat(b, "delta", delta, 8));
    assert_fails(eg_bundle_check(b, like), EG_EINVAL, "tensor 'delta': element 7 is NaN");
    eg_bundle_free(b);
    b = sample();
    delta[7] = -INFINITY;
    assert_ok(eg_bundle_add_flat(b, "delta", delta, 8));
    assert_fails(eg_bundle_check(b, like), EG_EINVAL, "element 7 is infinite");
    eg_bundle_free(b);
    b = sample();
    assert_ok(eg_bundle_scalar(b, "norm", INFINITY));
    assert_fails(eg_bundle_check(b, like), EG_EINVAL, "scalar 'norm' is infinite");
    eg_bundle_free(b);
    eg_bundle_free(like);
}

static void test_what_is_needed_is_there_in_its_length_and_bounds(void **state)
{
    (void)state;
    const float counts[3] = {0, 7, 2.5f};
    const float *out;
    int64_t n;
    eg_bundle *b = sample();
    assert_ok(eg_bundle_need(b, "w", 6, &out));
    assert_near(out[1], -2, 0);
    assert_fails(eg_bundle_need(b, "w", 5, &out), EG_ESHAPE, "tensor 'w': 6 values, not 5");
    assert_fails(eg_bundle_need(b, "x", 6, &out), EG_ENOENT, "tensor 'x' is missing");
    assert_fails(eg_bundle_need(b, "loss", 1, &out), EG_ENOENT, "tensor 'loss' is missing");
    assert_ok(eg_bundle_need_counts(b, "b", 3, 9, &out));
    assert_fails(eg_bundle_need_counts(b, "b", 3, 8, &out), EG_EINVAL,
                 "tensor 'b': element 2 is 9, not a whole number from 0 to 8");
    assert_ok(eg_bundle_add_flat(b, "c", counts, 3));
    assert_fails(eg_bundle_need_counts(b, "c", 3, 9, &out), EG_EINVAL, "element 2 is 2.5");
    assert_ok(eg_bundle_need_count(b, "samples", 600, &n));
    assert_int_equal(n, 600);
    assert_fails(eg_bundle_need_count(b, "samples", 599, &n), EG_EINVAL, "600 is not");
    assert_fails(eg_bundle_need_count(b, "loss", 599, &n), EG_EINVAL, "0.1 is not");
    assert_fails(eg_bundle_need_count(b, "w", 9, &n), EG_ENOENT, "scalar 'w' is missing");
    eg_bundle_free(b);
}

static void test_a_bundle_rests_on_another(void **state)
{
    (void)state;
    const float all = 1, own = 2;
    eg_bundle *below, *b;
    assert_ok(eg_bundle_new(&below));
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_add_flat(below, "param", &all, 1));
    assert_null(eg_bundle_below(b));
    eg_bundle_rest_on(b, below);
    assert_true(*eg_bundle_find(b, "param", NULL) == all);
    assert_ok(eg_bundle_add_flat(b, "param", &own, 1));
    assert_true(*eg_bundle_find(b, "param", NULL) == own);
    assert_true(*eg_bundle_find(eg_bundle_below(b), "param", NULL) == all);
    assert_int_equal(eg_bundle_n(b), 1);
    eg_bundle_free(b);
    eg_bundle_free(below);
}

static void test_entries_are_copied_by_their_prefix(void **state)
{
    (void)state;
    const float values[] = {1, 2, 3, 4};
    size_t n;
    double is;
    eg_bundle *from, *to;
    assert_ok(eg_bundle_new(&from));
    assert_ok(eg_bundle_new(&to));
    assert_ok(eg_bundle_add(from, "now.param", eg_dims(2, 2), values));
    assert_ok(eg_bundle_add(from, "now", eg_dims(4), values));
    assert_ok(eg_bundle_scalar(from, "now.round", 7));
    assert_ok(eg_bundle_scalar(from, "last.round", 6));
    assert_ok(eg_bundle_copy(to, from, "now."));
    assert_int_equal(eg_bundle_n(to), 2);
    assert_memory_equal(eg_bundle_find(to, "now.param", &n), values, sizeof values);
    assert_int_equal(n, 4);
    assert_true(eg_bundle_scalar_of(to, "now.round", &is) && is == 7);
    assert_int_equal(eg_bundle_copy(to, from, "now."), EG_EINVAL); /* they are there */
    eg_bundle_free(from);
    eg_bundle_free(to);
}

/* A message of n names, read and checked as a server does; the seconds it takes. */
static double read_names(int n)
{
    eg_bundle *b = bundle(), *back;
    unsigned char *bytes;
    size_t n_bytes;
    char name[32];
    double found;
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "part.figure.%d", i);
        assert_ok(eg_bundle_scalar(b, name, i));
    }
    assert_ok(eg_bundle_pack(b, &bytes, &n_bytes));
    double since = eg_seconds();
    assert_ok(eg_bundle_unpack(bytes, n_bytes, &back));
    assert_ok(eg_bundle_check(back, back));
    since = eg_seconds() - since;
    for (int i = 0; i < n; i += n / 7) {
        snprintf(name, sizeof name, "part.figure.%d", i);
        assert_true(eg_bundle_scalar_of(back, name, &found));
        assert_near(found, i, 0);
    }
    assert_false(eg_bundle_scalar_of(back, "part.figure.-1", &found));
    assert_fails(eg_bundle_scalar(back, "part.figure.0", 1), EG_EINVAL, "already");
    eg_bundle_clear(back);
    assert_ok(eg_bundle_scalar(back, "part.figure.0", 1));
    assert_true(eg_bundle_scalar_of(back, "part.figure.0", &found));
    assert_false(eg_bundle_scalar_of(back, "part.figure.1", &found));
    eg_bundle_free(back);
    eg_bundle_free(b);
    free(bytes);
    return since;
}

/* With names searched one by one eight times as many would take 64 times as long. */
static void test_many_names_are_read_in_a_time_that_grows_with_them(void **state)
{
    (void)state;
    read_names(1000);
    double few = read_names(8000), many = read_names(64000);
    assert_true(many < 30 * few);
}

/* Whole numbers and bytes stand beside floats, bytes last, and each is found as what it is. */
static void test_whole_numbers_and_bytes_go_there_and_back(void **state)
{
    (void)state;
    static const float w[2] = {1, 2};
    for (size_t n = 0; n < 9; n++) {
        eg_bundle *b = bundle(), *copy = bundle();
        void *bytes, *numbers;
        size_t found = 99;
        assert_ok(eg_bundle_room_as(b, EG_BUNDLE_U8, "bytes", eg_dims((int64_t)n), &bytes));
        for (size_t i = 0; i < n; i++)
            ((unsigned char *)bytes)[i] = (unsigned char)(250 + i);
        assert_ok(
            eg_bundle_room_as(b, EG_BUNDLE_U32, "numbers", eg_dims(1, (int64_t)n), &numbers));
        for (size_t i = 0; i < n; i++)
            ((uint32_t *)numbers)[i] =
                0xffffffffu - (uint32_t)i; /* one of them is NaN's bits */
        assert_ok(eg_bundle_add_flat(b, "w", w, 2));
        assert_ok(eg_bundle_scalar(b, "x", 3));
        assert_round_trip(b);
        assert_ok(eg_bundle_copy(copy, b, ""));
        assert_same(b, copy);
        assert_ok(eg_bundle_check(b, copy));
        assert_ptr_equal(eg_bundle_find_as(b, EG_BUNDLE_U8, "bytes", &found), bytes);
        assert_int_equal(found, n);
        assert_ptr_equal(eg_bundle_find_as(b, EG_BUNDLE_U32, "numbers", &found), numbers);
        assert_int_equal(found, n);
        assert_null(eg_bundle_find(b, "bytes", &found));
        assert_int_equal(found, 0);
        assert_null(eg_bundle_find(b, "numbers", NULL));
        assert_null(eg_bundle_find_as(b, EG_BUNDLE_U32, "w", NULL));
        assert_fails(eg_bundle_scalar(b, "bytes", 1), EG_EINVAL, "is in the bundle already");
        eg_bundle_clear(copy);
        assert_ok(eg_bundle_add_flat(copy, "numbers", w, n < 2 ? n : 2));
        assert_fails(eg_bundle_check(copy, b), EG_ENOENT, "is missing");
        eg_bundle_free(b);
        eg_bundle_free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_copied_by_their_prefix),
        cmocka_unit_test(test_bundle_finds_what_was_added),
        cmocka_unit_test(test_names_are_checked),
        cmocka_unit_test(test_bytes_and_back_gives_the_same_bits),
        cmocka_unit_test(test_whole_numbers_and_bytes_go_there_and_back),
        cmocka_unit_test(test_size_is_exact_for_any_length),
        cmocka_unit_test(test_cleared_bundle_is_as_new),
        cmocka_unit_test(test_what_is_no_bundle_is_refused),
        cmocka_unit_test(test_check_says_what_is_wrong),
        cmocka_unit_test(test_what_is_needed_is_there_in_its_length_and_bounds),
        cmocka_unit_test(test_a_bundle_rests_on_another),
        cmocka_unit_test(test_many_names_are_read_in_a_time_that_grows_with_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
