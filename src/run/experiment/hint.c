/* hint.c - what an unknown setting was meant to be: the word of another program, an option of
 * another member of its family, or the nearest there is.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/settings.h"

#include <engram/suggest.h>

#include <stdio.h>
#include <string.h>

const eg_known_word eg_known_words[] = {
    {"learning_rate", "optimizer.lr"},
    {"lr", "optimizer.lr"},
    {"local_lr", "optimizer.lr"},
    {"client_lr", "optimizer.lr"},
    {"step_size", "optimizer.lr"},
    {"momentum", "optimizer.momentum"},
    {"optim_mom", "optimizer.momentum"},
    {"weight_decay", "optimizer.weight_decay"},
    {"optim_wd", "optimizer.weight_decay"},
    {"wd", "optimizer.weight_decay"},
    {"l2", "optimizer.weight_decay"},
    {"batch_size", "train.batch"},
    {"local_batch_size", "train.batch"},
    {"minibatch_size", "train.batch"},
    {"train_batch_size", "train.batch"},
    {"bs", "train.batch"},
    {"epochs", "train.epochs"},
    {"n_epochs", "train.epochs"},
    {"num_epochs", "train.epochs"},
    {"local_epochs", "train.epochs"},
    {"local_steps", "train.steps"},
    {"num_steps", "train.steps"},
    {"max_steps", "train.steps"},
    {"n_steps", "train.steps"},
    {"clip_grad", "train.clip"},
    {"grad_clip", "train.clip"},
    {"max_norm", "train.clip"},
    {"max_grad_norm", "train.clip"},
    {"clip_grad_norm", "train.clip"},
    {"num_clients", "scenario.clients"},
    {"n_clients", "scenario.clients"},
    {"num_users", "scenario.clients"},
    {"num_supernodes", "scenario.clients"},
    {"num_parties", "scenario.clients"},
    {"fraction_fit", "scenario.participation"},
    {"client_fraction", "scenario.participation"},
    {"participation_rate", "scenario.participation"},
    {"sample_ratio", "scenario.participation"},
    {"frac", "scenario.participation"},
    {"clients_per_round", "scenario.per_round"},
    {"num_sampled_clients", "scenario.per_round"},
    {"num_rounds", "scenario.rounds"},
    {"n_rounds", "scenario.rounds"},
    {"num_server_rounds", "scenario.rounds"},
    {"global_rounds", "scenario.rounds"},
    {"comm_rounds", "scenario.rounds"},
    {"n_tasks", "scenario.tasks"},
    {"num_tasks", "scenario.tasks"},
    {"n_experiences", "scenario.tasks"},
    {"num_experiences", "scenario.tasks"},
    {"alpha", "scenario.partition.alpha"},
    {"dirichlet_alpha", "scenario.partition.alpha"},
    {"buffer_size", "memory.size"},
    {"mem_size", "memory.size"},
    {"memory_size", "memory.size"},
    {"buffer", "memory.size"},
    {"proximal_mu", "fedprox.mu"},
    {"mu", "fedprox.mu"},
    {"e_lambda", "ewc.lambda"},
    {"ewc_lambda", "ewc.lambda"},
    {"min_fit_clients", "server.min_clients"},
    {"min_available_clients", "server.min_clients"},
    {"server_lr", "server.lr"},
    {"server_learning_rate", "server.lr"},
    {"global_lr", "server.lr"},
    {"lr_scheduler", "schedule.kind"},
    {"scheduler", "schedule.kind"},
    {"warmup_steps", "schedule.warmup"},
    {"warmup_rounds", "schedule.warmup"},
    {"normalise", "data.normalize"},
    {"standardize", "data.normalize"},
    {"dataset", "data"},
    {"network", "model"},
    {"arch", "model"},
    {"architecture", "model"},
    {"backbone", "model"},
    {"net", "model"},
    {"optim", "optimizer"},
    {"hidden_size", "model.width"},
    {"hidden_dim", "model.width"},
    {"early_stopping", "eval.patience"},
    {"early_stopping_patience", "eval.patience"},
    {"val_split", "data.validation"},
    {"validation_split", "data.validation"},
    {"val_ratio", "data.validation"},
    {NULL, NULL},
};

const char *eg_setting_meant(const char *word)
{
    const char *dot = strrchr(word, '.');
    for (const eg_known_word *k = eg_known_words; k->word; k++)
        if (eg_name_equal(k->word, dot ? dot + 1 : word))
            return k->setting;
    return NULL;
}

/* "prefix.name" for every option. */
static void hint_rows(eg_suggestion *s, const char *prefix, const eg_opt *opts)
{
    for (const eg_opt *o = opts; o && o->name; o++) {
        char key[EG_OPT_TEXT_SIZE];
        snprintf(key, sizeof key, "%s%s%s", prefix, *prefix ? "." : "", o->name);
        eg_suggest_offer(s, key);
    }
}

static void hint_scenario_row(void *context, const char *name, const char *value)
{
    char key[EG_OPT_TEXT_SIZE];
    (void)value;
    snprintf(key, sizeof key, "scenario.%s", name);
    eg_suggest_offer(context, key);
}

/* Every setting that can be set as things are. */
static void hint_all(eg_suggestion *s, const eg_experiment *e)
{
    static const char *const names[] = {"name", "data", "model", "optimizer", "scenario.kind"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strchr(s->word, '.') || strchr(names[i], '.'))
            eg_suggest_offer(s, names[i]);
    hint_rows(s, "", eg_settings_of_all);
    hint_rows(s, "optimizer", e->optimizer.kind->component.opts);
    for (const eg_section *const *x = eg_sections; *x; x++)
        hint_rows(s, (*x)->component.name, (*x)->component.opts);
    eg_spec_each(e->spec, hint_scenario_row, s);
    hint_rows(s, "data", eg_settings_of_data);
    for (size_t i = 0; i < e->n_sources; i++)
        hint_rows(s, "data", e->sets[i]->component.opts);
    hint_rows(s, "model", eg_settings_of_model);
    hint_rows(s, "model", e->model->component.opts);
    const eg_component *m;
    for (size_t i = 0; (m = eg_family_at(&eg_method_family, i)); i++)
        hint_rows(s, m->name, m->opts);
}

/* True for a key that holds the name of a family's member: that it is not there was said with
 * the nearest one. */
static bool hint_is_name(const char *key)
{
    static const char *const names[] = {
        "model",     "model.name",    "optimizer",          "optimizer.name",         "data",
        "data.name", "scenario.kind", "scenario.partition", "scenario.partition.kind"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], key) == 0)
            return true;
    return false;
}

/* What a key was probably meant to be; where names are a section's or a method's own, they are
 * taken as such. */
static const char *hint_meant(const char *key)
{
    static const char *const own[] = {"server", "pretrain", "schedule", "secure", "dp"};
    char head[EG_OPT_TEXT_SIZE];
    const eg_component *m;
    snprintf(head, sizeof head, "%.*s", (int)strcspn(key, "."), key);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(head, own[i]) == 0)
            return NULL;
    for (size_t i = 0; (m = eg_family_at(&eg_method_family, i)); i++)
        if (eg_name_equal(m->name, head))
            return NULL;
    const char *meant = eg_setting_meant(key);
    return meant && strcmp(meant, key) != 0 ? meant : NULL;
}

/* The family whose member has the options with this beginning, and that member. */
static const eg_family *hint_family(const eg_experiment *e, const char *key,
                                    const eg_component **own)
{
    const eg_dataset *set = e->n_sources ? e->sets[e->n_sources - 1] : NULL;
    const struct {
        const char *beginning;
        const eg_family *family;
        const eg_component *own;
    } heads[] = {
        {"model.", &eg_model_family, &e->model->component},
        {"optimizer.", &eg_optim_family, &e->optimizer.kind->component},
        {"data.", &eg_dataset_family, set ? &set->component : NULL},
        {"scenario.partition.", &eg_partition_family, NULL},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (strncmp(key, heads[i].beginning, strlen(heads[i].beginning)) == 0) {
            *own = heads[i].own;
            return heads[i].family;
        }
    return NULL;
}

enum { HINT_NAMES = 200 };

/* Adds a name to a list of them that is to be read. */
static void hint_add_name(char out[HINT_NAMES], const char *name)
{
    size_t n = strlen(out);
    snprintf(out + n, HINT_NAMES - n, "%s%s", n ? ", " : "", name);
}

/* Which members of the family have the option: another one was meant. False: none has. */
static bool hint_others(const eg_family *family, const char *name, char out[HINT_NAMES])
{
    const eg_component *c;
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; family && (c = eg_family_at(family, i)); i++)
        if (eg_opts_find(c->opts, name)) {
            hint_add_name(out, c->name);
            n++;
        }
    snprintf(out + strlen(out), HINT_NAMES - strlen(out), n == 1 ? " has it" : " have it");
    return n > 0;
}

/* All options of the one there is. False: it has none. */
static bool hint_own(const eg_component *own, char out[HINT_NAMES])
{
    snprintf(out, HINT_NAMES, "it has ");
    for (const eg_opt *o = own ? own->opts : NULL; o && o->name; o++) {
        size_t n = strlen(out);
        snprintf(out + n, HINT_NAMES - n, "%s%s", o == own->opts ? "" : ", ", o->name);
    }
    return own && own->opts && own->opts->name;
}

eg_status eg_setting_hint(eg_status s, const eg_experiment *e, const char *key)
{
    if (s != EG_ENOENT || hint_is_name(key))
        return s;
    eg_suggestion near = eg_suggest(key);
    const char *meant = hint_meant(key);
    if (meant)
        return eg_fail(s, "%s (here it is '%s')", eg_error(), meant);
    const eg_component *own = NULL;
    const eg_family *family = hint_family(e, key, &own);
    char names[HINT_NAMES];
    if (hint_others(family, strrchr(key, '.') ? strrchr(key, '.') + 1 : key, names))
        return eg_fail(s, "%s (%s)", eg_error(), names);
    hint_all(&near, e);
    if (!*near.best && hint_own(own, names))
        return eg_fail(s, "%s (%s)", eg_error(), names);
    return eg_fail(s, "%s%s", eg_error(), eg_suggest_words(&near));
}
