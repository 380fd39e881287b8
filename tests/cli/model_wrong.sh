# Networks that cannot be: exit code 1 and the numbers; unknown words: exit code 2.
fails 2 engram model nothing
fails 1 engram model cnn-small --input 1x9x9
fails 1 engram model mlp --input 0x28x28
fails 1 engram model mlp --input 3000000000x3000000000x3000000000
fails 1 engram model mlp --classes 9000000000000000000
fails 2 engram model mlp --set depth=65
fails 2 engram model mlp --set depth
fails 2 engram model cnn --set depth=1
fails 2 engram model mlp --set depth=1 --set depth=65
fails 2 engram model layers --set 'layers=[conv 8 k3, rel]'
fails 1 engram model layers --set 'layers=[conv 8 k3, relu]'
fails 2 engram model mlp --only avg

# The lists of an experiment file: the line and the column of the layer.
file() {
    printf 'name: net\ndata: {name: blobs, train: 80, test: 16, classes: 4}\n'
    printf 'model:\n  name: layers\n  layers:\n'
    printf '  - %s\n' "$@"
    printf 'scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}\n'
    printf 'runs:\n- {label: avg, method: fedavg}\n'
}
file flatten 'linear 20' 'conv 3' >wrong.yaml
fails 1 engram model wrong.yaml
fails 2 engram run wrong.yaml --set optimizer.lr=x
fails 1 engram run wrong.yaml
file flatten 'linear 20' 'residual: [relu, linear 21]' >wrong.yaml
fails 1 engram model wrong.yaml
file flatten 'residual [linear 16, conv 2 k1]' relu >wrong.yaml
fails 1 engram model wrong.yaml
file flatten 'residual: [linear 16, rely]' >wrong.yaml
fails 1 engram model wrong.yaml
file flatten '{relu: 3}' >wrong.yaml
fails 1 engram model wrong.yaml
file flatten '' >wrong.yaml
fails 1 engram model wrong.yaml
file 'flatten' "$(printf 'relu, %.0s' {1..300})relu" >wrong.yaml
fails 1 engram model wrong.yaml
fails 2 engram model wrong.yaml --classes 3
file flatten relu >good.yaml
fails 2 engram model good.yaml --only none
fails 2 engram model good.yaml --set bogus=1
fails 2 engram model mlp cnn
