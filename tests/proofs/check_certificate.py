#!/usr/bin/env python3
"""check_certificate.py PROBLEM CERTIFICATE: a second opinion on proofs of lower bounds.

Written from docs/proofs.md and docs/formats.md alone, in whole numbers of one unit, slow and short: here the steps of a proof;
beside it the problem, the work of a step's plan, savings, and orders. Prints the bound and exits with 0, or prints the
step that does not hold and exits with 1; 2 if a file cannot be read.
"""

import sys
import zlib
from fractions import Fraction

sys.dont_write_bytecode = True
from check_order import prove_orders
from exact import At, demand, each, read, units, whole
from problem import Problem
from savings import Layout
from work import work_at_prices


class Checker:
    def __init__(self, problem, certificate, at_prices):
        """at_prices: the problem as it is at each of the certificate's prices of savings, where those count"""
        self.p, self.c, self.at_prices = problem, certificate, at_prices
        self.infeasible = certificate.get("infeasible", False)
        demand(type(self.infeasible) is bool, "infeasible is true or false")
        demand(self.infeasible != ("lower_bound" in certificate), "needs lower_bound or infeasible, and not both")
        self.goal = units(certificate.get("lower_bound"))

    def vertex(self, v):
        return self.p.unknown[whole(v, "vertex", len(self.p.unknown))]

    def strategies(self, x, of):
        return {whole(s, f"strategy of vertex {x}", self.p.counts[x]) for s in of}

    def row(self, entry, upper):
        """What each strategy takes of a budget at a time, the limit, and the unit of both."""
        b = whole(entry["budget"], "budget", len(self.p.budgets))
        limit, unit = self.p.budgets[b][1 if upper else 0], self.p.budgets[b][3]
        return self.p.usage(b, whole(entry.get("time", 0), "time")), limit, unit

    def rule_out(self, r, left):
        x, side = self.vertex(r["vertex"]), r.get("limit", "high")
        demand(side in ("high", "low"), "a limit is high or low")
        used, limit, _ = self.row(r, side == "high")
        demand(limit is not None, "names a limit that is not there")
        sign = 1 if side == "high" else -1
        others = sum(min((sign * used[y][s] for s in left[y]), default=0) for y in used if y != x)
        dropped = self.strategies(x, r["strategies"])
        for s in dropped:
            own = used[x][s] if x in used else 0
            demand(others + sign * own > sign * limit, f"strategy {s} of vertex {x} can keep the limit")
        left[x] = left[x] - dropped
        self.p.propagate(left, [x])

    def multipliers(self, m):
        """Prices in cost per unit of usage and messages in cost, once their shape is what it must be."""
        only_limits, problem = m.get("only_limits", False), self.p
        demand(type(only_limits) is bool, "only_limits is true or false")
        if "savings" in m:
            problem = self.at_prices[whole(m["savings"], "prices of savings", len(self.at_prices or []))]
        demand("savings" in m or only_limits or self.at_prices is None, "leaves savings out, which count")
        prices, messages = [], {}
        for entry in m.get("prices", []):
            price = Fraction(whole(entry["price"], "price"), 2 ** m.get("price_bits", 0))
            used, limit, unit = self.row(entry, price > 0)
            demand(price == 0 or limit is not None, "a price is against a limit that is not there")
            if price != 0:
                prices.append((used, units(price / unit), limit))
        for entry in m.get("messages", []):
            pair = self.vertex(entry["from"]), self.vertex(entry["to"])
            demand(pair in self.p.pairs, f"there is no edge from {pair[0]} to {pair[1]}")
            demand(pair not in messages, f"the message from {pair[0]} to {pair[1]} is there twice")
            demand(len(entry["amounts"]) == self.p.counts[pair[1]], "a message has too many or too few amounts")
            unit = units(Fraction(1, 2 ** m.get("message_bits", 0)))
            messages[pair] = [unit * whole(amount, "an amount") for amount in entry["amounts"]]
        return only_limits, prices, messages, problem

    def priced(self, multipliers, left):
        """What multipliers prove of all that is left, and what each strategy has come to."""
        only_limits, prices, messages, problem = multipliers
        come_to = {x: {s: 0 if only_limits else problem.unary[x][s] for s in of} for x, of in left.items()}
        for used, price, _ in prices:
            for x, usage in used.items():
                for s in come_to[x]:
                    come_to[x][s] += price * usage[s]
        for (x, y), table in problem.pairs.items():
            if only_limits and (x, y) not in messages:
                continue
            given = messages.get((x, y), [0] * problem.counts[y])
            most = {}  # per class of columns
            for s in left[y]:
                come_to[y][s] += given[s]
                k = table.column_class[s]
                most[k] = max(most.get(k, given[s]), given[s])
            rest = {}  # per class of rows
            for kind in {table.row_class[s] for s in left[x]}:
                costs = table.rows[kind]
                rest[kind] = min((0 if only_limits else costs[k]) - most[k] for k in most if costs[k] is not None)
            for s in left[x]:
                come_to[x][s] += rest[table.row_class[s]]
        taken_off = sum(price * limit for _, price, limit in prices)
        return sum(min(of.values()) for of in come_to.values()) - taken_off, come_to

    def closes(self, only_limits, bound):
        """Whether a bound says what is claimed, or that limits are broken."""
        if only_limits or self.infeasible:
            return only_limits and bound > 0
        return bound > self.goal - At.one if self.p.whole_costs else bound >= self.goal

    def narrow(self, multipliers, left):
        """Drops the strategies with which what is left costs what is claimed, or breaks limits."""
        bound, come_to = self.priced(multipliers, left)
        less = {x: {s for s in of if not self.closes(multipliers[0], bound - min(of.values()) + of[s])}
                for x, of in come_to.items()}
        self.p.propagate(less, [x for x in left if less[x] != left[x]])
        return less

    def parts(self, case, left):
        """What is left in each part of a case that is split."""
        x = self.vertex(case["vertex"])
        parts = [self.strategies(x, part) for part in case["parts"]]
        demand(len(parts) == len(case["cases"]) > 0, "has parts without cases")
        missing = left[x].difference(*parts)
        demand(not missing, f"has no part with strategies {missing} of vertex {x}")
        for part in parts:
            less = {**left, x: left[x] & part}
            self.p.propagate(less, [x])
            yield less

    def run(self):
        left = {x: set(of) for x, of in self.p.left.items()}
        self.p.propagate(left, left)
        multipliers = [self.multipliers(m) for m in each("multipliers", self.c["multipliers"])]
        for r in each("ruled_out", self.c.get("ruled_out", [])):
            self.rule_out(r, left)
        cases, seen, waiting = self.c["cases"], set(), [(0, left)]
        while waiting:
            number, left = waiting.pop()
            At.step = f"cases[{number}]"
            demand(number not in seen, "is a part of two others")
            seen.add(number)
            case = cases[number]
            following = case.get("cases", [])
            demand(all(whole(n, "case", len(cases)) > number for n in following), "is split into an earlier case")
            demand(("multipliers" in case) != ("parts" in case), "needs multipliers or parts, and not both")
            if "parts" in case:
                waiting += zip(following, self.parts(case, left))
                continue
            m = multipliers[whole(case["multipliers"], "multipliers", len(multipliers))]
            demand(len(following) <= 1, "has multipliers and several cases")
            is_empty = not all(left.values())
            if following:
                waiting.append((following[0], left if is_empty else self.narrow(m, left)))
            elif not is_empty:
                bound = self.priced(m, left)[0]
                demand(self.closes(m[0], bound), f"is bounded by {float(Fraction(bound, At.one))!r}, which proves too little")
        demand(len(seen) == len(cases), "some cases are part of no other")


def prove(problem, certificate):
    """What is proven, in words."""
    demand(certificate["format"] == "shardweave.certificate", "the certificate is of another format")
    demand(certificate["version"] == 1, "the certificate is of another version")
    if certificate["of"] == "order":
        return prove_orders(problem, certificate)
    demand(certificate["of"] in ("placement", "step"), "the certificate is of another kind")
    in_place, owed = work_at_prices(problem["work"], certificate) if certificate["of"] == "step" else (None, 0)
    at_prices = None
    if "overlap" in certificate:
        form = Layout(problem, certificate["overlap"], certificate.get("prefetch"), certificate.get("every_edge"))
        at_prices = [Problem(problem, None, form.taken_off(one)) for one in each("savings", certificate["savings"])]
    checker = Checker(Problem(problem, in_place), certificate, at_prices)
    checker.run()
    return "nothing is feasible" if checker.infeasible else repr(float(Fraction(certificate["lower_bound"]) - owed))


def main(arguments):
    """Pairs of a problem and a certificate; one line each."""
    if len(arguments) < 2 or len(arguments) % 2 != 0:
        print(__doc__, file=sys.stderr)
        return 2
    status = 0
    for pair in zip(arguments[::2], arguments[1::2]):
        try:
            At.step = "reading"
            print("accepted:", prove(*read(*pair)))
        except (OSError, EOFError, zlib.error) as why:
            print(f"check_certificate.py: {why}", file=sys.stderr)
            return 2
        except Exception as why:  # refused, malformed or nested too deep: the proof does not hold
            print(f"not accepted: {At.step}: {why!r}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
