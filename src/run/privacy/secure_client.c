/* secure_client.c - a client's side of secure aggregation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whatever it is told may be a lie of the server's, or of another client's. The first is a
 * failure, with which the client forgets all secrets; the second costs the other one its place.
 */
#include "run/privacy/secure_client.h"
#include "run/privacy/masks.h"
#include "run/privacy/shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static eg_status client_find_itself(eg_secure_client *c, int64_t me)
{
    for (size_t i = 0; i < c->g.n; i++)
        if (c->g.clients[i] == me) {
            c->h.me = (uint32_t)i;
            return EG_OK;
        }
    return eg_fail(EG_EFORMAT, "the exchange is not with this client");
}

static eg_status client_knows(const eg_secure_client *c, const eg_secure_client_how *how,
                              size_t i, eg_secret out)
{
    if (how->member(how->context, c->g.clients[i], out))
        return EG_OK;
    return eg_fail(EG_ENOENT, "client %lld is not in the members file",
                   (long long)c->g.clients[i]);
}

/* All members of the exchange must be known before anything is drawn. */
static eg_status client_check_members(const eg_secure_client *c,
                                      const eg_secure_client_how *how)
{
    eg_secret public;
    for (size_t i = 0; i < c->g.n; i++)
        EG_TRY(client_knows(c, how, i, public));
    EG_TRY(client_knows(c, how, c->h.me, public));
    return eg_same(public, how->identity->public, EG_SECRET)
               ? EG_OK
               : eg_fail(EG_EINVAL, "the members file has another key for this client");
}

static eg_status client_draw(eg_secure_client *c, const eg_secure_client_how *how, eg_blob *out)
{
    eg_secret digest, mask_key;
    eg_secure_keys *keys;
    EG_TRY(eg_alloc(1, sizeof *keys, &keys));
    eg_random(c->h.seal_key, EG_SECRET);
    eg_scalar_random(c->h.b);
    eg_scalar_random(c->h.mask);
    eg_agree_public(c->h.seal_key, keys->seal);
    eg_secure_key_of(c->h.mask, mask_key);
    eg_agree_public(mask_key, keys->mask);
    eg_wipe(mask_key, sizeof mask_key);
    eg_secure_hash_b(&c->g, c->h.b, keys->hash);
    eg_secure_keys_digest(&c->g, c->h.me, keys, digest);
    eg_sign(how->identity, digest, EG_SECRET, keys->by);
    c->g.keys[c->h.me] = *keys;
    c->h.step = EG_SECURE_SHARES;
    *out = (eg_blob){(unsigned char *)keys, sizeof *keys};
    return EG_OK;
}

eg_status eg_secure_client_begin(const eg_secure_client_how *how, const void *in, size_t n,
                                 eg_secure_client **out, eg_blob *answer)
{
    eg_secure_client *c;
    *out = NULL;
    *answer = (eg_blob){0};
    EG_TRY(eg_alloc(1, sizeof *c, &c));
    eg_status s = eg_secure_group_take(&c->g, &how->of, in, n);
    if (s == EG_OK)
        s = eg_secure_client_alloc(c);
    if (s == EG_OK)
        s = client_find_itself(c, how->me);
    if (s == EG_OK)
        s = client_check_members(c, how);
    if (s == EG_OK)
        s = client_draw(c, how, answer);
    memcpy(c->h.magic, eg_secure_client_magic, sizeof c->h.magic);
    c->h.n = c->g.n;
    memcpy(c->h.setting, c->g.digest, EG_SECRET);
    if (s == EG_OK)
        *out = c;
    else
        eg_secure_client_free(c);
    return s;
}

/* A set that a message begins with; it moves on. */
static eg_status client_take_set(const eg_secure_client *c, const unsigned char **in, size_t *n,
                                 unsigned char *out)
{
    size_t bits = eg_secure_bits(c->g.n);
    if (*n < bits || !eg_secure_take_set(*in, c->g.n, out))
        return eg_fail(EG_EFORMAT, "a list of clients breaks off, or has one too many");
    *in += bits;
    *n -= bits;
    return EG_OK;
}

/* Enough to hide among, itself one of them, all of them of the set before. */
static eg_status client_check_set(const eg_secure_client *c, const unsigned char *set,
                                  const unsigned char *before)
{
    size_t there = eg_secure_count(set, c->g.n), least = eg_secure_threshold(c->g.n);
    if (there < least)
        return eg_fail(EG_EINVAL,
                       "the server goes on with %zu of %zu clients: at least %zu "
                       "are needed",
                       there, c->g.n, least);
    if (!set[c->h.me])
        return eg_fail(EG_EINVAL, "the server's list is without this client, and yet it asks");
    for (size_t i = 0; i < c->g.n; i++)
        if (set[i] && !before[i])
            return eg_fail(EG_EINVAL,
                           "the server's list has client %lld, which was not in the "
                           "step before",
                           (long long)c->g.clients[i]);
    return EG_OK;
}

/* --- Step 2. */

static eg_status client_take_keys(eg_secure_client *c, const eg_secure_client_how *how,
                                  const unsigned char *in, size_t n)
{
    eg_secure_group *g = &c->g;
    const eg_secure_keys mine = g->keys[c->h.me];
    eg_secret public, digest;
    EG_TRY(client_take_set(c, &in, &n, g->keyed));
    EG_TRY(client_check_set(c, g->keyed, g->keyed));
    if (n != eg_secure_count(g->keyed, g->n) * sizeof *g->keys)
        return eg_fail(EG_EFORMAT, "the keys of the others break off");
    for (size_t i = 0; i < g->n; i++) {
        if (!g->keyed[i])
            continue;
        memcpy(&g->keys[i], in, sizeof *g->keys);
        in += sizeof *g->keys;
    }
    EG_TRY(eg_secure_group_close(g));
    for (size_t i = 0; i < g->n; i++) { /* all are bound by the root, which the list has */
        if (!g->keyed[i] || !eg_secure_holds(g, i, c->h.me))
            continue;
        EG_TRY(client_knows(c, how, i, public));
        eg_secure_keys_digest(g, i, &g->keys[i], digest);
        if (!eg_is_signed(public, digest, EG_SECRET, g->keys[i].by))
            return eg_fail(EG_EINVAL,
                           "the keys that the server gives for client %lld were not "
                           "signed by it for this exchange",
                           (long long)g->clients[i]);
    }
    if (memcmp(&mine, &g->keys[c->h.me], sizeof mine) != 0)
        return eg_fail(EG_EINVAL, "the keys that the server gives for this client are not its");
    return EG_OK;
}

/* What is sealed from one for another, and the key for it: both are of the exchange. */
static void client_about(const eg_secure_client *c, size_t from, size_t to, eg_secret out)
{
    const eg_piece_of pieces[] = {{c->g.root, EG_SECRET},
                                  {&c->g.clients[from], sizeof *c->g.clients},
                                  {&c->g.clients[to], sizeof *c->g.clients}};
    eg_digest("engram seal", pieces, 3, out);
}

static eg_status client_seal_key(const eg_secure_client *c, size_t peer, eg_secret out)
{
    EG_TRY(eg_agree(c->h.seal_key, c->g.keys[peer].seal, out));
    const eg_piece_of pieces[] = {{c->g.digest, EG_SECRET}, {out, EG_SECRET}};
    eg_secret key;
    eg_digest("engram seal key", pieces, 2, key);
    memcpy(out, key, EG_SECRET);
    eg_wipe(key, sizeof key);
    return EG_OK;
}

static eg_status client_deal_to(const eg_secure_client *c, const eg_secure_client_how *how,
                                size_t v, const eg_secure_pair *shares, eg_secure_dealt *d)
{
    eg_secret key, about, digest;
    EG_TRY(client_seal_key(c, v, key));
    client_about(c, c->h.me, v, about);
    eg_seal(key, (eg_piece_of){about, EG_SECRET}, shares, sizeof *shares, d->sealed);
    eg_wipe(key, sizeof key);
    eg_secure_tag(&c->g, eg_secure_of_b, c->h.me, v, shares->b, d->tag_b);
    eg_secure_tag(&c->g, eg_secure_of_mask, c->h.me, v, shares->mask, d->tag_mask);
    eg_secure_dealt_digest(&c->g, c->h.me, v, d, digest);
    eg_sign(how->identity, digest, EG_SECRET, d->by);
    return EG_OK;
}

/* The holders of its secrets, itself among them; returns how many. */
static size_t client_holders(const eg_secure_client *c, uint32_t *places, size_t *numbers)
{
    size_t n = 0;
    for (size_t v = 0; v < c->g.n; v++)
        if (c->g.keyed[v] && eg_secure_holds(&c->g, c->h.me, v)) {
            numbers[n] = v;
            places[n++] = (uint32_t)v + 1;
        }
    return n;
}

static eg_status client_deal_all(const eg_secure_client *c, const eg_secure_client_how *how,
                                 uint32_t *places, size_t *numbers, eg_secret *shares,
                                 eg_blob *out)
{
    size_t n = client_holders(c, places, numbers), t = eg_secure_needed(&c->g);
    EG_TRY(eg_shares_deal(c->h.b, t, places, n, shares));
    EG_TRY(eg_shares_deal(c->h.mask, t, places, n, shares + c->g.n));
    EG_TRY(eg_alloc(n, sizeof(eg_secure_dealt), &out->bytes));
    out->n = n * sizeof(eg_secure_dealt);
    for (size_t i = 0; i < n; i++) {
        eg_secure_pair pair;
        eg_secure_dealt d;
        memcpy(pair.b, shares[i], EG_SECRET);
        memcpy(pair.mask, shares[c->g.n + i], EG_SECRET);
        eg_status s = client_deal_to(c, how, numbers[i], &pair, &d);
        eg_wipe(&pair, sizeof pair);
        EG_TRY(s);
        memcpy(out->bytes + i * sizeof d, &d, sizeof d);
    }
    return EG_OK;
}

static eg_status client_shares_step(eg_secure_client *c, const eg_secure_client_how *how,
                                    const unsigned char *in, size_t n, eg_blob *out)
{
    uint32_t *places = NULL;
    size_t *numbers = NULL;
    eg_secret *shares = NULL;
    EG_TRY(client_take_keys(c, how, in, n));
    eg_status s = eg_alloc(c->g.n, sizeof *places, &places);
    if (s == EG_OK)
        s = eg_alloc(c->g.n, sizeof *numbers, &numbers);
    if (s == EG_OK)
        s = eg_alloc(2 * c->g.n, sizeof *shares, &shares);
    if (s == EG_OK)
        s = client_deal_all(c, how, places, numbers, shares, out);
    if (shares)
        eg_wipe(shares, 2 * c->g.n * sizeof *shares);
    free(places);
    free(numbers);
    free(shares);
    return s;
}

/* --- Opened: what others dealt to it. */

/* False: the other one dealt nonsense, and signed it. A failure: what the server brings was
 * never dealt. */
static eg_status client_open_from(eg_secure_client *c, const eg_secure_client_how *how,
                                  size_t u, const eg_secure_dealt *d, bool *good)
{
    eg_secret public, digest, key, about;
    unsigned char tag_b[EG_SECURE_TAG], tag_mask[EG_SECURE_TAG];
    eg_secure_pair *pair = &c->shares[u];
    EG_TRY(client_knows(c, how, u, public));
    eg_secure_dealt_digest(&c->g, u, c->h.me, d, digest);
    if (!eg_is_signed(public, digest, EG_SECRET, d->by))
        return eg_fail(EG_EINVAL,
                       "what the server brings as the share of client %lld was not "
                       "dealt by it to this client",
                       (long long)c->g.clients[u]);
    *good = client_seal_key(c, u, key) == EG_OK;
    client_about(c, u, c->h.me, about);
    *good = *good && eg_unseal(key, (eg_piece_of){about, EG_SECRET}, d->sealed,
                               sizeof d->sealed, pair) == EG_OK;
    eg_wipe(key, sizeof key);
    *good = *good && eg_scalar_is(pair->b) && eg_scalar_is(pair->mask);
    eg_secure_tag(&c->g, eg_secure_of_b, u, c->h.me, pair->b, tag_b);
    eg_secure_tag(&c->g, eg_secure_of_mask, u, c->h.me, pair->mask, tag_mask);
    *good = *good && eg_same(tag_b, d->tag_b, sizeof tag_b) &&
            eg_same(tag_mask, d->tag_mask, sizeof tag_mask);
    return EG_OK;
}

/* The answer: those whose shares are nonsense. */
static eg_status client_opened_step(eg_secure_client *c, const eg_secure_client_how *how,
                                    const unsigned char *in, size_t n, eg_blob *out)
{
    unsigned char *bad = c->list; /* not in use yet */
    EG_TRY(client_take_set(c, &in, &n, c->opened));
    EG_TRY(client_check_set(c, c->opened, c->g.keyed));
    for (size_t u = 0; u < c->g.n; u++) {
        eg_secure_dealt d;
        bool good = false;
        bad[u] = 0;
        if (!c->opened[u] || !eg_secure_holds(&c->g, u, c->h.me))
            continue;
        if (n < sizeof d)
            return eg_fail(EG_EFORMAT, "the shares of the others break off");
        memcpy(&d, in, sizeof d);
        in += sizeof d, n -= sizeof d;
        EG_TRY(client_open_from(c, how, u, &d, &good));
        c->held[u] = good;
        bad[u] = !good;
    }
    if (n > 0)
        return eg_fail(EG_EFORMAT, "there are more shares than clients");
    *out = (eg_blob){.n = eg_secure_bits(c->g.n)};
    EG_TRY(eg_alloc(out->n, 1, &out->bytes));
    eg_secure_put_set(bad, c->g.n, out->bytes);
    return EG_OK;
}

/* --- Step 3. */

static eg_status client_masked_step(eg_secure_client *c, const unsigned char *in, size_t n)
{
    unsigned char *now = c->list; /* not in use yet */
    size_t holders = 0;
    EG_TRY(client_take_set(c, &in, &n, now));
    if (n > 0)
        return eg_fail(EG_EFORMAT, "a list of clients has more behind it");
    EG_TRY(client_check_set(c, now, c->opened));
    for (size_t u = 0; u < c->g.n; u++) {
        bool mine = now[u] && eg_secure_holds(&c->g, u, c->h.me);
        if (mine && !c->held[u])
            return eg_fail(EG_EINVAL,
                           "the server goes on with client %lld, whose shares are "
                           "nonsense",
                           (long long)c->g.clients[u]);
        holders += mine;
        c->held[u] = mine;
    }
    if (holders < eg_secure_needed(&c->g))
        return eg_fail(EG_EINVAL,
                       "of those who hold this client's shares %zu are left: at "
                       "least %zu are needed",
                       holders, eg_secure_needed(&c->g));
    memcpy(c->opened, now, c->g.n);
    c->h.must_mask = 1;
    return EG_OK;
}

eg_status eg_secure_client_mask(eg_secure_client *c, uint32_t *y, size_t n)
{
    eg_secret key, mine;
    if (!c->h.must_mask)
        return eg_fail(EG_EINVAL, "a vector is masked once, in its step");
    c->h.must_mask = 0;
    eg_secure_own_mask(&c->g, c->h.me, c->h.b, key);
    eg_mask_add(key, false, y, n);
    eg_secure_key_of(c->h.mask, mine);
    eg_status s = EG_OK;
    for (size_t u = 0; u < c->g.n && s == EG_OK; u++) {
        if (u == c->h.me || !c->held[u])
            continue;
        s = eg_secure_pair_mask(&c->g, c->h.me, u, mine, c->g.keys[u].mask, key);
        if (s == EG_OK)
            eg_mask_add(key, u < c->h.me, y, n);
    }
    eg_wipe(key, sizeof key);
    eg_wipe(mine, sizeof mine);
    return s;
}

/* --- Step 4. */

static eg_status client_check_step(eg_secure_client *c, const eg_secure_client_how *how,
                                   const unsigned char *in, size_t n, eg_blob *out)
{
    eg_secret digest;
    if (c->h.must_mask)
        return eg_fail(EG_EINVAL, "a list of those heard, before this client was");
    EG_TRY(client_take_set(c, &in, &n, c->list));
    if (n > 0)
        return eg_fail(EG_EFORMAT, "a list of clients has more behind it");
    EG_TRY(client_check_set(c, c->list, c->opened));
    eg_secure_list_digest(&c->g, c->opened, c->list, digest);
    *out = (eg_blob){.n = sizeof(eg_signature)};
    EG_TRY(eg_alloc(out->n, 1, &out->bytes));
    eg_sign(how->identity, digest, EG_SECRET, out->bytes);
    return EG_OK;
}

/* --- Step 5. */

/* Enough signed the list that this client signed. */
static eg_status client_check_signatures(const eg_secure_client *c,
                                         const eg_secure_client_how *how,
                                         const unsigned char *in, size_t n)
{
    size_t least = eg_secure_threshold(c->g.n), good = 0, bits = eg_secure_bits(c->g.n);
    const unsigned char *by = in, *end = in + n;
    eg_secret digest, public;
    if (n < bits)
        return eg_fail(EG_EFORMAT, "a list of those who signed breaks off");
    eg_secure_list_digest(&c->g, c->opened, c->list, digest);
    in += bits;
    for (size_t i = 0; i < c->g.n; i++) {
        if (!(by[i / 8] >> i % 8 & 1))
            continue;
        if (end - in < (ptrdiff_t)sizeof(eg_signature))
            return eg_fail(EG_EFORMAT, "the signatures break off");
        EG_TRY(client_knows(c, how, i, public));
        good += c->list[i] && eg_is_signed(public, digest, EG_SECRET, in);
        in += sizeof(eg_signature);
    }
    return good >= least ? EG_OK
                         : eg_fail(EG_EINVAL,
                                   "%zu clients signed the list that this client signed, and "
                                   "%zu are needed: the server shows others another one",
                                   good, least);
}

/* Nobody in the list may lose its mask's secret, nobody else its b. */
static eg_status client_check_wanted(const eg_secure_client *c, const unsigned char *of_b,
                                     const unsigned char *of_mask)
{
    for (size_t u = 0; u < c->g.n; u++) {
        const char *what = NULL;
        if (of_b[u] && of_mask[u])
            what = "both shares of client %lld, which would bare its vector";
        else if (of_b[u] && !c->list[u])
            what = "the share of b of client %lld, which is not in the list";
        else if (of_mask[u] && c->list[u])
            what = "the share of the mask of client %lld, which is in the list";
        else if (of_mask[u] && !c->opened[u])
            what = "a share of client %lld, which is not in the exchange";
        if (what) {
            char sentence[128];
            snprintf(sentence, sizeof sentence, what, (long long)c->g.clients[u]);
            return eg_fail(EG_EINVAL, "the server wants %s", sentence);
        }
    }
    return EG_OK;
}

static eg_status client_give(const eg_secure_client *c, const unsigned char *of_b,
                             const unsigned char *of_mask, eg_blob *out)
{
    EG_TRY(eg_alloc(c->g.n, EG_SECRET, &out->bytes));
    for (size_t u = 0; u < c->g.n; u++) {
        if (!c->held[u] || (!of_b[u] && !of_mask[u]))
            continue;
        memcpy(out->bytes + out->n, of_b[u] ? c->shares[u].b : c->shares[u].mask, EG_SECRET);
        out->n += EG_SECRET;
    }
    return EG_OK;
}

static eg_status client_unmask_step(eg_secure_client *c, const eg_secure_client_how *how,
                                    const unsigned char *in, size_t n, eg_blob *out)
{
    unsigned char *wanted;
    EG_TRY(eg_alloc(c->g.n, 2, &wanted));
    unsigned char *of_b = wanted, *of_mask = wanted + c->g.n;
    eg_status s = client_take_set(c, &in, &n, of_b);
    if (s == EG_OK)
        s = client_take_set(c, &in, &n, of_mask);
    if (s == EG_OK)
        s = client_check_wanted(c, of_b, of_mask);
    if (s == EG_OK)
        s = client_check_signatures(c, how, in, n);
    if (s == EG_OK)
        s = client_give(c, of_b, of_mask, out);
    free(wanted);
    return s;
}

static eg_status client_hear(eg_secure_client *c, const eg_secure_client_how *how,
                             eg_secure_step step, const void *in, size_t n, eg_blob *out)
{
    if (c->h.step == EG_SECURE_OVER)
        return eg_fail(EG_EINVAL, "this client's part in the exchange is over");
    if (step != c->h.step)
        return eg_fail(EG_EINVAL, "the server asks for the step '%s', and '%s' is next",
                       eg_secure_step_names[step], eg_secure_step_names[c->h.step]);
    if (step == EG_SECURE_SHARES)
        return client_shares_step(c, how, in, n, out);
    if (step == EG_SECURE_OPENED)
        return client_opened_step(c, how, in, n, out);
    if (step == EG_SECURE_MASKED)
        return client_masked_step(c, in, n);
    return step == EG_SECURE_CHECK ? client_check_step(c, how, in, n, out)
                                   : client_unmask_step(c, how, in, n, out);
}

eg_status eg_secure_client_hear(eg_secure_client *c, const eg_secure_client_how *how,
                                eg_secure_step step, const void *in, size_t n, eg_blob *out)
{
    *out = (eg_blob){0};
    eg_status s = client_hear(c, how, step, in, n, out);
    if (s == EG_OK) {
        c->h.step = step + 1;
        if (c->h.step == EG_SECURE_OVER)
            eg_secure_client_forget(c);
        return EG_OK;
    }
    if (out->bytes)
        eg_wipe(out->bytes, out->n);
    free(out->bytes);
    *out = (eg_blob){0};
    eg_secure_client_forget(c);
    return s;
}
