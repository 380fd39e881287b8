#!/usr/bin/env bash
# What is installed stands alone: the program finds its experiments from any folder, and another
# program compiles and links with the library as pkg-config says. $1: build folder.
set -euo pipefail
build=$(cd "$1" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cmake --install "$build" --prefix "$folder/usr" >install.log

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
PKG_CONFIG_PATH=$(dirname "$(find usr -name engram.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086 # several words
cc $sanitize user.c $(pkg-config --cflags --libs engram) -o user
run=$(./user usr/share/engram/experiments/demo.yaml)
cmp "$run/model.safetensors" runs/demo-fedavg-s0-*/model.safetensors
echo "ok: $run"
