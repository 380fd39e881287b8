/* hello.h - what a server and a device must have alike, as they tell each other.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_HELLO_H
#define EG_HELLO_H

#include "io/json.h"
#include "run/experiment/feed.h"

enum { EG_PROTOCOL = 1, EG_HELLO_TEXT = 80 };

typedef struct eg_hello {
    int64_t protocol;
    char version[EG_HELLO_TEXT]; /* of the program, with its commit */
    char isa[EG_HELLO_TEXT];
    char labels[EG_HELLO_TEXT], pixels[EG_HELLO_TEXT]; /* checksums of the data */
    char scenario[EG_HELLO_TEXT];                      /* its digest */
    int64_t classes, params;                           /* of the network: outputs, weights */
    bool own_data; /* the device's are its own; of a server: devices' may be */
} eg_hello;

/* What this program has; with data of its own a device tells nothing of them. */
eg_status eg_hello_fill(const eg_feed *feed, const eg_net *net, bool own_data, eg_hello *out);

/* As members of a JSON object, and back: EG_EFORMAT: something is missing or too long. */
eg_status eg_hello_put(const eg_hello *h, eg_json *to);
eg_status eg_hello_get(const eg_json *from, eg_hello *out);

/* EG_EINVAL: the device may not join, in one sentence. mixed: programs and instruction sets may
 * be others. */
eg_status eg_hello_compare(const eg_hello *server, const eg_hello *device, bool mixed);

#endif
