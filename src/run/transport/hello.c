/* hello.c - what a device tells when it joins, and whether it may.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/hello.h"

#include "run/experiment/fingerprint.h"

#include <stdio.h>
#include <string.h>

/* The texts, by name. */
static const struct {
    const char *name, *what;
    size_t offset;
    bool of_program; /* of the program, not of the data */
} hello_texts[] = {
    {"version", "program", offsetof(eg_hello, version), true},
    {"isa", "instruction set", offsetof(eg_hello, isa), true},
    {"labels", "set of labels", offsetof(eg_hello, labels), false},
    {"pixels", "set of pixels", offsetof(eg_hello, pixels), false},
    {"scenario", "scenario", offsetof(eg_hello, scenario), false},
};

enum { HELLO_TEXTS = sizeof hello_texts / sizeof *hello_texts };

static char *hello_text(eg_hello *h, size_t i)
{
    return (char *)h + hello_texts[i].offset;
}

static const char *hello_read(const eg_hello *h, size_t i)
{
    return (const char *)h + hello_texts[i].offset;
}

eg_status eg_hello_fill(const eg_feed *feed, const eg_net *net, bool own_data, eg_hello *out)
{
    eg_fingerprint print;
    eg_fingerprint_take(feed, &print);
    *out = (eg_hello){.protocol = EG_PROTOCOL,
                      .classes = eg_net_spec_of(net)->classes,
                      .params = (int64_t)eg_params_length(eg_net_params(net)),
                      .own_data = own_data};
    snprintf(out->version, EG_HELLO_TEXT, "%s %s", print.version, print.commit);
    snprintf(out->isa, EG_HELLO_TEXT, "%s", print.isa);
    snprintf(out->labels, EG_HELLO_TEXT, "%s", print.labels);
    snprintf(out->pixels, EG_HELLO_TEXT, "%s", print.pixels);
    return eg_scenario_digest(feed->scenario, out->scenario);
}

eg_status eg_hello_put(const eg_hello *h, eg_json *to)
{
    EG_TRY(eg_json_set(to, "protocol", eg_json_of_int(h->protocol)));
    EG_TRY(eg_json_set(to, "classes", eg_json_of_int(h->classes)));
    EG_TRY(eg_json_set(to, "params", eg_json_of_int(h->params)));
    EG_TRY(eg_json_set(to, "own_data", eg_json_of_bool(h->own_data)));
    for (size_t i = 0; i < HELLO_TEXTS; i++)
        if (!h->own_data || hello_texts[i].of_program)
            EG_TRY(eg_json_set(to, hello_texts[i].name, eg_json_of_text(hello_read(h, i))));
    return EG_OK;
}

static eg_status hello_get_text(const eg_json *from, const char *name, char *out)
{
    const eg_json *value;
    const char *text;
    EG_TRY(eg_json_need(from, name, EG_JSON_TEXT, &value));
    EG_TRY(eg_json_text(value, &text));
    int n = snprintf(out, EG_HELLO_TEXT, "%s", text);
    return n < EG_HELLO_TEXT ? EG_OK : eg_fail(EG_EFORMAT, "'%s' is too long", name);
}

static eg_status hello_get_all(const eg_json *from, eg_hello *out)
{
    const eg_json *protocol, *classes, *params, *own;
    *out = (eg_hello){0};
    EG_TRY(eg_json_need(from, "protocol", EG_JSON_INT, &protocol));
    EG_TRY(eg_json_need(from, "classes", EG_JSON_INT, &classes));
    EG_TRY(eg_json_need(from, "params", EG_JSON_INT, &params));
    EG_TRY(eg_json_need(from, "own_data", EG_JSON_BOOL, &own));
    EG_TRY(eg_json_int(protocol, &out->protocol));
    EG_TRY(eg_json_int(classes, &out->classes));
    EG_TRY(eg_json_int(params, &out->params));
    EG_TRY(eg_json_bool(own, &out->own_data));
    for (size_t i = 0; i < HELLO_TEXTS; i++)
        if (!out->own_data || hello_texts[i].of_program)
            EG_TRY(hello_get_text(from, hello_texts[i].name, hello_text(out, i)));
    return EG_OK;
}

eg_status eg_hello_get(const eg_json *from, eg_hello *out)
{
    return hello_get_all(from, out) == EG_OK
               ? EG_OK
               : eg_fail(EG_EFORMAT, "this is no hello: %s", eg_error());
}

static eg_status hello_compare_network(const eg_hello *server, const eg_hello *device)
{
    if (device->classes != server->classes || device->params != server->params)
        return eg_fail(EG_EINVAL,
                       "its data make a network of %lld outputs and %lld weights, the server's "
                       "one of %lld and %lld",
                       (long long)device->classes, (long long)device->params,
                       (long long)server->classes, (long long)server->params);
    return EG_OK;
}

eg_status eg_hello_compare(const eg_hello *server, const eg_hello *device, bool mixed)
{
    if (device->protocol != server->protocol)
        return eg_fail(EG_EINVAL, "it speaks version %lld of the protocol, the server %lld",
                       (long long)device->protocol, (long long)server->protocol);
    if (device->own_data != server->own_data)
        return eg_fail(EG_EINVAL, device->own_data
                                      ? "it has data of its own, and the server deals out data "
                                        "that all have (serve without --own-data)"
                                      : "the server wants devices with data of their own "
                                        "(join with --own-data)");
    EG_TRY(hello_compare_network(server, device));
    for (size_t i = 0; i < HELLO_TEXTS; i++) {
        bool program = hello_texts[i].of_program;
        if (program ? mixed : device->own_data)
            continue;
        if (strcmp(hello_read(server, i), hello_read(device, i)) != 0)
            return eg_fail(EG_EINVAL, "it has another %s ('%s') than the server ('%s')%s",
                           hello_texts[i].what, hello_read(device, i), hello_read(server, i),
                           program ? "; a server with --mixed takes it all the same" : "");
    }
    return EG_OK;
}
