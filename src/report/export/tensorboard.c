/* tensorboard.c - scalars as an event file of TensorBoard.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A record is a message of Protocol Buffers, of which little is needed:
 *     Event {double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary =
 * 5} Summary {repeated Value value = 1}      Value {string tag = 1; float simple_value = 2}
 * Time counts from the run's start: what is written depends on the run alone.
 */
#include "report/export/curves.h"

#include "io/tfrecord.h"

#include <stdlib.h>
#include <string.h>

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

static size_t board_varint_size(uint64_t x)
{
    size_t n = 1;
    for (; x >= 128; x >>= 7)
        n++;
    return n;
}

/* A value within a summary: its length stands before it. */
static void board_value(FILE *f, const eg_curve_value *x)
{
    size_t tag = strlen(x->tag), value = 1 + board_varint_size(tag) + tag + 1 + 4;
    size_t summary = 1 + board_varint_size(value) + value;
    board_key(f, 5, BOARD_BYTES);
    board_varint(f, summary);
    board_key(f, 1, BOARD_BYTES);
    board_varint(f, value);
    board_text(f, 1, x->tag);
    board_float(f, 2, (float)x->value);
}

/* One record: the version that opens the file, or a scalar. */
static eg_status board_event(FILE *f, const eg_curve_value *x)
{
    char *bytes = NULL;
    size_t n = 0;
    FILE *event = open_memstream(&bytes, &n);
    if (!event)
        return eg_fail(EG_ENOMEM, "no memory for an event");
    board_double(event, 1, x ? x->seconds : 0);
    if (x) {
        board_key(event, 2, BOARD_VARINT);
        board_varint(event, (uint64_t)x->round);
        board_value(event, x);
    } else {
        board_text(event, 3, "brain.Event:2");
    }
    bool bad = fclose(event) != 0;
    if (!bad)
        eg_tfrecord_write(f, bytes, n);
    free(bytes);
    return bad ? eg_fail(EG_ENOMEM, "no memory for an event") : EG_OK;
}

eg_status eg_curves_tensorboard(const eg_curves *s, FILE *f)
{
    EG_TRY(board_event(f, NULL));
    for (size_t i = 0; i < s->n; i++)
        EG_TRY(board_event(f, &s->list[i]));
    return EG_OK;
}
