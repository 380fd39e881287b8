#!/usr/bin/env bash
# The reference of the library has every function that it exports, once, and no link that leads
# nowhere; what a header says stands before what it says it of. $1: build folder.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tools/reference "$folder" >/dev/null
page=$folder/index.html
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

grep -o '<a id="[^"]*"' "$page" | cut -d'"' -f2 | sort >"$folder/declared"
grep -o '<h2 id="[^"]*"' "$page" | cut -d'"' -f2 | cat - "$folder/declared" | sort -u >"$folder/targets"
[[ -z $(uniq -d "$folder/declared") ]] || fail "declared twice:" "$(uniq -d "$folder/declared")"
grep -o 'href="#[^"]*"' "$page" | cut -d'#' -f2 | tr -d '"' | sort -u >"$folder/links"
[[ -z $(comm -23 "$folder/links" "$folder/targets") ]] ||
    fail "links lead nowhere:" "$(comm -23 "$folder/links" "$folder/targets")"

nm -D --defined-only "$build/libengram.so" | sed -n 's/.* T \(eg_.*\)/\1/p' | sort >"$folder/exported"
[[ $(wc -l <"$folder/exported") -gt 300 ]] || fail "the library exports only $(wc -l <"$folder/exported")"
[[ -z $(comm -23 "$folder/exported" "$folder/declared") ]] ||
    fail "not in the reference:" "$(comm -23 "$folder/exported" "$folder/declared")"

grep -A1 'id="eg_graph_status"' "$page" | grep -q "first error; EG_OK when there is none" ||
    fail "eg_graph_status lacks what its header says"
grep -q 'id="eg_tanh"' "$page" && grep -A1 'id="eg_tanh"' "$page" | grep -q "hyperbolic tangent" ||
    fail "an op lacks its help"
[[ $failures == 0 ]] && echo "$(wc -l <"$folder/declared") names"
exit $((failures > 0))
