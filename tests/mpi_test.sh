#!/usr/bin/env bash
# Runs under mpirun: the same bits on any number of ranks, one sentence for what does not fit
# together, a stop that goes on elsewhere, and a sweep whose runs are shared out.
set -euo pipefail
build=$(cd "$1" && pwd)
command -v mpirun >/dev/null && [ -e "$build/engram_mpi.so" ] || exit 77
engram=$build/engram
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ENGRAM_CHECKPOINT_SECONDS=0.05
export ASAN_OPTIONS=detect_leaks=0 # Open MPI leaves memory to the end of the process
mpi=(timeout 600 mpirun --oversubscribe)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0

failed() { echo "FAILED  $*"; failures=$((failures + 1)); }
hashes() { cat "$1"/*/summary.json | sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p'; }

cat >classes.yaml <<'YAML'
name: m
data: {name: blobs, train: 400, test: 80, classes: 4}
model: {name: mlp, depth: 1, width: 16}
scenario: {kind: class-incremental, clients: 6, tasks: 2, rounds: 2, partition: iid}
memory: {kind: reservoir, size: 20}
optimizer: {lr: 0.1}
train: {epochs: 1, batch: 16}
re_fed: {size: 60, epochs: 2}
runs:
- {label: avg, method: fedavg}
- {label: der, method: [der, fed-a-gem]}
- {label: re-fed, method: re-fed}
- {label: fedspace, method: fedspace}
- {label: own, method: [local, er]}
YAML
cat >stream.yaml <<'YAML'
name: s
data: {name: blobs, train: 400, test: 80, classes: 4, spread: 1}
model: {name: mlp, depth: 0}
scenario: {kind: realtime, clients: 3, classes: 2, samples: 10, rounds: 6, per_round: 2}
memory: {kind: reservoir, size: 20}
runs: [{label: er, method: er}]
YAML

cat >drawn.yaml <<'YAML'
name: d
data: {name: glyphs, train: 120, test: 24, classes: 4, size: 8, mean: 0.5, std: 0.5}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 2, partition: iid}
optimizer: {lr: 0.1}
train: {steps: 2, batch: 8}
eval: {local: true}
fedcil: {width: 4}
runs: [{label: fedcil, method: fedcil}]
YAML

# The same bits; the log too, but for what took time and memory, and its checksums.
logs() {
    cat "$1"/*/metrics.jsonl | sed -E \
        's/"[a-z_]*(seconds|rss)[a-z_]*": *(\{[^}]*\}|\[[^]]*\]|[-0-9.e+]+)//g; s/"sum": *"[0-9a-f]*"//'
}
"$engram" run classes.yaml stream.yaml drawn.yaml --out alone --quiet >/dev/null
for ways in "1 1" "2 1" "4 1" "2 2"; do
    set -- $ways
    "${mpi[@]}" -n "$1" "$engram" run classes.yaml stream.yaml drawn.yaml --out "r$1w$2" --workers "$2" \
        --quiet >out 2>&1 || { failed "$1 ranks of $2 workers end with $?"; cat out; continue; }
    [ "$(hashes alone)" = "$(hashes "r$1w$2")" ] || failed "$1 ranks of $2 workers: other bits"
    [ "$(logs alone)" = "$(logs "r$1w$2")" ] || failed "$1 ranks of $2 workers: another log"
done

# refused WORDS RANK0... : RANK1...: both end, with one sentence that has these words.
refused() {
    local words=$1 code=0
    shift
    rm -rf refused
    "${mpi[@]}" -n 1 "${first[@]}" : -n 1 "$@" >out 2>&1 || code=$?
    [ "$code" = 1 ] || failed "exit code $code, not 1: $words"
    [ "$(grep -c '^engram' out)" = 1 ] || failed "not one sentence: $words"
    grep -q "^engram: $words" out || { failed "not said: $words"; cat out; }
    [ ! -e refused ] || failed "something was run: $words"
}
host=$(hostname)
avg=(run classes.yaml --only avg --out refused --quiet)
first=("$engram" "${avg[@]}")
refused "rank 1 on $host has another instruction set than rank 0 on $host: plain, not" \
    "$engram" "${avg[@]}" --isa plain
refused "rank 1 on $host has another configuration" "$engram" "${avg[@]}" --set optimizer.lr=0.5
refused "rank 1 on $host: there is no 'no.yaml'" "$engram" run no.yaml --out refused --quiet
mkdir elsewhere
refused "rank 1 on $host: the folder 'refused' is not the one that rank 0 sees" \
    -wdir "$work/elsewhere" "$engram" run "$work/classes.yaml" --only avg --out refused --quiet
mkdir other
version=$("$engram" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
sed "s/${version//./\\.}/${version%.*}.9/g" "$engram" >other/engram
chmod +x other/engram
refused "rank 1 on $host has another program version than rank 0 on $host: ${version%.*}.9" \
    env ENGRAM_MODULES="$build" other/engram "${avg[@]}"

# images DIR BYTE: a data set of 40 small images, of which one byte differs.
images() {
    mkdir -p "$1"
    for split in train:40 t10k:10; do
        local name=${split%:*} n=${split#*:}
        { printf '\0\0\10\3\0\0\0'; printf "\\x$(printf %x "$n")"; printf '\0\0\0\34\0\0\0\34'
          head -c $((n * 784 - 1)) /dev/zero; printf '%s' "$2"; } >"$1/$name-images-idx3-ubyte"
        { printf '\0\0\10\1\0\0\0'; printf "\\x$(printf %x "$n")"
          for ((i = 0; i < n; i++)); do printf "\\x0$((i % 10))"; done; } >"$1/$name-labels-idx1-ubyte"
    done
}
images have a
images differ b
mkdir empty
sed 's/data: .*/data: mnist/; s/name: m$/name: d/' classes.yaml >mnist.yaml
data=(run mnist.yaml --only avg --out refused --quiet)
first=("$engram" "${data[@]}" --data-dir have)
refused "rank 1 on $host: .*mnist" "$engram" "${data[@]}" --data-dir empty
refused "rank 1 on $host has another set of pixels" "$engram" "${data[@]}" --data-dir differ
first=("$engram" "${data[@]}" --data-dir empty)
refused "rank 0 on $host: .*mnist" "$engram" "${data[@]}" --data-dir have
first=("$engram" "${avg[@]}" --set model.depth=2 --set model.width=4000)
if grep -q '^EG_SANITIZE:STRING=$' "$build/CMakeCache.txt"; then # a sanitizer reserves terabytes
    refused "rank 1 on $host: cannot allocate" \
        bash -c "ulimit -v 600000; exec \"\$@\"" - "${first[@]}"
fi

# Without the module, once for the machine.
mkdir bare
cp "$engram" bare/
code=0
"${mpi[@]}" -n 3 bare/engram "${avg[@]}" >out 2>&1 || code=$?
[ "$code" = 1 ] && [ "$(grep -c '^engram: mpirun started this program, but its module' out)" = 1 ] ||
    { failed "without the module: $code"; cat out; }
code=0
"$engram" "${avg[@]}" --transport mpi >out 2>&1 || code=$?
[ "$code" = 1 ] && grep -q 'the transport mpi is for programs that mpirun started' out ||
    failed "--transport mpi without mpirun: $code"
code=0
"${mpi[@]}" -n 2 "$engram" "${avg[@]}" --jobs 2 >out 2>&1 || code=$?
[ "$code" = 2 ] && [ "$(grep -c '^engram run: ' out)" = 1 ] || { failed "usage: $code"; cat out; }

# Stopped under mpirun, it goes on with other ranks, or without any.
long=(run classes.yaml --only der --set scenario.rounds=400 --quiet)
"$engram" "${long[@]}" --out whole >/dev/null
for next in "-n 3" "-n 1" ""; do
    rm -rf stopped
    "${mpi[@]}" -n 2 "$engram" "${long[@]}" --out stopped >out 2>&1 &
    until [ -s "$(echo stopped/m-der-s0-????????/metrics.jsonl)" ]; do sleep 0.05; done
    pkill -USR1 -P $! mpirun
    wait $! && failed "it was not stopped"
    grep -q 'stopped after a checkpoint' out || { failed "stopped without a word"; cat out; }
    launch=()
    [ -z "$next" ] || launch=("${mpi[@]}" $next)
    "${launch[@]}" "$engram" "${long[@]}" --out stopped --resume >out 2>&1 || { failed "not resumed"; cat out; }
    [ "$(hashes whole)" = "$(hashes stopped)" ] || failed "resumed with '$next': other bits"
done

# A sweep with more runs than ranks: each rank has runs of its own; then the table, once.
sweep=(compare classes.yaml --seeds 0,1 --only avg --only der --csv)
"$engram" "${sweep[@]}" --out table1 | cut -d, -f1-5 >table1.csv
"${mpi[@]}" -n 3 "$engram" "${sweep[@]}" --out table2 2>/dev/null | tr -d '\r' | cut -d, -f1-5 >table2.csv
cmp table1.csv table2.csv || failed "a sweep on ranks has another table"
[ "$(hashes table1)" = "$(hashes table2)" ] || failed "a sweep on ranks: other bits"

echo "$failures failures"
[ "$failures" = 0 ]
