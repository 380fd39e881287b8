#!/usr/bin/env bash
# Two hosts on one machine: network namespaces with addresses of their own, a rank in each, over
# TCP. The same bits; and when the link is cut the run ends with a sentence and goes on from its last
# commit. It needs root and iproute2.
set -euo pipefail
build=$(cd "$1" && pwd)
command -v mpirun ip unshare >/dev/null && [ -e "$build/engram_mpi.so" ] && [ "$(id -u)" = 0 ] || exit 77
engram=$build/engram
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
here=eg$$a there=eg$$b
ip netns add "$here" || exit 77
trap 'kill $(jobs -p) 2>/dev/null || true; ip netns del $here; ip netns del $there; rm -rf "$work"' EXIT
ip netns add "$there"
ip link add "$here" type veth peer name "$there"
for side in "$here 10.77.0.1" "$there 10.77.0.2"; do
    set -- $side
    ip link set "$1" netns "$1"
    ip -n "$1" addr add "$2/24" dev "$1"
    ip -n "$1" link set lo up
    ip -n "$1" link set "$1" up
done
# What stands for ssh: the other host's name, and what is to be run there.
cat >"$work/agent" <<END
#!/bin/sh
shift
exec ip netns exec $there unshare -u sh -c "hostname hostb; \$*"
END
chmod +x "$work/agent"
# Keepalive: mpirun misses a host whose link is cut after seconds, not after minutes.
two_hosts() {
    ip netns exec "$here" unshare -u sh -c 'hostname hosta; exec "$@"' - timeout 300 mpirun \
        --host 10.77.0.1,10.77.0.2 --mca plm_rsh_agent "$work/agent" \
        --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
        --mca oob_tcp_if_include 10.77.0.0/24 --mca oob_tcp_keepalive_time 5 \
        --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 3 \
        -x ENGRAM_CHECKPOINT_SECONDS -n 2 "$@"
}
cat >"$work/net.yaml" <<'END'
name: net
data: {name: glyphs, train: 1200, test: 100}
model: cnn-small
scenario: {kind: class-incremental, clients: 6, tasks: 5, rounds: 30, partition: {kind: iid}}
memory: {kind: reservoir, size: 100}
optimizer: {lr: 0.02}
train: {epochs: 1, batch: 16}
runs:
- {label: er, method: [er, fed-a-gem]}
END
hash() { sed -n 's/.*"params_sha256": *"\([0-9a-f]*\)".*/\1/p' "$1"/net-er-s0-*/summary.json; }
run=("$engram" run "$work/net.yaml" --quiet)
export ENGRAM_CHECKPOINT_SECONDS=0.2
"${run[@]}" --out "$work/alone" >/dev/null
two_hosts "${run[@]}" --out "$work/two" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
[ "$(hash "$work/alone")" = "$(hash "$work/two")" ] || { echo "two hosts: other bits"; exit 1; }
two_hosts sh -c '[ "$(hostname)" = hosta ] || set -- "$@" --isa plain; exec "$@"' - \
    "${run[@]}" --out "$work/refused" >"$work/log" 2>&1 && { echo "not refused"; exit 1; }
grep -q '^engram: rank 1 on hostb has another instruction set than rank 0 on hosta' "$work/log" ||
    { cat "$work/log"; exit 1; }

two_hosts "${run[@]}" --out "$work/cut" >"$work/log" 2>&1 &
until [ -s "$(echo "$work"/cut/net-er-s0-????????/checkpoint/ledger.txt)" ]; do sleep 0.05; done
ip -n "$here" link set "$here" down
SECONDS=0 code=0
wait $! || code=$?
[ "$code" != 0 ] || { echo "it ended well without its other host"; exit 1; }
grep -qE 'lost communication with a remote daemon|^engram: rank 1 on hostb (has not|cannot)' "$work/log" ||
    { echo "the cut link is not said"; cat "$work/log"; exit 1; }
echo "the cut was said, and the run at its end, after $SECONDS s"
"${run[@]}" --out "$work/cut" --resume >/dev/null
[ "$(hash "$work/alone")" = "$(hash "$work/cut")" ] || { echo "resumed: other bits"; exit 1; }
echo "two hosts over TCP, one cut off and resumed: the same bits"
