# Tensors and counts; names with dashes or underscores.
engram model cnn-small
engram model mlp --set 'depth=1 width=3' --input 3x2x2 --classes 2
engram model resnet18_thin --input 1x32x32 | tail -n 1

echo "# every --set counts, together or apart"
engram model mlp --set depth=1 --set width=7 | cmp - <(engram model mlp --set 'depth=1 width=7')
engram model mlp --set depth=1 --set width=7 | tail -n 1
