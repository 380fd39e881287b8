/* list.c - `engram list` and `engram help`: what there is, printed from the tables themselves.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "family.h"

#include <engram/experiment.h>
#include <engram/method.h>
#include <engram/optim.h>
#include <engram/suggest.h>

#include <stdio.h>
#include <string.h>

static const cli_family *list_find(const char *name)
{
    for (const cli_family *f = cli_families; f->family; f++)
        if (strcmp(f->family->name, name) == 0)
            return f;
    return NULL;
}

/* Says what is wrong with a call of list, with the names of all families. */
static int list_wrong(const char *what)
{
    char names[256] = "";
    eg_suggestion near = eg_suggest(what ? what : "");
    for (const cli_family *f = cli_families; f->family; f++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", f->family->name);
        eg_suggest_offer(&near, f->family->name);
    }
    strncat(names, ", experiments", sizeof names - strlen(names) - 1);
    eg_suggest_offer(&near, "experiments");
    if (what)
        return eg_cli_usage("list", "'%s' is none of %s%s", what, names,
                            eg_suggest_words(&near));
    return eg_cli_usage("list", "one of these is needed: %s", names);
}

static void list_options(const eg_opt *opts, const char *indent)
{
    char text[EG_OPT_TEXT_SIZE];
    for (const eg_opt *o = opts; o && o->name; o++) {
        eg_opt_describe(o, text);
        printf("%s%-16s %s (%s)\n", indent, o->name, o->help, text);
    }
}

/* The keys of a file that hold a component's name, or whole runs. */
static const struct {
    const char *name, *help;
} list_keys[] = {
    {"name", "of the experiment; run folders begin with it"},
    {"data", "a data set: its name, {name: NAME, OPTION: VALUE, ...}, or a list of these"},
    {"model", "a network: its name, or {name: NAME, OPTION: VALUE, ...}"},
    {"optimizer", "an optimiser: its name, or {name: NAME, lr: VALUE, OPTION: VALUE, ...}"},
    {"scenario", "{kind: NAME, OPTION: VALUE, ..., partition: {kind: NAME, ...}}"},
    {"seeds", "runs are made with these, 0..4 or [0, 1, 5], where a call says no others"},
    {"workers", "threads that train clients, where a call does not say --workers"},
    {"threads", "threads that compute together for each of these, likewise"},
    {"out", "where run folders go, where a call does not say --out"},
    {"plugins", "shared objects to load, relative to the file: [./mine.so]; they are code"},
    {"METHOD", "a method's options, by its name: re-fed: {size: 500}"},
    {"sweep", "settings with several values, a run for each: {optimizer.lr: [0.1, 0.01]}"},
    {"runs", "the runs, a list of mappings with these keys:"},
    {"  label", "the run's name, in folders and tables"},
    {"  method", "a method, or a list of methods that work together"},
    {"  overrides", "settings of this run alone, written as in the file"},
    {"  sweep", "the same for this run alone"},
    {"  published", "a paper's figures in percent, {METRIC: [MEAN, DEVIATION]}"},
};
enum { LIST_KEYS = sizeof list_keys / sizeof *list_keys };

static void list_file_keys(void)
{
    for (size_t i = 0; i < LIST_KEYS; i++) {
        printf("  %-22s %s\n", list_keys[i].name, list_keys[i].help);
        if (strcmp(list_keys[i].name, "optimizer") == 0) /* which every run has */
            list_options(eg_optim_find("sgd")->component.opts, "    ");
    }
}

/* Explains a key of a file that is no component; those of a run are indented. */
static bool list_explain_key(const char *name)
{
    bool found = false;
    for (size_t i = 0; i < LIST_KEYS; i++) {
        const char *key = list_keys[i].name + strspn(list_keys[i].name, " ");
        if (strcmp(key, name) != 0)
            continue;
        found = true;
        printf("key %s%s: %s\n", key == list_keys[i].name ? "" : "of a run, ", key,
               list_keys[i].help);
        for (size_t k = i + 1;
             k < LIST_KEYS && *list_keys[k].name == ' ' && key == list_keys[i].name; k++)
            printf("%-24s %s\n", list_keys[k].name, list_keys[k].help);
    }
    return found;
}

typedef struct list_call {
    const char *family;
} list_call;

static const cli_option list_rows[] = {
    CLI_TEXT("FAMILY", NULL, list_call, family, NULL, .what = "a family",
             .offer = CLI_OFFERS_FAMILIES),
    CLI_END,
};

static int list_run(int argc, char **argv)
{
    list_call call = {0};
    int wrong = cli_parse(&eg_verb_list, argc, argv, &call);
    if (wrong)
        return wrong;
    if (call.family && strcmp(call.family, "experiments") == 0) {
        cli_list_experiments();
        return 0;
    }
    const cli_family *f = call.family ? list_find(call.family) : NULL;
    if (!f)
        return list_wrong(call.family);
    const eg_component *c;
    for (size_t i = 0; (c = eg_family_at(f->family, i)); i++) {
        printf("  %-22s %s\n", c->name, c->help);
        if (f->file)
            list_options(c->opts, "    ");
    }
    if (f->file)
        list_file_keys();
    return 0;
}

const eg_verb eg_verb_list = {
    .name = "list",
    .run = list_run,
    .usage = "methods|models|generators|data|scenarios|partitioners|metrics|optimisers|ops|\n"
             "            transports|settings|experiments",
    .help = "list what there is",
    .details = "`engram help NAME` explains anything in a list.",
    .options = list_rows,
};

/* What of a client a method's answers take away from it. */
static void list_leaves(const eg_component *c)
{
    const eg_method *m = (const eg_method *)c;
    printf("  leaves a client beside its model:%s\n", m->leaves ? "" : " nothing");
    for (const eg_leaving *l = eg_leavings; l->name; l++)
        if (m->leaves & l->bit)
            printf("  %-16s %s\n", l->name, l->help);
}

/* Explains every member with this name. */
static bool list_explain(const char *name)
{
    bool found = false;
    for (const cli_family *f = cli_families; f->family; f++) {
        const eg_component *c = eg_family_find(f->family, name);
        if (!c)
            continue;
        found = true;
        printf("%s %s: %s\n", f->family->singular, c->name, c->help);
        if (f->formula)
            printf("  %s\n", f->formula(c));
        if (f->family == &eg_method_family)
            list_leaves(c);
        list_options(c->opts, "  ");
        if (f->shared) {
            printf("options of every %s:\n", f->family->singular);
            list_options(f->shared(), "  ");
        }
    }
    return found;
}

/* The full name of an option as a setting: "memory.size", "optimizer.lr", "scale". */
static void list_setting(const cli_family *f, const eg_component *c, const eg_opt *o,
                         char out[EG_OPT_TEXT_SIZE])
{
    bool top = f->file && strcmp(c->name, "experiment") == 0;
    const char *of = top ? "" : *f->key ? f->key : c->name;
    snprintf(out, EG_OPT_TEXT_SIZE, "%s%s%s", of, *of ? "." : "", o->name);
}

/* Walks the settings a file may have: option o of c; NULL: of every member of the family. */
static void list_each_setting(void (*visit)(void *context, const cli_family *f,
                                            const eg_component *c, const eg_opt *o),
                              void *context)
{
    for (const cli_family *f = cli_families; f->family; f++) {
        const eg_component *c;
        for (size_t i = 0; f->key && (c = eg_family_at(f->family, i)); i++)
            for (const eg_opt *o = c->opts; o && o->name; o++)
                visit(context, f, c, o);
        for (const eg_opt *o = f->key && f->shared ? f->shared() : NULL; o && o->name; o++)
            visit(context, f, NULL, o);
    }
}

typedef struct list_asked {
    const char *name;
    bool found;
} list_asked;

/* Explains a setting that is called so, by its full name or by the last word of it. */
static void list_explain_setting(void *context, const cli_family *f, const eg_component *c,
                                 const eg_opt *o)
{
    list_asked *asked = context;
    char key[EG_OPT_TEXT_SIZE], text[EG_OPT_TEXT_SIZE];
    list_setting(f, c, o, key);
    if (!eg_name_equal(key, asked->name) && !eg_name_equal(o->name, asked->name))
        return;
    asked->found = true;
    bool own = *f->key && c; /* a member's, of which a file names one */
    eg_opt_describe(o, text);
    printf("setting %s%s%s: %s (%s)\n", key, own ? " of " : "", own ? c->name : "", o->help,
           text);
}

static void list_offer_setting(void *near, const cli_family *f, const eg_component *c,
                               const eg_opt *o)
{
    char key[EG_OPT_TEXT_SIZE];
    list_setting(f, c, o, key);
    eg_suggest_offer(near, key);
    eg_suggest_offer(near, o->name);
}

/* The next cell of a Markdown table, between quotes; a bar in the text would end it. */
static void list_cell(const char *text, const char *quote)
{
    printf(" %s", quote);
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
    printf("%s |", quote);
}

static void list_option_table(const char *title, const eg_opt *opts)
{
    char text[EG_OPT_TEXT_SIZE];
    if (!opts || !opts->name)
        return;
    printf("\n### %s\n\n| option | what it does | type, default, range |\n|---|---|---|\n",
           title);
    for (const eg_opt *o = opts; o->name; o++) {
        eg_opt_describe(o, text);
        printf("|");
        list_cell(o->name, "`");
        list_cell(o->help, "");
        list_cell(text, "");
        printf("\n");
    }
}

static void list_markdown(const cli_family *f)
{
    const eg_component *c;
    printf("## %s\n\n| name | what it is |%s\n|---|---|%s\n", f->family->name,
           f->formula ? " formula |" : "", f->formula ? "---|" : "");
    for (size_t i = 0; (c = eg_family_at(f->family, i)); i++) {
        printf("|");
        list_cell(c->name, "`");
        list_cell(c->help, "");
        if (f->formula)
            list_cell(f->formula(c), "`");
        printf("\n");
    }
    for (size_t i = 0; (c = eg_family_at(f->family, i)); i++)
        list_option_table(c->name, c->opts);
    if (f->shared) {
        char title[64];
        snprintf(title, sizeof title, "every %s", f->family->singular);
        list_option_table(title, f->shared());
    }
    printf("\n");
}

static int list_unknown(const char *name)
{
    eg_suggestion near = eg_suggest(name);
    for (const eg_verb *const *v = eg_verbs; *v; v++)
        eg_suggest_offer(&near, (*v)->name);
    for (const cli_family *f = cli_families; f->family; f++)
        eg_family_offer(f->family, &near);
    list_each_setting(list_offer_setting, &near);
    return eg_cli_usage("help", "nothing here is called '%s'%s", name, eg_suggest_words(&near));
}

typedef enum help_form {
    HELP_TEXT,
    HELP_MARKDOWN,
    HELP_MAN,
    HELP_BASH,
    HELP_ZSH,
} help_form;

typedef struct help_call {
    const char *name;
    help_form form;
} help_call;

#define HELP_FORM(word, number, text) CLI_PICK(word, help_call, form, help_form, number, text)

static const cli_option help_rows[] = {
    CLI_TEXT("NAME", NULL, help_call, name, NULL, .what = "a name", .offer = CLI_OFFERS_NAMES),
    HELP_FORM("--markdown", HELP_MARKDOWN,
              "everything that is listed, with its options, as Markdown"),
    HELP_FORM("--man", HELP_MAN, "the manual page of all verbs, as roff: engram.1"),
    HELP_FORM("--bash", HELP_BASH,
              "completion of words for bash: eval \"$(engram help --bash)\""),
    HELP_FORM("--zsh", HELP_ZSH, "completion for zsh, as a file _engram in a folder of $fpath"),
    CLI_END,
};

/* Explains all that has the name. False: nothing has. */
static bool help_explain(const char *name)
{
    list_asked asked = {.name = name};
    bool verb = eg_cli_print_verb(name), part = list_explain(name);
    bool key = list_explain_key(name);
    list_each_setting(list_explain_setting, &asked);
    return verb || part || key || asked.found;
}

static int help_run(int argc, char **argv)
{
    help_call c = {0};
    int wrong = cli_parse(&eg_verb_help, argc, argv, &c);
    if (wrong)
        return wrong;
    if (c.form == HELP_MAN)
        cli_print_man();
    else if (c.form == HELP_BASH)
        cli_print_bash();
    else if (c.form == HELP_ZSH)
        cli_print_zsh();
    else if (!c.name && c.form == HELP_TEXT)
        eg_cli_print_verbs();
    for (const cli_family *f = cli_families; c.form == HELP_MARKDOWN && f->family; f++)
        list_markdown(f);
    if (!c.name || c.form != HELP_TEXT)
        return 0;
    if (help_explain(c.name))
        return 0;
    const char *meant = eg_setting_meant(c.name);
    if (!meant)
        return list_unknown(c.name);
    printf("'%s' is '%s' here:\n", c.name, meant);
    help_explain(meant);
    return 0;
}

const eg_verb eg_verb_help = {
    .name = "help",
    .run = help_run,
    .usage = "[NAME | --markdown | --man | --bash | --zsh]",
    .help = "explain a verb or anything that is listed",
    .options = help_rows,
};
