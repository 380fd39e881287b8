#!/usr/bin/env bash
# Kills ranks of runs under mpirun twenty times at random moments, rank 0 and others, resumes with
# another number of ranks, and compares the last bits with those of a run without mpirun. KILLS says
# how often, if not twenty times.
set -euo pipefail
build=$(cd "$1" && pwd)
command -v mpirun >/dev/null && [ -e "$build/engram_mpi.so" ] || exit 77
engram=$build/engram
kills=${KILLS:-20}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cat >"$work/kill.yaml" <<'END'
name: kill
data: {name: glyphs, train: 1200, test: 100}
model: cnn-small
scenario: {kind: class-incremental, clients: 6, tasks: 5, rounds: 6, partition: {kind: iid}}
memory: {kind: reservoir, size: 100}
optimizer: {lr: 0.02}
train: {epochs: 2, batch: 16}
re-fed: {size: 150, epochs: 2}
runs:
- {label: er, method: [er, re-fed, fed-a-gem]}
END
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/kill-er-s0-*/summary.json; }
"$engram" run "$work/kill.yaml" --quiet --out "$work/alone" >/dev/null
want=$(hash "$work/alone")

export ENGRAM_CHECKPOINT_SECONDS=0.05 # so that kills fall into checkpoints too
run() { # RANKS [--resume]: in the background, as $launched
    mpirun --oversubscribe -n "$1" "$engram" run "$work/kill.yaml" --quiet --out "$out" "${@:2}" \
        >"$work/log" 2>&1 &
    launched=$!
}
# The processes of the run under way by rank, "PID RANK".
ranks() {
    local pid
    for pid in $(pgrep -P "$1"); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
            sed -n "s/^OMPI_COMM_WORLD_RANK=/$pid /p" || true
    done
}
killed=0 finished=0
declare -A victims=()
# Whether a process that is to end has ended, within ten seconds: mpirun does not wait for it.
gone() {
    for ((i = 0; i < 100; i++)); do
        [ -e "/proc/$1" ] && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null || return 0
        sleep 0.1
    done
    return 1
}

while [ "$killed" -lt "$kills" ]; do
    out=$work/killed$finished
    run $((RANDOM % 3 + 2))
    until compgen -G "$out/kill-er-s0-????????/metrics.jsonl" >/dev/null; do sleep 0.02; done
    while [ "$killed" -lt "$kills" ]; do
        sleep "0.$((RANDOM % 8))$((RANDOM % 10 + 1))"
        read -r pid rank < <(ranks $launched | shuf -n 1) || break
        all=$(ranks $launched | cut -d' ' -f1)
        kill -9 "$pid" 2>/dev/null || break
        code=0
        wait $launched || code=$?
        [ "$code" != 0 ] || break # it ended before the kill reached it
        killed=$((killed + 1))
        victims[$rank]=$((${victims[$rank]:-0} + 1))
        grep -q "process rank $rank with PID [0-9]* on node .* exited on signal 9" "$work/log" ||
            { echo "the killed rank $rank is not named"; cat "$work/log"; exit 1; }
        for p in $all; do
            gone "$p" || { echo "process $p stays behind"; exit 1; }
        done
        run $((RANDOM % 4 + 1)) --resume
    done
    wait $launched 2>/dev/null || "$engram" run "$work/kill.yaml" --quiet --out "$out" --resume \
        >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    [ "$want" = "$(hash "$out")" ] || { echo "after $killed kills the bits differ"; exit 1; }
    finished=$((finished + 1))
    rm -rf "$out"
done
echo "killed $killed times (rank 0: ${victims[0]:-0}) in $finished runs; the same bits: $want"
[ "${victims[0]:-0}" -gt 0 ] && [ "${victims[0]}" -lt "$killed" ] || [ "$kills" -lt 20 ] ||
    { echo "rank 0 alone, or never"; exit 1; }
