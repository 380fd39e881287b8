# The table of runs: in the forms that people and programs read, sorted as one wants it.
cat >file.yaml <<'YAML'
name: small
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}
memory: {kind: reservoir, size: 10}
runs:
- {label: er_10, method: er, published: {acc_final: [50, 1]}}
- {label: avg, method: fedavg}
- {label: joint, method: joint}
YAML
no_numbers() { sed -E 's/(-|\$-\$)?[0-9]+\.[0-9]+/X/g; s/[0-9.]+ (k?B|s)\b/X \1/g; s/ +/ /g'; }

echo "# Markdown, sorted by label"
engram compare file.yaml --markdown --sort label | no_numbers
echo "# LaTeX"
engram compare file.yaml --latex | no_numbers
echo "# CSV"
engram compare file.yaml --csv --set scale=0.5 | cut -d, -f1-8,11,12
echo "# text says the scale"
engram compare file.yaml --set scale=0.5 --sort acc-final | grep -o "published\*\|^\* .*"
echo "# further columns"
engram compare file.yaml --markdown --columns flops-clients,server_seconds,client_mean | head -3 | no_numbers
echo "# only what is finished"
engram compare file.yaml --seeds 0..1 --finished --csv 2>&1 | cut -d, -f1,2,4
fails 1 engram compare file.yaml --seed 7 --finished
echo "# what goes wrong"
fails 2 engram run file.yaml --finished
fails 2 engram compare file.yaml --columns flops_clients,beauty
fails 2 engram run file.yaml --columns flops_clients
fails 2 engram compare file.yaml --sort beauty
fails 2 engram compare file.yaml --sort
fails 2 engram run file.yaml --sort label
echo "# nothing is run before it shows"
fails 2 engram compare file.yaml ./file.yaml --out none
engram run file.yaml --only avg --seed 3 --out other --quiet >table
mv other/small-avg-s3-* one
fails 2 engram compare one one/
fails 2 engram run file.yaml file.yaml --out none
[ ! -e none ] || echo "something was run"
echo "# folders are read as they are"
engram compare one --csv | cut -d, -f1,2
fails 2 engram compare one --set optimizer.lr=1
fails 2 engram compare one --seeds 0..3
fails 2 engram compare one --only avg
mkdir nothing
fails 1 engram compare nothing
echo "# a page that cannot be written is said, and the table is there"
mkdir -p full/small.html
engram compare file.yaml --only avg --out full --quiet 2>&1 | cut -d' ' -f1-5
engram compare file.yaml --only avg --out full --quiet >/dev/null 2>&1 && echo "exit code 0"
