"""Rows as knapsacks: "multipliers" in docs/proofs.md."""

from itertools import chain
from math import gcd

from exact import At


class Knapsack:
    """What members put into an upper limit as into a knapsack.

    used: by unknown what its strategies use. part: that and the limit are whole multiples of it. amounts: by member."""

    def __init__(self, used, limit, part, cells, amounts):
        self.used, self.limit, self.part, self.cells, self.amounts = used, limit, part, cells, amounts

    def sums(self, left):
        """The least sum that is within the limit, and by member and strategy how much more the least with that is; None if
        nothing that is left is within it."""
        least = {x: min(usage[s] for s in left[x]) for x, usage in self.used.items()}
        room = self.limit - sum(least.values())
        if room < 0:
            return None
        takes = {x: {s: self.used[x][s] - least[x] if x in self.used else 0 for s in left[x]} for x in self.amounts}
        cell = max(gcd(*chain(*(of.values() for of in takes.values()))), (room // self.part // self.cells + 1) * self.part)
        items = {x: {s: (taken // cell, self.amounts[x][s]) for s, taken in of.items()} for x, of in takes.items()}
        return least_sums(items, room // cell)


def with_one_more(known, item):
    """Per room the least of what is known and one of an item."""
    lightest = {}
    for weight, amount in item.values():
        if weight < len(known):
            lightest[weight] = min(amount, lightest.get(weight, amount))
    rows = [[At.forbidden] * weight + [cost + amount for cost in known[: len(known) - weight]] for weight, amount in lightest.items()]
    return list(map(min, *rows)) if len(rows) > 1 else rows[0]


def least_sums(items, room):
    """The least sum of one amount per item whose weights are within the room together; and, by item and choice, how much more
    the least with that choice is.

    items: by name and choice a weight and an amount; some choice of each weighs nothing."""
    names, before, beyond = list(items), [[0] * (room + 1)], {}
    for name in names:
        before.append(with_one_more(before[-1], items[name]))
    after, least = [0] * (room + 1), before[-1][room]
    for i, name in reversed(list(enumerate(names))):
        rest = {}
        for choice, (weight, amount) in items[name].items():
            if weight not in rest and weight <= room:
                rest[weight] = min(map(int.__add__, before[i], after[room - weight :: -1]))
            beyond[name, choice] = rest[weight] + amount - least if weight <= room else At.forbidden
        after = with_one_more(after, items[name])
    return least, beyond
