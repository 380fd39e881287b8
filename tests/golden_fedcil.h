/* golden_fedcil.h - what the golden tests of FedCIL's client and server share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_GOLDEN_FEDCIL_H
#define EG_GOLDEN_FEDCIL_H

#include "golden_step.h"
#include "one_client.h"

static const char golden_fedcil_text[] =
    "name: t\n"
    "data: {name: glyphs, train: 80, test: 10, classes: 10, size: 8, mean: 0.5, std: 0.5}\n"
    "model: {name: acgan, width: 8}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 2}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {steps: 1, batch: 8}\n"
    "fedcil: {width: 8}\n"
    "runs: [{label: a, method: fedcil}]\n";

enum { GOLDEN_CLASSES = 10, GOLDEN_GENERATOR = 0, GOLDEN_CRITIC = 1 };

static inline eg_json *golden_fedcil_load(void)
{
    eg_json *file;
    assert_ok(eg_json_load("tests/golden/fedcil-8.json", &file));
    return file;
}

static inline const eg_json *golden_fedcil_network(const eg_json *file, int number)
{
    return eg_json_at(eg_json_get(file, "learners"), (size_t)number);
}

#endif
