/* xml.c - the elements and texts of an XML file, one after the other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/xml.h"

#include <stdlib.h>
#include <string.h>

eg_status eg_xml_fail(const eg_xml *x, const char *what)
{
    return eg_fail(EG_EFORMAT, "%s:%lld: %s", x->name, (long long)x->line + 1, what);
}

/* Goes on by n bytes, and counts lines. */
static void xml_skip(eg_xml *x, size_t n)
{
    for (; n > 0; n--, x->at++)
        x->line += *x->at == '\n';
}

static bool xml_starts(const eg_xml *x, const char *with)
{
    return strncmp(x->at, with, strlen(with)) == 0;
}

/* Passes over something up to its end, which must come. */
static eg_status xml_pass(eg_xml *x, const char *end, const char *what)
{
    const char *to = strstr(x->at, end);
    if (!to)
        return eg_xml_fail(x, what);
    xml_skip(x, (size_t)(to - x->at) + strlen(end));
    return EG_OK;
}

/* Comments, declarations and the type of the document; *any: there was one. */
static eg_status xml_pass_notes(eg_xml *x, bool *any)
{
    *any = true;
    if (xml_starts(x, "<!--"))
        return xml_pass(x, "-->", "a comment has no end");
    if (xml_starts(x, "<?"))
        return xml_pass(x, "?>", "a declaration has no end");
    *any = false;
    if (!xml_starts(x, "<!DOCTYPE"))
        return EG_OK;
    *any = true;
    if (x->at[strcspn(x->at, "[>")] == '[')
        return eg_xml_fail(x, "a document type with declarations is not read");
    return xml_pass(x, ">", "a document type has no end");
}

/* The name of an element, behind which blanks, '/' or '>' must stand. */
static eg_status xml_name(eg_xml *x, char out[EG_XML_NAME])
{
    size_t n = strcspn(x->at, " \t\r\n/<>\"'&=");
    if (n == 0 || n >= EG_XML_NAME || !strchr(" \t\r\n/>", x->at[n]) || !x->at[n])
        return eg_xml_fail(x, "an element has no name, or one that is too long");
    memcpy(out, x->at, n);
    out[n] = 0;
    xml_skip(x, n);
    return EG_OK;
}

/* Attributes, up to the tag's end. */
static eg_status xml_attributes(eg_xml *x)
{
    while (*x->at && *x->at != '>' && *x->at != '/' && *x->at != '<') {
        const char *end = *x->at == '"' || *x->at == '\'' ? strchr(x->at + 1, *x->at) : x->at;
        if (!end)
            return eg_xml_fail(x, "an attribute has no end");
        xml_skip(x, (size_t)(end - x->at) + 1);
    }
    x->closes = *x->at == '/';
    if (x->closes)
        xml_skip(x, 1);
    if (*x->at != '>')
        return eg_xml_fail(x, "a tag has no end");
    xml_skip(x, 1);
    return EG_OK;
}

static eg_status xml_open(eg_xml *x)
{
    if (x->depth == EG_XML_DEPTH)
        return eg_xml_fail(x, "elements are too deep in each other");
    if (x->depth == 0 && x->rooted)
        return eg_xml_fail(x, "there is a second outermost element");
    x->rooted = true;
    xml_skip(x, 1);
    EG_TRY(xml_name(x, x->tag[x->depth]));
    EG_TRY(xml_attributes(x));
    x->depth++;
    return EG_OK;
}

/* "</name>"; the element stays the innermost until the next call. */
static eg_status xml_close(eg_xml *x)
{
    char name[EG_XML_NAME];
    xml_skip(x, 2);
    EG_TRY(xml_name(x, name));
    xml_skip(x, strspn(x->at, " \t\r\n"));
    if (*x->at != '>' || x->depth == 0 || strcmp(name, x->tag[x->depth - 1]) != 0)
        return eg_xml_fail(x, "an element is closed that is not the innermost");
    xml_skip(x, 1);
    return EG_OK;
}

/* One character of a text; 0 for an entity that is not known. Returns its bytes. */
static size_t xml_character(const char *at, char *out)
{
    static const struct {
        const char *name;
        char is;
    } entities[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    *out = *at;
    if (*at != '&')
        return 1;
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (strncmp(at, entities[i].name, strlen(entities[i].name)) == 0) {
            *out = entities[i].is;
            return strlen(entities[i].name);
        }
    char *end;
    long code =
        at[1] == '#' ? strtol(at + 2 + (at[2] == 'x'), &end, at[2] == 'x' ? 16 : 10) : 0;
    bool known = at[1] == '#' && *end == ';' && code > 0 && code < 128;
    *out = known ? (char)code : 0;
    return known ? (size_t)(end - at) + 1 : 1;
}

/* Adds what stands up to `end` to a text, entities resolved unless it is plain. */
static eg_status xml_add(eg_xml *x, const char *end, bool plain, char text[EG_XML_TEXT],
                         size_t *n)
{
    while (x->at < end) {
        char c = *x->at;
        size_t used = plain ? 1 : xml_character(x->at, &c);
        if (c == 0)
            return eg_xml_fail(x, "an entity is not known");
        if (*n + 1 < EG_XML_TEXT)
            text[(*n)++] = c;
        xml_skip(x, used);
    }
    text[*n] = 0;
    return EG_OK;
}

/* A text with its CDATA, up to the next tag; blanks around it are cut off. */
static eg_status xml_value(eg_xml *x, char text[EG_XML_TEXT])
{
    size_t n = 0;
    text[0] = 0;
    while (*x->at && (*x->at != '<' || xml_starts(x, "<![CDATA["))) {
        bool plain = *x->at == '<';
        if (plain)
            xml_skip(x, strlen("<![CDATA["));
        const char *end = plain ? strstr(x->at, "]]>") : x->at + strcspn(x->at, "<");
        if (!end)
            return eg_xml_fail(x, "CDATA has no end");
        EG_TRY(xml_add(x, end, plain, text, &n));
        xml_skip(x, plain ? strlen("]]>") : 0);
    }
    size_t from = strspn(text, " \t\r\n");
    while (n > from && strchr(" \t\r\n", text[n - 1]))
        text[--n] = 0;
    memmove(text, text + from, n - from + 1);
    return EG_OK;
}

/* Passes over notes and blanks to the next tag or text, which it takes; "" at a tag or the end.
 */
static eg_status xml_text(eg_xml *x, char text[EG_XML_TEXT])
{
    bool noted;
    text[0] = 0;
    while (*x->at && !text[0]) {
        EG_TRY(xml_pass_notes(x, &noted));
        if (noted)
            continue;
        if (*x->at == '<' && !xml_starts(x, "<![CDATA["))
            return EG_OK;
        EG_TRY(xml_value(x, text));
    }
    return text[0] && x->depth == 0 ? eg_xml_fail(x, "there is text outside of all elements")
                                    : EG_OK;
}

eg_status eg_xml_next(eg_xml *x, eg_xml_kind *kind, char text[EG_XML_TEXT])
{
    x->depth -= x->leaves;
    x->leaves = x->closes;
    text[0] = 0;
    if (x->closes) {
        x->closes = false;
        *kind = EG_XML_CLOSE;
        return EG_OK;
    }
    EG_TRY(xml_text(x, text));
    *kind = text[0] ? EG_XML_VALUE : EG_XML_END;
    if (text[0])
        return EG_OK;
    if (!*x->at)
        return x->depth || !x->rooted ? eg_xml_fail(x, "the file ends within an element")
                                      : EG_OK;
    x->leaves = xml_starts(x, "</");
    *kind = x->leaves ? EG_XML_CLOSE : EG_XML_OPEN;
    return x->leaves ? xml_close(x) : xml_open(x);
}

bool eg_xml_is_in(const eg_xml *x, const char *path)
{
    int i = 0;
    for (; i < x->depth && *path; i++) {
        size_t n = strlen(x->tag[i]);
        if (strncmp(path, x->tag[i], n) != 0 || (path[n] && path[n] != '/'))
            return false;
        path += n + (path[n] == '/');
    }
    return i == x->depth && !*path;
}
