/* version.c - which engram this is, as it was built.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/base.h>

#include <commit.h> /* which cmake/commit.cmake writes in every build */

const char *eg_version(void)
{
    return ENGRAM_VERSION;
}

const char *eg_commit(void)
{
    return ENGRAM_COMMIT;
}
