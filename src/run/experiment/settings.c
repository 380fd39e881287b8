/* settings.c - the settings of an experiment that no component owns, and one setter for all.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What stands under `optimizer` belongs to the optimiser that is named there: another name
 * begins with that one's defaults.
 */
#include "run/experiment/settings.h"

#include "world/data/find.h"

#include <engram/transform.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// clang-format off
const eg_opt eg_settings_of_all[] = {
    EG_OPT_REAL(eg_experiment, scale, 1, 1e-6, 1, "the share of rounds and of rows that is used: small, to try an experiment; memories and caches keep their sizes"),
    EG_OPT_TEXT(eg_experiment, bound, "centralized", "label of the run that average regret (ar) compares with, seed by seed"),
    EG_OPT_END,
};
static const eg_opt settings_train[] = {
    EG_OPT_INT(eg_train_opts, epochs, 1, 1, 100000, "passes over a client's samples in a round"),
    EG_OPT_INT(eg_train_opts, batch, 32, 1, 65536, "samples in a batch"),
    EG_OPT_INT(eg_train_opts, steps, 0, 0, 1e7, "batches of a round in place of epochs: whole ones, of the samples shuffled anew whenever what is left makes none; 0: by epochs"),
    EG_OPT_CHOICE(eg_train_opts, optimizer_state, 0,
                  "of a client: fresh each round, or kept from its last one", "fresh|keep"),
    EG_OPT_CHOICE(eg_train_opts, classes, 0, "outputs in the loss: all; of classes any client met, or this one; of the row's task (of replayed rows: this client's)",
                  "all|seen|client|task"),
    EG_OPT_REAL(eg_train_opts, clip, 0, 0, 1e9, "a gradient longer than this is scaled down to it; 0: none is"),
    EG_OPT_REAL(eg_train_opts, temperature, 1, 1e-3, 1e3, "what logits are divided by in the loss"),
    EG_OPT_BOOL(eg_train_opts, rotations, 0, "an image of class y is four rows of a batch, turned by 0, 90, 180 and 270 degrees, that the head must tell apart: labels 4 y to 4 y + 3; tests are upright"),
    EG_OPT_END,
};
static const eg_opt settings_schedule[] = {
    EG_OPT_CHOICE(eg_schedule, kind, 0, "constant; lower after each so many rounds; or half a cosine over all rounds", EG_SCHEDULE_KINDS),
    EG_OPT_INT(eg_schedule, every, 1000, 1, 1e9, "of step: rounds from one change to the next"),
    EG_OPT_REAL(eg_schedule, factor, 0.5, 0, 1, "of step: what each change multiplies by"),
    EG_OPT_REAL(eg_schedule, least, 0, 0, 1, "of cosine: the share of lr it falls towards"),
    EG_OPT_INT(eg_schedule, warmup, 0, 0, 1e9, "rounds in which it rises to lr before"),
    EG_OPT_END,
};
static const eg_opt settings_server[] = {
    EG_OPT_CHOICE(eg_server_opts, weights, 0, "of clients in the mean: by samples, or all alike",
                  "samples|uniform"),
    EG_OPT_CHOICE(eg_server_opts, bn, 0, "batch-norm statistics: averaged, or the server's kept",
                  "average|keep"),
    EG_OPT_CHOICE_AS("mean", eg_server_opts, mean.rule, 0, "of the clients' models, place by place: the mean; or what a few hostile clients cannot move far: the median, the mean without both ends, the mean of changes of bounded length",
                     "mean|median|trimmed|norm-clip"),
    EG_OPT_REAL_AS("trim", eg_server_opts, mean.trim, 0.2, 0, 0.49, "of trimmed: share of the weight that is cut off at either end"),
    EG_OPT_REAL_AS("clip", eg_server_opts, mean.clip, 0, 0, 1e9, "of norm-clip: longest change of an upload; 0: the median length of the round's changes"),
    EG_OPT_INT(eg_server_opts, interval, 1, 1, 1e6, "rounds clients go on from their own model; 1: none"),
    EG_OPT_INT(eg_server_opts, min_clients, 1, 1, 1e9, "fewer good uploads skip the round"),
    EG_OPT_REAL(eg_server_opts, max_change, 10, 0, 1e9, "an upload that moves the model by more than so many times its length is left out; 0: none is"),
    EG_OPT_CHOICE(eg_server_opts, late, 0, "a device's answer that comes after its round: is dropped; or joins the next mean with a weight of 1/sqrt(1 + its age in rounds)",
                  "drop|buffer"),
    EG_SERVER_OPTIMIZER_ROWS(eg_server_opts, optimizer),
    EG_OPT_END,
};
static const eg_opt settings_secure[] = {
    EG_OPT_CHOICE(eg_secure_opts, kind, 0, "what the server learns: each client's answer; their sum in whole numbers, added in the open; that sum alone, by secure aggregation",
                  "none|plain|masked"),
    EG_OPT_REAL(eg_secure_opts, range, 8, 1e-9, 1e9, "the most that a weight may change in a round, and that a value of a method's vectors may be: beyond it is clipped"),
    EG_OPT_REAL(eg_secure_opts, statistics, 64, 1e-9, 1e9, "the same for batch-norm statistics"),
    EG_OPT_INT(eg_secure_opts, samples, 0, 0, 1e9, "a client with more samples counts as one with so many; 0: as the scenario deals them"),
    EG_OPT_END,
};
static const eg_opt settings_dp[] = {
    EG_OPT_CHOICE(eg_dp_opts, kind, EG_DP_SAMPLED, "noise in each round's sum, for clients drawn by selection poisson; or in a tree over all rounds, for clients that come when they like",
                  "sampled|ftrl"),
    EG_OPT_REAL(eg_dp_opts, clip, 0, 0, 1e9, "a client's change that is longer is scaled down to this"),
    EG_OPT_REAL(eg_dp_opts, exchange_clip, 0, 0, 1e9, "the same for its answer to a method's own exchange; 0: as clip"),
    EG_OPT_REAL(eg_dp_opts, sigma, 0, 0, 1e6, "deviation of the noise in clips, per element of the sum; 0: no differential privacy"),
    EG_OPT_REAL(eg_dp_opts, delta, 1e-5, 0, 1, "the chance that epsilon is no bound: far below one in the number of clients"),
    EG_OPT_REAL(eg_dp_opts, epsilon, 0, 0, 1e9, "the run ends before more than this is spent; 0: it is only counted"),
    EG_OPT_CHOICE(eg_dp_opts, noise, 0, "of the system's generator; or of the seed, for tests: no privacy", "system|seeded"),
    EG_OPT_BOOL(eg_dp_opts, adaptive, 0, "the clip follows the length that a share of the clients stays below, counted with noise of its own"),
    EG_OPT_REAL(eg_dp_opts, quantile, 0.5, 0.01, 0.99, "of adaptive: that share"),
    EG_OPT_REAL(eg_dp_opts, rate, 0.2, 1e-6, 10, "of adaptive: how fast the clip follows, as an exponent"),
    EG_OPT_INT(eg_dp_opts, separation, 0, 0, 1e9, "of ftrl: rounds from one contribution of a client to its next, at least; 0: each contributes once"),
    EG_OPT_END,
};
static const eg_opt settings_eval[] = {
    EG_OPT_COUNT(eg_eval_opts, every, EG_EVERY_TASK, 1e9, "full tests after each task; or a curve too, each round, or after every so many rounds",
                 "task|round"),
    EG_OPT_INT(eg_eval_opts, samples, 1000, 1, 1e9, "test samples per task for the curve"),
    EG_OPT_INT(eg_eval_opts, patience, 0, 0, 1e9, "the run ends when so many points of the curve in a row, once all tasks have come, bring no better accuracy on data.validation; 0: never"),
    EG_OPT_BOOL(eg_eval_opts, local, 0, "at task ends what each client uploads is tested too, on the client's own tasks (client_mean); where clients have models of their own, or meet a stream, these are tested in any case"),
    EG_OPT_INT(eg_eval_opts, top, 1, 1, 1e6, "an answer is right if the true class is among so many that the model finds likeliest; 1: if it is the likeliest"),
    EG_OPT_CHOICE(eg_eval_opts, classes, 0, "answers a model may give: all; classes any client met, or the model's own client; the test task's",
                  "all|seen|client|task"),
    EG_OPT_END,
};
static const eg_opt settings_memory[] = {
    EG_OPT_CHOICE(eg_memory_opts, kind, 0, "what a client keeps of its past",
                  "none|reservoir|window|random"),
    EG_OPT_INT(eg_memory_opts, size, 200, 1, 1e9, "rows it holds"),
    EG_OPT_CHOICE(eg_memory_opts, insert, 0, "every batch is offered, or each sample once per stage",
                  "always|once"),
    EG_OPT_END,
};
const eg_opt eg_settings_of_data[] = {
    EG_OPT_REAL(eg_data_opts, share, 1, 1e-6, 1, "of every class's images, for training and for testing, that are used"),
    EG_OPT_REAL(eg_data_opts, validation, 0, 0, EG_MAX_VALIDATION, "of each client's training images, of every class alike, held out of training"),
    EG_OPT_INT(eg_data_opts, size, 0, 0, 4096, "side images are scaled to; 0: as they are"),
    EG_OPT_INT(eg_data_opts, channels, 0, 0, 3, "1 grey, 3 colour; 0: as they are"),
    EG_OPT_LIST(eg_data_opts, mean, EG_MAX_NORM, "0", -1e3, 1e3, "subtracted from values scaled to [0, 1]; a number, or one for each channel"),
    EG_OPT_LIST(eg_data_opts, std, EG_MAX_NORM, "1", 1e-6, 1e3, "what they are divided by then; a number, or one for each channel"),
    EG_OPT_BOOL(eg_data_opts, normalize, 0, "mean and std of each channel are those of the training data, as they are measured when the run begins"),
    EG_OPT_INT(eg_data_opts, crop, 0, 0, 64, "random crop in training: zeros added around"),
    EG_OPT_INT(eg_data_opts, cutout, 0, 0, 4096, "side of a square of zeros in training"),
    EG_OPT_BOOL(eg_data_opts, flip, 0, "left to right at random in training"),
    EG_OPT_END,
};
const eg_opt eg_settings_of_pretrain[] = {
    EG_OPT_INT(eg_pretrain_opts, epochs, 0, 0, 100000, "passes over the fractals; 0: no pre-training"),
    EG_OPT_INT(eg_pretrain_opts, classes, 1000, 1, 1e7, "of fractals, each a system of its own"),
    EG_OPT_INT(eg_pretrain_opts, images, 1e6, 2, 1e9, "fractals in all, drawn as needed in the size and channels of the data"),
    EG_OPT_INT(eg_pretrain_opts, points, 100000, 1, 1e9, "points drawn per image"),
    EG_OPT_INT(eg_pretrain_opts, batch, 32, 1, 65536, "images in a batch"),
    EG_OPT_REAL(eg_pretrain_opts, lr, 0.001, 0, 1e3, "step size of Adam"),
    EG_OPT_REAL(eg_pretrain_opts, weight_decay, 0.0002, 0, 1e3, "of Adam"),
    EG_OPT_REAL(eg_pretrain_opts, temperature, 1, 1e-3, 1e3, "what logits are divided by in the loss; for head rows best that of train, which they must fit"),
    EG_OPT_INT(eg_pretrain_opts, seed, 0, 0, 1e15, "of fractals, first values and order; all seeds of a run start from one encoder"),
    EG_OPT_CHOICE(eg_pretrain_opts, head, 0, "the last layer: the first rows of the fractals', or drawn by the run's seed", "rows|fresh"),
    EG_OPT_END,
};
const eg_opt eg_settings_of_model[] = {
    EG_OPT_TEXT(eg_start_opts, weights, "", "a safetensors file with the global model's first values, by PyTorch's names; a path, or in the data folder's weights/; without one they are drawn"),
    EG_OPT_TEXT(eg_start_opts, weights_sha256, "", "of that file; another one is refused"),
    EG_OPT_BOOL(eg_start_opts, strict, 1, "a tensor of the file that the network lacks is an error; false: it is left out, and named when the run begins"),
    EG_OPT_CHOICE(eg_start_opts, head, 0, "the last layer: as in the file, drawn, or the first rows of a file's with more outputs", "keep|fresh|rows"),
    EG_OPT_TEXT(eg_start_opts, train, "all", "what is trained and sent: all; head: the last layer alone; or a list of tensors and layers, and the last one"),
    EG_OPT_CHOICE(eg_start_opts, features, 0, "of a transformer that is frozen: computed once for each sample, and kept in the cache; or in each batch, with the same bits", "once|each"),
    EG_OPT_END,
};
// clang-format on

static const eg_section settings_sections[] = {
    {{"memory", "the past a client keeps", sizeof(eg_memory_opts), settings_memory},
     offsetof(eg_experiment, memory),
     false},
    {{"train", "local training", sizeof(eg_train_opts), settings_train},
     offsetof(eg_experiment, train),
     false},
    {{"schedule", "the step size of clients over the rounds", sizeof(eg_schedule),
      settings_schedule},
     offsetof(eg_experiment, schedule),
     false},
    {{"server", "how the clients' models become one", sizeof(eg_server_opts), settings_server},
     offsetof(eg_experiment, server),
     false},
    {{"secure", "what the server learns of single clients", sizeof(eg_secure_opts),
      settings_secure},
     offsetof(eg_experiment, secure),
     true},
    {{"dp", "differential privacy: what the model says of single clients", sizeof(eg_dp_opts),
      settings_dp},
     offsetof(eg_experiment, dp),
     true},
    {{"eval", "how models are tested", sizeof(eg_eval_opts), settings_eval},
     offsetof(eg_experiment, eval),
     false},
    {{"pretrain", "what the network learns from fractals before the first round",
      sizeof(eg_pretrain_opts), eg_settings_of_pretrain},
     offsetof(eg_experiment, pretrain),
     false},
};
static const eg_component settings_about_data = {
    "data", "the images, beside the data set's own options", sizeof(eg_data_opts),
    eg_settings_of_data};
static const eg_component settings_about_model = {
    "model", "the network's first values, beside its own options", sizeof(eg_start_opts),
    eg_settings_of_model};
static const eg_component settings_about_all = {"experiment",
                                                "at the top of the file, in no section",
                                                sizeof(eg_experiment), eg_settings_of_all};

const eg_section *const eg_sections[] = {
    &settings_sections[0], &settings_sections[1], &settings_sections[2],
    &settings_sections[3], &settings_sections[4], &settings_sections[5],
    &settings_sections[6], &settings_sections[7], NULL};

static const void *const settings_listed[] = {
    &settings_sections[0], &settings_sections[1], &settings_sections[2], &settings_sections[3],
    &settings_sections[4], &settings_sections[5], &settings_sections[6], &settings_sections[7],
    &settings_about_data,  &settings_about_model, &settings_about_all,   NULL};
const eg_family eg_setting_family = {"settings", "settings of", settings_listed, NULL};

/* Shows methods what the optimiser has. */
static void settings_show_optimizer(eg_experiment *e)
{
    const eg_opt *opts = e->optimizer.kind->component.opts;
    e->train.optimizer = e->optimizer.kind->component.name;
    eg_opts_get_real(opts, e->optimizer.options, "lr", &e->train.lr);
    eg_opts_get_real(opts, e->optimizer.options, "momentum", &e->train.momentum);
    eg_opts_get_real(opts, e->optimizer.options, "weight_decay", &e->train.weight_decay);
}

static eg_status settings_set_optimizer(eg_experiment *e, const char *name, const char *value)
{
    eg_optimizer_opts *o = &e->optimizer;
    if (strcmp(name, "name") == 0) {
        const eg_optim *kind = eg_optim_find(value);
        void *options;
        if (!kind)
            return EG_ENOENT;
        EG_TRY(eg_component_new(&kind->component, &options));
        free(o->options);
        *o = (eg_optimizer_opts){kind, options};
    } else {
        const eg_component *c = &o->kind->component;
        EG_TRY(eg_blame(eg_opts_set(c->opts, o->options, name, value), "%s", c->name));
    }
    settings_show_optimizer(e);
    return EG_OK;
}

/* An option of a component, which is named if it has none of that name. */
static eg_status settings_set_own(const eg_component *c, void *self, const char *name,
                                  const char *value)
{
    if (!eg_opts_find(c->opts, name))
        return eg_fail(EG_ENOENT, "%s has no option '%s'", c->name, name);
    return eg_opts_set(c->opts, self, name, value);
}

/* An option of the data: of how images are prepared, or of the newest source. */
static eg_status settings_set_data(eg_experiment *e, const char *name, const char *value)
{
    if (eg_opts_find(eg_settings_of_data, name))
        return eg_opts_set(eg_settings_of_data, &e->data, name, value);
    if (e->n_sources == 0)
        return eg_fail(EG_EINVAL, "the data set's name must come before its options");
    size_t i = e->n_sources - 1;
    return settings_set_own(&e->sets[i]->component, e->set_options[i], name, value);
}

/* A data set in place of those there were; how images are prepared stays. */
static eg_status settings_set_source(eg_experiment *e, const char *word)
{
    if (!eg_dataset_find(word))
        return EG_ENOENT;
    eg_experiment_drop_sources(e);
    return eg_experiment_add_source(e, word);
}

/* A file to start from. "" is none. */
static eg_status settings_set_weights(eg_experiment *e, const char *path)
{
    eg_start_opts *o = &e->start;
    char beside[EG_PATH_SIZE], found[EG_WEIGHTS_PATH];
    if (*path != '/' && *e->folder && eg_path_join(e->folder, path, beside) == EG_OK &&
        access(path, R_OK) != 0 && *path && access(beside, R_OK) == 0)
        path = beside;
    eg_weights_find(path, found);
    if (*path && access(found, R_OK) != 0)
        return eg_fail(EG_EINVAL, "weights: there is no file '%s' to read", path);
    return eg_opts_set(eg_settings_of_model, o, "weights", path);
}

/* Another network, with its own options as they are; or an option of the one there is. */
static eg_status settings_set_model(eg_experiment *e, const char *name, const char *value)
{
    if (strcmp(name, "name") == 0)
        return eg_experiment_set_model(e, value);
    if (strcmp(name, "weights") == 0)
        return settings_set_weights(e, value);
    if (eg_opts_find(eg_settings_of_model, name))
        return eg_opts_set(eg_settings_of_model, &e->start, name, value);
    if (!eg_opts_find(e->model->component.opts, name))
        return eg_fail(EG_ENOENT, "the model '%s' has no option '%s'", e->model->component.name,
                       name);
    e->layers.n = 0; /* where they stood; whoever read them from a file tells it anew */
    EG_TRY(eg_opts_set(e->model->component.opts, e->model_options, name, value));
    return e->model->settle ? e->model->settle(e->model_options) : EG_OK;
}

/* An option of a part. One that this run does not use is checked too. */
static eg_status settings_set_part(eg_experiment *e, const char *part, const char *name,
                                   const char *value)
{
    if (eg_parts_has(&e->parts, part))
        return eg_parts_set(&e->parts, part, name, value);
    const eg_method *m = eg_method_find(part);
    if (!m)
        return eg_fail(EG_ENOENT, "there is no setting or method '%s'", part);
    void *scratch;
    EG_TRY(eg_component_new(&m->component, &scratch));
    eg_status s = eg_opts_set(m->component.opts, scratch, name, value);
    free(scratch);
    return s;
}

/* The length of the character at the start of a text, 0 if it is none of UTF-8 or one that ends
 * a line or steers a terminal. */
static size_t settings_character(const unsigned char *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
    uint32_t code = n == 1 ? *at : *at & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        code = code << 6 | (at[i] & 0x3fU);
    }
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool strange = code == 0x2028 || code == 0x2029 || code == 0xfeff || code == 0xfffe ||
                   code == 0xffff || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
    return n == 0 || code < least[n] || control || strange ? 0 : n;
}

eg_status eg_setting_check_text(const char *name, const char *text, size_t room)
{
    if (strlen(text) >= room)
        return eg_fail(EG_EINVAL, "%s: more than %zu characters", name, room - 1);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t n = settings_character(at);
        if (n == 0)
            return eg_fail(EG_EINVAL,
                           "%s: a control character, a line end or what is not UTF-8, after "
                           "'%.*s'",
                           name, (int)(at - (const unsigned char *)text), text);
        at += n;
    }
    return EG_OK;
}

static eg_status settings_set(eg_experiment *e, const char *key, const char *value)
{
    char head[EG_OPT_TEXT_SIZE];
    size_t n = strcspn(key, ".");
    snprintf(head, sizeof head, "%.*s", (int)n, key);
    const char *name = key[n] ? key + n + 1 : "name";
    EG_TRY(eg_setting_check_text(key, value,
                                 strcmp(key, "name") == 0 ? EG_LABEL_SIZE : EG_OPT_TEXT_SIZE));
    if (strcmp(key, "name") == 0) {
        snprintf(e->name, sizeof e->name, "%s", value);
        return EG_OK;
    }
    if (eg_opts_find(eg_settings_of_all, key))
        return eg_opts_set(eg_settings_of_all, e, key, value);
    if (strcmp(head, "data") == 0)
        return strcmp(name, "name") == 0 ? settings_set_source(e, value)
                                         : settings_set_data(e, name, value);
    if (strcmp(head, "model") == 0)
        return settings_set_model(e, name, value);
    if (strcmp(head, "scenario") == 0)
        return eg_spec_set(e->spec, strcmp(name, "partition.kind") == 0 ? "partition" : name,
                           value);
    if (strcmp(head, "optimizer") == 0)
        return settings_set_optimizer(e, name, value);
    for (const eg_section *const *s = eg_sections; *s; s++)
        if (strcmp((*s)->component.name, head) == 0)
            return settings_set_own(&(*s)->component, (char *)e + (*s)->offset,
                                    key[n] ? name : "kind", value);
    return settings_set_part(e, head, name, value);
}

eg_status eg_experiment_set(eg_experiment *e, const char *key, const char *value)
{
    return eg_setting_hint(settings_set(e, key, value), e, key);
}

/* A text may hold commas, a list does. */
static bool settings_is_text(const eg_opt *opts, const char *name)
{
    const eg_opt *o = eg_opts_find(opts, name);
    return o && (o->type == EG_OPT_IS_TEXT || o->type == EG_OPT_IS_LIST);
}

/* Whether any member of a family has a text of this name. */
static bool settings_has_text(const eg_family *f, const char *name)
{
    const eg_component *c;
    for (size_t i = 0; (c = eg_family_at(f, i)); i++)
        if (settings_is_text(c->opts, name))
            return true;
    return false;
}

bool eg_setting_is_text(const char *key)
{
    static const char inner[] = "partition.";
    char head[EG_OPT_TEXT_SIZE];
    size_t n = strcspn(key, ".");
    if (!key[n])
        return strcmp(key, "name") == 0 || settings_is_text(eg_settings_of_all, key);
    snprintf(head, sizeof head, "%.*s", (int)n, key);
    const char *name = key + n + 1;
    if (strcmp(head, "model") == 0)
        return settings_is_text(eg_settings_of_model, name) ||
               settings_has_text(&eg_model_family, name);
    if (strcmp(head, "data") == 0)
        return settings_is_text(eg_settings_of_data, name) ||
               settings_has_text(&eg_dataset_family, name);
    if (strcmp(head, "optimizer") == 0)
        return settings_has_text(&eg_optim_family, name);
    if (strcmp(head, "scenario") == 0)
        return strncmp(name, inner, sizeof inner - 1) == 0
                   ? settings_has_text(&eg_partition_family, name + sizeof inner - 1)
                   : settings_has_text(&eg_kind_family, name);
    for (const eg_section *const *s = eg_sections; *s; s++)
        if (strcmp(head, (*s)->component.name) == 0)
            return settings_is_text((*s)->component.opts, name);
    const eg_method *m = eg_method_find(head);
    return m && settings_is_text(m->component.opts, name);
}
