#!/usr/bin/env bash
# Everything that happens to a fleet, at random moments: devices and server are killed, stand still for a while, and have
# full disks (on small file systems of their own, if this may mount them). Late answers count by their age. The run ends,
# and its log carries it out again to the same bits. HITS says how often, if not a hundred times. $1: the build folder.
set -euo pipefail
engram=$1/engram
hits=${HITS:-100}
work=$(mktemp -d)
mounts=()
clean() {
    kill -CONT $(jobs -p) 2>/dev/null || true
    kill -9 $(jobs -p) 2>/dev/null || true
    wait 2>/dev/null || true
    for m in "${mounts[@]}"; do umount "$m" || true; done
    rm -rf "$work"
}
trap clean EXIT
cd "$work"
export ENGRAM_CHECKPOINT_SECONDS=0.05 TMPDIR=$work
cat >t.yaml <<'END_OF_FILE'
name: t
data: {name: glyphs, train: 480, test: 60, classes: 4, size: 8, mean: 0.1, std: 0.3}
model: {name: mlp, depth: 1, width: 16}
scenario: {kind: class-incremental, clients: 4, tasks: 2, rounds: 5000, partition: iid}
memory: {kind: reservoir, size: 40}
server: {late: buffer}
eval: {every: task, samples: 60}
train: {epochs: 4, batch: 8}
runs:
- {label: all, method: [er, fed-a-gem]}
END_OF_FILE
small() { # FOLDER: a file system of a megabyte or two
    mkdir "$1"
    if mount -t tmpfs -o size=3m none "$1" 2>/dev/null; then mounts+=("$work/$1"); else full=; fi
}
full=yes
small out
for k in 0 1 2 3; do small "state$k"; done
port=$((20000 + RANDOM % 20000))
rounds() { grep -c '"event":"round"' out/t-*/metrics.jsonl 2>/dev/null || true; }
start_server() {
    "$engram" serve t.yaml --out out --quiet --resume --listen "127.0.0.1:$port" --patience 2 --deadline 0.5 --set "scenario.rounds=$n_rounds" >>server.log 2>&1 &
    server=$!
}
start_device() {
    "$engram" join "http://127.0.0.1:$port" --client "$1" --key engram-keys.txt --state "state$1" --quiet --patience 120 >>"device$1.log" 2>&1 &
    device[$1]=$!
}
gone() { { kill -9 "$1" && wait "$1"; } 2>/dev/null || true; }
finished() { compgen -G "out/t-*/summary.json" >/dev/null; }
alive() { kill -0 "$server" 2>/dev/null || finished || start_server; }
pause() { sleep "$((RANDOM % 2)).$((RANDOM % 10))"; }
n_rounds=${ROUNDS:-$((hits * 25))}
declare -a device
killed=0 servers=0 stopped=0 filled=0
start_server
until [ -s engram-keys.txt ]; do sleep 0.05; done
for k in 0 1 2 3; do start_device "$k"; done
for ((i = 0; i < hits; i++)); do
    finished && break
    sleep "0.$((RANDOM % 5))$((RANDOM % 10 + 1))"
    k=$((RANDOM % 4))
    case $((RANDOM % 8)) in
    0 | 1 | 2) gone "${device[k]}"; start_device "$k"; killed=$((killed + 1)) ;;
    3 | 4) kill -STOP "${device[k]}"; pause; kill -CONT "${device[k]}"; stopped=$((stopped + 1)) ;;
    5) kill -STOP "$server" 2>/dev/null || true; pause; kill -CONT "$server" 2>/dev/null || true; stopped=$((stopped + 1)) ;;
    6) gone "$server"; alive; servers=$((servers + 1)) ;;
    7)
        [ "$full" ] || continue
        at=$(echo "out state$k" | cut -d' ' -f$((RANDOM % 2 + 1)))
        head -c 3M /dev/zero >"$at/filler" 2>/dev/null || true
        pause
        rm -f "$at/filler"
        filled=$((filled + 1))
        ;;
    esac
    alive
    kill -0 "${device[k]}" 2>/dev/null || start_device "$k"
done
for _ in $(seq 3000); do
    finished && break
    alive
    for k in 0 1 2 3; do kill -0 "${device[k]}" 2>/dev/null || finished || start_device "$k"; done
    sleep 0.2
done
finished || { tail -n 3 ./*.log; echo "the run does not end: $(rounds) rounds"; exit 1; }
wait "$server" || true
count() { grep -c "\"event\":\"$1\"" out/t-*/metrics.jsonl || true; }
"$engram" run --replay out/t-* --out again --workers 2 >replay.log 2>&1 || { tail -n 5 replay.log; exit 1; }
grep -q "the replay has the same bits" replay.log || { echo "the replay says nothing"; exit 1; }
echo "$(rounds) rounds, of which devices were killed $killed times and the server $servers times, $stopped times somebody stood still, $filled disks were full: $(count left_out) left out, $(count late) late, $(count skipped) rounds skipped; the replay has the same bits"
