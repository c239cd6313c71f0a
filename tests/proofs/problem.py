"""A placement problem as a proof is about it, for check_certificate.py: "What is proven" in docs/proofs.md."""

from fractions import Fraction

from exact import demand, units, whole

TOLERANCE = Fraction(1, 2**18)  # of usage, beside a limit


def total(*lists):
    """Their sum, entry by entry; what is forbidden in one is forbidden."""
    return [None if None in costs else sum(costs) for costs in zip(*lists)]


def from_contest(p):
    """A problem in the format IOPDDL, where 10^17 and more is forbidden, as one in ours."""

    def allowed(costs):
        return [None if c >= 10**17 else c for c in costs]

    nodes, edges, kinds = p["nodes"], p["edges"], {}
    tables = [kinds.setdefault(tuple(costs), len(kinds)) for costs in edges["costs"]]
    terms = [{"vertex": v, "usage": usage, "live": live}
             for v, (usage, live) in enumerate(zip(nodes["usages"], nodes["intervals"])) if live[0] < live[1]]
    return {"vertices": [{"compute": allowed(costs)} for costs in nodes["costs"]],
            "edges": [{"from": a, "to": b, "communication": m} for (a, b), m in zip(edges["nodes"], tables)],
            "matrices": [allowed(costs) for costs in kinds],
            "budgets": [{"high": p["usage_limit"], "terms": terms}] if "usage_limit" in p else []}


class Table:
    """Costs by class of row and of column: rows that are equal are one class, columns too."""

    def __init__(self, rows):
        kinds, columns = {}, {}
        self.row_class = [kinds.setdefault(tuple(row), len(kinds)) for row in rows]
        self.column_class = [columns.setdefault(column, len(columns)) for column in zip(*kinds)]
        self.columns = list(columns)
        self.rows = list(zip(*columns))


class Problem:
    """Unknowns with strategies, tables between two of them, budgets: all in units."""

    def __init__(self, text, in_place=None, taken_off=({}, {})):
        """in_place: what counts in place of the costs, see work_at_prices; taken_off: shares of computation, by vertex,
        and of communication, by edge, that do not count"""
        self.whole_costs = "problem" in text
        demand(self.whole_costs or text["format"] == "shardweave.placement", "the problem is of another format")
        text = from_contest(text["problem"]) if self.whole_costs else text
        vertices, leader, self.in_place = text["vertices"], {}, in_place
        self.unknown = [leader.setdefault(vertex["tie"], v) if "tie" in vertex else v for v, vertex in enumerate(vertices)]
        self.counts = [len(vertex["compute"]) for vertex in vertices]
        self.unary = {x: [0] * self.counts[x] for x in self.unknown}
        self.terms = {}
        for v, vertex in enumerate(vertices):
            demand(self.counts[v] == self.counts[self.unknown[v]], f"vertex {v} is tied and differs in strategies")
            self.add(v, self.counted(vertex["compute"], taken_off[0].get(v, 0)))
        self.add_tables(text, taken_off[1])
        if in_place is not None:
            self.add_work(text["work"], *in_place)
        self.budgets = [self.budget(b) for b in text.get("budgets", [])]
        self.left = {x: {s for s, cost in enumerate(costs) if cost is not None} for x, costs in self.unary.items()}
        for f in text.get("fixed", []):
            self.left[self.unknown[f["vertex"]]] &= set(f["strategies"])
        made = {}  # equal sums are made once
        self.pairs, self.sides = {}, {x: [] for x in self.unary}
        for (x, y), terms in self.terms.items():
            key = tuple(sorted((id(rows), turned) for rows, turned in terms))
            if key not in made:
                lines = zip(*(zip(*rows) if turned else rows for rows, turned in terms))
                made[key] = Table(total(*line) for line in lines)
            table = self.pairs[x, y] = made[key]
            self.sides[x].append((y, table.row_class, table.rows, table.column_class))
            self.sides[y].append((x, table.column_class, table.columns, table.row_class))

    def counted(self, costs, share):
        """Costs less a share of those above zero; where others are in their place they only forbid."""
        n, d = (1 - share).as_integer_ratio()
        if self.in_place is not None:
            return [None if c is None else 0 for c in costs]
        return [c if c is None or c < 0 else c * n // d for c in map(units, costs)]

    def add(self, v, costs):
        self.unary[self.unknown[v]] = total(self.unary[self.unknown[v]], costs)

    def add_table(self, a, b, rows):
        """rows[strategy of a][strategy of b]"""
        x, y = self.unknown[a], self.unknown[b]
        if x == y:
            self.add(a, [row[s] for s, row in enumerate(rows)])
        else:
            self.terms.setdefault((min(x, y), max(x, y)), []).append((rows, x > y))

    def in_rows(self, a, b, entries):
        n = self.counts[b]
        demand(len(entries) == n * self.counts[a], f"a matrix between {a} and {b} has the wrong size")
        return [entries[at : at + n] for at in range(0, len(entries), n)]

    def add_tables(self, text, saved):
        count, made = len(self.counts), {}
        for i, e in enumerate(text["edges"]):
            a, b = whole(e["from"], "vertex", count), whole(e["to"], "vertex", count)
            for part in ("communication", "transition"):
                if part in e:
                    m = whole(e[part], "matrix", len(text["matrices"]))
                    key = m, self.counts[a], self.counts[b], saved.get(i, 0) if part == "communication" else 0
                    if key not in made:
                        made[key] = self.in_rows(a, b, self.counted(text["matrices"][m], key[-1]))
                    self.add_table(a, b, made[key])
        for p in text.get("pairs", []):
            a, b = whole(p["a"], "vertex", count), whole(p["b"], "vertex", count)
            rows = [[None] * self.counts[b] for _ in range(self.counts[a])]
            for s, t in p["allowed"]:
                rows[whole(s, "strategy", self.counts[a])][whole(t, "strategy", self.counts[b])] = 0
            self.add_table(a, b, rows)

    def add_work(self, work, time, load, chain):
        """Work times its prices; equal products are one table."""

        def parts(matrices, prices):
            return tuple((m, price) for m, price in zip(matrices, prices, strict=True) if m is not None and price != 0)

        def worth(size, parts):
            lists = [(price, work["matrices"][m]) for m, price in parts]
            demand(all(len(entries) == size for _, entries in lists), "a matrix of work has the wrong size")
            return total([0] * size, *([units(price * Fraction(t)) for t in entries] for price, entries in lists))

        for v, price in enumerate(time):
            times = work["times"][work["vertices"][v]]
            demand(len(times) == self.counts[v], f"work of vertex {v} has the wrong size")
            self.add(v, [units(price * Fraction(t)) for t in times])
        made = {}
        for e, edge in enumerate(work["edges"]):
            a, b, table = edge["from"], edge["to"], work["tables"][edge["tables"]]
            prices = [load.get((e, c), 0) for c in range(work["channels"])]
            ways = tuple(parts(loads, prices) for loads in [table["loads"], *table.get("otherwise", [])])
            path = parts([table.get("chain")], [chain[e]])
            key = self.counts[a], self.counts[b], ways, path
            if key not in made:
                size = self.counts[a] * self.counts[b]
                least = [min(of) for of in zip(*(worth(size, way) for way in ways))]
                made[key] = self.in_rows(a, b, total(least, worth(size, path)))
            if any(ways) or path:
                self.add_table(a, b, made[key])

    def budget(self, b):
        """Limits with the tolerance, rounded to what sums of the usages can be: all are whole multiples of 1 / unit."""
        terms = [(self.unknown[t["vertex"]], [Fraction(u) for u in t["usage"]], t.get("live")) for t in b["terms"]]
        unit = max((u.denominator for _, usage, _ in terms for u in usage), default=1)
        low, high = b.get("low"), b.get("high")
        low = None if low is None else -((TOLERANCE - Fraction(low)) * unit // 1)
        high = None if high is None else (Fraction(high) + TOLERANCE) * unit // 1
        return low, high, [(x, [int(u * unit) for u in usage], live) for x, usage, live in terms], unit

    def usage(self, budget, time):
        """Per unknown, what each strategy takes of a budget at a time."""
        used = {}
        for x, usage, live in self.budgets[budget][2]:
            if live is None or live[0] <= time < live[1]:
                used[x] = total(used.get(x, [0] * self.counts[x]), usage)
        return used

    def propagate(self, left, changed):
        """Drops strategies without a partner, until every one has one."""
        changed = list(changed)
        while changed:
            x = changed.pop()
            for y, own_class, lines, other_class in self.sides[x]:
                kinds = {own_class[s] for s in left[x]}
                met = {k for kind in kinds for k, cost in enumerate(lines[kind]) if cost is not None}
                kept = {s for s in left[y] if other_class[s] in met}
                if kept != left[y]:
                    left[y] = kept
                    changed.append(y)
