/* hello.h - what processes that carry out one run together must have alike.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device says it to its server as JSON when it joins, a rank to rank 0 before the first
 * round; both are compared by one table.
 */
#ifndef EG_HELLO_H
#define EG_HELLO_H

#include "io/json.h"
#include "run/transport/transport.h"

#define EG_HTTPS_ROOT "/engram/1" /* below which all of it stands */

enum { EG_PROTOCOL = 1, EG_HELLO_TEXT = 80 };

typedef struct eg_hello {
    int64_t protocol;
    char version[EG_HELLO_TEXT]; /* of the program, with its commit */
    char isa[EG_HELLO_TEXT];
    char config[EG_HELLO_TEXT];                        /* checksum; ranks alone tell it */
    char labels[EG_HELLO_TEXT], pixels[EG_HELLO_TEXT]; /* checksums of the data */
    char scenario[EG_HELLO_TEXT];                      /* its digest */
    int64_t classes, params;                           /* of the network: outputs, weights */
    bool own_data; /* the device's are its own; of a server: devices' may be */
} eg_hello;

/* What this process has; with data of its own a device tells nothing of them. */
eg_status eg_hello_fill(const eg_site *site, bool own_data, eg_hello *out);

/* As members of a JSON object, and back: EG_EFORMAT: something is missing or too long. */
eg_status eg_hello_put(const eg_hello *h, eg_json *to);
eg_status eg_hello_get(const eg_json *from, eg_hello *out);

/* EG_EINVAL: the device may not join, in one sentence. mixed: programs and instruction sets may
 * be others. */
eg_status eg_hello_compare(const eg_hello *server, const eg_hello *device, bool mixed);

/* On rank 0: waits for all others, refuses the first that differs in something, by rank, host
 * and name, and has them look for a file that it makes in the run's place. workers: [ranks],
 * how many each has. */
eg_status eg_meet_all(const eg_site *site, int *workers);

/* On another: says what it has, and looks for what rank 0 shows. EG_EIO: rank 0 has ended it,
 * or the run's folder is not the one that rank 0 sees. */
eg_status eg_meet_server(const eg_site *site);

#endif
