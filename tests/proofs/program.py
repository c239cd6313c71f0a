"""The least sum of costs by a dynamic program: "Dynamic programs" in docs/proofs.md."""

from itertools import product
from operator import add

from exact import At


class Costs:
    """Costs of the choices of some unknowns together, in a list, the last one's fastest."""

    def __init__(self, unknowns, counts, costs):
        self.unknowns, self.costs, self.stride = unknowns, costs, {}
        step = 1
        for x in reversed(unknowns):
            self.stride[x] = step
            step *= counts[x]

    def along(self, fixed, unknowns, counts):
        """Its costs for all choices of some unknowns, the others' being fixed."""
        at = [sum(self.stride.get(x, 0) * choice for x, choice in fixed.items())]
        for x in unknowns:
            steps = [self.stride.get(x, 0) * choice for choice in range(counts[x])]
            at = [i + step for i in at for step in steps]
        return [self.costs[i] for i in at]


def eliminated(x, factors, counts):
    """What is least over the choices of an unknown, as costs of those that it has costs with."""
    around = list(dict.fromkeys(y for f in factors for y in f.unknowns if y != x))
    outer, inner, costs = around[:-2], [*around[-2:], x], []
    for chosen in product(*(range(counts[y]) for y in outer)):
        total = None
        for f in factors:
            more = f.along(dict(zip(outer, chosen)), inner, counts)
            total = more if total is None else list(map(add, total, more))
        costs += [min(total[i : i + counts[x]]) for i in range(0, len(total), counts[x])]
    return Costs(around, counts, costs)


def least(own, tables, left, order):
    """The least sum of what strategies that are left cost and of tables of two unknowns; forbidden if there is none.

    order: unknowns that are eliminated first"""
    there = {x: sorted(of) for x, of in left.items()}
    counts = {x: len(of) for x, of in there.items()}
    factors = [Costs([x], counts, [costs[s] for s in there[x]]) for x, costs in own.items()]
    factors += [Costs([x, y], counts, [rows[s][t] for s in there[x] for t in there[y]]) for (x, y), rows in tables.items()]
    apart = 0
    for x in [*order, *(own.keys() - set(order))]:
        made = eliminated(x, [f for f in factors if x in f.stride], counts)
        factors = [f for f in factors if x not in f.stride]
        if made.unknowns:
            factors.append(made)
        else:
            apart += made.costs[0]
    return min(apart, At.forbidden)
