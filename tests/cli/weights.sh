# A weight file is written, read, and written again the same; another seed makes another file.
engram model cnn-small --save first.safetensors
engram model cnn-small --load first.safetensors
engram model cnn-small --load first.safetensors --save second.safetensors
cmp first.safetensors second.safetensors
engram model cnn-small --seed 1 --save third.safetensors
cmp -s first.safetensors third.safetensors || echo "another seed, another file"
engram model resnet18-thin --save resnet.safetensors
engram model resnet18-thin --load resnet.safetensors
