/* yaml_test.c - the tree, its places, what is refused, and option tables set from it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/config.h"
#include "test.h"

#include <stdlib.h>

static eg_status parse(const char *text, eg_yaml **y)
{
    return eg_yaml_parse("t.yaml", text, strlen(text), y);
}

static void test_tree_keeps_order_types_and_places(void **state)
{
    (void)state;
    eg_yaml *y;
    assert_ok(
        parse("name: demo\nscenario: {kind: iid, clients: 10}\nruns:\n  - a\n  - b: 1\n", &y));
    const eg_yaml_node *root = eg_yaml_root(y), *scenario = eg_yaml_get(root, "scenario");
    assert_int_equal(root->n, 3);
    assert_string_equal(eg_yaml_get(root, "name")->text, "demo");
    assert_int_equal(scenario->type, EG_YAML_MAPPING);
    assert_int_equal(scenario->line, 2);
    assert_int_equal(scenario->column, 11);
    assert_string_equal(eg_yaml_get(scenario, "clients")->text, "10");
    const eg_yaml_node *runs = eg_yaml_get(root, "runs");
    assert_int_equal(runs->n, 2);
    assert_string_equal(runs->child->text, "a");
    assert_string_equal(runs->child->next->child->key, "b");
    assert_null(eg_yaml_get(root, "absent"));
    eg_yaml_free(y);
}

static void test_empty_document_is_an_empty_mapping(void **state)
{
    (void)state;
    eg_yaml *y;
    assert_ok(parse("# nothing\n", &y));
    assert_int_equal(eg_yaml_root(y)->type, EG_YAML_MAPPING);
    assert_int_equal(eg_yaml_root(y)->n, 0);
    eg_yaml_free(y);
}

static void test_what_is_refused_says_where(void **state)
{
    (void)state;
    eg_yaml *y;
    assert_fails(parse("a: 1\nb: 2\na: 3\n", &y), EG_EFORMAT, "t.yaml:3:1: 'a' is given twice");
    assert_fails(parse("a-b: 1\na_b: 2\n", &y), EG_EFORMAT, "t.yaml:2:1: 'a_b' is given twice");
    assert_fails(parse("a: &x 1\n", &y), EG_EFORMAT, "t.yaml:1:4: anchors");
    assert_fails(parse("a: !!int 1\n", &y), EG_EFORMAT, "tags");
    assert_fails(parse("a: [1, 2\n", &y), EG_EFORMAT, "t.yaml:2:1:");
    assert_fails(parse("a: 1\n---\nb: 2\n", &y), EG_EFORMAT, "second document");
    assert_fails(parse("[a]: 1\n", &y), EG_EFORMAT, "key must be a text");
    assert_fails(eg_yaml_load("/nowhere.yaml", &y), EG_ENOENT, "/nowhere.yaml");
    char deep[128];
    memset(deep, '[', sizeof deep);
    assert_fails(eg_yaml_parse("t.yaml", deep, sizeof deep, &y), EG_EFORMAT, "nested");
    assert_fails(eg_yaml_parse("t.yaml", "a: \"x\\0y\"\n", 10, &y), EG_EFORMAT, "zero byte");
}

typedef struct options {
    double rate;
    int64_t clients;
    bool fast;
} options;

// clang-format off
static const eg_opt rows[] = {
    EG_OPT_REAL(options, rate, 0.5, 0, 1, "a rate"),
    EG_OPT_INT(options, clients, 10, 1, 100, "a count"),
    EG_OPT_BOOL(options, fast, 0, "a switch"),
    EG_OPT_END,
};
// clang-format on

static eg_status apply(const char *text, options *o)
{
    eg_yaml *y;
    eg_opts_init(rows, o);
    EG_TRY(parse(text, &y));
    eg_status status =
        eg_config_apply(y, eg_yaml_root(y), rows, o, (const char *const[]){"kind", NULL});
    eg_yaml_free(y);
    return status;
}

static void test_mapping_sets_an_option_table(void **state)
{
    (void)state;
    options o;
    assert_ok(apply("kind: x\nrate: 0.25\nfast: true\n", &o));
    assert_near(o.rate, 0.25, 0);
    assert_int_equal(o.clients, 10);
    assert_true(o.fast);
    assert_fails(apply("rte: 1\n", &o), EG_ENOENT, "t.yaml:1:6: there is no option 'rte'");
    assert_fails(apply("clients: 101\n", &o), EG_EINVAL,
                 "t.yaml:1:10: clients: 101 is outside");
    assert_fails(apply("clients: 1.5\n", &o), EG_EINVAL, "not a whole number");
    assert_fails(apply("rate: [1]\n", &o), EG_EINVAL, "t.yaml:1:7: rate: a value is wanted");
    assert_fails(apply("rate: nan\n", &o), EG_EINVAL, "not a number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_keeps_order_types_and_places),
        cmocka_unit_test(test_empty_document_is_an_empty_mapping),
        cmocka_unit_test(test_what_is_refused_says_where),
        cmocka_unit_test(test_mapping_sets_an_option_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
