/* hint.h - what was probably meant by a name that is not there.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_HINT_H
#define EG_HINT_H

#include <engram/suggest.h>

#include "run/experiment/experiment.h"

/* EG_ENOENT: adds the nearest setting to the error text, if there is one. Every other status
 * passes untouched. */
eg_status eg_hint_setting(eg_status s, const eg_experiment *e, const char *key);

#endif
