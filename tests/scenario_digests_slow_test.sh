#!/usr/bin/env bash
# The scenario digests, computed a second time by a script that shares no code with the library:
# the published scenarios, and some that reach the corners those leave out. $1: build folder.
set -euo pipefail
ENGRAM=$(cd "$1" && pwd)/engram
export ENGRAM
cd "$(dirname "$0")/.."
for folder in tests/scenarios experiments/scenarios; do
    python3 -B tools/scenario_digest.py --pins $folder/digests.txt $folder/*.yaml
done
