"""Claims on the step of a plan and what they make work cost, for check_certificate.py: "A bound on the step" in docs/proofs.md."""

from fractions import Fraction

from exact import demand, index, whole


def reached_from(edges, v):
    """The vertices that come after v, and v."""
    out = {}
    for edge in edges:
        out.setdefault(edge["from"], []).append(edge["to"])
    reached, open_ones = {v}, [v]
    while open_ones:
        for to in out.get(open_ones.pop(), ()):
            if to not in reached:
                reached.add(to)
                open_ones.append(to)
    return reached


def work_at_prices(work, certificate):
    """What a unit of all times, loads and chains is worth, by claims that hold and weights that add up to 1 at most; and
    what the limits are worth together, which no plan exceeds: the bound is less by so much."""
    bits = index(certificate["weight_bits"], 41, "weight_bits")
    unit = Fraction(1, 2**bits)
    edges, vertices, channels = work["edges"], len(work["vertices"]), whole(work["channels"], "channels")
    limits = [Fraction(limit) for limit in work.get("limits", [])]
    machines = channels - len(limits)
    demand(machines >= 1, "there are as many limits as channels")
    time, load, chain = [Fraction(0)] * vertices, {}, [Fraction(0)] * len(edges)
    left, owed = Fraction(1), Fraction(0)
    for t in work["times"] + work["matrices"]:
        demand(all(x >= 0 for x in t), "work takes a time below zero")

    def along(i, claim, path):
        at = index(claim["first"], vertices, "vertex")
        time[at] += weight
        for e in path:
            demand(edges[index(e, len(edges), "edge")]["from"] == at, f"claim {i} is no path")
            at = edges[e]["to"]
            chain[e] += weight
            time[at] += weight
        return at

    for i, claim in enumerate(certificate["claims"]):
        weight = unit * whole(claim["weight"], "weight")
        left -= weight
        demand(weight >= 0 and left >= 0, "weights are below zero or add up to more than 1")
        demand("first" in claim or "channel" in claim, "a claim needs channel or first")
        later, price = claim.get("later", []), claim.get("price", 0)
        demand(price >= 0, f"claim {i} has a price below zero")
        if "channel" not in claim:
            demand(not claim.get("head") and not later and price == 0, f"claim {i} is a path with a head or a price")
            along(i, claim, claim["edges"])
            continue
        channel = index(claim["channel"], machines, "channel")
        chosen = [edges[index(e, len(edges), "edge")] for e in claim["edges"]]
        shares = [edge["share"] for edge in chosen]
        demand(len(set(shares)) == len(shares), f"claim {i} counts a share twice")
        if "first" in claim:
            end = along(i, claim, claim.get("head", []))
            after = reached_from(edges, end)
            demand(all(edge["from"] in after or edge.get("since") in after for edge in chosen),
                   f"claim {i} counts an edge that may come before its head ends")
            demand(not later or channel == 0, f"claim {i} counts vertices on a channel that computes nothing")
            demand(all(v in after and v != end for v in later) and len(set(later)) == len(later),
                   f"claim {i} counts a vertex that may come before its head ends, or twice")
            for v in later:
                time[v] += weight
        else:
            demand(not claim.get("head") and not later, f"claim {i} has edges or vertices of a head that it has not")
            if channel == 0:
                time = [t + weight for t in time]
        for e in claim["edges"]:
            load[e, channel] = load.get((e, channel), 0) + weight
        if price > 0:
            held = index(claim["held"], channels, "channel")
            demand(held >= machines, f"claim {i} has a price on channel {held}, which has no limit")
            worth = float(price) * claim["weight"]
            rate = unit * (int(worth) if worth < 2**52 else 0)
            owed += rate * limits[held - machines]
            for e in range(len(edges)):
                load[e, held] = load.get((e, held), 0) + rate
    return (time, load, chain), owed
