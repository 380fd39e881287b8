/* own_folder.h - a folder for all tests of one program.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Include it last, and give open_folder and close_folder to cmocka_run_group_tests: it is made
 * before the first test, and gone after the last.
 */
#ifndef EG_TEST_OWN_FOLDER_H
#define EG_TEST_OWN_FOLDER_H

#include "files.h"

static char folder[FILES_PATH];

static inline int open_folder(void **state)
{
    (void)state;
    files_folder(folder);
    return 0;
}

static inline int close_folder(void **state)
{
    (void)state;
    files_remove(folder);
    return 0;
}

#endif
