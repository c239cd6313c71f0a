"""A placement problem as a proof is about it, for check_certificate.py: "What is proven" in docs/proofs.md."""

from fractions import Fraction

from exact import demand, index, units

TOLERANCE = Fraction(1, 2**18)  # of usage, beside a limit
IOPDDL_FORBIDDEN = 10**17


class Table:
    def __init__(self, rows):
        def classes(lines):
            known = {}
            return [known.setdefault(tuple(line), len(known)) for line in lines], known

        self.row_class, kinds = classes(rows)
        self.column_class, columns = classes(zip(*kinds))
        self.columns = list(columns)  # per column class: per row class a cost
        self.rows = list(zip(*self.columns))

    def partners(self, of_x, x_is_row):
        """The classes of the other side that some strategy of x may meet."""
        own, lines = (self.row_class, self.rows) if x_is_row else (self.column_class, self.columns)
        met = set()
        for k in {own[s] for s in of_x}:
            met.update(j for j, cost in enumerate(lines[k]) if cost is not None)
        return met


class Problem:
    """Unknowns with strategies, tables between two of them, budgets: all in units."""

    def __init__(self, text, in_place=None, taken_off=({}, {})):
        """in_place: what counts in place of the costs, see work_at_prices; taken_off: shares of computation, by vertex,
        and of communication, by edge, that do not count"""
        self.budgets = []
        self.worth, self.saved = taken_off
        self.in_place = in_place
        self.whole_costs = "problem" in text
        if self.whole_costs:
            self.read_iopddl(text["problem"])
        else:
            demand(text["format"] == "shardweave.placement", "the problem is of another format")
            self.read_placement(text)

    def start(self, compute, ties):
        """Tied vertices become one unknown, named by the first of them."""
        self.counts = [len(c) for c in compute]
        leader = list(range(len(compute)))

        def find(v):
            while leader[v] != v:
                v = leader[v]
            return v

        for group in ties:
            for v in group:
                a, b = sorted((find(group[0]), find(v)))
                leader[b] = a
        self.unknown = [find(v) for v in range(len(compute))]
        self.unary = {}
        self.left = {}
        for v, costs in enumerate(compute):
            x = self.unknown[v]
            demand(self.counts[v] == self.counts[x], f"vertices {v} and {x} are tied and differ in strategies")
            sums = self.unary.setdefault(x, [0] * len(costs))
            for s, cost in enumerate(costs):
                sums[s] = None if sums[s] is None or cost is None else sums[s] + cost
        for x, costs in self.unary.items():
            self.left[x] = {s for s, cost in enumerate(costs) if cost is not None}
        self.recipes = {}

    def own(self, costs):
        """Costs as they count: where others are in their place they only forbid."""
        return costs if self.in_place is None else [None if c is None else 0 for c in costs]

    def add_table(self, a, b, rows):
        """rows[strategy of a][strategy of b]"""
        x, y = self.unknown[a], self.unknown[b]
        if x == y:
            for s in range(self.counts[x]):
                if rows[s][s] is None:
                    self.left[x].discard(s)
                elif self.unary[x][s] is not None:
                    self.unary[x][s] += rows[s][s]
        else:
            self.recipes.setdefault((min(x, y), max(x, y)), []).append((id(rows), x > y, rows))

    def finish(self):
        """One table per pair; equal sums are made once, equal rows and columns are one class."""
        self.pairs, known = {}, {}
        for (x, y), terms in self.recipes.items():
            key = (self.counts[x], self.counts[y], tuple(sorted((i, turned) for i, turned, _ in terms)))
            if key not in known:
                table = [[0] * self.counts[y] for _ in range(self.counts[x])]
                for _, turned, rows in terms:
                    for a in range(self.counts[x]):
                        for b in range(self.counts[y]):
                            cost = rows[b][a] if turned else rows[a][b]
                            old = table[a][b]
                            table[a][b] = None if old is None or cost is None else old + cost
                known[key] = Table(table)
            self.pairs[x, y] = known[key]
        self.partners = {x: [] for x in self.unary}
        for x, y in self.pairs:
            self.partners[x].append((x, y))
            self.partners[y].append((x, y))

    def read_placement(self, text):
        vertices, edges = text["vertices"], text["edges"]
        ties = {}
        for v, vertex in enumerate(vertices):
            if "tie" in vertex:
                ties.setdefault(vertex["tie"], []).append(v)
        def less(costs, share):
            n, d = (1 - share).as_integer_ratio()
            return [c if c is None or c < 0 else c * n // d for c in map(units, costs)]

        compute = [self.own(less(vertex["compute"], self.worth.get(v, 0))) for v, vertex in enumerate(vertices)]
        self.start(compute, ties.values())
        shaped = {}
        for i, e in enumerate(edges):
            a, b = index(e["from"], len(vertices), "vertex"), index(e["to"], len(vertices), "vertex")
            for part in ("communication", "transition"):
                if part not in e:
                    continue
                m, n = e[part], self.counts[b]
                entries = text["matrices"][index(m, len(text["matrices"]), "matrix")]
                demand(len(entries) == n * self.counts[a], f"matrix {m} has the wrong size")
                share = self.saved.get(i, 0) if part == "communication" else 0
                if (m, n, share) not in shaped:
                    flat = self.own(less(entries, share))
                    shaped[m, n, share] = [flat[at : at + n] for at in range(0, len(flat), n)]
                self.add_table(a, b, shaped[m, n, share])
        self.keep = []  # ids are of living objects
        for p in text.get("pairs", []):
            a, b = index(p["a"], len(vertices), "vertex"), index(p["b"], len(vertices), "vertex")
            rows = [[None] * self.counts[b] for _ in range(self.counts[a])]
            for s, t in p["allowed"]:
                rows[index(s, self.counts[a], "strategy")][index(t, self.counts[b], "strategy")] = 0
            self.keep.append(rows)
            self.add_table(a, b, rows)
        for f in text.get("fixed", []):
            self.left[self.unknown[f["vertex"]]] &= set(f["strategies"])
        if self.in_place is not None:
            self.add_work(text["work"], *self.in_place)
        for b in text.get("budgets", []):
            terms = [(t["vertex"], [Fraction(u) for u in t["usage"]], t.get("live")) for t in b["terms"]]
            self.add_budget(b.get("low"), b.get("high"), terms)
        self.finish()

    def add_work(self, work, time, load, chain):
        """Work times its prices; equal products are one table."""
        for v, price in enumerate(time):
            times = work["times"][work["vertices"][v]]
            demand(len(times) == self.counts[v], f"work of vertex {v} has the wrong size")
            sums = self.unary[self.unknown[v]]
            for s, t in enumerate(times):
                sums[s] = None if sums[s] is None else sums[s] + units(price * Fraction(t))
        self.priced = {}
        for e, edge in enumerate(work["edges"]):
            a, b = edge["from"], edge["to"]
            n, table = self.counts[b], work["tables"][edge["tables"]]
            prices = [load.get((e, c), 0) for c in range(work["channels"])]
            ways = [self.parts(loads, prices) for loads in [table["loads"]] + table.get("otherwise", [])]
            on_path = self.parts([table.get("chain")], [chain[e]])
            if not any(ways) and not on_path:
                continue
            key = (self.counts[a], n, tuple(ways), on_path)
            if key not in self.priced:
                size = n * self.counts[a]
                least = [min(of) for of in zip(*(self.value_of(work, way, size) for way in ways))]
                flat = [x + y for x, y in zip(least, self.value_of(work, on_path, size))]
                self.priced[key] = [flat[i : i + n] for i in range(0, len(flat), n)]
            self.add_table(a, b, self.priced[key])

    @staticmethod
    def parts(matrices, prices):
        """What counts of some matrices at prices."""
        return tuple((m, price) for m, price in zip(matrices, prices, strict=True) if m is not None and price != 0)

    @staticmethod
    def value_of(work, parts, size):
        flat = [0] * size
        for m, price in parts:
            demand(len(work["matrices"][m]) == size, f"matrix {m} of work has the wrong size")
            flat = [old + units(price * Fraction(t)) for old, t in zip(flat, work["matrices"][m])]
        return flat

    def read_iopddl(self, p):
        def costs(row):
            return [None if c >= IOPDDL_FORBIDDEN else units(c) for c in row]

        nodes = p["nodes"]
        self.start([costs(row) for row in nodes["costs"]], [])
        shaped, self.keep = {}, []
        for (a, b), entries in zip(p["edges"]["nodes"], p["edges"]["costs"]):
            n = self.counts[b]
            key = (n, tuple(entries))
            if key not in shaped:
                flat = costs(entries)
                shaped[key] = [flat[i : i + n] for i in range(0, len(flat), n)]
            self.add_table(a, b, shaped[key])
        if "usage_limit" in p:
            terms = [
                (v, [Fraction(u) for u in usage], live)
                for v, (usage, live) in enumerate(zip(nodes["usages"], nodes["intervals"]))
                if live[0] < live[1]
            ]
            self.add_budget(None, p["usage_limit"], terms)
        self.finish()

    def add_budget(self, low, high, terms):
        """Limits with the tolerance, rounded to what sums of the usages can be: all are whole multiples of 1 / unit."""
        unit = max([u.denominator for _, usage, _ in terms for u in usage], default=1)
        if high is not None:
            high = (Fraction(high) + TOLERANCE) * unit // 1
        if low is not None:
            low = -((TOLERANCE - Fraction(low)) * unit // 1)
        terms = [(v, [int(u * unit) for u in usage], live) for v, usage, live in terms]
        self.budgets.append((low, high, terms, unit))

    def usage(self, budget, time):
        """Per unknown, what each strategy takes of a budget at a time."""
        used = {}
        for v, usage, live in self.budgets[budget][2]:
            if live is None or live[0] <= time < live[1]:
                sums = used.setdefault(self.unknown[v], [0] * self.counts[v])
                for s, u in enumerate(usage):
                    sums[s] += u
        return used

    def propagate(self, left, changed):
        """Drops strategies without a partner, until every one has one."""
        queue = list(changed)
        while queue:
            x = queue.pop()
            for a, b in self.partners[x]:
                table = self.pairs[a, b]
                y = b if x == a else a
                met = table.partners(left[x], x == a)
                of_y = table.column_class if x == a else table.row_class
                kept = {s for s in left[y] if of_y[s] in met}
                if kept != left[y]:
                    left[y] = kept
                    queue.append(y)
