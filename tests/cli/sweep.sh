# Settings with several values: a run for each, rows in the order of the values, one of them alone.
cat >file.yaml <<'YAML'
name: s
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}
runs:
- {label: avg, method: fedavg}
- {label: prox, method: fedprox, sweep: {fedprox.mu: [1, 0.5]}}
YAML
rows() { cut -d'|' -f2-4; }
engram compare file.yaml --set optimizer.lr=0.1,0.01 --markdown | rows
ls runs | sed 's/-[0-9a-f]\{8\}$/-HASH/'

echo "# one of them, and a label's"
engram run file.yaml --set optimizer.lr=0.1,0.01 --only 'avg optimizer.lr=0.1' --out one --quiet >/dev/null
engram compare file.yaml --out one --only prox --markdown | rows
ls one | sed 's/-[0-9a-f]\{8\}$/-HASH/'

echo "# the best by validation: a rate of 0 learns nothing"
engram compare file.yaml --only avg --set optimizer.lr=0,0.5 --set data.validation=0.3 --out held \
    --markdown | grep best | sed -E 's/[0-9.]+ %/X %/'
engram compare file.yaml --only avg --set optimizer.lr=0,0.5 --set data.validation=0.3 --out held --json |
    grep 'optimizer.lr"\|by_val'

echo "# what goes wrong"
fails 2 engram run file.yaml --only 'avg optimizer.lr=0.1'
fails 2 engram run file.yaml --set optimizer.lr=0.1,fast
fails 2 engram run file.yaml --set optimizer.lr=0.1,0.1
