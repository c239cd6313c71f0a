"""A placement problem as a sum of factors: "What is proven" and "A bound on the step" in docs/proofs.md.

A factor is one vertex or two, and what their strategies cost. Own costs, edges, pairings and what is fixed are factors of the
problem; its costs less savings, or what work is worth, are others in their place.
"""

from collections import Counter
from functools import cache
from itertools import product
from math import prod

from exact import At, demand, each, units


def total(*lists):
    """Their sum, entry by entry."""
    return [sum(costs) for costs in zip(*lists, strict=True)]


def from_contest(p):
    """A problem in the format IOPDDL, where 10^17 and more is forbidden, as one in ours."""
    nodes, edges = p["nodes"], p["edges"]
    own, tables = ([[None if c >= 10**17 else c for c in costs] for costs in of["costs"]] for of in (nodes, edges))
    terms = [{"vertex": v, "usage": usage, "live": live}
             for v, (usage, live) in enumerate(zip(nodes["usages"], nodes["intervals"]))]
    return {"vertices": [{"compute": costs} for costs in own], "matrices": tables,
            "edges": [{"from": a, "to": b, "communication": m} for m, (a, b) in enumerate(edges["nodes"])],
            "budgets": [{"high": p["usage_limit"], "terms": terms}] if "usage_limit" in p else []}


def stated(text, worth=1, saved=({}, {})):
    """The factors of a problem file, its costs times a worth of 0 or 1.

    saved: by vertex and by edge, the shares of computation and of communication that do not count."""
    def counted(costs, share):
        n, d = (1 - share).as_integer_ratio()
        return [c if c >= At.forbidden else worth * (c if c < 0 else c * n // d) for c in map(units, costs)]

    matrix = cache(lambda m, share: counted(text["matrices"][m], share))
    for v, vertex in enumerate(text["vertices"]):
        yield (v,), counted(vertex["compute"], saved[0].get(v, 0))
    for e, edge in enumerate(text["edges"]):
        for part, share in (("communication", saved[1].get(e, 0)), ("transition", 0)):
            if part in edge:
                yield (edge["from"], edge["to"]), matrix(edge[part], share)
    fixed = [((f["vertex"],), {(s,) for s in f["strategies"]}) for f in text.get("fixed", [])]
    pairs = [((p["a"], p["b"]), {tuple(pair) for pair in p["allowed"]}) for p in text.get("pairs", [])]
    for ends, allowed in fixed + pairs:
        strategies = product(*(range(len(text["vertices"][v]["compute"])) for v in ends))
        yield ends, [0 if one in allowed else At.forbidden for one in strategies]


class Problem:
    """Vertices that are tied are one unknown; the factors of each, and of each two, are one list or table of costs."""

    def __init__(self, text, factors):
        vertices, leader, parts, made = text["vertices"], {}, {}, {}
        self.apart, self.uses = 0, None  # costs of no unknown, and the rows that are kept: all of them
        self.unknown = [leader.setdefault(vertex["tie"], v) if "tie" in vertex else v for v, vertex in enumerate(vertices)]
        self.counts = counts = [len(vertex["compute"]) for vertex in vertices]
        self.own = {x: [0] * counts[x] for x in self.unknown}
        for ends, costs in factors:
            x, y, n = self.unknown[ends[0]], self.unknown[ends[-1]], counts[ends[-1]]
            demand(len(costs) == prod(counts[v] for v in ends), f"a list of costs of vertices {ends} has the wrong size")
            if x == y:
                self.own[x] = total(self.own[x], costs if len(ends) == 1 else costs[:: n + 1])
            else:
                parts.setdefault((min(x, y), max(x, y)), []).append((costs, n, x > y))
        self.tables, self.beside = {}, {x: [] for x in self.own}
        for (x, y), of in parts.items():
            key = tuple((id(costs), n, turned) for costs, n, turned in of)
            if key not in made:  # equal sums are made once
                lines = ([costs[t::n] for t in range(n)] if turned else [costs[at : at + n] for at in range(0, len(costs), n)]
                         for costs, n, turned in of)
                rows = [total(*line) for line in zip(*lines, strict=True)]
                made[key] = rows, list(zip(*rows))
            self.tables[x, y], columns = made[key]
            self.beside[x].append((y, columns))
            self.beside[y].append((x, self.tables[x, y]))

    def propagate(self, left, changed):
        """Drops strategies without a partner, until every one has one."""
        changed = set(changed)
        while changed:
            x = changed.pop()
            for y, lines in self.beside[x]:
                kept = {t for t in left[y] if any(lines[t][s] < At.forbidden >> 1 for s in left[x])}
                if kept != left[y]:
                    left[y] = kept
                    changed.add(y)
        return left


def places_between(edges, waits, out, into):
    """How many of some edges, one after another, lead to a vertex; and the number of the first to which it leads."""
    after, before = {}, {}
    starts = [(after, k + 1, edges[waits[k]]["to"], out) for k in reversed(range(len(waits)))]
    starts += [(before, k, edges[waits[k]]["from"], into) for k in range(len(waits))]
    for found, k, v, following in starts:
        waiting = [v]
        while waiting:
            v = waiting.pop()
            if v not in found:
                found[v] = k
                waiting += following.get(v, ())
    return lambda v: after.get(v, 0), lambda v: before.get(v, len(waits))


def worth_of_work(work, certificate):
    """The factors of all work at what it is worth, by claims that hold and weights that add up to 1 at most; and what the
    limits are worth together, which no plan exceeds: the bound is less by so much."""
    bits, edges, limits = certificate["weight_bits"], work["edges"], work.get("limits", [])
    vertices, channels, machines = range(len(work["vertices"])), work["channels"], work["channels"] - len(limits)
    demand(bits <= 40 and machines >= 1, "weights have more than 40 bits, or there are as many limits as channels")
    demand(all(t >= 0 for of in work["times"] + work["matrices"] for t in of), "work takes a time below zero")
    time, load, left, owed = Counter(), Counter(), 2**bits, 0  # load by edge and channel; after them what it puts on paths
    out, into = {edge["from"]: set() for edge in edges}, {edge["to"]: set() for edge in edges}
    for edge in edges:
        out[edge["from"]].add(edge["to"])
        into[edge["to"]].add(edge["from"])
    for what in [late["edge"] for late in work.get("late", [])], sum((late["vertices"] for late in work.get("late", [])), []):
        demand(len(set(what)) == len(what), "an edge or a vertex is late twice")
    for claim in each("claims", certificate["claims"]):
        weight, price, later, head = claim["weight"], claim.get("price", 0), claim.get("later", []), claim.get("head", [])
        left -= weight
        demand(left >= 0, "weights add up to more than 1")
        channel = range(machines)[claim["channel"]] if "channel" in claim else None
        waits = claim.get("waits", [])
        demand(price >= 0 and (channel is not None or not head and price == 0), "a path has a head or a price")
        demand(not waits or channel == 0 and "first" in claim, "there are waits without a head, or of no computation")
        path, chosen = (claim["edges"], []) if channel is None else (head, claim["edges"])
        if channel is None or "first" in claim:
            at = vertices[claim["first"]]
            own = {at}
            time[at] += weight
            for e in path:
                demand(edges[e]["from"] == at, "the edges are no path")
                at = edges[e]["to"]
                load[e, channels] += weight
                time[at] += weight
                own.add(at)
            after, waiting = {at}, [at]
            while waiting:
                found = out.get(waiting.pop(), set()) - after
                after |= found
                waiting += found
            demand(len(set(later) & after - {at}) == len(later), "a vertex may come before the head ends, or is there twice")
            demand(not later or channel == 0, "vertices are counted where nothing is computed")
        else:
            demand(not head and not later, "there are edges or vertices of a head that is not there")
            after, later, own = vertices, vertices if channel == 0 else [], set()
        demand(all(edges[e]["from"] in after or edges[e].get("since") in after for e in chosen),
               "an edge may come before the head ends")
        demand(len({edges[e]["share"] for e in chosen}) == len(chosen), "a share is counted twice")
        for late in work.get("late", []) if channel is not None else []:
            demand(late["edge"] not in chosen or own.union(later).isdisjoint(late["vertices"]), "what is late is counted twice")
        leading, led = places_between(edges, waits, out, into)
        for k, e in enumerate(waits):
            demand(led(edges[waits[k - 1]]["to"] if k else at) == k == leading(edges[e]["from"]), "waits do not follow one another")
            load[e, channels] += weight
        demand(all(led(v) <= leading(v) for v in later), "a vertex may run during a wait")
        demand(all(led(edges[e]["to"]) <= max(leading(edges[e]["from"]), leading(edges[e].get("since"))) for e in chosen),
               "an edge's work may be done during a wait")
        time.update(dict.fromkeys(later, weight))
        load.update(dict.fromkeys(((e, channel) for e in chosen), weight))
        if price > 0:
            held, rate = claim["held"], float(price) * weight
            rate = int(rate) if rate < 2**52 else 0
            owed += rate * units(limits[range(machines, channels).index(held)]) >> bits
            load.update(dict.fromkeys(((e, held) for e in range(len(edges))), rate))
    return work_factors(work, bits, time, load), owed


def work_factors(work, bits, time, load):
    """What the work of every vertex and edge is worth; of an edge by the way that comes to least."""
    times = [work["times"][number] for number in work["vertices"]]
    for v, of in enumerate(times):
        yield (v,), [time[v] * units(t) >> bits for t in of]
    worth = cache(lambda m, price: [price * units(t) >> bits for t in work["matrices"][m]])

    @cache
    def least(number, prices, size):
        table = work["tables"][number]
        ways = [[*loads, table.get("chain")] for loads in [table["loads"], *table.get("otherwise", [])]]
        sums = [total([0] * size, *(worth(m, price) for m, price in zip(way, prices, strict=True) if m is not None))
                for way in ways]
        return [min(costs) for costs in zip(*sums)]

    for e, edge in enumerate(work["edges"]):
        a, b = edge["from"], edge["to"]
        prices = tuple(load[e, c] for c in range(work["channels"] + 1))
        if any(prices):
            yield (a, b), least(edge["tables"], prices, len(times[a]) * len(times[b]))
