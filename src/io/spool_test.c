/* spool_test.c - what does not fit into memory waits on disk, and comes back as it was.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/spool.h"
#include "test.h"

#include <stdlib.h>

#include "own_folder.h"

enum { BIG = 300000, MEMORY = 700000 };

static void fill(unsigned char *bytes, int of)
{
    for (int i = 0; i < BIG; i++)
        bytes[i] = (unsigned char)(i * 7 + of + i / 251);
}

static void test_chunks_come_back_from_memory_and_from_disk(void **state)
{
    (void)state;
    static unsigned char bytes[BIG];
    eg_spool *s;
    eg_chunk *all[6];
    size_t n;
    assert_ok(eg_spool_new(folder, MEMORY, &s));
    for (int i = 0; i < 6; i++) {
        fill(bytes, i);
        assert_ok(eg_chunk_new(s, BIG, &all[i]));
        for (int at = 0; at < BIG; at += BIG / 3) /* in pieces, as they arrive */
            assert_ok(eg_chunk_add(all[i], bytes + at, BIG / 3));
        assert_true(eg_spool_in_memory(s) <= MEMORY);
    }
    assert_int_equal(eg_spool_in_memory(s), 2 * BIG); /* the other four are on disk */
    for (int i = 5; i >= 0; i--) {
        fill(bytes, i);
        const void *back = eg_chunk_bytes(all[i], &n);
        assert_int_equal(n, BIG);
        assert_memory_equal(back, bytes, BIG);
        eg_chunk_rest(all[i]);
        assert_memory_equal(eg_chunk_bytes(all[i], &n), bytes, BIG);
        eg_chunk_free(all[i]);
    }
    assert_int_equal(eg_spool_in_memory(s), 0);
    eg_spool_free(s);
}

static void test_a_chunk_takes_no_more_than_announced(void **state)
{
    (void)state;
    eg_spool *s;
    eg_chunk *c;
    size_t n;
    assert_ok(eg_spool_new(folder, 10, &s));
    assert_ok(eg_chunk_new(s, 4, &c));
    assert_ok(eg_chunk_add(c, "abc", 3));
    assert_fails(eg_chunk_add(c, "de", 2), EG_ESHAPE, "more than 4 bytes");
    assert_memory_equal(eg_chunk_bytes(c, &n), "abc", 3);
    assert_int_equal(n, 3);
    eg_chunk_free(c);
    assert_ok(eg_chunk_new(s, 0, &c));
    assert_non_null(eg_chunk_bytes(c, &n));
    assert_int_equal(n, 0);
    eg_chunk_free(c);
    eg_spool_free(s);
}

static void test_a_folder_that_is_not_there_is_said(void **state)
{
    (void)state;
    eg_spool *s;
    eg_chunk *c;
    assert_ok(eg_spool_new("/nowhere/at/all", 10, &s));
    assert_fails(eg_chunk_new(s, BIG, &c), EG_ENOENT, "/nowhere/at/all");
    assert_int_equal(eg_spool_in_memory(s), 0);
    eg_spool_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks_come_back_from_memory_and_from_disk),
        cmocka_unit_test(test_a_chunk_takes_no_more_than_announced),
        cmocka_unit_test(test_a_folder_that_is_not_there_is_said),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
