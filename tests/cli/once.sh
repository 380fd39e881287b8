# An experiment file is opened once: a pipe has its text only for the first who reads.
text() {
    cat <<'YAML'
name: once
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}
runs:
- {label: avg, method: fedavg, published: {acc_final: 50}}
- {label: prox, method: fedprox}
YAML
}
mkfifo file.yaml
text >file.yaml &
engram run file.yaml --seeds 0..1 --quiet >/dev/null
text >file.yaml &
engram compare file.yaml --seeds 0..1 --set optimizer.lr=0.2 --markdown | cut -d'|' -f2
text >file.yaml &
fails 2 engram run file.yaml --set optimizer.lr=fast
