/* layers_fuzz.c - a network from arbitrary text: as the list it is, which is recorded if it is
 * one, and as a YAML file that has one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "run/experiment/apply.h"
#include "run/experiment/settings.h"

#include <stdio.h>
#include <string.h>

/* Its one form is read as itself. */
static bool check_form(const char *text)
{
    eg_layer_list list;
    char once[EG_OPT_TEXT_SIZE], twice[EG_OPT_TEXT_SIZE];
    if (eg_layers_parse(text, &list) != EG_OK || eg_layers_print(&list, once) != EG_OK)
        return false;
    EG_ASSERT(eg_layers_parse(once, &list) == EG_OK);
    EG_ASSERT(eg_layers_print(&list, twice) == EG_OK);
    EG_ASSERT(strcmp(once, twice) == 0);
    return true;
}

/* "layers: [...]" in a file. */
static void check_yaml(const uint8_t *bytes, size_t n)
{
    eg_yaml *y;
    eg_experiment *e = NULL;
    if (eg_yaml_parse("fuzz.yaml", bytes, n, &y) != EG_OK)
        return;
    const eg_yaml_node *list = eg_yaml_get(eg_yaml_root(y), "layers");
    if (list && list->type == EG_YAML_SEQUENCE && eg_experiment_new(&e) == EG_OK &&
        eg_experiment_set_model(e, "layers") == EG_OK &&
        eg_apply_layers(e, y, list, "model.layers") == EG_OK)
        EG_ASSERT(e->layers.n > 0);
    eg_experiment_free(e);
    eg_yaml_free(y);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char text[EG_OPT_TEXT_SIZE], options[EG_OPT_TEXT_SIZE + 8];
    eg_net *net;
    check_yaml(bytes, n);
    if (n >= sizeof text)
        return 0;
    memcpy(text, bytes, n);
    text[n] = 0;
    if (!check_form(text))
        return 0;
    text[strcspn(text, "\t\r\n")] = 0; /* options have blanks only */
    snprintf(options, sizeof options, "layers=%s", text);
    if (eg_net_new(&(eg_net_spec){"layers", 3, 32, 32, 10, options, 0, NULL, NULL}, &net) ==
        EG_OK)
        eg_net_free(net);
    return 0;
}
