"""What communication hides behind in a placement problem, and what prices take off its costs, for check_certificate.py."""

from fractions import Fraction


def running_order(count, edges, has_windows, form):
    """The order in which the vertices are listed; if an edge runs against it, of those that are ready the first, always."""
    if all(a < b for a, b in edges) or has_windows:
        return list(range(count))
    waiting, out = [0] * count, [[] for _ in range(count)]
    for a, b in edges:
        waiting[b] += 1
        out[a].append(b)
    ready, order = sorted(v for v in range(count) if not waiting[v]), []
    while ready:
        v = ready.pop(0)
        order.append(v)
        for w in out[v]:
            waiting[w] -= 1
            if not waiting[w]:
                ready = sorted(ready + [w])
    if len(order) < count and form == "windows":
        raise ValueError("a cycle has no order")
    return order if len(order) == count else list(range(count))


class Layout:
    """Positions, which of them compute what hides, and of each edge the positions that may hide its communication."""

    def __init__(self, text, form, prefetch, every_edge):
        vertices, edges = text["vertices"], [(e["from"], e["to"]) for e in text["edges"]]
        n, listed = len(vertices), text.get("overlap", {}).get("edges", [])
        ways, channel, windows = {}, {}, {}
        for h in listed:
            if "window" in h:
                windows.setdefault(h["edge"], []).append((h["window"], h.get("channel", 0)))
            else:
                ways.setdefault(h["edge"], set()).add(h["direction"])
                channel[h["edge"]] = h.get("channel", 0)
        self.order = running_order(n, edges, bool(windows), form)
        at = {v: q for q, v in enumerate(self.order)}
        works = [any(c is not None and c > 0 for c in v["compute"]) for v in vertices]
        by_form = {"windows": self.by_dependency, "strict": self.strict, "inclusive": self.inclusive,
                   "inclusive-twice": self.inclusive_twice}[form]
        if form == "windows":
            works = self.without_what_moves(n, edges, ways, works)
        self.computes = [works[v] for v in self.order]
        if form == "windows":
            self.wait(n, edges, works, at)
        self.places, numbers = [], {}  # edge, positions, number of the channel
        for e, (_, b) in enumerate(edges):
            if e in ways or (form == "windows" and every_edge and e not in windows):
                for first, last, gap in by_form(edges[e], ways.get(e, set()), at[b], n, prefetch):
                    number = numbers.setdefault(channel.get(e, 0), len(numbers))
                    self.places.append((e, first, last, gap, number))
        for h in listed:
            if "window" in h:
                number = numbers.setdefault(h.get("channel", 0), len(numbers))
                self.places.append((h["edge"], h["window"][0], h["window"][1], None, number))
        self.channels = len(numbers)

    def strict(self, _, ways, p, n, __):
        window = (0, n - 1, p) if len(ways) == 2 else (0, p - 1, None) if "earlier" in ways else (p + 1, n - 1, None)
        return [window] if window[0] <= window[1] and n > 1 else []  # no place, no number of its channel

    def inclusive(self, _, ways, p, n, __):
        return [(0, n - 1, None)] if len(ways) == 2 else self.inclusive_twice(_, ways, p, n, __)

    def inclusive_twice(self, _, ways, p, n, __):
        return [w for way, w in (("earlier", (0, p, None)), ("later", (p, n - 1, None))) if way in ways]

    def without_what_moves(self, n, edges, ways, works):
        """What moves with its communication hides nothing: what parameters are made into, and what leads to results."""
        inputs, targets, late = [0] * n, [[] for _ in range(n)], set()
        moves = set()
        for e, (a, b) in enumerate(edges):
            inputs[b] += 1
            targets[a].append(b)
            if "earlier" in ways.get(e, ()):
                moves.add(a)
            if "later" in ways.get(e, ()):
                late.add(b)
        tail = {v for v in late if not targets[v] and (inputs[v] <= 1 or not works[v])}
        for v in reversed(self.order):
            if v in late and inputs[v] <= 1 and targets[v] and all(w in tail for w in targets[v]):
                tail.add(v)
        return [works[v] and v not in moves and v not in tail for v in range(n)]

    def wait(self, n, edges, works, at):
        """Per vertex: after which position all that it waits for is done; the first position that waits for it."""
        into, out = [[] for _ in range(n)], [[] for _ in range(n)]
        for a, b in edges:
            into[b].append(a)
            out[a].append(b)
        self.done, self.needed = [0] * n, [n] * n
        for v in self.order:
            self.done[v] = at[v] + 1 if works[v] else max((self.done[u] for u in into[v]), default=0)
        for v in reversed(self.order):
            self.needed[v] = at[v] if works[v] else min((self.needed[w] for w in out[v]), default=n)

    def by_dependency(self, edge, ways, p, n, prefetch):
        first = self.done[edge[0]]
        if prefetch is not None and "later" not in ways:
            before = [q for q in range(p) if self.computes[q]]
            near = p if prefetch == 0 else before[-prefetch] if prefetch < len(before) else 0
            first = max(first, near)
        last = self.needed[edge[1]] - 1
        return [(first, last, None)] if first <= last else []

    def taken_off(self, prices):
        """Of a list of prices, per vertex and edge, how much of a unit of computation and of communication it takes."""
        bits = prices.get("price_bits", 0)
        if not (type(bits) is int and 0 <= bits <= 40):
            raise ValueError("price_bits are not from 0 to 40")
        n = len(self.order)
        price = [[Fraction(0)] * n for _ in range(self.channels)]
        for run in prices["runs"]:
            c, q, amount = run.get("channel", 0), run["position"], run["price"]
            if not all(type(x) is int for x in (c, q, amount)) or not (0 <= c < self.channels and 0 <= q < n):
                raise ValueError("a run of prices is out of place")
            if not 0 <= amount <= 2**bits:
                raise ValueError("a price is not from 0 to 1")
            price[c][q:] = [Fraction(amount, 2**bits)] * (n - q)
        worth, saved = {}, {}
        for q, v in enumerate(self.order):
            if self.computes[q]:
                worth[v] = sum(of[q] for of in price)
        for e, first, last, gap, channel in self.places:
            inside = (price[channel][q] for q in range(first, min(last + 1, n)) if self.computes[q] and q != gap)
            saved[e] = saved.get(e, 0) + 1 - min(inside, default=Fraction(1))
        return worth, saved
