#!/usr/bin/env bash
# A minute of tools/torture: kills, faults of disk and memory, flipped bits, limits, mutated files.
set -euo pipefail
tools/torture --seconds 60 --engram "$1/engram"
