"""What is left of a problem once unknowns are eliminated: "Eliminations" in docs/proofs.md."""

from exact import At, demand
from factors import Problem


def allowed(cost):
    return cost < At.forbidden >> 1


class Rest(Problem):
    """The unknowns that are left, what they cost, and what they use of the rows that are kept.

    near: by unknown and neighbour, a list of costs by strategy of the neighbour for every strategy. uses: by row and limit, what
    is used by none, and by unknown."""

    def __init__(self, problem, left, uses):
        self.unknown, self.counts, self.apart, self.left = problem.unknown, problem.counts, problem.apart, dict(left)
        self.own = {x: list(costs) for x, costs in problem.own.items()}
        self.near = {x: {} for x in self.own}
        for x, of in problem.beside.items():
            for y, lines in of:
                self.near[y][x] = lines
        self.uses = {row: [used, dict(by_unknown)] for row, (used, by_unknown) in uses.items()}

    def eliminate(self, x, *into):
        for one in (x, *into):
            demand(one in self.own, f"vertex {one} is not there any more")
        into = [u for u in into if u in self.near[x]]
        if not all(self.left.values()):
            return
        mine, changed, tables = self.left.pop(x), set(), self.near.pop(x)
        cost, parted = {s: self.own[x][s] for s in mine}, {}
        for y in tables.keys() - set(into):
            parted[y] = {s: {t: tables[y][s][t] for t in self.left[y]} for s in mine}
            for s, part in own_part(parted[y]).items():
                cost[s] += part
                parted[y][s] = {t: c - part for t, c in parted[y][s].items()}
        del self.own[x]
        for y in tables:
            del self.near[y][x]
        if not into:
            self.apart += min(cost.values())
            answers = {}
            for y, table in parted.items():
                changed |= self.add_costs(y, {t: min(row[t] for row in table.values()) for t in self.left[y]})
        else:
            u, to_u = into[0], tables[into[0]]
            answers = {a: [s for s in mine if allowed(to_u[s][a])] for a in self.left[u]}
            if len(into) == 1:
                more = {a: min((cost[s] + to_u[s][a] for s in of), default=At.forbidden) for a, of in answers.items()}
                changed |= self.add_costs(u, more)
            else:
                to_w = tables[into[1]]
                parted[into[1]] = None
                more = {a: {c: min((cost[s] + to_u[s][a] + to_w[s][c] for s in of), default=At.forbidden)
                            for c in self.left[into[1]]} for a, of in answers.items()}
                changed |= self.add_table(u, into[1], more)
                del parted[into[1]]
            for y, table in parted.items():
                more = {a: {t: min((table[s][t] for s in of), default=At.forbidden) for t in self.left[y]}
                        for a, of in answers.items()}
                changed |= self.add_table(u, y, more)
        for (_, _, side), row in self.uses.items():
            usage, extreme = row[1].pop(x, None), min if side == "high" else max
            if usage is None:
                continue
            if not into:
                row[0] += extreme(usage[s] for s in mine)
                continue
            used = list(row[1].get(into[0], [0] * self.counts[into[0]]))
            for a, of in answers.items():
                used[a] += extreme((usage[s] for s in of), default=0)
            row[1][into[0]] = used
        self.spread(changed)

    def drop_dominated(self, x, removed, by):
        """Removes a strategy if another one costs no more whatever the neighbours do, and uses no more of any row."""
        demand(x in self.own, f"vertex {x} is not there any more")
        if not all(self.left.values()) or removed == by or not {removed, by} <= self.left[x]:
            return
        for (_, _, side), (_, by_unknown) in self.uses.items():
            usage = by_unknown.get(x, [0] * self.counts[x])
            if usage[by] > usage[removed] if side == "high" else usage[by] < usage[removed]:
                return
        ahead = self.own[x][by] - self.own[x][removed]
        for y, table in self.near[x].items():
            partners = [t for t in self.left[y] if allowed(table[removed][t])]
            if not all(allowed(table[by][t]) for t in partners):
                return
            ahead += max(table[by][t] - table[removed][t] for t in partners)
        if ahead <= 0:
            self.left[x] = self.left[x] - {removed}
            self.spread({x})

    def add_costs(self, y, more):
        """Adds costs to strategies, and drops those that are forbidden; what changed."""
        kept = {t for t in self.left[y] if allowed(more.get(t, 0))}
        for t in kept:
            self.own[y][t] += more.get(t, 0)
        is_changed, self.left[y] = kept != self.left[y], kept
        return {y} if is_changed else set()

    def add_table(self, u, y, more):
        """Adds a table; one that is the same for all strategies of an end to the costs of the other."""
        rows = {a: [c if allowed(c) else At.forbidden for c in row.values()] for a, row in more.items() if a in self.left[u]}
        columns = list(zip(*rows.values()))
        if not columns or not columns[0]:
            return set()
        if len(set(map(tuple, rows.values()))) == 1:
            return self.add_costs(y, dict(zip(next(iter(more.values())), next(iter(rows.values())))))
        if len(set(columns)) == 1:
            return self.add_costs(u, dict(zip(rows, columns[0])))
        before = self.near[u].get(y) or [[0] * self.counts[y]] * self.counts[u]
        table = [list(row) for row in before]
        for a, row in more.items():
            for t, cost in row.items():
                table[a][t] = table[a][t] + cost if allowed(table[a][t]) and allowed(cost) else At.forbidden
        self.near[u][y], self.near[y][u] = table, list(zip(*table))
        return self.partners(u, y) | self.partners(y, u)

    def partners(self, x, y):
        """Drops strategies of y without a partner; what changed."""
        kept = {t for t in self.left[y] if any(allowed(self.near[y][x][t][s]) for s in self.left[x])}
        is_changed, self.left[y] = kept != self.left[y], kept
        return {y} if is_changed else set()

    def spread(self, changed):
        while changed:
            x = changed.pop()
            for y in self.near[x]:
                changed |= self.partners(x, y)

    def finish(self):
        """As a problem; and what is left of it."""
        self.tables = {(x, y): rows for x, of in self.near.items() for y, rows in of.items() if x < y}
        self.beside = {x: [(y, self.near[y][x]) for y in of] for x, of in self.near.items()}
        return self.left


def own_part(table):
    """Of a table that is a sum of one cost for each end, that of the first; else zeros."""
    part = {s: min(row.values(), default=0) for s, row in table.items()}
    rests = {tuple(c - part[s] for c in row.values()) for s, row in table.items()}
    if len(rests) == 1 and all(allowed(c) for row in table.values() for c in row.values()):
        return part
    return dict.fromkeys(part, 0)
