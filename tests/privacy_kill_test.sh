#!/usr/bin/env bash
# A run with differential privacy, killed again and again: what was spent never falls, and is that of the rounds that were
# released, of which each kill can add one. KILLS says how often, if not six times. $1: the build folder.
set -euo pipefail
engram=$1/engram
kills=${KILLS:-6}
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
export ENGRAM_CHECKPOINT_SECONDS=0 # after each round, or a kill could add more of them
cat >t.yaml <<'END_OF_FILE'
name: t
data: {name: glyphs, train: 600, test: 60, classes: 4, size: 8}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 30, tasks: 1, rounds: 20, participation: 0.2, selection: poisson, partition: iid}
server: {weights: uniform}
dp: {clip: 0.5, sigma: 1.1, delta: 1e-5}
train: {epochs: 60, batch: 2}
runs:
- {label: all, method: fedavg}
END_OF_FILE
finished() { compgen -G "run/t-*/summary.json" >/dev/null; }
spent() { sed -n 's/.*"event":"note".*"name":"epsilon","value":\([0-9.e-]*\).*/\1/p' run/t-*/metrics.jsonl 2>/dev/null || true; }
killed=0
for _ in $(seq 200); do
    finished && break
    "$engram" run t.yaml --out run --quiet --resume --workers 1 >>run.log 2>&1 &
    pid=$!
    if [ "$killed" -lt "$kills" ]; then # in the round after next, at any of its moments
        aim=$(($(spent | wc -l) + 1 + RANDOM % 2))
        until [ "$(spent | wc -l)" -ge "$aim" ] || ! kill -0 $pid 2>/dev/null; do sleep "0.00$((RANDOM % 9 + 1))"; done
        { kill -9 $pid && killed=$((killed + 1)); } 2>/dev/null || true
    fi
    wait $pid 2>/dev/null || true
done
finished || { tail -n 5 run.log; echo "the run does not end"; exit 1; }
[ "$killed" -ge 1 ] || { echo "nothing was killed: the run is too short"; exit 1; }
[ "$(spent | wc -l)" = 20 ] || { echo "$(spent | wc -l) rounds say what was spent, not 20"; exit 1; }
spent | sort -g -c || { echo "epsilon falls"; exit 1; }
last=$(spent | tail -n 1)
for rounds in $(seq 20 $((20 + killed))); do
    "$engram" dp --q 0.2 --sigma 1.1 --rounds "$rounds" --delta 1e-5 >dp.out
    of=$(sed -n 's/^.*epsilon[^0-9]*\([0-9.]*\).*$/\1/p' dp.out | head -n 1)
    if awk -v a="$last" -v b="$of" 'BEGIN { exit !(a - b < 0.002 * b && b - a < 0.002 * b) }'; then
        echo "epsilon $last after $killed kills: that of $rounds rounds"
        exit 0
    fi
done
echo "epsilon $last is that of no number of rounds from 20 to $((20 + killed)): $(cat dp.out)"
exit 1
