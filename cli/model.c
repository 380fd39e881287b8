/* model.c - `engram model`: a network's tensors, and its weight files.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/experiment.h>
#include <engram/saved.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shape of an image; zeroed: it was not given. */
typedef struct model_shape {
    bool given;
    int64_t channels, height, width;
} model_shape;

typedef struct model_options {
    const char *name, *load, *save, *only, *data_dir;
    model_shape input;
    int64_t classes; /* 0: not given */
    cli_texts settings;
    uint64_t seed;
} model_options;

static eg_status model_take_input(void *field, const char *value)
{
    model_shape *shape = field;
    long long c, h, w;
    char rest;
    if (sscanf(value, "%lldx%lldx%lld%c", &c, &h, &w, &rest) != 3)
        return eg_fail(EG_EINVAL, "'%s' is not CxHxW", value);
    *shape = (model_shape){true, c, h, w};
    return EG_OK;
}

static const cli_option model_rows[] = {
    CLI_TEXT("NAME", NULL, model_options, name, NULL, .what = "a network", .needed = true,
             .offer = CLI_OFFERS_EXPERIMENTS),
    CLI_TAKEN("--input", "CxHxW", model_options, input, model_shape, model_take_input,
              "shape of an image (1x28x28; of a resnet 3x32x32)"),
    CLI_INT("--classes", "N", model_options, classes, 1, 9e18, "outputs (10)",
            .what = "classes"),
    CLI_TEXTS("--set", "'K=V ...'", model_options, settings, 64,
              "options of the network; of a file: a setting, as `run` takes it"),
    CLI_TEXT("--only", "LABEL", model_options, only, "of a file: the network of this run"),
    CLI_DATA_DIR(model_options, data_dir),
    CLI_SEED("--seed", "N", model_options, seed, "of the weights it starts with (0)"),
    CLI_FILE("--load", "FILE", model_options, load, "read and check a safetensors file"),
    CLI_FILE("--save", "FILE", model_options, save, "write one"),
    CLI_END,
};

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

/* The network by its name, made for the shape or for the images that such networks usually see.
 * 0, or the exit code. */
static int model_by_name(const model_options *o, eg_net_spec *spec, eg_net **net)
{
    char options[EG_CLI_SETS];
    if (!eg_cli_join_sets("model", &o->settings, options))
        return 2;
    spec->options = options;
    if (o->only || o->data_dir)
        return eg_cli_usage("model", "%s is for experiment files",
                            o->only ? "--only" : "--data-dir");
    eg_status s = eg_net_new(spec, net);
    return s == EG_OK ? 0 : eg_cli_refused("model", s);
}

/* The network of an experiment file's run, made for its data or for what was given. */
static int model_of_file(const model_options *o, const char *path, const eg_net_spec *spec,
                         eg_net **net)
{
    eg_experiment *e;
    bool shaped = o->input.given;
    if (shaped != (o->classes != 0))
        return eg_cli_usage("model", "of a file, --input and --classes go together");
    eg_status s = eg_experiment_load(path, o->only, o->settings.n, o->settings.list, &e);
    if (s != EG_OK)
        return eg_cli_unresolved("model", path, o->only, &o->settings, s);
    s = eg_experiment_net(e, o->data_dir, shaped ? spec : NULL, net);
    eg_experiment_free(e);
    return s == EG_OK ? 0 : eg_cli_failed();
}

static bool model_is_saved(const char *name)
{
    static const char ending[] = ".safetensors";
    size_t n = strlen(name), end = sizeof ending - 1;
    return n > end && strcmp(name + n - end, ending) == 0;
}

/* The network that a file of weights tells of. 0, or the exit code. */
static int model_show_saved(const model_options *o)
{
    eg_saved *saved;
    if (o->settings.n || o->only || o->load || o->save || o->classes || o->input.given)
        return eg_cli_usage("model", "a file of weights says itself what network it is of: no "
                                     "other option goes with it");
    if (eg_saved_open(o->name, &saved) != EG_OK)
        return eg_cli_failed();
    model_print(eg_saved_net(saved));
    eg_saved_free(saved);
    return 0;
}

/* Whether a word that is the name of no network is like that of an experiment alone; the error
 * text says of which. */
static bool model_is_experiment(const char *name)
{
    char room[CLI_PATH];
    eg_suggestion near = eg_suggest(name);
    eg_family_offer(&eg_model_family, &near);
    return !eg_model_find(name) && !*near.best && !cli_find_experiment(name, room) &&
           strstr(eg_error(), "did you mean");
}

static int model_run(int argc, char **argv)
{
    model_options o = {0};
    eg_net *net = NULL;
    int code = cli_parse(&eg_verb_model, argc, argv, &o);
    if (code)
        return code;
    bool colour = strncmp(o.name, "resnet", 6) == 0, shaped = o.input.given;
    eg_net_spec spec = {.model = o.name,
                        .channels = shaped   ? o.input.channels
                                    : colour ? 3
                                             : 1,
                        .height = shaped   ? o.input.height
                                  : colour ? 32
                                           : 28,
                        .width = shaped   ? o.input.width
                                 : colour ? 32
                                          : 28,
                        .classes = o.classes ? o.classes : 10};
    if (model_is_saved(o.name))
        return model_show_saved(&o);
    char room[CLI_PATH];
    const char *path = eg_model_find(o.name) ? NULL : cli_find_experiment(o.name, room);
    if (!path && model_is_experiment(o.name))
        return eg_cli_failed(); /* it says which */
    code = path ? model_of_file(&o, path, &spec, &net) : model_by_name(&o, &spec, &net);
    if (code)
        return code;
    if (!o.load && !o.save)
        model_print(net);
    eg_status s = model_files(net, &o);
    eg_net_free(net);
    return s == EG_OK ? 0 : eg_cli_failed();
}

const eg_verb eg_verb_model = {
    .name = "model",
    .run = model_run,
    .usage = "NAME|EXPERIMENT [options]\n"
             "FILE.safetensors",
    .help = "show a network's tensors; check or write a weight file",
    .details = "Of an experiment the network is made for its data, unless both --input and "
               "--classes are given. A file of weights says itself what network it is of.",
    .options = model_rows,
};
