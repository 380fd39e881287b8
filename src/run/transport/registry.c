/* registry.c - the list of transports.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/transport.h"

#define X(name) extern const eg_transport eg_transport_##name;
#include "list.inc"
#undef X

const eg_transport *const eg_transports[] = {
#define X(name) &eg_transport_##name,
#include "list.inc"
#undef X
    NULL,
};
const eg_family eg_transport_family = {"transports", "transport", eg_transports, NULL};

const eg_transport *eg_transport_find(const char *word)
{
    return (const eg_transport *)eg_family_find(&eg_transport_family, word);
}
