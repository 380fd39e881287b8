/* opt_text.c - all options of a component as one line of text, read and written.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/opt.h>

#include <stdio.h>
#include <string.h>

/* The length of the first "name=value": up to a blank that no bracket encloses. */
static size_t text_pair_length(const char *text)
{
    size_t n = 0;
    for (int depth = 0; text[n] && (depth > 0 || text[n] != ' '); n++)
        depth += (text[n] == '[') - (text[n] == ']');
    return n;
}

static eg_status text_set_pair(const eg_opt *opts, void *self, const char *text, size_t length)
{
    char pair[2 * EG_OPT_TEXT_SIZE];
    if (length >= sizeof pair)
        return eg_fail(EG_EINVAL, "'%.40s...' is longer than %zu characters", text,
                       sizeof pair - 1);
    snprintf(pair, sizeof pair, "%.*s", (int)length, text);
    char *value = strchr(pair, '=');
    if (!value)
        return eg_fail(EG_EINVAL, "'%s' is not name=value", pair);
    *value++ = 0;
    return eg_opts_set(opts, self, pair, value);
}

eg_status eg_opts_set_text(const eg_opt *opts, void *self, const char *text)
{
    while (*(text += strspn(text, " "))) {
        size_t length = text_pair_length(text);
        EG_TRY(text_set_pair(opts, self, text, length));
        text += length;
    }
    return EG_OK;
}

eg_status eg_opts_print_text(const eg_opt *opts, const void *self, size_t room, char *out)
{
    size_t used = 0;
    out[0] = 0;
    for (const eg_opt *o = opts; o && o->name; o++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, self, value);
        bool list = o->type == EG_OPT_IS_LIST; /* with blanks in it */
        int n = snprintf(out + used, room - used, "%s%s=%s%s%s", used ? " " : "", o->name,
                         list ? "[" : "", value, list ? "]" : "");
        if (n < 0 || (size_t)n >= room - used)
            return eg_fail(EG_EINVAL, "the options are longer than %zu characters", room - 1);
        used += (size_t)n;
    }
    return EG_OK;
}
