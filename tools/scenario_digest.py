#!/usr/bin/env python3
"""Digests of scenario files, computed a second time.

Written from docs/scenario-rules.md and engram/rng.h alone, sharing no code with the library, so that
an error in one of the two shows as a difference. Published label counts are asked of the program ENGRAM,
build/release/engram unless set.

  scenario_digest.py FILE...                    prints "digest name" for each file
  scenario_digest.py --pins PINS FILE...        compares with a list of such lines
  scenario_digest.py --text FILE                prints the text that is hashed
"""
import hashlib
import math
import multiprocessing
import os
import sys

from scenario_base import Rng, Source, in_order, parse_file

NOBODY = NEVER = 0xFFFFFFFF  # the client, the round of draws that belong to none
PARTITION, TASKS, SELECT, ORDER, ABSENCE, HOLD_OUT = 5, 6, 4, 13, 14, 15


def run(parts, n, i):
    """The i-th of `parts` equal runs of n items, as a slice."""
    return slice(i * n // parts, (i + 1) * n // parts)


class Scenario:
    def __init__(self, path, seed):
        root = parse_file(path)
        data = root["data"] if isinstance(root["data"], list) else [root["data"]]
        data = [d if isinstance(d, dict) else {"name": d} for d in data]
        self.seed = seed
        self.sources = [Source(d["name"].replace("-", "_")) for d in data]
        self.validation = max(float(d.get("validation", 0)) for d in data)
        self.o = dict(root["scenario"])
        self.kind = self.o["kind"].replace("-", "_")
        part = self.o.get("partition")
        defaults = {"domain_rotation": "shards", "domain_permutation": "shards",
                    "async_schedule": "power_law", "realtime": "types",
                    "stream": "timeline"}
        self.p = part if isinstance(part, dict) else {}
        name = part if isinstance(part, str) else self.p.get("kind")
        self.split_name = (name or defaults.get(self.kind, "dirichlet")).replace("-", "_")
        self.shared_split = False
        self.test_parts = 0
        self.make_tasks()
        self.make_orders()
        self.make_split()
        self.make_stages()

    def rng(self, client, rnd, purpose):
        own = self.integer("seed", -1)
        shared = own >= 0 and purpose not in (ABSENCE, SELECT)
        return Rng(own if shared else self.seed, client, rnd, purpose)

    def integer(self, name, standard, table=None):
        return int((self.o if table is None else table).get(name, standard))

    # Tasks are [source, warp, angle, key, classes].
    def make_tasks(self):
        n, first = self.integer("tasks", 10), self.sources[0]
        if self.kind in ("domain_rotation", "domain_permutation"):
            self.tasks = [self.warped_task(t) for t in range(n)]
            self.shared_split = self.o.get("resplit") != "true"
            return
        if self.kind in ("domain_sources", "stream"):
            self.tasks = [[i, "none", 0.0, (0, 0), list(range(s.classes))]
                          for i, s in enumerate(self.sources)]
            return
        if self.kind == "realtime":
            n = first.classes // self.integer("classes", 2)
        self.tasks = [[0, "none", 0.0, (0, 0), []] for _ in range(n)]
        if self.split_name in ("parts", "types"):
            return
        order = list(range(first.classes))
        if self.o.get("class_order") == "shuffled":
            self.rng(NOBODY, NEVER, ORDER).shuffle(order)
        per = first.classes // n
        for t in range(n):
            self.tasks[t][4] = sorted(order[t * per:(t + 1) * per])

    def warped_task(self, t):
        classes = list(range(self.sources[0].classes))
        plain = t == 0 and self.o.get("first_plain") == "true"
        r = self.rng(NOBODY, t, TASKS)
        if self.kind == "domain_rotation":
            if self.integer("angles", -1) >= 0:
                r = Rng(self.integer("angles", -1), NOBODY, t, TASKS)
            angle = r.uniform(0, float(self.o.get("degrees", 180)))
            if self.o.get("turns"):
                lists = self.o["turns"].strip('"').split(";")
                angle = float(lists[self.seed % len(lists)].split()[t])
            return [0, "rotate", 0.0 if plain else angle, (0, 0), classes]
        if plain:
            return [0, "none", 0.0, (0, 0), classes]
        return [0, "permute", 0.0, r.key, classes]

    def make_orders(self):
        n, clients, join = len(self.tasks), self.integer("clients", 10), self.integer("join", 0)
        self.n_clients = clients + join * (n - 1)
        order = self.o.get("order", "auto")
        if order == "auto":
            order = "own" if self.kind == "async_schedule" else "natural"
        curriculum = self.integer("curriculum", 0)
        self.order, self.joins = [], []
        for c in range(self.n_clients):
            tasks = list(range(n))
            if order == "shuffled":
                self.rng(NOBODY, curriculum, ORDER).shuffle(tasks)
            elif order == "own":
                self.rng(c, curriculum, ORDER).shuffle(tasks)
            self.order.append(tasks)
            self.joins.append(0 if c < clients else 1 + (c - clients) // join)

    def workers(self, t):
        if self.shared_split:
            return list(range(self.n_clients))
        return [c for c in range(self.n_clients) if t in self.order[c][self.joins[c]:]]

    def make_split(self):
        self.n_split = 1 if self.shared_split else len(self.tasks)
        self.lists = [[[] for _ in range(self.n_split)] for _ in range(self.n_clients)]
        self.own = None
        if self.kind == "realtime":
            self.plan_realtime()
        getattr(self, "split_" + self.split_name)()
        if self.own:
            for t, task in enumerate(self.tasks):
                task[4] = sorted({k for mine in self.own for k in mine[t]})
        if self.split_name == "types":
            return
        for c, mine in enumerate(self.lists):
            for t, ids in enumerate(mine):
                if self.split_name != "timeline":
                    self.rng(c, t, PARTITION).shuffle(ids)
        if self.validation > 0:
            self.hold_out()

    def hold_out(self):
        most = max(len(source.train) for source in self.sources)
        decided = [set() for _ in self.sources]
        held = [set() for _ in self.sources]
        for c, mine in enumerate(self.lists):
            counted = taken = 0
            start = self.rng(c, NEVER, HOLD_OUT).unit()
            for i, source in enumerate(self.sources):
                here = {x for t, ids in enumerate(mine) if self.tasks[t][0] == i for x in ids}
                for k in range(len(source.train)):
                    ids = [x for x in source.train[k] if x in here and x not in decided[i]]
                    if not ids:
                        continue
                    self.rng(c, i * most + k, HOLD_OUT).shuffle(ids)
                    counted += len(ids)
                    wanted = math.floor(self.validation * counted + start) - taken
                    decided[i].update(ids)
                    held[i].update(ids[:wanted])
                    taken += len(ids[:wanted])
        for mine in self.lists:
            for t, ids in enumerate(mine):
                ids[:] = [x for x in ids if x not in held[self.tasks[t][0]]]

    def class_lists(self, t):
        source = self.sources[self.tasks[t][0]]
        return [list(source.train[k]) for k in self.tasks[t][4]]

    def split_iid(self):
        for t in range(self.n_split):
            ids, who = sum(self.class_lists(t), []), self.workers(t)
            self.rng(NOBODY, t, PARTITION).shuffle(ids)
            for j, c in enumerate(who):
                self.lists[c][t] += ids[run(len(who), len(ids), j)]

    def split_timeline(self):
        for t in range(self.n_split):
            ids, who = sorted(sum(self.class_lists(t), [])), self.workers(t)
            for j, c in enumerate(who):
                self.lists[c][t] += ids[run(len(who), len(ids), j)]

    def split_alone(self):
        client = self.integer("client", 0, self.p)
        for t in range(self.n_split):
            if client in self.workers(t):
                self.lists[client][t] += sum(self.class_lists(t), [])

    def split_shards(self):
        each = self.integer("shards", 2, self.p)
        for t in range(self.n_split):
            ids, who = sum(self.class_lists(t), []), self.workers(t)
            shards = list(range(each * len(who)))
            self.rng(NOBODY, t, PARTITION).shuffle(shards)
            for i, z in enumerate(shards):
                self.lists[who[i // each]][t] += ids[run(len(shards), len(ids), z)]

    def split_dirichlet(self):
        least = self.integer("min", 10, self.p)
        for t in range(self.n_split):
            classes, who = self.class_lists(t), self.workers(t)
            r = self.rng(NOBODY, t, PARTITION)
            while True:
                cuts, smallest = self.dirichlet_try(r, classes, len(who))
                if smallest >= least:
                    break
            for ids, cut in zip(classes, cuts):
                for c, (a, b) in zip(who, cut):
                    self.lists[c][t] += ids[a:b]

    def dirichlet_try(self, r, classes, n):
        alpha, total = float(self.p.get("alpha", 0.3)), sum(map(len, classes))
        held, cuts = [0] * n, []
        for ids in classes:
            r.shuffle(ids)
            p = r.dirichlet(alpha, n)
            free = [h * n < total for h in held]
            p = [x if f else 0.0 for x, f in zip(p, free)]
            mass = in_order(p)
            if mass > 0:
                p = [x / mass for x in p]
            else:
                p = [1.0 / sum(free) if f else 0.0 for f in free]
            mass, at, cut = 0.0, 0, []
            for j in range(n):
                mass += p[j]
                to = len(ids) if j == n - 1 else min(math.floor(mass * len(ids)), len(ids))
                cut.append((at, to))
                held[j] += to - at
                at = to
            cuts.append(cut)
        return cuts, min(held)

    def give_source(self, client, i, k, ids):
        for t in range(self.n_split):
            if self.tasks[t][0] == i and k in self.tasks[t][4]:
                self.lists[client][t] += ids

    def split_power_law(self):
        for i, source in enumerate(self.sources):
            r = self.rng(NOBODY, i, PARTITION)
            target = self.power_law_targets(r, sum(map(len, source.train)))
            count = self.power_law_counts(r, source, target)
            for k in range(source.classes):
                ids, at = list(source.train[k]), 0
                r.shuffle(ids)
                for c in range(self.n_clients):
                    self.give_source(c, i, k, ids[at:at + count[c][k]])
                    at += count[c][k]

    def power_law_targets(self, r, total):
        n, exponent = self.n_clients, float(self.p.get("exponent", 3))
        sizes = [math.pow(r.unit(), 1 / exponent) for _ in range(n)]
        mass = in_order(sizes)
        target = [round(total * x / mass) for x in sizes]
        rest = total - sum(target)
        while rest:
            c = r.below(n)
            if rest > 0:
                target[c] += 1
                rest -= 1
            elif target[c] > 0:
                target[c] -= 1
                rest += 1
        return target

    def power_law_counts(self, r, source, target):
        n, alpha = self.n_clients, float(self.p.get("alpha", 3))
        left = [len(x) for x in source.train]
        count = [[0] * source.classes for _ in range(n)]
        for c in range(n):
            stock = [k for k in range(source.classes) if left[k]]
            for k, x in zip(stock, r.dirichlet(alpha, len(stock)) if stock else []):
                count[c][k] = min(round(x * target[c]), left[k])
                left[k] -= count[c][k]
        short = [target[c] - sum(count[c]) for c in range(n)]
        for k in range(source.classes):
            for _ in range(left[k]):
                c = next(c for c in range(n) if short[c] > 0)
                count[c][k] += 1
                short[c] -= 1
        return count

    def split_parts(self):
        source, per = self.sources[0], self.integer("classes", 2, self.p)
        parts = self.integer("parts", 0, self.p) or self.n_clients
        pools = [list(x) for x in source.train]
        for k, ids in enumerate(pools):
            self.rng(NOBODY, k, PARTITION).shuffle(ids)
        taken, self.own = [0] * source.classes, []
        for c in range(self.n_clients):
            order = list(range(source.classes))
            self.rng(c, NEVER, PARTITION).shuffle(order)
            self.own.append([sorted(order[t * per:(t + 1) * per]) for t in range(self.n_split)])
            for t in range(self.n_split):
                for k in self.own[c][t]:
                    self.lists[c][t] += pools[k][run(parts, len(pools[k]), taken[k])]
                    taken[k] += 1

    def split_types(self):
        source, n, self.own, self.rank = self.sources[0], self.integer("samples", 200), [], []
        per, classes = self.integer("classes", 2), source.classes
        width = per + self.integer("shared", 0)
        need = -(-width // per) * self.visits * n
        for c in range(self.n_clients):
            r = self.rng(c, NEVER, PARTITION)
            order, drawn = list(range(classes)), {}
            r.shuffle(order)
            mine = [sorted((order[(t * per + i) % classes], i // per) for i in range(width))
                    for t in range(self.n_split)]
            self.own.append([[k for k, _ in pairs] for pairs in mine])
            self.rank.append([dict(pairs) for pairs in mine])
            for t, pairs in enumerate(mine):
                for k, _ in pairs:
                    if k not in drawn:
                        drawn[k] = self.pick(r, list(source.train[k]), need)
                for v in range(self.visits):
                    for k, rank in pairs:
                        at = (rank * self.visits + v) * n
                        self.lists[c][t] += drawn[k][at:at + n]

    @staticmethod
    def pick(r, ids, n):
        for i in range(n):
            j = i + r.below(len(ids) - i)
            ids[i], ids[j] = ids[j], ids[i]
        return ids

    def split_group(self):
        least = self.integer("min", 1, self.p)
        for i, source in enumerate(self.sources):
            n = sum(map(len, source.train))
            able = [g for g in range(source.owners) if len(range(g, n, source.owners)) >= least]
            if len(able) > self.n_clients:
                self.rng(NOBODY, i, PARTITION).shuffle(able)
            client = {g: c for c, g in enumerate(sorted(able[:self.n_clients]))}
            for k, ids in enumerate(source.train):
                for x in ids:
                    if x % source.owners in client:
                        self.give_source(client[x % source.owners], i, k, [x])

    def plan_realtime(self):
        source, n = self.sources[0], self.integer("samples", 200)
        per = self.integer("classes", 2) + self.integer("shared", 0)
        least, types = min(map(len, source.train)), len(self.tasks)
        path, rounds = self.o.get("path", "gradual"), self.integer("rounds", 0)
        if not rounds:
            rounds = types if path == "once" else least // (n * per) * source.classes
        self.walk = []
        for r in range(rounds):
            length = max(rounds // types, 1)
            p = min(r // length, types - 1)
            gradual = (p + (r - p * length) % 2) % types
            self.walk.append(gradual if path == "gradual" else r % types)
        self.visits = max(self.walk.count(t) for t in range(types))
        self.test_parts = max(least // n, 1)

    def part(self, c, t):
        return self.lists[c][0 if self.shared_split else t]

    # Stages of a client are [begin, end, [(task, ids), ...], visit].
    def make_stages(self):
        self.stages = [[] for _ in range(self.n_clients)]
        self.clock, self.per_task = "round", 0
        if self.kind in ("async_count", "async_schedule", "realtime", "stream"):
            getattr(self, "stages_" + self.kind)()
            return
        rounds = self.integer("rounds", 150 if self.kind == "domain_sources" else 20)
        self.rounds, self.per_task = rounds * len(self.tasks), rounds
        for c in range(self.n_clients):
            for slot in range(self.joins[c], len(self.tasks)):
                t = self.order[c][slot]
                self.stages[c].append([slot * rounds, (slot + 1) * rounds, [(t, self.part(c, t))], 0])

    def stages_stream(self):
        self.stages_takes(self.integer("take", 20), self.integer("rounds", 1))

    def stages_async_count(self):
        self.stages_takes(self.integer("take", 500), self.integer("rounds", 20))

    def stages_takes(self, take, rounds):
        self.clock = "used"
        for c in range(self.n_clients):
            stream = [(t, x) for t in self.order[c] for x in self.part(c, t)]
            for k, i in enumerate(range(0, len(stream), take)):
                spans = []
                for t, x in stream[i:i + take]:
                    if not spans or spans[-1][0] != t:
                        spans.append((t, []))
                    spans[-1][1].append(x)
                self.stages[c].append([k * rounds, (k + 1) * rounds, spans, 0])
        wanted = self.wanted(self.n_clients)
        self.rounds = -(-max(map(len, self.stages)) * rounds * self.n_clients // wanted)

    def stages_async_schedule(self):
        n, rounds = len(self.tasks), self.integer("rounds", 5000)
        self.clock, self.rounds = "sampled", rounds
        mean = round(rounds / n)
        half = round(mean * float(self.o.get("spread", 0.3)))
        for c in range(self.n_clients):
            r = self.rng(c, 0, TASKS)
            length = [round(r.uniform(mean - half, mean + half)) for _ in range(n - 1)]
            length.append(rounds - sum(length))
            r.shuffle(length)
            begin = 0
            for t, rounds_of_t in zip(self.order[c], length):
                self.stages[c].append([begin, begin + rounds_of_t, [(t, self.part(c, t))], 0])
                begin += rounds_of_t

    def stages_realtime(self):
        per = self.integer("classes", 2) + self.integer("shared", 0)
        take = per * self.integer("samples", 200)
        self.clock, self.rounds = "used", len(self.walk)
        for c in range(self.n_clients):
            visits = [0] * len(self.tasks)
            for r, slot in enumerate(self.walk):
                t = self.order[c][slot]
                ids = self.part(c, t)[visits[t] * take:(visits[t] + 1) * take]
                self.stages[c].append([r, r + 1, [(t, ids)], visits[t]])
                visits[t] += 1

    def wanted(self, n):
        k = self.integer("per_round", 0)
        if not k:
            k = math.floor(float(self.o.get("participation", 1)) * n + 0.5)
        return min(max(k, 1), n)

    def present(self, c, r):
        if r < self.joins[c] * self.per_task:
            return False
        away = float(self.o.get("away", 0))
        if away <= 0:
            return True
        length = self.integer("away_rounds", 10)
        window = (r + self.rng(c, NEVER, ABSENCE).below(length)) // length
        return not self.rng(c, window, ABSENCE).unit() < away

    def stage_now(self, c, r):
        stages, (last, used), top = self.stages[c], self.at[c], len(self.stages[c]) - 1

        def empty(i):
            return not any(ids for _, ids in stages[i][2])

        if self.clock == "round":
            i = next((i for i, g in enumerate(stages) if g[0] <= r < g[1]), top + 1)
        else:
            i = max(last, 0)
        if self.clock == "used":
            if last >= 0 and used >= stages[i][1] - stages[i][0]:
                i += 1
            while i <= top and empty(i):
                i += 1
        elif self.clock == "sampled":
            if r >= stages[i][1] and i < top:
                i += 1
            while empty(i) and r >= stages[i][1] and i < top:
                i += 1
        return i if i <= top and not empty(i) else None

    def play(self):
        self.at = [(-1, 0)] * self.n_clients
        for r in range(self.rounds):
            here = [c for c in range(self.n_clients) if self.present(c, r)]
            wanted = self.wanted(len(here)) if here else 0
            stream, chosen = self.rng(NOBODY, r, SELECT), []
            if self.o.get("selection") == "poisson":
                drawn = [c for c in here if stream.unit() < float(self.o.get("participation", 1))]
                here, wanted = drawn, len(drawn)
            for i in range(len(here)):
                if len(chosen) == wanted:
                    break
                if wanted < len(here):
                    j = i + stream.below(len(here) - i)
                    here[i], here[j] = here[j], here[i]
                stage = self.stage_now(here[i], r)
                if stage is not None:
                    chosen.append((here[i], stage))
            for c, stage in chosen:
                last, used = self.at[c]
                self.at[c] = (stage, used + 1 if stage == last else 1)
            yield sorted(chosen)

    def tests(self, c):
        take = self.integer("test", 0)
        for _, _, spans, visit in self.stages[c][:self.at[c][0] + 1]:
            t, ids = spans[0]
            if not ids:
                continue
            for k in (self.own[c][t] if self.own else self.tasks[t][4]):
                pool = self.sources[0].test[k]
                v = visit + (self.rank[c][t][k] * self.visits if self.split_name == "types" else 0)
                cut = run(self.test_parts, len(pool), v)
                yield from pool[slice(v * take, (v + 1) * take) if take else cut]

    def offers(self):
        common = self.kind.startswith(("class", "task", "domain"))
        announced = common or self.kind == "async_schedule"
        flags = 3 if announced and self.o.get("announce") != "false" else 0
        flags |= 4 if common else 0
        flags |= 8 if not self.kind.startswith(("domain", "stream")) else 0
        return flags | (16 if self.kind == "task_incremental" else 0)

    def text(self):
        yield (f"engram scenario 1\nkind {self.kind}\nclients {self.n_clients}\n"
               f"tasks {len(self.tasks)}\nrounds {self.rounds}\noffers {self.offers()}\n"
               f"pad {self.integer('pad', 1)}\n")
        for t, (source, warp, angle, key, classes) in enumerate(self.tasks):
            yield (f"task {t} source {source} {warp} {'%.17g' % angle} {key[0]:08x}{key[1]:08x} "
                   f"classes{''.join(f' {k}' for k in classes)}\n")
        for c in range(self.n_clients):
            for i, (begin, end, spans, _) in enumerate(self.stages[c]):
                yield f"client {c} stage {i} rounds {begin} {end}"
                for t, ids in spans:
                    yield f" task {t}:" + "".join([f" {x}" for x in ids])
                yield "\n"
        for r, chosen in enumerate(self.play()):
            yield f"round {r}" + "".join(f" {c}:{i}" for c, i in chosen) + "\n"
        if self.test_parts:
            for c in range(self.n_clients):
                yield f"test {c}" + "".join(f" {x}" for x in self.tests(c)) + "\n"


def digest(path, seed=0):
    h = hashlib.sha256()
    for piece in Scenario(path, seed).text():
        h.update(piece.encode())
    return h.hexdigest()


def main(args):
    if args[:1] == ["--text"]:
        for piece in Scenario(args[1], 0).text():
            sys.stdout.write(piece)
        return 0
    pins = None
    if args[:1] == ["--pins"]:
        with open(args[1], encoding="utf-8") as f:
            pins = dict(reversed(line.split()) for line in f)
        args = args[2:]
    if not args:
        sys.stderr.write(__doc__)
        return 2
    bad = 0
    with multiprocessing.Pool(min(2, len(args))) as pool:
        for path, got in zip(args, pool.imap(digest, args)):
            name = os.path.splitext(os.path.basename(path))[0]
            if pins is None:
                print(got, name)
            elif pins.get(name) != got:
                bad += 1
                print(f"{name}: {got}, pinned is {pins.get(name)}")
    if pins is not None:
        print(f"{len(args) - bad} of {len(args)} scenarios have their pinned digest")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
