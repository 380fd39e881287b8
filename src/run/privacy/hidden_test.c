/* hidden_test.c - answers as vectors, their noise, and whose keys are whose.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/rng.h>

#include "run/privacy/hidden.h"
#include "run/privacy/members.h"
#include "run/privacy/noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own_folder.h"

enum { N = 9, PARAMS = 200, STATE = 4, EXTRA = 5 };

static eg_bundle *declared(void)
{
    eg_bundle *b;
    float *first;
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_room(b, "a.x", eg_dims(EXTRA), &first));
    first[0] = 100; /* the most of an element */
    return b;
}

static eg_hidden_spec spec_of(const eg_bundle *sums)
{
    return (eg_hidden_spec){.n_summands = N,
                            .n_params = PARAMS,
                            .n_state = STATE,
                            .sums = sums,
                            .range = 1,
                            .statistics = 10,
                            .most_weight = 50};
}

static float numbers[N][PARAMS + STATE + EXTRA], global[PARAMS], global_state[STATE];

static void draw(float scale)
{
    eg_rng rng = eg_rng_at(5, 0, 0, EG_FOR_TEST);
    for (size_t i = 0; i < PARAMS; i++)
        global[i] = (float)eg_rng_normal(&rng);
    for (int k = 0; k < N; k++)
        for (size_t i = 0; i < PARAMS + STATE + EXTRA; i++)
            numbers[k][i] =
                (i < PARAMS ? global[i] : 0) + scale * (float)eg_rng_uniform(&rng, -1, 1);
}

/* What client k answers; every third one lacks the part's tensor. */
static eg_bundle *answer(int k)
{
    eg_bundle *b;
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_scalar(b, "samples", 10 + k));
    assert_ok(eg_bundle_scalar(b, "loss", 0.5 + k));
    assert_ok(eg_bundle_add_flat(b, "param", numbers[k], PARAMS));
    assert_ok(eg_bundle_add_flat(b, "state", numbers[k] + PARAMS, STATE));
    if (k % 3)
        assert_ok(eg_bundle_add_flat(b, "a.x", numbers[k] + PARAMS + STATE, EXTRA));
    return b;
}

static void put(const eg_hidden *h, int k, double weight, uint32_t *y)
{
    eg_bundle *up = answer(k);
    assert_ok(eg_hidden_put(h,
                            &(eg_hidden_of){.up = up,
                                            .global = global,
                                            .global_state = global_state,
                                            .weight = weight,
                                            .loss = 0.5 + k},
                            y));
    eg_bundle_free(up);
}

/* Weighted means by hand, in double; half a step per client over the sum of weights apart. */
static void test_means_are_those_by_hand(void **state)
{
    (void)state;
    eg_bundle *sums = declared(), *parts;
    eg_hidden h;
    const eg_hidden_spec spec = spec_of(sums);
    assert_ok(eg_hidden_init(&h, &spec));
    uint32_t *y = calloc(h.length, sizeof *y), *sum = calloc(h.length, sizeof *sum);
    double *x = calloc(h.length, sizeof *x), weights = 0, loss = 0;
    float param[PARAMS], statistics[STATE] = {0};
    draw(0.5f);
    for (int k = 0; k < N; k++) {
        put(&h, k, 10 + k, y);
        weights += 10 + k;
        loss += (10 + k) * (0.5 + k);
        for (size_t i = 0; i < h.length; i++)
            sum[i] += y[i];
    }
    eg_hidden_take(&h, sum, x);
    assert_near(eg_hidden_weight(&h, x), weights, 0);
    assert_near(eg_hidden_loss(&h, x), loss / weights, 1e-5);
    assert_near(eg_hidden_clipped(&h, x), 0, 0);
    memcpy(param, global, sizeof param);
    assert_true(eg_hidden_mean(&h, x, 0, param, statistics));
    double apart = N * h.entries[0].fixed.step / 2 * 50 / weights + 1e-7;
    for (size_t i = 0; i < PARAMS; i++) {
        double mean = 0;
        for (int k = 0; k < N; k++)
            mean += (10 + k) * (double)numbers[k][i] / weights;
        assert_near(param[i], mean, apart);
    }
    assert_ok(eg_bundle_new(&parts));
    assert_ok(eg_hidden_parts(&h, x, 0, parts));
    const float *values;
    assert_ok(eg_bundle_need(parts, "a.x", EXTRA, &values));
    for (size_t i = 0; i < EXTRA; i++) {
        double mean = 0;
        for (int k = 0; k < N; k++)
            mean += k % 3 ? (double)numbers[k][PARAMS + STATE + i] / 6 : 0;
        assert_near(values[i], mean, 1e-5);
    }
    eg_bundle_free(parts);
    eg_bundle_free(sums);
    eg_hidden_fini(&h);
    free(y);
    free(sum);
    free(x);
}

/* However long an answer is, what is told is no longer than the clip, rounding included; a
 * short one is told as it is. */
static void test_no_private_vector_is_longer_than_the_clip(void **state)
{
    (void)state;
    eg_bundle *sums = declared();
    float scale = 1e-3f;
    for (int k = 0; k < 10; k++, scale *= 7) {
        eg_hidden_spec spec = spec_of(sums);
        eg_hidden h;
        spec.is_private = true, spec.clip = 0.7, spec.n_state = 0, spec.most_weight = 1;
        assert_ok(eg_hidden_init(&h, &spec));
        uint32_t *y = calloc(h.length, sizeof *y);
        double *x = calloc(h.length, sizeof *x), squared = 0, own = 0;
        draw(scale);
        eg_bundle *up;
        assert_ok(eg_bundle_new(&up));
        assert_ok(eg_bundle_add_flat(up, "param", numbers[1], PARAMS));
        assert_ok(
            eg_hidden_put(&h, &(eg_hidden_of){.up = up, .global = global, .weight = 1}, y));
        eg_hidden_take(&h, y, x);
        for (size_t i = 0; i < PARAMS; i++) {
            double change = (double)numbers[1][i] - (double)global[i];
            squared += x[i] * x[i];
            own += change * change;
        }
        assert_true(sqrt(squared) <= 0.7);
        assert_true(eg_hidden_is_short(&h, y));
        assert_near(sqrt(squared), fmin(sqrt(own), 0.7), 1e-5);
        y[3] += 1 << 28; /* and one that is longer shows */
        assert_false(eg_hidden_is_short(&h, y));
        eg_bundle_free(up);
        eg_hidden_fini(&h);
        free(y);
        free(x);
    }
    eg_bundle_free(sums);
}

static void test_what_cannot_be_summed_is_refused(void **state)
{
    (void)state;
    eg_bundle *sums = declared(), *up = answer(1);
    eg_hidden_spec spec = spec_of(sums);
    eg_hidden h;
    uint32_t y[2 * (PARAMS + STATE + EXTRA)];
    draw(0.5f);
    assert_ok(eg_hidden_init(&h, &spec));
    eg_hidden_of of = {.up = up, .global = global, .global_state = global_state, .weight = 1};
    assert_ok(eg_bundle_scalar(up, "a.y", 1));
    assert_fails(eg_hidden_put(&h, &of, y), EG_EINVAL, "'a.y' was not declared");
    eg_bundle_free(up);
    numbers[2][7] = NAN;
    of.up = up = answer(2);
    assert_fails(eg_hidden_put(&h, &of, y), EG_EINVAL, "'param': element 7 is not finite");
    eg_hidden_fini(&h);
    h = (eg_hidden){0};
    spec.most_weight = 1e9;
    assert_fails(eg_hidden_init(&h, &spec), EG_EINVAL, "set secure.samples lower");
    eg_hidden_fini(&h);
    eg_bundle_free(up);
    eg_bundle_free(sums);
}

static void test_noise_is_normal_and_never_the_same(void **state)
{
    (void)state;
    enum { MANY = 1000000 };
    double *x = calloc(MANY, sizeof *x), *z = calloc(MANY, sizeof *z), mean = 0, square = 0,
           fourth = 0;
    eg_secret a, b;
    eg_noise_key(a);
    eg_noise_key(b);
    eg_noise_add(a, 3, x, MANY);
    for (size_t i = 0; i < MANY; i++) {
        mean += x[i] / MANY;
        square += x[i] * x[i] / MANY;
        fourth += x[i] * x[i] * x[i] * x[i] / MANY;
    }
    assert_near(mean, 0, 0.015);      /* five deviations */
    assert_near(square / 9, 1, 0.01); /* seven */
    assert_near(fourth / 81, 3, 0.1); /* ten */
    eg_noise_add(b, 3, z, MANY);
    assert_true(x[0] != z[0] && x[1] != z[1]);
    memset(z, 0, MANY * sizeof *z);
    eg_noise_add(a, 3, z, 7); /* as long as wanted, from the beginning on */
    assert_memory_equal(x, z, 7 * sizeof *z);
    eg_noise_key_of("text", 4, a);
    eg_noise_key_of("text", 4, b);
    assert_memory_equal(a, b, EG_SECRET);
    free(x);
    free(z);
}

static void write_members(const char *text, char path[FILES_PATH * 2])
{
    files_write(folder, "members", text, strlen(text));
    snprintf(path, FILES_PATH * 2, "%s/members", folder);
}

#define KEY_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define KEY_B "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"

static void test_members_are_those_of_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"x ed25519:" KEY_A, "line 1: a client's number and its key"},
        {"# nobody\n1 ed25519:0011", "line 2: a public key is ed25519: and 64"},
        {"1 ed25519:" KEY_A "\n2 ed25519:" KEY_A "\n", "clients 1 and 2 have one key"},
        {"1\n", "line 1: a client's number and its key"},
    };
    char path[FILES_PATH * 2];
    eg_members *m;
    eg_secret public;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_members(bad[i].text, path);
        assert_fails(eg_members_load(path, &m), EG_EFORMAT, bad[i].why);
    }
    write_members(
        "1 ed25519:" KEY_B " # once\n\n0 ed25519:" KEY_A "\n1 revoked\n3 ed25519:" KEY_B, path);
    assert_ok(eg_members_load(path, &m));
    assert_true(eg_members_find(m, 0, public));
    assert_int_equal(public[1], 0x11);
    assert_false(eg_members_find(m, 1, public));
    assert_fails(eg_members_check(m, 2), EG_ENOENT, "lacks client 1");
    eg_identity who;
    eg_identity_new(&who);
    assert_fails(eg_members_become(m, 0, &who), EG_EINVAL, "another key for client 0");
    assert_fails(eg_members_become(m, 1, &who), EG_EINVAL, "not in the members file");
    eg_members_free(m);
    assert_ok(eg_members_simulate(7, &m));
    assert_true(eg_members_identity(m, 5, &who) && eg_members_find(m, 5, public));
    assert_memory_equal(who.public, public, EG_SECRET);
    eg_members_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means_are_those_by_hand),
        cmocka_unit_test(test_no_private_vector_is_longer_than_the_clip),
        cmocka_unit_test(test_what_cannot_be_summed_is_refused),
        cmocka_unit_test(test_noise_is_normal_and_never_the_same),
        cmocka_unit_test(test_members_are_those_of_the_file),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
