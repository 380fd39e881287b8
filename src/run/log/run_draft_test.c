/* run_draft_test.c - run folders in the making, on a disk that machines share.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/run_folder.h"

#include "own_folder.h"

#include <sys/stat.h>
#include <unistd.h>

/* A process of the same number on another machine is about to make the same run: its draft has
 * the first name that ours would have. */
static void test_the_draft_of_another_machine_is_left_alone(void **state)
{
    (void)state;
    static const char *const tails[] = {".tmp", ".0.tmp", ".1.tmp"};
    char path[FILES_PATH + 16], draft[3][64], file[FILES_PATH * 2];
    struct stat info;
    eg_run_folder *f;
    snprintf(path, sizeof path, "%s/run", folder);
    for (int i = 0; i < 3; i++) {
        snprintf(draft[i], sizeof draft[i], "run.%ld%s/config.yaml", (long)getpid(), tails[i]);
        files_write(folder, draft[i], "theirs\n", 7);
    }
    assert_ok(eg_run_folder_new(path, "name: ours\n", &f));
    eg_run_folder_free(f);
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, draft[i]);
        assert_int_equal(stat(file, &info), 0);
        assert_int_equal(info.st_size, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_draft_of_another_machine_is_left_alone),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
