/* secure_server.c - the server's side of secure aggregation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It passes messages on, adds masked vectors as they come, and takes the masks off the sum. A
 * client that says what cannot be is left out; what is kept of each is small and independent of
 * the vectors' length.
 */
#include "run/privacy/masks.h"
#include "run/privacy/secure_group.h"
#include "run/privacy/shares.h"

#include <stdlib.h>
#include <string.h>

struct eg_secure_server {
    eg_secure_group g;
    eg_secure_member member;
    const void *context;
    eg_blob setting;
    size_t length;
    uint32_t *sum;                        /* [length] */
    unsigned char *in[EG_SECURE_N_STEPS]; /* [n]: those who answered each step */
    eg_blob *dealt;                       /* [n]: eg_secure_dealt for each holder, in order */
    unsigned char **bad;                  /* [n]: whose shares each found bad; NULL: nobody's */
    eg_signature *signatures;             /* [n]: of the list */
    eg_blob *given;                       /* [n]: shares from each */
    bool over;                            /* the sum is without masks */
};

static size_t server_count(const eg_secure_server *s, eg_secure_step step)
{
    return eg_secure_count(s->in[step], s->g.n);
}

static eg_status server_fill(eg_secure_server *s, const eg_secure_server_how *how)
{
    size_t n = how->n;
    EG_TRY(eg_secure_group_put(&how->of, how->clients, n, &s->setting));
    EG_TRY(eg_secure_group_take(&s->g, &how->of, s->setting.bytes, s->setting.n));
    EG_TRY(eg_alloc(how->length, sizeof *s->sum, &s->sum));
    for (int i = 0; i < EG_SECURE_N_STEPS; i++)
        EG_TRY(eg_alloc(n, 1, &s->in[i]));
    EG_TRY(eg_alloc(n, sizeof *s->dealt, &s->dealt));
    EG_TRY(eg_alloc(n, sizeof *s->bad, &s->bad));
    EG_TRY(eg_alloc(n, sizeof *s->signatures, &s->signatures));
    return eg_alloc(n, sizeof *s->given, &s->given);
}

eg_status eg_secure_server_new(const eg_secure_server_how *how, eg_secure_server **out)
{
    eg_secure_server *s;
    *out = NULL;
    if (how->n < EG_SECURE_LEAST || how->n > EG_SECURE_MOST)
        return eg_fail(EG_EINVAL, "%zu clients cannot hide in a sum: from %d to %d can", how->n,
                       EG_SECURE_LEAST, EG_SECURE_MOST);
    EG_TRY(eg_alloc(1, sizeof *s, &s));
    s->member = how->member, s->context = how->context, s->length = how->length;
    eg_status status = server_fill(s, how);
    if (status == EG_OK)
        *out = s;
    else
        eg_secure_server_free(s);
    return status;
}

void eg_secure_server_free(eg_secure_server *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->g.n; i++) {
        if (s->dealt)
            free(s->dealt[i].bytes);
        if (s->bad)
            free(s->bad[i]);
        if (s->given && s->given[i].bytes)
            eg_wipe(s->given[i].bytes, s->given[i].n);
        if (s->given)
            free(s->given[i].bytes);
    }
    for (int i = 0; i < EG_SECURE_N_STEPS; i++)
        free(s->in[i]);
    free(s->dealt);
    free(s->bad);
    free(s->signatures);
    free(s->given);
    free(s->sum);
    free(s->setting.bytes);
    eg_secure_group_fini(&s->g);
    free(s);
}

bool eg_secure_server_asks(const eg_secure_server *s, eg_secure_step step, size_t i)
{
    return step == EG_SECURE_KEYS || s->in[step - 1][i];
}

bool eg_secure_server_counts(const eg_secure_server *s, size_t i)
{
    return s->over && s->in[EG_SECURE_MASKED][i];
}

const uint32_t *eg_secure_server_sum(const eg_secure_server *s)
{
    return s->over ? s->sum : NULL;
}

/* --- What clients are told. */

static eg_status server_tell_keys(const eg_secure_server *s, eg_blob *out)
{
    size_t bits = eg_secure_bits(s->g.n);
    out->n = bits + s->g.n_keyed * sizeof *s->g.keys;
    EG_TRY(eg_alloc(out->n, 1, &out->bytes));
    eg_secure_put_set(s->g.keyed, s->g.n, out->bytes);
    unsigned char *at = out->bytes + bits;
    for (size_t i = 0; i < s->g.n; i++)
        if (s->g.keyed[i]) {
            memcpy(at, &s->g.keys[i], sizeof *s->g.keys);
            at += sizeof *s->g.keys;
        }
    return EG_OK;
}

/* Where what u dealt to v stands among all it dealt. */
static size_t server_slot(const eg_secure_server *s, size_t u, size_t v)
{
    size_t at = 0;
    for (size_t i = 0; i < v; i++)
        at += s->g.keyed[i] && eg_secure_holds(&s->g, u, i);
    return at;
}

static void server_dealt(const eg_secure_server *s, size_t u, size_t v, eg_secure_dealt *out)
{
    memcpy(out, s->dealt[u].bytes + server_slot(s, u, v) * sizeof *out, sizeof *out);
}

static eg_status server_tell_shares(const eg_secure_server *s, size_t v, eg_blob *out)
{
    size_t bits = eg_secure_bits(s->g.n);
    const unsigned char *there = s->in[EG_SECURE_SHARES];
    EG_TRY(eg_alloc(bits + s->g.n * sizeof(eg_secure_dealt), 1, &out->bytes));
    eg_secure_put_set(there, s->g.n, out->bytes);
    out->n = bits;
    for (size_t u = 0; u < s->g.n; u++) {
        eg_secure_dealt d;
        if (!there[u] || !eg_secure_holds(&s->g, u, v))
            continue;
        server_dealt(s, u, v, &d);
        memcpy(out->bytes + out->n, &d, sizeof d);
        out->n += sizeof d;
    }
    return EG_OK;
}

static eg_status server_tell_set(const eg_secure_server *s, const unsigned char *set,
                                 eg_blob *out)
{
    out->n = eg_secure_bits(s->g.n);
    EG_TRY(eg_alloc(out->n, 1, &out->bytes));
    eg_secure_put_set(set, s->g.n, out->bytes);
    return EG_OK;
}

/* Those whose vectors came; those who are gone since they were opened; and who signed. */
static eg_status server_tell_unmask(const eg_secure_server *s, eg_blob *out)
{
    size_t n = s->g.n, bits = eg_secure_bits(n);
    const unsigned char *list = s->in[EG_SECURE_MASKED], *by = s->in[EG_SECURE_CHECK];
    EG_TRY(eg_alloc(3 * bits + n * sizeof(eg_signature), 1, &out->bytes));
    eg_secure_put_set(list, n, out->bytes);
    for (size_t i = 0; i < n; i++)
        if (s->in[EG_SECURE_OPENED][i] && !list[i])
            out->bytes[bits + i / 8] = (unsigned char)(out->bytes[bits + i / 8] | 1 << i % 8);
    eg_secure_put_set(by, n, out->bytes + 2 * bits);
    out->n = 3 * bits;
    for (size_t i = 0; i < n; i++)
        if (by[i]) {
            memcpy(out->bytes + out->n, s->signatures[i], sizeof(eg_signature));
            out->n += sizeof(eg_signature);
        }
    return EG_OK;
}

eg_status eg_secure_server_tell(const eg_secure_server *s, eg_secure_step step, size_t i,
                                eg_blob *out)
{
    *out = (eg_blob){0};
    switch (step) {
    case EG_SECURE_KEYS:
        out->n = s->setting.n;
        EG_TRY(eg_alloc(out->n, 1, &out->bytes));
        memcpy(out->bytes, s->setting.bytes, out->n);
        return EG_OK;
    case EG_SECURE_SHARES:
        return server_tell_keys(s, out);
    case EG_SECURE_OPENED:
        return server_tell_shares(s, i, out);
    case EG_SECURE_MASKED:
        return server_tell_set(s, s->in[EG_SECURE_OPENED], out);
    case EG_SECURE_CHECK:
        return server_tell_set(s, s->in[EG_SECURE_MASKED], out);
    default:
        return server_tell_unmask(s, out);
    }
}

/* --- What they answer. */

static eg_status server_public(const eg_secure_server *s, size_t i, eg_secret out)
{
    return s->member(s->context, s->g.clients[i], out)
               ? EG_OK
               : eg_fail(EG_ENOENT, "its identity is not known");
}

static eg_status server_hear_keys(eg_secure_server *s, size_t i, const void *in, size_t n)
{
    eg_secret public, digest;
    eg_secure_keys keys;
    if (n != sizeof keys)
        return eg_fail(EG_EFORMAT, "%zu bytes are no keys", n);
    memcpy(&keys, in, sizeof keys);
    EG_TRY(server_public(s, i, public));
    eg_secure_keys_digest(&s->g, i, &keys, digest);
    if (!eg_is_signed(public, digest, EG_SECRET, keys.by))
        return eg_fail(EG_EINVAL, "its keys are not signed by it");
    s->g.keys[i] = keys;
    return EG_OK;
}

static eg_status server_hear_shares(eg_secure_server *s, size_t u, const void *in, size_t n)
{
    eg_secret public, digest;
    const unsigned char *at = in;
    size_t holders = server_slot(s, u, s->g.n);
    if (n != holders * sizeof(eg_secure_dealt))
        return eg_fail(EG_EFORMAT, "%zu bytes are no shares for %zu", n, holders);
    EG_TRY(server_public(s, u, public));
    for (size_t v = 0; v < s->g.n; v++) {
        eg_secure_dealt d;
        if (!s->g.keyed[v] || !eg_secure_holds(&s->g, u, v))
            continue;
        memcpy(&d, at, sizeof d);
        at += sizeof d;
        eg_secure_dealt_digest(&s->g, u, v, &d, digest);
        if (!eg_is_signed(public, digest, EG_SECRET, d.by))
            return eg_fail(EG_EINVAL, "what it deals to client %lld is not signed by it",
                           (long long)s->g.clients[v]);
    }
    EG_TRY(eg_alloc(n, 1, &s->dealt[u].bytes));
    memcpy(s->dealt[u].bytes, in, n);
    s->dealt[u].n = n;
    return EG_OK;
}

static eg_status server_hear_opened(eg_secure_server *s, size_t i, const void *in, size_t n)
{
    unsigned char *bad;
    if (n != eg_secure_bits(s->g.n))
        return eg_fail(EG_EFORMAT, "%zu bytes are no list of clients", n);
    EG_TRY(eg_alloc(s->g.n, 1, &bad));
    if (!eg_secure_take_set(in, s->g.n, bad)) {
        free(bad);
        return eg_fail(EG_EFORMAT, "its list has one client too many");
    }
    s->bad[i] = bad;
    return EG_OK;
}

static eg_status server_hear_check(eg_secure_server *s, size_t i, const void *in, size_t n)
{
    eg_secret public, digest;
    if (n != sizeof(eg_signature))
        return eg_fail(EG_EFORMAT, "%zu bytes are no signature", n);
    EG_TRY(server_public(s, i, public));
    eg_secure_list_digest(&s->g, s->in[EG_SECURE_OPENED], s->in[EG_SECURE_MASKED], digest);
    if (!eg_is_signed(public, digest, EG_SECRET, in))
        return eg_fail(EG_EINVAL, "it did not sign the list");
    memcpy(s->signatures[i], in, sizeof(eg_signature));
    return EG_OK;
}

/* Whether the server wants v's share of u, in the order of the answer. */
static bool server_wants(const eg_secure_server *s, size_t u, size_t v)
{
    return s->in[EG_SECURE_OPENED][u] && eg_secure_holds(&s->g, u, v);
}

static eg_status server_hear_unmask(eg_secure_server *s, size_t v, const void *in, size_t n)
{
    size_t wanted = 0;
    for (size_t u = 0; u < s->g.n; u++)
        wanted += server_wants(s, u, v);
    if (n != wanted * EG_SECRET)
        return eg_fail(EG_EFORMAT, "%zu bytes are no %zu shares", n, wanted);
    EG_TRY(eg_alloc(n, 1, &s->given[v].bytes));
    memcpy(s->given[v].bytes, in, n);
    s->given[v].n = n;
    return EG_OK;
}

eg_status eg_secure_server_hear(eg_secure_server *s, eg_secure_step step, size_t i,
                                const void *in, size_t n)
{
    static eg_status (*const hear[])(eg_secure_server * s, size_t i, const void *in,
                                     size_t n) = {
        [EG_SECURE_KEYS] = server_hear_keys,     [EG_SECURE_SHARES] = server_hear_shares,
        [EG_SECURE_OPENED] = server_hear_opened, [EG_SECURE_CHECK] = server_hear_check,
        [EG_SECURE_UNMASK] = server_hear_unmask,
    };
    EG_ASSERT(step < EG_SECURE_N_STEPS && hear[step]);
    if (s->in[step][i] || !eg_secure_server_asks(s, step, i))
        return eg_fail(EG_EINVAL, "it was not asked");
    EG_TRY(hear[step](s, i, in, n));
    s->in[step][i] = 1;
    return EG_OK;
}

eg_status eg_secure_server_add(eg_secure_server *s, size_t i, const uint32_t *y, size_t n)
{
    if (s->in[EG_SECURE_MASKED][i] || !s->in[EG_SECURE_OPENED][i])
        return eg_fail(EG_EINVAL, "it was not asked");
    if (n != s->length)
        return eg_fail(EG_ESHAPE, "a vector of %zu numbers, not %zu", n, s->length);
    for (size_t k = 0; k < n; k++)
        s->sum[k] += y[k];
    s->in[EG_SECURE_MASKED][i] = 1;
    return EG_OK;
}

/* --- The end of a step. */

/* How many of those who are left client u quarrels with: twice, and one more if it is accused.
 */
static size_t server_quarrels(const eg_secure_server *s, size_t u)
{
    const unsigned char *in = s->in[EG_SECURE_OPENED];
    size_t count = 0, accused = 0;
    for (size_t v = 0; v < s->g.n && in[u]; v++) {
        if (!in[v] || !eg_secure_holds(&s->g, u, v))
            continue;
        count += 2 * (size_t)(s->bad[v][u] | s->bad[u][v]);
        accused |= s->bad[v][u];
    }
    return count + accused;
}

/* Who quarrels with most goes, until all are at peace; of two alike the one that is accused. So
 * one who dealt nonsense to all, or calls all liars, goes alone. */
static void server_part(eg_secure_server *s)
{
    size_t worst, most;
    do {
        worst = 0, most = 0;
        for (size_t u = 0; u < s->g.n; u++) {
            size_t quarrels = server_quarrels(s, u);
            if (quarrels > most)
                worst = u, most = quarrels;
        }
        if (most > 0)
            s->in[EG_SECURE_OPENED][worst] = 0;
    } while (most > 0);
}

/* A secret of u from the shares that are good, by their tags. */
static eg_status server_rebuild(const eg_secure_server *s, size_t u, bool of_b, eg_secret out)
{
    size_t t = eg_secure_needed(&s->g), got = 0;
    uint32_t *places = NULL;
    eg_secret *shares = NULL, *weights = NULL;
    EG_TRY(eg_alloc(t, sizeof *places, &places));
    eg_status status = eg_alloc(2 * t, sizeof *shares, &shares);
    weights = shares ? shares + t : NULL;
    for (size_t v = 0; shares && v < s->g.n && got < t && status == EG_OK; v++) {
        eg_secure_dealt d;
        unsigned char tag[EG_SECURE_TAG];
        if (!s->in[EG_SECURE_UNMASK][v] || !server_wants(s, u, v))
            continue;
        size_t at = 0;
        for (size_t i = 0; i < u; i++)
            at += server_wants(s, i, v);
        const unsigned char *share = s->given[v].bytes + at * EG_SECRET;
        server_dealt(s, u, v, &d);
        eg_secure_tag(&s->g, of_b ? eg_secure_of_b : eg_secure_of_mask, u, v, share, tag);
        if (!eg_same(tag, of_b ? d.tag_b : d.tag_mask, sizeof tag))
            continue;
        memcpy(shares[got], share, EG_SECRET);
        places[got++] = (uint32_t)v + 1;
    }
    if (status == EG_OK && got < t)
        status = eg_fail(EG_ENOTSUP,
                         "of client %lld there are %zu good shares, and %zu are "
                         "needed",
                         (long long)s->g.clients[u], got, t);
    if (status == EG_OK)
        status = eg_shares_weights(places, t, weights);
    if (status == EG_OK)
        eg_shares_join(weights, shares, t, out);
    if (shares)
        eg_wipe(shares, 2 * t * sizeof *shares);
    free(places);
    free(shares);
    return status;
}

static eg_status server_wrong_secret(const eg_secure_server *s, size_t u)
{
    return eg_fail(EG_ENOTSUP, "client %lld dealt shares of something else than it promised",
                   (long long)s->g.clients[u]);
}

/* Takes the own mask of u off the sum. */
static eg_status server_unmask_own(eg_secure_server *s, size_t u)
{
    eg_secret b, hash, key;
    EG_TRY(server_rebuild(s, u, true, b));
    eg_secure_hash_b(&s->g, b, hash);
    eg_secure_own_mask(&s->g, u, b, key);
    eg_wipe(b, sizeof b);
    if (!eg_same(hash, s->g.keys[u].hash, EG_SECRET))
        return server_wrong_secret(s, u);
    eg_mask_add(key, true, s->sum, s->length);
    return EG_OK;
}

/* Takes the masks off the sum that those in it share with u, who is gone. */
static eg_status server_unmask_pairs(eg_secure_server *s, size_t u)
{
    eg_secret scalar, mine, public, key;
    EG_TRY(server_rebuild(s, u, false, scalar));
    eg_secure_key_of(scalar, mine);
    eg_wipe(scalar, sizeof scalar);
    eg_agree_public(mine, public);
    eg_status status =
        eg_same(public, s->g.keys[u].mask, EG_SECRET) ? EG_OK : server_wrong_secret(s, u);
    for (size_t v = 0; v < s->g.n && status == EG_OK; v++) {
        if (!s->in[EG_SECURE_MASKED][v] || !eg_secure_holds(&s->g, u, v))
            continue;
        status = eg_secure_pair_mask(&s->g, u, v, mine, s->g.keys[v].mask, key);
        if (status == EG_OK) /* v added it if v < u */
            eg_mask_add(key, v < u, s->sum, s->length);
    }
    eg_wipe(mine, sizeof mine);
    return status;
}

static eg_status server_unmask(eg_secure_server *s)
{
    for (size_t u = 0; u < s->g.n; u++) {
        if (!s->in[EG_SECURE_OPENED][u])
            continue;
        EG_TRY(s->in[EG_SECURE_MASKED][u] ? server_unmask_own(s, u)
                                          : server_unmask_pairs(s, u));
    }
    s->over = true;
    return EG_OK;
}

eg_status eg_secure_server_close(eg_secure_server *s, eg_secure_step step)
{
    size_t least = eg_secure_threshold(s->g.n);
    if (step == EG_SECURE_OPENED)
        server_part(s);
    if (server_count(s, step) < least)
        return eg_fail(EG_ENOTSUP,
                       "%zu of %zu clients are left in the step '%s', and %zu are "
                       "needed",
                       server_count(s, step), s->g.n, eg_secure_step_names[step], least);
    if (step == EG_SECURE_KEYS) {
        memcpy(s->g.keyed, s->in[EG_SECURE_KEYS], s->g.n);
        return eg_secure_group_close(&s->g);
    }
    return step == EG_SECURE_UNMASK ? server_unmask(s) : EG_OK;
}
