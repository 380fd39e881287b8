/* secure_test.c - sums without their summands: losses, and servers and clients that cheat.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "secure_play.h"

#include "run/privacy/fixed.h"
#include "run/privacy/masks.h"
#include "run/privacy/shares.h"

#include <math.h>

/* The first t shares in this order make the secret; with one bit changed they do not. */
static void check_shares(const eg_secret secret, size_t t, const uint32_t *order,
                         const uint32_t *places, eg_secret *shares)
{
    uint32_t there[12];
    eg_secret weights[12], chosen[12], back;
    for (size_t i = 0; i < t; i++) {
        there[i] = places[order[i]];
        memcpy(chosen[i], shares[order[i]], EG_SECRET);
    }
    assert_ok(eg_shares_weights(there, t, weights));
    eg_shares_join(weights, chosen, t, back);
    assert_memory_equal(back, secret, EG_SECRET);
    chosen[0][0] ^= 1;
    eg_shares_join(weights, chosen, t, back);
    assert_memory_not_equal(back, secret, EG_SECRET);
}

static void test_any_t_shares_rebuild_the_secret(void **state)
{
    (void)state;
    eg_rng rng = eg_rng_at(1, 2, 3, EG_FOR_TEST);
    for (size_t n = 1; n < 12; n++) {
        eg_secret secret, shares[12];
        uint32_t places[12], order[12];
        size_t t = 1 + (size_t)eg_rng_below(&rng, n);
        for (size_t i = 0; i < n; i++)
            places[i] = (uint32_t)(5 * i + 1 + eg_rng_below(&rng, 5));
        eg_scalar_random(secret);
        assert_ok(eg_shares_deal(secret, t, places, n, shares));
        for (int k = 0; k < 5; k++) {
            for (size_t i = 0; i < n; i++)
                order[i] = (uint32_t)i;
            for (size_t i = 0; i < t; i++) { /* any t of them, in any order */
                size_t j = i + (size_t)eg_rng_below(&rng, n - i);
                uint32_t at = order[j];
                order[j] = order[i], order[i] = at;
            }
            check_shares(secret, t, order, places, shares);
        }
    }
    eg_secret weights[2];
    assert_fails(eg_shares_weights((uint32_t[]){4, 4}, 2, weights), EG_EINVAL, "one place");
    assert_fails(eg_shares_weights((uint32_t[]){4, 0}, 2, weights), EG_EINVAL, "of none");
}

/* Whatever t - 1 shares are, for every secret there is a last share that makes it: the secret
 * less what they weigh, over the last weight. */
static void test_fewer_than_t_shares_fit_every_secret(void **state)
{
    (void)state;
    static const uint32_t places[] = {3, 7, 8, 20};
    eg_secret secret, other, shares[4], weights[4], part, last, back;
    eg_scalar_random(secret);
    assert_ok(eg_shares_deal(secret, 4, places, 4, shares));
    assert_ok(eg_shares_weights(places, 4, weights));
    for (int k = 0; k < 20; k++) {
        eg_scalar_random(other);
        eg_shares_join(weights, shares, 3, part);
        eg_scalar_sub(other, part, last);
        assert_ok(eg_scalar_invert(weights[3], part));
        eg_scalar_mul(last, part, shares[3]);
        eg_shares_join(weights, shares, 4, back);
        assert_memory_equal(back, other, EG_SECRET);
    }
}

static void test_fixed_point_rounds_clips_and_never_overflows(void **state)
{
    (void)state;
    eg_fixed f = eg_fixed_of(8, 10);
    uint32_t y[6];
    uint64_t clipped = 0;
    assert_int_equal(f.most, (1 << 27) - 1); /* 31 - ceil(log2 10) bits */
    assert_near(f.step, 8.0 / (1 << 27), 0);
    const double x[6] = {0.5 * f.step, 1.5 * f.step, -2.5 * f.step, 8, -100, 7.9};
    assert_ok(eg_fixed_put(f, x, 6, y, &clipped));
    assert_int_equal(y[0], 0);
    assert_int_equal(y[1], 2);
    assert_int_equal((int32_t)y[2], -2);
    assert_int_equal((int32_t)y[3], f.most);
    assert_int_equal((int32_t)y[4], -f.most);
    assert_int_equal(clipped, 2);
    assert_near(eg_fixed_get(f, y[5]), 7.9, f.step / 2);
    for (size_t n = 2; n < 70000; n = n * 3 / 2 + 1) {
        f = eg_fixed_of(1, n);
        assert_true((int64_t)f.most * (int64_t)n <= INT32_MAX);
        assert_true(2 * ((int64_t)f.most + 1) * (int64_t)n > INT32_MAX / 2);
    }
    assert_fails(eg_fixed_put(f, (const double[]){0, NAN}, 2, y, &clipped), EG_EINVAL,
                 "element 1 is not finite");
}

static void test_sums_are_those_by_hand_with_losses_at_each_step(void **state)
{
    (void)state;
    size_t abandoned = 0;
    eg_rng rng = eg_rng_at(11, 0, 0, EG_FOR_TEST);
    for (size_t k = 0; k < 60; k++) {
        size_t n = 3 + (size_t)eg_rng_below(&rng, 8);
        play_random(n, (size_t)eg_rng_below(&rng, n / 2 + 1), &rng, &abandoned);
    }
    assert_in_range(abandoned, 3, 40);
    play_random(90, 8, &rng, &abandoned); /* on a circle, each with 72 */
}

/* All steps before the masked vectors, of n clients. */
static void play_to_masked(play *p, size_t n)
{
    for (int step = 0; step < EG_SECURE_MASKED; step++) {
        for (size_t i = 0; i < n; i++)
            play_turn(p, (eg_secure_step)step, i);
        assert_ok(eg_secure_server_close(p->server, (eg_secure_step)step));
    }
}

/* The masked vector of one input, over and over: its bytes are as good as random. */
static void test_masked_vectors_are_uniform_and_sizes_say_nothing(void **state)
{
    (void)state;
    static play p;
    double counts[256] = {0}, chi = 0, total = 0;
    size_t up = 0, down = 0;
    eg_rng rng = eg_rng_at(12, 0, 0, EG_FOR_TEST);
    for (int k = 0; k < 30; k++) {
        play_open(&p, 4, 1000, &rng);
        memset(p.x, 0, 4000 * sizeof *p.x);
        p.x[0] = (uint32_t)k; /* two splits of one sum */
        p.x[1000] = (uint32_t)(29 - k);
        play_to_masked(&p, 4);
        eg_blob in, out;
        assert_ok(eg_secure_server_tell(p.server, EG_SECURE_MASKED, 0, &in));
        assert_ok(play_client(&p, EG_SECURE_MASKED, 0, &in, &out));
        for (size_t i = 0; i < out.n; i++)
            counts[out.bytes[i]]++, total++;
        assert_true(k == 0 || (up == p.bytes_up && down == p.bytes_down));
        up = p.bytes_up, down = p.bytes_down;
        uint32_t once[1] = {0};
        assert_fails(eg_secure_client_mask(p.clients[0], once, 1), EG_EINVAL, "masked once");
        free(in.bytes);
        free(out.bytes);
        play_close(&p);
    }
    for (int i = 0; i < 256; i++)
        chi += (counts[i] - total / 256) * (counts[i] - total / 256) / (total / 256);
    assert_true(chi > 150 && chi < 400); /* 255 +- 22.6: beyond six deviations */
}

/* --- A server that cheats. */

/* The group that server and clients have in common: the server's begins with it. */
static const eg_secure_group *group_of(const play *p)
{
    return (const eg_secure_group *)(const void *)p->server;
}

/* Clients 3 to 5 signed that client 1 was not heard. */
static bool two_lists(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    const unsigned char all[] = {1, 1, 1, 1, 1, 1}, fewer[] = {1, 0, 1, 1, 1, 1};
    eg_secret digest;
    if (!down || step != EG_SECURE_UNMASK || i != 0)
        return true;
    eg_secure_list_digest(group_of(p), all, fewer, digest);
    for (size_t k = 3; k < 6; k++)
        eg_sign(&p->identities[k], digest, EG_SECRET,
                m->bytes + 3 * eg_secure_bits(p->n) + k * sizeof(eg_signature));
    return true;
}

static bool both_shares(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    (void)i;
    if (down && step == EG_SECURE_UNMASK)
        m->bytes[eg_secure_bits(p->n)] |= 2;
    return true;
}

static bool mask_of_listed(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    (void)i;
    if (down && step == EG_SECURE_UNMASK) {
        m->bytes[0] &= 0xfd;
        m->bytes[eg_secure_bits(p->n)] |= 2;
    }
    return true;
}

static bool own_key(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    if (down && step == EG_SECURE_SHARES && i == 0) { /* client 1's mask key becomes another */
        eg_secure_keys k;
        unsigned char *at = m->bytes + eg_secure_bits(p->n) + sizeof k;
        eg_secret secret;
        memcpy(&k, at, sizeof k);
        eg_random(secret, sizeof secret);
        eg_agree_public(secret, k.mask);
        memcpy(at, &k, sizeof k);
    }
    return true;
}

static bool swap_shares(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    if (down && step == EG_SECURE_OPENED && i == 0) {
        eg_secure_dealt d[2];
        unsigned char *at = m->bytes + eg_secure_bits(p->n) + sizeof *d;
        memcpy(d, at, sizeof d);
        memcpy(at, &d[1], sizeof *d);
        memcpy(at + sizeof *d, &d[0], sizeof *d);
    }
    return true;
}

static bool short_list(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    (void)i;
    if (down && step == EG_SECURE_CHECK) {
        memset(m->bytes, 0, m->n);
        for (size_t k = 0; k + 1 < eg_secure_threshold(p->n); k++)
            m->bytes[k / 8] = (unsigned char)(m->bytes[k / 8] | 1 << k % 8);
    }
    return true;
}

static bool old_step(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    static eg_blob old; /* of the first exchange: its keys */
    if (!down || step != EG_SECURE_SHARES || i != 0)
        return true;
    if (p->length == 1) {
        old.n = m->n;
        old.bytes = malloc(m->n);
        memcpy(old.bytes, m->bytes, m->n);
        return true;
    }
    eg_secure_keys k; /* its own are of now, the others' of then */
    memcpy(&k, m->bytes + eg_secure_bits(p->n), sizeof k);
    memcpy(m->bytes, old.bytes, old.n);
    memcpy(m->bytes + eg_secure_bits(p->n), &k, sizeof k);
    free(old.bytes);
    return true;
}

/* What a client says of a server that cheats; and that nothing comes of it. */
static void assert_caught(play_cheat cheat, eg_secure_step at, size_t by, const char *sentence)
{
    static play p;
    eg_rng rng = eg_rng_at(13, 0, 0, EG_FOR_TEST);
    play_open(&p, 6, 5, &rng);
    p.cheat = cheat;
    play_run(&p);
    assert_true(p.ends[by] != EG_OK);
    if (!strstr(p.why[by], sentence))
        fail_msg("'%s' is not in '%s'", sentence, p.why[by]);
    eg_blob out; /* it has forgotten everything */
    eg_secure_client_how how = play_how(&p, by);
    if (p.clients[by])
        assert_fails(eg_secure_client_hear(p.clients[by], &how, at, "", 0, &out), EG_EINVAL,
                     "is over");
    play_close(&p);
}

static void test_server_that_cheats_is_caught(void **state)
{
    (void)state;
    assert_caught(two_lists, EG_SECURE_UNMASK, 0,
                  "3 clients signed the list that this client signed, and 5 are needed");
    assert_caught(both_shares, EG_SECURE_UNMASK, 0, "both shares of client");
    assert_caught(mask_of_listed, EG_SECURE_UNMASK, 2, "which is in the list");
    assert_caught(own_key, EG_SECURE_SHARES, 0, "not signed by it for this exchange");
    assert_caught(swap_shares, EG_SECURE_OPENED, 0, "not dealt by it to this client");
    assert_caught(short_list, EG_SECURE_CHECK, 0, "goes on with 4 of 6 clients");
}

static void test_messages_of_an_old_exchange_are_refused(void **state)
{
    (void)state;
    static play first, second;
    eg_rng rng = eg_rng_at(14, 0, 0, EG_FOR_TEST);
    play_open(&first, 5, 1, &rng);
    first.cheat = old_step;
    assert_true(play_run(&first));
    play_open(&second, 5, 2, &rng);
    memcpy(second.identities, first.identities, sizeof first.identities);
    second.cheat = old_step;
    play_run(&second);
    assert_true(second.ends[0] != EG_OK);
    assert_non_null(strstr(second.why[0], "not signed by it for this exchange"));
    /* and so is a setting of another round */
    eg_secure_client_how how = play_how(&second, 1);
    eg_secure_client *c;
    eg_blob in, out;
    how.of.round++;
    assert_ok(eg_secure_server_tell(second.server, EG_SECURE_KEYS, 1, &in));
    assert_fails(eg_secure_client_begin(&how, in.bytes, in.n, &c, &out), EG_EFORMAT,
                 "another run, round or exchange");
    free(in.bytes);
    play_close(&first);
    play_close(&second);
}

/* --- A client that cheats: number 2 of 7. */

enum { CHEAT = 2 };

static bool bad_signature(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    (void)p;
    if (!down && i == CHEAT && step == EG_SECURE_KEYS)
        m->bytes[m->n - 1] ^= 1;
    return true;
}

static bool bad_list_signature(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    (void)p;
    if (!down && i == CHEAT && step == EG_SECURE_CHECK)
        m->bytes[3] ^= 1;
    return true;
}

static bool short_vector(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    (void)p;
    if (!down && i == CHEAT && step == EG_SECURE_MASKED)
        m->n -= 4;
    return true;
}

/* Nonsense, and signed as it must be. */
static bool sealed_nonsense(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    if (down || i != CHEAT || step != EG_SECURE_SHARES)
        return true;
    for (size_t v = 0; v < p->n; v++) {
        eg_secure_dealt d;
        eg_secret digest;
        memcpy(&d, m->bytes + v * sizeof d, sizeof d);
        if (v == CHEAT)
            continue;
        eg_random(d.sealed, sizeof d.sealed);
        eg_secure_dealt_digest(group_of(p), i, v, &d, digest);
        eg_sign(&p->identities[i], digest, EG_SECRET, d.by);
        memcpy(m->bytes + v * sizeof d, &d, sizeof d);
    }
    return true;
}

static bool wrong_shares(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    (void)p;
    if (!down && i == CHEAT && step == EG_SECURE_UNMASK)
        for (size_t k = 0; k < m->n; k += EG_SECRET)
            m->bytes[k] ^= 1;
    return true;
}

static bool all_liars(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    (void)p;
    if (!down && i == CHEAT && step == EG_SECURE_OPENED)
        m->bytes[0] = 0x7b;
    return true;
}

static bool no_share(play *p, eg_secure_step step, size_t i, bool down, eg_blob *m)
{
    (void)p;
    if (!down && i == CHEAT && step == EG_SECURE_UNMASK)
        m->n -= 1;
    return true;
}

static void test_client_that_cheats_costs_its_own_place(void **state)
{
    (void)state;
    static const struct {
        play_cheat cheat;
        bool counts; /* its vector had come in order before */
        const char *sentence;
    } cases[] = {
        {bad_signature, false, "its keys are not signed by it"},
        {short_vector, false, "a vector of 4 numbers, not 5"},
        {sealed_nonsense, false, ""},
        {all_liars, false, ""},
        {bad_list_signature, true, "it did not sign the list"},
        {wrong_shares, true, ""},
        {no_share, true, "are no 7 shares"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        static play p;
        eg_rng rng = eg_rng_at(15, (uint32_t)k, 0, EG_FOR_TEST);
        play_open(&p, 7, 5, &rng);
        p.cheat = cases[k].cheat;
        p.silent[5] = EG_SECURE_MASKED; /* so that shares of both kinds are needed */
        assert_true(play_run(&p));
        for (size_t i = 0; i < 7; i++)
            assert_int_equal(eg_secure_server_counts(p.server, i),
                             i == CHEAT ? cases[k].counts : i != 5);
        play_check(&p);
        if (!strstr(p.left_out[CHEAT], cases[k].sentence))
            fail_msg("'%s' is not in '%s'", cases[k].sentence, p.left_out[CHEAT]);
        play_close(&p);
    }
}

/* Silence of one at each step: before 3 it is not in the sum, from then on it is. */
static void test_silence_costs_its_own_place(void **state)
{
    (void)state;
    for (int step = 0; step < EG_SECURE_N_STEPS; step++) {
        static play p;
        eg_rng rng = eg_rng_at(16, (uint32_t)step, 0, EG_FOR_TEST);
        play_open(&p, 5, 3, &rng);
        p.silent[1] = (eg_secure_step)step;
        assert_true(play_run(&p));
        assert_int_equal(eg_secure_server_counts(p.server, 1), step > EG_SECURE_MASKED);
        play_check(&p);
        play_close(&p);
        play_open(&p, 5, 3, &rng); /* and of two is one too many */
        p.silent[1] = p.silent[3] = (eg_secure_step)step;
        assert_false(play_run(&p));
        assert_int_equal(p.reached, step);
        assert_non_null(strstr(p.abandoned, "3 of 5 clients are left in the step '"));
        play_close(&p);
    }
}

static void test_setting_and_state_of_nonsense_are_refused(void **state)
{
    (void)state;
    static play p;
    eg_rng rng = eg_rng_at(17, 0, 0, EG_FOR_TEST);
    eg_secure_client *c;
    eg_blob in, out;
    play_open(&p, 5, 3, &rng);
    assert_ok(eg_secure_server_tell(p.server, EG_SECURE_KEYS, 0, &in));
    eg_secure_client_how how = play_how(&p, 0);
    for (size_t n = 0; n < in.n; n++) /* exact, so that a byte too far shows */
        assert_int_equal(eg_secure_client_begin(&how, in.bytes, n, &c, &out), EG_EFORMAT);
    how.me = 1000;
    assert_fails(eg_secure_client_begin(&how, in.bytes, in.n, &c, &out), EG_EFORMAT,
                 "not with this client");
    how = play_how(&p, 0);
    p.ids[3] += 1000; /* so that one is no member */
    assert_fails(eg_secure_client_begin(&how, in.bytes, in.n, &c, &out), EG_ENOENT,
                 "is not in the members file");
    p.ids[3] -= 1000;
    assert_ok(eg_secure_client_begin(&how, in.bytes, in.n, &c, &out));
    free(out.bytes);
    free(in.bytes);
    assert_ok(eg_secure_client_pack(c, &out));
    eg_secure_client *back;
    for (size_t n = 0; n < out.n; n += 1 + n / 16)
        assert_int_equal(eg_secure_client_unpack(out.bytes, n, &back), EG_EFORMAT);
    free(out.bytes);
    eg_secure_client_free(c);
    play_close(&p);
    eg_secure_server *s;
    assert_fails(eg_secure_server_new(
                     &(eg_secure_server_how){
                         .of = play_of(), .n = 2, .clients = (int64_t[]){1, 2}, .length = 1},
                     &s),
                 EG_EINVAL, "2 clients cannot hide in a sum");
}

static void test_thresholds_and_neighbours(void **state)
{
    (void)state;
    assert_int_equal(eg_secure_threshold(3), 3);
    assert_int_equal(eg_secure_threshold(10), 7);
    assert_int_equal(eg_secure_threshold(40), 27);
    assert_int_equal(eg_secure_neighbours(64), 63);
    assert_int_equal(eg_secure_neighbours(100), 72);
    assert_int_equal(eg_secure_neighbours(1000), 96);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_t_shares_rebuild_the_secret),
        cmocka_unit_test(test_fewer_than_t_shares_fit_every_secret),
        cmocka_unit_test(test_fixed_point_rounds_clips_and_never_overflows),
        cmocka_unit_test(test_sums_are_those_by_hand_with_losses_at_each_step),
        cmocka_unit_test(test_masked_vectors_are_uniform_and_sizes_say_nothing),
        cmocka_unit_test(test_server_that_cheats_is_caught),
        cmocka_unit_test(test_messages_of_an_old_exchange_are_refused),
        cmocka_unit_test(test_client_that_cheats_costs_its_own_place),
        cmocka_unit_test(test_silence_costs_its_own_place),
        cmocka_unit_test(test_setting_and_state_of_nonsense_are_refused),
        cmocka_unit_test(test_thresholds_and_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
