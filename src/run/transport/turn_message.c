/* turn_message.c - turns, tests and replies as messages, and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/message.h"

#include "run/transport/transport.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_EXAM = 7 };                /* numbers before those of an exam's lists */
enum { MESSAGE_SCORE = 3 };               /* numbers of a score */
enum { MESSAGE_TOOK = 2 + EG_MAX_PARTS }; /* what a turn took, before its notes */

/* How many numbers an exam takes; one that has all classes allowed says so. */
static size_t message_exam_size(const eg_exam *e)
{
    return (size_t)(MESSAGE_EXAM + e->n + e->n_classes + (e->allowed ? e->n_allowed : 0));
}

static eg_status message_of_test(const eg_test *t, eg_message *out)
{
    size_t n = 1;
    for (size_t i = 0; i < t->n; i++)
        n += message_exam_size(&t->exams[i]);
    EG_TRY(eg_alloc(n, sizeof *out->numbers, &out->numbers));
    out->head.n_numbers = n;
    int64_t *at = out->numbers;
    *at++ = t->model;
    for (const eg_exam *e = t->exams; e < t->exams + t->n; e++) {
        const int64_t fixed[MESSAGE_EXAM] = {e->task,
                                             e->period,
                                             e->held_out,
                                             e->tells,
                                             e->n,
                                             e->n_classes,
                                             e->allowed ? e->n_allowed : -1};
        memcpy(at, fixed, sizeof fixed);
        at += MESSAGE_EXAM;
        for (int64_t i = 0; i < e->n; i++)
            *at++ = e->ids[i];
        for (int64_t i = 0; i < e->n_classes; i++)
            *at++ = e->classes[i];
        for (int64_t i = 0; e->allowed && i < e->n_allowed; i++)
            *at++ = e->allowed[i];
    }
    return EG_OK;
}

/* Classes as numbers of half the size; NULL, and EG_OK, for none. free() *out. */
static eg_status message_classes(const int64_t *from, int64_t n, int32_t **out)
{
    EG_TRY(eg_alloc((size_t)(n > 0 ? n : 0) + 1, sizeof **out, out));
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = (int32_t)from[i];
    return EG_OK;
}

/* at: an exam whose lists are all there. */
static eg_status message_add_exam(const int64_t *at, eg_test *to)
{
    int32_t *classes = NULL, *allowed = NULL;
    eg_exam e = {.task = at[0],
                 .period = at[1],
                 .held_out = at[2] != 0,
                 .tells = at[3] != 0,
                 .n = at[4],
                 .n_classes = at[5],
                 .n_allowed = at[6] < 0 ? 0 : at[6],
                 .ids = at + MESSAGE_EXAM};
    eg_status s = message_classes(e.ids + e.n, e.n_classes, &classes);
    if (s == EG_OK)
        s = message_classes(e.ids + e.n + e.n_classes, e.n_allowed, &allowed);
    e.classes = classes, e.allowed = at[6] < 0 ? NULL : allowed;
    if (s == EG_OK)
        s = eg_test_add(to, &e);
    free(classes);
    free(allowed);
    return s;
}

/* Samples are what the server says: it and its ranks have the same data (see eg_meet_all). */
static eg_status message_to_test(const eg_message *m, eg_test *out)
{
    int64_t most = (int64_t)m->head.n_numbers;
    if (most < 1 || m->numbers[0] < EG_TESTED_SENT || m->numbers[0] > EG_TESTED_UPLOAD)
        return eg_fail(EG_EFORMAT, "a test does not say of what model");
    out->model = (eg_tested)m->numbers[0];
    for (int64_t at = 1, n; at < most; at += n) {
        const int64_t *e = m->numbers + at;
        int64_t left = most - at - MESSAGE_EXAM;
        if (left < 0 || e[0] < 0 || e[4] < 0 || e[4] > left || e[5] < 0 || e[5] > left ||
            e[6] > left || (n = e[4] + e[5] + (e[6] > 0 ? e[6] : 0)) > left)
            return eg_fail(EG_EFORMAT, "a test of %lld numbers breaks off", (long long)most);
        n += MESSAGE_EXAM;
        EG_TRY(message_add_exam(e, out));
    }
    return EG_OK;
}

eg_status eg_message_of_turn(const eg_turn *t, size_t n_classes, eg_message *out)
{
    static const int64_t kinds[] = {[EG_TURN_CLIENT] = EG_MESSAGE_TURN,
                                    [EG_TURN_TEST] = EG_MESSAGE_TEST,
                                    [EG_TURN_PIECE] = EG_MESSAGE_PIECE};
    *out = (eg_message){.head = {.kind = kinds[t->kind],
                                 .id = t->id,
                                 .round = t->round,
                                 .seed = t->seed,
                                 .kept = t->kept,
                                 .committed = t->committed}};
    eg_message_head *h = &out->head;
    if (t->kind == EG_TURN_TEST)
        return message_of_test(t->test, out);
    if (t->kind == EG_TURN_PIECE) {
        h->exchange = (int64_t)t->piece.part, h->stage = t->piece.i;
        return EG_OK;
    }
    h->exchange = (int64_t)t->exchange, h->stage = t->stage, h->left = t->left;
    h->last = t->last, h->told_boundary = t->told_boundary, h->own = t->own;
    h->n_met = t->met ? n_classes : 0;
    out->met = (uint8_t *)(uintptr_t)t->met; /* only read */
    return EG_OK;
}

void eg_message_end_turn(eg_message *m)
{
    m->met = NULL;
    eg_message_fini(m);
}

eg_status eg_message_to_turn(eg_message *m, const eg_bundle *down, eg_turn *out, eg_test *test)
{
    const eg_message_head *h = &m->head;
    if (!down)
        return eg_fail(EG_EFORMAT, "there was no download");
    *out = (eg_turn){.id = h->id,
                     .round = h->round,
                     .seed = h->seed,
                     .kept = h->kept,
                     .committed = h->committed};
    eg_turn_rest(out, m->bundles[0], down);
    if (h->kind == EG_MESSAGE_TEST) {
        out->kind = EG_TURN_TEST, out->test = test;
        return message_to_test(m, test);
    }
    if ((h->kind != EG_MESSAGE_PIECE && h->kind != EG_MESSAGE_TURN) || h->exchange < 0)
        return eg_fail(EG_EFORMAT, "there is no such turn");
    if (h->kind == EG_MESSAGE_PIECE) {
        out->kind = EG_TURN_PIECE;
        out->piece.part = (size_t)h->exchange, out->piece.i = h->stage;
        return EG_OK;
    }
    out->exchange = (size_t)h->exchange, out->stage = h->stage, out->left = h->left;
    out->last = h->last != 0, out->told_boundary = h->told_boundary != 0;
    out->own = h->own != 0, out->met = m->met;
    return EG_OK;
}

/* The scores, then the answers. */
static eg_status message_of_scores(const eg_reply *r, eg_message *out)
{
    size_t n = MESSAGE_SCORE * r->n_scores;
    EG_TRY(eg_alloc(n + r->n_answers, sizeof *out->numbers, &out->numbers));
    out->head.n_numbers = n + r->n_answers;
    for (size_t i = 0; i < r->n_scores; i++) {
        const eg_score *s = &r->scores[i];
        memcpy(out->numbers + MESSAGE_SCORE * i,
               (int64_t[MESSAGE_SCORE]){s->n, s->right, s->right_in_task},
               MESSAGE_SCORE * sizeof *out->numbers);
    }
    for (size_t i = 0; i < r->n_answers; i++)
        out->numbers[n + i] = r->answers[i];
    return EG_OK;
}

/* One score, if it can be of the exam. */
static eg_status message_to_score(const int64_t *from, const eg_exam *of, eg_score *out)
{
    *out = (eg_score){from[0], from[1], from[2]};
    if ((out->n != of->n && out->n != EG_MILLION) || out->right < 0 || out->right > out->n ||
        out->right_in_task < 0 || out->right_in_task > out->n)
        return eg_fail(EG_EFORMAT, "%lld of %lld right answers cannot be",
                       (long long)out->right, (long long)out->n);
    return EG_OK;
}

/* No numbers at all: there was no such model. */
static eg_status message_to_scores(const eg_message *m, const eg_test *of, eg_reply *out)
{
    size_t n_answers = 0, n = MESSAGE_SCORE * of->n;
    if (m->head.n_numbers == 0)
        return EG_OK;
    for (size_t i = 0; i < of->n; i++)
        n_answers += of->exams[i].tells ? (size_t)of->exams[i].n : 0;
    if (m->head.n_numbers != n + n_answers)
        return eg_fail(EG_EFORMAT, "%llu numbers are no scores of %zu exams",
                       (unsigned long long)m->head.n_numbers, of->n);
    EG_TRY(eg_alloc(of->n, sizeof *out->scores, &out->scores));
    EG_TRY(eg_alloc(n_answers, sizeof *out->answers, &out->answers));
    for (; out->n_scores < of->n; out->n_scores++)
        EG_TRY(message_to_score(m->numbers + MESSAGE_SCORE * out->n_scores,
                                &of->exams[out->n_scores], &out->scores[out->n_scores]));
    for (; out->n_answers < n_answers; out->n_answers++)
        out->answers[out->n_answers] = (int32_t)m->numbers[n + out->n_answers];
    return EG_OK;
}

eg_status eg_message_answer(const eg_message *to, eg_status s, const eg_reply *reply,
                            eg_message_put put, void *context)
{
    eg_bundle *took = NULL;
    eg_message *answer;
    EG_TRY(eg_alloc(1, sizeof *answer, &answer)); /* the error text stays on success */
    *answer = (eg_message){.head = to->head};
    answer->head.kind = EG_MESSAGE_REPLY;
    answer->head.n_met = answer->head.n_numbers = 0;
    answer->head.kept = reply->kept;
    if (s == EG_OK && to->head.kind == EG_MESSAGE_TEST)
        s = message_of_scores(reply, answer);
    if (s == EG_OK)
        s = eg_message_of_reply(reply, &took);
    answer->head.status = s;
    if (s != EG_OK)
        strncpy(answer->text, eg_error(), EG_MESSAGE_TEXT - 1);
    const eg_bundle *const both[2] = {s == EG_OK ? reply->up : NULL, took};
    s = put(context, answer, both);
    eg_bundle_free(took);
    eg_message_fini(answer);
    free(answer);
    return s;
}

eg_status eg_message_hear(const eg_turn *turn, eg_message *m, eg_reply *out)
{
    const eg_message_head *h = &m->head;
    if (h->kind != EG_MESSAGE_REPLY || h->id != turn->id || h->round != turn->round ||
        h->status < 0 || h->status > EG_EBUSY)
        return eg_fail(EG_EFORMAT, "its process answered what was not asked");
    if (h->status != EG_OK)
        return eg_fail((eg_status)h->status, "%s", m->text);
    bool tests = turn->kind == EG_TURN_TEST;
    if ((!m->bundles[0] && !tests) || !m->bundles[1])
        return eg_fail(EG_EFORMAT, "its process left something out of its answer");
    EG_TRY(eg_message_to_reply(m->bundles[1], out));
    if (tests)
        EG_TRY(message_to_scores(m, turn->test, out));
    out->kept = h->kept;
    out->up = m->bundles[0];
    m->bundles[0] = NULL;
    return EG_OK;
}

static eg_status message_fill_reply(const eg_reply *r, eg_bundle *to)
{
    char name[96];
    EG_TRY(eg_bundle_scalar(to, "seconds", r->seconds));
    EG_TRY(eg_bundle_scalar(to, "flops", (double)r->flops));
    for (int i = 0; i < EG_MAX_PARTS; i++) {
        snprintf(name, sizeof name, "part %d", i);
        EG_TRY(eg_bundle_scalar(to, name, r->part_seconds[i]));
    }
    for (size_t i = 0; i < r->n_notes; i++) {
        snprintf(name, sizeof name, "%03zu %s", i, r->notes[i].name);
        EG_TRY(eg_bundle_scalar(to, name, r->notes[i].value));
    }
    return EG_OK;
}

eg_status eg_message_of_reply(const eg_reply *r, eg_bundle **out)
{
    EG_TRY(eg_bundle_new(out));
    eg_status s = message_fill_reply(r, *out);
    if (s != EG_OK) {
        eg_bundle_free(*out);
        *out = NULL;
    }
    return s;
}

/* Seconds that can have passed, or what can have been computed in a turn. */
static bool message_amount(const eg_bundle *from, const char *name, double *out)
{
    return eg_bundle_scalar_of(from, name, out) && *out >= 0 && *out <= 0x1p53;
}

static eg_status message_add_note(eg_reply *r, const char *name, double value)
{
    EG_TRY(eg_grow(&r->notes, r->n_notes, &r->cap_notes, sizeof *r->notes));
    eg_note *note = &r->notes[r->n_notes++];
    note->value = value;
    snprintf(note->name, sizeof note->name, "%.63s", name);
    return EG_OK;
}

eg_status eg_message_to_reply(const eg_bundle *from, eg_reply *out)
{
    char name[32];
    double flops = 0;
    bool good =
        message_amount(from, "seconds", &out->seconds) && message_amount(from, "flops", &flops);
    for (int i = 0; i < EG_MAX_PARTS; i++) {
        snprintf(name, sizeof name, "part %d", i);
        good &= message_amount(from, name, &out->part_seconds[i]);
    }
    if (!good || eg_bundle_n(from) > MESSAGE_TOOK + EG_MAX_NOTES)
        return eg_fail(EG_EFORMAT, "it does not say properly what its turn took");
    out->flops = (uint64_t)flops;
    for (size_t i = MESSAGE_TOOK; i < eg_bundle_n(from); i++) {
        eg_bundle_entry e;
        eg_bundle_at(from, i, &e);
        if (e.is_scalar && strlen(e.name) > 4)
            EG_TRY(message_add_note(out, e.name + 4, e.scalar));
    }
    return EG_OK;
}
