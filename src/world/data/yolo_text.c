/* yolo_text.c - boxes from lines of text, each checked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/yolo_text.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The part of an interval within [0, 1]. */
static void yolo_cut(float *middle, float *size)
{
    double from = fmax(0, (double)*middle - (double)*size / 2);
    double to = fmin(1, (double)*middle + (double)*size / 2);
    *middle = (float)((from + to) / 2);
    *size = (float)(to - from);
}

eg_status eg_box_list_add(eg_box_list *to, const eg_box *b)
{
    int64_t class = b->label <= EG_CROWD ? EG_CROWD - (int64_t)b->label : (int64_t)b->label;
    if (class < 0 || class >= to->classes)
        return eg_fail(EG_EFORMAT, "class %lld is none of the %lld classes", (long long)class,
                       (long long)to->classes);
    if (!(b->w > 0) || !(b->h > 0) || b->w > 2 || b->h > 2)
        return eg_fail(EG_EFORMAT, "a box of %gx%g of the picture has no size that can be",
                       (double)b->w, (double)b->h);
    if (!(b->x >= 0 && b->x < 1 && b->y >= 0 && b->y < 1))
        return eg_fail(EG_EFORMAT, "a box has its centre at (%g, %g), outside the picture",
                       (double)b->x, (double)b->y);
    if (to->n == EG_MAX_BOXES)
        return eg_fail(EG_EFORMAT, "there are more than %d boxes on one picture", EG_MAX_BOXES);
    eg_box *own = &to->box[to->n++];
    *own = *b;
    yolo_cut(&own->x, &own->w);
    yolo_cut(&own->y, &own->h);
    return EG_OK;
}

/* The numbers of a line; false if these are not five. */
static bool yolo_numbers(const char *line, double out[5])
{
    char *end;
    for (int k = 0; k < 5; k++, line = end) {
        while (*line == ' ' || *line == '\t')
            line++;
        out[k] = strtod(line, &end);
        if (end == line || *line == '\n' || !isfinite(out[k]))
            return false;
    }
    return line[strspn(line, " \t\r")] == '\n' || line[strspn(line, " \t\r")] == 0;
}

eg_status eg_yolo_text_parse(const char *name, const char *text, eg_box_list *to)
{
    for (int64_t number = 1; *text; number++) {
        double v[5];
        const char *end = strchr(text, '\n');
        bool empty = strspn(text, " \t\r") >= strcspn(text, "\n");
        if (!empty && !yolo_numbers(text, v))
            return eg_fail(EG_EFORMAT, "%s:%lld: a line is five numbers, class x y w h", name,
                           (long long)number);
        if (!empty && (v[0] < 0 || v[0] > 1e6 || floor(v[0]) < v[0]))
            return eg_fail(EG_EFORMAT, "%s:%lld: class %g is no whole number from 0 on", name,
                           (long long)number, v[0]);
        const eg_box b = {empty ? 0 : (float)v[0], empty ? 0 : (float)v[1],
                          empty ? 0 : (float)v[2], empty ? 0 : (float)v[3],
                          empty ? 0 : (float)v[4]};
        if (!empty)
            EG_TRY(eg_blame(eg_box_list_add(to, &b), "%s:%lld", name, (long long)number));
        text = end ? end + 1 : text + strlen(text);
    }
    return EG_OK;
}
