# What to type first. Verbs come and go; each that is listed must explain itself.
engram help | sed -n '1,4p'
engram help | tail -n 1
engram --help | cmp - <(engram help)
for verb in $(engram help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
    engram "$verb" --help | grep "^usage: engram $verb" >/dev/null || echo "no help for $verb"
    engram "$verb" x -h | cmp - <(engram "$verb" --help)
done
engram --version | sed -E "s/[0-9.]+( \([0-9a-f]+(-dirty)?\))?$/VERSION/"
echo
engram model --help
engram help mlp
engram help adamw
engram help relu
engram help optimizer
engram help runs
engram help sweep
engram help --markdown | sed -n '1,5p'
code=0
engram >/dev/null || code=$?
echo "without a verb: exit code $code"
echo "# every setting by its full name and by its last word"
for key in memory.size patience optimizer.lr fedprox.mu participation scenario.partition.alpha bound; do
    engram help "$key"
done
engram help train.lr
engram help batch_size
fails 2 engram help patiense
engram list settings | grep -A 1 "^  optimizer"
