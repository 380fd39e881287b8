#!/usr/bin/env python3
# fed_a_gem_angles - the angles that Fed-A-GEM's public code gives the tasks of rotated MNIST.
# SPDX-License-Identifier: Apache-2.0
#
#   tools/fed_a_gem_angles.py [--method fl|a-gem|der] [--fed-a-gem] [--clients 10] [--memory 200]
#                             [--interval 1]
#
# That code (github.com/shenghongdai/Fed-A-GEM, commit a01b875) draws everything from NumPy's one
# stream: the clients' shards first, then at the start of each task its angle, and in between what
# memories take and give. So the angles follow from the seed, and from how often the method has
# asked its memories before. This goes through the same draws, without training, and prints the
# setting `scenario.turns` of the experiments: a list for each of the seeds 0 to 4.
# Needs NumPy (tools/setup torch).
import argparse

import numpy

TASKS, ROUNDS, SAMPLES, BATCH, REPLAYED = 10, 20, 60000, 32, 32


class Memory:
    """What a reservoir draws, without what it holds."""

    def __init__(self, size):
        self.size, self.seen = size, 0

    def take(self):
        if self.seen >= self.size:
            numpy.random.randint(0, self.seen + 1)
        self.seen += 1

    def give(self):
        held = min(self.seen, self.size)
        numpy.random.choice(held, size=min(REPLAYED, held), replace=False)


def deal_shards(clients):
    left = list(range(2 * clients))
    for _ in range(clients):
        left = list(set(left) - set(numpy.random.choice(left, 2, replace=False)))


def train(memory, samples, replays, takes):
    """One client's epoch: a replaying method asks its memory in every batch but the very first."""
    for start in range(0, samples, BATCH):
        if replays and memory.seen:
            memory.give()
        if takes:
            for _ in range(min(BATCH, samples - start)):
                memory.take()


def angles(seed, how):
    numpy.random.seed(seed)
    deal_shards(how.clients)
    memories = [Memory(how.memory) for _ in range(how.clients)]
    out = []
    for task in range(TASKS):
        out.append(numpy.random.uniform(0, 180))
        for r in range(task * ROUNDS, (task + 1) * ROUNDS if task + 1 < TASKS else 0):
            for memory in memories:
                train(memory, SAMPLES // how.clients, how.method != "fl", r % ROUNDS == 0)
            if how.fed_a_gem and (r + 1) % how.interval == 0:
                for memory in memories:
                    memory.give()
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--method", choices=["fl", "a-gem", "der"], default="fl")
    parser.add_argument("--fed-a-gem", action="store_true")
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--memory", type=int, default=200)
    parser.add_argument("--interval", type=int, default=1)
    how = parser.parse_args()
    print(";\n".join(" ".join(f"{a:.1f}" for a in angles(seed, how)) for seed in range(5)))


if __name__ == "__main__":
    main()
