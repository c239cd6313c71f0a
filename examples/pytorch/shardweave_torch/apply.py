"""Puts a plan into an FX graph: order, merged collectives, control dependencies."""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx._lazy_graph_module import _LazyGraphModule

from .export import Exported

c10d = torch.ops._c10d_functional

#: What a collective becomes when several are launched as one group of calls, each on its own buffers.
COALESCED = {
    c10d.all_gather_into_tensor.default: c10d.all_gather_into_tensor_coalesced.default,
    c10d.reduce_scatter_tensor.default: c10d.reduce_scatter_tensor_coalesced.default,
    c10d.all_reduce.default: c10d.all_reduce_coalesced.default,
}


class Snapshot:
    """A graph as it stands, to which it can be brought back whatever became of it.

    Complexity: O(nodes) to take, a new node for each where it is restored.
    """

    def __init__(self, graph: Graph) -> None:
        """Remembers every node; nothing is copied but references."""
        self.graph = graph
        self.nodes = [(n, n.op, n.target, n.args, n.kwargs, n.name, n.type, dict(n.meta)) for n in graph.nodes]

    def restore(self) -> None:
        """Makes the graph anew as it was, with the names, arguments and notes that it had."""
        for node in self.graph.nodes:  # first, since a half changed graph need not be in order
            node.args, node.kwargs = (), {}
        for node in reversed(list(self.graph.nodes)):
            self.graph.erase_node(node)
        made: dict[Node, Node] = {}
        for old, op, target, args, kwargs, name, kind, meta in self.nodes:
            new = self.graph.create_node(
                op,
                target,
                torch.fx.node.map_arg(args, made.__getitem__),
                torch.fx.node.map_arg(kwargs, made.__getitem__),
                None,
                kind,
            )
            new.name = name
            new.meta = meta
            made[old] = new
        self.graph.lint()


def put_in_order(graph: Graph, nodes: Sequence[Node]) -> None:
    """Rearranges all nodes of a graph: inputs first, as they stand, then the others in this order, the output last."""
    first = [n for n in graph.nodes if n.op in ("placeholder", "get_attr")]
    last = [n for n in graph.nodes if n.op == "output"]
    fixed = set(first) | set(last)
    anchor = graph._root
    for node in [*first, *(n for n in nodes if n not in fixed), *last]:
        anchor.append(node)
        anchor = node


def merge_collectives(graph: Graph, members: Sequence[Node]) -> Node:
    """Launches collectives of one operator, group and reduction as one, where the last of them stands.

    Members are listed in the order of the graph.
    Each keeps its buffers and its wait, so that results are the same bit by bit. Gives the node that launches.
    """
    last = members[-1]
    target = members[0].target
    merged = COALESCED[target]
    with graph.inserting_before(last):
        launch = graph.call_function(merged, ([m.args[0] for m in members], *members[0].args[1:]))
    _take_notes(launch, members[0])
    launch.meta["val"] = [m.meta["val"] for m in members]
    with graph.inserting_before(last):
        for position, member in enumerate(members):
            part = graph.call_function(operator.getitem, (launch, position))
            _take_notes(part, member)
            part.meta["val"] = member.meta["val"]
            member.replace_all_uses_with(part)
    for member in members:
        graph.erase_node(member)
    return launch


def _take_notes(node: Node, source: Node) -> None:
    for key in ("nn_module_stack", "fwd_nn_module_stack", "partitioner_tag", "seq_nr", "custom", "stack_trace"):
        if key in source.meta:
            node.meta[key] = source.meta[key]


def holding_dependencies(
    order: Sequence[int], exported: Exported, launches: dict[int, list[int]]
) -> list[tuple[int, int]]:
    """Pairs of tasks (earlier, later) that keep each launch before what hides it, and that before its wait.

    `launches` lists, by the task at whose place something is launched, the collectives that it launches. What hides is
    the first and the last kernel between launch and first wait; a computation is preferred to other work.
    """
    position = {t: i for i, t in enumerate(order)}
    first_wait: dict[int, int] = {}
    waits: dict[int, list[int]] = {}
    for task, node in enumerate(exported.nodes):
        if exported.kinds[task] == "wait":
            waits.setdefault(_started(exported, node), []).append(task)
    kernels = [
        i for i, t in enumerate(order) if exported.kinds[t] in ("compute", "other") and exported.durations[t] > 0
    ]
    computations = [i for i in kernels if exported.kinds[order[i]] == "compute"]
    pairs: list[tuple[int, int]] = []
    for at, members in launches.items():
        ends = [w for m in members for w in waits.get(m, ())]
        if not ends:
            continue
        first_wait[at] = min(ends, key=position.__getitem__)
        begin, end = position[at], position[first_wait[at]]
        hiding = _between(computations, begin, end) or _between(kernels, begin, end)
        if hiding:
            pairs.append((at, order[hiding[0]]))
            pairs.append((order[hiding[1]], first_wait[at]))
    return pairs


def _between(places: list[int], begin: int, end: int) -> tuple[int, int] | None:
    low, high = bisect_left(places, begin), bisect_left(places, end) - 1
    return (places[low], places[high]) if low <= high else None


def _started(exported: Exported, wait: Node) -> int:
    source: Any = wait.args[0]
    while source.target is operator.getitem:
        source = source.args[0]
    return exported.task_of[source]


def hold(graph: Graph, pairs: Sequence[tuple[Node, Node]]) -> None:
    """Holds pairs of nodes (earlier, later) in this order by control dependencies, which compilers respect.

    A node that shall wait becomes, in place, a call of `control_deps` whose subgraph is the operation that it was: what
    PyTorch's own `preserve_node_ordering` makes of it, without a new node whose users would all have to be told.
    """
    from torch._inductor.fx_passes.control_dependencies import control_deps

    needs: dict[Node, dict[Node, None]] = {}
    for earlier, later in pairs:
        if isinstance(earlier.meta.get("val"), (tuple, list)):  # gives a tuple: one of its parts stands for it
            part = next((u for u in earlier.users if u.target is operator.getitem), None)
            if part is None:
                continue
            earlier.append(part)
            earlier = part
        needs.setdefault(later, {})[earlier] = None
    owner = graph.owning_module
    for node, earlier_nodes in needs.items():
        given = list(dict.fromkeys(_nodes_in(node)))
        name = f"subgraph_{node.name}"
        while hasattr(owner, name):
            name += "_"
        setattr(owner, name, _alone(owner, node, given))
        with graph.inserting_before(node):
            subgraph = graph.create_node("get_attr", name)
        node.target = control_deps
        node.args = (tuple(earlier_nodes), subgraph, *given)
        node.kwargs = {}
        node.meta.pop("eager_input_vals", None)


def _nodes_in(node: Node) -> list[Node]:
    found: list[Node] = []
    torch.fx.node.map_arg((node.args, node.kwargs), found.append)
    return found


def _alone(owner: torch.nn.Module, node: Node, given: Sequence[Node]) -> torch.fx.GraphModule:
    """A module that does what a node does, from its arguments."""
    graph = Graph(owner)
    places: dict[Node, Node] = {}
    for position, argument in enumerate(given):
        place = places[argument] = graph.create_node("placeholder", f"arg_{position}")
        if "val" in argument.meta:
            place.meta.update(argument.meta)
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), places.__getitem__)
    result = graph.create_node("call_function", node.target, args, kwargs)
    result.meta.update(node.meta)
    output = graph.create_node("output", "output", (result,))
    if "val" in node.meta:
        output.meta["val"] = node.meta["val"]
    return _LazyGraphModule(owner, graph)


def apply_plan(
    graph: Graph, exported: Exported, order: Sequence[int], buckets: Sequence[Sequence[int]], keep: bool
) -> None:
    """Puts order and buckets of a plan into the graph that was exported.

    With `keep`, control dependencies hold what hides what, since Inductor orders kernels anew.
    """
    nodes = exported.nodes
    put_in_order(graph, [nodes[t] for t in order])
    position = {t: i for i, t in enumerate(order)}
    launches = {t: [t] for t in order if exported.kinds[t] == "collective"}
    for members in buckets:
        for member in members:
            del launches[member]
        launches[max(members, key=position.__getitem__)] = list(members)
    pairs = holding_dependencies(order, exported, launches) if keep else []
    launched: dict[int, Node] = {}
    for at, members in launches.items():
        if len(members) > 1:
            ordered = sorted(members, key=position.__getitem__)
            launched[at] = merge_collectives(graph, [nodes[m] for m in ordered])
    if pairs:
        hold(graph, [(launched.get(a, nodes[a]), launched.get(b, nodes[b])) for a, b in pairs])
    check_order(graph)


def check_order(graph: Graph) -> None:
    """Refuses a graph in which a node stands before one that it takes; `Graph.lint` finds more, and takes longer."""
    before: set[Node] = set()
    for node in graph.nodes:
        for taken in node.all_input_nodes:
            if taken not in before:
                raise RuntimeError(f"{node.name} takes {taken.name}, which does not stand before it")
        before.add(node)
