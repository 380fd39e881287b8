# What the scripts of tests/cli share.

# fails CODE COMMAND...: it must end with this code, print nothing, and say why in one line of
# stderr, which is printed here.
fails() {
    local want=$1 code=0
    shift
    "$@" >fails.out 2>fails.err || code=$?
    [ "$code" = "$want" ] || echo "exit code $code, not $want: $*"
    [ ! -s fails.out ] || { echo "on stdout:"; cat fails.out; }
    [ "$(wc -l <fails.err)" = 1 ] || echo "not one line on stderr:"
    cat fails.err
}

# header TEXT: a safetensors header, its length before it in eight bytes.
header() {
    local n=${#1} i
    for ((i = 0; i < 8; i++)); do
        printf "\\x$(printf %02x $((n >> 8 * i & 255)))"
    done
    printf %s "$1"
}

# patch FILE OFFSET BYTES: writes bytes, as printf writes them, over those of a file.
patch() {
    # shellcheck disable=SC2059 # the bytes are a format
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
