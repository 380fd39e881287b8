#!/usr/bin/env bash
# Runs every script of tests/cli, each in an empty folder of its own, and compares what it prints
# with the .out beside it: cli_test.sh BUILD [NAME...]. A script that stops early has failed.
set -euo pipefail
build=$(cd "$1" && pwd)
scripts=$(cd "$(dirname "$0")/cli" && pwd)
shift
export PATH="$build:$PATH" LC_ALL=C

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

for script in "$scripts"/*.sh; do
    name=$(basename "$script" .sh)
    [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
    mkdir "$work/$name"
    code=0
    (cd "$work/$name" && bash -euo pipefail -c 'source "$0"; source "$1"' \
        "$scripts/functions.bash" "$script") >"$work/out" 2>"$work/err" || code=$?
    if [ "$code" = 0 ] && [ ! -s "$work/err" ] && cmp -s "$work/out" "$scripts/$name.out"; then
        echo "ok      $name"
    else
        echo "FAILED  $name: exit code $code"
        diff -u --label expected --label printed "$scripts/$name.out" "$work/out" || true
        sed 's/^/stderr: /' "$work/err"
        failures=$((failures + 1))
    fi
done

echo "$failures failures"
[ "$failures" = 0 ]
