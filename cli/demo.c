/* demo.c - `engram demo`: a small network learns generated data.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <stdio.h>

int eg_verb_demo(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return eg_cli_usage("demo", "it takes no arguments");
    printf("demo\n");
    return 0;
}
