"""Problems of an optimizer like AutoParallel's, against all of their solutions, one by one."""

import gzip
import itertools
import json
import math
import random
from collections import Counter
from types import SimpleNamespace

import pytest
from torch.distributed.tensor import Partial, Replicate, Shard

from shardweave_torch import autoparallel

PLACEMENTS = (Replicate(), Shard(0), Shard(1), Partial())


class Row:
    """A row as PuLP has it: terms and a constant, to be compared with zero."""

    def __init__(self, terms, sense, right):
        self.terms, self.sense, self.constant = terms, sense, -right

    def items(self):
        return [(v, c) for v, c in self.terms.values()]

    def holds(self):
        value = sum(c * v.varValue for v, c in self.items()) + self.constant
        return value <= 1e-9 if self.sense < 0 else value >= -1e-9 if self.sense > 0 else abs(value) < 1e-9


class Node:
    def __init__(self, name, inputs):
        self.name, self.inputs = name, inputs
        self.op, self.target = ("call_function" if inputs else "placeholder"), f"aten.{name}"

    def __str__(self):
        return self.name


class Optimizer:
    """What is read of AutoParallel's `ShardingOptimizer`: names, keys and meanings are its own.

    Two chains of the same kind from one input each, which meet; nodes of the second chain are linked to the first if
    that is wanted.
    """

    def __init__(self, seed, linked=False):
        chance = random.Random(seed)
        a, b = Node("a", []), Node("b", [])
        a1, b1 = Node("a1", [a]), Node("b1", [b])
        a2, b2 = Node("a2", [a1, a]), Node("b2", [b1, b])
        end, output = Node("end", [a2, b2]), Node("output", [])
        output.op = "output"
        self.nodes = [a, b, a1, b1, a2, b2, end, output]
        self.node_map = {n: i for i, n in enumerate(self.nodes)}
        sizes = {"a": 3, "b": 3, "a1": 2, "b1": 2, "a2": 3, "b2": 3, "end": 4}
        self.strats = {n: self.strategies(n, sizes) for n in self.nodes[:-1]} | {output: None}
        pairs = [(b1, a1), (b2, a2)] if linked else []
        self.cluster_links = {}
        self.decision_vars, self.pulp_variables = {}, {}
        self.prob = SimpleNamespace(constraints={})
        roots = {self.node_map[n]: self.node_map[r] for n, r in pairs}
        for node in self.nodes[:-1]:
            number, strategies = self.node_map[node], self.strats[node].strategies
            work = [chance.uniform(1, 9) for _ in strategies]
            for s, place in itertools.product(range(len(strategies)), range(max(1, len(node.inputs)))):
                for source in range(len(strategies[s].redistribute_cost[place])):
                    key = (number, place, s, source)
                    if number in roots:
                        self.cluster_links[key] = (roots[number], *key[1:])
                        self.pulp_variables[key] = self.pulp_variables[self.cluster_links[key]]
                        continue
                    self.pulp_variables[key] = SimpleNamespace(varValue=0)
                    moved = chance.choice([0.0, chance.uniform(0, 20), math.inf]) if node.inputs else 0.0
                    self.decision_vars[key] = SimpleNamespace(
                        var=self.pulp_variables[key], compute_cost=work[s] / max(1, len(node.inputs)), comm_cost=moved,
                        sharding_transition_cost=int(moved > 0),
                    )  # fmt: skip
        for number, (key, decision) in enumerate(self.decision_vars.items()):
            if not math.isfinite(decision.comm_cost):
                self.row(f"inf_cases_{number:03}", {key: 1}, 0, 0)

    def strategies(self, node, sizes):
        def one(s):
            specs = [SimpleNamespace(placements=[PLACEMENTS[s]]) for _ in node.inputs or [None]]
            costs = [[0.0] * sizes[i.name] for i in node.inputs] or [[0.0]]
            out = SimpleNamespace(placements=[PLACEMENTS[s]])
            return SimpleNamespace(input_specs=specs, output_specs=out, redistribute_cost=costs)

        return SimpleNamespace(strategies=[one(s) for s in range(sizes[node.name])])

    def _all_input_nodes(self, node):
        return node.inputs

    def variable(self, key):
        return self.decision_vars[self.cluster_links.get(key, key)]

    def row(self, name, terms, sense, right):
        self.prob.constraints[name] = Row({k: (self.variable(k).var, c) for k, c in terms.items()}, sense, right)

    def of(self, name, strategy, place=0):
        """The variables of a strategy of a node."""
        node = next(n for n in self.nodes if n.name == name)
        sources = len(self.strats[node].strategies[0].redistribute_cost[place])
        return [(self.node_map[node], place, strategy, j) for j in range(sources)]

    def keys(self, chosen):
        """The variables that are 1: `chosen` has a strategy per node."""
        for n, s in zip(self.nodes, chosen, strict=False):
            sources = [chosen[self.node_map[i]] for i in n.inputs] or [0]
            yield from ((self.node_map[n], place, s, source) for place, source in enumerate(sources))

    def best(self):
        """The least cost of all solutions, one by one."""
        found = math.inf
        for chosen in itertools.product(*(range(len(self.strats[n].strategies)) for n in self.nodes[:-1])):
            for decision in self.decision_vars.values():
                decision.var.varValue = 0
            keys = list(self.keys(chosen))
            taken = Counter(id(self.variable(k).var) for k in keys)
            linked = [k for k in keys if k in self.cluster_links]
            if any(taken[id(self.variable(k).var)] != 2 for k in linked):
                continue  # not what the node does that it is linked to
            for k in keys:
                self.variable(k).var.varValue = 1
            if all(r.holds() for r in self.prob.constraints.values()):
                told = [self.variable(k) for k in keys]
                found = min(found, sum(d.compute_cost + d.comm_cost + d.sharding_transition_cost for d in told))
        return found


def constrained(optimizer, kind):
    if kind == "placement":  # one of two strategies, of each argument
        for place in (0, 1):
            keys = [k for s in (0, 2) for k in optimizer.of("end", s, place)]
            optimizer.row(f"output_constraint_{place:03}", dict.fromkeys(keys, 1), 0, 1)
    elif kind == "pairs":  # as a parameter and its gradient, which lacks one of its placements
        for s in (0, 1):
            terms = dict.fromkeys(optimizer.of("a", s), -1) | dict.fromkeys(optimizer.of("end", s), 1)
            optimizer.row(f"grad_param_constraint_{s:03}", terms, 0, 0)
        optimizer.row("grad_param_constraint_disable_000", dict.fromkeys(optimizer.of("a", 2), 1), 0, 0)
    elif kind == "memory":
        usage = {k: u for name in "ab" for s, u in enumerate((1.0, 0.5, 0.25)) for k in optimizer.of(name, s)}
        optimizer.row("memory_constraint_high", usage, -1, 0.75)
        optimizer.row("memory_constraint_low", usage, 1, 0.5)
    elif kind == "cast":  # no communication before it
        optimizer.row("forward_dtype_000", dict.fromkeys(optimizer.of("a1", 0)[1:], 1), 0, 0)


@pytest.mark.parametrize("linked", [False, True], ids=["apart", "linked"])
@pytest.mark.parametrize("kind", ["free", "placement", "pairs", "memory", "cast"])
def test_the_answer_is_the_best_of_all(kind, linked):
    met = Counter()
    for seed in range(12):
        optimizer = Optimizer(seed, linked)
        constrained(optimizer, kind)
        best = optimizer.best()
        met[math.isfinite(best)] += 1
        if not math.isfinite(best):
            with pytest.raises(RuntimeError, match="no placement"):
                autoparallel.optimize_sharding(optimizer)
            continue
        answer = autoparallel.optimize_sharding(optimizer)
        assert answer.status == "optimal" and answer.objective == pytest.approx(best, rel=1e-9)
        assert all(r.holds() for r in optimizer.prob.constraints.values())  # the variables are set
        chosen = autoparallel.assignment_of(optimizer, answer.placement)
        assert sorted(optimizer.selected_keys) == sorted(optimizer.keys(chosen))
        told = autoparallel.evaluate(optimizer, answer.placement)
        assert told["objective"] == pytest.approx(best, rel=1e-9) and not told["violations"]
    assert met[True] >= 3


def test_what_a_placement_breaks_is_named():
    optimizer = Optimizer(1)
    constrained(optimizer, "pairs")
    first = {n: optimizer.strats[n].strategies[0] for n in optimizer.nodes[:-1]}
    first[optimizer.nodes[0]] = optimizer.strats[optimizer.nodes[0]].strategies[2]
    assert any("grad_param_constraint" in what for what in autoparallel.evaluate(optimizer, first)["violations"])


def test_rows_of_another_form_are_refused_by_name():
    optimizer = Optimizer(2)
    terms = dict.fromkeys(optimizer.of("a1", 0)[:1], -1) | dict.fromkeys(optimizer.of("end", 1), 1)
    optimizer.row("odd_one", terms, 0, 0)
    with pytest.raises(ValueError, match="odd_one"):
        autoparallel.export_problem(optimizer)
    optimizer = Optimizer(2)
    optimizer.row("some_sources", dict.fromkeys(optimizer.of("a1", 0)[:1], 2.0), -1, 1)
    with pytest.raises(ValueError, match="some_sources"):
        autoparallel.export_problem(optimizer)


def test_problems_are_written_as_files(tmp_path):
    optimizer = Optimizer(4, linked=True)
    autoparallel.write_problem(optimizer, tmp_path / "problem.json.gz", assignment=[0] * 7, objective=1.0)
    told = json.loads(gzip.decompress((tmp_path / "problem.json.gz").read_bytes()))
    assert told["format"] == "shardweave.placement" and len(told["vertices"]) == 7 and len(told["edges"]) == 8
    assert told["vertices"][2]["tie"] == told["vertices"][3]["tie"]
    assert told["vertices"][0]["tie"] == told["vertices"][1]["tie"]  # by what reads them
    assert told["vertices"][2]["labels"][1] == "S(0)->S(0)"
    assert told["reference"]["assignment"] == [0] * 7
    autoparallel.write_problem(optimizer, tmp_path / "problem.json")
    assert "reference" not in json.loads((tmp_path / "problem.json").read_text())
