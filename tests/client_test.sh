#!/usr/bin/env bash
# engram-client, a device alone in one static file: from an empty root, over TLS, within its memory, only while it may; with the
# bits of `engram run --isa portable`. $1: the build folder; $2: a client for another machine, which qemu runs, to join as well.
set -euo pipefail
engram=$1/engram client=$1/engram-client other=${2:-}
[ -x "$client" ] || exit 77 # it takes mbedTLS, and no sanitizers
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
export ENGRAM_CHECKPOINT_SECONDS=0.05

fail() {
    echo "$1" >&2
    tail -n 5 ./*.log >&2 || true
    exit 1
}
[ "$(stat -c %s "$client")" -lt 8388608 ] || fail "the client has more than 8 MB"
! readelf -lW "$client" | grep -q INTERP || fail "the client is not static"
"$client" version | grep -q "^instruction set: portable" || fail "version"
for arm in $other; do
    [ "$(stat -c %s "$arm")" -lt 8388608 ] || fail "the other client has more than 8 MB"
    ! readelf -lW "$arm" | grep -q INTERP || fail "the other client is not static"
done

# A root with the program, the certificate, a key and data alone; anybody else's is the folder itself.
mkdir -p data "root$work"
python3 - <<'END'
import random, struct, zlib
def npy(path, code, shape, data):
    head = str({"descr": code, "fortran_order": False, "shape": shape})
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
r = random.Random(1)
for split, n in (("train", 160), ("test", 40)):
    y = [i % 4 for i in range(n)]
    x = b"".join(bytes([min(255, 60 * c + r.randrange(40)) for _ in range(784)]) for c in y)
    npy(f"data/x_{split}.npy", "|u1", (n, 1, 28, 28), x)
    npy(f"data/y_{split}.npy", "|u1", (n,), bytes(y))
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\0" + x[784 + 28 * i:812 + 28 * i] for i in range(28))
open("picture.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)) +
                                chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
END
cp "$client" root/
cp -r data "root$work/" # the server says where they are
cat >t.yaml <<'END'
name: t
data: {name: npy, path: data, classes: 4, mean: 0.2, std: 0.3}
model: {name: cnn-small}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 3, partition: iid}
memory: {kind: reservoir, size: 20}
optimizer: {lr: 0.05, momentum: 0.5}
train: {epochs: 1, batch: 16, optimizer_state: keep}
runs:
- {label: er, method: er}
END
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/t-*/summary.json; }
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=server.example \
    -addext subjectAltName=DNS:server.example -keyout tls.key -out root/tls.pem 2>/dev/null
serve() { # serve OUT OPTION...
    local out=$1
    shift
    "$engram" serve t.yaml --cert root/tls.pem --cert-key tls.key --listen 127.0.0.1:0 --out "$out" --quiet "$@" >"$out.log" 2>&1 &
    server=$!
    for _ in $(seq 400); do
        port=$(sed -n 's/^listening on .*:\([0-9]*\);.*/\1/p' "$out.log")
        [ -z "$port" ] || break
        sleep 0.05
    done
    url=https://server.example:$port
    cp engram-keys.txt root/keys.txt
}
# Linux lets the owner of a namespace of its own change its root, where it is not forbidden.
within=(unshare --user --map-root-user)
[ "$(id -u)" != 0 ] || within=()
"${within[@]}" chroot root /engram-client version >/dev/null 2>&1 || fail "the client does not start in an empty root"

"$engram" run t.yaml --isa portable --quiet --out sim >/dev/null
want=$(hash sim)
serve one --isa portable
how=(--ca tls.pem --key keys.txt --address 127.0.0.1 --patience 60)
# A run that does not fit is refused with what it would need, before it starts.
code=0
(cd root && "$client" join "$url" --client 0 --state /nowhere "${how[@]}" --state refused --memory 6M) >few.log 2>&1 || code=$?
[ "$code" = 1 ] && grep -Eq "does not fit into 6.3 MB of memory: this device would need about [0-9.]+ MB for it" few.log ||
    fail "a run that does not fit is not refused: $code, $(cat few.log)"

# 24 MB are enough, and more are not to be had.
prlimit --data=$((24 << 20)) "${within[@]}" chroot root /engram-client join "$url" --client 0 "${how[@]}" --state state --memory 24M \
    --niceness 5 >zero.log 2>&1 &
zero=$!
if [ -n "$other" ]; then
    (cd root && exec qemu-aarch64-static "$other" join "$url" --client 1 --state other "${how[@]}") >first.log 2>&1 &
else # the whole program, which takes the run's instruction set by itself; and waits until it may
    (cd root && exec "$engram" join "$url" --client 1 --state other "${how[@]}" --while "test -e ../go" --every 0.2) >first.log 2>&1 &
    for _ in $(seq 400); do grep -q "waiting: .test -e ../go. ended with 1" first.log && break; sleep 0.05; done
    grep -q "waiting: .test -e ../go. ended with 1" first.log || fail "the device does not wait"
    touch go
fi
first=$!
most=0
while kill -0 "$zero" 2>/dev/null; do
    now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$zero/status" 2>/dev/null || true)
    [ -z "$now" ] || most=$now
    ! grep -q "^engram.*: the server does not take" first.log || fail "the other device is refused"
    sleep 0.02
done
wait "$zero" || fail "the client ended with $?"
wait "$first" || fail "the other device ended with $?"
wait "$server" || fail "the server ended with $?"
[ "$(hash one)" = "$want" ] || fail "other bits: $(hash one), not $want"
[ "$most" -gt 0 ] && [ "$most" -lt 25000 ] || fail "the client took $most kB"
if [ -z "$other" ]; then
    grep -q "going on: .test -e ../go. ended with 0" first.log || fail "the device does not go on"
    grep -q "it computes with portable, as the run does" first.log || fail "the instruction set is not said"
fi

# What the model says is the same.
model=$(echo one/t-*/model.safetensors)
[ "$("$client" predict "$model" picture.png --json)" = "$(ENGRAM_ISA=portable "$engram" predict "$model" picture.png --json)" ] ||
    fail "another prediction"

# A run with another instruction set refuses it, and says what would do.
if [ -z "$other" ]; then
    serve two
    code=0
    (cd root && "$client" join "$url" --client 0 --state two "${how[@]}") >refused.log 2>&1 || code=$?
    [ "$code" = 1 ] && grep -q "which this device lacks: .engram serve --isa portable. has the same bits on all" refused.log ||
        fail "another instruction set: $code, $(cat refused.log)"
    kill -INT "$server"
    wait "$server" || true
fi
echo "client: the bits of engram run --isa portable: $want; $most kB of memory"
