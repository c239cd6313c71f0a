#!/usr/bin/env python3
"""check_certificate.py PROBLEM CERTIFICATE...: a second opinion on proofs of lower bounds.

Written from docs/proofs.md and docs/formats.md alone, slow and short; all numbers are exact. Here the steps of a proof; beside
it the problem as factors, what savings and the work of a step make of them, and orders. Prints the bound and exits with 0,
or prints the step that does not hold and exits with 1; 2 if a file cannot be read.
"""

import sys
import zlib
from fractions import Fraction
from functools import cache
from itertools import chain
from math import floor
from types import SimpleNamespace

sys.dont_write_bytecode = True
from check_order import prove_orders
from exact import At, demand, each, read, units, whole
from factors import Problem, from_contest, stated, total, worth_of_work
from savings import Layout

TOLERANCE = Fraction(1, 2**18)  # of usage, beside a limit


class Checker:
    def __init__(self, text, certificate):
        """The problem at the costs that count; at zero, for what limits alone prove; at each of the prices of savings."""
        self.c, self.whole_costs, step = certificate, "problem" in text, certificate["of"] == "step"
        demand(self.whole_costs or text["format"] == "shardweave.placement", "the problem is of another format")
        text = from_contest(text["problem"]) if self.whole_costs else text
        work, self.owed = worth_of_work(text["work"], certificate) if step else ([], 0)
        self.p, self.limits, self.at_prices = Problem(text, chain(stated(text, worth=0 if step else 1), work)), None, None
        if any(m.get("only_limits") for m in certificate["multipliers"]):
            self.limits = Problem(text, stated(text, worth=0))
        if "overlap" in certificate:
            demand(not step, "savings are none of a step")
            form = Layout(text, certificate["overlap"], certificate.get("prefetch"), certificate.get("every_edge"))
            self.at_prices = [Problem(text, stated(text, saved=form.taken_off(one)))
                              for one in each("savings", certificate["savings"])]
        self.infeasible, self.budgets = certificate.get("infeasible", False), text.get("budgets", [])
        demand(self.infeasible != ("lower_bound" in certificate), "needs lower_bound or infeasible, and not both")
        self.goal = None if self.infeasible else units(certificate["lower_bound"])

    @cache
    def terms_of(self, number):
        """The least power of two of which all usages of a budget are whole parts, and of each term unknown and usages."""
        terms = self.budgets[number]["terms"]
        return (max((u.as_integer_ratio()[1] for term in terms for u in term["usage"]), default=1),
                [(self.p.unknown[term["vertex"]], list(map(units, term["usage"])), term.get("live")) for term in terms])

    def row(self, entry):
        """What strategies take of a budget at a time, and the limit that a price is against."""
        budget, (parts, terms), time = self.budgets[entry["budget"]], self.terms_of(entry["budget"]), entry.get("time", 0)
        demand(whole([time, entry["price"]], -(2**63)), "a time or a price is no whole number")
        sign, side = (1, "high") if entry["price"] > 0 else (-1, "low")
        demand(entry["price"] == 0 or side in budget, "a price is against a limit that is not there")
        used = {}
        for x, usage, live in terms:
            if live is None or live[0] <= time < live[1]:
                used[x] = total(used[x], usage) if x in used else usage
        return used, sign * floor((sign * Fraction(budget.get(side, 0)) + TOLERANCE) * parts) * (At.one // parts)

    def multipliers(self, m):
        """What multipliers make of the costs: prices of rows and messages move them between factors, and to the bound."""
        only_limits, given = m.get("only_limits", False), {}
        demand(only_limits or ("savings" in m) == (self.at_prices is not None), "leaves savings out, which count, or has some")
        demand(whole(m.get("savings", 0)), "prices of savings have no such number")
        problem = self.at_prices[m["savings"]] if "savings" in m else self.p
        problem = self.limits if only_limits else problem
        own, bound, price_bits, message = dict(problem.own), 0, m.get("price_bits", 0), At.one >> m.get("message_bits", 0)
        for entry in m.get("prices", []):
            used, limit = self.row(entry)
            own.update((x, total(own[x], [entry["price"] * u >> price_bits for u in usage])) for x, usage in used.items())
            bound -= entry["price"] * limit >> price_bits
        for entry in m.get("messages", []):
            x, y = pair = self.p.unknown[entry["from"]], self.p.unknown[entry["to"]]
            demand(pair in problem.tables and pair not in given, f"there is no table of {pair}, or two messages")
            demand(whole(entry["amounts"], -(2**63)), "an amount is no whole number")
            given[pair] = [message * amount for amount in entry["amounts"]]
            own[y] = total(own[y], given[pair])
        return SimpleNamespace(only_limits=only_limits, own=own, given=given, tables=problem.tables, bound=bound)

    def bound(self, m, left):
        """What multipliers prove of the strategies that are left, and of each, if it is the only one left to its unknown."""
        come_to = {x: {s: m.own[x][s] for s in of} for x, of in left.items()}
        for (x, y), rows in m.tables.items():
            given, others = m.given.get((x, y)) or [0] * len(rows[0]), left[y]
            for s in left[x]:
                row = rows[s]
                come_to[x][s] += min(row[t] - given[t] for t in others)
        bound = m.bound + sum(min(of.values(), default=0) for of in come_to.values())
        for of in come_to.values():
            rest = bound - min(of.values(), default=0)
            of.update((s, rest + cost) for s, cost in of.items())
        return bound, come_to

    def closes(self, m, bound):
        """Whether a bound says what is claimed, or that limits are broken."""
        if m.only_limits or self.infeasible:
            return m.only_limits and bound > 0
        return bound > self.goal - At.one if self.whole_costs else bound >= self.goal

    def rule_out(self, r, left):
        x, sign = self.p.unknown[r["vertex"]], {"high": 1, "low": -1}[r.get("limit", "high")]
        used, limit = self.row({**r, "price": sign})
        others = sum(min((sign * usage[s] for s in left[y]), default=0) for y, usage in used.items() if y != x)
        for s in r["strategies"]:
            own = used.get(x, [0] * self.p.counts[x])[s]
            demand(others + sign * own > sign * limit, f"strategy {s} of vertex {x} can keep the limit")
        left[x] = left[x] - set(r["strategies"])
        self.p.propagate(left, [x])

    def narrow(self, m, left):
        """Drops the strategies with which what is left costs what is claimed, or breaks limits."""
        if not all(left.values()):
            return left
        kept = {x: {s for s, bound in of.items() if not self.closes(m, bound)} for x, of in self.bound(m, left)[1].items()}
        return self.p.propagate(kept, [x for x in left if kept[x] != left[x]])

    def split(self, case, left):
        """What is left in each part of a case."""
        x, parts = self.p.unknown[case["vertex"]], [set(part) for part in case["parts"]]
        named = set().union(*parts)
        is_covered = left[x] <= named or not all(left.values())  # or nothing is left to bound
        demand(is_covered and named <= set(range(self.p.counts[x])), f"has no part with some strategy of vertex {x}")
        return [self.p.propagate({**left, x: left[x] & part}, [x]) for part in parts]

    def run(self):
        left = {x: {s for s, cost in enumerate(costs) if cost < At.forbidden >> 1} for x, costs in self.p.own.items()}
        self.p.propagate(left, left)
        multipliers = [self.multipliers(m) for m in each("multipliers", self.c["multipliers"])]
        for r in each("ruled_out", self.c.get("ruled_out", [])):
            self.rule_out(r, left)
        cases, waiting = self.c["cases"], {0: left}
        demand(sum(len(case.get("cases", [])) for case in cases) == len(cases) - 1, "there are more parts than cases, or less")
        for number, case in enumerate(each("cases", cases)):
            demand(number in waiting, "is part of no case before it")
            left, following = waiting.pop(number), case.get("cases", [])
            demand(("multipliers" in case) != ("parts" in case), "needs multipliers or parts, and not both")
            if "parts" in case:
                demand(following, "has no parts")
                waiting.update(zip(following, self.split(case, left), strict=True))
                continue
            m = multipliers[case["multipliers"]]
            if following:
                waiting.update(zip(following, [self.narrow(m, left)], strict=True))
            elif all(left.values()):
                bound, _ = self.bound(m, left)
                demand(self.closes(m, bound), f"is bounded by {float(Fraction(bound, At.one))!r}, which proves too little")


def prove(text, c):
    """What is proven, in words."""
    demand((c["format"], c["version"]) == ("shardweave.certificate", 1), "the certificate is of another format or version")
    if c["of"] == "order":
        return prove_orders(text, c)
    demand(c["of"] in ("placement", "step"), "the certificate is of another kind")
    checker = Checker(text, c)
    checker.run()
    return "nothing is feasible" if checker.infeasible else repr(float(Fraction(checker.goal - checker.owed, At.one)))


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
