/* model.c - `engram model`: a network's tensors, and its weight files.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct model_options {
    eg_net_spec spec;
    char sets[EG_CLI_SETS]; /* the spec's options */
    const char *load, *save;
    uint64_t seed;
} model_options;

static void model_print(const eg_net *net)
{
    const eg_params *p = eg_net_params(net);
    const eg_net_spec *s = eg_net_spec_of(net);
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        char shape[64];
        eg_shape_print(t->shape, shape);
        printf("%-34s %-22s %9zu%s\n", t->name, shape, t->size, t->trained ? "" : "  state");
    }
    printf("\n%s for %lldx%lldx%lld and %lld classes: %lld parameters\n", s->model,
           (long long)s->channels, (long long)s->height, (long long)s->width,
           (long long)s->classes, (long long)eg_params_count(p));
}

static eg_status model_files(const eg_net *net, const model_options *o)
{
    const eg_params *p = eg_net_params(net);
    float *value = NULL, *state = NULL;
    eg_status s = eg_params_alloc(p, &value);
    if (s == EG_OK)
        s = eg_state_alloc(p, &state);
    if (s == EG_OK)
        eg_params_init(p, o->seed, value, state);
    if (s == EG_OK && o->load) {
        s = eg_params_load(p, o->load, value, state);
        if (s == EG_OK)
            printf("%s: every tensor is there, with its shape and finite values\n", o->load);
    }
    if (s == EG_OK && o->save) {
        s = eg_params_save(p, o->save, value, state);
        if (s == EG_OK)
            printf("wrote %s\n", o->save);
    }
    free(value);
    free(state);
    return s;
}

static int model_parse(int argc, char **argv, model_options *o)
{
    for (int i = 2; i < argc; i++) {
        const char *name = argv[i], *value;
        char rest;
        static const char *const known[] = {"--input", "--classes", "--load",
                                            "--save",  "--seed",    "--set"};
        if (!eg_cli_knows(name, sizeof known / sizeof *known, known))
            return eg_cli_usage("model", "there is no option '%s'", name);
        value = eg_cli_value("model", argc, argv, &i);
        if (!value)
            return 2;
        long long c, h, w;
        if (strcmp(name, "--load") == 0) {
            o->load = value;
        } else if (strcmp(name, "--save") == 0) {
            o->save = value;
        } else if (strcmp(name, "--set") == 0) {
            if (!eg_cli_add_set("model", o->sets, value))
                return 2;
            o->spec.options = o->sets;
        } else if (strcmp(name, "--input") == 0) {
            if (sscanf(value, "%lldx%lldx%lld%c", &c, &h, &w, &rest) != 3)
                return eg_cli_usage("model", "'%s' is not CxHxW", value);
            o->spec.channels = c, o->spec.height = h, o->spec.width = w;
        } else if (strcmp(name, "--seed") == 0) {
            if (eg_cli_seed("model", value, &o->seed) != 0)
                return 2;
        } else if (sscanf(value, "%lld%c", &c, &rest) != 1 || c < 0) {
            return eg_cli_usage("model", "%s: '%s' is no number", name, value);
        } else {
            o->spec.classes = c;
        }
    }
    return 0;
}

int eg_verb_model(int argc, char **argv)
{
    if (argc < 2)
        return eg_cli_usage("model", "a name is needed");
    bool colour = strncmp(argv[1], "resnet", 6) == 0;
    model_options o = {.spec = {.model = argv[1],
                                .channels = colour ? 3 : 1,
                                .height = colour ? 32 : 28,
                                .width = colour ? 32 : 28,
                                .classes = 10}};
    int wrong = model_parse(argc, argv, &o);
    if (wrong)
        return wrong;
    eg_net *net;
    eg_status s = eg_net_new(&o.spec, &net);
    if (s != EG_OK)
        return eg_cli_refused("model", s);
    if (!o.load && !o.save)
        model_print(net);
    s = model_files(net, &o);
    eg_net_free(net);
    return s == EG_OK ? 0 : eg_cli_failed();
}
