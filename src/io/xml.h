/* xml.h - the elements and texts of an XML file, one after the other.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What programs that mark pictures write: elements, attributes (which are passed over), texts
 * with the five entities and numbers, comments, CDATA, a declaration and a document type
 * without declarations of its own. Anything else is EG_EFORMAT with its line. A reader of a few
 * hundred lines a file needs no library for that.
 */
#ifndef EG_XML_H
#define EG_XML_H

#include "base/base.h"

enum { EG_XML_DEPTH = 16, EG_XML_NAME = 48, EG_XML_TEXT = 256 };

/* A zeroed one with name (for errors) and text, which is followed by a zero, is at the start.
 */
typedef struct eg_xml {
    const char *name, *at;
    int64_t line; /* counted from 0 */
    int depth;
    char tag[EG_XML_DEPTH][EG_XML_NAME]; /* of the open elements */
    bool closes;                         /* the one that was opened is empty */
    bool leaves;                         /* the innermost is closed */
    bool rooted;                         /* its one outermost element has been opened */
} eg_xml;

typedef enum eg_xml_kind { EG_XML_END, EG_XML_OPEN, EG_XML_CLOSE, EG_XML_VALUE } eg_xml_kind;

/* The next thing: an element opens, which is then the innermost; it closes, and is the
 * innermost until the next call; a text without blanks around it, never an empty one, cut to
 * EG_XML_TEXT - 1 bytes; the end, where nothing is open. */
eg_status eg_xml_next(eg_xml *x, eg_xml_kind *kind, char text[EG_XML_TEXT]);

/* Whether the open elements are just these, "annotation/object/name". */
bool eg_xml_is_in(const eg_xml *x, const char *path);

/* Fails with the file and the line. */
eg_status eg_xml_fail(const eg_xml *x, const char *what);

#endif
