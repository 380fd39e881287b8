/* secure_devices_threaded_test.c - devices that sum what they hide, each with its own keys.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include "devices.h"

#include "io/sodium.h"

#include <stdio.h>
#include <unistd.h>

#include "own_folder.h"

enum { N = 4 };

/* Where a device's secret key is, and the file with all public ones. */
static void path_of(int64_t client, char out[FILES_PATH * 2])
{
    if (client < 0)
        snprintf(out, FILES_PATH * 2, "%s/members", folder);
    else
        snprintf(out, FILES_PATH * 2, "%s/key%lld", folder, (long long)client);
}

static void put_hex(FILE *f, const unsigned char *bytes)
{
    for (size_t i = 0; i < EG_SECRET; i++)
        fprintf(f, "%02x", bytes[i]);
    fputc('\n', f);
}

static void make_keys(int64_t n)
{
    char path[FILES_PATH * 2];
    path_of(-1, path);
    FILE *members = fopen(path, "w");
    fputs("# who takes part\n", members);
    for (int64_t i = 0; i < n; i++) {
        eg_identity who;
        eg_identity_new(&who);
        path_of(i, path);
        FILE *key = fopen(path, "w");
        fprintf(key, "%lld ed25519-secret:", (long long)i);
        put_hex(key, who.seed);
        fclose(key);
        fprintf(members, "%lld ed25519:", (long long)i);
        put_hex(members, who.public);
    }
    fclose(members);
}

typedef struct device {
    devices *all;
    int64_t client;
    pthread_t thread;
    eg_status status;
    char why[300];
    bool knows;           /* it has a members file */
    int64_t leaves_after; /* calls of moment with an exchange; 0: never */
    int64_t moments;
} device;

static bool moment(void *context, const eg_device_moment *m)
{
    device *d = context;
    d->moments += m->exchange != NULL;
    return d->leaves_after == 0 || d->moments <= d->leaves_after;
}

static void *live(void *context)
{
    device *d = context;
    char members[FILES_PATH * 2], key[FILES_PATH * 2], state[FILES_PATH * 3];
    int64_t n;
    devices_wait(d->all);
    path_of(-1, members);
    path_of(d->client, key);
    snprintf(state, sizeof state, "%s/%lld", d->all->state, (long long)d->client);
    d->status = eg_join(&(eg_join_how){.url = d->all->url,
                                       .client = d->client,
                                       .key = d->all->keys,
                                       .members = d->knows ? members : NULL,
                                       .identity = key,
                                       .state = state,
                                       .patience = 20,
                                       .moment = moment,
                                       .context = d},
                        &n);
    snprintf(d->why, sizeof d->why, "%s", eg_error());
    return NULL;
}

/* Serves a run to the devices; path: where it is. */
static void serve(const small_run *r, device *all, char path[512])
{
    devices d;
    bool stopped;
    char members[FILES_PATH * 2];
    eg_experiment *e = small_run_open(folder, r);
    bool leaves = false;
    for (int64_t i = 0; i < N; i++)
        leaves |= all[i].leaves_after > 0;
    devices_init(&d, folder);
    path_of(-1, members);
    const eg_listen listen = {.address = "127.0.0.1:0",
                              .keys = d.keys,
                              .members = members,
                              /* Who stays must not be missed on a slow machine. */
                              .patience = leaves ? 3 : 30,
                              .at_least = 3,
                              .ready = devices_ready,
                              .context = &d};
    for (int64_t i = 0; i < N; i++) {
        all[i].all = &d, all[i].client = i;
        assert_int_equal(pthread_create(&all[i].thread, NULL, live, &all[i]), 0);
    }
    assert_ok(eg_experiment_run(
        e, &(eg_run_how){.seed = 3, .workers = 1, .out = d.out, .listen = &listen}, path,
        &stopped));
    for (int64_t i = 0; i < N; i++)
        pthread_join(all[i].thread, NULL);
    eg_experiment_free(e);
}

static void test_devices_have_the_sums_of_one_machine(void **state)
{
    (void)state;
    const small_run r = {.method = "[der, fed-a-gem]", .set = {"secure=masked"}};
    device all[N] = {0};
    char path[512], here[512], hash[65], same[65];
    make_keys(N);
    for (int i = 0; i < N; i++)
        all[i].knows = true;
    serve(&r, all, path);
    for (int i = 0; i < N; i++)
        assert_int_equal(all[i].status, EG_OK);
    runs_hash(path, hash);
    eg_experiment *e = small_run_open(folder, &r);
    assert_ok(runs_run(e, folder, 1, 0, here));
    eg_experiment_free(e);
    runs_hash(here, same);
    assert_string_equal(hash, same);
}

/* One leaves in the middle of an exchange: it is out, the others' run comes to its end. */
static void test_a_device_that_goes_costs_its_own_place(void **state)
{
    (void)state;
    const small_run r = {.method = "fedavg", .set = {"secure=masked"}};
    for (int after = 2; after < 8; after += 3) {
        device all[N] = {0};
        char path[512];
        make_keys(N);
        for (int i = 0; i < N; i++)
            all[i].knows = true;
        all[2].leaves_after = after;
        serve(&r, all, path);
        for (int i = 0; i < N; i++)
            assert_int_equal(all[i].status, EG_OK);
    }
}

static void assert_joins_not(const char *secure, bool knows, const char *sentence)
{
    const small_run r = {.method = "fedavg", .set = {secure, "scenario.rounds=1"}};
    device all[N] = {0};
    char path[512];
    for (int i = 0; i < N; i++)
        all[i].knows = strcmp(secure, "secure=masked") == 0;
    all[3].knows = knows;
    serve(&r, all, path);
    assert_int_not_equal(all[3].status, EG_OK);
    if (!strstr(all[3].why, sentence))
        fail_msg("'%s' is not in '%s'", sentence, all[3].why);
}

static void test_devices_go_by_their_own_members_file(void **state)
{
    (void)state;
    char members[FILES_PATH * 2], path[512];
    bool stopped;
    make_keys(N);
    assert_joins_not("secure=masked", false, "--members FILE");
    assert_joins_not("secure=none", true, "does not hide its clients' answers");
    path_of(-1, members);
    make_keys(N - 1); /* a server whose file lacks one does not begin */
    const small_run r = {.method = "fedavg", .set = {"secure=masked"}};
    eg_experiment *e = small_run_open(folder, &r);
    char keys[FILES_PATH * 2];
    snprintf(keys, sizeof keys, "%s/words", folder);
    const eg_listen listen = {.address = "127.0.0.1:0", .keys = keys, .members = members};
    assert_fails(
        eg_experiment_run(e, &(eg_run_how){.out = folder, .listen = &listen}, path, &stopped),
        EG_ENOENT, "the members file lacks client 3");
    eg_experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_have_the_sums_of_one_machine),
        cmocka_unit_test(test_a_device_that_goes_costs_its_own_place),
        cmocka_unit_test(test_devices_go_by_their_own_members_file),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
