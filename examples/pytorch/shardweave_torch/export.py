"""An FX graph with functional collectives as a task graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

from ._operators import OperatorKind, bytes_of, flops_of, kind_of
from ._planner import GraphBuilder, Machine, TaskGraph

#: Gives the ranks of a process group by the name that graphs use.
RanksOf = Callable[[Any], list[int]]

#: Milliseconds that the kernel of a node takes; nothing where the machine shall say.
Estimate = Callable[[torch.fx.Node], float | None]


def ranks_of_group(name: Any) -> list[int]:
    """The global ranks of a process group, as the graph names it, in ascending order."""
    if isinstance(name, dist.ProcessGroup):
        return dist.get_process_group_ranks(name)
    return dist.get_process_group_ranks(dist.distributed_c10d._resolve_process_group(name))


def estimate_by_pytorch(node: torch.fx.Node) -> float | None:
    """What PyTorch's own estimator says of products, attention and convolutions on the device that is there.

    Milliseconds of its roofline model, which its overlap pass takes, too. Element-wise kernels are left to the machine,
    which knows what is fused.
    """
    if kind_of(node.target).what not in ("product", "attention", "formula"):
        return None
    from torch._inductor.fx_passes.overlap_scheduling import estimate_roofline_runtime_ms

    return estimate_roofline_runtime_ms(node)


@dataclass
class Exported:
    """A task graph, and the nodes that its tasks stand for: task i is `nodes[i]`."""

    tasks: TaskGraph
    nodes: list[torch.fx.Node]
    kinds: list[str]  #: of tasks, as the library names them
    durations: list[int]  #: nanoseconds
    groups: list[Any] = field(default_factory=list)  #: names of process groups, by channel
    ranks: list[list[int]] = field(default_factory=list)  #: of each group
    fences: list[str] = field(default_factory=list)  #: names of nodes across which nothing moves
    outputs: list[tuple[tuple[int, int], ...]] = field(default_factory=list)  #: size and storage, by task

    @functools.cached_property
    def task_of(self) -> dict[torch.fx.Node, int]:
        """By node: the task that stands for it."""
        return {n: i for i, n in enumerate(self.nodes)}


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors of a node's value: itself, or those of a tuple."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [v for v in value if isinstance(v, torch.Tensor)]
    return []


class _Exporter:
    def __init__(
        self, graph: torch.fx.Graph, machine: Machine, name: str, ranks_of: RanksOf, with_phases: bool, fused: bool,
        estimate: Estimate | None,
    ) -> None:  # fmt: skip
        self.machine = machine
        self.estimate = estimate
        self.with_phases = with_phases
        self.fused = fused
        self.ranks_of = ranks_of
        self.builder = GraphBuilder(name, machine)
        self.nodes = list(graph.nodes)
        self.index = {n: i for i, n in enumerate(self.nodes)}
        self.producers = [[self.index[p] for p in n.all_input_nodes] for n in self.nodes]
        self.whats = [kind_of(n.target) if n.op == "call_function" else None for n in self.nodes]
        self.texts: dict[Any, str] = {}  # of targets
        self.kinds: list[str] = []
        self.durations: list[int] = []
        self.groups: list[Any] = []
        self.ranks: list[list[int]] = []
        self.fences: list[str] = []
        self.storage_of: dict[int, int] = {}  # of PyTorch's storages: number in the builder
        self.held: list[tuple[tuple[int, int], ...]] = []  # by task: size and storage of what it gives
        self.depth: list[int] = []  # by task: products and collectives before it along any path
        self.fusible: list[bool] = []  # by task
        self.memo: dict[Any, int] = {}
        # storages that some call changes, and who touched them last
        self.changed = self._changed_storages()
        self.writer: dict[int, int] = {}
        self.readers: dict[int, list[int]] = {}
        self.last_random = -1
        self.last_fence = -1

    def _changed_storages(self) -> set[int]:
        changed: set[int] = set()
        for node, kind in zip(self.nodes, self.whats, strict=True):
            if kind is not None and kind.writes:
                for argument in self._written(node, kind):
                    changed.update(self._keys(argument))
        return changed

    @staticmethod
    def _written(node: torch.fx.Node, kind: OperatorKind) -> list[torch.fx.Node]:
        written: list[torch.fx.Node] = []
        for position, name in kind.writes:
            value = node.args[position] if position < len(node.args) else node.kwargs.get(name)
            torch.fx.node.map_arg(value, written.append)
        return written

    @staticmethod
    def _keys(node: torch.fx.Node) -> list[int]:
        return [v.untyped_storage()._cdata for v in tensors_in(node.meta.get("val"))]

    def _outputs(self, node: torch.fx.Node) -> tuple[tuple[int, int], ...]:
        outputs = []
        given = node.meta.get("val")
        for value in (given,) if isinstance(given, torch.Tensor) else tensors_in(given):
            storage = value.untyped_storage()
            number = self.storage_of.get(storage._cdata)
            if number is None:
                number = self.storage_of[storage._cdata] = self.builder.storage(int(_known(storage.nbytes(), value)))
            outputs.append((bytes_of(value), number))
        return tuple(outputs)

    def _order(self, position: int, node: torch.fx.Node, kind: OperatorKind | None, waits_for: int) -> list[int]:
        """Tasks that must come first for reasons that arguments do not tell."""
        after: set[int] = set()
        if self.last_fence >= 0:
            after.add(self.last_fence)
        if kind is not None and kind.what == "fence":
            after.update(range(max(self.last_fence, 0), position))
            self.last_fence = position
            self.fences.append(node.name)
        if kind is not None and kind.is_random:
            if self.last_random >= 0:
                after.add(self.last_random)
            self.last_random = position
        if self.changed:
            written: set[int] = set()
            if kind is not None and kind.writes:
                for argument in self._written(node, kind):
                    written.update(self._keys(argument))
            touched = set(self._keys(node))
            for producer in node.all_input_nodes:
                touched.update(self._keys(producer))
            if waits_for >= 0:  # until then the collective reads and writes
                for producer in self.nodes[waits_for].all_input_nodes:
                    touched.update(self._keys(producer))
            for key in touched & self.changed:
                if key in self.writer:
                    after.add(self.writer[key])
                if key in written:
                    after.update(self.readers.pop(key, ()))
                    self.writer[key] = position
                else:
                    self.readers.setdefault(key, []).append(position)
        after.discard(position)
        return sorted(after)

    def _group(self, name: Any) -> int:
        if name in self.groups:
            return self.groups.index(name)
        ranks = list(self.ranks_of(name))
        self.groups.append(name)
        self.ranks.append(ranks)
        # names of groups differ between ranks, places of groups in the graph do not
        return self.builder.group(f"group{len(self.groups) - 1}", ranks)

    def _moved(self, position: int, inputs: list[int], node: torch.fx.Node) -> tuple[int, bool]:
        """Bytes that a call reads and writes, without what stays inside of a fused kernel; whether it writes."""
        depth, fusible = self.depth[position], self.fused and self.fusible[position]
        moved = 0
        for i in inputs:
            if not (fusible and self.fusible[i] and self.depth[i] == depth):
                moved += sum(size for size, _ in self.held[i])
        writes = True
        if fusible and node.users:
            writes = not all(self._joins(self.index[user], depth) for user in node.users)
        if writes:
            moved += sum(size for size, _ in self.held[position])
        return moved, writes

    def _joins(self, user: int, depth: int) -> bool:
        """Whether a user is put into the same kernel: it is fusible, or a view whose users all are."""
        kind = self.whats[user]
        return kind is not None and kind.is_fusible and self.depth[user] == depth

    def _depths(self) -> list[int]:
        """How many kernels that nothing is fused with stand before each node, along any path."""
        alone = ("product", "attention", "formula", "start", "wait")
        depths: list[int] = []
        behind: list[int] = []  # of what uses a node
        for kind, producers in zip(self.whats, self.producers, strict=True):
            depth = max([behind[p] for p in producers], default=0)
            depths.append(depth)
            behind.append(depth + (kind is not None and kind.what in alone))
        return depths

    def run(self) -> Exported:
        self.depth = self._depths()
        for position, node in enumerate(self.nodes):
            if node.op == "call_function":
                self._call(position, node)
            else:
                self._other(position, node)
        tasks = self.builder.build()
        return Exported(tasks, self.nodes, self.kinds, self.durations, self.groups, self.ranks, self.fences, self.held)

    def _add(self, node: torch.fx.Node, op: str, kind: str, duration: int, inputs: list[int], after: list[int],
             completes: int = -1, role: str = "none") -> None:  # fmt: skip
        held = self.held[-1]
        self.builder.task(node.name, op, kind, duration, inputs, after, completes, held, role, self._phase(node))
        self.kinds.append(kind)
        self.durations.append(duration)

    def _phase(self, node: torch.fx.Node) -> str:
        if not self.with_phases:
            return ""
        return "backward" if node.meta.get("partitioner_tag") == "is_backward" else "forward"

    def _other(self, position: int, node: torch.fx.Node) -> None:
        inputs = self.producers[position]
        self.held.append(self._outputs(node))
        self.fusible.append(False)
        kind = {"placeholder": "input", "get_attr": "input", "output": "output"}.get(node.op)
        after = self._order(position, node, None if kind else OperatorKind("fence"), -1)
        self._add(node, node.op, kind or "other", 0, inputs, after if kind != "input" else [])

    def _call(self, position: int, node: torch.fx.Node) -> None:
        kind = self.whats[position]
        inputs = self.producers[position]
        outputs = self._outputs(node)
        waits_for = -1
        if kind.what == "wait":
            waits_for = self._start_of(node)
            if waits_for < 0:
                kind = OperatorKind("fence")
            else:  # the result is the memory into which the collective writes
                outputs = self._storage_of_start(waits_for, node, outputs)
        self.held.append(outputs)
        self.fusible.append(kind.is_fusible)
        after = self._order(position, node, kind, waits_for)
        op = self.texts.get(node.target)
        if op is None:
            op = self.texts[node.target] = str(node.target)
        if kind.what == "wait":
            self._add(node, op, "wait", 0, inputs, after, waits_for)
        elif kind.what == "start":
            self._start(node, op, kind, inputs, after)
        elif kind.what in ("take", "number") or self._is_view(inputs, outputs, kind):
            self.fusible[position] = True  # kernels read through it
            self._add(node, op, "view", 0, inputs, after)
        else:
            told = None if self.estimate is None or kind.what == "fence" else self.estimate(node)
            duration = self._duration(position, node, kind, inputs) if told is None else round(told * 1e6)
            is_compute = kind.what in ("product", "attention", "formula")
            self._add(node, op, "compute" if is_compute else "other", duration, inputs, after)

    def _is_view(self, inputs: list[int], outputs: tuple[tuple[int, int], ...], kind: OperatorKind) -> bool:
        if kind.what == "fence" or kind.writes or len(outputs) != 1:
            return False
        storage = outputs[0][1]
        return any(storage == s for i in inputs for _, s in self.held[i])

    def _start_of(self, wait: torch.fx.Node) -> int:
        source = wait.args[0]
        while source.op == "call_function" and kind_of(source.target).what == "take":
            source = source.args[0]
        if source.op == "call_function" and kind_of(source.target).what == "start":
            return self.index[source]
        return -1

    def _storage_of_start(
        self, start: int, wait: torch.fx.Node, outputs: tuple[tuple[int, int], ...]
    ) -> tuple[tuple[int, int], ...]:
        held = self.held[self.index[wait.args[0]]] or self.held[start]
        if len(held) == 1 and len(outputs) == 1:
            for value in tensors_in(wait.meta.get("val")):
                self.storage_of[value.untyped_storage()._cdata] = held[0][1]
            return ((outputs[0][0], held[0][1]),)
        return outputs

    def _start(self, node: torch.fx.Node, op: str, kind: OperatorKind, inputs: list[int], after: list[int]) -> None:
        arguments = list(node.args)
        group = self._group(_argument(node, kind.group_at, "group_name"))
        reduce = str(arguments[kind.reduction_at]) if kind.reduction_at is not None else "none"
        sources: list[torch.fx.Node] = []
        torch.fx.node.map_arg(node.args[0], sources.append)
        bytes_in = sum(bytes_of(v) for s in sources for v in tensors_in(s.meta.get("val")))
        bytes_out = sum(size for size, _ in self.held[-1])
        values = [v for s in sources for v in tensors_in(s.meta.get("val"))]
        dtype = str(values[0].dtype).removeprefix("torch.") if values else "unknown"
        name = node.target._opname
        if kind.writes or len(sources) != 1 or "coalesced" in name:  # launched already as it shall be: never merged
            dtype += f"/{node.name}"
        self.builder.collective(node.name, op, kind.collective, group, bytes_in, bytes_out, dtype, reduce, None, inputs,
                                after, self.held[-1], "none", self._phase(node))  # fmt: skip
        self.kinds.append("collective")
        self.durations.append(self._launched(kind.collective, bytes_in, group))

    def _launched(self, collective: str, bytes_in: int, group: int) -> int:
        key = (collective, bytes_in, group)
        if key not in self.memo:
            self.memo[key] = self.machine.communicating(collective, bytes_in, self.ranks[group])
        return self.memo[key]

    def _duration(self, position: int, node: torch.fx.Node, kind: OperatorKind, inputs: list[int]) -> int:
        if kind.what == "plain":
            moved, writes = self._moved(position, inputs, node)
            if moved == 0:
                return 0
            key = (moved, writes or not kind.is_fusible)
            if key not in self.memo:
                self.memo[key] = self.machine.moving(moved) if key[1] else self.machine.streaming(moved)
            return self.memo[key]
        if kind.what == "fence":
            return 0
        values = [v for n in node.all_input_nodes for v in tensors_in(n.meta.get("val"))]
        operands: list[torch.fx.Node] = []
        torch.fx.node.map_arg(node.args, operands.append)
        tensors = [v for n in operands for v in tensors_in(n.meta.get("val"))]
        key = (node.target, tuple((tuple(v.shape), v.dtype) for v in tensors))
        try:
            if key in self.memo:
                return self.memo[key]
        except TypeError:  # symbolic sizes have no hash
            key = None
        moved = sum(bytes_of(v) for v in values) + sum(size for size, _ in self.held[position])
        flops = flops_of(node, kind, tensors)
        element = min((v.dtype.itemsize for v in tensors if v.dtype.is_floating_point), default=4)
        work = "product"
        if kind.what == "attention":
            work = "attention_backward" if "backward" in node.target._opname else "attention"
        duration = self.machine.computing(work, flops, moved, element)
        if key is not None:
            self.memo[key] = duration
        return duration


def _argument(node: torch.fx.Node, position: int, name: str) -> Any:
    return node.args[position] if position < len(node.args) else node.kwargs[name]


def _known(nbytes: Any, value: torch.Tensor) -> int:
    return nbytes if isinstance(nbytes, int) else bytes_of(value)


def export_graph(
    graph: torch.fx.Graph,
    machine: str | Machine = "h100",
    name: str = "fx",
    ranks_of: RanksOf = ranks_of_group,
    *,
    with_phases: bool = False,
    fused: bool = True,
    estimate: Estimate | None = None,
) -> Exported:
    """The task graph of an FX graph whose nodes have `meta["val"]`, as Inductor's passes and AOTAutograd give it.

    Durations are those of the machine: products and attention by their operations, element-wise kernels by what they
    move (what stays within one fused kernel is free), collectives by the model of the machine. Memory is that of
    storages; a wait gives the memory of its collective. Order that arguments do not tell is kept by dependencies:
    who reads and changes a storage, random operators, and fences around everything of which nothing is known.

    Args:
        graph: it stays as it is.
        machine: a device that the library knows (a100, h100, h200, b200, gb200), or a `Machine`.
        name: of the task graph, for messages.
        ranks_of: gives the ranks of a process group by its name; default: PyTorch's registry.
        with_phases: of a joint graph, state which half a task belongs to.
        fused: whether element-wise operators share kernels; otherwise every operator is one.
        estimate: prices kernels in place of the machine, such as `estimate_by_pytorch`.
    """
    on = Machine(machine) if isinstance(machine, str) else machine
    return _Exporter(graph, on, name, ranks_of, with_phases, fused, estimate).run()
