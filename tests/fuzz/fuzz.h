/* fuzz.h - the one function of a fuzz target.
 * SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer calls it with inputs that it invents; replay.c with those kept in the corpus.
 */
#ifndef EG_FUZZ_H
#define EG_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#endif
