#!/usr/bin/env bash
# A server among devices that come and go, strangers that stay, and others that push: the run goes on, waits, or
# stops at a checkpoint, and ends with the bits of a run that nobody disturbed. $1: the build folder.
set -euo pipefail
engram=$1/engram
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
export ENGRAM_CHECKPOINT_SECONDS=0.05 TMPDIR=$work

fail() {
    echo "$1" >&2
    tail -n 5 ./*.log >&2 || true
    exit 1
}
cat >t.yaml <<'END'
name: t
data: {name: glyphs, train: 480, test: 120, classes: 4, size: 8, mean: 0.1, std: 0.3}
model: {name: mlp, depth: 1, width: 16}
scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 20, partition: iid}
memory: {kind: reservoir, size: 40}
train: {epochs: 1, batch: 8}
runs:
- {label: er, method: er}
END
sed 's/method: er/method: [er, fed-a-gem]/; s/label: er/label: gem/' t.yaml >gem.yaml
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/t-*/summary.json; }
lost() { grep -c '"event":"left_out"' "$1"/t-*/metrics.jsonl || true; }
rounds() { cat "$1"/t-*/metrics.jsonl 2>/dev/null | grep -c '"event":"round"' || true; }
# said WORDS FILE [LINES]: waits until the words are there, after so many lines.
said() {
    for _ in $(seq 600); do
        tail -n "+$((${3:-0} + 1))" "$2" | grep "$1" >/dev/null && return 0
        sleep 0.1
    done
    fail "not said in $2: $1"
}
until_rounds() { until [ "$(rounds "$1")" -ge "$2" ]; do sleep 0.02; done; }

# serve OUT OPTION...: a server in the background; $server is its process, $url its address.
serve() {
    local out=$1
    shift
    : >"$out.log"
    ${limits:-} "$engram" serve "$@" --listen "127.0.0.1:${port:-0}" --out "$out" >"$out.log" 2>&1 &
    server=$!
    for _ in $(seq 1200); do
        url=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' "$out.log")
        [ -z "$url" ] || return 0
        kill -0 "$server" 2>/dev/null || fail "the server did not start: $(cat "$out.log")"
        sleep 0.05
    done
    fail "the server does not listen"
}
device() {
    local k=$1
    shift
    "$engram" join "$url" --client "$k" --key engram-keys.txt --state "$state/$k" --patience 20 "$@" >>"join$k.log" 2>&1 &
    device[k]=$!
}
devices() { for k in 0 1 2; do device "$k"; done; }
gone() { { kill -9 "$1" && wait "$1"; } 2>/dev/null || true; }
ended() { wait "$2" || fail "$1 ended with $?"; }
all_ended() {
    ended "the server" "$server"
    for k in 0 1 2; do ended "device $k" "${device[k]}"; done
}
declare -a device

"$engram" run t.yaml --quiet --out sim >/dev/null
want=$(hash sim)

# What is done to a run in its middle needs one that is still under way when this script has its turn.
long=(t.yaml --set scenario.rounds=150)
"$engram" run "${long[@]}" --quiet --out long >/dev/null

# All devices are away for longer than the server's patience: it waits, says so, and loses nobody.
state=a
serve outage "${long[@]}" --patience 1
devices
until_rounds outage 4
before=$(wc -l <outage.log)
for k in 0 1 2; do gone "${device[k]}"; done
said "0 of 1 devices are there, for" outage.log "$before"
n=$(rounds outage)
sleep 1
[ "$(rounds outage)" = "$n" ] || fail "rounds pass while nobody is there"
devices
all_ended
grep -q "devices are there again" outage.log || fail "the end of the wait is not said"
[ "$(lost outage)" -le 12 ] || fail "an outage costs more than the turns under way"

# As many as are asked for must be there; and a wait that is too long ends at a checkpoint.
state=b
serve least "${long[@]}" --patience 2 --at-least 3 --give-up 8
devices
until_rounds least 4
gone "${device[1]}"
code=0
wait "$server" || code=$?
[ "$code" = 1 ] && grep -q " of 3 devices were there for" least.log || fail "the wait has no end: $code"
port=${url##*:}
serve least --resume least/t-er-* --patience 20
device 1
all_ended
unset port
[ "$(lost least)" = 0 ] || fail "somebody was lost below --at-least"
[ "$(hash least)" = "$(hash long)" ] || fail "a wait changes the result"

# A file that the run starts from is the server's: devices have no such file, and the same bits.
state=g
cp sim/t-er-*/model.safetensors first.safetensors
"$engram" run t.yaml --quiet --out warm --set model.weights="$work/first.safetensors" >/dev/null
serve started t.yaml --set model.weights="$work/first.safetensors"
mv first.safetensors gone.safetensors
devices
all_ended
[ "$(hash started)" = "$(hash warm)" ] || fail "a start from a file is another on devices"
[ "$(hash started)" != "$want" ] || fail "the file was not taken"

# Strangers that hold connections open, under a limit of 200 files: the run has files for itself, and devices get in.
cat >strangers.py <<'END'
import socket, sys, time
host, port, n = "127.0.0.1", int(sys.argv[1]), int(sys.argv[2])
held = []
end = time.time() + float(sys.argv[3])
while time.time() < end:
    try:
        s = socket.create_connection((host, port), 1)
        s.setblocking(False)
        held.append(s)
    except OSError:
        time.sleep(0.02)
    if len(held) > n:
        held.pop(0).close()
END
state=c
limits="prlimit --nofile=200:200"
serve crowd t.yaml
unset limits
python3 strangers.py "${url##*:}" 300 60 &
strangers=$!
sleep 0.5
devices
all_ended
gone "$strangers"
[ "$(hash crowd)" = "$want" ] || fail "strangers change the result"

# More clients than there can be connections: said when the server starts.
limits="prlimit --nofile=160:160"
serve many t.yaml --set scenario.clients=60 --keys many-keys.txt
unset limits
said "the limit of open files allows 32 connections, and 60 devices may want 120" many.log
gone "$server"

# Requests that drip, wrong keys, bodies without end and two at once: each is ended, and costs nobody else anything.
cat >push.py <<'END'
import http.client, json, socket, sys, time
port, key = int(sys.argv[1]), sys.argv[2]
def ask(method, path, body=None, secret=key):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        c.request(method, "/engram/1" + path, body, {"Authorization": "Bearer " + secret})
        return c.getresponse().status
    except OSError: # it hung up before the body was sent
        return 0
    finally:
        c.close()
# Guessing becomes slow: ten guesses take longer than ten times the first.
begin = time.time(); assert ask("GET", "/turn?client=0", secret="x" * 64) == 401; one = time.time() - begin
begin = time.time()
for _ in range(7): assert ask("GET", "/turn?client=0", secret="x" * 64) == 401
assert time.time() - begin > 3, "guesses are as quick as ever"
# A hello is short, other routes have no body, and the length is said first.
assert ask("POST", "/hello?client=0", b"[" * 9000) in (413, 0)
assert ask("POST", "/turn?client=0", b"x") in (404, 413, 0)
assert ask("GET", "/turn?client=0", b"x") in (413, 428, 0)
assert ask("POST", "/hello?client=0", iter([b"a", b"b"])) in (411, 0)
# Two bodies of one device at a time are one too many.
head = "POST /engram/1/hello?client=0 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: 500\r\n\r\n" % key
def until(codes): # the server hears of the other connection when it has its turn
    end = time.time() + 60
    while (code := ask("POST", "/hello?client=0", b"{}")) not in codes:
        assert time.time() < end, code
        time.sleep(0.05)
a = socket.create_connection(("127.0.0.1", port)); a.sendall(head.encode() + b"{")
until((409, 0))
a.close()
until((400,))
END
state=d
serve push t.yaml --audit audit.jsonl
key=$(sed -n 's/^0 //p' engram-keys.txt)
python3 push.py "${url##*:}" "$key" >push.log 2>&1 || fail "pushing"
grep -q "127.0.0.1: 1 request with a wrong key" push.log || fail "wrong keys are not said"
devices
all_ended
[ "$(hash push)" = "$want" ] || fail "pushing changes the result"
python3 - <<'END' || fail "the audit log: $(cat audit.jsonl)"
import collections, json
lines = [json.loads(line) for line in open("audit.jsonl")]
n = collections.Counter(line["event"] for line in lines)
assert n["wrong_key"] == 8 and n["joined"] == 3, n
assert {line["client"] for line in lines if line["event"] == "joined"} == {0, 1, 2}
assert all(line["address"] == "127.0.0.1" for line in lines if line["event"] == "wrong_key")
assert all(line["time"][10] == "T" and line["time"].endswith("Z") for line in lines)
END

# A turn longer than the server's patience is not lost: the device says that it is at work. On a quick machine it
# takes more epochs.
took() { sed -n 's/.*"event":"round","round":1,.*"seconds":\([0-9]*\).*/\1/p' "$1"/t-*/metrics.jsonl | head -1; }
for epochs in 8000 40000 200000; do
    state=h$epochs
    serve "slow$epochs" t.yaml --set train.epochs=$epochs --set scenario.rounds=1 --patience 1.5
    devices
    all_ended
    [ "$(lost "slow$epochs")" = 0 ] || fail "a device at work is taken for gone"
    [ "$(took "slow$epochs")" -lt 2 ] || break
done
[ "$(took "slow$epochs")" -ge 2 ] || fail "the turns were too short to tell"

# What may leave a device can be said, and a method that takes more is refused by it.
state=i
serve takes gem.yaml
code=0
"$engram" join "$url" --client 0 --key engram-keys.txt --state i/0 --allow figures >allow.log 2>&1 || code=$?
[ "$code" = 1 ] && grep -q "method fed_a_gem takes vectors from a client" allow.log || fail "what is not allowed is taken: $code"
gone "$server"

# A second device with the number of one that is alive is refused in a sentence, and takes no turn from it.
# The run waits for a third one meanwhile.
state=e
serve twins t.yaml --at-least 3 --audit twins.jsonl
for k in 0 1; do device "$k"; done
said '"event":"joined","client":1' twins.jsonl
code=0
"$engram" join "$url" --client 1 --key engram-keys.txt --state other --patience 5 >twin.log 2>&1 || code=$?
[ "$code" = 1 ] && grep -q "another device is client 1" twin.log || fail "a second device with the number is taken: $code"
device 2
all_ended
grep -q "client 1: a second device wanted its number" twins.log || fail "the second device is not said"
[ "$(lost twins)" = 0 ] || fail "the second device took turns"

# A device that lost its disk begins anew once the first is given up.
state=f
serve disk "${long[@]}" --patience 2 --at-least 3 --audit disk.jsonl
devices
until_rounds disk 6
before=$(wc -l <disk.log)
gone "${device[2]}"
rm -rf f/2
said "2 of 3 devices are there, for" disk.log "$before"
device 2
all_ended
grep -q "its folder is new: it begins anew" join2.log || fail "a lost disk is not said"
grep -q "client 2: another device, or one with a new folder, takes over" disk.log || fail "who takes over is not said"
grep -q '"event":"took_over","client":2' disk.jsonl || fail "who takes over is not in the audit log"
[ "$(lost disk)" = 0 ] || fail "a device that lost its disk fails"

echo "fleet: outages, strangers, pushes, twins and a lost disk, with the bits of a run of its own: $want"
