#!/usr/bin/env bash
# A real server and real devices on this machine's loopback: the same bits as `engram run`, with TLS
# and without, after kills of either side; devices that are lost, strangers, and data of one's own.
# $1: the build folder.
set -euo pipefail
engram=$1/engram
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
export ENGRAM_CHECKPOINT_SECONDS=0.05

fail() {
    echo "$1" >&2
    tail -n 5 ./*.log >&2 || true
    exit 1
}
cat >t.yaml <<'END'
name: t
data: {name: glyphs, train: 480, test: 120, classes: 4, size: 8, mean: 0.1, std: 0.3}
model: {name: mlp, depth: 1, width: 16}
scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 12, partition: iid}
memory: {kind: reservoir, size: 40}
optimizer: {lr: 0.1}
train: {epochs: 1, batch: 8}
re-fed: {size: 60, epochs: 1}
runs:
- {label: refed, method: [er, re-fed, fed-a-gem]}
- {label: fedavg, method: fedavg}
- {label: local, method: local}
END
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/t-*/summary.json; }

# serve OUT OPTION...: a server in the background; $server is its process, $url its address.
serve() {
    local out=$1
    shift
    : >serve.log
    "$engram" serve "$@" --listen "${listen:-127.0.0.1:0}" --out "$out" --quiet >serve.log 2>&1 &
    server=$!
    for _ in $(seq 1200); do
        url=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' serve.log)
        [ -z "$url" ] || return 0
        kill -0 "$server" 2>/dev/null || fail "the server did not start: $(cat serve.log)"
        sleep 0.05
    done
    fail "the server does not listen"
}
# device K OPTION...: a device in the background; its process is ${device[K]}.
device() {
    local k=$1
    shift
    "$engram" join "$url" --client "$k" --key engram-keys.txt --state "$state/$k" --patience 20 \
        "$@" >>"join$k.log" 2>&1 &
    device[k]=$!
}
devices() { for k in 0 1 2; do device "$k" "$@"; done; }
# ended NAME PID: it must end by itself, and well.
ended() { wait "$2" || fail "$1 ended with $?"; }
all_ended() {
    ended "the server" "$server"
    for k in 0 1 2; do ended "device $k" "${device[k]}"; done
}
declare -a device

"$engram" run t.yaml --only refed --quiet --out sim >/dev/null
want=$(hash sim)

# The same bits; the keys are for their owner's eyes; a finished server lets devices go.
state=a
serve one t.yaml --only refed
[ "$(stat -c %a engram-keys.txt)" = 600 ] || fail "others may read the keys"
devices
all_ended
[ "$(hash one)" = "$want" ] || fail "devices change the result"
grep -q "the run is over: 48 turns taken" join0.log || fail "a device was not told the end"
! grep -rqa 'memory\.x' one/t-*/checkpoint || fail "a device's memory is on the server"
! grep -q '"held"' one/t-*/metrics.jsonl || fail "what a device's memory holds is told"
[ -z "$(find a one -perm /077)" ] || fail "others can read what is kept: $(find a one -perm /077 | head -3)"

# Over TLS, with a certificate that the devices know; without it nobody joins.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout tls.key -out tls.pem 2>/dev/null
state=b listen=localhost:0
serve two t.yaml --only refed --cert tls.pem --cert-key tls.key
[[ $url == https://localhost:* ]] || fail "TLS is not said: $url"
code=0
"$engram" join "$url" --client 0 --key engram-keys.txt --state x >stranger.log 2>&1 || code=$?
[ "$code" = 1 ] && grep -q "certificate" stranger.log || fail "a server without a voucher is believed"
# Plain HTTP to it is said at once, and TLS before 1.2 is not spoken.
code=0
timeout 60 "$engram" join "http://${url#https://}" --client 0 --key engram-keys.txt --state x >plain.log 2>&1 || code=$?
[ "$code" = 1 ] && grep -q "speaks TLS; with it the address begins with https://" plain.log || fail "plain HTTP to TLS is not said: $code"
! openssl s_client -connect "${url#https://}" -tls1_1 -cipher ALL:@SECLEVEL=0 </dev/null 2>&1 | grep -q "Cipher is ECDHE" || fail "TLS 1.1 is spoken"
openssl s_client -connect "${url#https://}" -tls1_2 </dev/null 2>&1 | grep -q "Cipher is ECDHE" || fail "TLS 1.2 is not spoken"
devices --ca tls.pem
all_ended
[ "$(hash two)" = "$want" ] || fail "TLS changes the result"
listen=127.0.0.1:0

# Both sides killed, again and again: the server goes on from its last commit, devices from theirs.
state=c
longer=(t.yaml --only refed --set scenario.rounds=150)
rounds() { cat "$1"/t-*/metrics.jsonl 2>/dev/null | grep -c '"event":"round"' || true; }
"$engram" run "${longer[@]}" --quiet --out long >/dev/null
serve three "${longer[@]}"
devices
port=${url##*:} killed=0
for i in 1 2 3 4; do
    until [ "$(rounds three)" -ge $((15 * i)) ] || compgen -G "three/t-*/summary.json" >/dev/null; do sleep 0.02; done
    k=$((i % 3))
    { kill -9 "${device[k]}" && wait "${device[k]}"; } 2>/dev/null || true
    if [ $((i % 2)) = 0 ] && ! compgen -G "three/t-*/summary.json" >/dev/null; then
        { kill -9 "$server" && wait "$server"; } 2>/dev/null || true
        killed=$((killed + 1))
        listen=127.0.0.1:$port
        serve three "${longer[@]}" --resume
    fi
    device "$k"
done
all_ended
[ "$killed" -gt 0 ] || fail "the run was too short to be killed"
[ "$(hash three)" = "$(hash long)" ] || fail "kills change the result"
listen=127.0.0.1:0

# Ctrl-C stops at a checkpoint, and says what goes on.
state=h
serve eight "${longer[@]}"
devices
until [ "$(rounds eight)" -ge 3 ]; do sleep 0.02; done
kill -INT "$server"
code=0
wait "$server" || code=$?
if ! compgen -G "eight/t-*/summary.json" >/dev/null; then
    [ "$code" = 1 ] && grep -q "'engram serve --resume eight/t-refed-s0-[0-9a-f]* --listen 127.0.0.1:0 --quiet' goes on" serve.log || fail "Ctrl-C does not say what goes on"
    listen=127.0.0.1:${url##*:}
    serve eight --resume eight/t-refed-s0-*
    ended "the resumed server" "$server"
fi
for k in 0 1 2; do ended "device $k" "${device[k]}"; done
[ "$(hash eight)" = "$(hash long)" ] || fail "Ctrl-C changes the result"
listen=127.0.0.1:0

# A device that never comes is lost each round, and the run goes on without it.
state=d
serve four t.yaml --only fedavg --at-least 2 --patience 5
device 0
device 2
ended "the server" "$server"
grep -q "its device is not there" four/t-*/metrics.jsonl || fail "nobody missed the device"
[ "$(grep -c '"event":"round".*"lost":\[1\]' four/t-*/metrics.jsonl)" = 24 ] || fail "not lost in each round"

# Strangers and mistakes, each in one sentence.
refused() {
    local words=$1 code=0
    shift
    "$engram" "$@" >out.log 2>err.log || code=$?
    [ "$code" = 1 ] && [ "$(wc -l <err.log)" = 1 ] && grep -qF -- "$words" err.log ||
        fail "$*: exit $code, $(cat err.log)"
}
state=e
serve five t.yaml --only fedavg
printf '%s 0123456789abcdef0123456789abcdef\n' 0 7 >wrong.txt
refused "others than its owner can get at the keys" join "$url" --client 0 --key wrong.txt --state e
chmod 600 wrong.txt
# The server may hang up before it has answered; then the device says so, and tries once more.
code=0
"$engram" join "https://${url#http://}" --client 0 --key wrong.txt --state e >out.log 2>err.log || code=$?
[ "$code" = 1 ] && tail -n 1 err.log | grep -qF "does not speak TLS" && [ "$(wc -l <err.log)" -le 2 ] ||
    fail "https to a port of http: exit $code, $(cat err.log)"
refused "its key is another" join "$url" --client 0 --key wrong.txt --state e
refused "its key is another" join "$url" --client 7 --key wrong.txt --state e
refused "no key of client 2" join "$url" --client 2 --key wrong.txt --state e
refused "another instruction set than the server: plain, not" join "$url" --client 0 --key engram-keys.txt --state e --isa plain
refused "serve without --own-data" join "$url" --client 0 --key engram-keys.txt --state e --own-data
refused "only https:// leads to other machines" join http://192.0.2.1:1 --client 0 --key engram-keys.txt
refused "is no address" join localhost --client 0 --key engram-keys.txt
refused "TLS alone" serve t.yaml --only fedavg --listen 0.0.0.0:0 --out six
refused "cannot listen" serve t.yaml --only fedavg --listen "127.0.0.1:${url##*:}" --out six
refused "a server cannot test it" serve t.yaml --only local --listen 127.0.0.1:0 --out six
rm -rf six
curl_code() { "${curl[@]}" -o /dev/null -w '%{http_code}' "$@"; }
curl=(curl -s --noproxy '*')
[ "$(curl_code "$url/")" = 404 ] || fail "a page is there"
[ "$(curl_code "$url/engram/1/run?client=0")" = 401 ] || fail "the run is told to anyone"
key=$(sed -n 's/^0 //p' engram-keys.txt)
[ "$(curl_code -H "Authorization: Bearer $key" "$url/engram/1/turn?client=0")" = 428 ] || fail "no hello is needed"
[ "$(curl_code -H "Authorization: Bearer $key" -d '{"protocol":1}' "$url/engram/1/hello?client=0")" = 400 ] || fail "any hello will do"
[ "$(curl_code -H "Authorization: Bearer $key" -d junk "$url/engram/1/reply?client=0&number=4294967296")" = 428 ] || fail "any reply will do"
kill -INT "$server"
code=0
wait "$server" || code=$?
[ "$code" = 1 ] && grep -q "0 of 3 devices were there" serve.log || fail "Ctrl-C does not end the wait"

# Data of one's own: every device trains on an array that nobody else has.
python3 - "$work" <<'END'
import random, struct, sys
def npy(path, code, shape, data):
    head = str({"descr": code, "fortran_order": False, "shape": shape})
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
import os
for k in range(3):
    folder = f"{sys.argv[1]}/mine{k}"
    os.mkdir(folder)
    r = random.Random(k)
    for split, n in (("train", 40 + 8 * k), ("test", 8)):
        y = [i % 4 for i in range(n)]
        x = b"".join(bytes([min(255, 60 * c + r.randrange(40)) for _ in range(64)]) for c in y)
        npy(f"{folder}/x_{split}.npy", "|u1", (n, 1, 8, 8), x)
        npy(f"{folder}/y_{split}.npy", "|u1", (n,), bytes(y))
END
state=f
serve seven t.yaml --only refed --own-data --set data=npy --set data.path="$work/mine0" --set data.classes=4
for k in 0 1 2; do device "$k" --own-data --set data.path="$work/mine$k"; done
all_ended
grep -q '"samples":[0-9]*' seven/t-*/metrics.jsonl
[ "$(sed -n 's/.*"round":1,.*"samples":\([0-9]*\).*/\1/p' seven/t-*/metrics.jsonl | head -1)" = 72 ] ||
    fail "the devices did not train on their own data"

# A device in another language among them, with a linear network.
state=j
serve nine t.yaml --only fedavg --own-data --mixed --set model.depth=0 --set data=npy --set data.path="$work/mine0" --set data.classes=4
for k in 0 1; do device "$k" --own-data --set data.path="$work/mine$k"; done
python3 "$here/device.py" "$url" 2 engram-keys.txt mine2/x_train.npy mine2/y_train.npy >python.log 2>&1 || fail "the Python device: $(cat python.log)"
ended "the server" "$server"
for k in 0 1; do ended "device $k" "${device[k]}"; done
grep -q "the run is over: 24 turns taken" python.log || fail "the Python device was not taken: $(cat python.log)"
! grep -q '"event":"left_out"' nine/t-*/metrics.jsonl || fail "somebody was left out beside the Python device"

echo "devices: the same bits on loopback, over TLS and after kills: $want"
