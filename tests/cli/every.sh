# How often a run is tested: after each task, each round, or every so many rounds.
cat >e.yaml <<'YAML'
name: e
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 3, partition: iid}
eval: {samples: 4}
runs:
- {label: avg, method: fedavg}
YAML
for every in task round 2 4 100; do
    engram run e.yaml --quiet --out "$every" --set eval.every=$every >/dev/null
    echo "every $every: $(sed -n 's/.*"event":"eval","round":\([0-9]*\),.*"full":\([a-z]*\),.*/\1 \2/p' \
        "$every"/*/metrics.jsonl | tr '\n' ',')"
    sed -n "/^eval:/,/^[a-z]/p" "$every"/*/config.yaml | grep every:
done
fails 2 engram run e.yaml --set eval.every=0
fails 2 engram run e.yaml --set eval.every=day

echo "# the mean of the last ten rounds of 150, here four of 60, is over points of one test set"
engram run e.yaml --quiet --out one --set eval.every=round --set scenario.tasks=1 --set scenario.rounds=60 >/dev/null
sed -n 's/.*"full":false,"accuracy":\[\([0-9.e-]*\)\].*/\1/p' one/*/metrics.jsonl | tail -3 >points
wc -l <points
mean=$(awk '{ sum += $1 } END { printf "%.6f", sum / NR }' points)
[ "$mean" = "$(sed -n 's/.*"acc_last_ten": *\([0-9.]*\).*/\1/p' one/*/summary.json |
    xargs printf %.6f)" ] || echo "acc_last_ten is not $mean"
