/* https_open.c - a server for devices opens: keys, what devices are told, where it listens.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/frozen.h"
#include "run/transport/https.h"

#include "io/file.h"
#include "io/http_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HTTPS_WAIT = 25, /* seconds */
    HTTPS_PEM = 1 << 20,
};

/* Files that wait are made where the system keeps such. */
static eg_status https_open_spool(eg_https *h)
{
    const char *folder = getenv("TMPDIR");
    return eg_spool_new(folder && *folder ? folder : "/var/tmp", eg_https_memory(h), &h->spool);
}

eg_status eg_https_open(void *self, const eg_site *site)
{
    eg_https *h = self;
    pthread_mutex_init(&h->lock, NULL);
    eg_cond_init(&h->changed);
    pthread_cond_init(&h->more, NULL);
    if (!site->listen)
        return eg_fail(EG_EINVAL, "the transport https is for `engram serve`");
    h->site = *site;
    h->how = *site->listen;
    h->n_devices = eg_scenario_n_clients(site->feed->scenario);
    EG_TRY(eg_alloc((size_t)h->n_devices, sizeof *h->keys, &h->keys));
    EG_TRY(eg_alloc((size_t)h->n_devices, sizeof *h->devices, &h->devices));
    for (int64_t i = 0; i < h->n_devices; i++)
        h->devices[i].turn = h->devices[i].reads = -1;
    h->most = eg_message_most(&h->site);
    EG_TRY(https_open_spool(h));
    if (h->how.audit && !(h->audit = fopen(h->how.audit, "ae")))
        return eg_file_fail(h->how.audit, "cannot be written");
    if (!h->how.keys)
        return eg_fail(EG_EINVAL, "a server needs a file for the keys of its devices");
    if (access(h->how.keys, F_OK) != 0)
        EG_TRY(eg_keys_make(h->how.keys, h->n_devices));
    unsigned char salt[(EG_SIGNED_SALT - 1) / 2];
    eg_random(salt, sizeof salt);
    eg_hex_print(salt, sizeof salt, h->salt);
    return eg_keys_load(h->how.keys, h->n_devices, h->keys);
}

/* Said at the start: whom nobody can be yet. */
static void https_count_keys(eg_https *h)
{
    int64_t n = 0, first = -1;
    for (int64_t i = h->n_devices; i-- > 0;)
        if (eg_key_kind_of(h->keys[i]) == EG_KEY_NONE) {
            first = i;
            n++;
        }
    if (n > 0)
        eg_https_say(h,
                     "%s has no key of client %lld%s: engram enrol lets devices in while the "
                     "run goes on",
                     h->how.keys, (long long)first, n > 1 ? " and of others" : "");
}

/* "host:port", "[::1]:8443". */
static eg_status https_split(const char *address, char host[256], char port[16])
{
    const char *colon = strrchr(address, ':');
    size_t n = colon ? (size_t)(colon - address) : 0;
    bool bracket = n > 1 && *address == '[' && address[n - 1] == ']';
    if (n == 0 || n > 255 || !colon[1] || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return eg_fail(EG_EINVAL, "'%.200s' is no address such as 127.0.0.1:8443", address);
    snprintf(host, 256, "%.*s", (int)(n - 2 * bracket), address + bracket);
    snprintf(port, 16, "%s", colon + 1);
    return EG_OK;
}

static eg_status https_pem(const char *path, char **out)
{
    unsigned char *bytes;
    size_t n;
    EG_TRY(eg_file_read(path, HTTPS_PEM, &bytes, &n));
    *out = (char *)bytes;
    return EG_OK;
}

/* What devices are told of the run, as a page. They have the first model from the server: a
 * file that it was taken from is the server's own, and only its checksum is told. */
static eg_status https_experiment(const eg_https *h, eg_experiment **out)
{
    static const char *const none = "model.weights=";
    eg_experiment_file *file;
    EG_TRY(eg_experiment_parse("the configuration", h->site.e->resolved, &file));
    eg_status s =
        eg_experiment_file_resolve(file, NULL, *h->site.e->start.weights != 0, &none, out);
    eg_experiment_file_free(file);
    return s;
}

/* Where each tensor stands in the flat vectors that messages carry. */
static eg_status https_list_tensors(const eg_params *p, eg_json *to)
{
    size_t frozen = 0;
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        const char *in = t->frozen ? "frozen" : t->trained ? "param" : "state";
        size_t at = t->frozen ? frozen : t->offset;
        frozen += t->frozen ? t->size : 0;
        eg_json *one = eg_json_object(), *shape = eg_json_array();
        EG_TRY(eg_json_add(to, one));
        EG_TRY(eg_json_set(one, "name", eg_json_of_text(t->name)));
        EG_TRY(eg_json_set(one, "in", eg_json_of_text(in)));
        EG_TRY(eg_json_set(one, "offset", eg_json_of_int((int64_t)at)));
        EG_TRY(eg_json_set(one, "shape", shape));
        for (int k = 0; k < t->shape.rank; k++)
            EG_TRY(eg_json_add(shape, eg_json_of_int(t->shape.dim[k])));
    }
    return EG_OK;
}

/* What is frozen, if anything is: its checksum now, and the values to whoever asks. */
static eg_status https_fill_frozen(eg_https *h, eg_json *to)
{
    const eg_params *p = eg_net_params(h->site.net);
    char digest[EG_FROZEN_DIGEST];
    unsigned char *bytes;
    size_t n;
    if (eg_frozen_length(p) == 0)
        return EG_OK;
    EG_TRY(eg_frozen_pack(p, &bytes, &n, digest));
    EG_TRY(eg_http_page_new(bytes, n, &h->frozen));
    return eg_json_set(to, "frozen", eg_json_of_text(digest));
}

static eg_status https_fill_welcome(eg_https *h, eg_json *to)
{
    eg_experiment *e;
    EG_TRY(eg_hello_put(&h->mine, to));
    EG_TRY(https_experiment(h, &e));
    eg_status s = eg_json_set(to, "run", eg_json_of_text(e->sha256));
    if (s == EG_OK)
        s = eg_json_set(to, "config", eg_json_of_text(e->resolved));
    eg_experiment_free(e);
    EG_TRY(s);
    EG_TRY(https_fill_frozen(h, to));
    eg_json *tensors = eg_json_array();
    EG_TRY(eg_json_set(to, "tensors", tensors));
    EG_TRY(https_list_tensors(eg_net_params(h->site.net), tensors));
    EG_TRY(eg_json_set(to, "seed", eg_json_of_int((int64_t)h->site.seed)));
    return eg_json_set(to, "patience", eg_json_of_real(eg_https_patience(h)));
}

static eg_status https_welcome(eg_https *h)
{
    char *text;
    size_t n;
    EG_TRY(eg_hello_fill(&h->site, h->how.own_data, &h->mine));
    eg_json *json = eg_json_object();
    if (!json)
        return EG_ENOMEM;
    eg_status s = https_fill_welcome(h, json);
    if (s == EG_OK)
        s = eg_json_print(json, 0, &text, &n);
    eg_json_free(json);
    EG_TRY(s);
    return eg_http_page_new((unsigned char *)text, n, &h->welcome);
}

/* How long a device's question waits: so short that who only waits is not taken for gone. */
static double https_wait_seconds(const eg_https *h)
{
    double quarter = eg_https_patience(h) / 4;
    return quarter < HTTPS_WAIT ? quarter : HTTPS_WAIT;
}

/* The texts of the certificate and its key, which free() ends. */
static eg_status https_read_pems(const eg_https *h, char **certificate, char **secret)
{
    *secret = NULL;
    EG_TRY(https_pem(h->how.certificate, certificate));
    eg_status s = https_pem(h->how.secret, secret);
    if (s != EG_OK) {
        free(*certificate);
        *certificate = NULL;
    }
    return s;
}

eg_status eg_https_renew_certificate(eg_https *h)
{
    char *certificate, *secret;
    if (!h->how.certificate)
        return EG_OK;
    EG_TRY(https_read_pems(h, &certificate, &secret));
    eg_status s = eg_http_server_renew(h->server, certificate, secret);
    free(certificate);
    free(secret);
    return s;
}

eg_status eg_https_serve(eg_https *h, const eg_http_listen *how, const char *address,
                         eg_http_server **out, char url[320])
{
    char host[256], port[16];
    char *certificate = NULL, *secret = NULL;
    eg_http_listen all = *how;
    EG_TRY(https_split(address, host, port));
    bool safe = h->how.certificate && h->how.secret;
    if (!safe && !eg_http_is_loopback(host))
        return eg_fail(EG_EINVAL,
                       "%s: other machines reach a server by TLS alone, which takes a "
                       "certificate and its key",
                       address);
    eg_status s = safe ? https_read_pems(h, &certificate, &secret) : EG_OK;
    all.host = host, all.port = port, all.certificate = certificate, all.secret = secret;
    if (s == EG_OK)
        s = eg_http_server_new(&all, out);
    free(certificate);
    free(secret);
    EG_TRY(s);
    snprintf(url, 320, strchr(host, ':') ? "%s://[%s]:%d" : "%s://%s:%d",
             safe ? "https" : "http", host, eg_http_server_port(*out));
    return EG_OK;
}

static eg_status https_listen(eg_https *h)
{
    char url[320];
    EG_TRY(eg_https_serve(h,
                          &(eg_http_listen){.spool = h->spool,
                                            .wait = https_wait_seconds(h),
                                            .connections = h->how.connections,
                                            .handle = eg_https_answer,
                                            .ended = eg_https_ended,
                                            .strange = eg_https_strange,
                                            .context = h},
                          h->how.address, &h->server, url));
    EG_TRY(eg_https_desk_open(h));
    if (h->how.ready)
        h->how.ready(h->how.context, url);
    return EG_OK;
}

/* A device has up to two connections: it asks, and says that it is still at work. */
static void https_count_files(eg_https *h)
{
    int most = h->how.connections > 0 ? h->how.connections : eg_http_open_files();
    if (2 * h->n_devices > most)
        eg_https_say(h,
                     "the limit of open files allows %d connections, and %lld devices may want "
                     "%lld: raise it (ulimit -Hn), else some wait for others",
                     most, (long long)h->n_devices, 2 * (long long)h->n_devices);
}

eg_status eg_https_meet(void *self, bool *served)
{
    eg_https *h = self;
    *served = false;
    EG_TRY(https_welcome(h));
    https_count_files(h);
    https_count_keys(h);
    EG_TRY(eg_https_reader_start(h));
    return https_listen(h);
}
