/* isa.h - tests that run for any instruction set, named by their argument.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_ISA_H
#define EG_TEST_ISA_H

#include <engram/graph.h>

#include <stdio.h>

/* What main returns when the machine lacks the instruction set: ctest shows "skipped". */
#define ISA_SKIPPED 77

/* Takes the instruction set of the first argument, if there is one; false: it is not here. */
static inline bool isa_from_argument(int argc, char **argv)
{
    if (argc < 2 || eg_isa_set(argv[1]) == EG_OK)
        return true;
    printf("not tested here: %s\n", eg_error());
    return false;
}

#endif
