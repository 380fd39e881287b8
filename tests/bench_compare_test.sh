#!/usr/bin/env bash
# tools/bench_compare names what is slower than on record, and nothing else.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# A program that prints two figures: of mlp, and of cnn.
bench() {
    printf '#!/bin/sh\necho '"'"'[{"model": "mlp", "batch": 8, "mode": "train", "peak_share": %s, "ratio": null},
{"model": "cnn", "batch": 8, "mode": "eval", "peak_share": %s, "ratio": 2.5}]'"'"'\n' "$1" "$2" >program
    chmod +x program
}
compare() { "$root/tools/bench_compare" "$@" >out 2>&1; }
fail() { echo "$1:"; cat out; exit 1; }

bench 0.500 1.000
compare --record --against record.json ./program || fail "the first record"
[ "$(grep -c 'not on record' out)" = 2 ] || fail "nothing was on record"
bench 0.480 1.100
compare --against record.json ./program || fail "slower by 4 %"
! grep -q 'slower' out || fail "slower by 4 %"
grep -q 'cnn .*2.50 times the peer; on record 1.000, +10.0 %' out || fail "faster by a tenth"
bench 0.470 1.100
! compare --against record.json ./program || fail "slower by 6 % passes"
grep -q '^slower by more than 5 %: mlp 8 train (-6.0 %)$' out || fail "slower by 6 %"
compare --against record.json ./program --isa avx2 || fail "another instruction set"
[ "$(grep -c 'not on record' out)" = 2 ] || fail "another set has figures of its own"
echo '[]' >record.json
! compare --against record.json ./program || fail "a record that is none passes"
grep -q 'record.json is not a record of figures' out || fail "a record that is none"
! compare --against none.json ./absent || fail "no program passes"
grep -q './absent: No such file' out || fail "no program"
echo "what is slower is named"
