/* registry.c - the list of transports.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "transport/transport.h"

#define X(name) extern const eg_transport eg_transport_##name;
#include "list.inc"
#undef X

const eg_transport *const eg_transports[] = {
#define X(name) &eg_transport_##name,
#include "list.inc"
#undef X
    NULL,
};

const eg_transport *eg_transport_find(const char *word)
{
    for (const eg_transport *const *t = eg_transports; *t; t++)
        if (eg_name_equal((*t)->name, word))
            return *t;
    return NULL;
}
