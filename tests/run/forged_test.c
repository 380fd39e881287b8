/* forged_test.c - checkpoints whose checksums are right and whose records are not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include "run/store/ledger.h"

#include <math.h>

static char folder[FILES_PATH];

/* What is put in place of an entry. Of a tensor: so many values fewer, or this one first. */
typedef struct forgery {
    const char *method;
    int64_t owner; /* of the record; -1: the server */
    const char *record, *entry;
    size_t fewer;
    double value;
    const char *says;
} forgery;

static void forge_entry(const forgery *f, const eg_bundle_entry *e, eg_bundle *to)
{
    bool it = strcmp(e->name, f->entry) == 0;
    if (e->is_scalar) {
        assert_ok(eg_bundle_scalar(to, e->name, it ? f->value : e->scalar));
    } else if (it && f->fewer) {
        assert_ok(eg_bundle_add_flat(to, e->name, e->values, e->n - f->fewer));
    } else {
        float *values;
        assert_ok(eg_bundle_room(to, e->name, e->shape, &values));
        memcpy(values, e->values, e->n * sizeof *values);
        if (it)
            values[0] = (float)f->value;
    }
}

static eg_bundle *forge_record(const forgery *f, const eg_bundle *from)
{
    eg_bundle *to;
    eg_bundle_entry e;
    bool there = false;
    assert_ok(eg_bundle_new(&to));
    for (size_t i = 0; i < eg_bundle_n(from); i++) {
        eg_bundle_at(from, i, &e);
        there |= strcmp(e.name, f->entry) == 0;
        forge_entry(f, &e, to);
    }
    assert_true(there);
    return to;
}

/* Commits the run's checkpoint once more, with a record that somebody else wrote. */
static void forge(const char *run, const forgery *f)
{
    char store[600];
    eg_ledger *ledger;
    eg_records *records;
    eg_receipt receipt;
    const eg_bundle *kept;
    snprintf(store, sizeof store, "%s/checkpoint", run);
    assert_ok(eg_ledger_open(store, true, &ledger));
    assert_ok(eg_ledger_records(ledger, f->owner, &records));
    assert_ok(eg_records_get(records, f->record, &kept));
    assert_non_null(kept);
    assert_ok(eg_records_put(records, f->record, forge_record(f, kept)));
    assert_ok(eg_records_save(records, &receipt));
    assert_ok(eg_ledger_enter(ledger, f->owner, &receipt));
    char *text;
    eg_json *extra;
    assert_ok(eg_json_print(eg_ledger_extra(ledger), 0, &text, NULL));
    assert_ok(eg_json_parse(text, strlen(text), &extra));
    assert_ok(eg_ledger_commit(ledger, extra));
    eg_json_free(extra);
    free(text);
    eg_records_free(records);
    eg_ledger_free(ledger);
}

static bool stop_after_three(void *context, const eg_progress *p)
{
    (void)context;
    return p->round < 3;
}

/* A run of three rounds, forged and resumed: it ends with a sentence. */
static void check(const forgery *f, int number)
{
    char out[FILES_PATH * 2], path[512];
    bool stopped;
    eg_experiment *e = small_run_open(folder, &(small_run){.method = f->method});
    snprintf(out, sizeof out, "%s/%d", folder, number);
    eg_run_how how = {.workers = 1, .out = out, .progress = stop_after_three};
    assert_ok(eg_experiment_run(e, &how, path, &stopped));
    assert_true(stopped);
    forge(path, f);
    how.resume = true, how.progress = NULL;
    eg_status s = eg_experiment_run(e, &how, path, &stopped);
    if (s == EG_OK || !strstr(eg_error(), f->says))
        fail_msg("%s of %s: '%s' does not say '%s'", f->entry, f->record, eg_error(), f->says);
    eg_experiment_free(e);
}

static void test_forged_records_are_refused_by_name(void **state)
{
    (void)state;
    static const forgery all[] = {
        {"fedavg", -1, "run", "round", 0, 1e18, "scalar 'round': 1e+18 is not a whole number"},
        {"fedavg", -1, "run", "round", 0, -1, "scalar 'round': -1 is not"},
        {"fedavg", -1, "run", "losses", 0, 1e300, "scalar 'losses': 1e+300 is not"},
        {"fedavg", -1, "run", "patience.points", 0, 1e18, "scalar 'patience.points': 1e+18"},
        {"fedavg", -1, "model", "param", 3, 0, "tensor 'param': "},
        {"er", 0, "memory", "memory.x", 1, 0, "tensor 'memory.x': "},
        {"er", 0, "memory", "memory.labels", 0, 99, "element 0 is 99, not a whole number"},
        {"er", 0, "memory", "memory.labels", 0, NAN, "element 0 is nan"},
        {"er", 0, "memory", "memory.seen", 0, 1e300, "scalar 'memory.seen': 1e+300"},
        {"der", 0, "memory", "memory.logits", 1, 0, "tensor 'memory.logits': "},
        {"local", 0, "own", "own.param", 1, 0, "tensor 'own.param': "},
        {"local", 0, "own", "own.round", 0, 1e18, "scalar 'own.round': 1e+18"},
        {"re-fed", 0, "re_fed", "re_fed.cache", 0, 7, "sample "},
        {"re-fed", 0, "re_fed", "re_fed.cache", 0, -1, "element 0 is -1"},
        {"re-fed", 0, "re_fed", "re_fed.ranked", 0, 1e18, "scalar 're_fed.ranked': 1e+18"},
        {"fedcurv", 0, "fedcurv", "fedcurv.fisher", 1, 0, "tensor 'fedcurv.fisher': "},
        {"fedcurv", -1, "fedcurv", "fedcurv.round", 0, 1e18, "scalar 'fedcurv.round'"},
        {"ewc", 0, "ewc", "ewc.anchor", 1, 0, "tensor 'ewc.anchor': "},
    };
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
        check(&all[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forged_records_are_refused_by_name),
    };
    files_folder(folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    files_remove(folder);
    return failed;
}
