/* engram/transport.h - the ways in which turns reach the clients and answers come back.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PUBLIC_TRANSPORT_H
#define EG_PUBLIC_TRANSPORT_H

#include <engram/component.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

extern const eg_family eg_transport_family; /* name and help of each */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
