# Tensors and counts; names with dashes or underscores.
engram model cnn-small
engram model mlp --set 'depth=1 width=3' --input 3x2x2 --classes 2
engram model resnet18_thin --input 1x32x32 | tail -n 1

echo "# every --set counts, together or apart"
engram model mlp --set depth=1 --set width=7 | cmp - <(engram model mlp --set 'depth=1 width=7')
engram model mlp --set depth=1 --set width=7 | tail -n 1

echo "# of an experiment file, for its data or for another input"
cat >net.yaml <<'YAML'
name: net
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: layers, layers: [flatten, linear 20, residual: [relu, linear 20 no-bias], relu]}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}
runs:
- {label: avg, method: fedavg}
- {label: mlp, method: fedavg, overrides: {model: {name: mlp, depth: 0}}}
YAML
engram model net.yaml
engram model net.yaml --input 1x28x28 --classes 10 | tail -n 1
engram model net.yaml --only mlp | tail -n 1
engram model net.yaml --set 'model.layers=[flatten, tanh]' | tail -n 1
engram model layers --set 'layers=[conv 8 k3, relu, flatten] init=he' --set head-init=torch | tail -n 1
echo "# an experiment by its name, and a file of weights that says itself what it is"
mkdir experiments
cat >experiments/small.yaml <<'YAML'
name: small
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}
runs: [{label: avg, method: fedavg}]
YAML
engram model small | tail -n 1
engram model mlp --set depth=1 --save saved.safetensors
engram model saved.safetensors | tail -n 1
fails 2 engram model saved.safetensors --classes 3
fails 1 engram run smal | sed 's/in [^ ]*$/in SHARE/'
engram scenario digest small | cut -d' ' -f2
