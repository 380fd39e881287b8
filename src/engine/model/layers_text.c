/* layers_text.c - reads a network from a list of layers, and writes it in one form.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/model/layers_text.h"

#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which words may follow a kind. */
enum { TEXT_KERNEL = 1, TEXT_WINDOW = 2, TEXT_BIAS = 4, TEXT_GROUPS = 8, TEXT_HIDDEN = 16 };

/* What may be written of a kind. A number that has no default must be there. */
typedef struct text_kind {
    const char *name;
    const char *number; /* what its number is; NULL: it has none */
    double min, max, standard;
    bool whole;
    int words;
} text_kind;

static const text_kind text_kinds[] = {
    [EG_LAYER_CONV] = {"conv", "channels", 1, 65536, NAN, true,
                       TEXT_KERNEL | TEXT_WINDOW | TEXT_BIAS | TEXT_GROUPS},
    [EG_LAYER_LINEAR] = {"linear", "units", 1, 65536, NAN, true, TEXT_BIAS},
    [EG_LAYER_BATCH_NORM] = {.name = "batch-norm"},
    [EG_LAYER_GROUP_NORM] = {"group-norm", "groups", 1, 65536, NAN, true, 0},
    [EG_LAYER_RELU] = {.name = "relu"},
    [EG_LAYER_LEAKY_RELU] = {"leaky-relu", "slope", 0, 1, 0.01, false, 0},
    [EG_LAYER_GELU] = {.name = "gelu"},
    [EG_LAYER_SILU] = {.name = "silu"},
    [EG_LAYER_SIGMOID] = {.name = "sigmoid"},
    [EG_LAYER_TANH] = {.name = "tanh"},
    [EG_LAYER_POOL] = {"pool", "side", 1, 255, NAN, true, TEXT_WINDOW},
    [EG_LAYER_AVG_POOL] = {"avg-pool", "side", 1, 255, NAN, true, TEXT_WINDOW},
    [EG_LAYER_GLOBAL_POOL] = {.name = "global-pool"},
    [EG_LAYER_DROPOUT] = {"dropout", "share", 0, 0.99, NAN, false, 0},
    [EG_LAYER_CHANNEL_DROPOUT] = {"channel-dropout", "share", 0, 0.99, NAN, false, 0},
    [EG_LAYER_FLATTEN] = {.name = "flatten"},
    [EG_LAYER_RESIDUAL] = {.name = "residual"},
    [EG_LAYER_PATCH] = {"patch", "width", 1, 65536, NAN, true, TEXT_KERNEL},
    [EG_LAYER_CLASS_TOKEN] = {.name = "class-token"},
    [EG_LAYER_POSITION] = {.name = "position"},
    [EG_LAYER_NORM] = {.name = "layer-norm"},
    [EG_LAYER_ATTENTION] = {"attention", "heads", 1, 1024, NAN, true, 0},
    [EG_LAYER_TRANSFORMER] = {"transformer", "heads", 1, 1024, NAN, true, TEXT_HIDDEN},
    [EG_LAYER_FIRST_TOKEN] = {.name = "first-token"},
};

/* Other names of kinds, as other programs have them. */
static const char *const text_aliases[][2] = {
    {"max-pool", "pool"},
    {"maxpool", "pool"},
    {"avgpool", "avg-pool"},
    {"batchnorm", "batch-norm"},
    {"groupnorm", "group-norm"},
    {"layernorm", "layer-norm"},
    {"global-avg-pool", "global-pool"},
};

enum { N_KINDS = sizeof text_kinds / sizeof *text_kinds, TEXT_SHOWN = 60 };

typedef struct text_reader {
    const char *text, *at; /* all of it, and what is next */
    eg_layer_list *out;
    int depth;
} text_reader;

/* Puts an entry's number and its words before the error. */
static eg_status text_blame(const text_reader *r, const eg_layer *l, eg_status s)
{
    bool cut = l->length > TEXT_SHOWN;
    return eg_blame(s, "layer %s ('%.*s%s')", l->name, cut ? TEXT_SHOWN : (int)l->length,
                    r->text + l->from, cut ? "..." : "");
}

static bool text_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void text_skip_blanks(text_reader *r)
{
    while (text_is_blank(*r->at))
        r->at++;
}

static eg_status text_unknown(const char *word)
{
    char names[512] = "";
    for (size_t i = 0; i < N_KINDS; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", text_kinds[i].name);
    }
    return eg_fail(EG_EINVAL, "there is no layer '%s'; there are %s", word, names);
}

/* A kind's own name; '_' is '-'. */
static const char *text_kind_name(char *word)
{
    for (char *at = word; *at; at++)
        *at = *at == '_' ? '-' : *at;
    for (size_t i = 0; i < sizeof text_aliases / sizeof *text_aliases; i++)
        if (strcmp(text_aliases[i][0], word) == 0)
            return text_aliases[i][1];
    return word;
}

static eg_status text_find_kind(char *word, eg_layer_kind *out)
{
    const char *name = text_kind_name(word);
    for (size_t i = 0; i < N_KINDS; i++)
        if (strcmp(text_kinds[i].name, name) == 0) {
            *out = (eg_layer_kind)i;
            return EG_OK;
        }
    return text_unknown(word);
}

static eg_status text_number(const char *what, const char *word, double min, double max,
                             bool whole, double *out)
{
    char *end;
    *out = strtod(word, &end) + 0.0; /* -0 is 0 */
    if (!*word || *end || word[strspn(word, "0123456789.eE+-")] || !isfinite(*out))
        return eg_fail(EG_EINVAL, "%s: '%s' is not a number", what, word);
    if (whole && *out != floor(*out))
        return eg_fail(EG_EINVAL, "%s: '%s' is not a whole number", what, word);
    if (*out < min || *out > max)
        return eg_fail(EG_EINVAL, "%s: %s is outside [%g, %g]", what, word, min, max);
    return EG_OK;
}

/* k3, s2 or p1, which must not be there twice. */
static eg_status text_window_word(const char *word, int64_t *value)
{
    const char *what = *word == 'k' ? "window" : *word == 's' ? "stride" : "padding";
    double number;
    if (*value >= 0)
        return eg_fail(EG_EINVAL, "its %s is there twice", what);
    EG_TRY(text_number(what, word + 1, *word == 'p' ? 0 : 1, 255, true, &number));
    *value = (int64_t)number;
    return EG_OK;
}

/* g4 or depthwise, or h256, which must not be there twice. */
static eg_status text_count_word(const char *word, int64_t *value)
{
    const char *what = *word == 'h' ? "number of hidden units" : "number of groups";
    double number = 0;
    if (*value >= 0)
        return eg_fail(EG_EINVAL, "its %s is there twice", what);
    if (strcmp(word, "depthwise") != 0)
        EG_TRY(text_number(what, word + 1, 1, 65536, true, &number));
    *value = (int64_t)number;
    return EG_OK;
}

/* A word behind the kind and its number. */
static eg_status text_word(const text_kind *kind, const char *word, eg_layer *l)
{
    bool digits = word[1] && word[1 + strspn(word + 1, "0123456789.+-")] == 0;
    if (digits && *word == 'k' && kind->words & TEXT_KERNEL)
        return text_window_word(word, &l->kernel);
    if (digits && (*word == 's' || *word == 'p') && kind->words & TEXT_WINDOW)
        return text_window_word(word, *word == 's' ? &l->stride : &l->padding);
    if (kind->words & TEXT_GROUPS &&
        ((digits && *word == 'g') || strcmp(word, "depthwise") == 0))
        return text_count_word(word, &l->groups);
    if (digits && *word == 'h' && kind->words & TEXT_HIDDEN)
        return text_count_word(word, &l->hidden);
    if (strcmp(word, "no-bias") != 0 || !(kind->words & TEXT_BIAS))
        return eg_fail(EG_EINVAL, "%s does not know the word '%s'", kind->name, word);
    if (l->no_bias)
        return eg_fail(EG_EINVAL, "'no-bias' is there twice");
    l->no_bias = true;
    return EG_OK;
}

/* Sets what was not written, and checks what only makes sense together. */
static eg_status text_settle(const text_kind *kind, eg_layer *l)
{
    l->groups = l->groups < 0 ? 1 : l->groups;
    l->hidden = l->hidden < 0 ? 0 : l->hidden;
    if (!(kind->words & TEXT_WINDOW)) {
        bool patch = kind->words & TEXT_KERNEL;
        l->kernel = l->stride = patch ? l->kernel < 0 ? 4 : l->kernel : 0;
        l->padding = 0;
        return EG_OK;
    }
    bool pools = !(kind->words & TEXT_KERNEL);
    if (l->kernel < 0)
        l->kernel = pools ? (int64_t)l->number : 3;
    if (l->stride < 0)
        l->stride = pools ? l->kernel : 1;
    if (l->padding < 0)
        l->padding = 0;
    int64_t most = pools ? l->kernel / 2 : l->kernel - 1;
    if (l->padding > most)
        return eg_fail(EG_EINVAL, "padding %lld for windows of %lldx%lld; %lld is the most",
                       (long long)l->padding, (long long)l->kernel, (long long)l->kernel,
                       (long long)most);
    return EG_OK;
}

/* The kind, its number and its words. text is cut into pieces. */
static eg_status text_words(char *text, eg_layer *l)
{
    char *rest = NULL, *word = strtok_r(text, " \t\r\n", &rest);
    if (!word) /* a colon alone was taken for YAML's */
        return eg_fail(EG_EINVAL, "there is nothing before the colon");
    EG_TRY(text_find_kind(word, &l->kind));
    const text_kind *kind = &text_kinds[l->kind];
    word = strtok_r(NULL, " \t\r\n", &rest);
    if (kind->number && word && (isdigit((unsigned char)*word) || strchr("+-.", *word))) {
        EG_TRY(text_number(kind->number, word, kind->min, kind->max, kind->whole, &l->number));
        word = strtok_r(NULL, " \t\r\n", &rest);
    } else if (kind->number) {
        if (isnan(kind->standard))
            return eg_fail(EG_EINVAL, "%s needs a number, its %s", kind->name, kind->number);
        l->number = kind->standard;
    }
    for (; word; word = strtok_r(NULL, " \t\r\n", &rest))
        EG_TRY(text_word(kind, word, l));
    return text_settle(kind, l);
}

/* The words of the next entry, up to a comma or bracket. */
static eg_status text_simple(text_reader *r, eg_layer *l)
{
    char words[EG_OPT_TEXT_SIZE];
    size_t n = strcspn(r->at, ",[]");
    l->from = (size_t)(r->at - r->text);
    r->at += n;
    while (n && text_is_blank(r->text[l->from + n - 1]))
        n--;
    l->length = n;
    if (n == 0)
        return eg_fail(EG_EINVAL, "layer %s is empty", l->name);
    if (n >= sizeof words)
        return text_blame(r, l, eg_fail(EG_EINVAL, "the words of a layer are too long"));
    memcpy(words, r->text + l->from, n);
    words[n] = 0;
    if (*r->at == '[' && words[n - 1] == ':')
        words[n - 1] = 0;
    return text_blame(r, l, text_words(words, l));
}

static eg_status text_list(text_reader *r, const char *prefix, size_t *n);

/* One entry, with those inside it. */
static eg_status text_entry(text_reader *r, const char *prefix, size_t number)
{
    if (r->out->n == EG_MAX_LAYERS)
        return eg_fail(EG_EINVAL, "the list has more than %d layers", EG_MAX_LAYERS);
    eg_layer *l = &r->out->at[r->out->n++];
    *l = (eg_layer){.kernel = -1, .stride = -1, .padding = -1, .groups = -1, .hidden = -1};
    snprintf(l->name, sizeof l->name, "%s%zu", prefix, number);
    EG_TRY(text_simple(r, l));
    bool residual = l->kind == EG_LAYER_RESIDUAL;
    if ((*r->at == '[') != residual)
        return text_blame(r, l,
                          residual ? eg_fail(EG_EINVAL, "a residual needs a list of layers, as "
                                                        "in 'residual [conv 32 k3 p1, relu]'")
                                   : eg_fail(EG_EINVAL, "only a residual has a list"));
    if (!residual)
        return EG_OK;
    char inside[EG_LAYER_NAME_SIZE + 1];
    size_t first = r->out->n, n;
    snprintf(inside, sizeof inside, "%s.", l->name);
    EG_TRY(text_list(r, inside, &n));
    l->n_inside = r->out->n - first;
    return EG_OK;
}

/* "[entry, entry]"; n: how many stand in this list itself. */
static eg_status text_list(text_reader *r, const char *prefix, size_t *n)
{
    if (r->depth == EG_MAX_LAYERS_DEPTH)
        return eg_fail(EG_EINVAL, "residuals lie more than %d deep", EG_MAX_LAYERS_DEPTH - 1);
    r->depth++;
    *n = 0;
    do {
        r->at++; /* the bracket or the comma */
        text_skip_blanks(r);
        EG_TRY(text_entry(r, prefix, (*n)++));
        text_skip_blanks(r);
    } while (*r->at == ',');
    if (*r->at != ']')
        return eg_fail(EG_EINVAL, "a list of layers has no ']' behind layer %s%zu", prefix,
                       *n - 1);
    r->at++;
    r->depth--;
    return EG_OK;
}

eg_status eg_layers_parse(const char *text, eg_layer_list *out)
{
    text_reader r = {.text = text, .at = text, .out = out};
    out->n = out->n_top = 0;
    text_skip_blanks(&r);
    if (*r.at != '[')
        return eg_fail(EG_EINVAL, "layers are a list, as in '[conv 32 k3, relu, flatten]'");
    EG_TRY(text_list(&r, "", &out->n_top));
    text_skip_blanks(&r);
    if (*r.at)
        return eg_fail(EG_EINVAL, "'%.*s' stands behind the list of layers", TEXT_SHOWN, r.at);
    return EG_OK;
}

/* Text that is written as far as there is room. */
typedef struct text_writer {
    char *out;
    size_t used;
} text_writer;

static void text_put(text_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void text_put(text_writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = w->used < EG_OPT_TEXT_SIZE ? EG_OPT_TEXT_SIZE - w->used : 0;
    int n = vsnprintf(room ? w->out + w->used : NULL, room, format, args);
    va_end(args);
    w->used += n > 0 ? (size_t)n : 0;
}

/* The shortest form that reads back as the same number. */
static void text_put_number(text_writer *w, double v)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    text_put(w, " %s", text);
}

static void text_put_layer(text_writer *w, const eg_layer *l)
{
    const text_kind *kind = &text_kinds[l->kind];
    bool kernel = kind->words & TEXT_KERNEL;
    text_put(w, "%s", kind->name);
    if (kind->number)
        text_put_number(w, l->number);
    if (kernel)
        text_put(w, " k%lld", (long long)l->kernel);
    if (kind->words & TEXT_WINDOW && l->stride != (kernel ? 1 : l->kernel))
        text_put(w, " s%lld", (long long)l->stride);
    if (l->padding)
        text_put(w, " p%lld", (long long)l->padding);
    if (l->groups == 0)
        text_put(w, " depthwise");
    else if (l->groups > 1)
        text_put(w, " g%lld", (long long)l->groups);
    if (l->hidden)
        text_put(w, " h%lld", (long long)l->hidden);
    if (l->no_bias)
        text_put(w, " no-bias");
}

/* The n entries from `first` on, which stand in one list or within its residuals. */
static void text_put_list(text_writer *w, const eg_layer *first, size_t n)
{
    text_put(w, "[");
    for (size_t i = 0; i < n; i += 1 + first[i].n_inside) {
        text_put(w, "%s", i ? ", " : "");
        text_put_layer(w, &first[i]);
        if (first[i].kind == EG_LAYER_RESIDUAL) {
            text_put(w, " ");
            text_put_list(w, first + i + 1, first[i].n_inside);
        }
    }
    text_put(w, "]");
}

eg_status eg_layers_print(const eg_layer_list *list, char out[EG_OPT_TEXT_SIZE])
{
    text_writer w = {.out = out};
    text_put_list(&w, list->at, list->n);
    return w.used < EG_OPT_TEXT_SIZE
               ? EG_OK
               : eg_fail(EG_EINVAL, "the list of layers is longer than %d characters",
                         EG_OPT_TEXT_SIZE - 1);
}
