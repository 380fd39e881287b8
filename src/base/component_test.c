/* component_test.c - every family in one form: names, help, options, and states made of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/engram.h>

#include <ctype.h>
#include <stdlib.h>

static const eg_family *const families[] = {
    &eg_op_family,        &eg_optim_family,     &eg_model_family,  &eg_dataset_family,
    &eg_kind_family,      &eg_partition_family, &eg_metric_family, &eg_method_family,
    &eg_transport_family, &eg_target_family};
enum { N_FAMILIES = sizeof families / sizeof *families };

/* Every default must be a value that the option's own setter takes. */
static void check_options(const eg_component *c)
{
    void *self;
    assert_ok(eg_component_new(c, &self));
    for (const eg_opt *o = c->opts; o && o->name; o++) {
        char text[EG_OPT_TEXT_SIZE], again[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, self, text);
        assert_ok(eg_opts_set(c->opts, self, o->name, text));
        eg_opt_print(o, self, again);
        assert_string_equal(text, again);
        assert_true(strlen(o->help) > 2 && o->offset < c->size);
        assert_ptr_equal(eg_opts_find(c->opts, o->name), o); /* no name is there twice */
    }
    free(self);
}

static void check_member(const eg_family *f, const eg_component *c)
{
    if (strlen(c->name) == 0 || strlen(c->help) <= 5)
        fail_msg("%s: '%s' lacks a name or help", f->name, c->name);
    for (const char *letter = c->name; *letter; letter++)
        if (!islower((unsigned char)*letter) && !isdigit((unsigned char)*letter) &&
            *letter != '_')
            fail_msg("%s: '%s' is no file's name", f->name, c->name);
    if (c->opts && c->size == 0)
        fail_msg("%s: options of '%s' have no room", f->name, c->name);
    assert_ptr_equal(eg_family_find(f, c->name), c);
    check_options(c);
}

static void test_every_member_has_a_name_help_and_sane_options(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_FAMILIES; k++) {
        const eg_component *c;
        size_t n = 0;
        for (; (c = eg_family_at(families[k], n)); n++)
            check_member(families[k], c);
        assert_true(n > 1);
        assert_null(eg_family_at(families[k], n + 100));
    }
}

static void test_a_member_that_is_not_there_is_named_with_those_that_are(void **state)
{
    (void)state;
    assert_null(eg_optim_find("lbfgs"));
    assert_string_equal(eg_error(),
                        "there is no optimiser 'lbfgs'; there are adam, adamw, sgd");
    assert_null(eg_optim_find("adm"));
    assert_string_equal(eg_error(), "there is no optimiser 'adm' (did you mean 'adam'?)");
    assert_ptr_equal(eg_model_find("resnet18-thin"),
                     eg_family_find(&eg_model_family, "resnet18_thin"));
}

typedef struct counter {
    int64_t n;
    double left;
} counter;

static const eg_opt counter_opts[] = {EG_OPT_INT(counter, n, 7, 0, 9, "how many"), EG_OPT_END};
static const eg_component with = {"with", "has a state", sizeof(counter), counter_opts};
static const eg_component without = {"without", "has none", 0, NULL};

static void test_a_state_is_zeroed_bytes_with_defaults(void **state)
{
    (void)state;
    void *self, *copy, *nothing;
    assert_ok(eg_component_new(&with, &self));
    counter *c = self;
    assert_int_equal(c->n, 7);
    assert_near(c->left, 0, 0);
    c->n = 3, c->left = 0.5;
    assert_ok(eg_component_copy(&with, c, &copy));
    assert_memory_equal(copy, self, sizeof *c);
    assert_ok(eg_component_new(&without, &nothing));
    assert_non_null(nothing);
    free(nothing);
    assert_ok(eg_component_copy(&without, NULL, &nothing));
    assert_non_null(nothing);
    free(nothing);
    free(copy);
    free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_member_has_a_name_help_and_sane_options),
        cmocka_unit_test(test_a_member_that_is_not_there_is_named_with_those_that_are),
        cmocka_unit_test(test_a_state_is_zeroed_bytes_with_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
