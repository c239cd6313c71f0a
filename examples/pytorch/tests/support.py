"""Random schedules, and graphs that run without being compiled."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd

from shardweave_torch import Schedule, TaskGraph


def random_order(tasks: TaskGraph, seed: int) -> list[int]:
    """Any order that the dependencies allow, each choice as likely as another."""
    chance = random.Random(seed)
    needs = [set(tasks.needs(t)) for t in range(len(tasks))]
    needed_by: list[list[int]] = [[] for _ in needs]
    for task, earlier in enumerate(needs):
        for e in earlier:
            needed_by[e].append(task)
    ready = [t for t, earlier in enumerate(needs) if not earlier]
    order = []
    while ready:
        task = ready.pop(chance.randrange(len(ready)))
        order.append(task)
        for later in needed_by[task]:
            needs[later].discard(task)
            if not needs[later]:
                ready.append(later)
    assert len(order) == len(tasks)
    return order


def random_schedule(tasks: TaskGraph, seed: int, buckets: bool) -> Schedule:
    """A random order, and in it random buckets of neighbours, as far as they are valid."""
    chance = random.Random(seed)
    order = random_order(tasks, seed)
    chosen: list[list[int]] = []
    if buckets:
        launches = [t for t in order if tasks.kind(t) == "collective"]
        while launches:
            members = [launches.pop(0) for _ in range(min(chance.randrange(1, 4), len(launches)))]
            try:
                if len(members) > 1:
                    tasks.schedule(order, [*chosen, members])
                    chosen.append(members)
            except ValueError:  # of another kind, or needed before the last of them
                pass
    return tasks.schedule(order, chosen)


class RandomSchedules:
    """Plans by chance; ranks with equal seeds make equal ones."""

    def __init__(self, seed: int, buckets: bool) -> None:
        self.seed, self.buckets, self.merged = seed, buckets, 0
        self.uuid = f"RandomSchedules({seed}, {buckets})"

    def __call__(self, tasks: TaskGraph, budget: int) -> Schedule:
        self.seed += 1
        schedule = random_schedule(tasks, self.seed, self.buckets)
        self.merged += len(schedule.buckets)
        return schedule


def eager_backend(change: Callable[[torch.fx.Graph], None]) -> Any:
    """A backend of torch.compile that changes forward and backward graphs and runs them node by node."""

    def compiler(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        change(graph.graph)
        graph.recompile()
        return make_boxed_func(graph.forward)

    return aot_autograd(fw_compiler=compiler, bw_compiler=compiler)


def recording_backend(kept: list[tuple[torch.fx.GraphModule, list[Any], list[Any]]]) -> Any:
    """A backend that keeps graphs as they come, with what they were given and gave the last time."""

    def compiler(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        def run(*arguments: Any) -> Any:
            given = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
            found = graph(*arguments)
            kept.append((graph, given, [f.clone() if isinstance(f, torch.Tensor) else f for f in found]))
            return found

        return make_boxed_func(run)

    return aot_autograd(fw_compiler=compiler, bw_compiler=compiler)


def launches_in(graph: torch.fx.Graph) -> list[str]:
    """Names of the operators that start collectives, in order, those within control dependencies too."""
    names = []
    for node in graph.nodes:
        if node.op == "call_function" and "_c10d_functional" in str(node.target) and "wait" not in str(node.target):
            names.append(node.target._opname)
    return names


def as_text(graph: torch.fx.Graph) -> list[Any]:
    """All that makes a graph, as plain data."""

    def plain(argument: Any) -> Any:
        return torch.fx.node.map_arg(argument, lambda n: f"%{n.name}")

    return [(n.op, str(n.target), n.name, plain(n.args), plain(n.kwargs), sorted(n.meta)) for n in graph.nodes]


def is_getitem(node: torch.fx.Node) -> bool:
    """Whether a node takes an element of a tuple."""
    return node.target is operator.getitem
