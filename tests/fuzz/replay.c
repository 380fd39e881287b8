/* replay.c - runs a fuzz target over the files of a folder: a finding, once kept, is a test.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz/fuzz.h"

#include "io/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the number of files that could not be read. */
static int replay_folder(const char *folder, int *n_files)
{
    DIR *d = opendir(folder);
    if (!d)
        return 1;
    int failures = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char path[1024];
        unsigned char *bytes;
        size_t n;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (eg_file_read(path, (size_t)1 << 20, &bytes, &n) != EG_OK) {
            fprintf(stderr, "%s\n", eg_error());
            failures++;
            continue;
        }
        /* A copy of exact size, so that AddressSanitizer sees one byte too far. */
        unsigned char *exact = malloc(n ? n : 1);
        for (size_t i = 0; exact && i < n; i++)
            exact[i] = bytes[i];
        if (exact)
            LLVMFuzzerTestOneInput(exact, n);
        free(exact);
        free(bytes);
        (*n_files)++;
    }
    closedir(d);
    return failures;
}

int main(int argc, char **argv)
{
    int failures = argc < 2, n_files = 0;
    for (int i = 1; i < argc; i++)
        failures += replay_folder(argv[i], &n_files);
    printf("%d inputs replayed, %d failures\n", n_files, failures);
    return failures > 0 || n_files == 0;
}
