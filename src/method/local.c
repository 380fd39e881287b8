/* local.c - no federation: every client trains its own model on its own stream.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/past.h"

const eg_method eg_method_local = {
    .component = {"local", "every client alone, without aggregation", 0, NULL},
    .setup = eg_setup_personal,
};
