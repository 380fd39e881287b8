/* train.h - the two halves of `engram train`: networks that classify, networks that draw.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_TRAIN_H
#define EG_CLI_TRAIN_H

#include "cli.h"

typedef struct train_call {
    const char *data_dir;
    cli_texts settings;     /* options of the network or of the generator */
    char sets[EG_CLI_SETS]; /* the same as one text */
    /* Of a network that classifies. */
    const char *model, *lr;
    int64_t epochs; /* 0: not given */
    /* Of one that draws. */
    const char *generator, *data, *out, *sheet;
    int64_t only, side, steps; /* only -1: all classes */
    uint64_t seed;
    bool quiet;
} train_call;

/* Trains one that draws; 0, or the exit code. */
int train_generator(const train_call *call);

#endif
