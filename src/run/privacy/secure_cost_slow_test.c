/* secure_cost_slow_test.c - what masks cost: seconds and bytes by how many clients there are.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prints a table. Only bytes are judged: seconds, of computing, are of the machine.
 */
#include "test.h"

#include "run/privacy/secure_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COST_MOST = 500 };

typedef struct cost {
    eg_identity identities[COST_MOST];
    int64_t ids[COST_MOST];
    eg_secure_client *clients[COST_MOST];
    size_t n;
} cost;

static bool cost_member(const void *context, int64_t client, eg_secret out)
{
    const cost *c = context;
    if (client < 0 || (size_t)client >= c->n)
        return false;
    memcpy(out, c->identities[client].public, EG_SECRET);
    return true;
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds that all clients, and the server, take in all steps; the most bytes of one client. */
typedef struct taken {
    double clients, server;
    size_t up, down;
} taken;

static void cost_turn(cost *c, eg_secure_server *s, eg_secure_step step, size_t i, uint32_t *y,
                      size_t length, taken *t)
{
    eg_blob in, out = {0};
    double since = cpu_seconds();
    assert_ok(eg_secure_server_tell(s, step, i, &in));
    t->server += cpu_seconds() - since;
    since = cpu_seconds();
    const eg_secure_client_how how = {
        .me = (int64_t)i, .identity = &c->identities[i], .member = cost_member, .context = c};
    if (step == EG_SECURE_KEYS)
        assert_ok(eg_secure_client_begin(&how, in.bytes, in.n, &c->clients[i], &out));
    else
        assert_ok(eg_secure_client_hear(c->clients[i], &how, step, in.bytes, in.n, &out));
    if (step == EG_SECURE_MASKED)
        assert_ok(eg_secure_client_mask(c->clients[i], y, length));
    t->clients += cpu_seconds() - since;
    since = cpu_seconds();
    assert_ok(step == EG_SECURE_MASKED ? eg_secure_server_add(s, i, y, length)
                                       : eg_secure_server_hear(s, step, i, out.bytes, out.n));
    t->server += cpu_seconds() - since;
    t->up += i == 0 ? out.n : 0;
    t->down += i == 0 ? in.n : 0;
    free(in.bytes);
    free(out.bytes);
}

/* One exchange; one in twenty is lost before its vector comes. */
static taken cost_of(cost *c, size_t n, size_t length)
{
    taken t = {0};
    eg_secure_server *s;
    uint32_t *y = calloc(length, sizeof *y);
    c->n = n;
    for (size_t i = 0; i < n; i++) {
        eg_identity_new(&c->identities[i]);
        c->ids[i] = (int64_t)i;
    }
    assert_ok(eg_secure_server_new(
        &(eg_secure_server_how){
            .n = n, .clients = c->ids, .member = cost_member, .context = c, .length = length},
        &s));
    for (int step = 0; step < EG_SECURE_N_STEPS; step++) {
        for (size_t i = 0; i < n; i++)
            if (eg_secure_server_asks(s, (eg_secure_step)step, i) &&
                !(step == EG_SECURE_MASKED && i % 20 == 19)) {
                memset(y, 0, length * sizeof *y);
                cost_turn(c, s, (eg_secure_step)step, i, y, length, &t);
            }
        double since = cpu_seconds();
        assert_ok(eg_secure_server_close(s, (eg_secure_step)step));
        t.server += cpu_seconds() - since;
    }
    for (size_t k = 0; k < length; k++) /* of zeros */
        assert_int_equal(eg_secure_server_sum(s)[k], 0);
    for (size_t i = 0; i < n; i++)
        eg_secure_client_free(c->clients[i]);
    eg_secure_server_free(s);
    free(y);
    return t;
}

static void test_bytes_up_are_a_twentieth_more_at_most(void **state)
{
    (void)state;
    static cost c;
    static const struct {
        size_t n, length;
        const char *of;
    } rows[] = {{100, 1663370 / 20, "cnn / 20"}, /* what does not grow with the network */
                {500, 1663370 / 20, "cnn / 20"},
                {10, 11173962, "resnet18"},
                {10, 1663370, "cnn"},
                {50, 1663370, "cnn"},
                {100, 1663370, "cnn"},
                {500, 1663370, "cnn"}};
    printf("network   clients  s of a client  s of the server  kB up     more up  kB down "
           "beside\n");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        taken t = cost_of(&c, rows[k].n, rows[k].length);
        double plain = (double)(rows[k].length * sizeof(uint32_t));
        printf("%-9s %7zu  %13.3f  %15.3f  %8.0f  %6.2f %%  %8.0f\n", rows[k].of, rows[k].n,
               t.clients / (double)rows[k].n, t.server, (plain + (double)t.up) / 1e3,
               100 * (double)t.up / plain, (double)t.down / 1e3);
        fflush(stdout);
        bool whole = !strchr(rows[k].of, '/'); /* what is added does not grow with it */
        assert_true((double)t.up < 0.05 * plain * (whole ? 1 : 20));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_up_are_a_twentieth_more_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
