#!/usr/bin/env bash
# detection_test.sh - runs with boxes have the same bits on one worker, on two, on processes, and
# after a kill; parts that need classes are refused.
# SPDX-License-Identifier: Apache-2.0
set -eu
engram=$1/engram
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/boxes.yaml" <<YAML
name: boxes
data:
- {name: scenes, phase: day, train: 16, test: 6, height: 64, width: 64}
- {name: scenes, phase: night, train: 16, test: 6, height: 64, width: 64}
model: {name: tiny-yolo, width: 1, n_anchors: 2}
scenario: {kind: stream, clients: 2, take: 4, rounds: 2, order: own}
optimizer: {name: adam, lr: 0.003}
train: {batch: 4}
memory: {kind: reservoir, size: 6}
er: {batch: 2}
der: {batch: 2}
eval: {every: round}
runs:
- {label: both, method: [er, der, fed-a-gem]}
YAML
sum() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$dir/$1"/*/summary.json; }
run() { "$engram" run "$dir/boxes.yaml" --only both --quiet --out "$dir/$1" "${@:2}" >"$dir/out" 2>&1; }

run one --workers 1
[ -n "$(sum one)" ] || { echo "there is no checksum"; exit 1; }
grep -q '"map":\[' "$dir"/one/*/metrics.jsonl || { echo "no mean average precision"; exit 1; }
grep -q 'map_50 of car' "$dir"/one/*/metrics.jsonl || { echo "none per class"; exit 1; }
run two --workers 2
run apart --workers 2 --transport processes
for other in two apart; do
    [ "$(sum $other)" = "$(sum one)" ] || { echo "$other: other bits"; exit 1; }
done
"$engram" run "$dir/boxes.yaml" --only both --quiet --workers 1 --out "$dir/killed" >/dev/null 2>&1 &
child=$!
for _ in $(seq 2000); do
    grep -qs '"event":"round","round":3' "$dir"/killed/*/metrics.jsonl && break
    sleep 0.005
done
kill -9 $child 2>/dev/null || true
wait $child 2>/dev/null || true
run killed --workers 1 --resume
[ "$(sum killed)" = "$(sum one)" ] || { echo "other bits after a kill"; exit 1; }

refused() { # a change of the file, and the sentence
    sed "$1" "$dir/boxes.yaml" >"$dir/bad.yaml"
    if "$engram" run "$dir/bad.yaml" --quiet --out "$dir/bad" >"$dir/out" 2>&1; then
        echo "$1: not refused"; exit 1
    fi
    grep -q "$2" "$dir/out" || { echo "$1: says"; cat "$dir/out"; exit 1; }
}
refused 's/er, der, fed-a-gem/ncm/' 'ncm needs one class for each sample; the targets of these data are boxes'
refused 's/name: tiny-yolo.*/name: cnn-small}/' 'tells classes; boxes need a network that looks for them'
refused 's/^train:.*/train: {batch: 4, rotations: true}/' 'train.rotations is about classes'
refused 's/{name: scenes, phase: day[^}]*}/glyphs/' 'do not have the same targets\|is 1x28x28'
echo "boxes: the same bits everywhere"
