#!/usr/bin/env bash
# `engram bench --generator acgan` measures both steps and a whole iteration of FedCIL's client, PyTorch doing the
# same rows beside it, if it is here. $1: build folder.
set -euo pipefail
engram=$(cd "$1" && pwd)/engram
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

peer=()
! /usr/bin/python3 -c 'import torch' 2>/dev/null || peer=(--peer torch)
table=$("$engram" bench --generator acgan --seconds 0.1 "${peer[@]}")
printf '%s\n' "$table"

# More rows take more time than the two steps alone, on both sides.
awk -v columns=$((${#peer[@]} ? 6 : 4)) '
    /^acgan\// {
        if (NF != columns) bad = 1
        ours[$1] = $3; theirs[$1] = $5
    }
    END {
        step = ours["acgan/critic/1x32"] + ours["acgan/fool/1x32"]
        if (bad || step <= 0 || ours["acgan/iteration/1x32"] < step) exit 1
        step = theirs["acgan/critic/1x32"] + theirs["acgan/fool/1x32"]
        exit columns == 6 && theirs["acgan/iteration/1x32"] < step
    }' <<<"$table" || { echo "the table is not what it should be"; exit 1; }
[ -z "$(ls -A "$TMPDIR")" ] || { echo "the run left files behind"; exit 1; }
