/* encoder.c - what an encoder is a function of, and its file: written whole, checked when read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/pretrain/encoder.h"

#include "base/checksum.h"
#include "engine/model/net.h"
#include "io/disk.h"
#include "run/experiment/feed.h"
#include "run/experiment/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Notes of the file, beside those that say what network it is of. */
#define ENCODER_KEY      "pretrain"
#define ENCODER_ACCURACY "accuracy"
#define ENCODER_SHA256   "sha256"

static eg_status encoder_fits(const eg_pretrain_opts *o, const eg_net_spec *run)
{
    if (o->epochs == 0)
        return eg_fail(EG_EINVAL, "there is no pre-training: pretrain.epochs is 0");
    if (o->head == EG_PRETRAIN_ROWS && o->classes < run->classes)
        return eg_fail(
            EG_EINVAL,
            "pretrain.classes is %lld, but pretrain.head is rows and the network has "
            "%lld outputs to take from them; fresh draws its head",
            (long long)o->classes, (long long)run->classes);
    if (run->channels != 1 && run->channels != 3)
        return eg_fail(EG_EINVAL,
                       "pretrain: fractals have 1 channel or 3, the images have %lld",
                       (long long)run->channels);
    return EG_OK;
}

/* Settings, one per line, but how the head is taken over, which does not change the file. */
static void encoder_print_rows(FILE *to, const eg_encoder *c)
{
    for (const eg_opt *o = eg_settings_of_pretrain; o->name; o++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, c->opts, value);
        if (strcmp(o->name, "images") == 0)
            fprintf(to, "images: %" PRId64 "\n", c->images);
        else if (strcmp(o->name, "head") != 0)
            fprintf(to, "%s: %s\n", o->name, value);
    }
}

static eg_status encoder_print_key(const eg_experiment *e, eg_encoder *c)
{
    const eg_net_spec *s = eg_net_spec_of(c->net);
    char mean[EG_OPT_TEXT_SIZE], std[EG_OPT_TEXT_SIZE], options[EG_NET_OPTIONS];
    size_t n;
    EG_TRY(eg_model_print(e->model, e->model_options, sizeof options, options));
    FILE *to = open_memstream(&c->key, &n);
    if (!to)
        return eg_fail(EG_ENOMEM, "no memory for a text");
    eg_opt_print(eg_opts_find(eg_settings_of_data, "mean"), &e->data, mean);
    eg_opt_print(eg_opts_find(eg_settings_of_data, "std"), &e->data, std);
    fprintf(to, "engram: %s\nisa: %s\n", eg_version(), eg_isa_name());
    fprintf(to, "network: %s %s\n", s->model, options);
    fprintf(to, "input: %" PRId64 "x%" PRId64 "x%" PRId64 "\n", s->channels, s->height,
            s->width);
    fprintf(to, "mean: %s\nstd: %s\n", mean, std);
    encoder_print_rows(to, c);
    bool failed = ferror(to) != 0;
    return fclose(to) == 0 && !failed ? EG_OK : eg_fail(EG_ENOMEM, "no memory for a text");
}

/* "<folder>/pretrain-<16 digits of the key's digest>.safetensors", in a folder that is made. */
static eg_status encoder_find_place(eg_encoder *c)
{
    const char *given = getenv("ENGRAM_CACHE"), *home = getenv("HOME");
    char folder[EG_PRETRAIN_PATH], hash[65];
    uint8_t digest[32];
    int n = -1;
    if (given && *given)
        n = snprintf(folder, sizeof folder, "%s", given);
    else if (home && *home)
        n = snprintf(folder, sizeof folder, "%s/.cache/engram", home);
    else
        return eg_fail(EG_ENOENT, "there is no folder to keep an encoder in: neither "
                                  "ENGRAM_CACHE nor HOME is set");
    eg_sha256_of(c->key, strlen(c->key), digest);
    eg_sha256_text(digest, hash);
    if (n >= 0 && n < (int)sizeof folder)
        n = snprintf(c->path, sizeof c->path, "%s/pretrain-%.16s.safetensors", folder, hash);
    if (n < 0 || n >= (int)sizeof c->path - 8) /* its lock has a longer name */
        return eg_fail(EG_EINVAL, "the path '%.200s...' is too long", folder);
    return eg_disk_make_folder(folder);
}

static eg_status encoder_fill(const eg_experiment *e, const eg_net_spec *as_run, eg_encoder *c)
{
    eg_net_spec spec = *as_run;
    EG_TRY(encoder_fits(c->opts, as_run));
    spec.classes = c->opts->classes;
    spec.side = 0;
    EG_TRY(eg_net_new(&spec, &c->net));
    EG_TRY(eg_experiment_norm(&e->data, &c->norm));
    c->images = llround((double)c->opts->images * e->scale);
    c->images = c->images > 1 ? c->images : 2; /* batch norm cannot learn from one */
    EG_TRY(encoder_print_key(e, c));
    return encoder_find_place(c);
}

eg_status eg_encoder_init(const eg_experiment *e, const eg_net_spec *as_run, eg_encoder *out)
{
    *out = (eg_encoder){.opts = &e->pretrain};
    eg_status s = encoder_fill(e, as_run, out);
    if (s != EG_OK)
        eg_encoder_fini(out);
    return s;
}

void eg_encoder_fini(eg_encoder *c)
{
    eg_net_free(c->net);
    free(c->key);
    *c = (eg_encoder){0};
}

/* Of what it is, how good it is, and every value. */
static void encoder_hash(const eg_encoder *c, const char *accuracy, const float *value,
                         const float *state, char out[65])
{
    const eg_params *p = eg_net_params(c->net);
    uint8_t digest[32];
    eg_sha256 h;
    eg_sha256_init(&h);
    eg_sha256_add(&h, c->key, strlen(c->key) + 1);
    eg_sha256_add(&h, accuracy, strlen(accuracy) + 1);
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        eg_sha256_add(&h, (t->trained ? value : state) + t->offset, t->size * sizeof *value);
    }
    eg_sha256_end(&h, digest);
    eg_sha256_text(digest, out);
}

/* The digest of the values in the file. */
static eg_status encoder_hash_file(const eg_encoder *c, const char *accuracy, char out[65])
{
    const eg_params *p = eg_net_params(c->net);
    float *value = NULL, *state = NULL;
    eg_status s = eg_params_alloc(p, &value);
    if (s == EG_OK)
        s = eg_state_alloc(p, &state);
    if (s == EG_OK)
        s = eg_params_load(p, c->path, value, state);
    if (s == EG_OK)
        encoder_hash(c, accuracy, value, state, out);
    free(value);
    free(state);
    return s;
}

static eg_status encoder_compare(const eg_encoder *c, const eg_tensors *file,
                                 eg_pretrained *out)
{
    const char *key = eg_tensors_note(file, ENCODER_KEY);
    const char *accuracy = eg_tensors_note(file, ENCODER_ACCURACY);
    const char *hash = eg_tensors_note(file, ENCODER_SHA256);
    if (!key || !accuracy || !hash || strcmp(key, c->key) != 0)
        return eg_fail(EG_EFORMAT, "%s: it is of another pre-training", c->path);
    EG_TRY(encoder_hash_file(c, accuracy, out->sha256));
    if (strcmp(hash, out->sha256) != 0)
        return eg_fail(EG_EFORMAT, "%s: it was changed", c->path);
    out->accuracy = strtod(accuracy, NULL);
    return EG_OK;
}

eg_status eg_encoder_check(const eg_encoder *c, eg_pretrained *out)
{
    eg_tensors *file;
    snprintf(out->path, sizeof out->path, "%s", c->path);
    if (access(c->path, F_OK) != 0)
        return eg_fail(EG_ENOENT, "%s: is not there", c->path);
    EG_TRY(eg_safetensors_load(c->path, &file));
    eg_status s = encoder_compare(c, file, out);
    eg_tensors_free(file);
    return s;
}

eg_status eg_encoder_write(const eg_encoder *c, const float *value, const float *state,
                           double accuracy)
{
    char text[32], hash[65];
    snprintf(text, sizeof text, "%.17g", accuracy);
    encoder_hash(c, text, value, state, hash);
    const eg_stored_note notes[] = {
        {ENCODER_KEY, c->key}, {ENCODER_ACCURACY, text}, {ENCODER_SHA256, hash}};
    return eg_net_save(c->net, c->path, value, state, notes, sizeof notes / sizeof *notes);
}
