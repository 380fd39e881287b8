/* memory_fuzz.c - the memory that a client kept, changed: its next turn ends with a status.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz/edit.h"

static const char text[] = "name: t\n"
                           "data: {name: blobs, train: 48, test: 8, classes: 6, dim: 4}\n"
                           "model: {name: mlp, depth: 1, width: 5}\n"
                           "scenario: {kind: class-incremental, clients: 1, tasks: 3,\n"
                           "           rounds: 1, partition: iid}\n"
                           "optimizer: {lr: 0.1}\n"
                           "train: {batch: 8}\n"
                           "memory: {kind: reservoir, size: 12}\n"
                           "runs: [{label: a, method: derpp}]\n";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static edit_client client;
    if (!client.n)
        edit_open(&client, text, 2);
    edit_turn(&client, (edit_input){bytes, n});
    return 0;
}
