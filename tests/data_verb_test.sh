#!/usr/bin/env bash
# The data verb on generated data: what it prints, what it writes, how it fails. $1: build folder.
set -euo pipefail
engram=$(cd "$1" && pwd)/engram
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset ENGRAM_DATA
export HOME=$folder
failures=0

# expect CODE WORDS ARGUMENTS...: runs `engram data ARGUMENTS`; the output must hold WORDS.
expect() {
    local code=0 out
    out=$("$engram" data "${@:3}" 2>&1) || code=$?
    if [[ $code != "$1" || $out != *"$2"* ]]; then
        echo "FAILED: engram data ${*:3}: exit $code (not $1), or no '$2' in: $out"
        failures=$((failures + 1))
    fi
}

expect 0 "usage: engram data list" --help
expect 0 "glyphs         generated" list
expect 0 "spread       standard deviation" list blobs
expect 0 "usps 10 1194,1005,731,658,652,556,664,645,542,644 359,264,198,166,200,160,170,147,166,177 0" counts usps
expect 0 "femnist 62 805263 0 3550" counts
expect 0 "samples    1000 of 16x1x1 floats, 10 classes" check blobs
expect 0 "samples    50 of 1x28x28 bytes, 5 classes" check glyphs --set classes=5 \
    --set train=50 --set test=10 --seed 7
expect 0 "0 of the 10 test samples are training samples too" check glyphs --set train=50 \
    --set test=10
expect 0 "sheet.png" show fractals --set train=20 --set classes=2 --out sheet.png
[[ $(head -c 4 sheet.png) == $'\x89PNG' ]] || { echo "FAILED: sheet.png"; failures=$((failures + 1)); }
expect 1 "mnist: train-images-idx3-ubyte(.gz) was not found" check mnist
expect 1 "was not found in $folder/mnist or $folder; 'tools/data mnist' brings" check mnist \
    --data-dir "$folder"
expect 1 "was not found in $folder/.local/share/engram/mnist" check mnist
expect 0 "10 classes, 60,000 + 10,000; not here" list
mkdir -p .local/share/engram/mnist
expect 0 "10 classes, 60,000 + 10,000; not here" list # an empty folder is no data
touch .local/share/engram/mnist/train-images-idx3-ubyte
expect 0 "10 classes, 60,000 + 10,000; $folder/.local/share/engram/mnist" list
mkdir -p other/usps && touch other/usps/x
expect 0 "7,291 + 2,007; $folder/other/usps" list --data-dir "$folder/other"
expect 2 "--seed belongs to check or show" list --seed 3
expect 2 "--data-dir needs a value" list --data-dir
expect 0 "channels   mean 0." check glyphs --set train=50 --set test=10
expect 2 "there is no data set 'nothing'; there are blobs" show nothing
expect 1 "/none/x.png" show blobs --out /none/x.png
expect 2 "one of these is needed: list, counts, check, show, import"
expect 2 "'dance' is none of list, counts, check, show, import" dance
expect 2 "the name of a data set is missing" check
expect 2 "--set wants KEY=VALUE, not 'dim'" check blobs --set dim
expect 2 "blobs: dim: 0 is outside" check blobs --set dim=0
expect 2 "--seed: '-1' is no seed, a whole number from 0 to 9223372036854775807" check blobs --seed -1
expect 2 "there is no option '--loud'" check blobs --loud
expect 2 "one data set at a time: 'blobs' or 'glyphs'" check blobs glyphs
expect 2 "--out needs a value" show blobs --out

# Own data are imported, and load as what was written.
printf 'id;size;kind\n1;0.5;"a;b"\n2;1.5;c\n3;0.25;"a;b"\n4;2;c\n' >own.csv
expect 0 "data: {name: npy, path: own, normalize: true}" import own.csv --out own --set drop=id --set test_every=2
expect 0 "called     a;b, c" check npy --set path=own
expect 0 "2 samples of 1x1x1 floats" import own.csv --label 3 --out again --set drop=id --set test_every=2
expect 1 "own/x_train.npy is there already" import own.csv --out own --set drop=id --set test_every=2
expect 1 "there is no file or folder 'none.csv'" import none.csv --out x
expect 2 "the path of own data is missing" import
expect 2 "--out DIR is missing" import own.csv
printf 'size,kind\n1,a\nx,a\n' >bad.csv
expect 1 "bad.csv:3: column 'size' holds 'x', which is no number" import bad.csv --out x
mkdir -p birds/train/{robin,wren} birds/val/robin
for bird in train/robin/1 train/robin/2 train/wren/3 val/robin/4; do cp sheet.png "birds/$bird.png"; done
printf '{"text":"a","label":"b"}\n' >q.jsonl
expect 0 "3x8x8 bytes, 2 classes" import birds --out birds-8 --set height=8 --set width=8
expect 0 "called     robin, wren" check npy --set path=birds-8
expect 1 "looked for: $folder/nowhere, $folder/.local/share/engram/nowhere" check folder --set path=nowhere

expect 1 "q.jsonl: a table (.csv" import q.jsonl --out q
python3 - <<'PYTHON'
import struct, zipfile
def npy(shape, code, data):
    head = str({"descr": code, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data
with zipfile.ZipFile("named.npz", "w") as z:
    z.writestr("x.npy", npy((4, 2), "|u1", bytes(8)))
    z.writestr("labels.npy", npy((4,), "|u1", bytes(4)))
PYTHON
expect 1 "named.npz: there is no array 'x_train' in it, but x, labels" check npy --set path=named.npz

# Texts and their vocabulary are found beside the experiment's file, and from wherever the run goes on.
mkdir deep
printf 'b\tone two\na\tred\na\tblue red\nb\tthree one\n' >deep/words.tsv
printf '%s\n' '[UNK]' '[CLS]' '[SEP]' '[PAD]' red blue one two three >deep/vocab.txt
cat >deep/words.yaml <<'YAML'
name: words
data: {name: text, train: words.tsv, test: none, vocab: vocab.txt, length: 8}
model: {name: bert, depth: 1, width: 16, heads: 2, hidden: 32, pieces: 9}
scenario: {kind: class-incremental, tasks: 1, clients: 1, rounds: 2, partition: iid}
runs: [{label: avg, method: fedavg}]
YAML
"$engram" run deep/words.yaml --quiet >said || { echo "FAILED: texts: $(cat said)"; failures=$((failures + 1)); }
rm runs/words-avg-*/summary.json
(cd / && "$engram" run --resume "$folder"/runs/words-avg-* --quiet) >said || { echo "FAILED: resumed: $(cat said)"; failures=$((failures + 1)); }
expect 1 "there is no 'mine.tsv' beside the experiment file or in the working folder" check text --set train=mine.tsv

# The seed decides what is generated, and nothing else does.
one=$("$engram" data check blobs --seed 1)
[[ $one == "$("$engram" data check blobs --seed 1)" && $one != "$("$engram" data check blobs)" ]] ||
    { echo "FAILED: --seed"; failures=$((failures + 1)); }
exit $((failures > 0))
