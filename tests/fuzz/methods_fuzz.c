/* methods_fuzz.c - what the parts of a method keep, changed: the next turn ends with a status.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz/edit.h"

static const char *const methods[] = {"ewc",  "fedcurv", "re_fed",  "scaffold",
                                      "moon", "pass",    "fedspace"};
enum { METHODS = sizeof methods / sizeof *methods };

static void open_client(edit_client *c, const char *method)
{
    char text[1024];
    snprintf(text, sizeof text,
             "name: t\n"
             "data: {name: glyphs, train: 48, test: 8, classes: 6, size: 8}\n"
             "model: {name: mlp, depth: 1, width: 5}\n"
             "scenario: {kind: class-incremental, clients: 1, tasks: 3, rounds: 1,\n"
             "           partition: iid}\n"
             "optimizer: {lr: 0.1}\n"
             "train: {batch: 8}\n"
             "runs: [{label: a, method: %s}]\n",
             method);
    edit_open(c, text, 2);
}

/* The first byte says which method. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static edit_client clients[METHODS];
    edit_input in = {bytes, n};
    size_t m = edit_byte(&in) % METHODS;
    if (!clients[m].o.e)
        open_client(&clients[m], methods[m]);
    edit_turn(&clients[m], in);
    return 0;
}
