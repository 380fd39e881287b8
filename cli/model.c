/* model.c - `engram model`: a network's tensors, and its weight files.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/experiment.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct model_options {
    eg_net_spec spec;
    bool input, classes; /* were given */
    eg_cli_settings settings;
    const char *load, *save, *only, *data_dir;
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
        s = eg_net_save(net, o->save, value, state, NULL, 0);
        if (s == EG_OK)
            printf("wrote %s\n", o->save);
    }
    free(value);
    free(state);
    return s;
}

/* An option with its value. 0, or 2 after saying what is wrong. */
static int model_option(model_options *o, const char *name, const char *value)
{
    long long c, h, w;
    char rest;
    if (strcmp(name, "--load") == 0) {
        o->load = value;
    } else if (strcmp(name, "--save") == 0) {
        o->save = value;
    } else if (strcmp(name, "--only") == 0) {
        o->only = value;
    } else if (strcmp(name, "--data-dir") == 0) {
        o->data_dir = value;
    } else if (strcmp(name, "--seed") == 0) {
        return eg_cli_seed("model", value, &o->seed);
    } else if (strcmp(name, "--set") == 0) {
        return eg_cli_add_setting("model", &o->settings, value);
    } else if (strcmp(name, "--input") == 0) {
        if (sscanf(value, "%lldx%lldx%lld%c", &c, &h, &w, &rest) != 3)
            return eg_cli_usage("model", "'%s' is not CxHxW", value);
        o->spec.channels = c, o->spec.height = h, o->spec.width = w;
        o->input = true;
    } else if (sscanf(value, "%lld%c", &c, &rest) != 1 || c < 0) {
        return eg_cli_usage("model", "%s: '%s' is no number", name, value);
    } else {
        o->spec.classes = c;
        o->classes = true;
    }
    return 0;
}

static int model_parse(int argc, char **argv, model_options *o)
{
    static const char *const known[] = {"--input", "--classes", "--load", "--save",
                                        "--seed",  "--set",     "--only", "--data-dir"};
    for (int i = 2; i < argc; i++) {
        const char *name = argv[i];
        if (!eg_cli_knows(name, sizeof known / sizeof *known, known))
            return eg_cli_unknown("model", "network", argv[1], name);
        const char *value = eg_cli_value("model", argc, argv, &i);
        int wrong = value ? model_option(o, name, value) : 2;
        if (wrong)
            return wrong;
    }
    return 0;
}

/* The network by its name. 0, or the exit code. */
static int model_by_name(const model_options *o, eg_net **net)
{
    char options[EG_CLI_SETS] = "";
    for (size_t i = 0; i < o->settings.n; i++)
        if (!eg_cli_add_set("model", options, o->settings.pairs[i]))
            return 2;
    eg_net_spec spec = o->spec;
    spec.options = options;
    if (o->only || o->data_dir)
        return eg_cli_usage("model", "%s is for experiment files",
                            o->only ? "--only" : "--data-dir");
    eg_status s = eg_net_new(&spec, net);
    return s == EG_OK ? 0 : eg_cli_refused("model", s);
}

/* The network of an experiment file's run, made for its data or for what was given. */
static int model_of_file(const model_options *o, const char *path, eg_net **net)
{
    eg_experiment *e;
    if (o->input != o->classes)
        return eg_cli_usage("model", "of a file, --input and --classes go together");
    eg_status s = eg_experiment_load(path, o->only, o->settings.n, o->settings.pairs, &e);
    if (s != EG_OK)
        return eg_cli_unresolved("model", path, o->only, &o->settings, s);
    s = eg_experiment_net(e, o->data_dir, o->input ? &o->spec : NULL, net);
    eg_experiment_free(e);
    return s == EG_OK ? 0 : eg_cli_failed();
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
    bool file = !eg_model_find(argv[1]) && access(argv[1], F_OK) == 0;
    eg_net *net = NULL;
    int code = model_parse(argc, argv, &o);
    if (code == 0)
        code = file ? model_of_file(&o, argv[1], &net) : model_by_name(&o, &net);
    if (code)
        return code;
    if (!o.load && !o.save)
        model_print(net);
    eg_status s = model_files(net, &o);
    eg_net_free(net);
    return s == EG_OK ? 0 : eg_cli_failed();
}
