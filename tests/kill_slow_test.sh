#!/usr/bin/env bash
# Kills runs a hundred times at random moments, the program or one of its clients' processes alone,
# resumes each time in another way, and compares the last bits with those of runs that were left
# alone: on one worker, on two, and in processes. KILLS says how often, if not a hundred times.
set -euo pipefail
engram=$1/engram
kills=${KILLS:-100}
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
# Not a function: a job in the background must be the program itself, to be killed.
run=("$engram" run "$work/kill.yaml" --quiet)

"${run[@]}" --out "$work/one" --workers 1 >/dev/null
"${run[@]}" --out "$work/two" --workers 2 >/dev/null
"${run[@]}" --out "$work/wire" --workers 2 --transport processes >/dev/null
want=$(hash "$work/one")
[ -n "$want" ] && [ "$want" = "$(hash "$work/two")" ] || { echo "two workers differ"; exit 1; }
[ "$want" = "$(hash "$work/wire")" ] || { echo "processes differ"; exit 1; }

export ENGRAM_CHECKPOINT_SECONDS=0.05 # so that kills fall into checkpoints too
killed=0 children=0 finished=0
while [ "$killed" -lt "$kills" ]; do
    out=$work/killed$finished
    "${run[@]}" --out "$out" --workers 2 >"$work/log" 2>&1 &
    until compgen -G "$out/kill-er-s0-????????/metrics.jsonl" >/dev/null; do sleep 0.02; done
    wire=()
    while [ "$killed" -lt "$kills" ]; do
        sleep "0.$((RANDOM % 4))$((RANDOM % 10 + 1))"
        victim=$! child=$(pgrep -P $! | shuf -n 1 || true)
        if [ ${#wire[@]} -gt 0 ] && [ -n "$child" ] && [ $((RANDOM % 2)) = 0 ]; then
            victim=$child
        fi
        kill -9 "$victim" 2>/dev/null || break
        killed=$((killed + 1))
        [ "$victim" = $! ] || children=$((children + 1))
        wait $! 2>/dev/null && break # it ended before the kill reached it
        wire=()
        [ $((RANDOM % 2)) = 0 ] || wire=(--transport processes)
        "${run[@]}" --out "$out" --workers $((RANDOM % 3 + 1)) --resume "${wire[@]}" \
            >"$work/log" 2>&1 &
    done
    wait $! 2>/dev/null || "${run[@]}" --out "$out" --workers 2 --resume >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
    [ "$want" = "$(hash "$out")" ] || { echo "after $killed kills the bits differ"; exit 1; }
    finished=$((finished + 1))
    rm -rf "$out"
done
echo "killed $killed times, $children of them a client's process alone, in $finished runs; the same bits: $want"
[ "$children" -gt 0 ] || [ "$kills" -lt 20 ] || { echo "no client's process was killed"; exit 1; }
