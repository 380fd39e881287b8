#!/usr/bin/env bash
# The fast tests of the Python package, with the interpreter it was built for, and its types. With
# a sanitized library: what goes wrong on purpose.
set -euo pipefail
build=$(cd "$1" && pwd)
[ -e "$build/python/engram/_engram.abi3.so" ] || { echo "the Python package was not built"; exit 77; }
tests=$PWD/python/tests
cd "$build/python"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$build/python
run=(/usr/bin/python3 -m pytest -q -p no:cacheprovider --rootdir "$tests/..")
# grep reads to the end, so that objdump is not left alone with its words.
if objdump -p engram/_engram.abi3.so | grep 'NEEDED.*libasan' >/dev/null; then
    # The interpreter is not sanitized: it gives back little at its end, and the library comes first.
    export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16
    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
    exec "${run[@]}" "$tests/test_wrong.py"
fi
/usr/bin/python3 -m mypy --cache-dir=/dev/null engram
exec "${run[@]}" "$tests" --ignore "$tests/slow"
