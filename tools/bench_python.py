#!/usr/bin/env python3
"""What a method in Python costs beside the same in C, and what `import engram` takes.

    PYTHONPATH=build/release/python tools/bench_python.py [--pairs 4]

fedprox as a class and as the engine has it, in alternation, on rotated MNIST with cnn-small and
one worker: seconds of CPU and of the clock, and the ratios. Both must end with the same weights.
"""

import argparse
import subprocess
import sys
import tempfile
import time

import engram as eg
import numpy as np


class PyProx(eg.Method):
    """holds each client near the global model"""

    mu = eg.option(0.01, 0, 1e3, "strength of the pull")

    def grad(self, client):
        client.grad += np.float32(self.mu) * (client.param - client.global_param)


SECTIONS = dict(data=dict(name="mnist", share=0.25), model="cnn-small",
                scenario=dict(kind="domain-rotation", clients=5, tasks=2, rounds=3,
                              partition="iid"),
                train=dict(batch=32, epochs=1), optimizer=dict(lr=0.05))


def seconds_of(method, out):
    made = eg.Experiment(name="cost", method=method, **SECTIONS)
    since, cpu = time.perf_counter(), time.process_time()
    run = made.run(out=out, workers=1, progress=False)[0]
    return time.process_time() - cpu, time.perf_counter() - since, run["params_sha256"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=4)
    pairs = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as folder:
        seconds_of("fedprox", folder + "/warm")
        sums = np.zeros(4)
        for k in range(pairs):
            *in_c, c_sha = seconds_of("fedprox", f"{folder}/c{k}")
            *in_python, python_sha = seconds_of(PyProx, f"{folder}/p{k}")
            assert c_sha == python_sha, "other weights"
            sums += [*in_c, *in_python]
            print(f"C {in_c[0]:.2f} s of CPU ({in_c[1]:.2f} s), Python {in_python[0]:.2f} s "
                  f"({in_python[1]:.2f} s), ratio {in_python[0] / in_c[0]:.3f}")
        print(f"all: CPU {sums[2] / sums[0]:.3f}, clock {sums[3] / sums[1]:.3f}")
    for name in ("numpy", "engram"):
        since = time.perf_counter()
        for _ in range(5):
            subprocess.run([sys.executable, "-c", f"import {name}"], check=True)
        print(f"python3 -c 'import {name}': {(time.perf_counter() - since) / 5:.3f} s")
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", "import engram"],
                          capture_output=True, text=True, check=True)
    print(f"import engram: {int(done.stderr.splitlines()[-1].split('|')[1]) / 1e6:.3f} s")


if __name__ == "__main__":
    main()
