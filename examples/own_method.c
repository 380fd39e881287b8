/* own_method.c - a method of one's own, added at run time: clients send rounded changes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * cc own_method.c $(pkg-config --cflags --libs engram) -lm; own_method FOLDER
 */
#include <engram/engram.h>
#include <math.h>
#include <stdio.h>

typedef struct coarse {
    double step;
} coarse;

static const eg_opt coarse_opts[] = {
    EG_OPT_REAL(coarse, step, 0.001, 1e-9, 1, "what changes are rounded to multiples of"),
    EG_OPT_END,
};

/* After the last batch the model moves to the nearest one that is whole steps from the global
 * model; how far is a curve on the page. */
static eg_status coarse_trained(void *self, eg_client *c)
{
    const coarse *o = self;
    double moved = 0;
    for (size_t i = 0; i < c->n_params; i++) {
        double change = (double)c->param[i] - (double)c->global[i];
        double whole = o->step * round(change / o->step);
        moved += (whole - change) * (whole - change);
        c->param[i] = (float)((double)c->global[i] + whole);
    }
    return eg_client_note(c, "moved", sqrt(moved));
}

static const eg_method method = {
    .component = {.name = "coarse",
                  .help = "federated averaging of rounded changes",
                  .size = sizeof(coarse),
                  .opts = coarse_opts},
    .client = {.trained = coarse_trained},
};

static const char text[] =
    "name: own-method\n"
    "data: {name: blobs, train: 200, test: 40, classes: 4}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}\n"
    "coarse: {step: 0.01}\n"
    "runs: [{label: coarse, method: coarse}]\n";

static eg_status run(const char *out, char folder[512])
{
    eg_experiment_file *file;
    eg_experiment *e = NULL;
    eg_run_how how = {.out = out, .workers = 1};
    bool stopped;
    EG_TRY(eg_method_add(&method));
    EG_TRY(eg_experiment_parse("own_method.c", text, &file));
    eg_status s = eg_experiment_file_resolve(file, NULL, 0, NULL, &e);
    if (s == EG_OK)
        s = eg_experiment_run(e, &how, folder, &stopped);
    eg_experiment_free(e);
    eg_experiment_file_free(file);
    return s;
}

int main(int argc, char **argv)
{
    char folder[512];
    if (run(argc > 1 ? argv[1] : "runs", folder) != EG_OK) {
        fprintf(stderr, "%s\n", eg_error());
        return 1;
    }
    printf("%s\n", folder);
    return 0;
}
