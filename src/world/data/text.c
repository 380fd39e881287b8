/* text.c - texts of one's own, each with a label: numbers of pieces, tokenised once.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A sample is [1, 1, length] numbers of pieces, -1 behind the text's end. Classes are the
 * labels of the training file, by number if all are whole numbers, else in alphabetical order,
 * or in the order of a JSON file that groups them.
 */
#include "io/gz.h"
#include "io/json.h"
#include "world/data/find.h"
#include "world/text/rows.h"

#include <engram/data.h>
#include <engram/tokenizer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MOST_BYTES = 1 << 30 };

typedef struct text {
    char train[EG_OPT_TEXT_SIZE], test[EG_OPT_TEXT_SIZE], vocab[EG_OPT_TEXT_SIZE],
        groups[EG_OPT_TEXT_SIZE];
    int64_t length;
    double held;
} text;

// clang-format off
static const eg_opt text_opts[] = {
    EG_OPT_TEXT(text, train, "train.tsv", "file of training texts: lines 'label TAB text', .csv with the label first, or .jsonl; a path, or in the data folder's text/"),
    EG_OPT_TEXT(text, test, "test.tsv", "that of test texts; none, or empty: some of the training texts are held out"),
    EG_OPT_REAL(text, held, 0.2, 0.01, 0.9, "the last of each class that are held out for testing where test is none, as a share"),
    EG_OPT_TEXT(text, vocab, "use-lite.vocab.json", "the tokenizer: SentencePiece as a JSON list of [piece, score], or BERT's vocab.txt; a path, or in the data folder's weights/"),
    EG_OPT_INT(text, length, 128, 1, 4096, "pieces of a text that are kept"),
    EG_OPT_TEXT(text, groups, "", "JSON file {GROUP: [LABELS]}, the order of classes; found as texts are"),
    EG_OPT_END,
};
// clang-format on

/* The labels, each once, and the samples of one split. */
typedef struct text_job {
    const text *is;
    const eg_tokenizer *tokenizer;
    char **label;  /* [n_labels], the classes in order */
    int64_t *seen; /* [n_labels]: rows so far */
    int64_t *rows; /* [n_labels]: rows of the training file */
    size_t n_labels, cap_labels;
    eg_split split;
    bool held;     /* the training file is cut in two */
    eg_table *out; /* NULL: labels are counted */
    int32_t *ids;  /* [length] */
    int64_t n, room;
} text_job;

static eg_status text_find(const eg_origin *from, const char *folder, const char *name,
                           char path[EG_PATH_SIZE])
{
    static const char *const get[] = {"name the file with its path, or put it there",
                                      "'tools/weights use-lite' brings one"};
    const eg_place place = {folder, NULL, get[strcmp(folder, "weights") == 0]};
    if (eg_find_own(from->beside, name, path))
        return EG_OK;
    if (*name == '/' && strlen(name) < EG_PATH_SIZE && access(name, R_OK) == 0) {
        snprintf(path, EG_PATH_SIZE, "%s", name);
        return EG_OK;
    }
    eg_status s = eg_find(from, &place, (const char *const[]){name, NULL}, path);
    return eg_blame(s, "there is no '%s' beside the experiment file or in the working folder",
                    name);
}

static int64_t text_label(const text_job *j, const char *label, size_t n)
{
    for (size_t i = 0; i < j->n_labels; i++)
        if (strncmp(j->label[i], label, n) == 0 && j->label[i][n] == 0)
            return (int64_t)i;
    return -1;
}

static eg_status text_add_label(text_job *j, const char *label, size_t n)
{
    if (memchr(label, 0, n))
        return eg_fail(EG_EFORMAT, "a label with a zero character");
    EG_TRY(eg_grow(&j->label, j->n_labels, &j->cap_labels, sizeof *j->label));
    j->label[j->n_labels] = strndup(label, n);
    if (!j->label[j->n_labels])
        return eg_fail(EG_ENOMEM, "no memory for a label");
    j->n_labels++;
    return EG_OK;
}

static eg_status text_collect(void *context, const eg_text_row *row)
{
    text_job *j = context;
    return text_label(j, row->label, row->label_bytes) >= 0
               ? EG_OK
               : text_add_label(j, row->label, row->label_bytes);
}

static bool text_is_number(const char *label)
{
    return *label && strlen(label) < 10 && label[strspn(label, "0123456789")] == 0;
}

static int text_by_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    bool numbers = text_is_number(x) && text_is_number(y);
    return numbers && atol(x) != atol(y) ? (atol(x) < atol(y) ? -1 : 1) : strcmp(x, y);
}

/* The labels in the order of a file that groups them; all of them must be there. */
static eg_status text_regroup(text_job *j, const eg_json *groups)
{
    const char *key = NULL, *label;
    const eg_json *list;
    size_t next = 0;
    while (eg_json_next(groups, &key, &list))
        for (size_t i = 0; i < eg_json_count(list); i++) {
            if (eg_json_text(eg_json_at(list, i), &label) != EG_OK)
                return eg_fail(EG_EFORMAT, "group '%.60s' is no list of labels", key);
            int64_t at = text_label(j, label, strlen(label));
            if (at < (int64_t)next) /* not there, or twice */
                continue;
            char *swap = j->label[at];
            memmove(j->label + next + 1, j->label + next,
                    ((size_t)at - next) * sizeof *j->label);
            j->label[next++] = swap;
        }
    return next == j->n_labels
               ? EG_OK
               : eg_fail(EG_EFORMAT, "label '%.60s' is in no group", j->label[next]);
}

static eg_status text_order(text_job *j, const eg_origin *from)
{
    char path[EG_PATH_SIZE];
    eg_json *groups;
    qsort(j->label, j->n_labels, sizeof *j->label, text_by_name);
    if (!*j->is->groups)
        return EG_OK;
    EG_TRY(text_find(from, "text", j->is->groups, path));
    EG_TRY(eg_json_load(path, &groups));
    eg_status s = text_regroup(j, groups);
    eg_json_free(groups);
    return eg_blame(s, "%s", path);
}

static eg_status text_read(const char *path, eg_text_visitor visit, text_job *j)
{
    uint8_t *bytes;
    size_t n;
    EG_TRY(eg_gz_load(path, TEXT_MOST_BYTES, &bytes, &n));
    eg_status s = eg_text_rows((const char *)bytes, n, eg_text_form_of(path), visit, j);
    free(bytes);
    return eg_blame(s, "%s", path);
}

static eg_status text_count(void *context, const eg_text_row *row)
{
    text_job *j = context;
    j->rows[text_label(j, row->label, row->label_bytes)]++;
    return EG_OK;
}

/* Whether a row is of the split, where one file makes both. */
static bool text_belongs(const text_job *j, int64_t class)
{
    int64_t test = (int64_t)((double)j->rows[class] * j->is->held + 1e-9);
    bool tested = j->seen[class] >= j->rows[class] - (test ? test : 1);
    return !j->held || tested == (j->split == EG_TEST);
}

static eg_status text_take(void *context, const eg_text_row *row)
{
    text_job *j = context;
    size_t n;
    int64_t class = text_label(j, row->label, row->label_bytes);
    if (class < 0)
        return eg_fail(EG_EFORMAT, "no training text has the label '%.*s'",
                       row->label_bytes < 60 ? (int)row->label_bytes : 60, row->label);
    bool belongs = text_belongs(j, class);
    j->seen[class]++;
    if (!belongs)
        return EG_OK;
    if (!j->out->f32) {
        j->n++;
        return EG_OK;
    }
    EG_TRY(eg_tokenizer_encode(j->tokenizer, row->text, row->text_bytes, (size_t)j->is->length,
                               j->ids, &n));
    float *x = j->out->f32 + j->n * j->is->length;
    for (int64_t i = 0; i < j->is->length; i++)
        x[i] = i < (int64_t)n ? (float)j->ids[i] : -1;
    j->out->y[j->n++] = (int32_t) class;
    return EG_OK;
}

/* Counts the split's rows, then fills the table. */
static eg_status text_fill(text_job *j, const char *path)
{
    EG_TRY(text_read(path, text_take, j));
    EG_TRY(eg_table_alloc_f32(j->out, j->n, 1, 1, j->is->length, (int64_t)j->n_labels));
    j->out->ids = eg_tokenizer_size(j->tokenizer);
    EG_TRY(eg_table_name_classes(j->out, (const char *const *)j->label));
    if (j->n == 0)
        return eg_fail(EG_EFORMAT, "%s holds no texts for this", path);
    j->n = 0;
    memset(j->seen, 0, j->n_labels * sizeof *j->seen);
    return text_read(path, text_take, j);
}

static eg_status text_load_with(text_job *j, const eg_origin *from)
{
    char path[EG_PATH_SIZE];
    EG_TRY(text_find(from, "text", j->is->train, path));
    EG_TRY(text_read(path, text_collect, j));
    EG_TRY(text_order(j, from));
    EG_TRY(eg_alloc(j->n_labels + 1, sizeof *j->seen, &j->seen));
    EG_TRY(eg_alloc(j->n_labels + 1, sizeof *j->rows, &j->rows));
    EG_TRY(eg_alloc((size_t)j->is->length, sizeof *j->ids, &j->ids));
    EG_TRY(text_read(path, text_count, j));
    j->held = !*j->is->test || strcmp(j->is->test, "none") == 0;
    if (j->split == EG_TEST && !j->held)
        EG_TRY(text_find(from, "text", j->is->test, path));
    return text_fill(j, path);
}

static eg_status text_load(const void *self, const eg_origin *from, eg_split split,
                           eg_table *out)
{
    text_job j = {.is = self, .split = split, .out = out};
    char path[EG_PATH_SIZE];
    eg_tokenizer *t;
    EG_TRY(text_find(from, "text", j.is->train, path));
    EG_TRY(text_find(from, "weights", j.is->vocab, path));
    EG_TRY(eg_tokenizer_load(path, &t));
    j.tokenizer = t;
    eg_status s = text_load_with(&j, from);
    for (size_t i = 0; i < j.n_labels; i++)
        free(j.label[i]);
    free(j.label);
    free(j.seen);
    free(j.rows);
    free(j.ids);
    eg_tokenizer_free(t);
    return s;
}

static eg_status text_spell(const void *self, const eg_origin *from, const eg_table *t,
                            eg_speller visit, void *context)
{
    char path[EG_PATH_SIZE], line[2048];
    eg_tokenizer *tokenizer;
    EG_TRY(text_find(from, "weights", ((const text *)self)->vocab, path));
    EG_TRY(eg_tokenizer_load(path, &tokenizer));
    for (int64_t i = 0; i < t->n; i++) {
        eg_tokenizer_decode(tokenizer, t->f32 + i * t->width, (size_t)t->width, sizeof line,
                            line);
        visit(context, i, line);
    }
    eg_tokenizer_free(tokenizer);
    return EG_OK;
}

const eg_dataset eg_dataset_text = {
    .component = {"text", "texts of one's own, from lines, CSV or JSON", sizeof(text),
                  text_opts},
    .load = text_load,
    .spell = text_spell,
};
