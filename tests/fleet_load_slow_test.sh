#!/usr/bin/env bash
# Many devices of one process: thousands that poll over TLS in little memory, and 200 that take a second for a turn. $1: the build folder.
set -euo pipefail
engram=$1/engram
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
export TMPDIR=$work
ulimit -n "$(ulimit -Hn)"

fail() {
    echo "$1" >&2
    tail -n 5 ./*.log >&2 || true
    exit 1
}
n=$(($(ulimit -n) / 2 - 500))
n=$((n > 10000 ? 10000 : n))
cat >t.yaml <<END_OF_FILE
name: t
data: {name: glyphs, train: 20000, test: 100, classes: 4, size: 8}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: $n, tasks: 1, rounds: 1000, partition: iid}
train: {epochs: 1, batch: 8}
runs:
- {label: fl, method: fedavg}
END_OF_FILE
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=a -addext subjectAltName=IP:127.0.0.1 \
    -keyout k.pem -out c.pem 2>/dev/null
serve() { # serve OUT OPTION...
    local out=$1
    shift
    "$engram" serve t.yaml --keys keys.txt "$@" --listen 127.0.0.1:0 --out "$out" >"$out.log" 2>&1 &
    server=$!
    for _ in $(seq 600); do grep -q '^listening' "$out.log" && break; sleep 0.1; done
    url=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' "$out.log")
}

# One is missing, so that the others only poll.
serve poll --cert c.pem --cert-key k.pem
timeout 300 python3 "$here/load.py" "$url" keys.txt $((n - 1)) 90 c.pem >poll.json 2>load.log || fail "the devices"
memory=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$server/status")
{ kill -9 $server && wait $server; } 2>/dev/null || true
grep -q "\"devices\": $((n - 1))," poll.json || fail "not all came: $(cat poll.json)"
[ "$memory" -lt 1000000 ] || fail "$n devices take $memory kB"

# All at once, each for a second.
serve second --set scenario.clients=200 --keys second.txt
LOAD_WAIT=1 timeout 60 python3 "$here/load.py" "$url" second.txt 200 20 >second.json 2>load.log || fail "200 devices"
{ kill -9 $server && wait $server; } 2>/dev/null || true
python3 - <<'END_OF_FILE' || fail "rounds of 200 devices"
import glob, json, statistics
events = [json.loads(line) for line in open(glob.glob("second/t-*/metrics.jsonl")[0])]
seconds = [e["seconds"] for e in events if e.get("event") == "round"]
assert len(seconds) >= 5 and statistics.median(seconds) < 1.3, seconds
assert not any(e.get("event") == "left_out" for e in events)
print(f"rounds of 200 devices of a second: {statistics.median(seconds):.2f} s")
END_OF_FILE
echo "load: $n devices over TLS in $((memory / 1000)) MB"
