"""Proofs that no order of a task graph ends earlier, for check_certificate.py: in whole numbers and exact fractions.

Written from docs/proofs.md and docs/formats.md alone.
"""

from collections import defaultdict
from fractions import Fraction

from exact import Refused, demand

MERGEABLE = ("all_gather", "reduce_scatter", "all_reduce")
OPERATIONS = MERGEABLE + ("all_to_all",)


def is_whole(value):
    return type(value) is int


class Table:
    """Time of a collective by size: straight lines through points, rounded to even."""

    def __init__(self, model):
        self.points = list(zip(model["bytes_in"], model["time"]))

    def __call__(self, size):
        points = self.points
        if len(points) == 1 or size <= points[0][0]:
            return points[0][1]
        right = next((i for i, (at, _) in enumerate(points) if at > size), len(points) - 1)
        (x0, t0), (x1, t1) = points[right - 1], points[right]
        return round(t0 + Fraction((t1 - t0) * (size - x0), x1 - x0))


class Work:
    """What an activity takes at least: of which machine (0: the stream), in a chain, of the machine's time; of a run also
    alone, and of the stream if it is merged."""

    def __init__(self, machine, duration, share=None, alone=None, packing=0):
        self.machine, self.duration, self.packing = machine, duration, packing
        self.share = duration if share is None else share
        self.alone = duration if alone is None else alone


class Graph:
    def __init__(self, text, fused):
        demand(text["format"] == "shardweave.tasks", "the problem is of another format")
        self.tasks = text["tasks"]
        times = text["alternatives"]["duration_fused"] if fused else [t["duration"] for t in self.tasks]
        # a wait stalls, it does not work
        self.time = [0 if t["kind"] == "wait" else d for t, d in zip(self.tasks, times)]
        self.collective = [t.get("collective") if t["kind"] == "collective" else None for t in self.tasks]
        models = text.get("models", {})
        self.tables = {}
        for model in models.get("collectives", []):
            self.tables.setdefault((self.operation(model["op"]), model["group"]), Table(model))
        self.speed = models.get("device", {}).get("dram_bytes_per_ns", 0)

    @staticmethod
    def operation(name):
        return name if name in OPERATIONS else "other"

    def key(self, t):
        c = self.collective[t]
        return self.operation(c["op"]), c["group"], c.get("dtype", ""), c.get("reduce", "")

    def copy_time(self, size):
        return round(2.0 * size / self.speed) if self.speed > 0 else 0


class Proof:
    def __init__(self, graph, proof):
        self.g, self.proof = graph, proof
        self.draw(proof.get("buckets"))
        self.sort()

    def least(self, t, total):
        """A collective that may be part of any packed bucket of its kind."""
        c, alone = self.g.collective[t], self.g.time[t]
        key = self.g.key(t)
        machine, table, size = ("channel", c["group"]), self.g.tables.get(key[:2]), c["bytes_in"]
        if key[0] not in MERGEABLE or table is None:
            return Work(machine, alone)
        duration = share = alone
        for at in [x for x, _ in table.points] + [size, total[key]]:
            if size <= at <= total[key]:
                duration = min(duration, table(at))
                share = min(share, max(table(at) - 1, 0) * size // at if at else 0)
        return Work(machine, duration, share, alone, max(self.g.copy_time(size + c["bytes_out"]) - 2, 0))

    def draw(self, buckets):
        g = self.g
        unit, costs = list(range(len(g.tasks))), {}
        taken = set()
        for b in buckets or []:
            members = b["members"]
            demand(len(members) > 1, "a bucket has fewer than two members")
            for t in members:
                demand(is_whole(t) and 0 <= t < len(g.tasks) and g.collective[t] is not None, "a member is no collective")
                demand(t not in taken, f"task {t} is a member twice")
                taken.add(t)
                demand(g.key(t) == g.key(members[0]) and g.key(t)[0] in MERGEABLE, f"task {t} cannot be merged")
            table = g.tables.get(g.key(members[0])[:2])
            demand(table is not None, "no table prices a bucket")
            size = sum(g.collective[t]["bytes_in"] for t in members)
            out = sum(g.collective[t]["bytes_out"] for t in members)
            packed = not b.get("coalesced", False)
            costs[min(members)] = [f(x) if packed else 0 for f, x in ((g.copy_time, size), (g.copy_time, out))], table(size)
            for t in members:
                unit[t] = min(members)
        total = defaultdict(int)
        for t, c in enumerate(g.collective):
            if c is not None:
                total[g.key(t)] += c["bytes_in"]
        self.work, self.after, self.before = {}, defaultdict(list), defaultdict(list)
        self.unit = unit

        def edge(a, b):
            self.after[a].append(b)
            self.before[b].append(a)

        for t in range(len(g.tasks)):
            if unit[t] != t:
                continue
            if g.collective[t] is None:
                self.work[3 * t] = Work(0, g.time[t])
                continue
            channel = ("channel", g.collective[t]["group"])
            if t in costs:
                (pack, unpack), takes = costs[t]
                self.work[3 * t], self.work[3 * t + 1], self.work[3 * t + 2] = Work(0, pack), Work(channel, takes), Work(0, unpack)
                edge(3 * t + 1, 3 * t + 2)
            else:
                self.work[3 * t] = Work(0, 0)
                self.work[3 * t + 1] = self.least(t, total) if buckets is None else Work(channel, g.time[t])
            edge(3 * t, 3 * t + 1)
        for t, task in enumerate(g.tasks):
            completes = task.get("for")
            for p in set(task["inputs"]) | set(task.get("after", [])) | ({completes} - {None}):
                u = unit[p]
                if p == completes:
                    edge(3 * u + (2 if u in costs else 1), 3 * unit[t])
                elif u not in costs:
                    edge(3 * u, 3 * unit[t])

    def sort(self):
        missing = {a: len(self.before[a]) for a in self.work}
        order = [a for a in self.work if missing[a] == 0]
        for a in order:
            for b in self.after[a]:
                missing[b] -= 1
                if missing[b] == 0:
                    order.append(b)
        demand(len(order) == len(self.work), "the buckets close a cycle")
        self.order = order

    def one_machine(self, work):
        demand(len(work) > 0, "there is no work")
        demand(all(is_whole(a) and a in self.work for a in work), "names an activity that is not there")
        demand(len(set(work)) == len(work), "names an activity twice")
        demand(len({self.work[a].machine for a in work}) == 1, "names work of several machines")

    def bound(self, joins, order, before):
        """The least begin of every activity; with edges turned around, the least time after its end."""
        place = {a: i for i, a in enumerate(order)}
        at = defaultdict(list)
        for i, join in enumerate(joins):
            self.step = f"joins[{i}]"
            demand(is_whole(join["activity"]) and join["activity"] in self.work, "its activity is not there")
            self.one_machine(join["work"])
            at[join["activity"]].append((i, join["work"]))
        head = {}
        for v in order:
            head[v] = max((head[p] + self.work[p].duration for p in before[v]), default=0)
            for i, work in at[v]:
                self.step = f"joins[{i}]"
                way, first = {v: 0}, min(place[a] for a in work)
                for x in reversed(order[first : place[v] + 1]):
                    if x in way:
                        for p in before[x]:
                            way[p] = max(way.get(p, 0), way[x] + (0 if x == v else self.work[x].duration))
                demand(all(a != v and a in way for a in work), f"some work does not come before {v}")
                total = sum(self.work[a].share for a in work)
                head[v] = max(head[v], min(head[a] for a in work) + total + min(way[a] for a in work))
        return head

    def in_a_row(self, row, head, after):
        def run(t):
            demand(is_whole(t) and 3 * t + 1 in self.work, f"task {t} launches nothing")
            return 3 * t + 1

        own, weights = run(row["collective"]), row.get("weights", [])
        channel = self.work[own].machine
        if weights:
            demand(len(weights) == 3 and all(is_whole(w) and 0 <= w <= 10**6 for w in weights), "weights are not three")
            demand(sum(weights) > 0, "all weights are 0")
        owner, first, others = {}, {}, set()
        for job in row["jobs"]:
            of = run(job["collective"])
            demand(of not in first, f"task {job['collective']} has two jobs")
            if self.work[of].machine != channel:
                others.add(self.work[of].machine)
            first[of] = 0
            for a in job["work"]:
                demand(is_whole(a) and a in self.work and a not in owner, f"activity {a} is not there, or in two jobs")
                owner[a] = of
                if self.work[a].machine == 0:
                    first[of] += self.work[a].share
        demand(len(others) <= (1 if weights else 0), "there are jobs of too many channels")
        for a, of in owner.items():
            demand(any(s == of or owner.get(s) == of for s in after[a]), f"activity {a} does not lead to {of}")
        counted = [a for a, w in self.work.items() if w.share > 0 and w.machine in (0, channel)]
        begin = min((head[a] for a in counted), default=0)
        lone = sum(self.work[a].share for a in counted if self.work[a].machine == 0) - sum(first.values())
        if not weights:
            first.setdefault(own, 0)
            jobs = [(lone, 0)] + [(f, self.work[of].share) for of, f in first.items()]
            early = sorted((j for j in jobs if j[0] < j[1]), key=lambda j: j[0])
            late = sorted((j for j in jobs if j[0] >= j[1]), key=lambda j: -j[1])
            stream = then = 0
            for f, s in early + late:
                stream += f
                then = max(then, stream) + s
            return begin + max(stream, then)
        stream, total = weights[0], sum(weights)
        mine = self.work[own]
        value = stream * lone + total * first.pop(own, 0)
        value += min(weights[1] * mine.alone, stream * mine.packing + weights[1] * mine.duration)
        for of, f in first.items():
            w = self.work[of]
            then = weights[1] if w.machine == channel else weights[2]
            value += min(total * f, stream * f + min(then * w.alone, stream * w.packing + then * w.share))
        return begin - (-value // total)

    def run(self):
        proof = self.proof
        head = self.bound(proof.get("heads", []), self.order, self.before)
        tail = self.bound(proof.get("tails", []), self.order[::-1], self.after)
        self.step = "the conclusion"
        together, row = proof.get("together", []), proof.get("row")
        demand(not together or row is None, "has together and row")
        if together:
            self.one_machine(together)
            takes = [self.work[a].duration if len(together) == 1 else self.work[a].share for a in together]
            found = min(head[a] for a in together) + sum(takes) + min(tail[a] for a in together)
        elif row is not None:
            back = row.get("backward", False)
            demand(type(back) is bool, "backward is true or false")
            found = self.in_a_row(row, tail if back else head, self.before if back else self.after)
        else:
            found = 0
        demand(is_whole(proof["lower_bound"]), "lower_bound is no whole number")
        demand(found >= proof["lower_bound"], f"proves {found}, less than {proof['lower_bound']}")
        return found


def judge(problem, certificate):
    """Whether all proofs hold, and what there is to say."""
    step, proof = "reading", None
    try:
        demand(certificate["format"] == "shardweave.certificate", "the certificate is of another format")
        demand(certificate["version"] == 1, "the certificate is of another version")
        demand(certificate.get("durations", "measured") in ("measured", "fused"), "durations are measured or fused")
        graph = Graph(problem, certificate.get("durations") == "fused")
        demand(len(certificate["proofs"]) > 0, "there are no proofs")
        bounds = []
        for i, one in enumerate(certificate["proofs"]):
            step = f"proofs[{i}]"
            proof = Proof(graph, one)
            proof.step = "heads and tails"
            bounds.append(proof.run())
        return True, "accepted: " + ", ".join(str(b) for b in bounds)
    except Refused as why:
        return False, f"not accepted: {step}: {getattr(proof, 'step', '')}: {why}"
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as why:
        return False, f"not accepted: {step}: malformed: {why!r}"
