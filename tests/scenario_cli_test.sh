#!/usr/bin/env bash
# `engram scenario` from outside: what it says, its exit codes, its picture. $1: the build folder.
set -euo pipefail
cd "$(dirname "$0")/.."
engram=$1/engram
files=experiments/scenarios
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$1" >&2
    exit 1
}
# says CODE WORDS ARGUMENTS...: runs the verb, wants its exit code and its words.
says() {
    local want=$1 words=$2 code=0
    shift 2
    "$engram" scenario "$@" >"$work/out" 2>&1 || code=$?
    [ "$code" = "$want" ] || fail "scenario $*: exit code $code, not $want: $(cat "$work/out")"
    grep -qF -- "$words" "$work/out" || fail "scenario $*: does not say '$words': $(cat "$work/out")"
}

says 0 "no sample is held by two clients" check $files/fed-a-gem-s-cifar100.yaml
says 0 "held      50000 of 50000 training samples" check $files/fedspace-100.yaml
says 0 "60000 samples, by up to 10 clients" check $files/pfedgrp-1-fashion-mnist.yaml
says 0 "the split leaves them over" check $files/fedcil-emnist-letters.yaml
says 0 "30 of 120 clients" show $files/fed-a-gem-growing.yaml
says 0 "wrote $work/a.svg" show $files/fed-a-gem-async-cifar100.yaml --out "$work/a.svg"
says 0 "$(head -1 $files/digests.txt | cut -d' ' -f1)" digest \
    "$files/$(head -1 $files/digests.txt | cut -d' ' -f2).yaml"
python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$work/a.svg"

# An experiment's own data, share, scale and overrides apply; what is published is said to be.
says 0 "cifar100 (its published counts)" check $files/fedspace-100.yaml
cat >"$work/e.yaml" <<'YAML'
name: e
scale: 0.5
data: {name: blobs, train: 800, test: 80, classes: 20, share: 0.5}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 5, rounds: 4, partition: iid}
runs:
- {label: five, method: fedavg}
- {label: two, method: fedavg, overrides: {scenario: {tasks: 2}}}
YAML
says 0 "held      200 of 200 training samples" check "$work/e.yaml"
says 0 "on blobs, for its run 'five'" check "$work/e.yaml"
says 0 "2 clients, 5 tasks, 10 rounds, 20 classes" check "$work/e.yaml"
says 0 "2 clients, 2 tasks, 4 rounds, 20 classes" check "$work/e.yaml" --only two
says 2 "there is no run 'three'" check "$work/e.yaml" --only three
says 1 "has no list 'runs'" check $files/fedspace-100.yaml --only two
says 0 "3 clients, 2 tasks, 4 rounds, 20 classes" check "$work/e.yaml" --only two --set scenario.clients=3
says 0 "3 clients, 4 tasks, 8 rounds" check "$work/e.yaml" --set scenario.clients=3 --set scenario.tasks=4
says 2 "has no option 'clientz'" check "$work/e.yaml" --set scenario.clientz=3
says 1 "has no list 'runs'" check $files/fedspace-100.yaml --set scenario.clients=3
says 2 "--set needs a value" check "$work/e.yaml" --set

# A class's samples are counted once by client, however often tasks come back to them: dealt anew
# for each task, and with a first task that leaves the images as they are, in an order of one's own.
by_class() { "$engram" scenario show "$work/d.yaml" "$@" | tail -n 2 | grep -o '[0-9]*$' | tr '\n' ' '; }
cat >"$work/d.yaml" <<'YAML'
name: d
data: {name: glyphs, train: 400, test: 100, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: domain-permutation, clients: 2, tasks: 4, rounds: 1, partition: iid}
runs:
- {label: a, method: fedavg}
YAML
[ "$(by_class)" = "200 200 " ] || fail "by class: $(by_class)"
[ "$(by_class --set scenario.first_plain=true --set scenario.order=own)" = "200 200 " ] ||
    fail "by class, the first plain: $(by_class --set scenario.first_plain=true --set scenario.order=own)"
for n in $(by_class --set scenario.resplit=true); do
    [ "$n" -gt 250 ] && [ "$n" -le 400 ] || fail "by class, dealt anew: $n"
done

says 2 "one of these is needed: check, show, digest"
says 2 "a file is needed" check
says 2 "'x' is no seed" check $files/fedspace-100.yaml --seed x
says 2 "--out belongs to show" check $files/fedspace-100.yaml --out x.svg
says 1 "there is no file" check /nowhere.yaml
printf 'data: mnist\nscenario: {kind: realtime, clientz: 3}\n' >"$work/bad.yaml"
says 1 "bad.yaml:2:37: scenario 'realtime' has no option 'clientz'" check "$work/bad.yaml"
printf 'data: mnist\nscenario:\n  kind: realtime\n  clients: 0\n' >"$work/bad.yaml"
says 1 "bad.yaml:4:12: clients: 0 is outside [1, 1e+06]" check "$work/bad.yaml"
printf 'data: unheard-of\nscenario: {kind: realtime}\n' >"$work/bad.yaml"
says 1 "there is no data set 'unheard-of'" check "$work/bad.yaml"
