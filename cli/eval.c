/* eval.c - `engram eval`: tests a saved model on a data set, class by class.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/predict.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVAL_MOST_CLASS = 65535 };

#define EVAL_OWN_SEED UINT64_MAX /* the seed is that of the model's run */

typedef struct eval_call {
    const char *model, *data, *data_dir;
    cli_ranges classes; /* none: all */
    cli_texts settings;
    uint64_t seed;
    const eg_dataset *set;
    void *self;       /* its options */
    int32_t *list;    /* [classes.n], ascending */
    int64_t shape[3]; /* channels, height and width of the images as they were loaded */
} eval_call;

static const cli_option eval_rows[] = {
    CLI_FILE("MODEL", NULL, eval_call, model, NULL, .what = "a model's file", .needed = true),
    CLI_MEMBER("--data", "NAME", eval_call, data, eg_dataset_family,
               "the data set, whose test images are used (the run's)"),
    CLI_RANGES("--classes", "A,B..C", eval_call, classes, EVAL_MOST_CLASS,
               "images of these classes alone", .what = "class"),
    CLI_TEXTS("--set", "KEY=VALUE", eval_call, settings, 64,
              "an option of the data set, in place of the run's"),
    CLI_SEED("--seed", "N", eval_call, seed, "of a generated data set (the run's)"),
    CLI_DATA_DIR(eval_call, data_dir),
    CLI_THREADS,
    CLI_END,
};

static int eval_by_value(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The data set with its options, and the classes in order. 0, or the exit code. */
static int eval_prepare(eval_call *c, const eg_saved *saved)
{
    c->set = c->data ? eg_dataset_find(c->data) : eg_saved_dataset(saved);
    if (!c->set && !c->data)
        return eg_cli_usage("eval", "%s does not tell one data set: --data NAME is needed",
                            c->model);
    if (!c->set || eg_component_new(&c->set->component, &c->self) != EG_OK)
        return eg_cli_failed();
    if (eg_blame(eg_saved_set(saved, c->set, c->self), "%s", c->model) != EG_OK)
        return eg_cli_failed();
    for (size_t i = 0; i < c->settings.n; i++)
        if (eg_cli_set_pair(&c->set->component, c->self, c->settings.list[i]) != EG_OK)
            return eg_cli_usage("eval", "%s", eg_error());
    if (c->classes.n && eg_alloc(c->classes.n, sizeof *c->list, &c->list) != EG_OK)
        return eg_cli_failed();
    for (size_t i = 0; i < c->classes.n; i++)
        c->list[i] = (int32_t)c->classes.list[i];
    if (c->list)
        qsort(c->list, c->classes.n, sizeof *c->list, eval_by_value);
    return 0;
}

/* A class is called by its number, and by its name if that says more. */
static void eval_print_class(const eg_table *t, int64_t class, double recall, int64_t n)
{
    char number[24];
    const char *name = t->names && class < t->classes ? t->names[class] : "";
    snprintf(number, sizeof number, "%lld", (long long)class);
    bool says = *name && strcmp(name, number) != 0;
    printf("  class %-4s %6.2f %%  of %lld%s%s\n", number, 100 * recall, (long long)n,
           says ? "  " : "", says ? name : "");
}

static void eval_print_head(const eval_call *c, const eg_saved *saved, const eg_table *t)
{
    const eg_net_spec *made = eg_net_spec_of(eg_saved_net(saved));
    const char *version = eg_saved_note(saved, "version");
    if (!made || !c->set) /* both are there once the model and the data are open */
        return;
    printf("%s: %s for %lldx%lldx%lld and %lld classes, of engram %s\n", c->model, made->model,
           (long long)made->channels, (long long)made->height, (long long)made->width,
           (long long)eg_saved_n_classes(saved), version ? version : "?");
    printf("%s: %lld test images%s\n", c->set->component.name, (long long)t->n,
           c->list ? ", of the classes asked for" : "");
    if (c->shape[0] != made->channels || c->shape[1] != made->height ||
        c->shape[2] != made->width)
        printf("they are %lldx%lldx%lld, and were made %lldx%lldx%lld for the network\n",
               (long long)c->shape[0], (long long)c->shape[1], (long long)c->shape[2],
               (long long)made->channels, (long long)made->height, (long long)made->width);
    puts("");
}

static void eval_print(const eval_call *c, const eg_saved *saved, const eg_table *t,
                       const eg_confusion *all, const eg_confusion *within)
{
    double value;
    eval_print_head(c, saved, t);
    if (eg_confusion_accuracy(all, &value))
        printf("accuracy     %6.2f %%\n", 100 * value);
    if (c->list && eg_confusion_accuracy(within, &value))
        printf("among them   %6.2f %%  if no other answers are allowed\n", 100 * value);
    for (int64_t k = 0; k < all->n; k++) {
        int64_t n = 0;
        for (int64_t i = 0; i < all->n; i++)
            n += all->count[k * all->n + i];
        if (eg_confusion_recall(all, k, &value))
            eval_print_class(t, k, value, n);
    }
}

/* Average precision in place of accuracy. */
static eg_status eval_boxes(const eval_call *c, eg_saved *saved, eg_table *t)
{
    size_t n = (size_t)eg_saved_n_classes(saved);
    double *each; /* [2, n] */
    if (c->list)
        return eg_fail(EG_EINVAL, "--classes: images with boxes are of no class");
    EG_TRY(eg_alloc(2 * n, sizeof *each, &each));
    eg_precisions p = {.half = each, .each = each + n};
    eg_status s = eg_saved_precision(saved, t, &p);
    if (s == EG_OK) {
        eval_print_head(c, saved, t);
        printf("mAP at 0.5   %6.2f %%\nmAP          %6.2f %%  over overlaps 0.5 to 0.95\n",
               100 * p.at_half, 100 * p.mean);
    }
    for (size_t k = 0; k < n && s == EG_OK; k++) {
        char name[EG_CLASS_NAME];
        const char *class = eg_saved_class(saved, (int64_t)k, name);
        if (each[k] >= 0)
            printf("  class %-4zu %6.2f %%  %6.2f %%  %s\n", k, 100 * p.half[k],
                   100 * p.each[k], class ? class : "");
    }
    free(each);
    return s;
}

static eg_status eval_test(eval_call *c, eg_saved *saved, eg_table *t)
{
    const char *seed = eg_saved_note(saved, "seed");
    int64_t classes = eg_saved_n_classes(saved);
    eg_confusion all = {0}, within = {0};
    eg_origin from = {.dir = c->data_dir, .seed = c->seed};
    if (c->seed == EVAL_OWN_SEED)
        from.seed = seed ? strtoull(seed, NULL, 10) : 0;
    EG_TRY(eg_saved_load(saved, c->set, c->self, &from, t));
    c->shape[0] = t->channels, c->shape[1] = t->height, c->shape[2] = t->width;
    if (eg_saved_finds_boxes(saved))
        return eval_boxes(c, saved, t);
    eg_status s = eg_confusion_init(&all, classes);
    if (s == EG_OK)
        s = eg_confusion_init(&within, classes);
    if (s == EG_OK)
        s = eg_saved_test(saved, t, c->list, (int64_t)c->classes.n, &all,
                          c->list ? &within : NULL);
    if (s == EG_OK)
        eval_print(c, saved, t, &all, &within);
    eg_confusion_fini(&all);
    eg_confusion_fini(&within);
    return s;
}

static int eval_run(int argc, char **argv)
{
    eval_call c = {.seed = EVAL_OWN_SEED};
    eg_saved *saved = NULL;
    eg_table t = {0};
    int code = cli_parse(&eg_verb_eval, argc, argv, &c);
    if (code == 0 && eg_saved_open(c.model, &saved) != EG_OK)
        code = eg_cli_failed();
    if (code == 0)
        code = eval_prepare(&c, saved);
    if (code == 0 && eval_test(&c, saved, &t) != EG_OK)
        code = eg_cli_failed();
    eg_table_fini(&t);
    eg_saved_free(saved);
    free(c.list);
    cli_ranges_free(&c.classes);
    free(c.self);
    return code;
}

const eg_verb eg_verb_eval = {
    .name = "eval",
    .run = eval_run,
    .usage = "MODEL.safetensors --data NAME [options]",
    .help = "test a saved model, class by class",
    .details =
        "MODEL is what a run has saved: it says its network and how images are prepared. "
        "Of the run's data set it takes the test images that the run had. They are neither "
        "rotated nor permuted; where they have other colours or another size than the "
        "network's, they are brought to it, and this is said. Of boxes it tells average "
        "precision.",
    .options = eval_rows,
};
