#!/usr/bin/env bash
# A server that is not to be trusted, against a device: what is huge, endless, compressed, sent elsewhere or nonsense gets a sentence and
# costs the device at most 1 MB. A proxy before an honest server does it, at one route at a time. $1: the build folder.
set -euo pipefail
engram=$1/engram
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
export TMPDIR=$work

fail() {
    echo "$1" >&2
    tail -n 5 ./*.log >&2 || true
    exit 1
}
cat >t.yaml <<'END_OF_FILE'
name: t
data: {name: glyphs, train: 200, test: 40, classes: 4, size: 8}
model: {name: mlp, depth: 1, width: 16}
scenario: {kind: class-incremental, clients: 1, tasks: 1, rounds: 100000, partition: iid}
train: {epochs: 1, batch: 8}
runs:
- {label: fl, method: fedavg}
END_OF_FILE
cat >proxy.py <<'END_OF_FILE'
import gzip, http.client, http.server, os, subprocess, sys, threading, time
url, engram = sys.argv[1], sys.argv[2]
honest = url.split("//")[1]
bomb = gzip.compress(b"[" * (1 << 26))
mischief = [None, None]
taken = 0 # answers of the device that the honest server has got
class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def send(self, code, body, **headers):
        self.send_response(code)
        for name, value in headers.items(): self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        route, (at, how) = self.path.split("?")[0].rsplit("/", 1)[1], mischief
        try:
            if route == at: return getattr(self, how)()
            c = http.client.HTTPConnection(honest, timeout=60)
            c.request(self.command, self.path, body, {"Authorization": self.headers["Authorization"]})
            answer = c.getresponse(); data = answer.read(); c.close()
            global taken
            taken += route == "reply"
            self.send(answer.status, data)
        except (BrokenPipeError, ConnectionResetError): self.close_connection = True
    do_POST = do_GET
    def huge(self): # more than is announced by anybody sane, as long as it is taken
        self.send_response(200); self.send_header("Content-Length", str(1 << 40)); self.end_headers()
        for _ in range(4096): self.wfile.write(b"[" * (1 << 16))
    def endless(self):
        self.send_response(200); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
        for _ in range(4096): self.wfile.write(b"10000\r\n" + b"[" * (1 << 16) + b"\r\n")
    def compressed(self): self.send(200, bomb, Content_Encoding="gzip")
    def junk(self): self.send(200, os.urandom(3000))
    def deep(self): self.send(200, b"[" * 100000)
    def empty(self): self.send(200, b"")
    def heads(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for i in range(10000000): self.wfile.write(b"X-%d: %s\r\n" % (i, b"x" * 100)) # 1 GB
    def lies(self): # hangs up before all is there
        self.send_response(200); self.send_header("Content-Length", "2000"); self.end_headers(); self.wfile.write(b"[" * 1000)
        self.close_connection = True
    def stops(self):
        self.wfile.write(b"HTTP/1.1 200 O"); self.close_connection = True
    def elsewhere(self): self.send(302, b"", Location="http://192.0.2.1/")
    def teapot(self): self.send(418, b"\x1b[2J\xff" * 2000)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
threading.Thread(target=server.serve_forever, daemon=True).start()
def device(n, seconds, turns=None):
    """Its exit code, its most memory in kB, and what it said; it is ended after so many turns."""
    log = open(f"device{n}.log", "wb")
    p = subprocess.Popen([engram, "join", f"http://127.0.0.1:{server.server_port}", "--client", "0", "--key", "keys.txt", "--state", f"s{n}",
                          "--patience", "1", "--quiet"], stdout=log, stderr=log)
    most, end = 0, time.time() + seconds
    while p.poll() is None and time.time() < end and not (turns and taken >= turns):
        try: most = max([most] + [int(line.split()[1]) for line in open(f"/proc/{p.pid}/status") if line.startswith("VmHWM")])
        except OSError: pass
        time.sleep(0.01)
    over = p.poll()
    p.kill(); p.wait()
    return over, most, open(f"device{n}.log", "rb").read()
_, usual, said = device(0, 300, turns=100)
assert usual > 0 and taken >= 100 and not said, said
n, worst = 0, 0
for at in ("run", "hello", "turn", "download", "reply"):
    for how in ("huge", "endless", "compressed", "junk", "deep", "empty", "heads", "elsewhere", "teapot", "lies", "stops"):
        if at in ("hello", "reply") and how in ("junk", "deep", "empty", "compressed"): continue # a 200 is all that counts of these
        n += 1
        mischief[:] = at, how
        code, most, said = device(n, 120)
        assert code == 1, (at, how, code, said)
        assert said.startswith(b"engram: ") and 20 < len(said) < 3000 and b"\x1b" not in said, (at, how, said)
        assert most < usual + 1024, (at, how, most, usual, said)
        worst = max(worst, most - usual)
print(f"malicious server: {n} kinds of answers, a sentence for each, at most {worst} kB more than an honest server costs")
END_OF_FILE
"$engram" serve t.yaml --keys keys.txt --listen 127.0.0.1:0 --out out --patience 4 >serve.log 2>&1 &
for _ in $(seq 1200); do grep -q '^listening' serve.log && break; sleep 0.05; done
url=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' serve.log)
timeout 1400 python3 proxy.py "$url" "$engram" || fail "a malicious server"
