#!/usr/bin/env bash
# PyTorch loads what engram writes of generators, by its own names, and draws the same. $1: build folder.
set -euo pipefail
engram=$(cd "$1" && pwd)/engram
tools=$(cd "$(dirname "$0")/../tools" && pwd)
/usr/bin/python3 -c 'import torch' 2>/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# same KIND SIDE OPTION...: trained for a few steps, so that statistics have moved.
same() {
    local sets=() option
    for option in "${@:3}"; do
        sets+=(--set "$option")
    done
    "$engram" train --generator "$1" --size "$2" --class 2 --steps 7 "${sets[@]}" --quiet \
        --out g.safetensors
    "$engram" generate g.safetensors --n 5 --seed 9 --out drawn.safetensors >/dev/null
    "$tools/draw_torch.py" g.safetensors drawn.safetensors --seed 9
    ! "$tools/draw_torch.py" g.safetensors drawn.safetensors --seed 8 >/dev/null ||
        { echo "$1: other noise gives the same drawings"; exit 1; }
}
same wgan-gp 8 width=8 batch=8
same wgan-gp 28 batch=8
same acgan 8 width=8
same acgan 32 width=8
same ddpm 8 width=8 steps=100 sample_steps=5
same ddpm 16 width=8 multipliers=1,2 blocks=2 sample_steps=50
