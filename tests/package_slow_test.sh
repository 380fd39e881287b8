#!/usr/bin/env bash
# The Debian package, unpacked into a folder: its program runs there, names what it needs, and its
# units are what systemd takes. $1: build folder.
set -euo pipefail
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v dpkg-deb >/dev/null; then
    echo "not tested here: no dpkg-deb"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
package=$("$root/tools/deb" "$build" out)
dpkg-deb -x "$package" tree
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

version=$(sed -n 's/^project(engram VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
[[ $(dpkg-deb -f "$package" Version) == "$version" ]] || fail "it is of $(dpkg-deb -f "$package" Version)"
depends=$(dpkg-deb -f "$package" Depends)
for one in libc6 libdnnl libyaml-0-2 libmicrohttpd libsodium23; do
    [[ $depends == *$one* ]] || fail "it does not depend on $one, but on $depends"
done
dpkg-deb --ctrl-tarfile "$package" | tar -xO ./conffiles | grep -q /etc/default/engram-server ||
    fail "an upgrade would overwrite /etc/default/engram-server"

tree/usr/bin/engram --version | grep -q "$version" || fail "the program is another"
tree/usr/bin/engram run demo --only fedavg --set scale=0.05 --quiet --out runs >run.log ||
    fail "the program does not run: $(cat run.log)"
for file in include/engram/engram.h lib/libengram.a share/doc/engram/README.md \
    share/doc/engram/examples/own_method.c share/engram/experiments/demo.yaml; do
    [[ -n $(find tree/usr -path "*/$file" -o -path "*/$(uname -m)-linux-gnu/${file#lib/}") ]] || fail "$file is missing"
done

# The units: systemd verifies them with the program where it will be, and they close what they can.
if command -v systemd-analyze >/dev/null; then
    for unit in tree/lib/systemd/system/*.service; do
        sed "s|=/usr/bin/engram|=$folder/tree/usr/bin/engram|" "$unit" >"$(basename "$unit")"
        said=$(systemd-analyze verify "./$(basename "$unit")" 2>&1 || true)
        [[ -z $said ]] || fail "$unit: $said"
        exposure=$(systemd-analyze security --offline=true "./$(basename "$unit")" 2>/dev/null |
            sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p')
        [[ -n $exposure && ${exposure%.*} -lt 4 ]] || fail "$unit is exposed: ${exposure:-?} of 10"
    done
fi
# The options of the units are options of this program.
for unit in server device; do
    verb=serve && [[ $unit == server ]] || verb=join
    { tree/usr/bin/engram help "$verb" && tree/usr/bin/engram help run; } >help.txt
    for option in $(grep -oh -e ' --[a-z-]*' -e '"--[a-z-]*' "tree/etc/default/engram-$unit" | tr -d ' "'); do
        grep -q -e "^  $option\b" -e "$option[ ,.]" help.txt || fail "engram-$unit: $verb has no $option"
    done
done
[[ $failures == 0 ]] && echo "$(basename "$package"): it runs where it is unpacked"
exit $((failures > 0))
