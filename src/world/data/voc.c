/* voc.c - the boxes of one picture as PASCAL VOC has them: an XML file beside it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/voc.h"

#include "io/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is read of a file: the object that is open, with its corners in pixels. */
typedef struct voc {
    eg_xml x;
    const char *const *names;
    eg_box_list *to;
    double size[2]; /* height, width */
    int64_t line;   /* of the object */
    char class[EG_XML_TEXT];
    double corner[4]; /* xmin, ymin, xmax, ymax; NaN: not told */
    bool difficult;
} voc;

static void voc_begin(voc *v)
{
    v->line = v->x.line;
    v->class[0] = 0;
    v->difficult = false;
    for (int k = 0; k < 4; k++)
        v->corner[k] = NAN;
}

static eg_status voc_number(const voc *v, const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == 0 && isfinite(*out)
               ? EG_OK
               : eg_fail(EG_EFORMAT, "%s:%lld: '%.40s' is no number", v->x.name,
                         (long long)v->x.line + 1, text);
}

static eg_status voc_value(voc *v, const char *text)
{
    static const char *const corners[] = {
        "annotation/object/bndbox/xmin", "annotation/object/bndbox/ymin",
        "annotation/object/bndbox/xmax", "annotation/object/bndbox/ymax"};
    static const char *const sizes[] = {"annotation/size/height", "annotation/size/width"};
    for (int k = 0; k < 4; k++)
        if (eg_xml_is_in(&v->x, corners[k]))
            return voc_number(v, text, &v->corner[k]);
    for (int k = 0; k < 2; k++)
        if (eg_xml_is_in(&v->x, sizes[k])) {
            double told;
            EG_TRY(voc_number(v, text, &told));
            v->size[k] = told > 0 ? told : v->size[k];
        }
    if (eg_xml_is_in(&v->x, "annotation/object/name"))
        memcpy(v->class, text, EG_XML_TEXT);
    if (eg_xml_is_in(&v->x, "annotation/object/difficult"))
        v->difficult = strcmp(text, "1") == 0;
    return EG_OK;
}

static eg_status voc_end(const voc *v)
{
    int64_t class = 0;
    while (class < v->to->classes && strcmp(v->names[class], v->class) != 0)
        class ++;
    if (class == v->to->classes)
        return eg_fail(EG_EFORMAT, "class '%.60s' is none of the %lld classes", v->class,
                       (long long)v->to->classes);
    for (int k = 0; k < 4; k++)
        if (isnan(v->corner[k]))
            return eg_fail(EG_EFORMAT,
                           "an object has no bndbox with xmin, ymin, xmax and ymax");
    const double *c = v->corner;
    const eg_box b = {.label = (float)(v->difficult ? EG_CROWD - class : class),
                      .x = (float)((c[0] + c[2]) / 2 / v->size[1]),
                      .y = (float)((c[1] + c[3]) / 2 / v->size[0]),
                      .w = (float)((c[2] - c[0]) / v->size[1]),
                      .h = (float)((c[3] - c[1]) / v->size[0])};
    return eg_box_list_add(v->to, &b);
}

/* The size of the picture stands before its objects, as VOC has it. */
static eg_status voc_take(voc *v, eg_xml_kind kind, const char *text)
{
    bool root = v->x.depth == 1;
    if (kind == EG_XML_OPEN && root && !eg_xml_is_in(&v->x, "annotation"))
        return eg_xml_fail(&v->x, "this is no file of boxes: its element is not 'annotation'");
    bool object = eg_xml_is_in(&v->x, "annotation/object");
    if (kind == EG_XML_OPEN && object)
        voc_begin(v);
    if (kind == EG_XML_CLOSE && object)
        return eg_blame(voc_end(v), "%s:%lld", v->x.name, (long long)v->line + 1);
    return kind == EG_XML_VALUE ? voc_value(v, text) : EG_OK;
}

eg_status eg_voc_parse(const char *name, const char *text, const int64_t size[2],
                       const char *const *names, eg_box_list *to)
{
    voc v = {.x = {.name = name, .at = text},
             .names = names,
             .to = to,
             .size = {(double)size[0], (double)size[1]}};
    char value[EG_XML_TEXT];
    eg_xml_kind kind = EG_XML_OPEN;
    while (kind != EG_XML_END) {
        EG_TRY(eg_xml_next(&v.x, &kind, value));
        EG_TRY(voc_take(&v, kind, value));
    }
    return EG_OK;
}
