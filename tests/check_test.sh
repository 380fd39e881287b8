#!/usr/bin/env bash
# Plants one violation of each rule in a small copy of the tree, and sees tools/check report it.
set -euo pipefail
cd "$(dirname "$0")/.."

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{tools,include/engram,src/{attic,base,io,engine/{op,optim}},cli,tests}
cp tools/{check,lint.h} "$tree/tools/"
cp .clang-format .clang-tidy "$tree/"
cp include/engram/base.h "$tree/include/engram/"
cp src/base/{base.h,pool.h,arena.c} "$tree/src/base/"
failures=0

# A well-formed file: $1 its path, the rest of it from stdin.
write() {
    local name=${1##*/}
    [[ $1 == include/* ]] && name=engram/$name
    { printf '/* %s - planted.\n * SPDX-License-Identifier: Apache-2.0\n */\n' "$name"; cat; } >"$tree/$1"
}

# Runs tools/check: clean, or with `FILE:LINE: WORDS` among its findings. Then clears away FILE.
clean() {
    if ! out=$("$tree/tools/check" "${@:2}"); then
        echo "FAILED: $1, yet:" "$out"
        failures=$((failures + 1))
    fi
}
finds() {
    if out=$("$tree/tools/check" "${@:4}"); then
        echo "FAILED: $1:$2: '$3' is not found"
        failures=$((failures + 1))
    elif ! grep -Eq "^$1:$2: .*$3" <<<"$out"; then
        echo "FAILED: expected $1:$2: $3, got:" "$out"
        failures=$((failures + 1))
    fi
    rm "$tree/$1"
}

clean "the copy breaks no rule"

write src/io/x.c <<<'int  x;'
finds src/io/x.c 4 "not formatted" --no-lint

write src/engine/op/rule.h </dev/null
write src/io/x.c <<<'#include "engine/op/rule.h"'
finds src/io/x.c 4 "io includes engine/op/rule.h of engine, which stands below it" --no-lint
write src/io/x_test.c <<<'#include "engine/op/rule.h"'
clean "a test may include everything" --no-lint
rm "$tree/src/io/x_test.c"
write src/engine/op/x.c <<<'#include "base/base.h"'
clean "a lower room may include a higher one" --no-lint
write src/engine/optim/x.h <<<'#include "engine/op/rule.h"'
clean "a room's folders may include one another" --no-lint
write src/engine/op/x.c <<<'#include "engine/optim/x.h"'
finds src/engine/op/x.c 4 "closes a circle: src/engine/optim needs src/engine/op too" --no-lint
rm "$tree/src/engine/optim/x.h"
write src/attic/x.c </dev/null
finds src/attic/x.c 1 "'attic' is no room" --no-lint
write cli/x.c <<<'#include "engine/op/rule.h"'
finds cli/x.c 4 "it may include <engram/...> and cli/" --no-lint
write cli/x.c <<<'#include <jansson.h>'
finds cli/x.c 4 "a library that src/ should wrap" --no-lint
write include/engram/x.h </dev/null
finds include/engram/x.h 1 "no room owns this header" --no-lint
write include/engram/graph.h <<<'#include "base/base.h"'
finds include/engram/graph.h 4 "not installed" --no-lint
write include/engram/model.h <<<'#include <engram/base.h>'
write include/engram/data.h <<<'#include <engram/model.h>'
finds include/engram/data.h 4 "world includes engram/model.h of engine" --no-lint
write include/engram/engram.h <<<'#include <engram/model.h>'
clean "engram.h may include every public header" --no-lint
rm "$tree/include/engram/"{engram,model}.h

write src/engine/op/x.c <<<'#include <oneapi/dnnl/dnnl.h>'
finds src/engine/op/x.c 4 "<oneapi/dnnl/dnnl.h> belongs to src/engine/graph/dnnl_calls.h alone" --no-lint
write src/io/json.c <<<'#include <jansson.h>'
write src/engine/op/x.c <<<'#include <jansson.h>'
finds src/engine/op/x.c 4 "belongs to src/io/json.c alone" --no-lint
rm "$tree/src/io/json.c"

lines() { for ((i = 0; i < $1; i++)); do echo "$2"; done; }
lines 598 "int x;" | write src/io/x.c
finds src/io/x.c 600 "601 lines" --no-lint
{ echo "/* size: a table */"; lines 598 "int x;"; } | write src/io/x.c
clean "a file may say why it is long" --no-lint
{ echo "/* *size: bytes of one; of any size: a table. */"; lines 598 "int x;"; } | write src/io/x.c
finds src/io/x.c 600 "602 lines" --no-lint
lines 248 "int x;" | write src/io/x.h
finds src/io/x.h 250 "251 lines" --no-lint
{ echo "void f(void)"; echo "{"; lines 59 "    f();"; echo "}"; } | write src/io/x.c
finds src/io/x.c 5 "a function of 61 lines" --no-lint
{ echo "void f(void)"; echo "{"; lines 58 "    f();"; echo "}"; } | write src/io/x.c
clean "a function may have 60 lines" --no-lint
printf '// %s\n' "$(lines 30 wide | tr '\n' .)" | write src/io/x.c
finds src/io/x.c 4 "more than 96" --no-lint

printf '/* y.c - wrong name.\n * SPDX-License-Identifier: Apache-2.0\n */\n' >"$tree/src/io/x.c"
finds src/io/x.c 1 "first line must be '/. x.c - " --no-lint
printf '/* x.c - no licence. */\n' >"$tree/src/io/x.c"
finds src/io/x.c 1 "the first comment lacks the line ' . SPDX-License" --no-lint
word=TO; word+=DO
write src/io/x.c <<<"// $word: more"
finds src/io/x.c 4 "$word without an issue number" --no-lint
write src/io/x.c <<<"// $word(#12): more"
clean "an issue number excuses it" --no-lint

write src/io/x.c <<<'/* See eg_nothing. */'
finds src/io/x.c 4 "nothing is named 'eg_nothing'" --no-lint
printf 'As `src/base/arena.c`, `pool.h` and `eg_fail`, but not `src/io/gone.c`.\n' >"$tree/CONTRIBUTING.md"
finds CONTRIBUTING.md 1 "no file or folder 'src/io/gone.c'" --no-lint
printf 'A file is `x_test.c`.\n\nIt calls `eg_gone(x)`.\n' >"$tree/ARCHITECTURE.md"
finds ARCHITECTURE.md 3 "nothing is named 'eg_gone'" --no-lint

write src/io/x.c <<'END'
int x_never(const int *p);
int x_never(const int *p)
{
    if (!p)
        return *p;
    return 0;
}
END
finds src/io/x.c 8 "null pointer"
write src/io/x.c <<<'int x_nine(int a, int b, int c, int d, int e, int f, int g, int h, int i);
int x_nine(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
    return a + b + c + d + e + f + g;
}'
finds src/io/x.c 5 "exceeds recommended size.*: 9 parameters"
write src/io/x.c <<<'/* size: a kernel takes what it takes. */
int x_nine(int a, int b, int c, int d, int e, int f, int g, int h, int i);
int x_nine(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
    return a + b + c + d + e + f + g;
}'
clean "a file may say why a function takes more"
mkdir "$tree/bin"
printf '#!/bin/sh\nexit 139\n' >"$tree/bin/clang-tidy"
chmod +x "$tree/bin/clang-tidy"
write src/io/x.c <<<'/* size: a kernel takes what it takes. */
int x_one(int a);'
PATH=$tree/bin:$PATH finds src/io/x.c 0 "clang-tidy failed"

echo "$failures failures"
[ "$failures" = 0 ]
