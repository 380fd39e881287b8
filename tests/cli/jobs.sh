# Many runs: side by side, in shares, and beside another process that is at one of them.
cat >file.yaml <<'YAML'
name: s
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}
runs:
- {label: avg, method: fedavg}
- {label: prox, method: fedprox}
YAML
table() { engram compare file.yaml --seeds 0..2 --csv "$@" | cut -d, -f1-5; }
hashes() { cat "$1"/*/summary.json | sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p'; }

echo "# side by side"
table --out one >one.csv
table --out two --jobs 2 >two.csv
table --out many --jobs 64 >many.csv
cmp one.csv two.csv && cmp one.csv many.csv
for out in two many; do [ "$(hashes one)" = "$(hashes $out)" ] || echo "$out: other bits"; done
engram compare file.yaml --seeds 0..2 --out lines --jobs 2 | grep -c ' seed . round 4/4 '
engram compare file.yaml --seeds 0..2 --out lines --jobs 2 | grep -c ' round ' || true

echo "# started by a program that ignores its children's ends"
timeout -s KILL 60 env --ignore-signal=CHLD engram compare file.yaml --seeds 0..2 --csv --jobs 2 \
    --out ignored | cut -d, -f1-5 | cmp - one.csv

echo "# in shares"
for k in 1 2 3 4; do
    engram compare file.yaml --seeds 0..2 --out shares --share $k/4 --csv | wc -l
    ls shares | wc -l
done
table --out shares | cmp - one.csv
engram compare file.yaml --seeds 0 --out shares --share 3/4 --csv 2>&1
engram compare file.yaml --seeds 0 --out shares --share 3/4 --finished 2>&1
engram compare file.yaml --seeds 0 --out shares --share 2/2 --csv --against avg 2>&1 | cut -d, -f1-4

echo "# a run that another process has is waited for"
long=(file.yaml --only avg --set scenario.rounds=2000)
engram run "${long[@]}" --quiet >run.out &
begun() { ls -s runs/s-avg-s$1-????????/metrics.jsonl 2>/dev/null | grep -vc '^0'; }
until [ "$(begun 0)" = 1 ]; do sleep 0.01; done
fails 1 engram run "${long[@]}" --resume | sed -E 's/-[0-9a-f]{8}/-HASH/'
engram compare "${long[@]}" --seeds 0,1 --csv | cut -d, -f1-3
wait $! && sed -n 2p run.out | cut -d' ' -f1
grep -c '"event": *"start"' runs/s-avg-s0-*/metrics.jsonl

echo "# a stop reaches every job, after its round; then it goes on"
set +m
engram compare "${long[@]}" --seeds 3,4 --csv --jobs 2 >stopped.csv 2>stopped.err &
until [ "$(begun '[34]')" = 2 ]; do sleep 0.01; done
kill -INT $!
code=0
wait $! || code=$?
echo $code "$(wc -l <stopped.csv)" "$(ls runs/s-avg-s[34]-*/summary.json 2>/dev/null | wc -l)"
cat stopped.err
engram compare "${long[@]}" --seeds 3,4 --csv --jobs 2 | cut -d, -f1-3

echo "# a job that fails"
touch taken
code=0
engram compare file.yaml --out taken/runs --jobs 2 2>&1 >/dev/null | sort -u || code=$?
echo $code

echo "# what goes wrong"
fails 2 engram compare file.yaml --jobs 0
fails 2 engram compare file.yaml --jobs many
fails 2 engram compare file.yaml --share 3/2
fails 2 engram compare file.yaml --share 0/2
fails 2 engram compare file.yaml --share -1/2
fails 2 engram compare file.yaml --share 1
fails 2 engram run file.yaml --jobs 2
