#!/usr/bin/env bash
# What the program says about its own words: every verb and option of the help stands in the manual
# page, which man takes without a warning, and is offered by bash; zsh reads its file. $1: build folder.
set -euo pipefail
PATH=$(cd "$1" && pwd):$PATH
for tool in man zsh; do
    command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LC_ALL=C.UTF-8
failures=0
failed() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

engram help --man >engram.1
warnings=$(man --warnings -E UTF-8 -l -Tutf8 -Z engram.1 2>&1 >/dev/null)
[ -z "$warnings" ] || failed "man warns: $warnings"
MANWIDTH=80 man -l engram.1 >page
grep -q '^ENVIRONMENT' page || failed "the page has no section ENVIRONMENT"
grep -q -- '--only LABEL' page || failed "the page lacks --only"

engram help --bash >engram.bash
bash -n engram.bash
engram help --zsh >_engram
zsh -n _engram

# offers WORD...: what bash offers for the last of the words.
offers() {
    bash -c 'source engram.bash
             compopt() { :; }
             COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
             _engram
             printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}

for verb in $(engram help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
    offers engram "" | grep -x "$verb" >/dev/null || failed "bash does not offer $verb"
    grep -q "^   $verb\$" page || failed "the page lacks $verb"
    grep -q "^        '$verb:" _engram || failed "zsh does not offer $verb"
    for option in $(engram "$verb" --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p'); do
        offers engram "$verb" "$option" | grep -x -- "$option" >/dev/null || failed "bash: $verb $option"
        grep -q -- "\*\?$option\[" _engram || failed "zsh: $verb $option"
        grep -q -- "^ *$option\b" page || failed "man: $verb $option"
    done
done

mkdir experiments && touch experiments/mine.yaml elsewhere.yaml
[ "$(offers engram run --transport proc)" = processes ] || failed "members of families"
[ "$(offers engram run mi)" = mine ] || failed "experiments by name"
[ "$(offers engram run else)" = elsewhere.yaml ] || failed "experiment files"
[ "$(offers engram data ch)" = check ] || failed "jobs"
[ -z "$(offers engram data gly)" ] || failed "a data set is no job"
[ "$(offers engram data check gly)" = glyphs ] || failed "arguments after a job"
[ "$(offers engram data import else)" = elsewhere.yaml ] || failed "files after a job"
[ "$(offers engram run --set train.ep)" = train.epochs= ] || failed "settings"
[ "$(offers engram compare --out exp)" = experiments ] || failed "folders"
[ "$(offers engram list mod)" = models ] || failed "families"
[ "$(offers engram help scaf)" = scaffold ] || failed "names"
[ "$failures" = 0 ]
