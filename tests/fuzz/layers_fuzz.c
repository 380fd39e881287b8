/* layers_fuzz.c - a network from arbitrary text, which is recorded if it is a list of layers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "base/base.h"
#include "model/layers_text.h"

#include <engram/model.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char text[EG_OPT_TEXT_SIZE], options[EG_OPT_TEXT_SIZE + 8];
    eg_net *net;
    if (n >= sizeof text)
        return 0;
    memcpy(text, bytes, n);
    text[n] = 0;
    if (!check_form(text))
        return 0;
    text[strcspn(text, "\t\r\n")] = 0; /* options have blanks only */
    snprintf(options, sizeof options, "layers=%s", text);
    if (eg_net_new(&(eg_net_spec){"layers", 3, 32, 32, 10, options, 0}, &net) == EG_OK)
        eg_net_free(net);
    return 0;
}
