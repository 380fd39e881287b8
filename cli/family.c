/* family.c - the families that `engram list` and `engram help` know.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "family.h"

#include <engram/engram.h>

static const char *family_formula(const eg_component *c)
{
    return ((const eg_metric *)c)->formula;
}

const cli_family cli_families[] = {
    {.family = &eg_method_family, .key = ""},
    {.family = &eg_op_family},
    {.family = &eg_model_family, .key = "model"},
    {.family = &eg_generator_family},
    {.family = &eg_optim_family, .key = "optimizer"},
    {.family = &eg_dataset_family, .key = "data"},
    {.family = &eg_kind_family, .shared = eg_scenario_opts, .key = "scenario"},
    {.family = &eg_partition_family, .key = "scenario.partition"},
    {.family = &eg_metric_family, .formula = family_formula},
    {.family = &eg_transport_family},
    {.family = &eg_setting_family, .file = true, .key = ""},
    {.family = NULL},
};
