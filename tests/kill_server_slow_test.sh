#!/usr/bin/env bash
# Kills runs while their server works on the models that it was sent: in FedCIL's consolidation and in
# pFedGRP's search for personal weights, once in every round, on threads and on processes. Resumed,
# a run comes to the bits of one that was left alone. A kill counts if the log ends with what the
# last client noted: the clients' answers are in, and the round is not.
set -euo pipefail
engram=$1/engram
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cat >"$work/fedcil.yaml" <<'END_OF_FILE'
name: kill
data: {name: glyphs, train: 80, test: 20, classes: 4, size: 8, mean: 0.5, std: 0.5}
model: {name: acgan, width: 4}
scenario: {kind: class-incremental, clients: 4, tasks: 2, rounds: 2, partition: {kind: parts, classes: 1}}
optimizer: {name: adam, lr: 0.001, beta1: 0.5}
train: {steps: 3, batch: 8, optimizer_state: keep}
fedcil: {width: 4, steps: 800, lr: 0.001}
runs:
- {label: a, method: fedcil}
END_OF_FILE
cat >"$work/pfedgrp.yaml" <<'END_OF_FILE'
name: kill
data: {name: glyphs, train: 200, test: 40, classes: 4, size: 8, mean: 0.5, std: 0.5}
model: {name: layers, layers: [conv 8 k3, batch-norm, relu, pool 2, flatten]}
scenario: {kind: realtime, clients: 4, path: cycle, classes: 2, samples: 24, test: 5, rounds: 4, partition: types}
optimizer: {lr: 0.05, momentum: 0.9}
train: {epochs: 2, batch: 16}
pfedgrp: {epochs: 6, settings: width=4 lr=0.002 batch=8, trial: 40, tries: 30, server_epochs: 10000}
runs:
- {label: a, method: pfedgrp}
END_OF_FILE

hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/kill-a-s0-????????/summary.json; }
end_of_log() { tail -n 1 "$out"/kill-a-s0-????????/metrics.jsonl 2>/dev/null || true; }
# Whether the server has all that the clients sent in round $1, and is not done with it.
in_server() { end_of_log | grep -q "^{\"event\":\"note\",\"round\":$1,\"who\":3,"; }

# die MESSAGE
die() { echo "$1"; cat "$work/log"; exit 1; }

for method in fedcil pfedgrp; do
    # Not a function: a job in the background must be the program itself, to be killed.
    run=("$engram" run "$work/$method.yaml" --quiet)
    "${run[@]}" --out "$work/whole" --workers 2 >/dev/null
    want=$(hash "$work/whole")
    for how in "--workers 1" "--workers 2" "--workers 2 --transport processes"; do
        out=$work/killed inside=0
        read -ra words <<<"$how"
        # In every second kind of run a resumed one begins far back, not with the round it was killed in.
        export ENGRAM_CHECKPOINT_SECONDS=$([ "$how" = "--workers 2" ] && echo 5 || echo 0)
        resume=()
        for round in 1 2 3 4; do
            "${run[@]}" --out "$out" "${words[@]}" "${resume[@]}" >"$work/log" 2>&1 &
            until in_server "$round"; do
                kill -0 $! 2>/dev/null || die "$method $how ended before round $round"
                sleep 0.005
            done
            sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
            kill -9 $! 2>/dev/null || true # it may have ended already
            wait $! 2>/dev/null || true
            ! in_server "$round" || inside=$((inside + 1))
            resume=(--resume)
        done
        "${run[@]}" --out "$out" "${words[@]}" --resume >"$work/log" 2>&1 || die "$method $how does not resume"
        [ "$want" = "$(hash "$out")" ] || die "$method $how: the bits differ"
        for file in accuracy.csv generators.safetensors; do
            cmp "$work/whole"/kill-a-s0-????????/$file "$out"/kill-a-s0-????????/$file
        done
        [ "$inside" -ge 2 ] || die "$method $how: only $inside kills fell into the server's work"
        echo "$method $how: $inside of 4 kills fell into the server's work; the same bits: $want"
        rm -rf "$out"
    done
    rm -rf "$work/whole"
done
