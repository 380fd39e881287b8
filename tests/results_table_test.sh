#!/usr/bin/env bash
# docs/results.md and docs/results/cells.md have the tables that the program makes of experiments/measured.yml, to
# the letter: how many cells come out, and every cell; a cell is of runs if they are at hand, and what is wrong in the record is said. $1: build folder.
set -euo pipefail
engram=$(cd "$1" && pwd)/engram
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$engram" compare --published --all experiments --out "$work/none" >"$work/made"
sed '/^$/,$d' "$work/made" >"$work/counts"
sed '1,/^$/d' "$work/made" >"$work/cells"
same() { # DOCUMENT TABLE: the document's first table is that one
    sed -n '/^|/,/^$/p' "$1" | sed '/^$/,$d' >"$work/there"
    diff "$work/there" "$2" >"$work/diff" && return
    echo "$1 has another table than 'engram compare --published --all experiments':"
    cat "$work/diff"
    exit 1
}
same docs/results.md "$work/counts"
same docs/results/cells.md "$work/cells"
cd "$work"
mkdir files
cat >files/t.yaml <<'YAML'
name: t
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 3, partition: iid}
runs:
- {label: avg, method: fedavg, published: {acc_final: [50, 1], forgetting: 20}}
YAML
cat >files/measured.yml <<'YAML'
- system: S
  table: "1"
  file: t.yaml
  cells:
  - {cell: "avg", run: "avg", value: acc_final, ours: [52.1, 3.0], seeds: 4, why: a}
  - {cell: "avg, forgetting", run: "avg", value: forgetting, ours: [10], seeds: 1}
YAML
row() { "$engram" compare --published --all files --out runs | sed '1,/^$/d' | sed -n "$1p"; }
counts() { "$engram" compare --published --all "$1" --out runs | sed -n '3,/^$/p'; }
[ "$(counts files)" = "| S | 0 | 0 | 0 | 2 | 1 | 0 |" ] || { counts files; exit 1; }
mkdir larger
cp files/t.yaml larger
{
    sed 's/^  file:/  size: paper\n  file:/; s/52.1/51.9/' files/measured.yml
    sed 's/system: S/system: R/' files/measured.yml
    sed 's/52.1/48.5/' files/measured.yml
} >larger/measured.yml
counts larger >said
printf '| S | 2 | 1 | 1 | 2 | 1 | 1 |\n| R | 0 | 0 | 0 | 2 | 1 | 0 |\n\n' | diff - said || exit 1
[ "$(row 3)" = "| S | 1 | avg | 50.0 ± 1.0 | 52.1 ± 3.0 | 4 | +2.1 | no | a |" ] || { row 3; exit 1; }
[ "$(row 4)" = "| S | 1 | avg, forgetting | 20.0 | 10.0 | 1 | -10.0 | – |  |" ] || { row 4; exit 1; }
"$engram" compare files/t.yaml --seeds 0..1 --out runs --csv >table.csv
ours=$(python3 -c '
import csv, math
r = next(csv.DictReader(open("table.csv")))
print("%.1f ± %.1f" % tuple(math.floor(1000 * float(r[k]) + 0.5) / 10 for k in ("acc_final", "acc_final_sd")))')
row 3 | grep -qF "| 50.0 ± 1.0 | $ours | 2 |" || { row 3; echo "not of the runs: $ours"; exit 1; }
wrong() { # MESSAGE PATTERN REPLACEMENT: the record with a mistake is refused
    mkdir -p bad
    sed "s/$2/$3/" files/measured.yml >bad/measured.yml
    cp files/t.yaml bad
    ! "$engram" compare --published --all bad --out none >said 2>&1 || { echo "it worked: $3"; exit 1; }
    grep -qF -- "$1" said || { cat said; exit 1; }
}
wrong "publishes no aia of a run 'avg'" "value: forgetting" "value: aia"
wrong "there is no value 'beauty'" "value: forgetting" "value: beauty"
wrong "a deviation is of several seeds" "seeds: 4" "seeds: 1"
wrong "'run' is missing" 'run: "avg", value: forg' 'value: forg'
wrong "size is 'paper' or is not there, not 'large'" "  file: t.yaml" "  size: large\\n  file: t.yaml"
wrong "none.yaml" "t.yaml" "none.yaml"
! "$engram" compare --all files >said 2>&1
grep -q -- "--published" said || { cat said; exit 1; }
echo "the table is the program's"
