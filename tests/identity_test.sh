#!/usr/bin/env bash
# Who devices are: keys that sign, enrolment with a code while the run goes on, revocation, new certificates, and
# requests that were heard and are said again, by hand. $1: the build folder.
set -euo pipefail
engram=$1/engram
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
export TMPDIR=$work

fail() {
    echo "$1" >&2
    tail -n 5 ./*.log >&2 || true
    exit 1
}
cat >t.yaml <<'END_OF_FILE'
name: t
data: {name: glyphs, train: 480, test: 120, classes: 4, size: 8}
model: {name: mlp, depth: 1, width: 16}
scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 10, partition: iid}
memory: {kind: reservoir, size: 40}
train: {epochs: 1, batch: 8}
runs:
- {label: er, method: er}
END_OF_FILE
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/t-*/summary.json; }
said() { for _ in $(seq 1200); do grep -q "$1" "$2" && return 0; sleep 0.05; done; fail "not said in $2: $1"; }

certificate() { # certificate NAME: NAME.pem and NAME.key, for 127.0.0.1
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$1.key" -out "$1.pem" 2>/dev/null
}
serve() { # serve OUT FILE OPTION...
    local out=$1
    shift
    : >"$out.log"
    "$engram" serve "$@" --listen 127.0.0.1:0 --out "$out" >"$out.log" 2>&1 &
    server=$!
    said '^listening on' "$out.log"
    url=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' "$out.log")
}

"$engram" run t.yaml --quiet --out sim >/dev/null
want=$(hash sim)

# Client 0 has a word, client 1 a key that was entered, client 2 nothing yet.
printf '0 a-word-of-sixteen-or-more\n' >keys.txt
chmod 600 keys.txt
public=$("$engram" key new one.key --client 1)
[ "$(stat -c %a one.key)" = 600 ] || fail "others can read a new key"
! grep -q "${public#ed25519:}" one.key || fail "the secret file has the public key"
"$engram" key add keys.txt --client 1 --public "$public"
"$engram" key list keys.txt >list.log
grep -q '0  has a word' list.log && grep -q "1  signs      $public" list.log || fail "the list of keys"
certificate first
certificate second
cp first.pem now.pem
cp first.key now.key
serve served t.yaml --keys keys.txt --cert now.pem --cert-key now.key --audit audit.jsonl --at-least 3 --patience 20 \
    --set scenario.rounds=50
said "has no key of client 2: engram enrol" served.log
"$engram" join "$url" --client 0 --key keys.txt --ca first.pem --patience 20 --state d/0 >join0.log 2>&1 &
a=$!
"$engram" join "$url" --key one.key --ca first.pem --patience 20 --state d/1 >join1.log 2>&1 &
b=$!

# A third device enrols with a code while the run waits for it, and no second one with the same code.
code=$("$engram" enrol keys.txt)
[ "${code%%-*}" = 2 ] || fail "the code is for ${code%%-*}, not for the client without a key"
kill -HUP $server
said "keys and certificate were read again" served.log
if "$engram" join "$url" --enrol "2-0123456789abcdef012345" --key wrong.key --ca first.pem --patience 2 >wrong.log 2>&1; then fail "a wrong code is taken"; fi
grep -q "does not enrol this device: there is no such code" wrong.log || fail "what is wrong with the code is not said"
"$engram" join "$url" --enrol "$code" --key two.key --ca first.pem --patience 20 --state d/2 >join2.log 2>&1 &
c=$!
said "client 2: a device has enrolled" served.log
if "$engram" join "$url" --enrol "$code" --key thief.key --ca first.pem --patience 2 >thief.log 2>&1; then fail "a code is good twice"; fi
grep -q "client 2 has another key" thief.log || fail "the second use is not said"
grep -q '"event":"enrolled","client":2' audit.jsonl || fail "enrolling is not in the audit log"
wait $a && wait $b && wait $c && wait $server || fail "the run did not end well"
grep -q "is over: [1-9]" join2.log || fail "the third device took no turn"

# With all there from the start the bits are those of a run on one machine.
serve same t.yaml --keys keys.txt --cert now.pem --cert-key now.key --at-least 3
"$engram" join "$url" --client 0 --key keys.txt --ca first.pem --patience 20 --state e/0 >join0.log 2>&1 &
"$engram" join "$url" --key one.key --ca first.pem --patience 20 --state e/1 >join1.log 2>&1 &
"$engram" join "$url" --enrol "$code" --key two.key --ca first.pem --patience 20 --state e/2 >join2.log 2>&1 & # known already
wait $server || fail "the server ended with $?"
[ "$(hash same)" = "$want" ] || fail "signatures change the result"

# A request that was heard is not taken twice, nor when it is changed, nor after another start; a new certificate
# counts from the next connection on, and a key that was revoked is out at once.
cat >replay.py <<'END_OF_FILE'
import hashlib, http.client, json, ssl, sys
from subprocess import run
port, ca, keys = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def ask(method, path, proof=None, body=None):
    c = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=ssl.create_default_context(cafile=ca))
    c.request(method, "/engram/1" + path, body, {"Authorization": "Ed25519 " + proof} if proof else {})
    answer = c.getresponse()
    out = answer.status, answer.read().decode()
    c.close()
    return out
def digest(body): # as docs/protocol.md has it
    return hashlib.blake2b(len(body).to_bytes(8, "little") + body, digest_size=32, key=b"engram body").hexdigest()
def sign(text):
    seed = open("one.key").read().split(":")[1].strip()
    der = bytes.fromhex("302e020100300506032b657004220420" + seed)
    open("seed.der", "wb").write(der); open("text", "wb").write(text.encode())
    return run(["openssl", "pkeyutl", "-sign", "-inkey", "seed.der", "-keyform", "DER", "-rawin", "-in", "text"],
               check=True, capture_output=True).stdout.hex()
def proof(challenge, path, sequence, body=b"", method="GET", session=-1):
    text = f"engram request 1\n{method}\n/engram/1{path}\n1\n{session}\n-1\n{challenge['salt']}\n{sequence}\n{digest(body)}\n"
    return f"{challenge['salt']}:{sequence}:{digest(body)}:{sign(text)}"
code, text = ask("GET", "/challenge?client=1"); assert code == 200, text
challenge = json.loads(text); n = challenge["after"]
good = proof(challenge, "/run", n + 1)
code, text = ask("GET", "/run?client=1", good); assert code == 200 and "config" in text, (code, text)
code, text = ask("GET", "/run?client=1", good); assert code == 425 and "was there before" in text, (code, text)
code, text = ask("GET", "/run?client=1"); assert code == 401 and "not signed" in text, (code, text)
later = proof(challenge, "/run", n + 2)
code, text = ask("GET", "/run?client=1", later.replace(f":{n + 2}:", f":{n + 3}:")); assert code == 401, (code, text)
code, text = ask("GET", "/run?client=0", later); assert code == 401, (code, text)
code, text = ask("POST", "/hello?client=1", proof(challenge, "/hello", n + 3, b"{}", "POST"), b"{ }"); assert code == 400 and "changed" in text, (code, text)
other = dict(challenge, salt="0" * 32)
code, text = ask("GET", "/run?client=1", proof(other, "/run", n + 4)); assert code == 425 and "another start" in text, (code, text)
END_OF_FILE
serve replay t.yaml --keys keys.txt --cert now.pem --cert-key now.key --at-least 3 --audit replay.jsonl
port=${url##*:}
python3 replay.py "$port" first.pem keys.txt >replay.log 2>&1 || fail "replays"
grep -q '"event":"replayed","client":1' replay.jsonl || fail "a replay is not in the audit log"
"$engram" join "$url" --key one.key --ca first.pem --state f/1 --patience 1 >revoked.log 2>&1 &
b=$!
said '"event":"joined","client":1' replay.jsonl
cp second.pem now.pem
cp second.key now.key
"$engram" key revoke keys.txt --client 1
kill -HUP $server
said "client 1: its key was revoked" replay.log
if wait $b; then fail "a device whose key was revoked goes on"; fi
grep -q "the key of this client was revoked" revoked.log || fail "it is not said that the key was revoked"
grep -q '"event":"revoked","client":1' replay.jsonl || fail "revoking is not in the audit log"
if "$engram" join "$url" --key two.key --ca first.pem --state f/2 --patience 0.1 >old.log 2>&1; then fail "the old certificate is shown"; fi
"$engram" join "$url" --key two.key --ca second.pem --state f/2 --patience 60 >new.log 2>&1 &
said '"event":"joined","client":2' replay.jsonl # the new certificate is shown
cp first.pem now.pem # with the other's key: both stay as they were
kill -HUP $server
said "keys and certificate stay as they were: " replay.log

echo "identity: signed, enrolled, revoked; nothing heard is taken twice; the bits of a run of its own: $want"
