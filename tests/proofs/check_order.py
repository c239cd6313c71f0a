"""Proofs that no order of a task graph ends earlier: "A bound on orders" in docs/proofs.md."""

from bisect import bisect_right
from collections import Counter, defaultdict
from fractions import Fraction
from graphlib import TopologicalSorter
from typing import NamedTuple

from exact import demand, each, whole

STREAM = "stream"


class Work(NamedTuple):
    """What an activity takes at least: of which machine, in a chain, of the machine's time; of a run also alone, and what its
    packing takes of the stream if it is merged."""

    machine: object  # the stream, or the group of a channel
    duration: int
    share: int
    alone: int
    packing: int = 0


def plain(machine, time):
    return Work(machine, time, time, time)


class Graph:
    def __init__(self, text, fused):
        demand(text["format"] == "shardweave.tasks", "the problem is of another format")
        models = text.get("models", {})
        times = text["alternatives"]["duration_fused"] if fused else [t["duration"] for t in text["tasks"]]
        self.tasks = text["tasks"]
        self.time = [0 if t["kind"] == "wait" else time for t, time in zip(self.tasks, times, strict=True)]
        self.collective = {i: t["collective"] for i, t in enumerate(self.tasks) if t["kind"] == "collective"}
        self.models = {(model["op"], model["group"]): model for model in reversed(models.get("collectives", []))
                       if model["op"] in ("all_gather", "reduce_scatter", "all_reduce")}
        self.speed = models.get("device", {}).get("dram_bytes_per_ns", 0)
        self.total = Counter()
        for t, c in self.collective.items():
            self.total[self.kind(t)] += c["bytes_in"]

    def kind(self, t):
        """Collectives of one kind may be in one bucket, if a model prices it."""
        c = self.collective[t]
        return c["op"], c["group"], c.get("dtype", ""), c.get("reduce", "")

    def bucket_time(self, kind, size):
        """Straight lines through the points of a model, rounded to even, never below 0."""
        sizes, times = self.models[kind[:2]]["bytes_in"], self.models[kind[:2]]["time"]
        if len(sizes) == 1 or size <= sizes[0]:
            return times[0]
        i = min(bisect_right(sizes, size), len(sizes) - 1)
        slope = Fraction(times[i] - times[i - 1], sizes[i] - sizes[i - 1])
        return max(0, round(times[i - 1] + slope * (size - sizes[i - 1])))

    def copy_time(self, size):
        return round(2.0 * size / self.speed) if self.speed > 0 else 0

    def least(self, t):
        """What the run of a collective takes that may be part of any packed bucket of its kind."""
        c, kind, alone = self.collective[t], self.kind(t), self.time[t]
        if kind[:2] not in self.models:
            return plain(c["group"], alone)
        size, most = c["bytes_in"], self.total[kind]
        times = {x: self.bucket_time(kind, x) for x in (size, most, *self.models[kind[:2]]["bytes_in"]) if size <= x <= most}
        share = min(max(time - 1, 0) * size // x if x else 0 for x, time in times.items())
        packing = max(self.copy_time(size + c["bytes_out"]) - 2, 0)
        return Work(c["group"], min(alone, *times.values()), min(alone, share), alone, packing)

    def packed(self, bucket):
        """What packing, running and unpacking a bucket take."""
        members = [self.collective[t] for t in bucket["members"]]
        kinds = {self.kind(t) for t in bucket["members"]}
        demand(len(kinds) == 1 < len(set(bucket["members"])) == len(members), "a bucket is of one kind, of several members")
        size, out = (sum(c[part] for c in members) for part in ("bytes_in", "bytes_out"))
        pack, unpack = (0, 0) if bucket.get("coalesced") else (self.copy_time(size), self.copy_time(out))
        return plain(STREAM, pack), plain(members[0]["group"], self.bucket_time(*kinds, size)), plain(STREAM, unpack)


class Proof:
    def __init__(self, graph, proof):
        """The activities by number, what each takes, and what comes right before and after it."""
        self.proof, self.work, exact = proof, {}, "buckets" in proof
        self.before, self.after = defaultdict(list), defaultdict(list)
        buckets = {min(b["members"]): b for b in proof.get("buckets", [])}
        first = {t: name for name, b in buckets.items() for t in b["members"]}
        demand(len(first) == sum(len(b["members"]) for b in proof.get("buckets", [])), "a task is in two buckets")
        for t, task in enumerate(graph.tasks):
            awaited = {task["for"]} if "for" in task else set()
            for p in awaited | {*task["inputs"], *task.get("after", [])}:
                u = first.get(p, p)
                if p in awaited:
                    self.edge(3 * u + (2 if u in buckets else 1), 3 * first.get(t, t))
                elif u not in buckets:
                    self.edge(3 * u, 3 * first.get(t, t))
            if t in buckets:
                does = graph.packed(buckets[t])
            elif t in first:
                continue
            elif t in graph.collective:
                group = graph.collective[t]["group"]
                does = plain(STREAM, 0), plain(group, graph.time[t]) if exact else graph.least(t)
            else:
                does = (plain(STREAM, graph.time[t]),)
            for a, work in enumerate(does, 3 * t):
                self.work[a] = work
                if a > 3 * t:
                    self.edge(a - 1, a)
        self.order = list(TopologicalSorter({a: self.before[a] for a in self.work}).static_order())

    def edge(self, a, b):
        self.after[a].append(b)
        self.before[b].append(a)

    def one_machine(self, work):
        """How much work it is, once it is all of one machine."""
        demand(len({self.work[a].machine for a in work}) == 1, "there is no work, or work of several machines")
        demand(len(set(work)) == len(work), "names an activity twice")
        return sum(self.work[a].share for a in work)

    def heads(self, joined, order, before):
        """The least begin of every activity; with edges turned around, the least time after its end."""
        place, joins, head = {a: i for i, a in enumerate(order)}, defaultdict(list), {}
        for join in joined:
            demand(join["activity"] in place, "an activity is not there")
            joins[join["activity"]].append((join["work"], self.one_machine(join["work"])))
        for v in order:
            head[v] = max((head[p] + self.work[p].duration for p in before[v]), default=0)
            for work, share in joins[v]:
                way = {v: 0}  # the longest chain from an activity's end to v
                for x in reversed(order[min(place[a] for a in work) : place[v] + 1]):
                    for p in before[x] if x in way else ():
                        way[p] = max(way.get(p, 0), way[x] + (0 if x == v else self.work[x].duration))
                demand(v not in work and way.keys() >= set(work), f"some work does not come before {v}")
                head[v] = max(head[v], min(head[a] for a in work) + share + min(way[a] for a in work))
        return head

    def in_a_row(self, row, head, after):
        own, weights = 3 * row["collective"] + 1, row.get("weights", [])
        jobs = {3 * job["collective"] + 1: job["work"] for job in row["jobs"]}
        owner = {a: run for run, work in jobs.items() for a in work}
        demand(len(jobs) == len(row["jobs"]), "a collective has two jobs")
        demand(len(owner) == sum(map(len, jobs.values())), "an activity is in two jobs")
        for a, run in owner.items():
            demand(any(s == run or owner.get(s) == run for s in after[a]), f"activity {a} does not lead to {run}")
        mine, work = self.work[own], {run: self.work[run] for run in jobs}
        demand(len({w.machine for w in work.values()} - {mine.machine}) <= (1 if weights else 0), "jobs of too many channels")
        counted = [a for a, w in self.work.items() if w.share > 0 and w.machine in (STREAM, mine.machine)]
        begin = min((head[a] for a in counted), default=0)
        on_stream = {a: self.work[a].share for a in counted if self.work[a].machine == STREAM}
        first = {run: sum(on_stream.get(a, 0) for a in of) for run, of in jobs.items()}
        lone = sum(on_stream.values()) - sum(first.values())
        if not weights:
            pairs = [(lone, 0)] + [(f, self.work[run].share) for run, f in {own: 0, **first}.items()]
            stream = channel = 0
            for f, share in sorted(pairs, key=lambda j: (0, j[0]) if j[0] < j[1] else (1, -j[1])):
                stream += f
                channel = max(channel, stream) + share
            return begin + max(stream, channel)
        a, b, d = weights
        every = a + b + d
        demand(max(weights) <= 10**6 and every > 0, "weights are above a million, or all 0")
        value = a * lone + every * first.pop(own, 0) + min(b * mine.alone, a * mine.packing + b * mine.duration)
        for run, f in first.items():
            w, then = work[run], b if work[run].machine == mine.machine else d
            value += min(every * f, a * f + min(then * w.alone, a * w.packing + then * w.share))
        return begin - (-value // every)

    def run(self):
        head = self.heads(self.proof.get("heads", []), self.order, self.before)
        tail = self.heads(self.proof.get("tails", []), self.order[::-1], self.after)
        together, row, found = self.proof.get("together"), self.proof.get("row"), 0
        demand(not together or row is None, "has together and row")
        if together:
            share = self.one_machine(together)
            takes = self.work[together[0]].duration if len(together) == 1 else share
            found = min(head[a] for a in together) + takes + min(tail[a] for a in together)
        elif row is not None:
            found = self.in_a_row(row, tail, self.before) if row.get("backward") else self.in_a_row(row, head, self.after)
        claimed = self.proof["lower_bound"]
        demand(whole(claimed, -(2**63)) and found >= claimed, f"proves {found}, which is too little")
        return found


def prove_orders(text, certificate):
    """What is proven, in words."""
    graph = Graph(text, {"measured": False, "fused": True}[certificate.get("durations", "measured")])
    demand(certificate["proofs"], "there are no proofs")
    return ", ".join(str(Proof(graph, proof).run()) for proof in each("proofs", certificate["proofs"]))
