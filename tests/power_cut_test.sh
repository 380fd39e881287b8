#!/usr/bin/env bash
# A device loses its power at every call that changes its disk, from its start to the end of its turns: the next start goes on,
# and the run ends in the same bits. $1: the build folder.
set -euo pipefail
engram=$1/engram
[ ! -x "$1/small/engram" ] || engram=$1/small/engram # by the HTTP client of small machines
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "$1" >&2
    tail -n 5 ./*.log >&2 || true
    exit 1
}
cc -shared -fPIC -O1 -o preload.so "$root/tools/torture_preload.c" -ldl
cat >t.yaml <<'END'
name: t
data: {name: glyphs, train: 120, test: 40, classes: 4, size: 8}
model: {name: mlp, depth: 1, width: 16}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 150, partition: iid}
memory: {kind: reservoir, size: 20}
optimizer: {lr: 0.05, momentum: 0.5}
train: {epochs: 1, batch: 16, optimizer_state: keep}
runs:
- {label: er, method: er}
END
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/t-*/summary.json; }
join() { # join K WORD...
    local k=$1
    shift
    "$engram" join "$url" --client "$k" --key engram-keys.txt --state "state$k" --patience 60 --quiet "$@"
}
"$engram" run t.yaml --quiet --out sim >/dev/null
"$engram" serve t.yaml --listen 127.0.0.1:0 --out out --quiet --patience 60 >serve.log 2>&1 &
server=$!
for _ in $(seq 400); do
    url=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' serve.log)
    [ -z "$url" ] || break
    sleep 0.05
done
join 1 >one.log 2>&1 &
one=$!
# A start has some calls before its first turn, and each turn some: cuts at 1, 2, 3... meet every one of both.
cuts=0
for n in $(seq 45); do
    code=0
    { TORTURE="disk kill $n" LD_PRELOAD=$PWD/preload.so join 0 >zero.log 2>&1; } 2>/dev/null || code=$?
    kill -0 "$server" 2>/dev/null || break # the run was over first
    [ "$code" = 137 ] || fail "cut at call $n: exit $code, $(cat zero.log)"
    cuts=$n
done
[ "$cuts" -ge 30 ] || fail "only $cuts cuts: the run is too short"
join 0 >zero.log 2>&1 || fail "the device does not go on: $(cat zero.log)"
wait "$one" || fail "the other device ended with $?"
wait "$server" || fail "the server ended with $?"
[ "$(hash out)" = "$(hash sim)" ] || fail "other bits: $(hash out), not $(hash sim)"
echo "power cut: at each of the first $cuts calls that change the disk; the same bits"
