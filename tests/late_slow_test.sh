#!/usr/bin/env bash
# Devices that are late, and devices that are lost: with `server.late: buffer` what comes later counts by its age, and
# a run in which somebody was left out or late is carried out again from its log, to the same bits. $1: the build folder.
set -euo pipefail
engram=$1/engram
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
export ENGRAM_CHECKPOINT_SECONDS=0.05 TMPDIR=$work

fail() {
    echo "$1" >&2
    tail -n 5 ./*.log >&2 || true
    exit 1
}
cat >t.yaml <<'END'
name: t
data: {name: glyphs, train: 960, test: 120, classes: 4, size: 8, mean: 0.1, std: 0.3}
model: {name: mlp, depth: 1, width: 32}
scenario: {kind: class-incremental, clients: 4, tasks: 2, rounds: 20, partition: iid}
memory: {kind: reservoir, size: 40}
train: {epochs: 600, batch: 8}
runs:
- {label: gem, method: [er, fed-a-gem]}
- {label: masked, method: er, overrides: {secure: {kind: masked}, train: {epochs: 2}}}
END
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/t-*/summary.json; }
events() { cat "$1"/t-*/metrics.jsonl 2>/dev/null | grep -c "\"event\":\"$2\"" || true; }
# until_events OUT EVENT N: waits until there are as many, for half a minute.
until_events() {
    for _ in $(seq 1500); do
        [ "$(events "$1" "$2")" -lt "$3" ] || return 0
        sleep 0.02
    done
    fail "$1 has $(events "$1" "$2") $2 events, not $3"
}
until_rounds() { until_events "$1" round "$2"; }
# stop K: in the middle of a turn, which it has taken and not answered.
stop() {
    local turns
    turns=$(grep -c training "join$1.log" || true)
    for _ in $(seq 3000); do
        [ "$(grep -c training "join$1.log" || true)" = "$turns" ] || break
        sleep 0.005
    done
    kill -STOP "${device[$1]}"
}
more_rounds() { until_rounds "$1" $(($(events "$1" round) + $2)); }
serve() { # OUT OPTION...
    local out=$1
    shift
    : >"$out.log"
    "$engram" serve "$@" --listen "127.0.0.1:${port:-0}" --out "$out" >"$out.log" 2>&1 &
    server=$!
    for _ in $(seq 1200); do
        url=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' "$out.log")
        [ -z "$url" ] || return 0
        kill -0 "$server" 2>/dev/null || fail "the server did not start: $(cat "$out.log")"
        sleep 0.05
    done
    fail "the server does not listen"
}
declare -a device
join() { # K OPTION...
    local k=$1
    shift
    "$engram" join "$url" --client "$k" --state "$state/$k" --patience 30 "$@" >>"join$k.log" 2>&1 &
    device[k]=$!
}
devices() { for k in 0 1 2 3; do join "$k" "$@"; done; }
gone() { { kill -9 "$1" && wait "$1"; } 2>/dev/null || true; }
ended() {
    wait "$server" || fail "the server ended with $?"
    for k in 0 1 2 3; do wait "${device[k]}" || fail "device $k ended with $?"; done
}
# replays OUT: the run there, once more from its log, with another number of workers and in processes.
replays() {
    "$engram" run --replay "$1"/t-* --out "$1-again" --workers 2 >"$1-again.log" 2>&1 || fail "the replay of $1 failed"
    grep -q "the replay has the same bits" "$1-again.log" || fail "the replay of $1 says nothing"
    [ "$(hash "$1")" = "$(hash "$1-again")" ] || fail "the replay of $1 has other bits"
    for what in left_out late; do
        [ "$(events "$1" $what)" = "$(events "$1-again" $what)" ] || fail "the replay of $1 has other $what lines"
    done
}
"$engram" run t.yaml --only gem --quiet --out sim >/dev/null

# One device is stopped for some rounds, twice, and the server is killed meanwhile: answers count later.
state=a
serve late t.yaml --only gem --set server.late=buffer --deadline 0.6 --patience 30
devices --key engram-keys.txt
until_rounds late 3
for _ in 1 2 3; do # what was stopped may have answered already
    stop 2
    more_rounds late 3
    kill -CONT "${device[2]}"
    for _ in $(seq 100); do
        [ "$(events late late)" -lt 1 ] || break 2
        sleep 0.02
    done
done
until_events late late 1
gone "$server"
port=${url##*:}
serve late --resume late/t-gem-* --deadline 0.6 --patience 30
unset port
more_rounds late 2
stop 1
more_rounds late 2
kill -CONT "${device[1]}"
ended
[ "$(events late late)" -ge 1 ] || fail "no answer came late"
grep '"event":"late"' late/t-*/metrics.jsonl | grep -q '"age":[1-9]' || fail "a late answer has no age"
grep -q "has not come yet" late/t-*/metrics.jsonl || fail "who is late is asked for more"
[ "$(hash late)" != "$(hash sim)" ] || fail "late answers change nothing"
replays late

# Devices that are killed and come back are left out, some in the middle of a round.
state=b
serve lost t.yaml --only gem --set train.epochs=10 --patience 0.7 --deadline 0.7
devices --key engram-keys.txt
for k in 1 3 2; do
    more_rounds lost 2
    gone "${device[k]}"
    more_rounds lost 1
    join "$k" --key engram-keys.txt
done
ended
[ "$(events lost left_out)" -ge 1 ] || fail "nobody was left out"
replays lost

# The same in masked sums: the sum of those who were in it.
for k in 0 1 2 3; do
    public=$("$engram" key new "key$k" --client "$k" | grep -o 'ed25519:[0-9a-f]*')
    "$engram" key add keys.txt --client "$k" --public "$public" >/dev/null
done
state=c
serve hidden t.yaml --only masked --patience 0.7 --deadline 0.7 --keys keys.txt
for k in 0 1 2 3; do join "$k" --key "key$k" --members keys.txt; done
for k in 1 3; do
    more_rounds hidden 2
    gone "${device[k]}"
    more_rounds hidden 1
    join "$k" --key "key$k" --members keys.txt
done
ended
[ "$(events hidden left_out)" -ge 1 ] || fail "nobody was left out of a sum"
replays hidden

# What has no whole log, or is none, is refused.
sed -i '/"event":"left_out"/{s/left_out/left_off/;:a;n;ba}' lost/t-*/metrics.jsonl
"$engram" run --replay lost/t-* --out none >refused.log 2>&1 && fail "a changed log is replayed"
grep -q "damaged" refused.log || fail "a changed log is not named"
"$engram" run --replay t.yaml >refused.log 2>&1 && fail "a file is replayed"
grep -q -- "--replay is for the folder of a finished run" refused.log || fail "a file is not refused in words"
