#!/usr/bin/env bash
# What a program says of its commit: marked where its sources differ from it, and written anew only
# when that changes, so that a build does nothing twice.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

tell() { cmake -DSOURCE="$work" -DHEADER="$work/out/commit.h" -P "$root/cmake/commit.cmake"; }
says() {
    tell
    [[ $(cat out/commit.h) =~ $1 ]] || { echo "$2: $(cat out/commit.h)"; exit 1; }
}
own() { git -c user.name=t -c user.email=t@t "$@"; }

mkdir src out docs
echo "int a;" >src/a.c
echo "a" >docs/a.md
says '^#define ENGRAM_COMMIT ""$' "without git"
git init -q .
git add src docs
own commit -qm first
commit=$(git rev-parse --short HEAD)
says "^#define ENGRAM_COMMIT \"$commit\"\$" "as committed"
touch -d '2001-01-01' out/commit.h
tell
[ "$(date -r out/commit.h +%Y)" = 2001 ] || { echo "written again without need"; exit 1; }
echo "b" >docs/a.md
says "\"$commit\"\$" "another document makes no other program"
echo "int b;" >src/a.c
says "\"$commit-dirty\"\$" "changed"
git add src
says "\"$commit-dirty\"\$" "changed and staged"
own commit -qm second
says "\"$(git rev-parse --short HEAD)\"\$" "committed again"
echo "the commit is told as it is"
