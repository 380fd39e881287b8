#!/usr/bin/env bash
# The long tests of the Python package: 10,000 runs, arrays of a gigabyte, PyTorch, a hundred
# interrupts, and the notebooks of examples/.
set -euo pipefail
build=$(cd "$1" && pwd)
[ -e "$build/python/engram/_engram.abi3.so" ] || { echo "the Python package was not built"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$build/python exec /usr/bin/python3 -m pytest -q -s \
    -p no:cacheprovider --rootdir python python/tests/slow
