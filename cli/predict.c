/* predict.c - `engram predict`: what a saved model says of pictures.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/predict.h>

#include <stdio.h>

enum { PREDICT_MOST = 100 };

typedef struct predict_call {
    const char *model;
    cli_texts images;
    int64_t top;
    bool json;
} predict_call;

static const cli_option predict_rows[] = {
    CLI_FILE("MODEL", NULL, predict_call, model, NULL, .what = "a model's file",
             .needed = true),
    CLI_TEXTS("IMAGE", NULL, predict_call, images, CLI_MOST_TEXTS, NULL, .what = "a picture",
              .needed = true, .offer = CLI_OFFERS_FILES),
    CLI_TITLE("Options:"),
    CLI_INT("--top", "N", predict_call, top, 1, PREDICT_MOST,
            "how many classes to name, the likeliest first (3)", .what = "classes"),
    CLI_FLAG("--json", predict_call, json, "a line of JSON per picture"),
    CLI_END,
};

/* The classes in order: list [n] of them, the likeliest first. */
static int64_t predict_order(const eg_prediction *p, int64_t n, int64_t *list)
{
    int64_t k = 0;
    for (int64_t i = 0; i < p->n_classes; i++) {
        int64_t at = k < n ? k++ : n;
        for (; at > 0 && p->probability[i] > p->probability[list[at - 1]]; at--)
            if (at < n)
                list[at] = list[at - 1];
        if (at < n)
            list[at] = i;
    }
    return k;
}

static void predict_json_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text < ' ')
            printf("\\u%04x", (unsigned)(unsigned char)*text);
        else
            putchar(*text);
    }
    putchar('"');
}

static eg_status predict_show(void *context, const eg_prediction *p)
{
    const predict_call *c = context;
    int64_t list[PREDICT_MOST], n = predict_order(p, c->top, list);
    const char *path = c->images.list[p->index];
    if (c->json) {
        printf("{\"image\":");
        predict_json_text(path);
        printf(",\"class\":%d,\"top\":[", (int)p->best);
    } else {
        printf("%s:", path);
    }
    for (int64_t i = 0; i < n; i++)
        printf(c->json ? "%s{\"class\":%lld,\"probability\":%.6g}" : "%s %lld (%.1f %%)",
               i ? "," : "", (long long)list[i],
               (double)p->probability[list[i]] * (c->json ? 1 : 100));
    puts(c->json ? "]}" : "");
    return EG_OK;
}

static int predict_run(int argc, char **argv)
{
    predict_call c = {.top = 3};
    eg_saved *saved = NULL;
    int wrong = cli_parse(&eg_verb_predict, argc, argv, &c);
    if (wrong)
        return wrong;
    eg_status s = eg_saved_open(c.model, &saved);
    if (s == EG_OK)
        s = eg_predict_files(saved, c.images.list, c.images.n, predict_show, &c);
    eg_saved_free(saved);
    return s == EG_OK ? 0 : eg_cli_failed();
}

const eg_verb eg_verb_predict = {
    .name = "predict",
    .run = predict_run,
    .usage = "MODEL.safetensors IMAGE... [options]",
    .help = "say of pictures what a saved model takes them for",
    .details = "Pictures are PNG or JPEG of any size; they are brought to the network's input "
               "and normalised as in training. `engram get` brings a model from a server.",
    .options = predict_rows,
};
