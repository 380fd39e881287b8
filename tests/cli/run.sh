# Runs of an experiment: by file and by name, in lines and in JSON, in processes, begun and resumed.
mkdir experiments
cat >experiments/small.yaml <<'YAML'
name: small
data: {name: blobs, train: 200, test: 40, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}
memory: {kind: reservoir, size: 10}
runs:
- {label: er, method: er, published: {acc_final: 93.21}}
- {label: avg, method: fedavg}
YAML
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/summary.json; }
no_times() { sed -E 's/[0-9.]+ s$/T s/; s/"(seconds|peak_rss_bytes)":( ?)[0-9.e+-]+/"\1":\2T/g'; }
no_numbers() { sed -E 's/"(loss|accuracy)":[0-9.]+/"\1":X/g; s/[0-9a-f]{64}/HASH/g; s/-[0-9a-f]{8}"/-HASH"/'; }

echo "# by name, then the same in processes"
engram run small --only er --out a | no_times |
    sed 's/-[0-9a-f]*$/-HASH/; s/loss.*%/.../; s/^er  *1 .* 93.2 .*/er ... 93.2 .../'
[ ! -e a/report.html ] || echo "a page for one run"
engram run small --only er --out b --transport processes --quiet | sed 's/-[0-9a-f]*$/-HASH/; s/^er  *1 .* 93.2 .*/er ... 93.2 .../'
[ "$(hash a/small-er-s0-*)" = "$(hash b/small-er-s0-*)" ] || echo "the bits differ"

echo "# a program reads it"
engram run experiments/small.yaml --only er --out c --json | no_times | no_numbers |
    sed 's/"acc_final".*/.../'
engram run small --only er --out c --json --resume | no_times | no_numbers | sed 's/"acc_final".*/.../'

echo "# stopped, and resumed from its folder"
sed 's/rounds: 2/rounds: 1500/' experiments/small.yaml >long.yaml
engram run long.yaml --only avg --out whole --workers 1 --quiet >/dev/null
# stop SIGNAL OUT ARGUMENTS...: sends it after some rounds; what is said, and the exit code.
stop() {
    engram run long.yaml --only avg --out "$2" "${@:3}" >stopped 2>stopping &
    until [ "$(cat "$2"/*/metrics.jsonl 2>/dev/null | wc -l)" -gt 2 ]; do sleep 0.01; done
    kill "-$1" $!
    local code=0
    wait $! || code=$?
    sed 's/-[0-9a-f]\{8\}/-HASH/' stopping stopped
    echo "exit code $code"
}
stop INT d --workers 1 --transport processes
stop TERM t --workers 2
engram run long.yaml --only avg --out t --resume --quiet >/dev/null
[ "$(hash t/small-avg-s0-*)" = "$(hash whole/small-avg-s0-*)" ] || echo "the bits differ"
mv d/small-avg-s0-* moved
engram run --resume moved --workers 1 --quiet >/dev/null
[ "$(hash moved)" = "$(hash whole/small-avg-s0-*)" ] || echo "the bits differ"

echo "# a second signal does not wait for the round"
engram run long.yaml --only avg --out e --set train.epochs=100000 --transport processes --data-dir "$PWD" \
    >stopped 2>stopping &
until compgen -G "e/*/metrics.jsonl" >/dev/null; do sleep 0.01; done
for n in 1 2; do
    kill -INT $!
    [ $n = 2 ] || until [ -s stopping ]; do sleep 0.01; done
done
code=0
wait $! || code=$?
cat stopping stopped
echo "exit code $code"
sleep 0.2
! pgrep -f -- "--data-dir $PWD" || echo "its processes are still there"

echo "# what goes wrong"
fails 1 engram run --resume moved
fails 2 engram run moved
fails 2 engram run --resume moved --set optimizer.lr=1
fails 1 engram run small --only er --out a | sed 's/-[0-9a-f]\{8\}/-HASH/'
fails 1 engram run --resume nowhere | sed 's/in [^ ]*$/in SHARE/'
fails 2 engram run small --json --quiet
rm moved/summary.json
echo "name: [" >moved/config.yaml
fails 1 engram run --resume moved

echo "# a run of which no round counted ends with 1, and says why"
cat >far.yaml <<'YAML'
name: f
data: {name: glyphs, train: 400, test: 80, classes: 4}
model: {name: mlp, depth: 1}
scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 2, partition: iid}
optimizer: {lr: 900}
runs:
- {label: avg, method: fedavg}
- {label: still, method: fedavg, overrides: {optimizer: {lr: 0}}}
YAML
far() { engram "$@" >far.table; }
fails 1 far run far.yaml --quiet --out far | sed 's/by [0-9.e+]*/by X/; s/([0-9]*)/(X)/'
grep -c "still" far.table
fails 1 far compare far.yaml --out far | cut -d: -f1-4
far compare far/f-*
fails 1 far run far.yaml --quiet --out few --only still --set server.min_clients=4
