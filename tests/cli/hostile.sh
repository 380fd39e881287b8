# Experiment files that mean no good, or were written by mistake: one sentence each, with the place.
cat >good.yaml <<'YAML'
name: h
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}
runs:
- {label: avg, method: fedavg}
YAML
# run WITH: the run with something else in the place of its method or beside it.
run() {
    sed '$d' good.yaml >bad.yaml
    printf '%s\n' "- {$1}" >>bad.yaml
    fails 1 engram run bad.yaml --quiet
    fails 1 engram compare bad.yaml --markdown >compared
    fails 1 engram run bad.yaml --quiet | cmp - compared
}
# file SED: the file changed.
file() {
    sed "$1" good.yaml >bad.yaml
    fails 1 engram run bad.yaml --quiet
}

echo "# lists and values where a mapping belongs"
run 'label: avg, method: fedavg, overrides: [1]'
run 'label: avg, method: fedavg, overrides: 5'
run 'label: avg, method: fedavg, overrides: {train: [1]}'
run 'label: avg, method: fedavg, overrides: {train: 5}'
run 'label: avg, method: fedavg, published: [1, 2]'
run 'label: avg, method: fedavg, published: 5'
run 'label: avg, method: fedavg, sweep: 5'
run 'label: avg, method: {x: fedavg}'
run 'label: avg, method: [[fedavg]]'
run 'label: avg, method: [{x: fedavg}]'
run 'label: avg, method: []'
run 'label: {avg: 1}, method: fedavg'
run 'label: [avg], method: fedavg'
file 's/^- .*/- avg/'
file 's/^- .*/- [avg]/'
file 's/^runs:/runs: 5/; s/^- .*//'
file 's/^runs:/runs: {a: b}/; s/^- .*//'
file 's/^name: h/name: [h]/'
file 's/^name: h/name: {h: 1}/'
file 's/^data:.*/data: [[blobs]]/'
file 's/^data:.*/data: [{train: 80}]/'
file 's/^data:.*/data: {name: [blobs]}/'
file 's/^model:.*/model: [mlp]/'
file 's/^scenario:.*/scenario: 5/'
file 's/^scenario:.*/scenario: [5]/'
file 's/^scenario:.*/optimizer: {lr: {a: 1}}/'
echo "5" >bad.yaml
fails 1 engram run bad.yaml
echo "[5]" >bad.yaml
fails 1 engram run bad.yaml

echo "# figures that are none"
run 'label: avg, method: fedavg, published: {accuracy: 5}'
run 'label: avg, method: fedavg, published: {acc_finel: 5}'
run 'label: avg, method: fedavg, published: {acc_final: nan}'
run 'label: avg, method: fedavg, published: {acc_final: 1e400}'
run 'label: avg, method: fedavg, published: {acc_final: [1, -inf]}'
run 'label: avg, method: fedavg, published: {acc_final: [1, 2, 3]}'
run 'label: avg, method: fedavg, published: {acc_final: []}'
run 'label: avg, method: fedavg, published: {acc_final: {mean: 1}}'

echo "# texts that no folder or line can hold"
run 'label: "a\nb", method: fedavg'
run 'label: "a\eb", method: fedavg'
run 'label: "a\x85b", method: fedavg'
run "label: $(printf 'a%.0s' {1..300}), method: fedavg" | sed 's/a\{99,\}/aaa/'
file 's/^name: h/name: "a\\nb"/'
file 's/^data: {name: blobs/data: {name: folder, path: "a\\tb"/'
fails 2 engram run good.yaml --set name=$'a\x1b[31m'
fails 2 engram run good.yaml --set name=$'a\xff'
fails 2 engram run good.yaml --set $'name\a=a'
ls

echo "# folders and files that must not be touched"
fails 2 engram run good.yaml --out ''
fails 2 engram compare good.yaml --out ''
mkdir readable
echo kept >readable/sheet.png
# limited BLOCKS COMMAND...: files may not grow beyond so many blocks of 1024 bytes.
limited() {
    local code=0
    (ulimit -f "$1" && exec "${@:2}") 2>&1 | sed 's/-[0-9a-f]\{8\}/-HASH/' || code=$?
    echo "exit code $code"
}
limited 0 engram data show glyphs --set train=20 --out readable/sheet.png
limited 0 engram scenario show good.yaml --out readable/sheet.png | grep -v "^ \|^$\|^good\|^who\|^samples"
ls readable
cat readable/sheet.png
ln -s /dev/full full.png
fails 1 engram data show glyphs --set train=20 --out full.png
readlink full.png
[ -c /dev/full ] || echo "the device is gone"

echo "# a file that may not grow"
limited 2 engram run good.yaml --set model.depth=1 --quiet --out small

echo "# names in a weight file"
header='{"a\u001b[31mb\u0007\n":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
{ header "$header"; printf '\0\0\0\0'; } >names.safetensors
fails 1 engram model mlp --load names.safetensors
