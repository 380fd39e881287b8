#!/usr/bin/env bash
# The server's memory does not follow the number of clients that it has models of: with 1,000 of 424 KB each it needs at
# most a tenth more than with 100. $1: build folder.
set -euo pipefail
engram=$(cd "$1" && pwd)/engram
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# peak CLIENTS: the peak of a run in which twenty clients take part in each round, in units of 100 kB.
peak() {
    cat >"$1.yaml" <<END
name: t
data: {name: glyphs, train: 4000, test: 200, mean: 0.15, std: 0.2, size: 16}
model: {name: mlp, depth: 1, width: 200}
scenario: {kind: class-incremental, clients: $1, tasks: 2, rounds: 60, per_round: 20, partition: iid}
eval: {samples: 20}
train: {epochs: 1, batch: 8}
runs: [{label: a, method: pfedgraph}]
END
    "$engram" run "$1.yaml" --workers 1 --out "$1" --quiet >/dev/null
    sed -n 's/.*"peak_rss_bytes": *\([0-9]*\)[0-9]\{5\}.*/\1/p' "$1"/*/summary.json
}

few=$(peak 100) many=$(peak 1000)
echo "peak with 100 clients $few, with 1000 $many, in units of 100 kB"
[ $((10 * many)) -le $((11 * few)) ] || { echo "models of clients stay in memory"; exit 1; }
