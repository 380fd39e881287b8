/* run_file.c - where the files of a run are, and whether the run is finished.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/log.h>

#include <stdio.h>
#include <unistd.h>

eg_status eg_run_file(const char *folder, const char *name, char out[EG_RUN_PATH])
{
    int n = snprintf(out, EG_RUN_PATH, "%s/%s", folder, name);
    return n > 0 && n < EG_RUN_PATH
               ? EG_OK
               : eg_fail(EG_EINVAL, "the path '%.200s...' is too long", folder);
}

eg_status eg_run_sheet(const char *folder, int64_t round, char out[EG_RUN_PATH])
{
    char name[64];
    snprintf(name, sizeof name, EG_RUN_SHEETS "/round-%06lld.png", (long long)round);
    return eg_run_file(folder, name, out);
}

bool eg_run_is_finished(const char *folder)
{
    char summary[EG_RUN_PATH];
    return eg_run_file(folder, EG_RUN_SUMMARY, summary) == EG_OK && access(summary, F_OK) == 0;
}
