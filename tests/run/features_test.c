/* features_test.c - runs that begin at a frozen encoder's features: the same bits, a cache.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include "files.h"

#include <stdlib.h>

/* `more` is behind the network's name and the data's. */
#define TEXT(method, model, data)                                                              \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 80, test: 40, classes: 4, mean: 0.5, std: 0.25" data "}\n"    \
    "model: {name: vit, patch: 7, width: 16, depth: 2, heads: 2, train: head" model "}\n"      \
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}\n"   \
    "memory: {kind: reservoir, size: 10}\n"                                                    \
    "optimizer: {lr: 0.1, momentum: 0.5}\n"                                                    \
    "runs: [{label: a, method: " method "}]\n"

static char cache[FILES_PATH];

static int open_cache(void **state)
{
    files_folder(cache);
    return fixture_open(state) || setenv("ENGRAM_CACHE", cache, 1);
}

static int close_cache(void **state)
{
    files_remove(cache);
    return unsetenv("ENGRAM_CACHE") || fixture_close(state);
}

static void run(const char *text, int workers, int64_t stop, char hash[65])
{
    char path[512];
    assert_ok(fixture_run(text, NULL, workers, stop, path));
    runs_hash(path, hash);
}

/* The number of files in the cache; the name of one of them. */
static size_t cached(char one[FILES_PATH * 2])
{
    char command[FILES_PATH + 80], line[FILES_PATH];
    size_t n = 0;
    snprintf(command, sizeof command, "ls %s", cache);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = 0;
        snprintf(one, FILES_PATH * 2, "%s/%s", cache, line);
        n++;
    }
    pclose(list);
    return n;
}

static void test_features_computed_once_give_the_bits_of_each_batch(void **state)
{
    (void)state;
    static const char *const methods[][2] = {
        {TEXT("[er, fed-a-gem]", ", features: each", ""), TEXT("[er, fed-a-gem]", "", "")},
        {TEXT("[der, ncm]", ", features: each", ""), TEXT("[der, ncm]", "", "")},
    };
    for (size_t i = 0; i < 2; i++) {
        char each[65], once[65], one[FILES_PATH * 2];
        run(methods[i][0], 1, 0, each);
        assert_int_equal(cached(one), 2 * i);
        run(methods[i][1], 1, 0, once);
        assert_string_equal(each, once);
        assert_int_equal(cached(one), 2); /* of training and of test samples, for both */
        run(methods[i][1], 2, 3, once);   /* stopped and resumed */
        assert_string_equal(each, once);
        run(methods[i][1], -2, 0, once); /* processes */
        assert_string_equal(each, once);
    }
}

static void test_a_cut_or_changed_cache_is_made_again(void **state)
{
    (void)state;
    char first[65], again[65], one[FILES_PATH * 2];
    run(TEXT("er", "", ""), 1, 0, first);
    cached(one);
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(one, i ? "r+" : "w"); /* empty; then with another last byte */
        assert_non_null(f);
        if (i) {
            assert_int_equal(fseek(f, -1, SEEK_END), 0);
            fputc(7, f);
        }
        fclose(f);
        run(TEXT("er", "", ""), 1, 0, again);
        assert_string_equal(first, again);
        f = fopen(one, "r");
        assert_non_null(f);
        assert_int_equal(fseek(f, 0, SEEK_END), 0);
        assert_true(ftell(f) > 40 * 16 * 4); /* it is whole */
        fclose(f);
    }
}

static void test_what_changes_at_random_is_computed_each_time(void **state)
{
    (void)state;
    char hash[65], one[FILES_PATH * 2];
    size_t before = cached(one);
    run(TEXT("er", "", ", crop: 2"), 1, 0, hash);
    run(TEXT("[er, ncm]", "", "") "ncm: {mirror: true}\n", 1, 0, hash);
    assert_int_equal(cached(one), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features_computed_once_give_the_bits_of_each_batch),
        cmocka_unit_test(test_a_cut_or_changed_cache_is_made_again),
        cmocka_unit_test(test_what_changes_at_random_is_computed_each_time),
    };
    return cmocka_run_group_tests(tests, open_cache, close_cache);
}
