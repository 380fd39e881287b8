# Samples held out of training: their column, their line on the page, and a run that ends by them.
cat >held.yaml <<'YAML'
name: h
data: {name: blobs, train: 200, test: 40, classes: 4, validation: 0.2}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 1, rounds: 6, partition: iid}
optimizer: {lr: 0}
eval: {every: round, patience: 2}
runs:
- {label: avg, method: fedavg}
YAML
engram run held.yaml --quiet >table
engram compare held.yaml --markdown | head -n 1 | cut -d'|' -f4,5
grep -c 'mean, validation' runs/h-avg-s0-*/report.html | sed 's/[1-9][0-9]*/there/'
engram run held.yaml --out early | grep -o 'ended early, after round [0-9] of 6: validation had not become better' | sort
grep '"event":"stop"' runs/h-avg-s0-*/metrics.jsonl | sed 's/"best":.*/"best":X.../'
engram export runs/h-avg-s0-* --format csv --out curves.csv >/dev/null
grep -c validation/mean curves.csv

fails 2 engram run held.yaml --set data.validation=0
fails 2 engram run held.yaml --set eval.every=task
