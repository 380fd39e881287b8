#!/usr/bin/env bash
# Kills a run with memories twenty times at random moments, resumes it, and compares its last bits
# with those of runs that were left alone: on one worker, on two, and over a wire.
set -euo pipefail
engram=$1/engram
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/kill.yaml" <<'END'
name: kill
data: {name: glyphs, train: 3000, test: 200}
model: cnn-small
scenario: {kind: class-incremental, clients: 6, tasks: 5, rounds: 8, partition: {kind: iid}}
memory: {kind: reservoir, size: 100}
train: {epochs: 2, batch: 16, lr: 0.02}
runs:
- {label: er, method: [er, fedprox]}
END
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/kill-er-s0-*/summary.json; }

"$engram" run "$work/kill.yaml" --out "$work/one" --workers 1 --quiet
"$engram" run "$work/kill.yaml" --out "$work/two" --workers 2 --quiet
"$engram" run "$work/kill.yaml" --out "$work/wire" --workers 2 --wire --quiet
want=$(hash "$work/one")
[ -n "$want" ] && [ "$want" = "$(hash "$work/two")" ] || { echo "two workers differ"; exit 1; }
[ "$want" = "$(hash "$work/wire")" ] || { echo "processes differ"; exit 1; }

export ENGRAM_CHECKPOINT_SECONDS=0.05 # so that kills fall into checkpoints too
killed=0
"$engram" run "$work/kill.yaml" --out "$work/killed" --workers 2 --quiet &
until compgen -G "$work/killed/kill-er-s0-????????/metrics.jsonl" >/dev/null; do sleep 0.05; done
for i in $(seq 20); do
    sleep "0.$((RANDOM % 6 + 1))$((RANDOM % 10))"
    if kill -9 $! 2>/dev/null; then
        killed=$((killed + 1))
        wait $! 2>/dev/null || true
        wire=()
        [ $((i % 3)) != 0 ] || wire=(--wire)
        "$engram" run "$work/kill.yaml" --out "$work/killed" --workers $((i % 2 + 1)) --quiet \
            --resume "${wire[@]}" &
    else
        break
    fi
done
wait $!
[ "$want" = "$(hash "$work/killed")" ] || { echo "after $killed kills the bits differ"; exit 1; }
echo "killed $killed times, the same bits: $want"
[ "$killed" -ge 5 ] || { echo "the run was too short to be killed often"; exit 1; }
