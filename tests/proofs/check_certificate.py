#!/usr/bin/env python3
"""check_certificate.py PROBLEM CERTIFICATE: a second opinion on proofs of lower bounds.

Written from docs/proofs.md and docs/formats.md alone, in whole numbers of one unit, slow and short. Prints the bound and
exits with 0, or prints the step that does not hold and exits with 1; 2 if a file cannot be read.
"""

import gzip
import json
import sys
from fractions import Fraction

sys.dont_write_bytecode = True
import check_order
import savings

TOLERANCE = Fraction(1, 2**18)  # of usage, beside a limit
IOPDDL_FORBIDDEN = 10**17


class Refused(Exception):
    pass


def demand(condition, text):
    if not condition:
        raise Refused(text)


def read(path):
    def no_twins(pairs):
        keys = [k for k, _ in pairs]
        demand(len(set(keys)) == len(keys), "a field stands twice in one object")
        return dict(pairs)

    def no_constant(name):
        raise ValueError(name + " is no number")

    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data.decode(), object_pairs_hook=no_twins, parse_constant=no_constant)


class Unit:
    """Costs are whole multiples of 1 / Unit.one, a power of two that everything which is read is a multiple of."""

    one = 1

    @staticmethod
    def choose(*texts):
        def bits(x):
            if isinstance(x, dict):
                finest = [bits(v) for v in x.values()]
            elif isinstance(x, list):
                finest = [bits(v) for v in x] if any(type(v) not in (int, str) for v in x) else []
            else:
                return x.as_integer_ratio()[1].bit_length() - 1 if type(x) is float else 0
            return max(finest, default=0)

        lists = texts[-1].get("multipliers", [])
        told = [m.get(k, 0) for m in lists for k in ("message_bits", "price_bits")]
        shares = max([41] + [b for b in told if type(b) is int and b <= 1200])  # 41: of weights, and of prices of savings
        Unit.one = 2 ** (shares + 2 * max(map(bits, texts)))


def units(number):
    """A cost as the whole number of units that it exactly is; None is forbidden."""
    if number is None:
        return None
    n, d = number.as_integer_ratio()
    whole, rest = divmod(n * Unit.one, d)
    demand(rest == 0, f"{number} is no multiple of the unit")
    return whole


def index(value, count, what):
    demand(type(value) is int and 0 <= value < count, f"{what} {value} is not from 0 to {count - 1}")
    return value


def whole(value, what):
    demand(type(value) is int and -(2**63) <= value < 2**63, f"{what} is no whole number of 64 bits")
    return value


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
            parts = [(m, load.get((e, c), 0)) for c, m in enumerate(table["loads"])] + [(table.get("chain"), chain[e])]
            key = (self.counts[a], n, tuple((m, price) for m, price in parts if m is not None and price != 0))
            if not key[2]:
                continue
            if key not in self.priced:
                flat = [0] * (n * self.counts[a])
                for m, price in key[2]:
                    demand(len(work["matrices"][m]) == len(flat), f"matrix {m} of work has the wrong size")
                    flat = [old + units(price * Fraction(t)) for old, t in zip(flat, work["matrices"][m])]
                self.priced[key] = [flat[i : i + n] for i in range(0, len(flat), n)]
            self.add_table(a, b, self.priced[key])

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


class Checker:
    def __init__(self, problem, certificate, at_prices=None):
        """at_prices: the problem as it is at each of the certificate's prices of savings, where those count"""
        self.p, self.c, self.at_prices = problem, certificate, at_prices
        demand(certificate["format"] == "shardweave.certificate", "the certificate is of another format")
        demand(certificate["version"] == 1, "the certificate is of another version")
        self.infeasible = certificate.get("infeasible", False)
        demand(type(self.infeasible) is bool, "infeasible is true or false")
        demand(self.infeasible != ("lower_bound" in certificate), "needs lower_bound or infeasible, and not both")
        self.claimed = None if self.infeasible else Fraction(certificate["lower_bound"])
        self.goal = units(self.claimed)
        self.steps = 0

    def vertex(self, v):
        return self.p.unknown[index(v, len(self.p.unknown), "vertex")]

    def row(self, entry):
        b = index(entry["budget"], len(self.p.budgets), "budget")
        return b, whole(entry.get("time", 0), "time")

    def rule_out(self, r, left):
        x, (b, time) = self.vertex(r["vertex"]), self.row(r)
        demand(r.get("limit", "high") in ("high", "low"), "a limit is high or low")
        sign = -1 if r.get("limit") == "low" else 1
        limit = self.p.budgets[b][0 if sign < 0 else 1]
        demand(limit is not None, "names a limit that is not there")
        used = self.p.usage(b, time)
        others = sum((min((sign * used[y][s] for s in left[y]), default=0) for y in used if y != x))
        for s in r["strategies"]:
            index(s, self.p.counts[x], "strategy")
            own = used[x][s] if x in used else 0
            demand(others + sign * own > sign * limit, f"strategy {s} of vertex {x} can keep the limit")
        left[x] = left[x] - set(r["strategies"])
        self.p.propagate(left, [x])

    def multipliers(self, m):
        """Prices in cost per unit of usage and messages in cost, once their shape is what it must be."""
        unit = Fraction(1, 2 ** index(m.get("message_bits", 0), 1201, "message_bits"))
        price_unit = Fraction(1, 2 ** index(m.get("price_bits", 0), 1201, "price_bits"))
        only_limits = m.get("only_limits", False)
        demand(type(only_limits) is bool, "only_limits is true or false")
        problem = self.p
        if "savings" in m:
            demand(self.at_prices is not None, "has prices of savings that do not count")
            problem = self.at_prices[index(m["savings"], len(self.at_prices), "prices of savings")]
        demand("savings" in m or only_limits or self.at_prices is None, "leaves savings out, which count")
        prices, messages = [], {}
        for entry in m.get("prices", []):
            b, time = self.row(entry)
            price = price_unit * whole(entry["price"], "price")
            limit = self.p.budgets[b][1 if price > 0 else 0]
            demand(price == 0 or limit is not None, "a price is against a limit that is not there")
            if price != 0:
                prices.append((b, time, units(price / self.p.budgets[b][3]), limit))
        for entry in m.get("messages", []):
            pair = self.vertex(entry["from"]), self.vertex(entry["to"])
            demand(pair in self.p.pairs, f"there is no edge from {pair[0]} to {pair[1]}")
            demand(pair not in messages, f"the message from {pair[0]} to {pair[1]} is there twice")
            demand(len(entry["amounts"]) == self.p.counts[pair[1]], "a message has too many or too few amounts")
            messages[pair] = [units(unit) * whole(a, "an amount") for a in entry["amounts"]]
        return only_limits, prices, messages, problem

    def priced(self, multipliers, left):
        """What multipliers prove of all that is left, and what each strategy has come to."""
        only_limits, prices, messages, problem = multipliers
        belief = {x: {s: 0 if only_limits else problem.unary[x][s] for s in left[x]} for x in left}
        total = 0
        for b, time, price, limit in prices:
            total -= price * limit
            for x, used in self.p.usage(b, time).items():
                for s in belief[x]:
                    belief[x][s] += price * used[s]
        for (x, y), table in problem.pairs.items():
            given = messages.get((x, y))
            if given is None and only_limits:
                continue
            most = {}  # per column class
            for s in left[y]:
                amount = given[s] if given else 0
                belief[y][s] += amount
                k = table.column_class[s]
                most[k] = max(most.get(k, amount), amount)
            rest = {}  # per row class
            for i in {table.row_class[s] for s in left[x]}:
                costs = table.rows[i]
                rest[i] = min((0 if only_limits else costs[k]) - most[k] for k in most if costs[k] is not None)
            for s in left[x]:
                belief[x][s] += rest[table.row_class[s]]
        return total + sum(min(of.values()) for of in belief.values()), belief

    def closes(self, only_limits, bound):
        """Whether a bound says what is claimed, or that limits are broken."""
        if only_limits or self.infeasible:
            return only_limits and bound > 0
        return bound > self.goal - Unit.one if self.p.whole_costs else bound >= self.goal

    def narrow(self, multipliers, left):
        """Drops the strategies with which what is left costs what is claimed, or breaks limits."""
        total, belief = self.priced(multipliers, left)
        less = dict(left)
        for x, of in belief.items():
            rest = total - min(of.values())
            less[x] = {s for s in of if not self.closes(multipliers[0], rest + of[s])}
        self.p.propagate(less, [x for x in left if less[x] != left[x]])
        return less

    def shape_of_case(self, number, case):
        demand(("multipliers" in case) != ("parts" in case), "needs multipliers or parts, and not both")
        if "multipliers" in case:
            index(case["multipliers"], len(self.c["multipliers"]), "multipliers")
            demand(len(case.get("cases", [])) <= 1, "has multipliers and several cases")
        else:
            x = self.vertex(case["vertex"])
            demand(len(case["parts"]) == len(case["cases"]) > 0, "has parts without cases")
            for part in case["parts"]:
                for s in part:
                    index(s, self.p.counts[x], "strategy")
        for following in case.get("cases", []):
            demand(index(following, len(self.c["cases"]), "case") > number, "is split into an earlier case")

    def run(self):
        left = {x: set(of) for x, of in self.p.left.items()}
        self.p.propagate(left, list(left))
        multipliers = []
        for i, m in enumerate(self.c["multipliers"]):
            self.step = f"multipliers[{i}]"
            multipliers.append(self.multipliers(m))
        for i, case in enumerate(self.c["cases"]):
            self.step = f"cases[{i}]"
            self.shape_of_case(i, case)
        for i, r in enumerate(self.c.get("ruled_out", [])):
            self.step = f"ruled_out[{i}]"
            self.rule_out(r, left)
            self.steps += 1
        cases, seen = self.c["cases"], set()
        self.step = "the cases"
        demand(cases, "there are none")
        stack = [(0, left)]
        while stack:
            number, left = stack.pop()
            self.step = f"cases[{number}]"
            demand(number not in seen, "is a part of two others")
            seen.add(number)
            case = cases[number]
            self.steps += 1
            if "multipliers" in case:
                m = multipliers[case["multipliers"]]
                is_empty = any(not of for of in left.values())
                if case.get("cases"):
                    stack.append((case["cases"][0], left if is_empty else self.narrow(m, left)))
                elif not is_empty:
                    bound = self.priced(m, left)[0]
                    demand(self.closes(m[0], bound), f"is bounded by {float(Fraction(bound, Unit.one))!r}, which proves too little")
                continue
            x = self.vertex(case["vertex"])
            covered = set()
            for part, following in zip(case["parts"], case["cases"]):
                covered |= set(part)
                less = dict(left)
                less[x] = left[x] & set(part)
                self.p.propagate(less, [x])
                stack.append((following, less))
            demand(left[x] <= covered, f"has no part with strategy {min(left[x] - covered, default=0)} of vertex {x}")
        self.step = "the cases"
        demand(len(seen) == len(cases), "some are part of no other")


def judge(problem_path, certificate_path):
    """Whether the proof holds, and what there is to say."""
    step = "reading"
    checker = None
    try:
        problem, certificate = read(problem_path), read(certificate_path)
        if certificate.get("of") == "order":
            return check_order.judge(problem, certificate)
        demand(certificate.get("of") in ("placement", "step"), "the certificate is of another kind")
        Unit.choose(problem, certificate)
        in_place, owed = work_at_prices(problem["work"], certificate) if certificate["of"] == "step" else (None, 0)
        at_prices = None
        if "overlap" in certificate:
            form = savings.Layout(problem, certificate["overlap"], certificate.get("prefetch"), certificate.get("every_edge"))
            at_prices = [Problem(problem, None, form.taken_off(one)) for one in certificate["savings"]]
        checker = Checker(Problem(problem, in_place), certificate, at_prices)
        checker.run()
    except Refused as why:
        return False, f"not accepted: {getattr(checker, 'step', step)}: {why}"
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as why:
        return False, f"not accepted: {getattr(checker, 'step', step)}: malformed: {why!r}"
    if checker.infeasible:
        return True, f"accepted: nothing is feasible ({checker.steps} steps)"
    return True, f"accepted: {float(checker.claimed - owed)!r} ({checker.steps} steps)"


def main(arguments):
    """Pairs of a problem and a certificate; one line each."""
    if len(arguments) < 2 or len(arguments) % 2 != 0:
        print(__doc__, file=sys.stderr)
        return 2
    status = 0
    for i in range(0, len(arguments), 2):
        try:
            accepted, text = judge(arguments[i], arguments[i + 1])
        except (OSError, EOFError) as why:
            print(f"check_certificate.py: {why}", file=sys.stderr)
            return 2
        print(text)
        status = status if accepted else 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
