"""AutoParallel's sharding problems: stated for the library, solved by it, the answer given back.

AutoParallel (github.com/meta-pytorch/autoparallel) states the placement of a joint graph as an integer program.
Its `ShardingOptimizer` has, for each node of the graph, strategies; for each choice of node, argument, strategy and
strategy of the argument's producer a variable with its costs; and rows that users and the optimizer itself add. What is
here reads these and needs neither AutoParallel nor PuLP to be installed.
"""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._planner import PlacementProblem

#: Rows that say how variables belong together: node, argument, strategy, producer's strategy.
_STRUCTURE = ("unique_decision", "same_across_args", "output_input_consistent")

#: A variable of the optimizer: number of a node, of an argument, of a strategy, of one of the argument's producer.
Key = tuple[int, int, int, int]


@dataclass
class Answer:
    """A solution, how good it is, and what it costs."""

    placement: dict[Any, Any]  #: by node: its strategy, as `get_solution` of the optimizer has it
    objective: float
    lower_bound: float  #: no placement costs less
    status: str  #: "optimal" if that is proven
    seconds: float


def optimize_sharding(optimizer: Any, seconds: float = 60.0) -> Answer:
    """Solves the problem of an AutoParallel optimizer, constraints included, and leaves the answer in it.

    `answer.placement` is what `apply_placement` takes; logs and exports of the optimizer show it.

    Raises:
        RuntimeError: nothing keeps to the constraints, or nothing was found in time.
        ValueError: a row has a form that a placement problem does not have.
    """
    told = stated(export_problem(optimizer)).solve(seconds)
    if not told["assignment"]:
        raise RuntimeError(f"no placement: {told['status']}. {told['note']}")
    placement = adopt(optimizer, told["assignment"])
    return Answer(placement, told["objective"], told["lower_bound"], told["status"], told["seconds"])


def write_problem(optimizer: Any, path: str | Path, **reference: Any) -> None:
    """Writes the problem as a file of format `shardweave.placement`, packed if its name ends with `.gz`.

    `reference` are fields of a known answer: `assignment`, `objective`, `solver`, `proven`.
    """
    problem = export_problem(optimizer)
    if reference:
        problem["reference"] = reference
    text = json.dumps(problem)
    Path(path).write_bytes(gzip.compress(text.encode()) if str(path).endswith(".gz") else text.encode())


def evaluate(optimizer: Any, placement: Mapping[Any, Any]) -> dict[str, Any]:
    """What a placement costs, each node's strategy taken by all that read it, and which constraints it breaks."""
    return stated(export_problem(optimizer)).evaluate(assignment_of(optimizer, placement))


def export_problem(optimizer: Any) -> dict[str, Any]:
    """The problem of an AutoParallel optimizer as plain data of format `shardweave.placement`.

    A vertex per node, an edge per argument. Nodes that are linked to another's variables take the same strategy, and so
    do the producers of their arguments. All edges of the graph are there, also those for which the optimizer has no row
    because both ends are linked: what it takes for the best may cost more than it says, or be infeasible.
    Complexity: linear in the number of variables.
    """
    return _Exporter(optimizer).run()


def stated(problem: Mapping[str, Any]) -> PlacementProblem:
    """A problem that is plain data, as the library has it."""
    made = PlacementProblem(problem["name"])
    ties: dict[int, list[int]] = {}
    for v, vertex in enumerate(problem["vertices"]):
        made.vertex(vertex["name"], vertex["compute"])
        if "tie" in vertex:
            ties.setdefault(vertex["tie"], []).append(v)
    sizes = [len(v["compute"]) for v in problem["vertices"]]
    tables: dict[tuple[int, int], int] = {}  # by matrix and number of its rows

    def table(matrix: int, rows: int, columns: int) -> int:
        if (matrix, rows) not in tables:
            entries = [math.inf if e is None else e for e in problem["matrices"][matrix]]
            tables[matrix, rows] = made.table(rows, columns, entries)
        return tables[matrix, rows]

    for edge in problem["edges"]:
        shape = (sizes[edge["from"]], sizes[edge["to"]])
        costs = (table(edge[kind], *shape) for kind in ("communication", "transition"))
        made.edge(edge["from"], edge["to"], edge["slot"], *costs)
    for number, vertices in ties.items():
        made.tie(vertices, f"tie {number}")
    for fixed in problem["fixed"]:
        made.fix(fixed["vertex"], fixed["strategies"], fixed["why"])
    for pair in problem["pairs"]:
        made.pair(pair["a"], pair["b"], [tuple(p) for p in pair["allowed"]], pair["why"])
    for budget in problem["budgets"]:
        terms = [(t["vertex"], t["usage"]) for t in budget["terms"]]
        made.budget(budget["name"], budget.get("low"), budget.get("high"), terms)
    return made


def assignment_of(optimizer: Any, placement: Mapping[Any, Any]) -> list[int]:
    """A placement as numbers of strategies, one for each vertex."""
    chosen = []
    for node in _vertices(optimizer):
        strategies = optimizer.strats[node].strategies
        found = next((i for i, s in enumerate(strategies) if s is placement[node]), None)
        chosen.append(strategies.index(placement[node]) if found is None else found)
    return chosen


def adopt(optimizer: Any, assignment: Iterable[int]) -> dict[Any, Any]:
    """Sets the optimizer's variables as an assignment has it, as if its own solver had found it."""
    chosen = dict(zip(_vertices(optimizer), assignment, strict=True))
    for decision in optimizer.decision_vars.values():
        decision.var.varValue = 0
    optimizer.selected_keys = []
    for node, strategy in chosen.items():
        number = optimizer.node_map[node]
        producers = optimizer._all_input_nodes(node)
        for place, costs in enumerate(optimizer.strats[node].strategies[strategy].redistribute_cost):
            if not costs:
                continue
            source = chosen[producers[place]] if producers else costs.index(min(costs))
            key = (number, place, strategy, source)
            optimizer.selected_keys.append(key)
            optimizer.pulp_variables[key].varValue = 1
    return {node: optimizer.strats[node].strategies[s] for node, s in chosen.items()}


def _vertices(optimizer: Any) -> list[Any]:
    return [n for n in optimizer.nodes if n.op != "output"]


class _Exporter:
    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.nodes = _vertices(optimizer)
        self.vertex = {optimizer.node_map[n]: v for v, n in enumerate(self.nodes)}
        self.root = {key[0]: of[0] for key, of in optimizer.cluster_links.items()}  # by number of a node
        self.key_of = {id(d.var): key for key, d in optimizer.decision_vars.items()}
        self.forbidden: set[Key] = set()
        self.fixed: dict[int, tuple[set[int], str]] = {}  # by number of a node
        self.equal: dict[tuple[int, int, str], list[tuple[int, int]]] = {}  # by numbers of two nodes, and why
        self.budgets: list[dict[str, Any]] = []
        self.tables: dict[str, int] = {}
        self.matrices: list[list[float | None]] = []

    def run(self) -> dict[str, Any]:
        for name, row in self.optimizer.prob.constraints.items():
            if not name.startswith(_STRUCTURE):
                self._row(name, row)
        vertices, edges = [], []
        costs: dict[tuple[int, int], tuple[int, int]] = {}  # by node and argument of those that have variables
        for node in self.nodes:
            number = self.optimizer.node_map[node]
            root = self.root.get(number, number)
            vertices.append(self._vertex(node, root))
            for place, source in enumerate(self.optimizer._all_input_nodes(node)):
                if not self.optimizer.strats[node].strategies[0].redistribute_cost[place]:
                    continue
                if (root, place) not in costs:
                    costs[root, place] = self._matrices(root, place)
                communication, transition = costs[root, place]
                edge = {"from": self.vertex[self.optimizer.node_map[source]], "to": self.vertex[number], "slot": place}
                edges.append({**edge, "communication": communication, "transition": transition})
        numbers: dict[int, int] = {}
        for number, root in self._ties().items():
            vertices[self.vertex[number]]["tie"] = numbers.setdefault(root, len(numbers))
        return {
            "format": "shardweave.placement",
            "version": 1,
            "name": "AutoParallel",
            "unit": "us",
            "vertices": vertices,
            "matrices": self.matrices,
            "edges": edges,
            "fixed": [
                {"vertex": self.vertex[n], "strategies": sorted(s), "why": why} for n, (s, why) in self.fixed.items()
            ],
            "pairs": [self._pair(a, b, why, found) for (a, b, why), found in self.equal.items()],
            "budgets": self.budgets,
        }

    def _ties(self) -> dict[int, int]:
        """By number of a node: one that stands for all that take the same strategy.

        Linked nodes share variables, which tell the strategies of their producers, too: these are tied as well.
        """
        first: dict[int, int] = {}

        def standing(number: int) -> int:
            while first.setdefault(number, number) != number:
                number = first[number] = first[first[number]]
            return number

        for number, root in self.root.items():
            first[standing(number)] = standing(root)
            nodes = (self.optimizer.nodes[number], self.optimizer.nodes[root])
            for one, other in zip(*(self.optimizer._all_input_nodes(n) for n in nodes), strict=True):
                first[standing(self.optimizer.node_map[one])] = standing(self.optimizer.node_map[other])
        size = Counter(standing(number) for number in list(first))
        return {number: standing(number) for number in list(first) if size[standing(number)] > 1}

    def _strategies(self, number: int) -> list[Any]:
        return self.optimizer.strats[self.optimizer.nodes[number]].strategies

    def _sources(self, number: int, place: int) -> int:
        return len(self._strategies(number)[0].redistribute_cost[place])

    def _vertex(self, node: Any, root: int) -> dict[str, Any]:
        strategies = self._strategies(root)
        arguments = len(strategies[0].input_specs)
        compute = []
        for s in range(len(strategies)):
            place = next((p for p in range(arguments) if self._sources(root, p)), None)
            cost = 0.0 if place is None else self.optimizer.decision_vars[root, place, s, 0].compute_cost * arguments
            if not self.optimizer._all_input_nodes(node):  # whatever the source is, nobody else sees it
                free = [j for j in range(self._sources(root, 0)) if (root, 0, s, j) not in self.forbidden]
                found = [self.optimizer.decision_vars[root, 0, s, j].comm_cost for j in free]
                cost += min(found, default=math.inf)
            compute.append(cost)
        allowed = {s for s, cost in enumerate(compute) if math.isfinite(cost)}
        if len(allowed) < len(strategies):
            self._fix(self.optimizer.node_map[node], allowed, "finite costs")
        return {
            "name": str(node),
            "op": str(node.target) if node.op == "call_function" else node.op,
            "labels": [_label(s) for s in strategies],
            "compute": [cost if math.isfinite(cost) else 0.0 for cost in compute],
        }

    def _matrices(self, number: int, place: int) -> tuple[int, int]:
        """What communication and transitions cost, rows being the producer's strategies."""
        decisions, columns = self.optimizer.decision_vars, range(len(self._strategies(number)))
        keys = [(number, place, o, j) for j in range(self._sources(number, place)) for o in columns]
        told = [
            None if key in self.forbidden or not math.isfinite(decisions[key].comm_cost) else decisions[key].comm_cost
            for key in keys
        ]
        return self._table(told), self._table([float(decisions[key].sharding_transition_cost) for key in keys])

    def _table(self, entries: list[float | None]) -> int:
        text = json.dumps(entries)
        if text not in self.tables:
            self.tables[text] = len(self.matrices)
            self.matrices.append(entries)
        return self.tables[text]

    def _fix(self, number: int, allowed: set[int], why: str) -> None:
        before, said = self.fixed.get(number, (allowed, why))
        self.fixed[number] = (before & allowed, said)

    def _pair(self, a: int, b: int, why: str, found: list[tuple[int, int]]) -> dict[str, Any]:
        """Strategies of two nodes that go together; those of which no row tells go with any such."""
        rest = [set(range(len(self._strategies(n)))) - {p[i] for p in found} for i, n in enumerate((a, b))]
        allowed = sorted({*found, *((x, y) for x in rest[0] for y in rest[1])})
        return {"a": self.vertex[a], "b": self.vertex[b], "allowed": [list(p) for p in allowed], "why": why}

    # --- rows ---------------------------------------------------------------------------------------------------
    def _row(self, name: str, row: Any) -> None:
        terms = [(self.key_of[id(v)], float(c)) for v, c in row.items()]
        right, why = -float(row.constant), name.rstrip("0123456789").rstrip("_")
        if row.sense != 1 and right == 0 and all(c > 0 for _, c in terms):
            self.forbidden.update(key for key, _ in terms)
        elif row.sense == 0 and right == 1 and len({k[:2] for k, _ in terms}) == 1 and all(c == 1 for _, c in terms):
            self._choice({key for key, _ in terms}, why)
        elif row.sense == 0 and right == 0 and {c for _, c in terms} == {1.0, -1.0}:
            (a, x), (b, y) = (self._strategy([k for k, c in terms if c == sign], name) for sign in (-1.0, 1.0))
            self.equal.setdefault((a, b, why), []).append((x, y))
        else:
            self._budget(name, terms, row.sense, right)

    def _choice(self, chosen: set[Key], why: str) -> None:
        """One of these variables of one argument is taken."""
        number, place = next(iter(chosen))[:2]
        strategies = {key[2] for key in chosen}
        self._fix(number, strategies, why)
        for s in strategies:
            keys = {(number, place, s, j) for j in range(self._sources(number, place))}
            self.forbidden |= keys - chosen

    def _strategy(self, keys: list[Key], name: str) -> tuple[int, int]:
        """The node and strategy that a sum of variables stands for: all sources of one argument."""
        places = {key[:3] for key in keys}
        if len(places) != 1 or len(keys) != self._sources(*keys[0][:2]):
            raise ValueError(f"row '{name}' compares other things than strategies of two nodes: {sorted(places)[:4]}")
        return keys[0][0], keys[0][2]

    def _budget(self, name: str, terms: list[tuple[Key, float]], sense: int, right: float) -> None:
        usage: dict[int, dict[int, dict[Key, float]]] = {}
        for key, amount in terms:
            usage.setdefault(key[0], {}).setdefault(key[2], {})[key] = amount
        told = []
        for number, by_strategy in usage.items():
            amounts = [0.0] * len(self._strategies(number))
            for s, found in by_strategy.items():
                places = {key[1] for key in found}
                if len(places) != 1 or len(set(found.values())) != 1 or len(found) != self._sources(number, *places):
                    raise ValueError(
                        f"row '{name}' counts node {self.optimizer.nodes[number]} by more than its strategy"
                    )
                amounts[s] = next(iter(found.values()))
            told.append({"vertex": self.vertex[number], "usage": amounts})
        bounds = {-1: {"high": right}, 1: {"low": right}, 0: {"low": right, "high": right}}[sense]
        self.budgets.append({"name": name, **bounds, "terms": told})


def _label(strategy: Any) -> str:
    """ "S(0)R,RR->S(0)R": where the arguments of a strategy lie, and where its results do."""

    def one(spec: Any) -> str:
        if spec is None:
            return "-"
        if isinstance(spec, (list, tuple)):
            return f"[{','.join(one(s) for s in spec)}]"
        return "".join(f"S({p.dim})" if p.is_shard() else "P" if p.is_partial() else "R" for p in spec.placements)

    return f"{','.join(one(s) for s in strategy.input_specs)}->{one(strategy.output_specs)}"
