#!/usr/bin/env bash
# The operator's address while a run goes on, the model for devices, and what it says of pictures. $1: the build folder.
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
scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 100000, partition: iid}
memory: {kind: reservoir, size: 40}
eval: {every: 1}
train: {epochs: 1, batch: 8}
runs:
- {label: er, method: er}
END_OF_FILE
said() { for _ in $(seq 1200); do grep -q "$1" "$2" && return 0; sleep 0.05; done; fail "not said in $2: $1"; }
serve() { # serve OUT OPTION...
    local out=$1
    shift
    : >"$out.log"
    "$engram" serve t.yaml "$@" --keys keys.txt --listen 127.0.0.1:0 --operator 127.0.0.1:0 --out "$out" >"$out.log" 2>&1 &
    server=$!
    said '^listening on' "$out.log"
    url=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' "$out.log")
    desk=$(sed -n "s/^the operator's page is at //p" "$out.log")
}
device() { "$engram" join "$url" --client "$1" --key keys.txt --state "s$url/$1" --patience 20 "${@:2}" >"join$1.log" 2>&1 & }

cat >look.py <<'END_OF_FILE'
import json, sys, time, urllib.error, urllib.request
desk, public, what = sys.argv[1], sys.argv[2], sys.argv[3]
base, token = desk.split("/#")
def ask(url, method="GET", headers={}):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, None, headers, method=method), timeout=30) as r:
            return r.status, r.headers.get("Content-Type"), r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, None, e.read().decode()
def event(after=None):
    code, kind, text = ask(base + "/events", headers={} if after is None else {"Last-Event-ID": str(after)})
    assert code == 200 and kind == "text/event-stream", (code, kind)
    lines = dict(line.split(": ", 1) for line in text.strip().split("\n"))
    return int(lines["id"]), json.loads(lines["data"])
if what == "waiting":
    code, _, text = ask(base + "/healthz"); assert code == 200 and text.startswith("waiting for devices"), text
    code, kind, text = ask(base + "/"); assert code == 200 and kind.startswith("text/html") and "EventSource" in text
    number, state = event(); assert state["waits"] and state["counts"]["awaited"] == 3, state
    for path in ("/events", "/history", "/metrics", "/healthz", "/stop", "/"): # nothing of it where devices ask
        assert ask(public + path)[0] == 404, path
    assert ask(base + "/engram/1/run")[0] == 404
    for key in ({}, {"Authorization": "Bearer " + "x" * 32}):
        code, _, text = ask(base + "/stop", "POST", key); assert code == 401 and "token" in text, (code, text)
    code, _, text = ask(base + "/deadline?number=30", "POST", {"Authorization": "Bearer " + token}); assert code == 200, text
    assert event()[1]["deadline"] == 30
    assert ask(base + "/deadline?number=x", "POST", {"Authorization": "Bearer " + token})[0] == 400
elif what == "running":
    number, state = event(); rounds = {state["round"]}
    while len(rounds) < 5: # the page moves without being loaded again
        number, state = event(number); rounds.add(state["round"])
    assert state["devices"][0]["answered"] > 0 and state["bytes_up"] > 0 and 0 <= state["accuracy"] <= 1, state
    code, kind, text = ask(base + "/metrics"); assert kind.startswith("text/plain")
    names = [line.split(" ")[0] for line in text.split("\n") if line and line[0] != "#"]
    assert len(names) == len(set(names)) and all(n.startswith("engram_") for n in names), names
    values = dict(line.rsplit(" ", 1) for line in text.split("\n") if line and line[0] != "#")
    assert float(values["engram_rounds"]) == 200000 and float(values["engram_answers_total"]) >= 3 * (max(rounds) - 1), values
    assert sum(float(v) for k, v in values.items() if k.startswith("engram_devices")) == 3
    assert ask(base + "/healthz")[2] == "ok\n"
    code, _, text = ask(base + "/history"); history = json.loads(text)["rounds"]; assert len(history) >= 5 and history[0]["round"] == 0
    code, _, text = ask(base + "/stop", "POST", {"Authorization": "Bearer " + token}); assert code == 200, text
END_OF_FILE

# The run has more rounds than it will ever get through: the operator ends it.
serve stopped --audit audit.jsonl
python3 look.py "$desk" "$url" waiting >look.log 2>&1 || fail "what an operator sees while the run waits"
for k in 0 1 2; do device $k; done
# The model while the run goes on: for who may take part, and for nobody else.
fetched() { timeout 60 "$engram" get "$url" --key "$1" --client 0 --patience 20 --out "$2" >get.log 2>&1; }
for _ in $(seq 600); do fetched keys.txt now.safetensors && break; sleep 0.1; done
[ -s now.safetensors ] || fail "no model while the run goes on"
printf '0 another-word-of-sixteen\n' >other.txt
chmod 600 other.txt
fetched other.txt stolen.st && fail "anybody has the model"
[ ! -e stolen.st ] || fail "anybody has the model"
python3 look.py "$desk" "$url" running >look.log 2>&1 || fail "what an operator sees of a run"
code=0
wait $server || code=$?
[ "$code" = 1 ] && [ -d stopped/t-*/checkpoint ] || fail "the operator's stop leaves no checkpoint: $code"
grep -q '"event":"stopped","why":"by the operator"' audit.jsonl || fail "the operator's stop is not in the audit log"
kill $(jobs -p) 2>/dev/null || true
wait || true

# When the run is over, its devices have its model.
serve whole --set scenario.rounds=10
for k in 0 1; do device $k; done
device 2 --model last.safetensors
wait $server || fail "the server ended with $?"
wait
cmp last.safetensors whole/t-*/model.safetensors || fail "the model at the end is another"

# What it says of pictures of other sizes, and of what is no picture.
python3 - <<'END_OF_FILE'
import struct, zlib
def png(path, rows, width):
    raw = b"".join(b"\0" + bytes(r) for r in rows)
    chunk = lambda t, d: struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(rows), 8, 0, 0, 0, 0))
                           + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))
png("white.png", [[255] * 8] * 8, 8)
png("large.png", [[(x * y) % 256 for x in range(40)] for y in range(30)], 40)
END_OF_FILE
"$engram" predict last.safetensors white.png large.png --top 4 --json >predict.log 2>&1 || fail "predict"
python3 - <<'END_OF_FILE' || fail "what predict says"
import json
rows = [json.loads(line) for line in open("predict.log")]
assert [r["image"] for r in rows] == ["white.png", "large.png"]
for r in rows:
    p = [t["probability"] for t in r["top"]]
    assert abs(sum(p) - 1) < 1e-4 and p == sorted(p, reverse=True) and r["class"] == r["top"][0]["class"], r
END_OF_FILE
"$engram" predict last.safetensors none.png >none.log 2>&1 && fail "a picture that is not there"
grep -q "none.png" none.log || fail "which picture is not there"
"$engram" predict last.safetensors t.yaml >none.log 2>&1 && fail "no picture"
grep -q "t.yaml" none.log || fail "which is no picture"

echo "operator: seen, stopped, counted; the model for devices alone"
