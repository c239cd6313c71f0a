"""What communication hides behind in a placement problem, and what prices take off its costs, for check_certificate.py."""

from fractions import Fraction
from heapq import heapify, heappop, heappush

from exact import demand, whole


class Layout:
    """Positions, which of them compute what hides, and of each edge the positions that may hide its communication."""

    def __init__(self, text, form, prefetch, every_edge):
        self.edges, n = [(e["from"], e["to"]) for e in text["edges"]], len(text["vertices"])
        self.into, self.out = [[] for _ in range(n)], [[] for _ in range(n)]
        for a, b in self.edges:
            self.into[b].append(a)
            self.out[a].append(b)
        listed = text.get("overlap", {}).get("edges", [])
        given = [h for h in listed if "window" in h]
        ways, channel = {}, {}
        for h in listed:
            if "window" not in h:
                ways.setdefault(h["edge"], set()).add(h["direction"])
                channel[h["edge"]] = h.get("channel", 0)
        self.order = self.running_order(n)
        if given or (len(self.order) < n and form != "windows"):
            self.order = range(n)
        demand(len(self.order) == n, "a cycle has no order")
        self.at = {v: q for q, v in enumerate(self.order)}
        works = [any(c is not None and c > 0 for c in v["compute"]) for v in text["vertices"]]
        if form == "windows":
            works = self.without_what_moves(ways, works)
            self.wait(works)
            if every_edge:
                ways = {e: ways.get(e, set()) for e in set(range(len(self.edges))) - {h["edge"] for h in given} | set(ways)}
        self.computes = [works[v] for v in self.order]
        windows = {"windows": self.by_dependency, "strict": self.strict, "inclusive": self.inclusive,
                   "inclusive-twice": self.twice}[form]
        self.places, numbers = [], {}  # edge, first and last position, one between that does not count, channel
        for e in sorted(ways):
            for first, last, gap in windows(e, ways[e], prefetch):
                self.places.append((e, first, last, gap, numbers.setdefault(channel.get(e, 0), len(numbers))))
        for h in given:
            self.places.append((h["edge"], *h["window"], None, numbers.setdefault(h.get("channel", 0), len(numbers))))
        self.channels = len(numbers)

    def running_order(self, n):
        """Of the vertices whose producers all stand before them always the first; what is on a cycle never."""
        waiting, order = [len(producers) for producers in self.into], []
        ready = [v for v in range(n) if not waiting[v]]
        heapify(ready)
        while ready:
            order.append(heappop(ready))
            for w in self.out[order[-1]]:
                waiting[w] -= 1
                if not waiting[w]:
                    heappush(ready, w)
        return order

    def strict(self, e, ways, _):
        p, last = self.at[self.edges[e][1]], len(self.order) - 1
        first, end, gap = (0, last, p) if len(ways) == 2 else (0, p - 1, None) if "earlier" in ways else (p + 1, last, None)
        return [(first, end, gap)] if first <= end and last > 0 else []  # no place, no number of its channel

    def inclusive(self, e, ways, _):
        return [(0, len(self.order) - 1, None)] if len(ways) == 2 else self.twice(e, ways, _)

    def twice(self, e, ways, _):
        p = self.at[self.edges[e][1]]
        return [window for way, window in (("earlier", (0, p, None)), ("later", (p, len(self.order) - 1, None))) if way in ways]

    def by_dependency(self, e, ways, prefetch):
        a, b = self.edges[e]
        first, last = self.done[a], self.needed[b] - 1
        if prefetch is not None and "later" not in ways:
            before = [q for q in range(self.at[b]) if self.computes[q]]
            near = self.at[b] if prefetch == 0 else before[-prefetch] if prefetch < len(before) else 0
            first = max(first, near)
        return [(first, last, None)] if first <= last else []

    def without_what_moves(self, ways, works):
        """What moves with its communication hides nothing: what parameters are made into, and what leads to results."""
        early = {self.edges[e][0] for e in ways if "earlier" in ways[e]}
        late = {self.edges[e][1] for e in ways if "later" in ways[e]}
        tail = set()
        for v in reversed(self.order):  # consumers before producers
            one_input = len(self.into[v]) <= 1
            if v in late and tail.issuperset(self.out[v]) and (one_input or not self.out[v] and not works[v]):
                tail.add(v)
        return [works[v] and v not in early | tail for v in range(len(works))]

    def wait(self, works):
        """Per vertex: after which position all that it waits for is done; the first position that waits for it."""
        self.done, self.needed = {}, {}
        for v in self.order:
            self.done[v] = self.at[v] + 1 if works[v] else max((self.done[u] for u in self.into[v]), default=0)
        for v in reversed(self.order):
            self.needed[v] = self.at[v] if works[v] else min((self.needed[w] for w in self.out[v]), default=len(works))

    def taken_off(self, prices):
        """Of a list of prices, per vertex and edge, how much of a unit of computation and of communication it takes."""
        one, n = 2 ** whole(prices.get("price_bits", 0), "price_bits", 41), len(self.order)
        price = [[Fraction(0)] * n for _ in range(self.channels)]
        for run in prices["runs"]:
            c, q = whole(run.get("channel", 0), "channel", self.channels), whole(run["position"], "position", n)
            price[c][q:] = [Fraction(whole(run["price"], "price", one + 1), one)] * (n - q)
        worth = {v: sum(of[q] for of in price) for q, v in enumerate(self.order) if self.computes[q]}
        saved = {}
        for e, first, last, gap, c in self.places:
            inside = (price[c][q] for q in range(first, min(last + 1, n)) if self.computes[q] and q != gap)
            saved[e] = saved.get(e, 0) + 1 - min(inside, default=Fraction(1))
        return worth, saved
