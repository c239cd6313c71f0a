"""What communication hides behind in a placement problem, and what prices take off its costs: "Savings" in docs/proofs.md."""

from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

from exact import demand, whole


class Layout:
    """Positions, which of them compute what hides, and the sets of positions that may hide communication of an edge."""

    def __init__(self, text, form, prefetch, every_edge):
        demand(form in ("windows", "strict", "inclusive", "inclusive-twice"), "there is no such form")
        vertices, listed = text["vertices"], text.get("overlap", {}).get("edges", [])
        self.edges, n = [(e["from"], e["to"]) for e in text["edges"]], len(vertices)
        self.into, self.out = [[] for _ in range(n)], [[] for _ in range(n)]
        for a, b in self.edges:
            self.into[b].append(a)
            self.out[a].append(b)
        ways, channel, given = {}, {}, [h for h in listed if "window" in h]
        for h in listed:
            if "window" not in h:
                ways.setdefault(h["edge"], set()).add(h["direction"])
                channel[h["edge"]] = h.get("channel", 0)
        try:
            self.order = range(n) if given else self.running_order()
        except CycleError:
            demand(form != "windows", "a cycle has no order")
            self.order = range(n)
        self.at = {v: q for q, v in enumerate(self.order)}
        works = [any(c is not None and c > 0 for c in vertex["compute"]) for vertex in vertices]
        if form == "windows":
            works = self.without_what_moves(ways, works)
            self.wait(works)
            if every_edge:
                own = {h["edge"] for h in given} - set(ways)
                ways = {e: ways.get(e, set()) for e in range(len(self.edges)) if e not in own}
        self.computes = {q for q, v in enumerate(self.order) if works[v]}
        places = [(e, channel.get(e, 0), window) for e in sorted(ways) for window in self.windows(form, e, ways[e], prefetch)]
        places += [(h["edge"], h.get("channel", 0), [range(h["window"][0], h["window"][1] + 1)]) for h in given]
        numbers = {c: i for i, c in enumerate(dict.fromkeys(c for _, c, window in places if any(map(len, window))))}
        self.places = [(e, numbers[c], window) for e, c, window in places if any(map(len, window))]
        self.channels = len(numbers)

    def running_order(self):
        """Of the vertices whose producers all stand before them always the first."""
        sorter, ready, order = TopologicalSorter(dict(enumerate(self.into))), [], []
        sorter.prepare()
        while sorter.is_active():
            for v in sorter.get_ready():
                heappush(ready, v)
            order.append(heappop(ready))
            sorter.done(order[-1])
        return order

    def windows(self, form, e, ways, prefetch):
        """The ranges of positions behind which an edge may hide, in each of the windows in which it may save."""
        (a, b), n = self.edges[e], len(self.order)
        at, own = self.at[b], 0 if form == "strict" else 1  # whether behind the consumer's own computation
        if form == "windows":
            near = 0
            if prefetch is not None and "later" not in ways:
                before = [q for q in range(at) if q in self.computes]
                near = [0, *before, at][max(0, len(before) + 1 - prefetch)]
            return [[range(max(self.done[a], near), self.needed[b])]]
        sides = [range(at + own)] if "earlier" in ways else []
        sides += [range(at + 1 - own, n)] if "later" in ways else []
        return [[side] for side in sides] if form == "inclusive-twice" else [sides]

    def without_what_moves(self, ways, works):
        """What moves with its communication hides nothing: what parameters are made into, and what leads to results."""
        moves = {self.edges[e][0] for e in ways if "earlier" in ways[e]}
        late, tail = {self.edges[e][1] for e in ways if "later" in ways[e]}, set()
        for v in reversed(self.order):  # consumers before producers
            one_input = len(self.into[v]) <= 1
            if v in late and tail.issuperset(self.out[v]) and (one_input or not self.out[v] and not works[v]):
                tail.add(v)
        return [does and v not in moves | tail for v, does in enumerate(works)]

    def wait(self, works):
        """Per vertex: after which position all that it waits for is done; the first position that waits for it."""
        self.done, self.needed = {}, {}
        for v in self.order:
            self.done[v] = self.at[v] + 1 if works[v] else max((self.done[u] for u in self.into[v]), default=0)
        for v in reversed(self.order):
            self.needed[v] = self.at[v] if works[v] else min((self.needed[w] for w in self.out[v]), default=len(works))

    def taken_off(self, prices):
        """Of a list of prices, per vertex and edge, how much of a unit of computation and of communication it takes."""
        one, n = 2 ** prices.get("price_bits", 0), len(self.order)
        demand(one <= 2**40, "prices of savings have more than 40 bits")
        price = [[0] * n for _ in range(self.channels)]
        for run in prices["runs"]:
            q, c = run["position"], run.get("channel", 0)
            demand(whole([run["price"], c]) and run["price"] <= one and q < n, "a price is above 1, or at no position")
            price[c][q:] = [run["price"]] * (n - q)
        hides = [[of[q] if q in self.computes else one for q in range(n)] for of in price]
        saved = {}
        for e, c, window in self.places:
            least = min(min(hides[c][of.start : of.stop], default=one) for of in window)
            saved[e] = saved.get(e, 0) + Fraction(one - least, one)
        return {self.order[q]: Fraction(sum(of[q] for of in price), one) for q in self.computes}, saved
