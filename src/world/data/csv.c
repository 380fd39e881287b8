/* csv.c - rows of a comma-separated file: one column holds labels, the others numbers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row is a sample of as many values as there are columns of numbers; with shape it is a
 * picture. Labels are words or numbers, and name the classes. Without a second file for testing
 * every test_every-th row of a class, in the order of the file, is for testing.
 */
#include "io/csv.h"

#include "io/gz.h"
#include "world/data/find.h"
#include "world/data/words.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct csv {
    char path[EG_OPT_TEXT_SIZE], test_path[EG_OPT_TEXT_SIZE];
    char label[EG_OPT_TEXT_SIZE], drop[EG_OPT_TEXT_SIZE], shape[EG_OPT_TEXT_SIZE];
    int separator, header; /* csv_header */
    int64_t test_every;
} csv;

typedef enum csv_header { CSV_GUESS, CSV_YES, CSV_NO } csv_header;

// clang-format off
static const eg_opt csv_opts[] = {
    EG_OPT_TEXT(csv, path, "csv/data.csv", "the file, of comma-separated values; plain or .gz"),
    EG_OPT_TEXT(csv, test_path, "", "a second file, for testing; without one rows of the first are"),
    EG_OPT_TEXT(csv, label, "", "the column of labels, by its name or by its number from 1 on; without one: label, class, target or y, else the last"),
    EG_OPT_TEXT(csv, drop, "", "columns that are left out, by name or number, with commas between"),
    EG_OPT_TEXT(csv, shape, "", "of a picture that a row is: 28x28, or 3x32x32; its values are bytes if all are whole numbers from 0 to 255"),
    EG_OPT_CHOICE(csv, separator, 0, "between fields; auto: what the first line has most of", "auto|comma|semicolon|tab"),
    EG_OPT_CHOICE(csv, header, 0, "whether the first row names the columns; auto: it does if no field of it is a number", "auto|yes|no"),
    EG_OPT_INT(csv, test_every, 5, 2, 1000, "one of so many rows of a class is for testing, if no second file is"),
    EG_OPT_END,
};
// clang-format on

#define CSV_MAX_FILE ((size_t)1 << 36)

/* A file that is read. */
typedef struct csv_reader {
    const csv *is;
    uint8_t *bytes;
    eg_csv rows;
    char **column; /* [n] names, or NULL: there is no header; into bytes */
    bool *out;     /* [n] whether a column is neither values nor read */
    size_t n, label, n_values;
    bool held; /* rows holds the first row, which is no header */
} csv_reader;

static void csv_close(csv_reader *r)
{
    eg_csv_end(&r->rows);
    free(r->column);
    free(r->out);
    free(r->bytes);
}

/* The field without blanks at its ends, which quoted ones may have too. */
static char *csv_trim(char *field)
{
    while (isspace((unsigned char)*field))
        field++;
    for (char *end = field + strlen(field); end > field && isspace((unsigned char)end[-1]);)
        *--end = 0;
    return field;
}

static bool csv_number(const char *field, float *out)
{
    char *end;
    double value = strtod(field, &end);
    *out = (float)value;
    return end != field && !*end && isfinite(*out);
}

/* "column 'age'", or "column 3" without a header. */
static const char *csv_column_words(const csv_reader *r, size_t k, char out[80])
{
    if (r->column)
        snprintf(out, 80, "column '%.60s'", r->column[k]);
    else
        snprintf(out, 80, "column %zu", k + 1);
    return out;
}

static eg_status csv_no_column(const csv_reader *r, const char *word, const char *option)
{
    char list[300] = "";
    for (size_t k = 0, n = 0; r->column && k < r->n && n < sizeof list; k++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", k ? ", " : "", r->column[k]);
    return eg_fail(EG_EINVAL, "%s: data.%s: there is no column '%s'; there are %zu%s%s",
                   r->rows.name, option, word, r->n, *list ? ": " : "", list);
}

/* The column of a word, which is a name or a number. */
static eg_status csv_find_column(const csv_reader *r, const char *word, const char *option,
                                 size_t *out)
{
    char *end;
    unsigned long number = strtoul(word, &end, 10);
    for (*out = 0; r->column && *out < r->n; ++*out)
        if (strcmp(r->column[*out], word) == 0)
            return EG_OK;
    *out = (size_t)number - 1;
    return *end || !isdigit((unsigned char)*word) || number < 1 || number > r->n
               ? csv_no_column(r, word, option)
               : EG_OK;
}

static eg_status csv_find_label(csv_reader *r)
{
    static const char *const usual[] = {"label", "class", "target", "y"};
    if (*r->is->label)
        return csv_find_column(r, r->is->label, "label", &r->label);
    r->label = r->n - 1;
    for (size_t i = sizeof usual / sizeof *usual; r->column && i-- > 0;)
        for (size_t k = 0; k < r->n; k++)
            if (strcasecmp(r->column[k], usual[i]) == 0)
                r->label = k;
    return EG_OK;
}

/* Which columns are values. */
static eg_status csv_choose(csv_reader *r)
{
    char words[EG_OPT_TEXT_SIZE], *rest = words;
    EG_TRY(eg_alloc(r->n, sizeof *r->out, &r->out));
    EG_TRY(csv_find_label(r));
    snprintf(words, sizeof words, "%s", r->is->drop);
    for (char *w; (w = strtok_r(rest, ",", &rest));) {
        size_t k;
        EG_TRY(csv_find_column(r, csv_trim(w), "drop", &k));
        if (k == r->label)
            return eg_fail(EG_EINVAL, "%s: data.drop: '%s' is the column of labels",
                           r->rows.name, csv_trim(w));
        r->out[k] = true;
    }
    r->out[r->label] = true;
    for (size_t k = 0; k < r->n; k++)
        r->n_values += !r->out[k];
    return r->n_values ? EG_OK
                       : eg_fail(EG_EFORMAT,
                                 "%s: there is no column of numbers beside the "
                                 "labels; data.separator is the character between "
                                 "fields",
                                 r->rows.name);
}

/* Whether the first row names columns. */
static bool csv_has_header(const csv_reader *r)
{
    float value;
    bool names = true;
    for (size_t k = 0; k < r->rows.n; k++)
        names &= !csv_number(csv_trim(r->rows.field[k]), &value);
    return r->is->header == CSV_YES || (r->is->header == CSV_GUESS && names);
}

static eg_status csv_open(const csv *is, const char *path, csv_reader *r)
{
    static const char separators[] = {0, ',', ';', '\t'};
    size_t n;
    bool more;
    *r = (csv_reader){.is = is};
    EG_TRY(eg_gz_load(path, CSV_MAX_FILE - 1, &r->bytes, &n));
    uint8_t *text = realloc(r->bytes, n + 1); /* room for the zero behind it */
    if (!text)
        return eg_fail(EG_ENOMEM, "%s: cannot allocate %zu bytes", path, n + 1);
    r->bytes = text;
    text[n] = 0;
    EG_TRY(eg_csv_begin(path, (char *)text, n, separators[is->separator], &r->rows));
    EG_TRY(eg_csv_next(&r->rows, &more));
    if (!more)
        return eg_fail(EG_EFORMAT, "%s: the file is empty", path);
    r->n = r->rows.n;
    r->held = !csv_has_header(r);
    if (!r->held) {
        EG_TRY(eg_alloc(r->n, sizeof *r->column, &r->column));
        for (size_t k = 0; k < r->n; k++)
            r->column[k] = csv_trim(r->rows.field[k]);
    }
    return csv_choose(r);
}

static eg_status csv_next(csv_reader *r, bool *more)
{
    *more = true;
    if (!r->held)
        EG_TRY(eg_csv_next(&r->rows, more));
    r->held = false;
    if (*more && r->rows.n != r->n)
        return eg_fail(EG_EFORMAT, "%s:%lld: %zu fields, where the first row has %zu",
                       r->rows.name, (long long)r->rows.line, r->rows.n, r->n);
    return EG_OK;
}

/* The values of the row that was read. to [n_values] */
static eg_status csv_values(const csv_reader *r, float *to)
{
    char column[80];
    for (size_t k = 0; k < r->n; k++) {
        if (r->out[k])
            continue;
        const char *field = csv_trim(r->rows.field[k]);
        if (!csv_number(field, to++))
            return eg_fail(EG_EFORMAT, "%s:%lld: %s %s%.40s%s; data.drop leaves columns out",
                           r->rows.name, (long long)r->rows.line,
                           csv_column_words(r, k, column), *field ? "holds '" : "is empty",
                           field, *field ? "', which is no number" : "");
    }
    return EG_OK;
}

/* What is read into, a row after the other. */
typedef struct csv_rows {
    float *x; /* [n, n_values] */
    int32_t *y;
    size_t n, cap_x, cap_y;
    int64_t *met; /* [n_met] rows of each label so far */
    size_t n_met, cap_met;
} csv_rows;

/* Whether the next row of a label is for testing, if the file is to be split. */
static eg_status csv_turn(csv_rows *to, int32_t label, int64_t every, bool *test)
{
    while (to->n_met <= (size_t)label) {
        EG_TRY(eg_grow(&to->met, to->n_met, &to->cap_met, sizeof *to->met));
        to->met[to->n_met++] = 0;
    }
    *test = ++to->met[label] % every == 0;
    return EG_OK;
}

/* Reads a file: its labels join the words, and the rows wanted join `to`: those for training or
 * testing if split, else all; NULL: none. *n_values: of a row. */
static eg_status csv_read(csv_reader *r, bool split, eg_split wanted, eg_words *words,
                          csv_rows *to)
{
    bool more, test = false;
    for (;;) {
        int32_t label;
        EG_TRY(csv_next(r, &more));
        if (!more)
            return EG_OK;
        const char *word = csv_trim(r->rows.field[r->label]);
        if (!*word)
            return eg_fail(EG_EFORMAT, "%s:%lld: the label is empty", r->rows.name,
                           (long long)r->rows.line);
        EG_TRY(eg_words_add(words, word, &label));
        if (!to)
            continue;
        if (split)
            EG_TRY(csv_turn(to, label, r->is->test_every, &test));
        if (split && test != (wanted == EG_TEST))
            continue;
        EG_TRY(eg_grow(&to->y, to->n, &to->cap_y, sizeof *to->y));
        EG_TRY(eg_grow(&to->x, to->n, &to->cap_x, r->n_values * sizeof *to->x));
        to->y[to->n] = label;
        EG_TRY(csv_values(r, to->x + to->n * r->n_values));
        to->n++;
    }
}

/* The axes of a sample: those of data.shape, or as many channels as values. */
static eg_status csv_shape(const csv *is, const char *path, size_t n_values, int64_t axes[3])
{
    long long d[3];
    char rest;
    axes[0] = (int64_t)n_values, axes[1] = axes[2] = 1;
    if (!*is->shape)
        return EG_OK;
    int n = sscanf(is->shape, "%4lldx%4lldx%4lld%c", &d[0], &d[1], &d[2], &rest);
    if (n != 2 && n != 3)
        return eg_fail(EG_EINVAL, "data.shape: '%s' is no shape such as 28x28 or 3x32x32",
                       is->shape);
    axes[0] = n == 3 ? d[0] : 1;
    axes[1] = d[n - 2];
    axes[2] = d[n - 1];
    if (axes[0] > 0 && axes[1] > 0 && axes[2] > 0 &&
        axes[0] * axes[1] * axes[2] == (int64_t)n_values)
        return EG_OK;
    return eg_fail(EG_ESHAPE, "%s: data.shape is %s, and a row has %zu values", path, is->shape,
                   n_values);
}

/* Hands the rows to the table; those of pictures as bytes, if they are. */
static eg_status csv_hand_over(const csv *is, const char *path, size_t n_values, csv_rows *from,
                               eg_table *t)
{
    int64_t axes[3];
    size_t n = from->n * n_values;
    bool bytes = *is->shape != 0;
    EG_TRY(csv_shape(is, path, n_values, axes));
    *t = (eg_table){.n = (int64_t)from->n,
                    .channels = axes[0],
                    .height = axes[1],
                    .width = axes[2],
                    .classes = 1,
                    .f32 = from->x,
                    .y = from->y};
    from->x = NULL;
    from->y = NULL;
    for (size_t i = 0; i < n && bytes; i++)
        bytes = t->f32[i] >= 0 && t->f32[i] <= 255 && t->f32[i] == floorf(t->f32[i]);
    if (!bytes)
        return EG_OK;
    EG_TRY(eg_alloc(n, 1, &t->u8));
    for (size_t i = 0; i < n; i++)
        t->u8[i] = (uint8_t)t->f32[i];
    free(t->f32);
    t->f32 = NULL;
    return EG_OK;
}

/* Both files, or the one there is; rows come from the one that the split wants. */
static eg_status csv_fill(const csv *is, char root[2][EG_PATH_SIZE], eg_split split,
                          eg_words *words, csv_rows *rows, eg_table *out)
{
    bool two = *is->test_path != 0;
    size_t n_values[2] = {0};
    for (int k = 0; k < (two ? 2 : 1); k++) {
        csv_reader r;
        bool wanted = !two || k == (split == EG_TEST);
        eg_status s = csv_open(is, root[k], &r);
        if (s == EG_OK)
            s = csv_read(&r, !two, split, words, wanted ? rows : NULL);
        n_values[k] = r.n_values;
        if (s == EG_OK && k == 0)
            snprintf(out->note, sizeof out->note, "%s by %zu values, separated by %s",
                     r.column ? "rows behind a header" : "rows without a header", r.n_values,
                     r.rows.separator == '\t'  ? "tabs"
                     : r.rows.separator == ';' ? "semicolons"
                                               : "commas");
        csv_close(&r);
        EG_TRY(s);
    }
    char note[EG_NOTE_SIZE];
    memcpy(note, out->note, sizeof note);
    if (two && n_values[0] != n_values[1])
        return eg_fail(EG_ESHAPE, "%s has %zu columns of values and %s %zu", root[0],
                       n_values[0], root[1], n_values[1]);
    if (rows->n == 0)
        return eg_fail(EG_EFORMAT, "%s: there are no rows for %s", root[two && split],
                       split == EG_TRAIN ? "training" : "testing");
    EG_TRY(csv_hand_over(is, root[0], n_values[0], rows, out));
    memcpy(out->note, note, sizeof note);
    return eg_words_settle(words, out);
}

static eg_status csv_load(const void *self, const eg_origin *from, eg_split split,
                          eg_table *out)
{
    const csv *is = self;
    char root[2][EG_PATH_SIZE];
    eg_words words = {0};
    csv_rows rows = {0};
    EG_TRY(eg_find_root(from, is->path, root[0]));
    if (*is->test_path)
        EG_TRY(eg_find_root(from, is->test_path, root[1]));
    eg_status s = csv_fill(is, root, split, &words, &rows, out);
    eg_words_fini(&words);
    free(rows.x);
    free(rows.y);
    free(rows.met);
    return s;
}

const eg_dataset eg_dataset_csv = {
    .component = {"csv", "your own table of comma-separated values, a row per sample",
                  sizeof(csv), csv_opts},
    .load = csv_load,
};
