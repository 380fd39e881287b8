/* ledger_apart_test.c - a server whose clients keep their files on disks of their own.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two folders stand for two machines. The ledger of one has receipts of what lies in the other.
 */
#include "keeping.h"

#include <stdio.h>

#include "own_folder.h"

static char here[FILES_PATH * 2], there[FILES_PATH * 2];

static eg_ledger *ledger(bool resume)
{
    eg_ledger *l;
    assert_ok(eg_ledger_open_apart(here, resume, &l));
    return l;
}

static void commit(eg_ledger *l)
{
    eg_json *extra = eg_json_object();
    assert_ok(eg_ledger_commit(l, extra));
    eg_json_free(extra);
}

/* The client's turn, told what the ledger says; its files are brought to its own disk. */
static void turn(eg_ledger *l, int64_t client, int64_t value)
{
    int64_t committed;
    eg_receipt at = eg_ledger_receipt(l, client, &committed), next;
    eg_records *r;
    assert_ok(eg_records_open(there, client, &at, committed, &r));
    keeping_put(r, "a", value, 100);
    assert_ok(eg_records_save(r, &next));
    eg_records_free(r);
    assert_ok(eg_records_sync(there, client, &next, committed));
    assert_ok(eg_ledger_enter(l, client, &next));
}

static void expect(eg_ledger *l, int64_t client, int64_t value)
{
    int64_t committed;
    eg_receipt at = eg_ledger_receipt(l, client, &committed);
    eg_records *r;
    assert_ok(eg_records_open(there, client, &at, committed, &r));
    keeping_expect(r, "a", value, 100);
    eg_records_free(r);
}

static void test_receipts_are_committed_without_the_files(void **state)
{
    (void)state;
    eg_ledger *l = ledger(false);
    turn(l, 5, 1);
    commit(l);
    turn(l, 5, 2);
    eg_ledger_free(l); /* the second turn was never committed */
    l = ledger(true);
    expect(l, 5, 1); /* and the device still has what the first one left */
    turn(l, 5, 3);
    commit(l);
    eg_ledger_free(l);
    l = ledger(true);
    expect(l, 5, 3);
    eg_ledger_free(l);
}

static void test_an_ordinary_ledger_misses_the_files(void **state)
{
    (void)state;
    eg_ledger *l;
    assert_fails(eg_ledger_open(here, true, &l), EG_EFORMAT, "missing");
}

static void test_what_is_synced_must_be_there(void **state)
{
    (void)state;
    assert_ok(eg_records_sync(there, 9, &(eg_receipt){0}, 0)); /* it keeps nothing */
    assert_fails(eg_records_sync(there, 9, &(eg_receipt){.version = 3, .bytes = 1}, 0),
                 EG_EFORMAT, "missing");
}

static int open_both(void **state)
{
    open_folder(state);
    snprintf(here, sizeof here, "%s/server", folder);
    snprintf(there, sizeof there, "%s/device", folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receipts_are_committed_without_the_files),
        cmocka_unit_test(test_an_ordinary_ledger_misses_the_files),
        cmocka_unit_test(test_what_is_synced_must_be_there),
    };
    return cmocka_run_group_tests(tests, open_both, close_folder);
}
