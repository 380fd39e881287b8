# Threads of a worker: in a call and in a file, with the same bits; what cannot be.
file() {
    cat <<YAML
name: t
$1
data: {name: glyphs, train: 160, test: 40, classes: 4, size: 16}
model: {name: cnn}
scenario: {kind: class-incremental, clients: 2, tasks: 1, rounds: 2, partition: iid}
optimizer: {lr: 0.05}
train: {batch: 16}
runs: [{label: avg, method: fedavg}]
YAML
}
file "" >plain.yaml
file "threads: 3" >says.yaml
hash() { cat "$1"/*/summary.json | sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p'; }

echo "# the same bits"
export ENGRAM_TEAM_LEAST=0
engram run plain.yaml --quiet --workers 1 --out one >/dev/null
engram run plain.yaml --quiet --workers 1 --threads 2 --out two >/dev/null
engram run plain.yaml --quiet --threads 4 --out four >/dev/null
engram run plain.yaml --quiet --workers 2 --threads 2 --transport processes --out apart >/dev/null
engram run says.yaml --quiet --out says >/dev/null
engram compare plain.yaml --workers 1 --threads 2 --seeds 0..1 --jobs 2 --out side >/dev/null
for out in two four apart says; do [ "$(hash one)" = "$(hash $out)" ] || echo "$out: other bits"; done
hash side | grep -c "$(hash one)"
ls one says | grep -c avg

echo "# a step is measured with several"
engram bench --model cnn-small --batch 8 --threads 2 --seconds 0.01 | sed -n 1p | cut -d, -f1

echo "# what cannot be"
fails 2 engram run plain.yaml --threads 0
fails 2 engram run plain.yaml --threads 65
fails 2 engram bench --threads some
file "threads: 0" >none.yaml
fails 1 engram run none.yaml
file "threads: [1, 2]" >list.yaml
fails 1 engram run list.yaml
