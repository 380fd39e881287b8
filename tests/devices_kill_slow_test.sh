#!/usr/bin/env bash
# Kills a server and its devices at random moments, again and again, starts them anew, and compares
# the last bits with those of `engram run`. KILLS says how often, if not sixty times. $1: the build
# folder.
set -euo pipefail
engram=$1/engram
kills=${KILLS:-60}
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
cat >t.yaml <<'END'
name: t
data: {name: glyphs, train: 480, test: 60, classes: 4, size: 8, mean: 0.1, std: 0.3}
model: {name: mlp, depth: 1, width: 16}
scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 60, partition: iid}
memory: {kind: reservoir, size: 40}
optimizer: {lr: 0.1}
train: {epochs: 2, batch: 8}
re-fed: {size: 60, epochs: 2}
runs:
- {label: all, method: [er, re-fed, fed-a-gem]}
END
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/t-*/summary.json; }
"$engram" run t.yaml --quiet --out whole >/dev/null
want=$(hash whole)
port=$((20000 + RANDOM % 20000))
export ENGRAM_CHECKPOINT_SECONDS=0.05

# Not functions with commands around: a job must be the program itself, to be killed.
start_server() {
    "$engram" serve t.yaml --out "$out" --quiet --resume --listen "127.0.0.1:$port" >>server.log 2>&1 &
    server=$!
}
start_device() {
    "$engram" join "http://127.0.0.1:$port" --client "$1" --key engram-keys.txt --state "$out.device$1" \
        --quiet --patience 60 >>"device$1.log" 2>&1 &
    device[$1]=$!
}
killed=0 servers=0 finished=0
declare -a device
while [ "$killed" -lt "$kills" ]; do
    out=run$finished
    start_server
    until [ -s engram-keys.txt ]; do sleep 0.05; done
    for k in 0 1 2; do start_device "$k"; done
    while [ "$killed" -lt "$kills" ] && ! compgen -G "$out/t-*/summary.json" >/dev/null; do
        sleep "0.$((RANDOM % 3))$((RANDOM % 10 + 1))"
        victim=$((RANDOM % 4))
        if [ "$victim" = 3 ]; then
            { kill -9 "$server" && wait "$server"; } 2>/dev/null || true
            servers=$((servers + 1))
            compgen -G "$out/t-*/summary.json" >/dev/null || start_server
        else
            { kill -9 "${device[victim]}" && wait "${device[victim]}"; } 2>/dev/null || true
            start_device "$victim"
        fi
        killed=$((killed + 1))
    done
    for _ in $(seq 1200); do
        compgen -G "$out/t-*/summary.json" >/dev/null && break
        kill -0 "$server" 2>/dev/null || start_server
        sleep 0.1
    done
    [ "$(hash "$out")" = "$want" ] || { tail -n 3 ./*.log; echo "after $killed kills the bits differ"; exit 1; }
    { kill -9 "$server" "${device[@]}" && wait; } 2>/dev/null || true
    finished=$((finished + 1))
done
echo "killed $killed times, the server $servers times, in $finished runs; the same bits: $want"
