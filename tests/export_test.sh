#!/usr/bin/env bash
# A run's curves as TensorBoard, CSV and NumPy have them, read by programs of their own here and held
# against the run's events. $1: build folder.
set -euo pipefail
engram=$(cd "$1" && pwd)/engram
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >t.yaml <<'YAML'
name: t
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 0}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 3, partition: iid}
eval: {every: round}
memory: {kind: reservoir, size: 10}
runs:
- {label: avg, method: er}
- {label: own, method: local}
YAML
"$engram" run t.yaml --quiet --tensorboard boards >/dev/null
ls boards >names
[ "$(wc -l <names)" = 2 ] || { echo "not two boards: $(cat names)"; exit 1; }
run=runs/$(head -1 names)
[ "$("$engram" export "$run" --format tensorboard --out board/a)" = board/a ]
cmp board/a/events.out.tfevents.0.engram boards/"$(head -1 names)"/events.out.tfevents.0.engram
"$engram" export "$run" --format csv --out curves.csv >/dev/null
"$engram" export "$run" --format npz --out curves.npz >/dev/null
"$engram" export runs --format csv --out many.csv >/dev/null
"$engram" export runs/t-* --format settings --out settings.csv >/dev/null
"$engram" export runs --format npz --out arrays >/dev/null
[ "$(ls arrays | wc -l)" = 2 ] && cmp curves.npz "arrays/$(head -1 names).npz"
cat >check.py <<'PYTHON'
import ast, csv, json, math, os, struct, sys, zipfile

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF

def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF

def records(data):
    at = 0
    while at < len(data):
        n, head = struct.unpack_from("<QI", data, at)
        assert head == masked(data[at:at + 8]), "the checksum of a length"
        body = data[at + 12:at + 12 + n]
        assert struct.unpack_from("<I", data, at + 12 + n)[0] == masked(body), "of a record"
        yield body
        at += n + 16

def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at

def fields(data):
    at, found = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
        else:
            size, code = {1: (8, "<d"), 5: (4, "<f")}[key & 7]
            value, at = struct.unpack_from(code, data, at)[0], at + size
        found[key >> 3] = value
    return found

run = sys.argv[1]
events = [json.loads(line) for line in open(run + "/metrics.jsonl")]
rounds = [e for e in events if e["event"] == "round"]
evals = [e for e in events if e["event"] == "eval"]
want = {("loss", e["round"]): e["loss"] for e in rounds}
want |= {("bytes/up", e["round"]): e["bytes_up"] for e in rounds}
for e in evals:
    for t, a in enumerate(e["accuracy"]):
        want["accuracy/task_%d" % (t + 1), e["round"]] = a
    learned = 1 if 0 < e["round"] <= 3 else 2 if e["round"] > 3 else 0
    if learned:
        want["accuracy/mean", e["round"]] = sum(e["accuracy"][:learned]) / learned

first, *rest = map(fields, records(open("board/a/events.out.tfevents.0.engram", "rb").read()))
assert first[3] == b"brain.Event:2", first
assert 0 <= os.path.getmtime(run + "/metrics.jsonl") - first[1] < 600, "it began when it began"
def session(event):
    """What the view of hyper-parameters is told."""
    plugin = fields(fields(fields(fields(event[5])[1])[9])[1])
    assert plugin[1] == b"hparams", plugin
    return fields(plugin[2])
def every(data, field):
    """All values of a field of bytes that comes again."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 2:
            n, at = varint(data, at)
            if key >> 3 == field:
                yield data[at:at + n]
            at += n
        else:
            at += 8
start = session(rest.pop(0))[3]
given = {p[1].decode(): fields(p[2]) for p in map(fields, every(start, 1))}
assert given["label"] == {3: b"avg"} and given["train.batch"] == {2: 32.0}, given
assert given["model.name"] == {3: b"mlp"} and fields(start)[5] == first[1], given
assert fields(session(rest.pop())[4])[1] == 1, "it ended well"
board, last = {}, (-1, -1)
for event in rest:
    value = fields(fields(event[5])[1])
    board[value[1].decode(), event[2]] = value[2]
    assert (event[2], event[1]) >= last, "rounds and times go forward"
    last = event[2], event[1]
for key, value in want.items():
    assert math.isclose(board[key], value, rel_tol=1e-6, abs_tol=1e-9), (key, board[key], value)

table = {(r["tag"], int(r["round"])): float(r["value"]) for r in csv.DictReader(open("curves.csv"))}
beside = {k for k in table if k[0].startswith(("confusion/", "loss/client_", "memory/class_"))}
for e in rounds:
    for client, loss in zip(e["clients"], e["losses"]):
        assert table["loss/client_%d" % client, e["round"]] == loss
    for k, rows in enumerate(e.get("held", [])):
        assert table["memory/class_%d" % k, e["round"]] == rows / e["held_by"]
assert len([k for k in beside if k[0].startswith("loss/")]) == 12, "two clients, six rounds"
assert ("memory/class_3", 6) in beside and ("memory/class_0", 3) in beside
assert beside and table.keys() - beside == board.keys()
assert all(table[key] == value for key, value in want.items() if key[0] != "accuracy/mean")

arrays = {}
with zipfile.ZipFile("curves.npz") as archive:
    assert archive.testzip() is None
    for name in archive.namelist():
        data = archive.read(name)
        assert data[:8] == b"\x93NUMPY\x01\x00" and name.endswith(".npy")
        n = struct.unpack_from("<H", data, 8)[0]
        head = ast.literal_eval(data[10:10 + n].decode())
        assert head["descr"] == "<f8" and not head["fortran_order"] and (10 + n) % 64 == 0
        arrays[name[:-4]] = head["shape"], struct.unpack("<%dd" % math.prod(head["shape"]), data[10 + n:])
assert arrays["loss"] == ((6,), tuple(e["loss"] for e in rounds))
assert arrays["accuracy"][0] == (7, 2)
assert arrays["accuracy"][1] == tuple(a for e in evals for a in e["accuracy"])
assert arrays["task_end"][1] == (0, 0, 0, 1, 0, 0, 1)
assert arrays["learned"][1] == (1, 2)
last = [e for e in events if e["event"] == "confusion"][-1]["cells"]
cells = {(t, a): n for t, a, n in zip(last[::3], last[1::3], last[2::3])}
assert arrays["confusion"] == ((4, 4), tuple(cells.get((t, a), 0) for t in range(4) for a in range(4)))
for (t, a), n in cells.items():
    assert table["confusion/class_%d/as_%d" % (t, a), 6] == n

# Several runs at once: tables with all of them, among them clients that were tested, and their settings.
many = list(csv.DictReader(open("many.csv")))
assert {(r["experiment"], r["label"], r["seed"]) for r in many} == {("t", "avg", "0"), ("t", "own", "0")}
assert sum(r["label"] == "own" and r["tag"] == "accuracy/client_1" for r in many) == 6
one = [r for r in csv.DictReader(open("curves.csv"))]
assert [dict(r, experiment="t", label="avg", seed="0") for r in one] == [r for r in many if r["label"] == "avg"]
settings = {(r["label"], r["key"]): r["value"] for r in csv.DictReader(open("settings.csv"))}
assert settings["avg", "method"] == "er" and settings["own", "train.batch"] == "32", settings
PYTHON
python3 check.py "$run"
wrong() {
    ! "$engram" export "$@" >said 2>&1 || { echo "it worked: $*"; exit 1; }
    cat said
}
[ "$(wrong "$run" --format png --out x)" = \
    "engram export: --format: 'png' is none of tensorboard, csv, npz, settings; see 'engram help export'" ]
[ "$(wrong "$run" --format csv)" = "engram export: --out PATH is needed; see 'engram help export'" ]
wrong nowhere --format csv --out x | grep -q "nowhere/metrics.jsonl"
echo "the curves read as they were written"
