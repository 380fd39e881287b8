/* tensorboard.c - scalars as an event file of TensorBoard.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A record is a message of Protocol Buffers, of which little is needed:
 *     Event {double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary =
 * 5} Summary {repeated Value value = 1} Value {string tag = 1; float simple_value = 2; Tensor
 * tensor = 8; Metadata metadata = 9} Metadata {Plugin plugin = 1}    Plugin {string name = 1;
 * bytes content = 2} The view of hyper-parameters reads two values without a number, at the
 * start and the end of a run, whose content is Content {int32 version = 1; Start start = 3; End
 * end = 4} Start {map<string, Any> settings = 1; string group = 4; double seconds = 5} Any
 * {double number = 2; string text = 3}    End {int32 status = 1; double seconds = 2} Every run
 * is a group of its own.
 */
#include "report/export/curves.h"

#include "io/tfrecord.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that belong to whoever made them. */
typedef struct board_message {
    char *bytes; /* [n] */
    size_t n;
} board_message;

enum { BOARD_VARINT = 0, BOARD_FIXED64 = 1, BOARD_BYTES = 2, BOARD_FIXED32 = 5 };

/* A number in pieces of seven bits, the least first. */
static void board_varint(FILE *f, uint64_t x)
{
    for (; x >= 128; x >>= 7)
        fputc((int)(x & 127) | 128, f);
    fputc((int)x, f);
}

static void board_key(FILE *f, int field, int type)
{
    board_varint(f, (uint64_t)(field << 3 | type));
}

static void board_fixed(FILE *f, uint64_t bits, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        fputc((int)(bits >> 8 * i & 255), f);
}

static void board_double(FILE *f, int field, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    board_key(f, field, BOARD_FIXED64);
    board_fixed(f, bits, 8);
}

static void board_float(FILE *f, int field, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    board_key(f, field, BOARD_FIXED32);
    board_fixed(f, bits, 4);
}

static void board_text(FILE *f, int field, const char *text)
{
    board_key(f, field, BOARD_BYTES);
    board_varint(f, strlen(text));
    fputs(text, f);
}

/* A message within another: its length stands before it. */
static void board_nested(FILE *f, int field, const board_message *m)
{
    board_key(f, field, BOARD_BYTES);
    board_varint(f, m->n);
    fwrite(m->bytes, 1, m->n, f);
}

static eg_status board_open(board_message *m, FILE **f)
{
    *m = (board_message){0};
    *f = open_memstream(&m->bytes, &m->n);
    return *f ? EG_OK : eg_fail(EG_ENOMEM, "no memory for an event");
}

/* Ends a message; a nested one then goes into `to`, as a field. */
static eg_status board_close(board_message *m, FILE *f, FILE *to, int field)
{
    bool bad = fclose(f) != 0;
    if (!bad && to)
        board_nested(to, field, m);
    if (bad || to)
        free(m->bytes);
    return bad ? eg_fail(EG_ENOMEM, "no memory for an event") : EG_OK;
}

/* Writes an event whose summary is one value, which `fill` makes. */
typedef eg_status (*board_fill)(FILE *value, const void *context);

static eg_status board_summary(FILE *to, double time, int64_t step, board_fill fill,
                               const void *context)
{
    board_message event, summary, value;
    FILE *e, *s, *v;
    EG_TRY(board_open(&event, &e));
    EG_TRY(board_open(&summary, &s));
    EG_TRY(board_open(&value, &v));
    eg_status status = fill(v, context);
    EG_TRY(board_close(&value, v, s, 1));
    board_double(e, 1, time);
    board_key(e, 2, BOARD_VARINT);
    board_varint(e, (uint64_t)step);
    EG_TRY(board_close(&summary, s, e, 5));
    EG_TRY(board_close(&event, e, NULL, 0));
    if (status == EG_OK)
        eg_tfrecord_write(to, event.bytes, event.n);
    free(event.bytes);
    return status;
}

static eg_status board_scalar(FILE *value, const void *context)
{
    const eg_curve_value *x = context;
    board_text(value, 1, x->tag);
    board_float(value, 2, (float)x->value);
    return EG_OK;
}

/* A number is one to TensorBoard too, so that it can be filtered and sorted by it. */
static eg_status board_setting(FILE *start, const eg_differing *s)
{
    board_message pair, any;
    FILE *p, *a;
    char *end;
    double number = strtod(s->value, &end);
    EG_TRY(board_open(&pair, &p));
    EG_TRY(board_open(&any, &a));
    board_text(p, 1, s->key);
    if (*s->value && !*end)
        board_double(a, 2, number);
    else
        board_text(a, 3, s->value);
    EG_TRY(board_close(&any, a, p, 2));
    return board_close(&pair, p, start, 1);
}

static eg_status board_start(FILE *content, const eg_curves *s)
{
    board_message start;
    FILE *f;
    EG_TRY(board_open(&start, &f));
    const eg_differing label = {.key = "label", .value = s->run->start->label};
    EG_TRY(board_setting(f, &label));
    for (size_t i = 0; i < s->n_settings; i++)
        if (strcmp(s->setting[i].key, "label") != 0)
            EG_TRY(board_setting(f, &s->setting[i]));
    board_text(f, 4, s->run->dir);
    board_double(f, 5, s->run->began);
    return board_close(&start, f, content, 3);
}

static eg_status board_end(FILE *content, const eg_curves *s)
{
    enum { BOARD_SUCCESS = 1, BOARD_RUNNING = 3 };
    board_message end;
    FILE *f;
    EG_TRY(board_open(&end, &f));
    board_key(f, 1, BOARD_VARINT);
    board_varint(f, s->run->finished ? BOARD_SUCCESS : BOARD_RUNNING);
    board_double(f, 2, s->run->began + (s->n ? s->list[s->n - 1].seconds : 0));
    return board_close(&end, f, content, 4);
}

/* What the view of hyper-parameters is told of a run. */
typedef struct board_session {
    const eg_curves *curves;
    const char *tag;
    eg_status (*part)(FILE *content, const eg_curves *s);
} board_session;

static eg_status board_plugin(FILE *value, const void *context)
{
    static const char none[] = {8, 1, 18, 0, 42, 4, 0, 0, 0, 0}; /* a tensor: one float, 0 */
    const board_session *b = context;
    board_message metadata, plugin, content;
    FILE *m, *p, *c;
    board_text(value, 1, b->tag);
    board_nested(value, 8, &(board_message){(char *)none, sizeof none});
    EG_TRY(board_open(&metadata, &m));
    EG_TRY(board_open(&plugin, &p));
    EG_TRY(board_open(&content, &c));
    board_text(p, 1, "hparams");
    board_key(c, 1, BOARD_VARINT);
    board_varint(c, 0);
    eg_status status = b->part(c, b->curves);
    EG_TRY(board_close(&content, c, p, 2));
    EG_TRY(board_close(&plugin, p, m, 1));
    EG_TRY(board_close(&metadata, m, value, 9));
    return status;
}

/* The version, which opens the file. */
static eg_status board_version(FILE *to, double time)
{
    board_message event;
    FILE *f;
    EG_TRY(board_open(&event, &f));
    board_double(f, 1, time);
    board_text(f, 3, "brain.Event:2");
    EG_TRY(board_close(&event, f, NULL, 0));
    eg_tfrecord_write(to, event.bytes, event.n);
    free(event.bytes);
    return EG_OK;
}

eg_status eg_curves_tensorboard(const eg_curves *s, FILE *f)
{
    const board_session start = {s, "_hparams_/session_start_info", board_start};
    const board_session end = {s, "_hparams_/session_end_info", board_end};
    double began = s->run->began, last = s->n ? s->list[s->n - 1].seconds : 0;
    EG_TRY(board_version(f, began));
    EG_TRY(board_summary(f, began, 0, board_plugin, &start));
    for (size_t i = 0; i < s->n; i++)
        EG_TRY(board_summary(f, began + s->list[i].seconds, s->list[i].round, board_scalar,
                             &s->list[i]));
    return board_summary(f, began + last, 0, board_plugin, &end);
}
