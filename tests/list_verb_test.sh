#!/usr/bin/env bash
# `engram list` and `engram help`: every family, options, formulas, Markdown. $1: build folder.
set -euo pipefail
cd "$(dirname "$0")/.."
engram=$1/engram
failures=0

fail() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}
# expect CODE WORDS ARGUMENTS...: runs `engram ARGUMENTS`; the output must hold WORDS.
expect() {
    local code=0 out
    out=$("$engram" "${@:3}" 2>&1) || code=$?
    [[ $code == "$1" && $out == *"$2"* ]] ||
        fail "engram ${*:3}: exit $code (not $1), or no '$2' in: $out"
}

expect 0 "  conv2d                 2-D convolution" list ops
expect 0 "  resnet18_thin " list models
expect 0 "  adamw " list optimisers
expect 0 "  wgan_gp " list generators
expect 0 "  glyphs                 generated" list data
expect 0 "  async_schedule " list scenarios
expect 0 "  power_law " list partitioners
expect 0 "  forgetting_from_first " list metrics
expect 0 "  processes " list transports
expect 2 "one of these is needed: methods, ops, models, generators, optimisers, data, scenarios, partitioners, metrics, transports, settings" list
expect 2 "'metric' is none of methods, ops, models" list metric

expect 0 "usage: engram VERB" help
expect 0 "usage: engram bench [--peer torch]" help bench
expect 0 "op relu: max(0, x)" help relu
expect 0 "settings of train: local training" help train
expect 0 "  memory " list settings
expect 0 "    epochs           passes over" list settings
expect 0 "  optimizer              an optimiser: its name" list settings
expect 0 "  lr               step size (" help adam
expect 0 "    scale            the share of rounds" list settings
expect 0 "    published            a paper's figures" list settings
# Every key that a file may have is listed.
keys=$(sed -n '/file_keys\[\] = {/,/};/p' src/run/experiment/experiment_file.c | grep -o '"[a-z]*"' | tr -d '"')
for key in $keys label method overrides; do
    grep -qE "^ +$key " <<<"$("$engram" list settings)" || fail "list settings: no $key"
done
expect 0 "depth            hidden layers; 0 is logistic regression (" help mlp
expect 0 "optimiser sgd: " help sgd
expect 0 "data set blobs: generated" help blobs
expect 0 "spread           standard deviation around a centre (" help blobs
expect 0 "scenario async_count: " help async-count # a user may write dashes
expect 0 "take             samples a client has at a time (" help async_count
expect 0 "options of every scenario:" help realtime
expect 0 "partitioner shards: " help shards
expect 0 "BWT = 1/(T-1) sum over j < T of a[T][j] - a[j][j]; 0 if T = 1" help bwt
expect 2 "nothing here is called 'nothing'" help nothing

# Every member of every list is explained, and has its row in the Markdown.
markdown=$("$engram" help --markdown)
for family in ops models generators optimisers data scenarios partitioners metrics; do
    [[ $markdown == *"## $family"* ]] || fail "no '## $family' in the Markdown"
    for name in $("$engram" list $family | awk '{print $1}'); do
        "$engram" help "$name" >/dev/null || fail "help $name"
        [[ $markdown == *"| \`$name\` |"* ]] || fail "no row of $name in the Markdown"
    done
done
# Every row of a table has the columns of its head; a bar within a cell is escaped.
broken=$(awk '/^\|/ { line = $0; gsub(/\\\|/, "", line); n = gsub(/\|/, "", line)
    if (head && n != head) print; if (!head) head = n } !/^\|/ { head = 0 }' <<<"$markdown")
[ -z "$broken" ] || fail "rows of another width than their head: $broken"
[[ $markdown == *'natural\|shuffled'* ]] || fail "no escaped bar in the Markdown"
exit $((failures > 0))
