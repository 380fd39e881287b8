# Words that mean nothing: exit code 2 for a wrong call.
fails 2 engram fly
fails 2 engram help nothing
fails 2 engram list
fails 2 engram list nothing
fails 2 engram model
fails 2 engram model mlp --nothing 1
fails 2 engram model mlp --classes
fails 2 engram model mlp --classes ten
fails 2 engram model mlp --input 28x28
fails 2 engram bench --nothing
fails 2 engram bench --batch 0
fails 2 engram bench --seconds never
fails 2 engram train --epochs none
fails 2 engram train --model mlp --data mnist
fails 2 engram run --nothing
fails 2 engram run
fails 2 engram train --lr x
fails 2 engram train --lr -1
fails 2 engram train --model nothing
fails 2 engram train --set depth=1
fails 2 engram run any.yaml --isa sse9
ENGRAM_ISA=sse9 fails 2 engram list models
ENGRAM_ISA=plain fails 1 engram run any.yaml --isa avx2
fails 1 engram run nofile.yaml | sed 's/in [^ ]*$/in SHARE/'

echo "# did you mean"
cat >file.yaml <<'YAML'
name: small
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: {kind: dirichlet}}
runs:
- {label: avg, method: fedavg}
- {label: prox, method: fedprox}
YAML
fails 2 engram comapre file.yaml
fails 2 engram help fedavgg
fails 2 engram list method
fails 2 engram run file.yaml --sed 1
fails 2 engram run file.yaml --only pro
fails 2 engram run file.yaml --set scenario.alpha=1
fails 2 engram run file.yaml --set lr=1
fails 2 engram run file.yaml --set trian.lr=1
fails 2 engram run file.yaml --set fedprox.nu=1
fails 2 engram run file.yaml --set model.widht=1
fails 2 engram run file.yaml --set model=cn
fails 2 engram run file.yaml --set data=blob
fails 2 engram run file.yaml --set scenario.kind=class
fails 2 engram run file.yaml --set scenario.partition=dirichelt
sed 's/scenario:/scenarios:/' file.yaml >wrong.yaml
fails 1 engram run wrong.yaml
sed 's/method: fedprox/method: fedpprox/' file.yaml >wrong.yaml
fails 1 engram run wrong.yaml
sed 's/method: fedprox/methods: fedprox/' file.yaml >wrong.yaml
fails 1 engram run wrong.yaml
fails 2 engram scenario check file.yaml --only pro
sed '/^scenario:/d' file.yaml >wrong.yaml
fails 1 engram run wrong.yaml
echo "# a paper's figures"
figures() { sed "s/method: fedprox/&, published: {$1}/" file.yaml; }
figures 'acc_t: 3, client_sd: 1, client_worst: 2, forgetting_from_first: [4, 0]' >right.yaml
engram scenario digest right.yaml | cut -d' ' -f2
figures 'acc_final: [50, -3]' >wrong.yaml
fails 1 engram run wrong.yaml
figures 'acc_end: 3' >wrong.yaml
fails 1 engram run wrong.yaml
echo "# what the other members of a family have, or this one"
for setting in scenario.partition.classes=1 optimizer.beta1=0.5 optimizer.size=1 model.dropout=0.1 \
    model.colour=1 data.path=x; do
    fails 2 engram run file.yaml --set "$setting"
done
echo "# an experiment's name where a network's may stand, no weights, a tab"
mkdir experiments
cp file.yaml experiments/small.yaml
fails 1 engram model smal | sed 's/in [^ ]*$/in SHARE/'
fails 1 engram eval file.yaml
printf 'name: a\nruns:\n- \t@b\n' >wrong.yaml
fails 1 engram run wrong.yaml
echo "# a class without a sample: rounds of the other task count"
sed 's/train: 80/train: 2/; s/clients: 2/clients: 1/; s/classes: 4/classes: 2/; s/kind: dirichlet/kind: iid/' file.yaml >few.yaml
engram run few.yaml --only avg --quiet --set data.train=1 | grep skipped
