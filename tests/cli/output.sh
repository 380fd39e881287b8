# Output that cannot be written is a failure, and no device is replaced by a file.
fails 1 bash -c 'engram list methods >/dev/full'
fails 1 bash -c 'engram --version >/dev/full'
fails 2 bash -c 'engram >/dev/full'
mkfifo pipe
fails 1 engram model mlp --save pipe
[ -p pipe ] || echo "the pipe is gone"
