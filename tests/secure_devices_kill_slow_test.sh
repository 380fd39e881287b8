#!/usr/bin/env bash
# Ten devices whose sums are masked: they and their server are killed at random moments, again and
# again, and started anew; the run must come to its end, and no sum may be wrong: what the model
# loses by it is places in sums, no more. KILLS says how often, if not forty times. $1: the build folder.
set -euo pipefail
engram=$1/engram
kills=${KILLS:-40}
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
cat >t.yaml <<'END'
name: t
data: {name: glyphs, train: 2000, test: 200, classes: 4, size: 8, mean: 0.1, std: 0.3}
model: {name: mlp, depth: 1, width: 16}
scenario: {kind: class-incremental, clients: 10, tasks: 1, rounds: 40, partition: iid}
optimizer: {lr: 0.1}
train: {epochs: 1, batch: 8}
secure: masked
runs:
- {label: all, method: fedavg}
END
value() { sed -n 's/.*"acc_final": *\([0-9.]*\).*/\1/p' "$1"/t-*/summary.json; }
"$engram" run t.yaml --quiet --out whole >/dev/null
for k in 0 1 2 3 4 5 6 7 8 9; do
    public=$("$engram" key new "key$k" --client "$k" | grep -o 'ed25519:[0-9a-f]*')
    "$engram" key add keys.txt --client "$k" --public "$public" >/dev/null
done
port=$((20000 + RANDOM % 20000))
export ENGRAM_CHECKPOINT_SECONDS=0.05
# Not functions with commands around: a job must be the program itself, to be killed.
start_server() {
    "$engram" serve t.yaml --out run --quiet --resume --listen "127.0.0.1:$port" --keys keys.txt \
        --at-least 7 --patience 2 >>server.log 2>&1 &
    server=$!
}
start_device() {
    "$engram" join "http://127.0.0.1:$port" --client "$1" --key "key$1" --members keys.txt \
        --state "device$1" --quiet --patience 60 >>"device$1.log" 2>&1 &
    device[$1]=$!
}
declare -a device
killed=0 servers=0
start_server
for k in 0 1 2 3 4 5 6 7 8 9; do start_device "$k"; done
while [ "$killed" -lt "$kills" ] && ! compgen -G "run/t-*/summary.json" >/dev/null; do
    sleep "0.$((RANDOM % 4))$((RANDOM % 10 + 1))"
    victim=$((RANDOM % 11))
    if [ "$victim" = 10 ]; then
        { kill -9 "$server" && wait "$server"; } 2>/dev/null || true
        servers=$((servers + 1))
        compgen -G "run/t-*/summary.json" >/dev/null || start_server
    else
        { kill -9 "${device[victim]}" && wait "${device[victim]}"; } 2>/dev/null || true
        start_device "$victim"
    fi
    killed=$((killed + 1))
done
for _ in $(seq 3000); do
    compgen -G "run/t-*/summary.json" >/dev/null && break
    kill -0 "$server" 2>/dev/null || start_server
    sleep 0.1
done
compgen -G "run/t-*/summary.json" >/dev/null || { tail -n 3 ./*.log; echo "the run does not end"; exit 1; }
got=$(value run) want=$(value whole)
awk -v got="$got" -v want="$want" 'BEGIN { exit !(got > want - 0.1) }' ||
    { echo "accuracy $got, and $want without kills: a sum was wrong"; exit 1; }
out=$(grep -c '"event":"left_out"' run/t-*/metrics.jsonl || true)
none=$(grep -c '"event":"skipped"' run/t-*/metrics.jsonl || true)
! grep -l "ed25519-secret" run/t-*/* 2>/dev/null || { echo "a secret is in a log"; exit 1; }
echo "killed $killed times, the server $servers times; $out places lost, $none rounds without a sum; accuracy $got, $want without kills"
