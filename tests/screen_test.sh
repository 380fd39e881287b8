#!/usr/bin/env bash
# Progress: lines for a pipe, a bar that fits the terminal, losses that are none. $1: build folder.
set -euo pipefail
engram=$(cd "$1" && pwd)/engram
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >t.yaml <<'YAML'
name: t
data: {name: blobs, train: 80, test: 16, classes: 4}
model: {name: mlp, depth: 1, width: 8}
scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 20, partition: iid}
runs:
- {label: avg, method: fedavg}
- {label: "a label of sixty characters, which no narrow terminal can show", method: fedavg}
YAML
fail() {
    echo "$1" >&2
    exit 1
}

# Rounds without a test are silent for ten seconds, here for none.
"$engram" run t.yaml --only avg --out a >lines
[ "$(grep -c "^avg seed 0 round" lines)" = 2 ] || fail "not two lines: $(cat lines)"
ENGRAM_PROGRESS_SECONDS=0 "$engram" run t.yaml --only avg --out b >lines
[ "$(grep -c "^avg seed 0 round .* loss" lines)" = 40 ] || fail "not forty lines: $(cat lines)"
grep -qE "^avg seed 0 round 3/40 loss [0-9.]+ [0-9.]+ s$" lines || fail "no round 3: $(cat lines)"

# Then a round tells where it stands, too, which by default takes ten seconds of silence.
grep -qE "^avg seed 0 round 3/40 client 2/2 [0-9.]+ s$" lines || fail "no client: $(cat lines)"
grep -qE "^avg seed 0 round 40/40 test 1/2 [0-9.]+ s$" lines || fail "no test: $(cat lines)"
grep -qE "^avg seed 0 round 4/40 server [0-9.]+ s$" lines || fail "no server: $(cat lines)"
ENGRAM_PROGRESS_SECONDS=0 "$engram" run t.yaml --only avg --out q --quiet >lines
! grep -q "round" lines || fail "quiet is loud: $(cat lines)"
ENGRAM_PROGRESS_SECONDS=0 "$engram" run t.yaml --only avg --out j --json >lines
grep -q '"event":"moment",.*"round":3,"rounds":40,"at":"clients","what":"training","done":1,"of":2,' lines ||
    fail "no moment: $(cat lines)"
"$engram" run t.yaml --only avg --out k --json >lines
! grep -q '"event":"moment"' lines || fail "quick rounds tell: $(cat lines)"

# A loss that is not a number is shown as it is.
"$engram" run t.yaml --only avg --out c --set optimizer.lr=1000 \
    --set optimizer.weight_decay=1000 >lines 2>why && fail "no round counted, and it ends with 0"
grep -q "avg seed 0: none of its .* rounds counted: all" why || fail "without a reason: $(cat why)"
grep -qE "loss (nan|inf) accuracy" lines || fail "no bad loss: $(cat lines)"

# The bar's line is never longer than the terminal.
cat >terminal.py <<'PYTHON'
import fcntl, os, pty, re, struct, sys, termios
columns, command = int(sys.argv[1]), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execv(command[0], command)
text = b""
try:
    while part := os.read(terminal, 4096):
        text += part
except OSError:  # the other side is gone
    pass
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
lines = [re.sub("\\x1b.*", "", l) for l in re.split("[\r\n]+", text.decode()) if "seed 0" in l]
assert lines and all(len(l) < columns for l in lines), (columns, lines)
print(lines[-1] if not os.environ.get("SHOW_ALL") else "\n".join(lines))
PYTHON
export NO_COLOR=1
# bar COLUMNS WORDS: of the long label's last line, as a regular expression.
bar() {
    rm -rf d
    python3 terminal.py "$1" "$engram" run t.yaml --only "$(sed -n 's/.*"\(.*\)".*/\1/p' t.yaml)" \
        --out d >last || fail "$1 columns: too long, or none"
    grep -qE "$2" last || fail "$1 columns: $(cat last)"
}
bar 200 "which no narrow terminal can show seed 0  \[#{30}\] 40/40, accuracy [0-9.]+ %, [0-9.]+ s$"
bar 80 "^a label .*\.\.\. seed 0  \[#{10}\] 40/40, accuracy"
bar 50 "^a l\.\.\. seed 0  40/40, accuracy"
bar 20 "\.\.\.$"
# Within a round that takes long, here any, the bar says what goes on, and what the accuracy was.
SHOW_ALL=1 ENGRAM_PROGRESS_SECONDS=0 bar 160 "\[#{22}\.{8}\] round 31/40, client 2/2, accuracy [0-9.]+ %$"
grep -qE "\] round 2/40, server$" last || fail "no server: $(cat last)"
grep -qE "\] round 1/40, test 1/2$" last || fail "no test: $(cat last)"
SHOW_ALL=1 bar 160 "40/40, accuracy"
! grep -q "client" last || fail "quick rounds flicker: $(cat last)"

# Of several runs: how long all took, a table that fits with the columns it has no room for, and no
# escape sequence where they are not wanted.
cat >compare.py <<'PYTHON'
import fcntl, os, pty, re, struct, sys, termios
def compare(columns, *more, **environment):
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.environ.update(TERM="xterm", **environment)
        os.execv(sys.argv[1], [sys.argv[1], "compare", "t.yaml", "--only", "avg", "--seeds", "0..1",
                               *more])
    text = b""
    try:
        while part := os.read(terminal, 4096):
            text += part
    except OSError:
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return text.decode()
first = compare(60)
assert re.search(r"\n2 runs in [0-9.]+ s\r\n\r\n", first), first
assert "\x1b[32m#" in first and "\x1b[1mlabel" in first, first
again = compare(60, NO_COLOR="1")
assert "\x1b" not in again and "runs in" not in again, again
lines = again.replace("\r", "").split("\n")
assert lines[0].startswith("label  seeds") or lines[0].startswith("label  accuracy %"), lines
assert all(len(l) <= 60 for l in lines[:2]), lines
assert lines[2].startswith("no room for: ") and "sent down" in lines[2], lines
# A run that ends early leaves its line before the table begins.
early = compare(120, "--set", "data.validation=0.2", "--set", "eval.every=round", "--set", "eval.patience=1",
                "--set", "optimizer.lr=0", NO_COLOR="1")
assert re.search(r"\r\navg seed 1 ended early, after round \d+ of 40: [^\r\n]*\r\n2 runs in ", early), early
assert len(re.findall(r" left(?:\x1b\[K)?\r\n", early)) == 2, early
wide = compare(200, NO_COLOR="1")
assert "no room" not in wide and "sent down" in wide, wide
PYTHON
unset NO_COLOR
python3 compare.py "$engram" || fail "the table in a terminal"
