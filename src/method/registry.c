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
const eg_family eg_method_family = {"methods", "method", eg_methods};

const eg_method *eg_method_find(const char *word)
{
    return (const eg_method *)eg_family_find(&eg_method_family, word);
}
