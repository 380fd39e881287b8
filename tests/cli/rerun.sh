# A file that is run again: what is there, what was stopped, what is missing, what is wrong in it.
cat >file.yaml <<'YAML'
name: small
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}
memory: {kind: reservoir, size: 10}
runs:
- {label: er, method: er}
- {label: avg, method: fedavg}
- {label: prox, method: fedprox}
YAML
no_hash() { sed -E 's/-[0-9a-f]{8}/-HASH/g'; }
finished() { ls runs/*/summary.json | no_hash; }

echo "# a second time"
engram run file.yaml --only avg --quiet | tail -1 | no_hash
fails 1 engram run file.yaml | no_hash
finished

echo "# --resume starts what is missing, finishes what was stopped, leaves what is finished"
cp -r runs/small-avg-* kept
engram run file.yaml --only er --only avg --resume --quiet | cut -d" " -f1 | sed "/^$/d"
finished
rm runs/small-er-*/summary.json
engram run file.yaml --resume --quiet >/dev/null
finished
diff -r kept runs/small-avg-*
engram run file.yaml --resume | cut -d' ' -f1 | no_hash | sed '/^$/d'

echo "# another instruction set: only by force, which the log tells"
rm runs/small-er-*/summary.json
fails 1 engram run file.yaml --only er --resume --isa plain | no_hash | sed 's/avx[0-9]*/BEST/'
engram run file.yaml --only er --resume --isa plain --force --quiet >/dev/null
grep -h '"event":"forced"' runs/small-er-*/metrics.jsonl | sed 's/avx[0-9]*/BEST/; s/,"sum.*//'
engram compare file.yaml --markdown | grep force
fails 2 engram run file.yaml --force

echo "# mistakes show before anything is run"
sed 's/name: small/name: other/' file.yaml >right.yaml
sed 's/method: fedprox/method: fedprox, overrides: {optimizer: {lr: fast}}/; s/small/other/' file.yaml >wrong.yaml
fails 1 engram run right.yaml wrong.yaml
fails 1 engram compare right.yaml wrong.yaml
fails 2 engram run right.yaml --set fedprox.mu=-1
fails 1 engram run wrong.yaml --set optimizer.momentum=0.5
fails 2 engram run right.yaml --only er --only nothing
fails 2 engram run right.yaml file.yaml --only nothing
sed 's/label: prox/label: er/' right.yaml >twice.yaml
fails 1 engram run twice.yaml
sed 's/method: fedprox/method: fedprox, published: {acc_final: much}/' right.yaml >figure.yaml
fails 1 engram run figure.yaml
ls runs | grep other || echo "nothing was run"
