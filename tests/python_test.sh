#!/usr/bin/env bash
# The fast tests of the Python package, with the interpreter it was built for, and its types.
set -euo pipefail
build=$1
[ -e "$build/python/engram/_engram.abi3.so" ] || { echo "the Python package was not built"; exit 77; }
cd "$build/python"
/usr/bin/python3 -m mypy --cache-dir=/dev/null engram
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$build/python exec /usr/bin/python3 -m pytest -q \
    -p no:cacheprovider --rootdir "$OLDPWD/python" "$OLDPWD/python/tests"
