/* frozen_bytes_test.c - frozen tensors go there and back; other bytes change nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/frozen.h"
#include "test.h"

#include <engram/model.h>

#include <stdlib.h>

static eg_net *open_net(uint64_t seed, const char *train)
{
    const eg_net_spec spec = {.model = "mlp",
                              .options = "depth=2 width=5",
                              .channels = 1,
                              .height = 3,
                              .width = 3,
                              .classes = 4};
    eg_net *net;
    float *value, *state;
    assert_ok(eg_net_new(&spec, &net));
    assert_ok(eg_net_freeze(net, train));
    assert_ok(eg_params_alloc(eg_net_params(net), &value));
    assert_ok(eg_state_alloc(eg_net_params(net), &state));
    eg_params_init(eg_net_params(net), seed, value, state);
    free(value);
    free(state);
    return net;
}

static void test_what_is_frozen_goes_there_and_back(void **state)
{
    (void)state;
    eg_net *a = open_net(1, "[fc2]"), *b = open_net(2, "[fc2]");
    const eg_params *p = eg_net_params(a), *q = eg_net_params(b);
    unsigned char *bytes, *again;
    char digest[EG_FROZEN_DIGEST], other[EG_FROZEN_DIGEST];
    size_t n, m;
    assert_int_equal(eg_frozen_length(p), 9 * 5 + 5);
    assert_ok(eg_frozen_pack(p, &bytes, &n, digest));
    assert_ok(eg_frozen_pack(q, &again, &m, other));
    assert_string_not_equal(digest, other);
    free(again);
    assert_fails(eg_frozen_unpack(q, bytes, n, other), EG_EFORMAT, "have checksum");
    assert_fails(eg_frozen_unpack(q, bytes, n - 4, digest), EG_EFORMAT, "");
    bytes[n - 1] ^= 1;
    assert_fails(eg_frozen_unpack(q, bytes, n, digest), EG_EFORMAT, "have checksum");
    bytes[n - 1] ^= 1;
    assert_ok(eg_frozen_pack(q, &again, &m, digest)); /* nothing has changed so far */
    assert_string_equal(digest, other);
    free(again);
    assert_ok(eg_frozen_pack(p, &again, &m, digest));
    free(again);
    assert_ok(eg_frozen_unpack(q, bytes, n, digest));
    assert_ok(eg_frozen_pack(q, &again, &m, other));
    assert_string_equal(digest, other);
    assert_memory_equal(bytes, again, n);
    free(again);
    free(bytes);
    eg_net_free(a);
    eg_net_free(b);
}

static void test_a_network_of_another_size_takes_none(void **state)
{
    (void)state;
    eg_net *a = open_net(1, "[fc2]"), *b = open_net(1, "head");
    unsigned char *bytes;
    char digest[EG_FROZEN_DIGEST];
    size_t n;
    assert_ok(eg_frozen_pack(eg_net_params(a), &bytes, &n, digest));
    assert_int_equal(eg_frozen_unpack(eg_net_params(b), bytes, n, digest) != EG_OK, 1);
    free(bytes);
    eg_net_free(a);
    eg_net_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_frozen_goes_there_and_back),
        cmocka_unit_test(test_a_network_of_another_size_takes_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
