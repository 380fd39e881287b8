#!/usr/bin/env bash
# detection_test.sh - runs with boxes have the same bits on one worker, on two, on processes, ranks
# and devices, and after a kill; what was found is on the page; a saved model finds boxes; parts
# that need classes are refused.
# SPDX-License-Identifier: Apache-2.0
set -eu
build=$(cd "$1" && pwd)
engram=$build/engram
dir=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
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

# Devices of their own, and ranks where Open MPI is here.
(
    cd "$dir"
    "$engram" serve boxes.yaml --only both --listen 127.0.0.1:0 --out served --quiet >serve.log 2>&1 &
    server=$!
    url=
    for _ in $(seq 400); do
        url=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' serve.log)
        [ -z "$url" ] || break
        sleep 0.05
    done
    for k in 0 1; do
        "$engram" join "$url" --client $k --key engram-keys.txt --state "state$k" --patience 30 \
            >"join$k.log" 2>&1 &
    done
    wait $server || { cat serve.log join?.log; exit 1; }
    wait
)
[ "$(sum served)" = "$(sum one)" ] || { echo "devices: other bits"; exit 1; }
if command -v mpirun >/dev/null && [ -e "$build/engram_mpi.so" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    ASAN_OPTIONS=detect_leaks=0 timeout 120 mpirun --oversubscribe -n 2 "$engram" run "$dir/boxes.yaml" \
        --only both --quiet --out "$dir/ranks" >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
    [ "$(sum ranks)" = "$(sum one)" ] || { echo "ranks: other bits"; exit 1; }
fi

refused() { # a change of the file, and the sentence
    sed "$1" "$dir/boxes.yaml" >"$dir/bad.yaml"
    if "$engram" run "$dir/bad.yaml" --quiet --out "$dir/bad" >"$dir/out" 2>&1; then
        echo "$1: not refused"; exit 1
    fi
    grep -q "$2" "$dir/out" || { echo "$1: says"; cat "$dir/out"; exit 1; }
}
# The page has curves and frames, in place of numbers that were noted; the frames' picture is whole.
page=$(echo "$dir"/one/*/report.html)
for chart in map map-classes recall frames; do
    grep -q "data-chart=\"$chart\"" "$page" || { echo "no chart '$chart' on the page"; exit 1; }
done
! grep -A3 'data-chart="note"' "$page" | grep -qE 'aria-label="(map|ap)' || { echo "rates are drawn as notes, too"; exit 1; }
grep -q 'Final mAP at 0.5' "$page" || { echo "the page does not say what it measures"; exit 1; }
[ "$(ls "$dir"/one/*/boxes)" = "$(printf 'task-000001.png\ntask-000002.png')" ] ||
    { echo "no pictures of frames"; exit 1; }

# A saved model finds boxes on pictures, draws them, and is tested.
model=$(echo "$dir"/one/*/model.safetensors)
frame=$(echo "$dir"/one/*/boxes/task-000001.png)
"$engram" predict "$model" "$frame" --sure 0.01 --out "$dir/boxed.png" >"$dir/found"
grep -q '^  .*\(car\|bus\|bicycle\|light\|sign\), centre' "$dir/found" || { echo "finds nothing:"; cat "$dir/found"; exit 1; }
! cmp -s "$frame" "$dir/boxed.png" || { echo "nothing is drawn"; exit 1; }
"$engram" predict "$model" "$frame" --sure 0.01 --json | grep -q '"boxes":\[{"class":[0-4],"name":"' ||
    { echo "no JSON of boxes"; exit 1; }
"$engram" predict "$model" "$frame" "$frame" --out "$dir/all" >/dev/null
[ -s "$dir/all/task-000001.png" ] || { echo "no folder of pictures"; exit 1; }
rate() { sed -n 's/^mAP at 0.5 *\([0-9.]*\) %/\1/p'; }
day=$("$engram" eval "$model" --data scenes --set phase=day | rate)
said=$(sed -n 's/.*"round":'"$(sed -n 's/.*"rounds": *\([0-9]*\).*/\1/p' "$dir"/one/*/summary.json)"',"who":"server".*"accuracy":\[\([0-9.e-]*\),.*/\1/p' \
    "$dir"/one/*/metrics.jsonl | tail -n 1)
awk -v a="$day" -v b="$said" 'BEGIN {exit !(a - 100 * b < 0.0051 && 100 * b - a < 0.0051)}' ||
    { echo "eval says $day %, the run said $said"; exit 1; }

refused 's/er, der, fed-a-gem/ncm/' 'ncm needs one class for each sample; the targets of these data are boxes'
refused 's/name: tiny-yolo.*/name: cnn-small}/' 'tells classes; boxes need a network that looks for them'
refused 's/^train:.*/train: {batch: 4, rotations: true}/' 'train.rotations is about classes'
refused 's/{name: scenes, phase: day[^}]*}/glyphs/' 'do not have the same targets\|is 1x28x28'

# Every method runs with boxes or says in one sentence that it needs classes; those that need a
# network of another kind say that.
cat > "$dir/each.yaml" <<YAML
name: each
data:
- {name: scenes, phase: day, train: 8, test: 2, height: 64, width: 64}
- {name: scenes, phase: night, train: 8, test: 2, height: 64, width: 64}
model: {name: tiny-yolo, width: 1, n_anchors: 2}
scenario: {kind: domain-sources, clients: 2, rounds: 1, partition: iid}
train: {batch: 4}
memory: {kind: reservoir, size: 4}
runs:
- {label: each, method: METHOD}
YAML
runs=" "
refuses=0
methods=$("$engram" list methods | awk 'NF {print $1}')
for method in $methods; do
    sed "s/METHOD/$method/" "$dir/each.yaml" >"$dir/one.yaml"
    code=0
    "$engram" run "$dir/one.yaml" --quiet --workers 1 --out "$dir/each" >"$dir/out" 2>&1 || code=$?
    if [ $code -eq 0 ]; then
        runs+="$method "
    elif [ $code -ne 1 ] || [ "$(grep -c '^engram: ' "$dir/out")" -ne 1 ] ||
        ! grep -q "$method needs one class for each sample\|is no transformer\|no tensor or layer 'lora'\|and pool is 10" "$dir/out"; then
        echo "$method: ends with $code and says"; cat "$dir/out"; exit 1
    else
        refuses=$((refuses + 1))
    fi
done
for method in a_gem der derpp er ewc fed_a_gem fedavg fedcurv fedprox joint re_fed scaffold; do
    [[ $runs == *" $method "* ]] || { echo "$method does not run with boxes"; exit 1; }
done
[ "$refuses" -ge 15 ] || { echo "only $refuses methods are refused with boxes"; exit 1; }
for mean in median trimmed norm-clip; do
    sed "s/METHOD/fedavg/" "$dir/each.yaml" >"$dir/one.yaml"
    "$engram" run "$dir/one.yaml" --quiet --workers 1 --set server.mean=$mean --out "$dir/$mean" >"$dir/out" 2>&1 ||
        { echo "server.mean=$mean:"; cat "$dir/out"; exit 1; }
done
echo "boxes: the same bits everywhere; $refuses methods are refused"
