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
