# Differences over seeds, and ours beside a paper's.
cat >file.yaml <<'YAML'
name: small
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}
memory: {kind: reservoir, size: 10}
runs:
- {label: avg, method: fedavg}
- {label: er, method: er, published: {acc_final: [50, 1], forgetting: 3}}
YAML
no_numbers() { sed -E 's/[-+]?[0-9]+\.[0-9]+/X/g; s/[0-9.]+ (k?B|s)\b/X \1/g; s/ +/ /g'; }

echo "# over three seeds, to the first row, and to another"
engram compare file.yaml --seeds 0..2 --markdown | cut -d'|' -f1-8 | no_numbers
engram compare file.yaml --seeds 0..2 --markdown --against er | cut -d'|' -f1-8 | no_numbers
echo "# CSV"
engram compare file.yaml --seeds 0..2 --csv | head -1 | tr , '\n' | grep "difference\|_p$"
echo "# ours beside theirs"
engram compare file.yaml --seeds 0..2 --published --quiet | head -3 | no_numbers
engram compare file.yaml --seeds 0..2 --published --csv | cut -d, -f1-5
engram compare file.yaml --published --set scale=0.5 --quiet | grep -o "published\*\|^\* .*"
engram compare file.yaml --only avg --set scale=0.5 --quiet | grep -o "published\*\|.*scale 0.5:"
echo "# a sweep's runs have the figures of its label"
engram compare file.yaml --only er --set er.batch=2,4 --published --csv | cut -d, -f1-3,8
engram compare file.yaml --only er --set er.batch=2,4 --published --markdown | cut -d'|' -f2,3
echo "# two files: each has figures and a first row of its own"
sed 's/name: small/name: other/; s/50, 1/70, 2/; s/label: er, method: er/label: er, method: [fedavg, er]/' file.yaml >other.yaml
engram compare file.yaml other.yaml --seeds 0..2 --published --csv | cut -d, -f1-4,8-9
engram compare file.yaml other.yaml --seeds 0..2 --markdown | cut -d'|' -f1-8 | no_numbers
echo "# what a part gains"
engram compare other.yaml --seeds 0..2 --markdown --without er | cut -d'|' -f1-8 | no_numbers
engram compare other.yaml --seeds 0..2 --quiet --without er >table
grep -o "to the row without er" runs/other.html
cat >>other.yaml <<'YAML'
- {label: avg_9, method: fedavg, overrides: {train: {batch: 9}}}
- {label: er_9, method: [fedavg, er], overrides: {train: {batch: 9}}}
YAML
engram compare other.yaml --seeds 0..1 --json --without er | grep '"label"\|"against"'
echo "# what differs beside the part"
engram compare other.yaml --seeds 0..1 --only avg --only er_9 --markdown --without er | grep -o "not the part.*"
echo "# the part's own option is swept: each value has the row without the part"
sed 's/^- {label: er, .*/- {label: er, method: [fedavg, er], sweep: {er.batch: [2, 4]}}/' other.yaml >swept.yaml
engram compare swept.yaml --seeds 0..1 --only avg --only er --json --without er | grep '"label"\|"against"'
engram compare other.yaml --seeds 0..1 --only avg --only er --set er.batch=2,4 --json --without er |
    grep '"label"\|"against"'
echo "# a title as it is printed"
engram compare file.yaml other.yaml --seeds 0..1 --json --against "other / avg" | grep '"against"' | sort -u
echo "# what goes wrong"
fails 2 engram compare other.yaml --without err
fails 2 engram compare other.yaml --without er --only er --out nothing
sed -i 's/er.batch/memory.size/' swept.yaml
fails 2 engram compare swept.yaml --without er --only avg --only er --out nothing
fails 2 engram compare file.yaml other.yaml --against "third / avg" --out nothing
[ ! -e nothing ] || echo "something was run"
fails 2 engram compare other.yaml --without der
fails 2 engram compare other.yaml --without er --against avg
fails 2 engram run other.yaml --without er
fails 2 engram compare file.yaml --against ear
fails 2 engram compare file.yaml --only avg --against er
fails 2 engram run file.yaml --against er
fails 2 engram run file.yaml --published
fails 2 engram compare file.yaml --only avg --published --out nothing
sed -i '/published/s/, published.*}/}/' file.yaml
fails 2 engram compare file.yaml --published
