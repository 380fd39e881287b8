/* hostile.h - a method for tests whose first clients upload their change times -10.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_HOSTILE_H
#define EG_TEST_HOSTILE_H

#include "runs.h"

#include <engram/method.h>

typedef struct hostile {
    int64_t clients;
} hostile;

static const eg_opt hostile_opts[] = {
    EG_OPT_INT(hostile, clients, 0, 0, 1000, "those with a lower number are hostile"),
    EG_OPT_END,
};

static eg_status hostile_trained(void *self, eg_client *c)
{
    const hostile *h = self;
    for (size_t i = 0; c->id < h->clients && i < c->n_params; i++)
        c->param[i] = c->global[i] - 10 * (c->param[i] - c->global[i]);
    return EG_OK;
}

static const eg_method hostile_method = {
    .component = {"hostile", "uploads its change times -10", sizeof(hostile), hostile_opts},
    .client = {.trained = hostile_trained},
};

/* The final accuracy of a run of a file with the method [..., hostile] on all cores, with a
 * rule of server.mean, so many hostile clients and all weights alike: the word of hostile
 * clients on their samples counts for nothing. */
static inline double hostile_accuracy(const char *file, const char *folder, const char *rule,
                                      int clients, uint64_t seed)
{
    char sets[2][64], path[512];
    bool stopped;
    eg_experiment *e;
    snprintf(sets[0], sizeof sets[0], "server.mean=%s", rule);
    snprintf(sets[1], sizeof sets[1], "hostile.clients=%d", clients);
    const char *const all[] = {sets[0], sets[1], "server.trim=0.3", "server.weights=uniform"};
    assert_ok(eg_experiment_load(file, NULL, 4, all, &e));
    assert_ok(eg_experiment_run(e, &(eg_run_how){.seed = seed, .out = folder}, path, &stopped));
    double accuracy = runs_value(path, "acc_final");
    eg_experiment_free(e);
    return accuracy;
}

#endif
