/* registry.c - the list of methods.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/method.h>

#define X(name) extern const eg_method eg_method_##name;
#include "list.inc"
#undef X

const eg_method *const eg_methods[] = {
#define X(name) &eg_method_##name,
#include "list.inc"
#undef X
    NULL,
};

const eg_method *eg_method_find(const char *word)
{
    for (const eg_method *const *m = eg_methods; *m; m++)
        if (eg_name_equal((*m)->name, word))
            return *m;
    return NULL;
}
