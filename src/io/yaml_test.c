/* yaml_test.c - the tree, its places, what is refused, and the texts in it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/yaml.h"
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

static void test_a_mark_of_the_encoding_is_skipped(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf"
                               "name: x\n";
    eg_yaml *y;
    assert_ok(eg_yaml_parse("t", text, sizeof text - 1, &y));
    const eg_yaml_node *name = eg_yaml_get(eg_yaml_root(y), "name");
    assert_non_null(name);
    assert_string_equal(name->text, "x");
    assert_int_equal(name->line, 1);
    eg_yaml_free(y);
    assert_ok(eg_yaml_parse("t", text, 3, &y));
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

static void test_a_value_that_is_no_text_is_refused(void **state)
{
    (void)state;
    eg_yaml *y;
    const char *text;
    assert_ok(parse("rate: 0.25\nlist: [1]\nmap: {a: 1}\n", &y));
    const eg_yaml_node *rate = eg_yaml_root(y)->child, *list = rate->next;
    assert_ok(eg_yaml_text(y, rate, &text));
    assert_string_equal(text, "0.25");
    assert_fails(eg_yaml_text(y, list, &text), EG_EINVAL,
                 "t.yaml:2:7: list: a value is wanted");
    assert_fails(eg_yaml_text(y, list->next, &text), EG_EINVAL, "not a mapping");
    eg_yaml_free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_keeps_order_types_and_places),
        cmocka_unit_test(test_empty_document_is_an_empty_mapping),
        cmocka_unit_test(test_a_mark_of_the_encoding_is_skipped),
        cmocka_unit_test(test_what_is_refused_says_where),
        cmocka_unit_test(test_a_value_that_is_no_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
