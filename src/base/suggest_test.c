/* suggest_test.c - what is suggested for a word that is not there, and what is not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/suggest.h>

/* The nearest of a few names, or "". */
static const char *nearest(const char *word)
{
    static const char *const names[] = {"train.lr",
                                        "train.epochs",
                                        "scenario.clients",
                                        "scenario.partition.alpha",
                                        "fed_a_gem",
                                        "fed_a_gem.rate",
                                        "fedavg",
                                        "fedprox",
                                        "run",
                                        "report",
                                        "er"};
    static eg_suggestion s;
    s = eg_suggest(word);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        eg_suggest_offer(&s, names[i]);
    return s.best;
}

static void test_wrong_letters_are_few(void **state)
{
    (void)state;
    assert_string_equal(nearest("fedvag"), "fedavg");
    assert_string_equal(nearest("FedAvg"), "fedavg");
    assert_string_equal(nearest("fed-a-gen"), "fed_a_gem");
    assert_string_equal(nearest("trian.lr"), "train.lr");
    assert_string_equal(nearest("train.epoch"), "train.epochs");
    assert_string_equal(nearest("rum"), "run");
    assert_string_equal(nearest("reprot"), "report");
    assert_string_equal(nearest("fedp"), "fedprox");
    assert_string_equal(nearest("train.momentum"), "");
    assert_string_equal(nearest("xy"), "");
    assert_string_equal(nearest("fly"), "");
    assert_string_equal(nearest("nothing"), "");
    assert_string_equal(nearest(""), "");
}

static void test_parts_of_dotted_names_are_left_out(void **state)
{
    (void)state;
    assert_string_equal(nearest("scenario.alpha"), "scenario.partition.alpha");
    assert_string_equal(nearest("partition.alpha"), "scenario.partition.alpha");
    assert_string_equal(nearest("alpha"), "scenario.partition.alpha");
    assert_string_equal(nearest("lr"), "train.lr");
    assert_string_equal(nearest("model.lr"), "train.lr");
    assert_string_equal(nearest("fed-a-gem-rate"), "fed_a_gem.rate");
}

static void test_the_words_end_a_sentence(void **state)
{
    (void)state;
    char most[200];
    eg_suggestion s = eg_suggest("rnu");
    assert_string_equal(eg_suggest_words(&s), "");
    eg_suggest_offer(&s, "run");
    eg_suggest_offer(&s, "rnd"); /* as near, but later */
    assert_string_equal(eg_suggest_words(&s), " (did you mean 'run'?)");
    memset(most, 'a', sizeof most - 1);
    most[sizeof most - 1] = 0;
    s = eg_suggest(most); /* longer than anything there is */
    eg_suggest_offer(&s, most);
    assert_string_equal(eg_suggest_words(&s), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_letters_are_few),
        cmocka_unit_test(test_parts_of_dotted_names_are_left_out),
        cmocka_unit_test(test_the_words_end_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
