# Tensors and counts; names with dashes or underscores.
engram model cnn-small
engram model mlp --set 'depth=1 width=3' --input 3x2x2 --classes 2
engram model resnet18_thin --input 1x32x32 | tail -n 1
