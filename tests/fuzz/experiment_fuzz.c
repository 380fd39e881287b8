/* experiment_fuzz.c - experiment files from arbitrary bytes: what is accepted must resolve to a
 * text that resolves to itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base.h"
#include "fuzz/fuzz.h"

#include <engram/experiment.h>

#include <stdlib.h>
#include <string.h>

static void check_settles(const eg_experiment *e)
{
    eg_experiment_file *file;
    eg_experiment *again;
    EG_ASSERT(eg_experiment_parse("again", eg_experiment_text(e), &file) == EG_OK);
    EG_ASSERT(eg_experiment_file_resolve(file, NULL, 0, NULL, &again) == EG_OK);
    EG_ASSERT(strcmp(eg_experiment_text(again), eg_experiment_text(e)) == 0);
    EG_ASSERT(strcmp(eg_experiment_label(again), eg_experiment_label(e)) == 0);
    eg_experiment_free(again);
    eg_experiment_file_free(file);
}

/* Bytes after a zero are "key=value", as --set has it. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    eg_experiment_file *file;
    char *text = malloc(n + 1);
    if (!text)
        return 0;
    memcpy(text, bytes, n);
    text[n] = 0;
    size_t length = strlen(text);
    const char *set = length < n ? text + length + 1 : "optimizer.lr=0.5";
    if (eg_experiment_parse("fuzz.yaml", text, &file) == EG_OK) {
        const char *label;
        for (size_t i = 0; i < 4 && (label = eg_experiment_file_label(file, i)); i++) {
            eg_experiments runs;
            if (eg_experiment_file_sweep(file, label, i % 2, &set, &runs) != EG_OK)
                continue;
            for (size_t k = 0; k < runs.n && k < 8; k++)
                check_settles(runs.list[k]);
            eg_experiments_free(&runs);
        }
        eg_experiment_file_free(file);
    }
    free(text);
    return 0;
}
