/* accept.h - what a client sent is judged before it counts.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_ACCEPT_H
#define EG_ACCEPT_H

#include "run/server/federation.h"

/* Whether an answer may count; else one sentence that says why not. It must have what is asked
 * for and nothing that no part knows, all of it finite; as many samples as there can be, a
 * whole number; a change of the model no longer than server.max_change allows; statistics that
 * batches can have brought about; and the parts must find theirs in order. The gaps between
 * tensors, which nobody should send, are made zero.
 */
eg_status eg_accept(eg_federation *f, size_t exchange, int64_t client, eg_bundle *up);

#endif
