#!/usr/bin/env bash
# The memory of a run does not follow the number of its clients' generators: with four times as many, of 20 MB each with
# critic and Adam, it needs little more than what a client sends of them. $1: build folder.
set -euo pipefail
engram=$(cd "$1" && pwd)/engram
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# peak CLASSES: the peak of a round in which two clients train a generator for each class, in MB.
peak() {
    cat >"$1.yaml" <<END
name: t
data: {name: glyphs, classes: $1, train: 640, test: 20, size: 32, channels: 3, mean: 0.5, std: 0.5}
model: cnn-small
scenario: {kind: class-incremental, clients: 2, tasks: 1, rounds: 1}
train: {epochs: 1}
pfedgrp: {steps: 1, trial: 1, server_epochs: 1}
runs: [{label: a, method: pfedgrp}]
END
    "$engram" run "$1.yaml" --workers 1 --out "$1" --quiet >/dev/null
    sed -n 's/.*"peak_rss_bytes": *\([0-9]*\)[0-9]\{6\}.*/\1/p' "$1"/*/summary.json
}

few=$(peak 2) many=$(peak 8)
echo "peak with 4 generators $few MB, with 16 $many MB"
# Six more are 26 MB in an upload and as much in the server's hands. Whole they were 125 MB in a client's, and as
# much again while they were written.
[ $((many - few)) -lt 90 ] || { echo "generators stay in memory"; exit 1; }
