#!/usr/bin/env bash
# A run that is shown while it goes on: the list of runs, its page, that of its experiment, and the answer that
# something has changed, which is what the page waits for. $1: build folder.
set -euo pipefail
engram=$(cd "$1" && pwd)/engram
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
cat >t.yaml <<'YAML'
name: t
data: {name: glyphs, train: 2000, test: 500}
model: {name: mlp, width: 100}
scenario: {kind: class-incremental, clients: 4, tasks: 2, rounds: 2000, partition: iid}
runs:
- {label: avg, method: fedavg}
YAML
"$engram" run t.yaml --live 0 --quiet >said 2>where &
pid=$!
cat >look.py <<'PYTHON'
import re, sys, time, urllib.error, urllib.request

def wait_for(what, seconds=60):
    end = time.time() + seconds
    while time.time() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    sys.exit("nothing came of it")

url = wait_for(lambda: re.search(r"http://127\.0\.0\.1:\d+/", open("where").read()))[0]

def get(path, **more):
    with urllib.request.urlopen(urllib.request.Request(url + path, **more), timeout=60) as answer:
        return answer.read().decode()

def code(path, **more):
    try:
        get(path, **more)
        return 200
    except urllib.error.HTTPError as e:
        return e.code

index = wait_for(lambda: (lambda t: t if "<td>running, " in t else None)(get("")))
page = re.search(r'href="(t-avg-[^"]*/report\.html)"', index)[1]
first = get(page)
assert "is not finished" in first and "fetch('/changed?number=" in first
number = int(re.search(r"changed\?number=(\d+)", first)[1])
assert int(get("changed?number=%d" % number)) > number, "a log that grows is told"
wait_for(lambda: "data-chart=\"loss\"" in get(page))
assert "<h1>t" in get("t.html")
assert code("nothing") == code("t-none/report.html") == code("..%2f..%2fetc/passwd.html") == 404
assert code("", data=b"x") == 405 or code("", data=b"x") == 413
PYTHON
python3 look.py
"$engram" run t.yaml --out other --live "$(sed 's/.*:\([0-9]*\)\/$/\1/' where)" >twice 2>&1 && { echo "a port is used twice"; exit 1; }
grep -q "in use" twice || { cat twice; exit 1; }
kill -INT "$pid"
wait "$pid" || true
pid=
[ -s runs/t-avg-*/metrics.jsonl ]
echo "runs are seen while they go on"
