/* predict.c - `engram predict`: what a saved model says of pictures.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/predict.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PREDICT_MOST = 100, PREDICT_PATH = 1024 };

typedef struct predict_call {
    const char *model;
    cli_texts images;
    const char *out;
    int64_t top;
    double sure;
    bool json;
    const eg_saved *saved;
} predict_call;

static const cli_option predict_rows[] = {
    CLI_FILE("MODEL", NULL, predict_call, model, NULL, .what = "a model's file",
             .needed = true),
    CLI_TEXTS("IMAGE", NULL, predict_call, images, CLI_MOST_TEXTS, NULL, .what = "a picture",
              .needed = true, .offer = CLI_OFFERS_FILES),
    CLI_TITLE("Options:"),
    CLI_INT("--top", "N", predict_call, top, 1, PREDICT_MOST,
            "how many classes to name, the likeliest first (3)", .what = "classes"),
    CLI_TITLE("Of a model that finds boxes:"),
    CLI_REAL("--sure", "P", predict_call, sure, 0, 1,
             "boxes less sure than this are left out (0.25)"),
    CLI_FILE("--out", "FILE.png|DIR", predict_call, out,
             "draw them on the picture; of several pictures, a folder for all"),
    CLI_TITLE("Of all:"),
    CLI_FLAG("--json", predict_call, json, "a line of JSON per picture"),
    CLI_THREADS,
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

/* Where a picture with its boxes goes: the file, or a file of its name in the folder. */
static void predict_place(const predict_call *c, const char *path, char out[PREDICT_PATH])
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *dot = strrchr(name, '.');
    if (c->images.n == 1)
        snprintf(out, PREDICT_PATH, "%s", c->out);
    else
        snprintf(out, PREDICT_PATH, "%s/%.*s.png", c->out,
                 dot ? (int)(dot - name) : (int)strlen(name), name);
}

/* A box in words: "car 83.1 % at 12.5 % 40.0 %, 20.0 % x 15.2 %". */
static void predict_box(const predict_call *c, const eg_found *f, bool first)
{
    char room[EG_CLASS_NAME];
    const char *name = eg_saved_class(c->saved, (int64_t)f->box.label, room);
    if (c->json) {
        printf("%s{\"class\":%d,", first ? "" : ",", (int)f->box.label);
        if (name) {
            printf("\"name\":");
            predict_json_text(name);
            printf(",");
        }
        printf("\"score\":%.6g,\"x\":%.6g,\"y\":%.6g,\"w\":%.6g,\"h\":%.6g}", (double)f->score,
               (double)f->box.x, (double)f->box.y, (double)f->box.w, (double)f->box.h);
        return;
    }
    printf("\n  %3.0f %%  %s", 100 * (double)f->score, name ? name : "class");
    if (!name)
        printf(" %d", (int)f->box.label);
    printf(", centre %.3f %.3f, size %.3f %.3f", (double)f->box.x, (double)f->box.y,
           (double)f->box.w, (double)f->box.h);
}

static eg_status predict_boxes(const predict_call *c, const eg_prediction *p)
{
    const char *path = c->images.list[p->index];
    char out[PREDICT_PATH];
    int64_t n = 0;
    while (n < p->n_found && (double)p->found[n].score >= c->sure)
        n++;
    if (c->json) {
        printf("{\"image\":");
        predict_json_text(path);
        printf(",\"boxes\":[");
    } else {
        printf("%s: %lld box%s", path, (long long)n, n == 1 ? "" : "es");
    }
    for (int64_t i = 0; i < n; i++)
        predict_box(c, &p->found[i], i == 0);
    puts(c->json ? "]}" : "");
    if (!c->out)
        return EG_OK;
    predict_place(c, path, out);
    return eg_predict_draw(c->saved, path, p, c->sure, out);
}

static eg_status predict_show(void *context, const eg_prediction *p)
{
    const predict_call *c = context;
    int64_t list[PREDICT_MOST];
    if (p->found)
        return predict_boxes(c, p);
    int64_t n = predict_order(p, c->top, list);
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

/* Whether boxes can be drawn, and where. */
static eg_status predict_check_out(const predict_call *c)
{
    if (!c->out)
        return EG_OK;
    if (!eg_saved_finds_boxes(c->saved))
        return eg_fail(EG_EINVAL, "--out: %s tells classes, so that there is nothing to draw",
                       c->model);
    if (c->images.n == 1)
        return eg_cli_check_output(c->out);
    return mkdir(c->out, 0777) == 0 || errno == EEXIST
               ? EG_OK
               : eg_fail(EG_EIO, "%s: the folder cannot be made: %s", c->out, strerror(errno));
}

static int predict_run(int argc, char **argv)
{
    predict_call c = {.top = 3, .sure = 0.25};
    eg_saved *saved = NULL;
    int wrong = cli_parse(&eg_verb_predict, argc, argv, &c);
    if (wrong)
        return wrong;
    eg_status s = eg_saved_open(c.model, &saved);
    c.saved = saved;
    if (s == EG_OK)
        s = predict_check_out(&c);
    if (s == EG_OK)
        s = eg_predict_files(saved, c.images.list, c.images.n, predict_show, &c);
    eg_saved_free(saved);
    return s == EG_OK ? 0 : eg_cli_failed();
}

const eg_verb eg_verb_predict = {
    .name = "predict",
    .run = predict_run,
    .usage = "MODEL.safetensors IMAGE... [options]",
    .help = "say of pictures what a saved model takes them for, or finds on them",
    .details = "Pictures are PNG or JPEG of any size; they are brought to the network's input "
               "and normalised as in training. A model that looks for boxes says where they "
               "are, as shares "
               "of the picture. `engram get` brings a model from a server.",
    .options = predict_rows,
};
