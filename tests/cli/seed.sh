# Seeds: whole numbers from 0 to 2^63 - 1, one or a range; the same sentence everywhere.
fails 2 engram run any.yaml --seed -1
fails 2 engram run any.yaml --seed 9223372036854775808
fails 2 engram run any.yaml --seed 99999999999999999999999
fails 2 engram run any.yaml --seed 1x
fails 2 engram run any.yaml --seeds 1..-1
fails 2 engram run any.yaml --seeds ..3
fails 2 engram run any.yaml --seeds 3..1
fails 2 engram run any.yaml --seeds 0..9223372036854775807
fails 2 engram run any.yaml --seeds 0,
fails 2 engram run any.yaml --seeds 1,2x
fails 2 engram run any.yaml --seeds 1,2,0..1
fails 2 engram run any.yaml --seeds 0..60000,100000..160000
fails 2 engram run any.yaml --seeds 0,000000000000000000000000000000000000000000000000000000000000000000
fails 2 engram compare any.yaml --seed ''
fails 2 engram model mlp --seed -1
fails 2 engram data check blobs --seed +1
fails 2 engram scenario digest any.yaml --seed -1

echo "# the largest one is used"
cat >one.yaml <<'YAML'
name: one
data: {name: blobs, train: 40, test: 8, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}
runs:
- {label: avg, method: fedavg}
YAML
engram run one.yaml --seeds 9223372036854775806..9223372036854775807 --quiet >/dev/null
ls runs | sed 's/-[0-9a-f]\{8\}$/-HASH/'

echo "# several, in their order"
engram run one.yaml --seeds 3,0,5..6 --out some --json | sed -n 's/.*"seed":\([0-9]*\).*"round":2.*/\1/p'
ls some | sed 's/-[0-9a-f]\{8\}$/-HASH/'
