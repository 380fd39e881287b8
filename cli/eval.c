/* eval.c - `engram eval`: tests a saved model on a data set, class by class.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/saved.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVAL_CLASSES = 65536 };

typedef struct eval_call {
    const char *model, *data, *classes;
    eg_origin from;
    bool seeded; /* else the seed is the model's run's */
    const eg_dataset *set;
    void *self; /* its options */
    int32_t *list;
    int64_t n_list;
} eval_call;

/* The class that a text begins with; *end is behind it. -1: there is none. */
static int eval_class(const char *text, char **end)
{
    *end = (char *)(uintptr_t)text;
    if (*text < '0' || *text > '9') /* no sign, no blank */
        return -1;
    errno = 0;
    long k = strtol(text, end, 10);
    return errno == 0 && k < EVAL_CLASSES ? (int)k : -1;
}

/* "3" or "3..5". */
static bool eval_range(const char *item, int *first, int *last)
{
    char *end;
    *first = *last = eval_class(item, &end);
    if (*first >= 0 && strncmp(end, "..", 2) == 0)
        *last = eval_class(end + 2, &end);
    return *first >= 0 && *last >= *first && !*end;
}

/* "0,3..5", each once and in order. 0, or the exit code. */
static int eval_list(eval_call *c)
{
    bool *asked = calloc(EVAL_CLASSES, sizeof *asked);
    c->list = calloc(EVAL_CLASSES, sizeof *c->list);
    if (!asked || !c->list) {
        free(asked);
        eg_fail(EG_ENOMEM, "no memory for a list of classes");
        return eg_cli_failed();
    }
    for (const char *at = c->classes; at;) {
        char item[32];
        int first, last;
        size_t n = strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", (int)n, at);
        if (n >= sizeof item || !eval_range(item, &first, &last)) {
            free(asked);
            return eg_cli_usage("eval", "--classes: '%s' is no class and no range A..B", item);
        }
        for (int k = first; k <= last; k++)
            asked[k] = true;
        at = at[n] ? at + n + 1 : NULL;
    }
    for (int32_t k = 0; k < EVAL_CLASSES; k++)
        if (asked[k])
            c->list[c->n_list++] = k;
    free(asked);
    return 0;
}

/* The data set comes before its options, wherever they stand. */
static int eval_find_data(int argc, char **argv, eval_call *c)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--data") == 0)
            c->data = argv[i + 1];
    if (!c->data)
        return eg_cli_usage("eval", "--data NAME is missing");
    c->set = eg_dataset_find(c->data);
    if (!c->set)
        return eg_cli_refused("eval", EG_ENOENT);
    if (eg_component_new(&c->set->component, &c->self) != EG_OK)
        return eg_cli_failed();
    return 0;
}

static int eval_option(eval_call *c, const char *name, const char *value)
{
    if (strcmp(name, "--set") == 0)
        return eg_cli_set_option("eval", &c->set->component, c->self, value);
    if (strcmp(name, "--seed") == 0) {
        c->seeded = true;
        return eg_cli_seed("eval", value, &c->from.seed);
    }
    if (strcmp(name, "--data-dir") == 0)
        c->from.dir = value;
    else if (strcmp(name, "--classes") == 0)
        c->classes = value;
    return 0;
}

static int eval_parse(int argc, char **argv, eval_call *c)
{
    static const char *const known[] = {"--data", "--classes", "--data-dir", "--set", "--seed"};
    if (argc < 2 || argv[1][0] == '-')
        return eg_cli_usage("eval", "a model's file is needed");
    c->model = argv[1];
    int code = eval_find_data(argc, argv, c);
    for (int i = 2; i < argc && code == 0; i++) {
        const char *name = argv[i];
        if (!eg_cli_knows(name, sizeof known / sizeof *known, known))
            return eg_cli_unknown("eval", "model", c->model, name);
        const char *value = eg_cli_value("eval", argc, argv, &i);
        code = value ? eval_option(c, name, value) : 2;
    }
    return code == 0 && c->classes ? eval_list(c) : code;
}

static void eval_print(const eval_call *c, const eg_saved *saved, const eg_table *t,
                       const eg_confusion *all, const eg_confusion *within)
{
    const eg_net_spec *made = eg_net_spec_of(eg_saved_net(saved));
    const char *version = eg_saved_note(saved, "version");
    double value;
    if (!made || !c->set) /* both are there once the model and the data are open */
        return;
    printf("%s: %s for %lldx%lldx%lld and %lld classes, of engram %s\n", c->model, made->model,
           (long long)made->channels, (long long)made->height, (long long)made->width,
           (long long)eg_saved_n_classes(saved), version ? version : "?");
    printf("%s: %lld test images%s%s\n\n", c->set->component.name, (long long)t->n,
           c->classes ? ", of them classes " : "", c->classes ? c->classes : "");
    if (eg_confusion_accuracy(all, &value))
        printf("accuracy     %6.2f %%\n", 100 * value);
    if (c->list && eg_confusion_accuracy(within, &value))
        printf("among them   %6.2f %%  if no other answers are allowed\n", 100 * value);
    for (int64_t k = 0; k < all->n; k++) {
        int64_t n = 0;
        for (int64_t i = 0; i < all->n; i++)
            n += all->count[k * all->n + i];
        if (eg_confusion_recall(all, k, &value))
            printf("  class %-4lld %6.2f %%  of %lld\n", (long long)k, 100 * value,
                   (long long)n);
    }
}

static eg_status eval_test(eval_call *c, eg_saved *saved, eg_table *t)
{
    const char *seed = eg_saved_note(saved, "seed");
    int64_t classes = eg_saved_n_classes(saved);
    eg_confusion all = {0}, within = {0};
    if (seed && !c->seeded)
        c->from.seed = strtoull(seed, NULL, 10);
    EG_TRY(eg_dataset_load(c->set, c->self, &c->from, EG_TEST, t));
    eg_status s = eg_confusion_init(&all, classes);
    if (s == EG_OK)
        s = eg_confusion_init(&within, classes);
    if (s == EG_OK)
        s = eg_saved_test(saved, t, c->list, c->n_list, &all, c->list ? &within : NULL);
    if (s == EG_OK)
        eval_print(c, saved, t, &all, &within);
    eg_confusion_fini(&all);
    eg_confusion_fini(&within);
    return s;
}

int eg_verb_eval(int argc, char **argv)
{
    eval_call c = {0};
    eg_saved *saved = NULL;
    eg_table t = {0};
    int code = eval_parse(argc, argv, &c);
    if (code == 0) {
        eg_status s = eg_saved_open(c.model, &saved);
        if (s == EG_OK)
            s = eval_test(&c, saved, &t);
        code = s == EG_OK ? 0 : eg_cli_failed();
    }
    eg_table_fini(&t);
    eg_saved_free(saved);
    free(c.list);
    free(c.self);
    return code;
}
