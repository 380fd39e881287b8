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
fails 2 engram run --nothing
fails 2 engram run
fails 2 engram train --lr x
fails 2 engram train --lr -1
fails 2 engram train --model nothing
fails 2 engram train --set depth=1
fails 2 engram run any.yaml --isa sse9
fails 1 engram run nofile.yaml | sed 's/in [^ ]*$/in SHARE/'
