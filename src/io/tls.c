/* tls.c - mbedTLS, the only file that uses it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/tls.h"

#include "io/file.h"
#include "io/http_url.h"
#include "io/sodium.h"

#include <errno.h>
#include <mbedtls/error.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { TLS_CA_FILE = 8 << 20, TLS_IP_NAME = MBEDTLS_ASN1_CONTEXT_SPECIFIC | 7 };

struct eg_tls {
    mbedtls_ssl_config config;
    mbedtls_x509_crt trusted;
    mbedtls_ssl_context session;
    int socket;
    char host[EG_HTTP_HOST];
    bool begun, agreed, blind;
};

/* Where systems keep who they trust. */
static const char *const tls_system[] = {"/etc/ssl/certs/ca-certificates.crt",
                                         "/etc/pki/tls/certs/ca-bundle.crt",
                                         "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"};

static int tls_random(void *unused, unsigned char *to, size_t n)
{
    (void)unused;
    eg_random(to, n);
    return 0;
}

static int tls_send(void *context, const unsigned char *bytes, size_t n)
{
    const eg_tls *t = context;
    ssize_t sent = send(t->socket, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0)
        return (int)sent;
    bool waits = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return waits ? MBEDTLS_ERR_SSL_WANT_WRITE : MBEDTLS_ERR_SSL_CONN_EOF;
}

static int tls_receive(void *context, unsigned char *to, size_t n)
{
    const eg_tls *t = context;
    ssize_t got = recv(t->socket, to, n, MSG_DONTWAIT);
    if (got >= 0)
        return (int)got;
    bool waits = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return waits ? MBEDTLS_ERR_SSL_WANT_READ : MBEDTLS_ERR_SSL_CONN_EOF;
}

static eg_status tls_fail(const char *what, int code)
{
    char why[160];
    mbedtls_strerror(code, why, sizeof why);
    return eg_fail(EG_EIO, "%s: %s", what, why);
}

/* Whether a file has somebody to trust in it; what else it has does not matter. */
static eg_status tls_read_trusted(eg_tls *t, const char *path)
{
    unsigned char *bytes;
    size_t n;
    EG_TRY(eg_file_read(path, TLS_CA_FILE, &bytes, &n));
    int code = mbedtls_x509_crt_parse(&t->trusted, bytes, n + 1);
    free(bytes);
    if (code < 0 || t->trusted.version == 0)
        return eg_fail(EG_EINVAL, "%s: there is no certificate in it", path);
    return EG_OK;
}

static eg_status tls_find_trusted(eg_tls *t)
{
    for (size_t i = 0; i < sizeof tls_system / sizeof *tls_system; i++)
        if (tls_read_trusted(t, tls_system[i]) == EG_OK)
            return EG_OK;
    return eg_fail(EG_EINVAL,
                   "this system trusts nobody (%s is not there): say who vouches for "
                   "the server's certificate",
                   tls_system[0]);
}

static eg_status tls_make(bool blind, eg_tls **out)
{
    eg_tls *t;
    EG_TRY(eg_alloc(1, sizeof *t, &t));
    mbedtls_ssl_config_init(&t->config);
    mbedtls_x509_crt_init(&t->trusted);
    mbedtls_ssl_init(&t->session);
    t->blind = blind;
    int code =
        mbedtls_ssl_config_defaults(&t->config, MBEDTLS_SSL_IS_CLIENT,
                                    MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
    mbedtls_ssl_conf_min_version(&t->config, MBEDTLS_SSL_MAJOR_VERSION_3,
                                 MBEDTLS_SSL_MINOR_VERSION_3); /* TLS 1.2 */
    mbedtls_ssl_conf_authmode(&t->config,
                              blind ? MBEDTLS_SSL_VERIFY_NONE : MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_rng(&t->config, tls_random, NULL);
    mbedtls_ssl_conf_ca_chain(&t->config, &t->trusted, NULL);
    *out = t;
    return code == 0 ? EG_OK : tls_fail("TLS", code);
}

eg_status eg_tls_new(const char *ca, eg_tls **out)
{
    eg_tls *t = NULL;
    *out = NULL;
    eg_status s = tls_make(false, &t);
    if (s == EG_OK)
        s = ca ? tls_read_trusted(t, ca) : tls_find_trusted(t);
    if (s == EG_OK)
        *out = t;
    else
        eg_tls_free(t);
    return s == EG_ENOENT ? EG_EINVAL : s;
}

eg_status eg_tls_new_blind(eg_tls **out)
{
    eg_tls *t = NULL;
    *out = NULL;
    eg_status s = tls_make(true, &t);
    if (s == EG_OK)
        *out = t;
    else
        eg_tls_free(t);
    return s;
}

void eg_tls_free(eg_tls *t)
{
    if (!t)
        return;
    mbedtls_ssl_free(&t->session);
    mbedtls_ssl_config_free(&t->config);
    mbedtls_x509_crt_free(&t->trusted);
    free(t);
}

eg_status eg_tls_begin(eg_tls *t, int socket, const char *host)
{
    unsigned char address[16];
    size_t n;
    mbedtls_ssl_free(&t->session);
    mbedtls_ssl_init(&t->session);
    t->socket = socket, t->agreed = false, t->begun = true;
    snprintf(t->host, sizeof t->host, "%s", host);
    int code = mbedtls_ssl_setup(&t->session, &t->config);
    if (code == 0 && !eg_http_is_address(host, address, &n)) /* an address is judged below */
        code = mbedtls_ssl_set_hostname(&t->session, host);
    mbedtls_ssl_set_bio(&t->session, t, tls_send, tls_receive, NULL);
    return code == 0 ? EG_OK : eg_fail(EG_ENOMEM, "no memory for a connection");
}

void eg_tls_end(eg_tls *t)
{
    if (t->begun && t->agreed)
        mbedtls_ssl_close_notify(&t->session);
    t->begun = false;
}

/* The commonest reasons, in words; the rest in the library's. */
static void tls_say_stranger(const eg_tls *t)
{
    char text[256] = "";
    uint32_t flags = mbedtls_ssl_get_verify_result(&t->session);
    if (flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED)
        eg_fail(EG_EINVAL, "nobody who is trusted vouches for the server's certificate");
    else if (flags & MBEDTLS_X509_BADCERT_CN_MISMATCH)
        eg_fail(EG_EINVAL, "the server's certificate is of another name than %.200s", t->host);
    else if (flags & MBEDTLS_X509_BADCERT_EXPIRED)
        eg_fail(EG_EINVAL, "the server's certificate has expired, if this machine's clock is "
                           "right");
    else if (flags & MBEDTLS_X509_BADCERT_FUTURE)
        eg_fail(EG_EINVAL, "the server's certificate is not valid yet: is this machine's clock "
                           "right?");
    else {
        mbedtls_x509_crt_verify_info(text, sizeof text, "", flags);
        text[strcspn(text, "\n")] = 0;
        eg_fail(EG_EINVAL, "the server's certificate is not taken: %s", text);
    }
}

/* What has no name must have its address in the certificate: the library compares names alone.
 */
static bool tls_is_address(const eg_tls *t)
{
    unsigned char address[16];
    size_t n;
    if (t->blind || !eg_http_is_address(t->host, address, &n))
        return true;
    const mbedtls_x509_crt *its = mbedtls_ssl_get_peer_cert(&t->session);
    for (const mbedtls_x509_sequence *s = its ? &its->subject_alt_names : NULL; s; s = s->next)
        if (s->buf.tag == TLS_IP_NAME && s->buf.len == n && memcmp(s->buf.p, address, n) == 0)
            return true;
    eg_fail(EG_EINVAL, "the server's certificate is not of the address %s", t->host);
    return false;
}

eg_tls_step eg_tls_shake(eg_tls *t)
{
    int code = mbedtls_ssl_handshake(&t->session);
    switch (code) {
    case 0:
        t->agreed = true;
        return tls_is_address(t) ? EG_TLS_DID : EG_TLS_STRANGER;
    case MBEDTLS_ERR_SSL_WANT_READ:
        return EG_TLS_WAITS_IN;
    case MBEDTLS_ERR_SSL_WANT_WRITE:
        return EG_TLS_WAITS_OUT;
    case MBEDTLS_ERR_SSL_CONN_EOF:
        return EG_TLS_ENDED;
    case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED:
        tls_say_stranger(t);
        return EG_TLS_STRANGER;
    case MBEDTLS_ERR_SSL_INVALID_RECORD:
        eg_fail(EG_EINVAL, "what listens there does not speak TLS; without it the address "
                           "begins with http://");
        return EG_TLS_STRANGER;
    default:
        tls_fail("TLS", code);
        return EG_TLS_FAILED;
    }
}

/* Of a call that moved `code` bytes, or did not. */
static eg_tls_step tls_moved(int code, size_t *done)
{
    *done = code > 0 ? (size_t)code : 0;
    if (code > 0)
        return EG_TLS_DID;
    switch (code) {
    case MBEDTLS_ERR_SSL_WANT_READ:
        return EG_TLS_WAITS_IN;
    case MBEDTLS_ERR_SSL_WANT_WRITE:
        return EG_TLS_WAITS_OUT;
    case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
        return EG_TLS_ENDED;
    case 0:
    case MBEDTLS_ERR_SSL_CONN_EOF: /* somebody may have cut it */
        eg_fail(EG_EIO, "the server hung up without a goodbye");
        return EG_TLS_FAILED;
    default:
        tls_fail("TLS", code);
        return EG_TLS_FAILED;
    }
}

eg_tls_step eg_tls_read(eg_tls *t, void *to, size_t n, size_t *done)
{
    return tls_moved(mbedtls_ssl_read(&t->session, to, n), done);
}

eg_tls_step eg_tls_write(eg_tls *t, const void *bytes, size_t n, size_t *done)
{
    return tls_moved(mbedtls_ssl_write(&t->session, bytes, n), done);
}
