#!/usr/bin/env bash
# Whole runs and the readers of files under valgrind's memcheck, which sees what no sanitizer
# does: values that were never set, in oneDNN's generated code too. It knows no AVX-512, so that
# these run with AVX2.
set -euo pipefail
command -v valgrind >/dev/null || exit 77
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check() {
    echo "memcheck: $*"
    valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite \
        --show-leak-kinds=definite --trace-children=yes "$@"
}
cat >"$work/t.yaml" <<'YAML'
name: t
data: {name: glyphs, train: 80, test: 20, classes: 4, size: 12}
model: {name: layers, layers: [conv 8 k3, batch-norm, relu, pool 2, flatten]}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}
memory: {kind: reservoir, size: 20}
optimizer: {lr: 0.05}
train: {batch: 8}
runs:
- {label: threads, method: [er, fed-a-gem], overrides: {server: {mean: median}}}
- {label: wire, method: [re-fed, scaffold, moon]}
YAML
run() { check "$build/engram" run "$work/t.yaml" --out "$work/runs" --quiet --only "$@"; }
run threads --workers 2
rm "$work"/runs/t-threads-*/summary.json
run threads --workers 2 --resume
run wire --transport processes --workers 2
check "$build/engram" compare "$work"/runs/t-*
check "$build/engram" export "$work"/runs/t-wire-* --format npz --out "$work/x.npz"
check "$build/engram" eval "$work"/runs/t-threads-*/model.safetensors --data glyphs --set classes=4
for test in run_folder_test robust_test records_test bundle_test npy_test; do
    check "$build/$test"
done
