/* text_test.c - rows of text files and both tokenizers, worked out by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "fakes.h"
#include "own_folder.h"
#include "world/text/rows.h"
#include "world/text/vocab.h"

#include <engram/data.h>

static int setup(void **state)
{
    open_folder(state);
    fakes_write(folder);
    return 0;
}

static eg_tokenizer *parse(const char *text)
{
    eg_tokenizer *t = NULL;
    assert_ok(eg_tokenizer_parse((const uint8_t *)text, strlen(text), "vocab", &t));
    return t;
}

/* The numbers of a text, as "7 8". */
static const char *encode(const eg_tokenizer *t, const char *text, size_t bytes, size_t room)
{
    static char out[512];
    int32_t ids[64];
    size_t n, used = 0;
    assert_ok(eg_tokenizer_encode(t, text, bytes, room, ids, &n));
    *out = 0;
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(out + used, sizeof out - used, i ? " %d" : "%d", ids[i]);
    return out;
}

#define assert_ids(t, text, ids) assert_string_equal(encode(t, text, sizeof(text) - 1, 64), ids)

/* Pieces 6 to 16: mark -3, mark and the -2, cat -4, ca -3.5, t -1.5, s -1, h -1, fi -1.5; a, c
 * and i -9. */
static const char unigram[] = "[[\"?\",0],[\"\",0],[\"\",0],[\"\",0],[\"\",0],[\"\",0],"
                              "[\"\xe2\x96\x81\",-3],[\"\xe2\x96\x81the\",-2],[\"cat\",-4],"
                              "[\"ca\",-3.5],[\"t\",-1.5],[\"s\",-1],[\"h\",-1],[\"fi\",-1.5],"
                              "[\"a\",-9],[\"c\",-9],[\"i\",-9]]";

static void test_the_best_path_of_pieces_is_found(void **state)
{
    (void)state;
    eg_tokenizer *t = parse(unigram);
    assert_int_equal(eg_tokenizer_size(t), 17);
    assert_ids(t, "", "");
    assert_ids(t, "the", "7");
    assert_ids(t, "the cat", "7 6 8"); /* cat -4 before ca t -5 */
    assert_ids(t, "thes", "7 11");
    assert_ids(t, "  ", "6 6 6");
    assert_ids(t, "\xef\xac\x81", "6 13"); /* the ligature fi is f and i in NFKC */
    assert_ids(t, "xyz s", "6 0 6 11");    /* unknown ones in a row are one */
    assert_ids(t, "\xff\xfe", "6 0");      /* bytes that are no UTF-8 */
    assert_ids(t, "\xd7\x90\xd7\x91", "6 0");
    assert_ids(t, "a\0b", "6 14 0");
    assert_string_equal(encode(t, "the cat", 7, 2), "7 6");
    eg_tokenizer_free(t);
}

static void test_a_text_is_read_back(void **state)
{
    (void)state;
    char out[32];
    const float ids[] = {7, 6, 8, 11, -1, 9};
    eg_tokenizer *t = parse(unigram);
    eg_tokenizer_decode(t, ids, 6, sizeof out, out);
    assert_string_equal(out, "the cats");
    eg_tokenizer_decode(t, ids, 6, 6, out);
    assert_string_equal(out, "the c");
    eg_tokenizer_free(t);
    t = parse("[UNK]\n[CLS]\n[SEP]\nun\n##aff\n");
    eg_tokenizer_decode(t, (const float[]){1, 3, 4, 2}, 4, sizeof out, out);
    assert_string_equal(out, "[CLS] unaff [SEP]");
    eg_tokenizer_free(t);
}

static void test_words_are_cut_into_the_longest_pieces(void **state)
{
    (void)state;
    eg_tokenizer *t = parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\naffa\n##ble\n,\ne\n"
                            "\xe4\xb8\xad\nco\n##o\n##operate\n");
    assert_ids(t, "", "2 3");
    assert_ids(t, "unaffable, UN", "2 4 5 6 9 4 3");
    assert_ids(t, "affable", "2 7 8 3");             /* from the left: affa, not aff */
    assert_ids(t, "\xc3\x89 un\tx", "2 10 4 1 3");   /* E with an accent; x is unknown */
    assert_ids(t, "un\xe4\xb8\xadun", "2 4 11 4 3"); /* Chinese stands alone */
    assert_ids(t, "un\xef\xbf\xbd\x01", "2 4 3");
    assert_ids(t, "cooperate", "2 12 14 3");
    assert_ids(t, "cooperates", "2 1 3"); /* its end is in no piece */
    assert_string_equal(encode(t, "un un un", 8, 3), "2 4 3");
    char word[210];
    memset(word, 'e', sizeof word);
    assert_string_equal(encode(t, word, 101, 8), "2 1 3"); /* too long a word */
    eg_tokenizer_free(t);
    t = parse("[UNK]\n[CLS]\n[SEP]\nUn\nun\n");
    assert_ids(t, "Un un", "1 3 4 2"); /* upper case is there, so it counts */
    eg_tokenizer_free(t);
}

static void test_vocabularies_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {{"", "no piece '[UNK]'"},
                {"[UNK]\n[CLS]\n", "no piece '[SEP]'"},
                {"[]", "there are 0 pieces"},
                {"[1]", "entry 0 is no [piece, score]"},
                {"[[\"a\",\"b\"]]", "entry 0 is no [piece, score]"},
                {"[[", "line 1"}};
    eg_tokenizer *t;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_fails(eg_tokenizer_parse((const uint8_t *)rows[i].text, strlen(rows[i].text),
                                        "v.txt", &t),
                     EG_EFORMAT, rows[i].says);
        assert_null(t);
    }
    assert_fails(eg_tokenizer_load("nowhere.txt", &t), EG_ENOENT, "nowhere.txt");
}

static eg_status collect(void *context, const eg_text_row *row)
{
    char *out = context;
    size_t used = strlen(out);
    snprintf(out + used, 400 - used, "<%.*s|%.*s>", (int)row->label_bytes, row->label,
             (int)row->text_bytes, row->text);
    return EG_OK;
}

static const char *rows_of(const char *text, eg_text_form form)
{
    static char out[400];
    *out = 0;
    if (eg_text_rows(text, strlen(text), form, collect, out) != EG_OK)
        snprintf(out, sizeof out, "%s", eg_error());
    return out;
}

static void test_rows_come_from_lines_csv_and_json(void **state)
{
    (void)state;
    assert_string_equal(rows_of("a\tb c\n\nd\te\tf\r\n", EG_TEXT_TSV), "<a|b c><d|e\tf>");
    assert_string_equal(rows_of("a b\n", EG_TEXT_TSV), "line 1 is not 'label TAB text'");
    assert_string_equal(rows_of("label,text\n1,\"a, \"\"b\"\"\nc\",d\n\n2,e\r\n", EG_TEXT_CSV),
                        "<1|a, \"b\"\nc d><2|e>");
    assert_string_equal(rows_of("1,a\n2\n", EG_TEXT_CSV), "line 2 has no label and text");
    assert_string_equal(rows_of("1,\"a\n", EG_TEXT_CSV),
                        "line 2 has a quote that is never closed");
    assert_string_equal(
        rows_of("{\"label\":3,\"text\":\"a\"}\n{\"text\":\"b\",\"label\":\"c\"}", EG_TEXT_JSON),
        "<3|a><c|b>");
    assert_non_null(strstr(rows_of("{\"text\":\"b\"}", EG_TEXT_JSON),
                           "line 1: it has no 'label' that is a text or a whole number"));
    assert_non_null(strstr(rows_of("\n{", EG_TEXT_JSON), "line 2: "));
    assert_int_equal(eg_text_form_of("a.csv.gz"), EG_TEXT_CSV);
    assert_int_equal(eg_text_form_of("a.jsonl"), EG_TEXT_JSON);
    assert_int_equal(eg_text_form_of("a.tsv.gz"), EG_TEXT_TSV);
}

/* The data set with options, "train=.. held=..". */
static eg_status load(const char *options, eg_split split, eg_table *out)
{
    const eg_dataset *d = eg_dataset_find("text");
    void *self;
    assert_ok(eg_component_new(&d->component, &self));
    assert_ok(eg_opts_set_text(d->component.opts, self, options));
    eg_status s = eg_dataset_load(d, self, &(eg_origin){.dir = folder}, split, out);
    free(self);
    return s;
}

static void test_texts_are_numbers_with_lengths_and_classes_with_names(void **state)
{
    (void)state;
    eg_table t;
    assert_ok(load("length=4", EG_TRAIN, &t));
    assert_int_equal(t.n, 4);
    assert_int_equal(t.ids, 14);
    assert_int_equal(t.width, 4);
    assert_string_equal(t.names[0], "a");
    assert_int_equal(t.y[0], 1);
    const float first[] = {7, 6, 8, -1}, second[] = {6, 8, 11, -1};
    assert_memory_equal(t.f32, first, sizeof first);
    assert_memory_equal(t.f32 + 4, second, sizeof second);
    assert_fails(eg_table_resize(&t, 8, 8), EG_EINVAL, "texts cannot be scaled");
    assert_fails(eg_table_set_channels(&t, 3), EG_EINVAL, "texts have no channels");
    assert_fails(eg_table_sheet(&t, 1, "sheet.png"), EG_EINVAL, "these are texts");
    eg_table_fini(&t);
}

static void test_the_last_texts_of_each_class_are_held_out(void **state)
{
    (void)state;
    eg_table train, test;
    assert_ok(load("test=none held=0.5", EG_TRAIN, &train));
    assert_ok(load("test=none held=0.5", EG_TEST, &test));
    assert_int_equal(train.n, 2);
    assert_int_equal(test.n, 2);
    assert_int_equal(train.y[0], 1);
    assert_int_equal(test.y[0], 1);
    assert_near((double)test.f32[3], 11, 0); /* "the cats s" */
    eg_table_fini(&train);
    eg_table_fini(&test);
}

static void test_classes_have_the_order_of_their_groups(void **state)
{
    (void)state;
    eg_table t;
    static const char good[] = "{\"x\":[\"b\",\"c\"],\"y\":[\"a\"]}", bad[] = "{\"x\":[\"b\"]}";
    files_write(folder, "text/good.json", good, sizeof good - 1);
    files_write(folder, "text/bad.json", bad, sizeof bad - 1);
    assert_ok(load("groups=good.json", EG_TRAIN, &t));
    assert_string_equal(t.names[0], "b");
    assert_string_equal(t.names[1], "a");
    eg_table_fini(&t);
    assert_fails(load("groups=bad.json", EG_TRAIN, &t), EG_EFORMAT, "'a' is in no group");
    static const char other[] = "z\tcat\n";
    files_write(folder, "text/other.tsv", other, sizeof other - 1);
    assert_fails(load("test=other.tsv", EG_TEST, &t), EG_EFORMAT, "has the label 'z'");
    assert_fails(load("train=nowhere.tsv", EG_TRAIN, &t), EG_ENOENT, "nowhere.tsv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_best_path_of_pieces_is_found),
        cmocka_unit_test(test_a_text_is_read_back),
        cmocka_unit_test(test_words_are_cut_into_the_longest_pieces),
        cmocka_unit_test(test_vocabularies_that_are_none_are_refused),
        cmocka_unit_test(test_rows_come_from_lines_csv_and_json),
        cmocka_unit_test(test_texts_are_numbers_with_lengths_and_classes_with_names),
        cmocka_unit_test(test_the_last_texts_of_each_class_are_held_out),
        cmocka_unit_test(test_classes_have_the_order_of_their_groups),
    };
    return cmocka_run_group_tests(tests, setup, close_folder);
}
