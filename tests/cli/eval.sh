# A run's model is tested from its file alone; and started from.
cat >small.yaml <<'YAML'
name: s
data: {name: glyphs, train: 400, test: 80, classes: 4, mean: 0.5, std: 0.25}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}
optimizer: {lr: 0.05}
runs:
- {label: avg, method: fedavg}
YAML
engram run small.yaml --quiet --seed 5 >table
cp runs/s-avg-s5-*/model.safetensors model.st
# The figures depend on the machine a little.
shown() { sed -E 's/of engram [0-9.]+$/of engram VERSION/; s/ *[0-9.]+ %/ X %/'; }
engram eval model.st | shown
engram eval model.st --data glyphs --classes 2,3 | shown
echo "# what eval says is what the run said: the data set's options and the share of it are the run's"
same() {
    run=$(grep -o '"acc_final": [0-9.]*' "$1"/*/summary.json | tr -dc '0-9.')
    eval=$(engram eval "$1"/*/model.safetensors | sed -n 's/^accuracy *//p')
    [ "$(printf '%.2f %%' "$(echo "$run" | awk '{print 100 * $1}')")" = "$eval" ] || echo "$run $eval"
}
same runs
engram run small.yaml --quiet --set data.share=0.5 --set scale=0.5 --out less >table
engram eval less/*/model.safetensors | shown | sed -n 2p
same less
echo "# other images than the network's are brought to it, and this is said"
engram eval model.st --data fractals --set classes=4 --set side=16 --set test=20 | shown | sed -n 2,4p
engram run small.yaml --set model.weights=model.st --set optimizer.lr=0 --quiet --out again >table
cmp again/s-avg-s0-*/model.safetensors model.st >/dev/null || echo "another seed, in its notes"

echo "# wrong"
fails 2 engram eval
fails 2 engram eval model.st --data glyph
fails 2 engram eval model.st --data glyphs --set clases=4
fails 2 engram eval model.st --data glyphs --classes 1..
fails 2 engram eval model.st --data glyphs --classes 4294967296
fails 2 engram eval model.st --data glyphs --classes 65536
fails 2 engram eval model.st --data glyphs --classes 0,-1
fails 2 engram eval model.st --data glyphs --classes 3..2
fails 2 engram eval model.st --data glyphs --classes 0..4294967297
fails 1 engram eval model.st --data glyphs --classes 0,60000 --set classes=4
fails 2 engram eval model.st --data glyphs --batch 3
fails 1 engram eval missing.st --data glyphs
fails 1 engram eval model.st --data glyphs --set classes=6
fails 1 engram eval model.st --data glyphs --classes 7 --set classes=4
{ header '{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'; printf '\0\0\0\0'; } >bare.st
fails 1 engram eval bare.st --data glyphs
fails 2 engram run small.yaml --set model.weights=missing.st
fails 2 engram eval model.st bare.st --data glyphs
