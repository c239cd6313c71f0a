#!/usr/bin/env python3
"""check_certificate.py PROBLEM CERTIFICATE...: a second opinion on proofs of lower bounds.

Written from docs/proofs.md and docs/formats.md alone, slow and short; all numbers are exact. Here the steps of a proof; beside
it the problem as factors, what savings and the work of a step make of them, and orders. Prints the bound and exits with 0,
or prints the step that does not hold and exits with 1; 2 if a file cannot be read.
"""

import sys
import zlib
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import chain
from math import floor
from types import SimpleNamespace

sys.dont_write_bytecode = True
from check_order import prove_orders
from eliminate import Rest, allowed
from exact import At, demand, each, read, units, whole
from factors import Problem, from_contest, stated, total, worth_of_work
from knapsack import Knapsack
from program import least
from savings import Layout

TOLERANCE = Fraction(1, 2**18)  # of usage, beside a limit


class Checker:
    def __init__(self, text, certificate):
        """The problem at the costs that count; at zero, for what limits alone prove; at each of the prices of savings."""
        self.c, self.whole_costs, step = certificate, "problem" in text, certificate["of"] == "step"
        demand(self.whole_costs or text["format"] == "shardweave.placement", "the problem is of another format")
        text = from_contest(text["problem"]) if self.whole_costs else text
        work, self.owed = worth_of_work(text["work"], certificate) if step else ([], 0)
        self.p, self.at_prices = Problem(text, chain(stated(text, worth=0 if step else 1), work)), None
        if "overlap" in certificate:
            demand(not step, "savings are none of a step")
            form = Layout(text, certificate["overlap"], certificate.get("prefetch"), certificate.get("every_edge"))
            self.at_prices = [Problem(text, stated(text, saved=form.taken_off(one)))
                              for one in each("savings", certificate["savings"])]
        self.infeasible, self.budgets = certificate.get("infeasible", False), text.get("budgets", [])
        demand(self.infeasible != ("lower_bound" in certificate), "needs lower_bound or infeasible, and not both")
        self.goal = None if self.infeasible else units(certificate["lower_bound"])
        self.cutoff = self.goal if "cutoff" not in certificate else units(certificate["cutoff"])
        demand(self.infeasible or self.goal <= self.cutoff < At.forbidden, "the cutoff is below the lower bound")

    @cache
    def terms_of(self, number):
        """The least power of two of which all usages of a budget are whole parts, and of each term unknown and usages."""
        terms = self.budgets[number]["terms"]
        return (max((u.as_integer_ratio()[1] for term in terms for u in term["usage"]), default=1),
                [(self.p.unknown[term["vertex"]], list(map(units, term["usage"])), term.get("live")) for term in terms])

    def row(self, entry, uses=None):
        """What strategies take of a budget at a time, and the limit that a price is against.

        uses: the rows that are kept, where unknowns were eliminated"""
        budget, (parts, terms), time = self.budgets[entry["budget"]], self.terms_of(entry["budget"]), entry.get("time", 0)
        demand(whole([time, entry["price"]], -(2**63)), "a time or a price is no whole number")
        sign, side = (1, "high") if entry["price"] > 0 else (-1, "low")
        demand(entry["price"] == 0 or side in budget, "a price is against a limit that is not there")
        limit = sign * floor((sign * Fraction(budget.get(side, 0)) + TOLERANCE) * parts) * (At.one // parts)
        if uses is not None:
            demand(entry["price"] == 0 or (entry["budget"], time, side) in uses, "a price is against a row that was not kept")
            apart, used = uses.get((entry["budget"], time, side), (0, {}))
            return used, limit - apart
        used = {}
        for x, usage, live in terms:
            if live is None or live[0] <= time < live[1]:
                used[x] = total(used[x], usage) if x in used else usage
        return used, limit

    def look_over(self):
        """Whether what cases may name is of the problem, even if none does."""
        for m in each("multipliers", self.c["multipliers"]):
            demand(self.at_prices is not None or "savings" not in m, "has prices of savings that are not there")
            demand("savings" not in m or m["savings"] < len(self.at_prices), "prices of savings have no such number")
            for entry in m.get("prices", []):
                self.row(entry)
            pairs = [(self.p.unknown[entry["from"]], self.p.unknown[entry["to"]]) for entry in m.get("messages", [])]
            demand(len(set(pairs)) == len(pairs) and all(x < y for x, y in pairs), "two messages are of one pair, or turned")
            demand("reductions" in self.c or all(pair in self.p.tables for pair in pairs), "there is no table of some pair")
            demand(all(len(entry["amounts"]) == self.p.counts[y] for entry, (_, y) in zip(m.get("messages", []), pairs)),
                   "has amounts for more strategies than there are, or fewer")
            for entry in m.get("knapsacks", []):
                self.row({**entry, "price": 1})
                members = [self.p.unknown[one["vertex"]] for one in entry["members"]]
                demand(len(set(members)) == len(members) and 1 <= entry["cells"] <= 4096, "an unknown is there twice, or no cells are")
                demand(all(len(one["amounts"]) == self.p.counts[x] for one, x in zip(entry["members"], members)),
                       "has amounts for more strategies than there are, or fewer")
        for reduction in each("reductions", self.c.get("reductions", [])):
            demand(self.at_prices is None, "eliminates, but savings count")
            for row in reduction.get("rows", []):
                demand(whole(row.get("time", 0), -(2**63)) and row["budget"] < len(self.budgets), "keeps a row that is not there")
            for step in reduction["steps"]:
                demand(0 < len({self.p.unknown[v] for v in step}) == len(step) <= 3, "a step has no vertex, or one twice")
            dominated = reduction.get("dominated", [])
            demand(all(len(one) == 4 for one in dominated), "needs a step, a vertex and two strategies")
            when = [step for step, _, _, _ in dominated]
            demand(when == sorted(when) and max(when, default=0) <= len(reduction["steps"]), "removes strategies out of order")
            demand(all(max(s, by) < self.p.counts[self.p.unknown[v]] for _, v, s, by in dominated), "there is no such strategy")

    def multipliers(self, m, problem):
        """What multipliers make of the costs: prices of rows and messages move them between factors, and to the bound."""
        only_limits, given = m.get("only_limits", False), {}
        demand(only_limits or ("savings" in m) == (self.at_prices is not None), "leaves savings out, which count, or has some")
        problem = self.at_prices[m["savings"]] if "savings" in m else problem
        own = {x: [0] * len(costs) for x, costs in problem.own.items()} if only_limits else dict(problem.own)
        bound, price_bits, message = 0 if only_limits else problem.apart, m.get("price_bits", 0), At.one >> m.get("message_bits", 0)
        for entry in m.get("prices", []):
            used, limit = self.row(entry, problem.uses)
            own.update((x, total(own[x], [entry["price"] * u >> price_bits for u in usage])) for x, usage in used.items())
            bound -= entry["price"] * limit >> price_bits
        for entry in m.get("messages", []):
            x, y = pair = self.p.unknown[entry["from"]], self.p.unknown[entry["to"]]
            demand(x in own and y in own, f"{pair} are not there any more")
            demand(whole(entry["amounts"], -(2**63)), "an amount is no whole number")
            if pair not in problem.tables:
                continue
            given[pair] = [message * amount for amount in entry["amounts"]]
            own[y] = total(own[y], given[pair])
        tables = {pair: problem.tables[pair] for pair in (given if only_limits else problem.tables)}
        knapsacks = [self.knapsack(entry, problem, message) for entry in m.get("knapsacks", [])]
        return SimpleNamespace(only_limits=only_limits, own=own, given=given, tables=tables, bound=bound, knapsacks=knapsacks)

    def knapsack(self, entry, problem, message):
        used, limit = self.row({**entry, "price": 1}, problem.uses)
        amounts = {self.p.unknown[one["vertex"]]: one["amounts"] for one in entry["members"]}
        demand(amounts.keys() <= problem.own.keys(), "a member of a knapsack is not there any more")
        demand(whole(list(amounts.values()), -(2**63)), "an amount is no whole number")
        amounts = {x: [message * amount for amount in of] for x, of in amounts.items()}
        return Knapsack(used, limit, At.one // self.terms_of(entry["budget"])[0], entry["cells"], amounts)

    def rests(self, m, left):
        """Of each table and row what messages leave of it: the least, and all of them."""
        for (x, y), rows in m.tables.items():
            given = m.given.get((x, y)) or [0] * self.p.counts[y]
            for s in left[x]:
                worth = rows[s] if not m.only_limits else [0 if c < At.forbidden >> 1 else c for c in rows[s]]
                rest = {t: worth[t] - given[t] for t in left[y]}
                yield x, y, s, min(rest.values()), rest

    def put_in(self, m, left):
        """What strategies cost less what they put into knapsacks, the bound with the least sums of these, and how much more these
        come to with a strategy; no bound if what is left breaks the limit of one."""
        own, bound, more = dict(m.own), m.bound, Counter()
        for one in m.knapsacks:
            sums = one.sums(left)
            if sums is None:
                return own, None, more
            bound += sums[0]
            more.update(sums[1])
            own.update((x, [cost - amount for cost, amount in zip(own[x], of)]) for x, of in one.amounts.items())
        return own, bound, more

    def bound(self, m, left):
        """What multipliers prove of the strategies that are left, what each has come to, and how much more knapsacks come to with
        it; no bound if what is left breaks the limit of one."""
        own, bound, more = self.put_in(m, left)
        come_to = {x: {s: own[x][s] for s in of} for x, of in left.items()}
        if bound is None:
            return None, come_to, more
        for x, _, s, least, _ in self.rests(m, left):
            come_to[x][s] += least
        return bound + sum(min(of.values(), default=0) for of in come_to.values()), come_to, more

    def bounds(self, m, left):
        """What multipliers prove, in all and of each strategy, if it is the only one left to its unknown; None as above."""
        bound, come_to, with_knapsacks = self.bound(m, left)
        if bound is None:
            return None, {}
        above = {x: {s: cost - min(of.values()) for s, cost in of.items()} for x, of in come_to.items()}
        result = {x: {s: bound + more + with_knapsacks[x, s] for s, more in of.items()} for x, of in above.items()}
        to_second = {}  # by pair and strategy: the least that it costs the first beyond its least
        for x, y, s, least, rest in self.rests(m, left):
            result[x][s] += min(above[y][t] + cost - least for t, cost in rest.items())
            known = to_second.setdefault((x, y), {})
            for t, cost in rest.items():
                known[t] = min(known.get(t, At.forbidden << 1), above[x][s] + cost - least)
        for (_, y), of in to_second.items():
            for t, more in of.items():
                result[y][t] += more
        return bound, result

    def closes(self, m, bound, goal):
        """Whether a bound reaches a cost, or says that limits are broken."""
        if m.only_limits or self.infeasible:
            return m.only_limits and bound > 0
        return bound > goal - At.one if self.whole_costs else bound >= goal

    def rule_out(self, r, left):
        x, sign = self.p.unknown[r["vertex"]], {"high": 1, "low": -1}[r.get("limit", "high")]
        used, limit = self.row({**r, "price": sign})
        others = sum(min((sign * usage[s] for s in left[y]), default=0) for y, usage in used.items() if y != x)
        for s in r["strategies"]:
            own = used.get(x, [0] * self.p.counts[x])[s]
            demand(others + sign * own > sign * limit, f"strategy {s} of vertex {x} can keep the limit")
        left[x] = left[x] - set(r["strategies"])
        self.p.propagate(left, [x])

    def narrow(self, m, problem, left):
        """Drops the strategies whose bound reaches the cutoff, or that break limits. Also, whether the bound of all reaches the claim."""
        if not all(left.values()):
            return left, False
        bound, bounds = self.bounds(m, left)
        if bound is None:
            return left, False
        kept = {x: {s for s, bound in of.items() if not self.closes(m, bound, self.cutoff)} for x, of in bounds.items()}
        is_proven = not (m.only_limits or self.infeasible) and self.closes(m, bound, self.goal)
        return problem.propagate(kept, [x for x in left if kept[x] != left[x]]), is_proven

    def reduce(self, reduction, problem, left):
        """What is left of a problem, of which only some rows are kept, and of its strategies."""
        uses = {}
        for row in reduction.get("rows", []):
            for side, price in (("high", 1), ("low", -1)):
                if side in self.budgets[row["budget"]]:
                    key = row["budget"], row.get("time", 0), side
                    demand(problem.uses is None or key in problem.uses, "keeps a row that was not kept before")
                    uses[key] = (0, self.row({**row, "price": price})[0]) if problem.uses is None else problem.uses[key]
        rest = Rest(problem, left, uses)
        dominated = iter([*reduction.get("dominated", []), (len(reduction["steps"]) + 1, None, None, None)])
        when, v, removed, by = next(dominated)
        for number, step in enumerate([*reduction["steps"], None]):
            while when <= number:
                rest.drop_dominated(self.p.unknown[v], removed, by)
                when, v, removed, by = next(dominated)
            if step is not None:
                rest.eliminate(*(self.p.unknown[v] for v in step))
        return rest, rest.finish()

    def demand_program(self, case, problem, left, order, is_proven):
        """That a dynamic program, at the prices of multipliers, finds nothing that costs less than is claimed."""
        m = self.multipliers({**self.c["multipliers"][case["multipliers"]], "messages": []}, problem)
        tables = m.tables
        if m.only_limits:
            tables = {pair: [[0 if allowed(c) else At.forbidden for c in row] for row in rows]
                      for pair, rows in problem.tables.items()}
        demand(len(set(order)) == len(order) and set(order) <= set(left), "eliminates what is not there, or one twice")
        if all(left.values()):
            own, bound, _ = self.put_in(m, left)
            found = At.forbidden if bound is None else least(own, tables, left, order)
            if allowed(found):
                bound += found
                demand(self.closes(m, bound, self.goal) or (is_proven and not m.only_limits), f"costs {float(Fraction(bound, At.one))!r}, which proves too little")

    def split(self, case, problem, left):
        """What is left in each part of a case."""
        x, parts = self.p.unknown[case["vertex"]], [set(part) for part in case["parts"]]
        demand(x in left, "splits a vertex that is not there any more")
        named = set().union(*parts)
        is_covered = left[x] <= named or not all(left.values())  # or nothing is left to bound
        demand(is_covered and named <= set(range(self.p.counts[x])), f"has no part with some strategy of vertex {x}")
        return [(problem, problem.propagate({**left, x: left[x] & part}, [x])) for part in parts]

    def run(self):
        left = {x: {s for s, cost in enumerate(costs) if cost < At.forbidden >> 1} for x, costs in self.p.own.items()}
        self.p.propagate(left, left)
        self.look_over()
        for r in each("ruled_out", self.c.get("ruled_out", [])):
            self.rule_out(r, left)
        cases, waiting = self.c["cases"], {0: (self.p, left)}
        proven = set()  # cases below one whose bound reaches the claim
        demand(sum(len(case.get("cases", [])) for case in cases) == len(cases) - 1, "there are more parts than cases, or less")
        for number, case in enumerate(each("cases", cases)):
            demand(number in waiting, "is part of no case before it")
            (problem, left), following = waiting.pop(number), case.get("cases", [])
            if number in proven:
                proven.update(following)
            demand(len({"multipliers", "parts", "reduction"} & case.keys()) == 1, "needs one of reduction, multipliers and parts")
            if "parts" in case:
                demand(following, "has no parts")
                waiting.update(zip(following, self.split(case, problem, left), strict=True))
                continue
            if "reduction" in case:
                rest = self.reduce(self.c["reductions"][case["reduction"]], problem, left)
                waiting.update(zip(following, [rest], strict=True))
                continue
            m = self.multipliers(self.c["multipliers"][case["multipliers"]], problem)
            order = case.get("elimination_order", [])
            demand(not (order and following), "has an elimination order, and a case")
            if following:
                left, is_proven = self.narrow(m, problem, left)
                waiting.update(zip(following, [(problem, left)], strict=True))
                proven.update(following if is_proven else [])
            elif order:
                self.demand_program(case, problem, left, [self.p.unknown[v] for v in order], number in proven)
            elif all(left.values()):
                bound, _, _ = self.bound(m, left)
                is_enough = number in proven and not m.only_limits
                if bound is not None and not (is_enough or self.closes(m, bound, self.goal)):
                    raise ValueError(f"is bounded by {float(Fraction(bound, At.one))!r}, which proves too little")


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
