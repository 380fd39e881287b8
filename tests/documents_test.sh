#!/usr/bin/env bash
# The commands in README.md, CONTRIBUTING.md and docs/*.md: those in a block ```sh are run in the
# order they stand in, each document in a folder that holds the experiments alone, and smaller than
# written (scale, steps, seconds); those in a block ```sh no-run, and those of results, need hours,
# devices or machines. Of all kinds every verb and option must be there. A block ```yaml that begins
# with "# NAME.yaml" is written as this file. $1: build folder.
set -euo pipefail
command -v python3 >/dev/null || exit 77
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$build:$PATH python3 - "$root" "$build" "$work" <<'PYTHON'
import os, pathlib, re, shlex, subprocess, sys, time

root, build, work = map(pathlib.Path, sys.argv[1:])
failures = []
environment = {k: v for k, v in os.environ.items() if not k.startswith("ENGRAM_")}
environment["ENGRAM_CACHE"] = str(work / "cache")
SMALLER = {"run": " --set scale=0.05", "compare": " --set scale=0.05", "serve": " --set scale=0.05 --listen 127.0.0.1:0",
           "bench": " --seconds 0.01"}


def blocks(text, folder):
    """(the line, whether it is run, the commands) of every block ```sh."""
    for found in re.finditer(r"^```(?:sh( no-run)?|yaml)\n(.*?)^```", text, re.M | re.S):
        if found[0].startswith("```yaml"):
            if named := re.match(r"# ([\w.-]+\.yaml)\n", found[2]):
                (folder / named[1]).write_text(found[2])
            continue
        lines = re.sub(r"\\\n\s*", "", found[2]).splitlines()
        lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in lines]
        yield text[:found.start()].count("\n") + 2, not found[1], [line for line in lines if line]


def options_of(verb, known={}):
    if verb not in known:
        text = subprocess.run(["engram", verb, "--help"], capture_output=True, text=True).stdout
        known[verb] = set(re.findall(r"^  (--[a-z-]+)", text, re.M))
    return known[verb]


def verb_of(command):
    """The verb of a call of engram, wherever it stands in the command; None: it is no call."""
    words = shlex.split(command.removesuffix("&"))
    at = next((i for i, w in enumerate(words) if os.path.basename(w) == "engram"), None)
    return None if at is None or at + 1 == len(words) else (words[at + 1], words[at + 2:])


def check(place, command):
    call = verb_of(command)
    if call is None:
        return
    verb, words = call
    if not options_of(verb):
        failures.append(f"{place}: there is no verb '{verb}'")
    for word in words:
        option = word.split("=")[0]
        if word.startswith("--") and option not in options_of(verb):
            failures.append(f"{place}: {verb} has no option '{option}'")


def run(place, command, folder, served):
    call = verb_of(command)
    verb = call[0] if call else ""
    small = re.sub(r"--steps \d+", "--steps 20", command.removesuffix("&")) + SMALLER.get(verb, "")
    how = dict(cwd=folder, env=environment, shell=True, text=True, executable="/bin/bash")
    start = time.time()
    if verb == "serve":
        log = open(folder / "serve.log", "w")
        served["process"] = subprocess.Popen("exec " + small, stdout=log, stderr=subprocess.STDOUT, **how)
        while time.time() < start + 300 and served["process"].poll() is None:
            if found := re.search(r"listening on (\S+);", (folder / "serve.log").read_text()):
                served["url"] = found[1]
                return
            time.sleep(0.1)
        failures.append(f"{place}: {command}: {(folder / 'serve.log').read_text()}")
        return
    if verb == "join":
        small = "timeout 300 " + re.sub(r"https?://\S+", served.get("url", ""), small)
    done = subprocess.run(small, capture_output=True, **how)
    good = "round 1/" in done.stdout if verb == "join" else done.returncode == 0
    if not good:
        failures.append(f"{place}: {small}: exit code {done.returncode}: {done.stderr or done.stdout}")
    print(f"{time.time() - start:6.1f} s  {small}", flush=True)


for path in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
    name, served = path.relative_to(root), {}
    folder = work / str(name).replace("/", "-")
    (folder / "build").mkdir(parents=True)
    (folder / "experiments").symlink_to(root / "experiments")
    (folder / "build/release").symlink_to(build)
    for line, is_run, commands in blocks(path.read_text(), folder):
        for command in commands:
            check(f"{name}:{line}", command)
            if is_run and not str(name).startswith("docs/results"):
                run(f"{name}:{line}", command, folder, served)
    if "process" in served:
        served["process"].kill()
        served["process"].wait()
print("\n".join(failures))
sys.exit(bool(failures))
PYTHON
