#!/usr/bin/env bash
# Whom a device believes: certificates of another name, of another address, of nobody, that have expired; a server that stops in
# the middle or whose head has no end, over TLS; a name that is not looked up. With every HTTP client there is. $1: the build folder.
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

certificate() { # certificate NAME ALTERNATIVE DAYS: NAME.pem and NAME.key
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days "$3" -subj "/CN=$1" \
        -addext "subjectAltName=$2" -keyout "$1.key" -out "$1.pem" 2>/dev/null
}
certificate here DNS:localhost,IP:127.0.0.1 2
certificate name DNS:localhost 2
certificate elsewhere DNS:server.example 2
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=late -keyout late.key -out late.csr 2>/dev/null
printf '[ca]\ndefault_ca=d\n[d]\ndatabase=index\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\nx509_extensions=x\n[p]\n%s\n[x]\n%s\n' \
    commonName=supplied subjectAltName=DNS:localhost >ca.conf
: >index
echo 01 >serial
openssl ca -batch -config ca.conf -selfsign -keyfile late.key -in late.csr -startdate 200101000000Z -enddate 210101000000Z -out late.pem 2>/dev/null
printf '0 a-word-of-sixteen-or-more\n' >keys.txt
chmod 600 keys.txt
cat >server.py <<'END_OF_FILE'
import socket, ssl, subprocess, sys, threading, time
how = ["refuses"]
def answer(c):
    c.settimeout(10)
    c.recv(65536)
    if how[0] == "refuses": c.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 7\r\n\r\nnot you")
    if how[0] == "stops": c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 700\r\n\r\nnot")
    if how[0] == "lies": c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 70000000000\r\n\r\nnot")
    if how[0] == "heads":
        c.sendall(b"HTTP/1.1 200 OK\r\n")
        for i in range(1 << 20): c.sendall(b"X: " + b"x" * 1020 + b"\r\n")
    c.close()
def serve(name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(name + ".pem", name + ".key")
    at = socket.create_server(("127.0.0.1", 0))
    def live():
        while True:
            c, _ = at.accept()
            def one(c=c):
                try: answer(context.wrap_socket(c, server_side=True))
                except OSError: pass
            threading.Thread(target=one, daemon=True).start()
    threading.Thread(target=live, daemon=True).start()
    return at.getsockname()[1]
ports = {name: serve(name) for name in ("here", "name", "elsewhere", "late")}
def join(engram, host, name, *words):
    """Its most memory in kB, and what it said."""
    log = open("log", "wb")
    p = subprocess.Popen([engram, "join", f"https://{host}:{ports[name]}", "--client", "0", "--key", "keys.txt", "--state", "s",
                          "--patience", "1", *words], stdout=log, stderr=log)
    most, end = 0, time.time() + 20
    while p.poll() is None and time.time() < end:
        try: most = max([most] + [int(line.split()[1]) for line in open(f"/proc/{p.pid}/status") if line.startswith("VmHWM")])
        except OSError: pass
        time.sleep(0.001)
    code = p.poll()
    p.kill(); p.wait()
    said = open("log").read()
    assert code == 1 and said.startswith("engram"), (engram, host, name, words, code, said)
    return most, said
n = 0
for engram in sys.argv[1:]:
    def expect(words, *call):
        global n
        n += 1
        how[0] = "refuses"
        said = join(engram, *call)[1]
        assert words in said and said.count("\n") == 1, (engram, call, said)
    expect("not you", "localhost", "here", "--ca", "here.pem")
    expect("not you", "127.0.0.1", "here", "--ca", "here.pem")
    expect("not you", "server.example", "elsewhere", "--ca", "elsewhere.pem", "--address", "127.0.0.1")
    for wrong in (("localhost", "elsewhere", "--ca", "elsewhere.pem"), # another name
                  ("127.0.0.1", "name", "--ca", "name.pem"), # not of the address
                  ("server.example", "here", "--ca", "here.pem", "--address", "127.0.0.1"),
                  ("localhost", "here"), ("localhost", "here", "--ca", "name.pem"), # nobody vouches for it
                  ("localhost", "late", "--ca", "late.pem")):
        expect("certificate", *wrong)
    expect("is no address", "localhost", "here", "--ca", "here.pem", "--address", "here")
    usual = max(join(engram, "localhost", "here", "--ca", "here.pem")[0] for _ in range(3))
    if b"__asan_init" in open(engram, "rb").read(): usual += 32768 # what is freed is kept, up to 16 MB
    for how[0] in ("stops", "lies", "heads"):
        n += 1
        most, said = join(engram, "localhost", "here", "--ca", "here.pem")
        assert len(said) < 1000 and most < usual + 1024, (engram, how, most, usual, said)
print(f"tls: {n} sentences")
END_OF_FILE
programs=()
for program in engram small/engram engram-client; do
    [ ! -x "$build/$program" ] || programs+=("$build/$program")
done
timeout 180 python3 server.py "${programs[@]}"
