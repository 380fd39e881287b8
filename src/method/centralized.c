/* centralized.c - pFedGRP's reference: every client alone, on all its real data so far.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/past.h"

const eg_method eg_method_centralized = {
    .component = {"centralized", "every client alone, on all its data so far", 0, NULL},
    .setup = eg_setup_personal,
    .client = {.samples = eg_add_past_samples},
    .bound = true,
};
