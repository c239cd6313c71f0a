#!/usr/bin/env python3
"""check_certificate.py PROBLEM CERTIFICATE: a second opinion on proofs of lower bounds.

Written from docs/proofs.md and docs/formats.md alone, in whole numbers of one unit, slow and short: here the steps of a proof;
beside it the problem, the work of a step's plan, savings, and orders. Prints the bound and exits with 0, or prints the
step that does not hold and exits with 1; 2 if a file cannot be read.
"""

import sys
from fractions import Fraction

sys.dont_write_bytecode = True
import check_order
import savings
from exact import Refused, Unit, demand, index, read, units, whole
from problem import Problem
from work import work_at_prices


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
