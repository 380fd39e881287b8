#!/usr/bin/env bash
# Parts of one's own: what `engram new` writes builds against an installation, its test passes, and
# every verb knows the part; a method from outside gives the bits of the same one inside; what is no
# plugin, or was built for another engram, is told so in one sentence. $1: build folder.
set -euo pipefail
build=$(cd "$1" && pwd) source=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
failed() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# says CODE WORDS COMMAND...: it ends with this code and says these words.
says() {
    local out code=0
    out=$("${@:3}" 2>&1) || code=$?
    if [ "$code" != "$1" ] || [[ $out != *"$2"* ]]; then failed "${*:3}: $code, not $1, or no '$2': $out"; fi
}
cmake --install "$build" --prefix "$folder/usr" >install.log
PATH=$folder/usr/bin:$PATH

for kind in method data model metric; do
    engram new $kind my_$kind >made
    [ "$(wc -l <made)" = 3 ] || failed "new $kind wrote $(cat made)"
    cmake -S my_$kind -B built/$kind -DCMAKE_PREFIX_PATH="$folder/usr" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" \
        >cmake.log
    cmake --build built/$kind >cmake.log
    ctest --test-dir built/$kind --output-on-failure >ctest.log || { failed "$kind"; cat ctest.log; }
done
says 0 "  my_method  " engram list methods --plugin built/method/my_method.so
says 0 "strength of the pull" engram help my_method --plugin=built/method/my_method.so
says 0 "  my_model  " env ENGRAM_PLUGINS=built/method/my_method.so:built/model/my_model.so engram list models
says 0 "16x1x1" engram data check blobs --plugin built/data/my_data.so --plugin built/data/my_data.so
says 0 "test" engram data check my_data --plugin built/data/my_data.so
says 0 "parameters" engram model my_model --input 1x8x8 --plugin built/model/my_model.so
grep -q '"my_metric": 0\.' built/metric/runs/my_metric-er-*/summary.json || failed "no value of the metric"

echo "# the bits of the method that is inside"
sed 's/method: my_method}/method: [my_method]}\n- {label: prox, method: fedprox}/' my_method/my_method.yaml >both.yaml
engram run both.yaml --plugin built/method/my_method.so --quiet --workers 2 --transport processes >table
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' runs/my_method-"$1"-s0-*/summary.json; }
[ -n "$(hash prox)" ] && [ "$(hash my_method)" = "$(hash prox)" ] || failed "other bits"

echo "# iCaRL from outside, of the sources of the one inside: they use nothing that is the library's own alone"
mkdir outside
sed -e 's/eg_method_icarl/outside/; s/{"icarl",/{"outside",/; s/icarl\.targets/outside.targets/; s/icarl\.model/outside.model/' \
    -e 's/\.leaves = /.draws_as = "icarl", .leaves = /' "$source/src/method/icarl.c" >outside/outside.c
cat >>outside/outside.c <<'END_OF_FILE'
#include <engram/plugin.h>
static const eg_method *const methods[] = {&outside, NULL};
EG_PLUGIN(.methods = methods);
END_OF_FILE
cc -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -fPIC -shared -fvisibility=hidden -ffp-contract=off -I"$folder/usr/include" -I"$source/src" \
    outside/outside.c "$source/src/method/lib/class_means.c" "$source/src/base/real.c" -o outside/outside.so
cat >outside/outside.yaml <<'END_OF_FILE'
name: outside
data: {name: glyphs, train: 400, test: 80, classes: 4, size: 8}
model: {name: mlp, depth: 1, width: 16}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}
memory: {kind: reservoir, size: 20}
train: {epochs: 1, batch: 8}
runs:
- {label: inside, method: icarl}
- {label: outside, method: outside}
END_OF_FILE
engram run outside/outside.yaml --plugin outside/outside.so --quiet >table
ours() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' runs/outside-"$1"-s0-*/summary.json; }
[ -n "$(ours inside)" ] && [ "$(ours outside)" = "$(ours inside)" ] || failed "iCaRL from outside has other bits"

echo "# a plugin that the file names is loaded from wherever the run goes on"
{ echo 'plugins: [../built/method/my_method.so]'; grep -v '^name:' my_method/my_method.yaml; } >my_method/named.yaml
sed -i '1i name: named\nout: elsewhere\nseeds: [3]' my_method/named.yaml
engram run my_method/named.yaml --quiet >table
named=$(echo elsewhere/named-my_method-s3-*)
[ -f "$named/summary.json" ] || failed "out: and seeds: of the file: $(ls)"
[ "$(sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$named/summary.json")" != "$(hash prox)" ] || failed "seed 3 is seed 0"
rm "$named/summary.json" && (cd / && "$folder/usr/bin/engram" run --resume "$folder/$named" --quiet >"$folder/table") ||
    failed "resumed: $(cat table)"
says 0 "my_method" engram run my_method/named.yaml --seed 4 --out there --quiet
ls -d there/named-my_method-s4-* >table || failed "--out and --seed come first"

echo "# what goes wrong"
says 1 "cannot be loaded" engram list methods --plugin nowhere.so
says 2 "--plugin needs a value" engram list methods --plugin
echo 'int x;' | cc -shared -fPIC -x c - -o none.so
says 1 "plugin none.so: it is no plugin of engram" engram list methods --plugin none.so
sed 's/^EG_PLUGIN(.*/const eg_plugin eg_plugin_table __attribute__((visibility("default"))) = {.form = {"9.9", {0}}};/' \
    my_method/my_method.c >old.c
cc -shared -fPIC -I usr/include old.c -o old.so
says 1 "it was built for engram 9.9, and this is engram" engram list methods --plugin old.so
sed 's/{"9.9", {0}}/{EG_PLUGIN_VERSION, {0}}/' old.c >other.c
cc -shared -fPIC -I usr/include other.c -o other.so
says 1 "build it anew" engram list methods --plugin other.so
sed 's/"my_method", "fed/"fedprox", "fed/' my_method/my_method.c >taken.c
cc -shared -fPIC -I usr/include taken.c -o taken.so
says 1 "plugin taken.so: there is a method 'fedprox' already" engram list methods --plugin taken.so
says 2 "there is no verb" env ENGRAM_PLUGINS= engram nothing
says 1 "the folder cannot be made" engram new method my_method
says 2 "is no name" engram new method My-Method
says 0 "dashed/dashed_name.c" engram new metric dashed-name --out dashed
says 2 "'optimizer' is none of method, data, model, metric" engram new optimizer mine
[ "$failures" = 0 ]
