/* opt_test.c - option tables: defaults, what is refused and in which words, round trips.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/opt.h>

typedef struct part {
    double lambda;
    int64_t steps, big;
    bool nesterov;
    char name[EG_OPT_TEXT_SIZE];
    int source;
    int64_t every;
    eg_opt_list rates;
    double untouched;
} part;

static const eg_opt part_opts[] = {
    EG_OPT_REAL(part, lambda, 0.01, 0, 1e9, "strength"),
    EG_OPT_INT(part, steps, 5, 1, 1000, "how many"),
    EG_OPT_INT(part, big, 0, -9.3e18, 9.3e18, "any integer"),
    EG_OPT_BOOL(part, nesterov, true, "look ahead"),
    EG_OPT_TEXT(part, name, "none", "what it is called"),
    EG_OPT_CHOICE(part, source, 1, "whose constants", "paper|release|ours"),
    EG_OPT_COUNT(part, every, -1, 500, "how often", "never|always"),
    EG_OPT_LIST(part, rates, 3, "0.5", -1, 1, "one, or one for each step"),
    EG_OPT_END,
};

static part part_new(void)
{
    part p;
    memset(&p, 0xee, sizeof p);
    p.untouched = 42;
    eg_opts_init(part_opts, &p);
    return p;
}

static void test_defaults_fill_every_field_and_no_other(void **state)
{
    (void)state;
    part p = part_new();
    assert_near(p.lambda, 0.01, 0);
    assert_int_equal(p.steps, 5);
    assert_true(p.nesterov);
    assert_string_equal(p.name, "none");
    assert_int_equal(p.source, 1);
    assert_true(p.rates.n == 1 && p.rates.value[0] == 0.5);
    assert_near(p.untouched, 42, 0);
    eg_opts_init(NULL, &p);
    assert_null(eg_opts_find(NULL, "lambda"));
    assert_fails(eg_opts_set(NULL, &p, "lambda", "1"), EG_ENOENT, "no option 'lambda'");
}

static void test_values_are_set(void **state)
{
    (void)state;
    part p = part_new();
    assert_ok(eg_opts_set(part_opts, &p, "lambda", "2.5e-3"));
    assert_near(p.lambda, 2.5e-3, 0);
    assert_ok(eg_opts_set(part_opts, &p, "steps", "1e3")); /* whole, however it is written */
    assert_int_equal(p.steps, 1000);
    assert_ok(eg_opts_set(part_opts, &p, "big", "9007199254740993")); /* no double has it */
    assert_true(p.big == 9007199254740993);
    assert_ok(eg_opts_set(part_opts, &p, "big", "-9223372036854775808"));
    assert_true(p.big == INT64_MIN);
    assert_ok(eg_opts_set(part_opts, &p, "nesterov", "false"));
    assert_false(p.nesterov);
    assert_ok(eg_opts_set(part_opts, &p, "name", ""));
    assert_string_equal(p.name, "");
    assert_ok(eg_opts_set(part_opts, &p, "source", "ours"));
    assert_int_equal(p.source, 2);
}

static void test_the_ends_of_a_range_are_inside(void **state)
{
    (void)state;
    part p = part_new();
    assert_ok(eg_opts_set(part_opts, &p, "steps", "1"));
    assert_ok(eg_opts_set(part_opts, &p, "steps", "1000"));
    assert_ok(eg_opts_set(part_opts, &p, "lambda", "0"));
    assert_ok(eg_opts_set(part_opts, &p, "lambda", "1e9"));
}

static void test_bad_values_are_refused_and_change_nothing(void **state)
{
    (void)state;
    const struct {
        const char *name, *value, *words;
    } bad[] = {
        {"lambda", "-1", "lambda: -1 is outside [0, 1e+09]"},
        {"lambda", "1.1e9", "is outside"},
        {"lambda", "nan", "lambda: 'nan' is not a number"},
        {"lambda", "inf", "is not a number"},
        {"lambda", "1e999", "is not a number"},
        {"lambda", "", "lambda: '' is not a number"},
        {"lambda", "1x", "'1x' is not a number"},
        {"lambda", "1 ", "is not a number"},
        {"lambda", " 1", "is not a number"},
        {"lambda", "\t1", "is not a number"},
        {"lambda", "\n1", "is not a number"},
        {"lambda", "0,5", "is not a number"},
        {"steps", "2.5", "steps: '2.5' is not a whole number"},
        {"steps", "0", "steps: 0 is outside [1, 1000]"},
        {"steps", "1001", "is outside"},
        {"steps", "five", "is not a number"},
        {"steps", "nan", "is not a number"},
        {"big", "9223372036854775808", "big: 9223372036854775808 is too large"},
        {"big", "1e18", "is not a whole number"}, /* past 2^53 exponents are refused */
        {"nesterov", "yes", "nesterov: 'yes' is neither true nor false"},
        {"nesterov", "True", "is neither"},
        {"source", "theirs", "source: 'theirs' is none of paper|release|ours"},
        {"source", "", "is none of"},
        {"source", "pap", "is none of"},
        {"source", "paper|release", "is none of"},
        {"rates", "", "rates: '' is neither a number nor a list of up to 3"},
        {"rates", "[]", "is neither"},
        {"rates", "[0.5", "is neither"},
        {"rates", "0.5]", "is neither"},
        {"rates", "[0.5]]", "is neither"},
        {"rates", "[[0.5]", "is neither"},
        {"rates", "0.5 0.5", "is neither"},
        {"rates", "0.5,", "is neither"},
        {"rates", "0.5;1", "is neither"},
        {"rates", "a", "is neither"},
        {"rates", "nan", "is neither"},
        {"rates", "1,1,1,1", "is neither"},
        {"rates", "0.5, 1.5", "rates: 1.5 is outside [-1, 1]"},
    };
    const part before = part_new();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        part p = part_new();
        assert_fails(eg_opts_set(part_opts, &p, bad[i].name, bad[i].value), EG_EINVAL,
                     bad[i].words);
        for (const eg_opt *o = part_opts; o->name; o++) {
            char was[EG_OPT_TEXT_SIZE], is[EG_OPT_TEXT_SIZE];
            eg_opt_print(o, &before, was);
            eg_opt_print(o, &p, is);
            assert_string_equal(is, was);
        }
    }
}

static void test_a_text_has_a_longest_length(void **state)
{
    (void)state;
    part p = part_new();
    char text[EG_OPT_TEXT_SIZE + 1];
    memset(text, 'x', sizeof text);
    text[EG_OPT_TEXT_SIZE] = 0;
    assert_fails(eg_opts_set(part_opts, &p, "name", text), EG_EINVAL, "longer than 2047");
    text[EG_OPT_TEXT_SIZE - 1] = 0;
    assert_ok(eg_opts_set(part_opts, &p, "name", text));
    assert_string_equal(p.name, text);
}

static void test_a_count_is_a_number_or_a_word(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"never", 0}, {"always", -1}, {"1", 1}, {"5e2", 500}};
    const eg_opt *o = eg_opts_find(part_opts, "every");
    char text[EG_OPT_TEXT_SIZE];
    part p = part_new();
    assert_int_equal(p.every, -1);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(eg_opts_set(part_opts, &p, "every", good[i].text));
        assert_int_equal(p.every, good[i].value);
        eg_opt_print(o, &p, text);
        part again = part_new();
        assert_ok(eg_opts_set(part_opts, &again, "every", text));
        assert_int_equal(again.every, good[i].value);
    }
    assert_fails(eg_opts_set(part_opts, &p, "every", "0"), EG_EINVAL, "outside [1, 500]");
    assert_fails(eg_opts_set(part_opts, &p, "every", "501"), EG_EINVAL, "outside [1, 500]");
    assert_fails(eg_opts_set(part_opts, &p, "every", "-1"), EG_EINVAL, "outside [1, 500]");
    assert_fails(eg_opts_set(part_opts, &p, "every", "2.5"), EG_EINVAL, "not a whole number");
    assert_fails(eg_opts_set(part_opts, &p, "every", "now"), EG_EINVAL,
                 "'now' is neither a number nor one of never|always");
    assert_fails(eg_opts_set(part_opts, &p, "every", ""), EG_EINVAL, "neither a number nor");
}

static void test_the_longest_list_is_printed_whole(void **state)
{
    (void)state;
    static const eg_opt wide[] = {
        EG_OPT_LIST(part, rates, EG_OPT_LIST_SIZE, "0", -1, 1, "sixteen"), EG_OPT_END};
    part p = part_new(), q = part_new();
    char text[1024] = "", printed[EG_OPT_TEXT_SIZE];
    for (int i = 0; i < EG_OPT_LIST_SIZE; i++)
        strcat(text, i ? ",-1.2345678901234567e-300" : "-1.2345678901234567e-300");
    assert_ok(eg_opts_set(wide, &p, "rates", text));
    eg_opt_print(wide, &p, printed);
    assert_ok(eg_opts_set(wide, &q, "rates", printed));
    assert_int_equal(q.rates.n, EG_OPT_LIST_SIZE);
    assert_memory_equal(&p.rates, &q.rates, sizeof p.rates);
}

static void test_all_options_are_one_line_that_reads_back(void **state)
{
    (void)state;
    part p = part_new(), q = part_new();
    char text[EG_OPT_TEXT_SIZE], again[EG_OPT_TEXT_SIZE];
    assert_ok(eg_opts_set(part_opts, &p, "rates", "0.5, 0.25, -1"));
    assert_ok(eg_opts_set(part_opts, &p, "steps", "7"));
    assert_ok(eg_opts_print_text(part_opts, &p, sizeof text, text));
    assert_non_null(strstr(text, "rates=[0.5, 0.25, -1]"));
    assert_ok(eg_opts_set_text(part_opts, &q, text));
    assert_int_equal(q.rates.n, 3);
    assert_near(q.rates.value[2], -1, 0);
    assert_ok(eg_opts_print_text(part_opts, &q, sizeof again, again));
    assert_string_equal(text, again);
}

static void test_unknown_names_are_refused(void **state)
{
    (void)state;
    part p = part_new();
    assert_fails(eg_opts_set(part_opts, &p, "lamda", "1"), EG_ENOENT,
                 "there is no option 'lamda'");
    assert_fails(eg_opts_set(part_opts, &p, "lambda2", "1"), EG_ENOENT, "lambda2");
    assert_fails(eg_opts_set(part_opts, &p, "lambd", "1"), EG_ENOENT, "lambd");
    assert_fails(eg_opts_set(part_opts, &p, "", "1"), EG_ENOENT, "''");
}

static void test_names_may_be_written_with_dashes_and_plusses(void **state)
{
    (void)state;
    assert_true(eg_name_equal("fed_a_gem", "fed-a-gem"));
    assert_true(eg_name_equal("fed_a_gem", "fed_a_gem"));
    assert_true(eg_name_equal("derpp", "der++"));
    assert_false(eg_name_equal("derpp", "der+"));
    assert_false(eg_name_equal("der", "der++"));
    assert_false(eg_name_equal("fed_avg", "fedavg"));
    assert_false(eg_name_equal("ewc", "EWC"));
}

static void test_printed_values_read_back_the_same(void **state)
{
    (void)state;
    const struct {
        const char *name, *value, *printed;
    } sets[] = {
        {"lambda", "0.1", "0.1"},
        {"lambda", "0.1000000000000000055511151231257827", "0.1"},
        {"lambda", "0.30000000000000004", "0.30000000000000004"},
        {"lambda", "1e-320", NULL},
        {"lambda", "3", "3"},
        {"steps", "1e2", "100"},
        {"big", "9007199254740993", "9007199254740993"},
        {"nesterov", "false", "false"},
        {"name", "a b,c", "a b,c"},
        {"source", "paper", "paper"},
        {"source", "ours", "ours"},
        {"rates", "0.25", "0.25"},
        {"rates", "0.5,0.25, -1", "0.5, 0.25, -1"},
        {"rates", "[0.50, 0.25, -1.0]", "0.5, 0.25, -1"},
        {"rates", " [ 5e-1 ,0.25,-1 ] ", "0.5, 0.25, -1"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        part p = part_new(), q = part_new();
        char first[EG_OPT_TEXT_SIZE], second[EG_OPT_TEXT_SIZE];
        const eg_opt *o = eg_opts_find(part_opts, sets[i].name);
        assert_ok(eg_opts_set(part_opts, &p, o->name, sets[i].value));
        eg_opt_print(o, &p, first);
        if (sets[i].printed)
            assert_string_equal(first, sets[i].printed);
        assert_ok(eg_opts_set(part_opts, &q, o->name, first));
        eg_opt_print(o, &q, second);
        assert_string_equal(first, second);
        assert_true(p.lambda == q.lambda && p.big == q.big && p.source == q.source);
        assert_memory_equal(&p.rates, &q.rates, sizeof p.rates);
    }
}

static void test_real_options_are_set_and_read_as_numbers(void **state)
{
    (void)state;
    part p = part_new();
    double value;
    assert_ok(eg_opts_set_real(part_opts, &p, "lambda", 0.30000000000000004));
    assert_true(eg_opts_get_real(part_opts, &p, "lambda", &value));
    assert_true(value == 0.30000000000000004 && p.lambda == value);
    assert_fails(eg_opts_set_real(part_opts, &p, "lambda", -1), EG_EINVAL,
                 "lambda: -1 is outside");
    assert_fails(eg_opts_set_real(part_opts, &p, "lambda", NAN), EG_EINVAL, "is outside");
    assert_fails(eg_opts_set_real(part_opts, &p, "steps", 2), EG_ENOENT, "no option 'steps'");
    assert_false(eg_opts_get_real(part_opts, &p, "steps", &value));
    assert_near(value, 0, 0);
}

static void test_a_description_holds_type_default_and_range(void **state)
{
    (void)state;
    const char *const expected[] = {
        "real, 0.01, 0 to 1000000000",
        "integer, 5, 1 to 1000",
        "integer, 0, -9.3e+18 to 9.3e+18",
        "true, true or false",
        "text, 'none'",
        "release, one of paper|release|ours",
        "always, one of never|always, or a number up to 500",
        "1 to 3 reals, '0.5', -1 to 1",
    };
    for (size_t i = 0; part_opts[i].name; i++) {
        char text[EG_OPT_TEXT_SIZE];
        eg_opt_describe(&part_opts[i], text);
        assert_string_equal(text, expected[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_fill_every_field_and_no_other),
        cmocka_unit_test(test_values_are_set),
        cmocka_unit_test(test_the_ends_of_a_range_are_inside),
        cmocka_unit_test(test_bad_values_are_refused_and_change_nothing),
        cmocka_unit_test(test_a_text_has_a_longest_length),
        cmocka_unit_test(test_a_count_is_a_number_or_a_word),
        cmocka_unit_test(test_the_longest_list_is_printed_whole),
        cmocka_unit_test(test_all_options_are_one_line_that_reads_back),
        cmocka_unit_test(test_unknown_names_are_refused),
        cmocka_unit_test(test_names_may_be_written_with_dashes_and_plusses),
        cmocka_unit_test(test_printed_values_read_back_the_same),
        cmocka_unit_test(test_real_options_are_set_and_read_as_numbers),
        cmocka_unit_test(test_a_description_holds_type_default_and_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
