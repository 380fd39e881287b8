/* run_folder_private.h - what the folder and its writers share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_RUN_FOLDER_PRIVATE_H
#define EG_RUN_FOLDER_PRIVATE_H

#include "io/json.h"
#include "log/run_folder.h"

#define EG_RUN_METRICS "metrics.jsonl"

/* Appends an event, an object, as one line. */
eg_status eg_run_append(eg_run_folder *f, const eg_json *event);

#endif
