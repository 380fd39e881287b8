/* train.h - the two halves of `engram train`: networks that classify, networks that draw.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_TRAIN_H
#define EG_CLI_TRAIN_H

/* The call has --generator: arguments and exit code as of a verb. */
int train_generator(int argc, char **argv);

#endif
