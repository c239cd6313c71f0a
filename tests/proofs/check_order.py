"""Proofs that no order of a task graph ends earlier, for check_certificate.py: "A bound on orders" in docs/proofs.md."""

from collections import Counter, defaultdict
from fractions import Fraction
from typing import NamedTuple

from exact import demand, each, whole

MERGEABLE = ("all_gather", "reduce_scatter", "all_reduce")
STREAM = "stream"


class Work(NamedTuple):
    """What an activity takes at least: of which machine, in a chain, of the machine's time; of a run also alone, and of the
    stream if it is merged."""

    machine: object  # the stream, or the group of a channel
    duration: int
    share: int
    alone: int
    packing: int = 0


def plain(machine, time):
    return Work(machine, time, time, time)


class Table:
    """Time of a collective by size: straight lines through points, rounded to even, never below 0."""

    def __init__(self, model):
        self.points = list(zip(model["bytes_in"], model["time"]))

    def __call__(self, size):
        points = self.points
        if len(points) == 1 or size <= points[0][0]:
            return points[0][1]
        right = next((i for i, (at, _) in enumerate(points) if at > size), len(points) - 1)
        (x0, t0), (x1, t1) = points[right - 1], points[right]
        return max(0, round(t0 + Fraction((t1 - t0) * (size - x0), x1 - x0)))


class Graph:
    def __init__(self, text, fused):
        demand(text["format"] == "shardweave.tasks", "the problem is of another format")
        self.tasks, models = text["tasks"], text.get("models", {})
        times = text["alternatives"]["duration_fused"] if fused else [t["duration"] for t in self.tasks]
        self.time = [0 if t["kind"] == "wait" else d for t, d in zip(self.tasks, times)]  # a wait stalls, it does not work
        self.collective = {i: t["collective"] for i, t in enumerate(self.tasks) if t["kind"] == "collective"}
        self.tables = {}
        for model in models.get("collectives", []):
            self.tables.setdefault((self.operation(model), model["group"]), Table(model))
        self.speed = models.get("device", {}).get("dram_bytes_per_ns", 0)
        self.total = Counter()
        for t, c in self.collective.items():
            self.total[self.kind(t)] += c["bytes_in"]

    @staticmethod
    def operation(text):
        return text["op"] if text["op"] in (*MERGEABLE, "all_to_all") else "other"

    def kind(self, t):
        c = self.collective[t]
        return self.operation(c), c["group"], c.get("dtype", ""), c.get("reduce", "")

    def table(self, t):
        """What prices buckets with a collective, if it can be in any."""
        operation, group, *_ = self.kind(t)
        return self.tables.get((operation, group)) if operation in MERGEABLE else None

    def copy_time(self, size):
        return round(2.0 * size / self.speed) if self.speed > 0 else 0

    def least(self, t):
        """A collective that may be part of any packed bucket of its kind."""
        c, table, alone = self.collective[t], self.table(t), self.time[t]
        if table is None:
            return plain(c["group"], alone)
        size, total = c["bytes_in"], self.total[self.kind(t)]
        sizes = [at for at in {size, total, *(at for at, _ in table.points)} if size <= at <= total]
        shares = [max(table(at) - 1, 0) * size // at if at else 0 for at in sizes]
        packing = max(self.copy_time(size + c["bytes_out"]) - 2, 0)
        return Work(c["group"], min([alone, *map(table, sizes)]), min([alone, *shares]), alone, packing)


class Proof:
    def __init__(self, graph, proof):
        self.g, self.proof, self.work = graph, proof, {}
        self.after, self.before = defaultdict(list), defaultdict(list)
        self.draw(proof.get("buckets"))
        missing = {a: len(self.before[a]) for a in self.work}
        self.order = [a for a in self.work if missing[a] == 0]
        for a in self.order:
            for b in self.after[a]:
                missing[b] -= 1
                if missing[b] == 0:
                    self.order.append(b)
        demand(len(self.order) == len(self.work), "the buckets close a cycle")

    def edge(self, a, b):
        self.after[a].append(b)
        self.before[b].append(a)

    def draw(self, buckets):
        """The activities, what each takes, and what comes before what."""
        g, first, packed = self.g, {}, {}
        for b in buckets or []:
            members = [whole(t, "a member", len(g.tasks)) for t in b["members"]]
            demand(len(members) > 1 and not first.keys() & members, "a bucket has one member, or one of another bucket")
            demand(len(set(members)) == len(members), "a bucket has a member twice")
            demand(len({g.kind(t) for t in members}) == 1, "members of a bucket are of several kinds")
            table, name = g.table(members[0]), min(members)
            demand(table is not None, "a bucket cannot be merged, or no table prices it")
            sizes = [sum(g.collective[t][part] for t in members) for part in ("bytes_in", "bytes_out")]
            pack, unpack = (0, 0) if b.get("coalesced", False) else map(g.copy_time, sizes)
            packed[name] = plain(STREAM, pack), plain(g.collective[name]["group"], table(sizes[0])), plain(STREAM, unpack)
            first.update((t, name) for t in members)
        for t in range(len(g.tasks)):
            if first.get(t, t) != t:
                continue
            if t in packed:
                does = packed[t]
            elif t in g.collective:
                does = plain(STREAM, 0), g.least(t) if buckets is None else plain(g.collective[t]["group"], g.time[t])
            else:
                does = (plain(STREAM, g.time[t]),)
            self.work.update((3 * t + i, work) for i, work in enumerate(does))
            for i in range(1, len(does)):
                self.edge(3 * t + i - 1, 3 * t + i)
        for t, task in enumerate(g.tasks):
            awaited = {task["for"]} if "for" in task else set()
            for p in awaited | {*task["inputs"], *task.get("after", [])}:
                u = first.get(p, p)
                if p in awaited:
                    self.edge(3 * u + (2 if u in packed else 1), 3 * first.get(t, t))
                elif u not in packed:
                    self.edge(3 * u, 3 * first.get(t, t))

    def activity(self, a):
        demand(type(a) is int and a in self.work, f"activity {a} is not there")
        return self.work[a]

    def one_machine(self, work):
        """How much work it is, once it is all of one machine."""
        demand(len({self.activity(a).machine for a in work}) == 1, "there is no work, or work of several machines")
        demand(len(set(work)) == len(work), "names an activity twice")
        return sum(self.work[a].share for a in work)

    def heads(self, name, order, before):
        """The least begin of every activity; with edges turned around, the least time after its end."""
        place, joins, head = {a: i for i, a in enumerate(order)}, defaultdict(list), {}
        for join in self.proof.get(name, []):
            self.activity(join["activity"])
            joins[join["activity"]].append((join["work"], self.one_machine(join["work"])))
        for v in order:
            head[v] = max((head[p] + self.work[p].duration for p in before[v]), default=0)
            for work, share in joins[v]:
                way = {v: 0}  # the longest chain from an activity's end to v
                for x in reversed(order[min(place[a] for a in work) : place[v] + 1]):
                    for p in before[x] if x in way else ():
                        way[p] = max(way.get(p, 0), way[x] + (0 if x == v else self.work[x].duration))
                demand(v not in work and way.keys() >= set(work), f"some work of {name} does not come before {v}")
                head[v] = max(head[v], min(head[a] for a in work) + share + min(way[a] for a in work))
        return head

    def run_of(self, t):
        demand(type(t) is int and 3 * t + 1 in self.work, f"task {t} launches nothing")
        return 3 * t + 1

    def in_a_row(self, row, head, after):
        own, weights = self.run_of(row["collective"]), row.get("weights", [])
        mine = self.work[own]
        owner, first = {}, {}  # of the work of jobs its run; per run, what the stream does for it
        for job in row["jobs"]:
            of = self.run_of(job["collective"])
            demand(of not in first, f"task {job['collective']} has two jobs")
            demand(not owner.keys() & job["work"] and len(set(job["work"])) == len(job["work"]), "an activity is in two jobs")
            owner.update((a, of) for a in job["work"])
            first[of] = sum(self.activity(a).share for a in job["work"] if self.activity(a).machine == STREAM)
        others = {self.work[of].machine for of in first} - {mine.machine}
        demand(len(others) <= (1 if weights else 0), "there are jobs of too many channels")
        for a, of in owner.items():
            demand(any(s == of or owner.get(s) == of for s in after[a]), f"activity {a} does not lead to {of}")
        counted = [a for a, w in self.work.items() if w.share > 0 and w.machine in (STREAM, mine.machine)]
        begin = min((head[a] for a in counted), default=0)
        lone = sum(self.work[a].share for a in counted if self.work[a].machine == STREAM) - sum(first.values())
        if not weights:
            jobs = [(lone, 0)] + [(f, self.work[of].share) for of, f in {own: 0, **first}.items()]
            stream = channel = 0
            for f, share in sorted(jobs, key=lambda j: (0, j[0]) if j[0] < j[1] else (1, -j[1])):
                stream += f
                channel = max(channel, stream) + share
            return begin + max(stream, channel)
        demand(len(weights) == 3 and all(whole(w, "a weight", 10**6 + 1) >= 0 for w in weights) and sum(weights) > 0,
               "weights are not three, or all 0")
        (a, b, d), every = weights, sum(weights)
        value = a * lone + every * first.pop(own, 0) + min(b * mine.alone, a * mine.packing + b * mine.duration)
        for of, f in first.items():
            w = self.work[of]
            then = b if w.machine == mine.machine else d
            value += min(every * f, a * f + min(then * w.alone, a * w.packing + then * w.share))
        return begin - (-value // every)

    def run(self):
        head, tail = self.heads("heads", self.order, self.before), self.heads("tails", self.order[::-1], self.after)
        together, row, found = self.proof.get("together", []), self.proof.get("row"), 0
        demand(not together or row is None, "has together and row")
        if together:
            share = self.one_machine(together)
            takes = self.work[together[0]].duration if len(together) == 1 else share
            found = min(head[a] for a in together) + takes + min(tail[a] for a in together)
        elif row is not None:
            demand(type(row.get("backward", False)) is bool, "backward is true or false")
            found = self.in_a_row(row, tail, self.before) if row.get("backward") else self.in_a_row(row, head, self.after)
        demand(found >= whole(self.proof["lower_bound"], "lower_bound"), f"proves {found}, which is too little")
        return found


def prove_orders(problem, certificate):
    """What is proven, in words."""
    durations = certificate.get("durations", "measured")
    demand(durations in ("measured", "fused"), "durations are measured or fused")
    graph = Graph(problem, durations == "fused")
    demand(certificate["proofs"], "there are no proofs")
    return ", ".join(str(Proof(graph, proof).run()) for proof in each("proofs", certificate["proofs"]))
