/* ledger.h - the server's side of the store: who is at which version, by whole commits.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Owners keep their records themselves (records.h); the ledger has only their receipts. A turn
 * ends with a receipt that is entered. A commit brings the files of all versions entered to
 * disk and then makes them valid together, so that a crash at any moment leaves the last commit
 * whole: the files it names stay until the commit after it. In its folder, beside the owners'
 * files:
 *
 *   ledger.txt   the receipts: all of them as of some commit, then what each later one changed
 *
 * In memory an owner has 24 bytes. Several threads may enter and ask at once; a commit wants to
 * be alone.
 */
#ifndef EG_LEDGER_H
#define EG_LEDGER_H

#include "io/json.h"
#include "run/store/records.h"

typedef struct eg_ledger eg_ledger;

/* Opens the ledger in dir, which is made if it is not there. Without resume it must hold no
 * commit (EG_EINVAL). With resume it is as the last commit left it, or empty if there was none:
 * files of other versions are removed, and all that the commit refers to is read once and
 * compared with its checksums (EG_EFORMAT, naming the file). Free with
 * eg_ledger_free. */
eg_status eg_ledger_open(const char *dir, bool resume, eg_ledger **out);
/* The same where clients keep their files on machines of their own, and bring them to disk
 * before they answer: the ledger looks at the server's files alone. */
eg_status eg_ledger_open_apart(const char *dir, bool resume, eg_ledger **out);
void eg_ledger_free(eg_ledger *l); /* NULL is fine; what was not committed is lost */

/* The extra of the last commit; NULL if there was none. Borrowed until the next commit. */
const eg_json *eg_ledger_extra(const eg_ledger *l);

/* The receipt last entered for a client, or for the server (-1), and the version that the last
 * commit named; 0: none. That is what a turn must be told. */
eg_receipt eg_ledger_receipt(const eg_ledger *l, int64_t owner, int64_t *committed);

/* A turn is over, and this is its owner's receipt. EG_EINVAL: it says what cannot be, or is
 * older than the last, or is another one of the same version. */
eg_status eg_ledger_enter(eg_ledger *l, int64_t owner, const eg_receipt *r);

/* The owner's records as last entered: for the server itself, and where the owner is this
 * process too. Free with eg_records_free. */
eg_status eg_ledger_records(const eg_ledger *l, int64_t owner, eg_records **out);

/* Makes all that was entered valid, together with extra, an object which is copied. What it
 * costs follows what was entered, not how many owners there are. EG_EFORMAT: the file of a
 * receipt is missing or another. On failure the last commit stays valid, and it may be tried
 * again. */
eg_status eg_ledger_commit(eg_ledger *l, const eg_json *extra);

#endif
