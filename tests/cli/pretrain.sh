# Encoders are learned from fractals, kept, found and checked; runs start from them.
export ENGRAM_CACHE=$PWD/cache
cat >small.yaml <<'YAML'
name: s
data: {name: fractals, train: 40, test: 20, classes: 4, size: 8, points: 100}
model: {name: mlp, depth: 1, width: 8}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}
runs:
- {label: plain, method: fedavg}
- {label: avg, method: fedavg, overrides: {pretrain: {epochs: 1, classes: 4, images: 64, points: 100}}}
YAML
# Figures depend on the machine a little, names on its instruction set.
shown() {
    sed -E "s|$PWD/||; s/pretrain-[0-9a-f]{16}/pretrain-HASH/; s/ +[0-9.]+ %/ X %/
            s/loss [0-9.]+ [0-9.]+ s/loss X X s/; s/ [0-9]+ bytes/ N bytes/g"
}
engram pretrain small.yaml | shown
engram pretrain small.yaml --quiet --probe fractals | shown
engram pretrain small.yaml --quiet --set optimizer.lr=0.1,0.01 | shown
engram run small.yaml --only avg --quiet --out first >table
grep -c '"encoder_sha256":"[0-9a-f]*"' first/s-avg-s0-*/metrics.jsonl
hash() { sed -n 's/.*"params_sha256": "\(.*\)".*/\1/p' "$1"/s-avg-s*/summary.json; }

echo "# a cache that is no good"
for file in cache/*.safetensors; do
    head -c 100 "$file" >part && mv part "$file"
done
engram run small.yaml --only avg --quiet --out cut --workers 2 2>said >table
shown <said
[ "$(hash cut)" = "$(hash first)" ] && echo "the same bits"
patch cache/*.safetensors $(($(wc -c <cache/pretrain-*.safetensors) - 4)) '\x01'
engram run small.yaml --only avg --quiet --out changed --transport processes 2>said >table
shown <said
[ "$(hash changed)" = "$(hash first)" ] && echo "the same bits"
rm -r cache
engram run small.yaml --only avg --seed 1 --quiet --out seeded >table
engram run small.yaml --only avg --out again --json | grep -c '"event":"pretraining"' || true
ls cache | sed -E 's/[0-9a-f]{16}/HASH/'

echo "# wrong"
fails 2 engram pretrain
fails 2 engram pretrain small.yaml --prob glyphs
fails 2 engram pretrain small.yaml --probe glyph
fails 2 engram pretrain small.yaml --probe
fails 1 engram pretrain missing.yaml | sed 's/in [^ ]*$/in SHARE/'
fails 1 engram pretrain small.yaml --only plain
fails 2 engram pretrain small.yaml --only av
fails 2 engram pretrain small.yaml --set pretrain.epoch=3
fails 2 engram pretrain small.yaml --set pretrain.head=keep
fails 1 engram run small.yaml --only avg --set pretrain.classes=3 --quiet
fails 1 engram run small.yaml --only avg --set train.rotations=true --quiet
fails 1 env -u HOME ENGRAM_CACHE= engram run small.yaml --only avg --quiet
ENGRAM_CACHE=small.yaml fails 1 engram run small.yaml --only avg --quiet
