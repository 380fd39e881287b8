/* sensor.c - programs with a sensor that take part in a federation: learn, get, predict.
 * SPDX-License-Identifier: Apache-2.0
 *
 * cc sensor.c $(pkg-config --cflags --libs engram) -lpthread; sensor FOLDER
 *
 * The server and its two devices are threads of one process here, so that it runs by itself; on
 * a machine of its own a device is what `device_live` does. Each device knows one kind of
 * signal at first, and meets the other one later.
 */
#include <engram/engram.h>
#include <engram/join.h>
#include <engram/predict.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { DEVICES = 2, CLASSES = 2, SIZE = 8, BATCH = 20, TESTS = 100 };

/* Where the server is, once it listens. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t listens = PTHREAD_COND_INITIALIZER;
static char url[128], keys[512];
static const char *folder;

/* A reading: high on the left is class 0, on the right class 1. */
static void sense(int32_t class, uint32_t at, float *x)
{
    eg_rng r = eg_rng_at(3, (uint32_t) class, at, EG_FOR_DATA);
    for (int i = 0; i < SIZE; i++)
        x[i] = ((i < SIZE / 2) == (class == 0) ? 0.5F : 0.0F) +
               0.005F * (float)eg_rng_below(&r, 100);
}

/* The server's own data, on which it tests. */
static eg_status signals_load(const void *self, const eg_origin *from, eg_split split,
                              eg_table *out)
{
    (void)self, (void)from;
    EG_TRY(eg_table_alloc_f32(out, TESTS, 1, 1, SIZE, CLASSES));
    for (int32_t i = 0; i < TESTS; i++) {
        out->y[i] = i % CLASSES;
        sense(out->y[i], 900000 + TESTS * (uint32_t)split + (uint32_t)i,
              out->f32 + (size_t)i * SIZE);
    }
    return EG_OK;
}

static const eg_dataset signals = {
    .component = {.name = "signals", .help = "high on the left, or on the right"},
    .generated = true,
    .load = signals_load,
};

typedef struct device {
    int64_t client;
    pthread_t thread;
    eg_status status;
    char model[512], why[512];
} device;

static eg_status device_learn(device *d)
{
    char state[512];
    float x[BATCH][SIZE];
    int32_t y[BATCH];
    bool over = false;
    eg_joiner *j;
    snprintf(state, sizeof state, "%s/state-%d", folder, (int)d->client);
    snprintf(d->model, sizeof d->model, "%s/model-%d.safetensors", folder, (int)d->client);
    const eg_join_how how = {
        .url = url, .client = d->client, .key = keys, .state = state, .model = d->model};
    EG_TRY(eg_join_new(&how, &(eg_join_shape){1, 1, SIZE, CLASSES}, &j));
    eg_status s = EG_OK;
    for (uint32_t turn = 0; s == EG_OK && !over; turn++) {
        for (uint32_t i = 0; i < BATCH; i++) { /* what came since the last turn */
            y[i] = (int32_t)((uint32_t)d->client + (turn > 2 ? i : 0)) % CLASSES;
            sense(y[i], (uint32_t)d->client * 100000 + turn * BATCH + i, x[i]);
        }
        s = eg_join_push(j, &x[0][0], y, BATCH);
        if (s == EG_OK)
            s = eg_join_step(j, &over);
    }
    eg_join_free(j);
    return s;
}

static void *device_live(void *context)
{
    device *d = context;
    pthread_mutex_lock(&lock);
    while (!*url)
        pthread_cond_wait(&listens, &lock);
    pthread_mutex_unlock(&lock);
    d->status = device_learn(d);
    snprintf(d->why, sizeof d->why, "%s", eg_error());
    return NULL;
}

static void ready(void *context, const char *at)
{
    (void)context;
    pthread_mutex_lock(&lock);
    snprintf(url, sizeof url, "%s", at);
    pthread_cond_broadcast(&listens);
    pthread_mutex_unlock(&lock);
}

static const char text[] =
    "name: sensor\n"
    "data: {name: signals, mean: 0.5, std: 0.3}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 1, rounds: 12, partition: iid}\n"
    "optimizer: {lr: 0.5}\n"
    "runs: [{label: fl, method: fedavg}]\n";

static eg_status serve(void)
{
    eg_experiment_file *file = NULL;
    eg_experiment *e = NULL;
    char run[512];
    bool stopped;
    const eg_listen listen = {
        .address = "127.0.0.1:0", .keys = keys, .own_data = true, .ready = ready};
    EG_TRY(eg_experiment_parse("sensor.c", text, &file));
    eg_status s = eg_experiment_file_resolve(file, "fl", 0, NULL, &e);
    eg_experiment_file_free(file);
    EG_TRY(s);
    s = eg_experiment_run(e, &(eg_run_how){.out = folder, .workers = 1, .listen = &listen}, run,
                          &stopped);
    eg_experiment_free(e);
    return s;
}

static eg_status count(void *context, const eg_prediction *p)
{
    int *right = context;
    *right += p->best == p->index % CLASSES;
    return EG_OK;
}

/* What a device does with its model: it says what new signals are. */
static eg_status use(const char *model, int *right)
{
    eg_table t = {0};
    eg_saved *saved;
    *right = 0;
    EG_TRY(eg_saved_open(model, &saved));
    eg_status s = signals_load(NULL, NULL, EG_TEST, &t);
    if (s == EG_OK)
        s = eg_predict_table(saved, &t, count, right);
    eg_table_fini(&t);
    eg_saved_free(saved);
    return s;
}

int main(int argc, char **argv)
{
    device d[DEVICES] = {{0}};
    int right = 0;
    folder = argc > 1 ? argv[1] : "sensor-run";
    mkdir(folder, 0755);
    snprintf(keys, sizeof keys, "%s/keys.txt", folder);
    remove(keys);
    eg_status s = eg_dataset_add(&signals);
    for (int64_t k = 0; k < DEVICES; k++) {
        d[k].client = k;
        pthread_create(&d[k].thread, NULL, device_live, &d[k]);
    }
    if (s == EG_OK)
        s = serve();
    if (s != EG_OK) {
        fprintf(stderr, "the server: %s\n", eg_error());
        return 1; /* its devices would wait for it */
    }
    for (int k = 0; k < DEVICES; k++) {
        pthread_join(d[k].thread, NULL);
        if (d[k].status != EG_OK || use(d[k].model, &right) != EG_OK) {
            fprintf(stderr, "device %d: %s\n", k, d[k].status ? d[k].why : eg_error());
            return 1;
        }
        printf("device %d knows %d of %d signals\n", k, right, TESTS);
        if (right < TESTS * 9 / 10)
            return 1;
    }
    return 0;
}
