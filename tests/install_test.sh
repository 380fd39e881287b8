#!/usr/bin/env bash
# What is installed stands alone: the program finds its experiments from any folder; the examples,
# a method of one's own among them, compile against the installed headers and link with the shared
# library and with the static one, as pkg-config and CMake say. $1: build folder.
set -euo pipefail
build=$(cd "$1" && pwd)
examples=$(cd "$(dirname "$0")/../examples" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cmake --install "$build" --prefix "$folder/usr" >install.log

for file in man/man1/engram.1 bash-completion/completions/engram zsh/site-functions/_engram \
    doc/engram/README.md doc/engram/docs/experiment-file.md doc/engram/examples/own_method.c; do
    [ -s "usr/share/$file" ] || { echo "$file is not installed"; exit 1; }
done

usr/bin/engram run demo --only fedavg --set scale=0.05 --quiet --out runs

cat >user.c <<'C'
#include <engram/engram.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    eg_experiment *e;
    const char *small = "scale=0.05";
    char folder[512];
    bool stopped;
    eg_run_how how = {.out = "mine"};
    if (argc != 2 || eg_experiment_load(argv[1], "fedavg", 1, &small, &e) != EG_OK ||
        eg_experiment_run(e, &how, folder, &stopped) != EG_OK)
        return 1;
    printf("%s\n", folder);
    eg_experiment_free(e);
    return 0;
}
C
# A library with sanitizers wants a program with them.
sanitize=$(sed -n 's/^EG_SANITIZE:[A-Z]*=\(..*\)/-fsanitize=\1/p' "$build/CMakeCache.txt")
PKG_CONFIG_PATH=$folder/$(dirname "$(find usr -name engram.pc)")
LD_LIBRARY_PATH=$folder/$(dirname "$(find usr -name libengram.so)")
export PKG_CONFIG_PATH LD_LIBRARY_PATH

# link COMPILER SOURCE PROGRAM: with the shared library, which alone is named.
link() {
    # shellcheck disable=SC2046,SC2086 # several words
    $1 $sanitize -Wall -Wextra -Werror "$2" $(pkg-config --cflags --libs engram) -lm -o "$3"
}
link cc user.c user
readelf -d user | grep -q "NEEDED.*libengram\.so\.[0-9]" || { echo "no soname"; exit 1; }
run=$(./user usr/share/engram/experiments/demo.yaml)
cmp "$run/model.safetensors" runs/demo-fedavg-s0-*/model.safetensors

for source in "$examples"/*.c; do
    link cc "$source" example
    ./example "out-$(basename "$source")"
done
if command -v c++ >/dev/null; then
    for source in "$examples"/*.cc; do
        link c++ "$source" example
        ./example "out-$(basename "$source")"
    done
fi

# The static library takes what it stands on, too.
flags=$(pkg-config --static --cflags --libs engram | sed 's/-lengram/-l:libengram.a/')
# shellcheck disable=SC2086 # several words
cc $sanitize user.c $flags -o static
[ -z "$(readelf -d static | grep 'NEEDED.*libengram')" ]
rm -r mine
./static usr/share/engram/experiments/demo.yaml >/dev/null

# And for CMake.
mkdir package
cp user.c package
cat >package/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(engram 0.2 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE engram::engram)
CMAKE
cmake -S package -B package/build -DCMAKE_PREFIX_PATH="$folder/usr" \
    -DCMAKE_C_FLAGS="$sanitize" >package.log
cmake --build package/build >>package.log
rm -r mine
package/build/user usr/share/engram/experiments/demo.yaml >/dev/null
echo "ok: $run"
