"""Claims on the step of a plan and what they make work cost, for check_certificate.py: "A bound on the step" in docs/proofs.md."""

from collections import Counter
from fractions import Fraction

from exact import demand, each, whole


def reached_from(edges, v):
    """The vertices that come after v, and v."""
    out = {}
    for edge in edges:
        out.setdefault(edge["from"], []).append(edge["to"])
    reached, waiting = {v}, [v]
    while waiting:
        found = set(out.get(waiting.pop(), ())) - reached
        reached |= found
        waiting += found
    return reached


def work_at_prices(work, certificate):
    """What a unit of all times, loads and chains is worth, by claims that hold and weights that add up to 1 at most; and
    what the limits are worth together, which no plan exceeds: the bound is less by so much."""
    unit = Fraction(1, 2 ** whole(certificate["weight_bits"], "weight_bits", 41))
    edges, vertices, channels = work["edges"], len(work["vertices"]), whole(work["channels"], "channels")
    limits = [Fraction(limit) for limit in work.get("limits", [])]
    machines = channels - len(limits)
    demand(machines >= 1, "there are as many limits as channels")
    demand(all(x >= 0 for t in work["times"] + work["matrices"] for x in t), "work takes a time below zero")
    time, load, chain = [Fraction(0)] * vertices, Counter(), [Fraction(0)] * len(edges)
    left, owed = Fraction(1), Fraction(0)

    def along(first, path):
        """Counts a path; its last vertex."""
        at = whole(first, "vertex", vertices)
        time[at] += weight
        for e in path:
            demand(edges[whole(e, "edge", len(edges))]["from"] == at, "the edges are no path")
            at = edges[e]["to"]
            chain[e] += weight
            time[at] += weight
        return at

    for claim in each("claims", certificate["claims"]):
        weight = unit * whole(claim["weight"], "weight")
        left -= weight
        demand(weight >= 0 and left >= 0, "weights are below zero or add up to more than 1")
        head, later, price = claim.get("head", []), claim.get("later", []), claim.get("price", 0)
        demand(price >= 0, "a price is below zero")
        if "channel" not in claim:
            demand(not head and not later and price == 0, "a path has a head or a price")
            along(claim["first"], claim["edges"])
            continue
        channel = whole(claim["channel"], "channel", machines)
        chosen = [edges[whole(e, "edge", len(edges))] for e in claim["edges"]]
        demand(len({edge["share"] for edge in chosen}) == len(chosen), "a share is counted twice")
        if "first" in claim:
            end = along(claim["first"], head)
            after = reached_from(edges, end)
            demand(all(edge["from"] in after or edge.get("since") in after for edge in chosen),
                   "an edge may come before the head ends")
            demand(not later or channel == 0, "vertices are counted on a channel that computes nothing")
            demand(len(set(later) & after - {end}) == len(later), "a vertex may come before the head ends, or is there twice")
        else:
            demand(not head and not later, "there are edges or vertices of a head that is not there")
            later = range(vertices) if channel == 0 else []
        for v in later:
            time[v] += weight
        for e in claim["edges"]:
            load[e, channel] += weight
        if price > 0:
            held = whole(claim["held"], "channel", channels)
            demand(held >= machines, "a price is on a channel that has no limit")
            worth = float(price) * claim["weight"]
            rate = unit * (int(worth) if worth < 2**52 else 0)
            owed += rate * limits[held - machines]
            for e in range(len(edges)):
                load[e, held] += rate
    return (time, load, chain), owed
