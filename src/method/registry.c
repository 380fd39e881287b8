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
static eg_added registry_added;
const eg_family eg_method_family = {"methods", "method", eg_methods, &registry_added};

const eg_leaving eg_leavings[] = {
    {EG_LEAVES_VECTORS, "vectors",
     "vectors as long as the model that its data made: gradients, Fisher information, "
     "controls"},
    {EG_LEAVES_FIGURES, "figures",
     "figures of its data by class: counts, and sums, means or products of features"},
    {EG_LEAVES_GENERATORS, "generators", "networks that draw images like those it has"},
    {0, NULL, NULL},
};

/* What other papers call a method. */
static const struct {
    const char *word, *name;
} registry_aliases[] = {{"fcil", "glfc"}};

const eg_method *eg_method_find(const char *word)
{
    for (size_t i = 0; i < sizeof registry_aliases / sizeof *registry_aliases; i++)
        if (eg_name_equal(registry_aliases[i].word, word))
            word = registry_aliases[i].name;
    return (const eg_method *)eg_family_find(&eg_method_family, word);
}

eg_status eg_method_add(const eg_method *m)
{
    size_t size = m->component.size;
    if ((m->client.size > 0 && m->client.size < size) ||
        (m->server.size > 0 && m->server.size < size))
        return eg_fail(EG_EINVAL,
                       "method '%s': the state of a half begins with the options, but is "
                       "smaller",
                       m->component.name ? m->component.name : "");
    return eg_family_add(&eg_method_family, &m->component);
}
