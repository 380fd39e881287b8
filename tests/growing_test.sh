#!/usr/bin/env bash
# Data of a device's own that grow while a run goes on, and a task that begins with them. $1: the build folder.
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
said() { for _ in $(seq 1200); do grep -q "$1" "$2" && return 0; sleep 0.05; done; fail "not said in $2: $1"; }
cat >data.py <<'END_OF_FILE'
import os, random, struct, sys
folder, n, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
def npy(path, kind, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path + ".new", "wb") as f:
        f.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data)
    os.rename(path + ".new", path)
os.makedirs(folder, exist_ok=True)
for split, rows in (("test", 20), ("train", n)):
    y = bytes(i % 2 for i in range(rows))
    x = bytes(random.randrange(100) + (100 if (k < 4) == (y[i] == 0) else 0) for i in range(rows) for k in range(8))
    npy(f"{folder}/y_{split}.npy", "|u1", f"({rows},)", y)
    npy(f"{folder}/x_{split}.npy", "|u1", f"({rows}, 8)", x)
END_OF_FILE
for who in server a b; do python3 data.py $who 40 7; done
cat >t.yaml <<'END_OF_FILE'
name: t
data: {name: npy, path: server, classes: 2}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 1, rounds: 100000, partition: iid}
train: {epochs: 1, batch: 10}
runs:
- {label: fl, method: fedavg}
END_OF_FILE
"$engram" serve t.yaml --own-data --keys keys.txt --listen 127.0.0.1:0 --operator 127.0.0.1:0 --out out >server.log 2>&1 &
server=$!
said '^listening on' server.log
url=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' server.log)
for k in a b; do
    "$engram" join "$url" --client $([ $k = a ] && echo 0 || echo 1) --key keys.txt --state s$k --own-data --set data=npy \
        --set data.path=$k --set data.classes=2 --patience 20 >$k.log 2>&1 &
done
samples() { sed -n 's/.*"event":"round",.*"samples":\([0-9]*\),.*/\1/p' out/t-*/metrics.jsonl | tail -n 1; }
for _ in $(seq 1200); do [ "$(samples 2>/dev/null)" = 80 ] && break; sleep 0.05; done
[ "$(samples)" = 80 ] || fail "the samples at first: $(samples)"
python3 data.py a 60 8
said "its data have 60 samples now, 40 before" a.log
for _ in $(seq 1200); do [ "$(samples)" = 100 ] && break; sleep 0.05; done
[ "$(samples)" = 100 ] || fail "the samples after that: $(samples)"
grep -q "its data have" b.log && fail "data that did not grow are taken in again"
# What cannot be read is said, and the device goes on with what it had.
echo "no array" >a/x_train.npy
said "the new data are not taken in" a.log
n=$(wc -l <out/t-*/metrics.jsonl)
for _ in $(seq 1200); do [ "$(wc -l <out/t-*/metrics.jsonl)" -gt $((n + 5)) ] && break; sleep 0.05; done
[ "$(samples)" = 100 ] || fail "a file that cannot be read costs the device its data: $(samples)"
python3 data.py a 70 9
said "its data have 70 samples now, 60 before" a.log
echo "growing: 40, 60 and 70 samples of one device, without a start anew"
