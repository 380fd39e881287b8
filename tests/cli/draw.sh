# A generator is trained alone, kept in a file, and draws: pictures, numbers, scores.
# A little MNIST: 120 images of digits and line ends, as good as any for what is tested here.
mkdir -p data/mnist
labels=$(for ((i = 0; i < 12; i++)); do printf '\\0\\1\\2\\3\\4\\5\\6\\7\\10\\11'; done)
for split in train t10k; do
    { printf '\0\0\10\3\0\0\0\170\0\0\0\34\0\0\0\34' && seq 1 17531; } \
        >data/mnist/$split-images-idx3-ubyte
    # shellcheck disable=SC2059 # the bytes are a format
    { printf '\0\0\10\1\0\0\0\170' && printf "$labels"; } >data/mnist/$split-labels-idx1-ubyte
done
export ENGRAM_DATA=$PWD/data
engram list generators | sed -n 's/^  \(wgan_gp\) .*/\1/p'
engram help wgan-gp | sed -n '1p;s/^  \(batch\|penalty\) .*/\1/p'
engram train --generator wgan-gp --data mnist --size 16 --class 3 --steps 6 --set width=4 --set batch=8 \
    --sheet sheet.png --out g.safetensors | sed -E 's/loss .*/loss .../'
head -c 4 sheet.png | tail -c 3
echo
engram train --generator wgan-gp --data mnist --size 8 --steps 1 --set width=4 --seed 2 \
    --out all.safetensors | sed -n 1p
engram generate g.safetensors --out square.png
cmp square.png sheet.png # both draw with seed 0
engram generate g.safetensors --out numbers.safetensors --n 3
engram generate g.safetensors --score | sed -E 's/[0-9]+\.[0-9]+/N/g; s/ +/ /g'

echo "a run's drawings: after its two tasks, every round, never"
cat >run.yaml <<'YAML'
name: drawn
data: {name: glyphs, train: 80, test: 20, classes: 4, size: 8, mean: 0.5, std: 0.5}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}
train: {steps: 1, batch: 8}
fedcil: {width: 4, steps: 2}
runs: [{label: fedcil, method: fedcil}]
YAML
# drawings OUT OPTIONS...: which pictures there are, and how many are on the page.
drawings() {
    engram run run.yaml --quiet --out "$@" >/dev/null
    (cd "$1"/drawn-* && [ ! -e sheets ] || ls sheets && grep -c 'data-chart="sheet"' report.html) || true
}
drawings at_tasks
drawings each --sheets 1
drawings never --sheets none
engram generate at_tasks/drawn-* --out run.png --n 8
echo "scored by the data as the run had it, four classes; with more of them if told so"
sed 's/size: 8/size: 16/; s/classes: 4/first: 20, classes: 4/' run.yaml >larger.yaml
engram run larger.yaml --quiet --out larger >/dev/null
scored() { engram generate larger/drawn-* --score "$@" | sed -En 's/^ *(class [0-9]+).*/\1/p'; }
scored
scored --set classes=10 --class 3

echo "generators that stay with clients, and none at all"
sed 's/fedcil: .*/dgr: {width: 4, steps: 2, images: 32}/; s/method: fedcil/method: dgr/; s/name: drawn/name: kept/' \
    run.yaml >kept.yaml
engram run kept.yaml --quiet --out kept >/dev/null
ls kept/kept-*/sheets
fails 1 engram generate kept/kept-* --out x.png | sed 's/kept-[^ ]* /kept-... /'
sed 's/method: fedcil/method: fedavg/; s/name: drawn/name: plain/' run.yaml >plain.yaml
engram run plain.yaml --quiet --out plain >/dev/null
fails 1 engram generate plain/plain-* --out x.png | sed 's/plain-[^ ]* /plain-... /'

echo "what cannot be drawn:"
fails 2 engram run run.yaml --sheets 0
fails 2 engram compare run.yaml --sheets often
fails 2 engram generate --out x.png
fails 2 engram generate g.safetensors
fails 2 engram generate g.safetensors --n x --out x.png
fails 2 engram generate g.safetensors all.safetensors --out x.png
fails 2 engram generate g.safetensors --n 0 --out x.png
fails 1 engram generate nowhere.safetensors --out x.png
fails 1 engram generate g.safetensors --class 4 --out x.png
fails 1 engram generate g.safetensors --client 0 --out x.png
fails 1 engram generate all.safetensors --data nothing --score
fails 1 engram generate larger/drawn-* --score --set classes=2 --class 3
fails 1 engram generate larger/drawn-* --score --set colour=red
mkdir run
fails 1 engram generate run --out x.png
fails 2 engram train --generator wgan-gb
fails 2 engram train --generator wgan-gp --data nothing
fails 2 engram train --generator wgan-gp --epochs 3
fails 2 engram train --generator wgan-gp --class -1
fails 1 engram train --generator wgan-gp --data mnist --class 99
fails 1 engram train --generator wgan-gp --data mnist --size 9 --class 3
fails 2 engram train --generator wgan-gp --data mnist --set width=-1
fails 2 engram train --generator wgan-gp --data mnist --set bogus=1
fails 1 engram train --generator wgan-gp --data mnist --class 3 --quiet # 12 images
fails 1 engram train --generator wgan-gp --data blobs
fails 1 engram train --generator wgan-gp --data mnist --size 16 --class 3 --sheet nowhere/x.png --out kept.st
fails 1 engram train --generator wgan-gp --data mnist --size 16 --class 3 --out run
