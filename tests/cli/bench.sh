# Speed differs from run to run, the form does not: numbers are printed as N.
engram bench --model cnn-small --seconds 0.1 --json >rows.json
sed -E 's/: [0-9]+\.[0-9]+/: N/g' rows.json
echo
engram bench --model mlp --batch 4 --seconds 0.1 | sed -E '1d; s/ +/ /g; s/[0-9]+(\.[0-9]+)?/N/g'
engram bench --norms --model mlp --batch 4 --seconds 0.1 | sed -E 's/ +/ /g; s/[0-9]+(\.[0-9]+)?/N/g'
engram bench --convs --batch 1 --seconds 0.01 | sed -E '1d; s/ +/ /g; s/[0-9]+(\.[0-9]+)?/N/g' | uniq
engram bench --layers --model cnn-small --seconds 0.1 >layers
grep '^conv2d_back_weights ' layers >/dev/null
grep -E '^[0-9]+ steps, [0-9.]+ ms; arena [0-9.]+ MB; [0-9]+ reorders of activations' layers >/dev/null
cat >net.yaml <<END
name: net
data: {name: blobs, train: 100, test: 20, classes: 3}
model: {name: layers, layers: [flatten, linear 7, relu]}
scenario: {kind: class-incremental, tasks: 1, clients: 1}
runs:
- {label: a, method: fedavg}
END
engram bench --layers --model net.yaml --batch 4 --seconds 0.1 >layers
sed -nE 's/^(linear +\[4, 7\]) .*/\1/p' layers
sed -i 's/linear 7/linear 0/' net.yaml
fails 1 engram bench --layers --model net.yaml
fails 2 engram bench --isa sse9
fails 2 engram bench --layers --norms
fails 2 engram bench --data --layers
fails 2 engram bench --layers --json
fails 2 engram bench --json --norms
fails 2 engram bench --convs --json
fails 2 engram bench --data --json
fails 2 engram bench --generator wgan-gp --json
fails 2 engram bench --model nothing --json
fails 1 engram bench --peer nobody | sed 's|/.*/tools|tools|'
fails 2 engram bench --generator nothing | sed 's/;.*//'
engram bench --generator wgan-gp --layers --seconds 0.01 | grep -c '^conv2d' >/dev/null
