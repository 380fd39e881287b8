/* worker_fuzz.c - a client's own model and optimiser, changed, and its next turn.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz/edit.h"

static const char text[] = "name: t\n"
                           "data: {name: blobs, train: 48, test: 8, classes: 6, dim: 4}\n"
                           "model: {name: mlp, depth: 1, width: 5}\n"
                           "scenario: {kind: class-incremental, clients: 1, tasks: 3,\n"
                           "           rounds: 1, partition: iid}\n"
                           "optimizer: {name: sgd, lr: 0.1, momentum: 0.9}\n"
                           "train: {batch: 8, optimizer_state: keep}\n"
                           "runs: [{label: a, method: local}]\n";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static edit_client client;
    if (!client.n)
        edit_open(&client, text, 2);
    edit_turn(&client, (edit_input){bytes, n});
    return 0;
}
