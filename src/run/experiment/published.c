/* published.c - reads figures of papers, which are in percent, as fractions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/published.h"

#include <engram/suggest.h>

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns of the table that papers have figures for. */
static const char *const figures_known[] = {"acc_final",
                                            "acc_seen",
                                            "acc_task_il",
                                            "acc_last_ten",
                                            "acc_t",
                                            "aia",
                                            "client_mean",
                                            "client_sd",
                                            "client_worst",
                                            "aa",
                                            "ar",
                                            "forgetting",
                                            "forgetting_from_first",
                                            "bwt",
                                            "fwt"};

static eg_status figures_check_metric(const eg_yaml *y, const eg_yaml_node *node)
{
    eg_suggestion near = eg_suggest(node->key);
    for (size_t i = 0; i < sizeof figures_known / sizeof *figures_known; i++) {
        if (strcmp(figures_known[i], node->key) == 0)
            return EG_OK;
        eg_suggest_offer(&near, figures_known[i]);
    }
    return eg_yaml_fail(y, node, EG_EINVAL, "published: there is no column '%s'%s", node->key,
                        eg_suggest_words(&near));
}

static eg_status figures_number(const eg_yaml *y, const eg_yaml_node *node, double *out)
{
    char *end;
    if (!node->text || !*node->text)
        return eg_yaml_fail(y, node, EG_EINVAL, "a published figure is a number");
    *out = strtod(node->text, &end) / 100;
    return *end || !isfinite(*out)
               ? eg_yaml_fail(y, node, EG_EINVAL, "'%s' is no number", node->text)
               : EG_OK;
}

/* One "metric: [mean, sd]" or "metric: mean". */
static eg_status figures_one(const eg_yaml *y, const eg_yaml_node *node, eg_published *out)
{
    if (node->type == EG_YAML_SCALAR)
        return figures_number(y, node, &out->mean);
    if (node->type != EG_YAML_SEQUENCE || node->n < 1 || node->n > 2)
        return eg_yaml_fail(y, node, EG_EINVAL, "a published figure is a number or [mean, sd]");
    EG_TRY(figures_number(y, node->child, &out->mean));
    if (node->n == 1)
        return EG_OK;
    EG_TRY(figures_number(y, node->child->next, &out->sd));
    return out->sd >= 0 ? EG_OK
                        : eg_yaml_fail(y, node->child->next, EG_EINVAL,
                                       "a published deviation is not below 0");
}

eg_status eg_figures_read(eg_figures *to, const eg_yaml *y, const eg_yaml_node *published,
                          const char *label)
{
    for (const eg_yaml_node *c = published->child; c; c = c->next) {
        EG_TRY(figures_check_metric(y, c));
        EG_TRY(eg_grow(&to->list, to->n, &to->cap, sizeof *to->list));
        eg_published *p = &to->list[to->n++];
        *p = (eg_published){.label = label, .metric = c->key, .sd = -1};
        EG_TRY(figures_one(y, c, p));
    }
    return EG_OK;
}
