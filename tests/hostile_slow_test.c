/* hostile_slow_test.c - the demo with hostile clients: the table of docs/results/program.md.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hostile.h"

static char folder[FILES_PATH];

/* The demo's data, scenario and training, with the method er and the hostile one. */
static void write_demo(char file[FILES_PATH * 2])
{
    static const char run[] = "runs: [{label: a, method: [er, hostile]}]\n";
    char text[2048];
    FILE *f = fopen("experiments/demo.yaml", "rb");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - sizeof run, f);
    fclose(f);
    text[n] = 0;
    char *runs = strstr(text, "runs:");
    assert_non_null(runs);
    memcpy(runs, run, sizeof run);
    files_write(folder, "demo.yaml", text, strlen(text));
    snprintf(file, FILES_PATH * 2, "%s/demo.yaml", folder);
}

static void test_robust_means_hold_where_the_mean_does_not(void **state)
{
    (void)state;
    static const char *const rules[] = {"mean", "median", "trimmed", "norm-clip"};
    static const int hostiles[] = {0, 1, 3};
    enum { SEEDS = 3 };
    char file[FILES_PATH * 2];
    write_demo(file);
    printf("| server.mean | 0 of 10 | 1 of 10 | 3 of 10 |\n|---|---|---|---|\n");
    for (size_t r = 0; r < 4; r++) {
        printf("| %s", rules[r]);
        for (size_t h = 0; h < 3; h++) {
            double sum = 0;
            for (uint64_t seed = 0; seed < SEEDS; seed++)
                sum += hostile_accuracy(file, folder, rules[r], hostiles[h], seed);
            printf(" | %.1f", 100 * sum / SEEDS);
            fflush(stdout);
            if (hostiles[h] == 1)
                assert_true((sum / SEEDS > 0.6) == (r > 0));
        }
        printf(" |\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_robust_means_hold_where_the_mean_does_not),
    };
    files_folder(folder);
    assert_ok(eg_method_add(&hostile_method));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    files_remove(folder);
    return failed;
}
