"""What blocks of a model keep for the backward pass, and what they make again: decided by the library, done by
PyTorch's selective checkpoints."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

from ._planner import Machine
from .capture import _without_initialization
from .export import Exported, export_graph

log = logging.getLogger("shardweave")

_BLOCK = "shardweave_block"

#: From 2.14 on hooks on saved tensors (offloading) see what is kept, if they are to.
_HOOKS = {n: True for n in ("respect_saved_tensors_hooks",) if n in inspect.signature(checkpoint).parameters}
_warned: set[tuple[str, Any]] = set()


@dataclass(frozen=True)
class BlockPolicy:
    """What one block keeps: by operator, the numbers of its calls in the block whose results stay.

    Results of all other calls are made again; those of `dropped` calls are wanted by the backward pass. A call that was
    not traced is made again, too, and the log says so: a program may run other operators than were traced, such as
    those of dropout on processors without a fused one.
    """

    name: str = ""

    kept: dict[Any, frozenset[int]] = field(default_factory=dict)
    dropped: dict[Any, frozenset[int]] = field(default_factory=dict)
    calls: dict[Any, int] = field(default_factory=dict)

    def context_fn(self) -> Callable[[], tuple[Any, Any]]:
        """What `torch.utils.checkpoint.checkpoint` takes as `context_fn`: a policy of its own for each run."""
        return lambda: create_selective_checkpoint_contexts(self.policy())

    def policy(self) -> Callable[..., CheckpointPolicy]:
        """The policy function for one run of the block: it counts the calls of each operator."""
        counts: Counter[tuple[bool, Any]] = Counter()

        def decide(context: Any, operator: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
            number = counts[context.is_recompute, operator]
            if number >= self.calls.get(operator, 0) and (self.name, operator) not in _warned:
                _warned.add((self.name, operator))
                log.warning("block %s runs %s more often than was traced: that is made again", self.name, operator)
            counts[context.is_recompute, operator] += 1
            if number in self.kept.get(operator, ()):
                return CheckpointPolicy.MUST_SAVE
            if number in self.dropped.get(operator, ()):
                return CheckpointPolicy.MUST_RECOMPUTE
            return CheckpointPolicy.PREFER_RECOMPUTE

        return decide


@dataclass
class MemoryPlan:
    """A policy for every block that makes values again. Sizes in bytes, times modelled, in nanoseconds."""

    blocks: dict[str, BlockPolicy]  #: by name of the module; blocks that are missing keep all
    memory: int  #: what was allowed
    peak: int  #: of the step in its own order: parameters, gradients, values, what the backward pass holds
    peak_without: int  #: if nothing were made again
    saved: int  #: bytes that stay from the forward to the backward pass, beside parameters and what the model is given
    saved_without: int
    more_time: int  #: what is made again takes
    lower_bound: int  #: no choice that needs no more by the library's rows takes less
    before: int  #: computation of a step if nothing is made again

    def __str__(self) -> str:
        """One line for a log."""
        gib = 2.0**-30
        return (
            f"{len(self.blocks)} blocks make values again, in {self.more_time * 1e-6:.2f} ms beside "
            f"{self.before * 1e-6:.2f} ms: {self.saved * gib:.2f} of {self.saved_without * gib:.2f} GiB are kept, "
            f"peak {self.peak * gib:.2f} of {self.peak_without * gib:.2f} GiB"
        )


def repeated_blocks(model: nn.Module) -> list[str]:
    """Names of the members of the longest list of modules of one class: the blocks of most models."""
    lists = [
        (name, list(m))
        for name, m in model.named_modules()
        if isinstance(m, (nn.ModuleList, nn.Sequential)) and len({type(block) for block in m}) == 1
    ]
    if not lists:
        raise ValueError(f"{type(model).__name__} has no list of modules of one class; name its blocks")
    name, longest = max(lists, key=lambda pair: len(pair[1]))
    return [f"{name}.{i}" if name else str(i) for i in range(len(longest))]


@contextlib.contextmanager
def _numbered(model: nn.Module, blocks: Sequence[str]) -> Iterator[None]:
    """Nodes that are traced of a block, and of its backward part, carry its number."""
    modules = [model.get_submodule(name) for name in blocks]

    def numbered(forward: Callable[..., Any], number: int) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with torch.fx.traceback.annotate({_BLOCK: number}):
                return forward(*args, **kwargs)

        return call

    try:
        for number, module in enumerate(modules):
            module.forward = numbered(module.forward, number)
        with torch.fx.traceback.preserve_node_meta():
            yield
    finally:
        for module in modules:
            del module.forward


def _is_backward(node: torch.fx.Node) -> bool:
    return node.meta.get("partitioner_tag") == "is_backward"


class _Storages:
    """Who makes the storages of a joint graph, and whether its backward half reads them."""

    def __init__(self, exported: Exported, blocks: Sequence[int]) -> None:
        self.exported, self.blocks = exported, blocks
        self.bytes = exported.tasks.storage_bytes()
        self.maker: dict[int, int] = {}
        self.made: list[list[int]] = []  # by task
        self.read_late: set[int] = set()
        self.read_by_blocks: dict[int, set[int]] = {}  # by block: storages of others that its forward part reads
        index = {n: i for i, n in enumerate(exported.nodes)}
        for task, node in enumerate(exported.nodes):
            held = [s for _, s in exported.outputs[task]]
            self.made.append([s for s in held if self.maker.setdefault(s, task) == task])
            for producer in node.all_input_nodes:
                read = {s for _, s in exported.outputs[index[producer]]}
                if _is_backward(node):
                    self.read_late |= read
                elif blocks[task] >= 0:
                    outside = {s for s in read if blocks[self.maker[s]] != blocks[task]}
                    self.read_by_blocks.setdefault(blocks[task], set()).update(outside)

    def is_given(self, storage: int) -> bool:
        """Parameters and inputs are there anyway."""
        return self.exported.kinds[self.maker[storage]] == "input"

    def saved_by_default(self) -> set[int]:
        """Storages that the forward half makes and the backward half reads."""
        made = {s for s in self.read_late if not self.is_given(s)}
        return {s for s in made if not _is_backward(self.exported.nodes[self.maker[s]])}


class BlockMemory:
    """The blocks of a training step as memory sees them: asked for plans within one limit after the other.

    The joint graph of the step tells the values of each block, their sizes, what making them takes, and who reads them.

    Args:
        make: gives a model whose call is its loss, and arguments; it runs under fake tensors.
        machine: prices what is made again.
        blocks: names of modules, in the order in which they run; default: `repeated_blocks`.
        compiled: whether element-wise operators run as fused kernels.
    """

    def __init__(
        self,
        make: Callable[[], tuple[nn.Module, Sequence[Any]]],
        machine: str | Machine = "h100",
        *,
        blocks: Sequence[str] | None = None,
        compiled: bool = False,
    ) -> None:
        """Traces the step."""
        on = Machine(machine) if isinstance(machine, str) else machine
        with FakeTensorMode(), contextlib.ExitStack() as stack:
            with _without_initialization():
                model, arguments = make()
            self.names = list(repeated_blocks(model) if blocks is None else blocks)
            with _numbered(model, self.names):
                graph = aot_export_joint_with_descriptors(stack, model, tuple(arguments)).graph_module.graph
            self._exported = export_graph(graph, on, "joint", with_phases=True, fused=compiled)
        self._of_block = [n.meta.get("custom", {}).get(_BLOCK, -1) for n in self._exported.nodes]
        self._storages = _Storages(self._exported, self._of_block)

    def plan(self, memory: int, *, least: int = 2**20) -> MemoryPlan:
        """The quickest choice among all combinations of values that are kept.

        Args:
            memory: bytes that the step may hold at any time: parameters, gradients, inputs, values; not the state of an
                optimizer.
            least: bytes; what is smaller is kept.
        """
        storages, tasks = self._storages, self._exported.tasks
        before = tasks.simulate()
        saved = storages.saved_by_default()
        without = sum(storages.bytes[s] for s in saved)
        if before["peak"] <= memory:
            return MemoryPlan({}, memory, before["peak"], before["peak"], without, without, 0, 0, before["compute"])
        told = self._within(memory, least)
        policies: dict[str, BlockPolicy] = {}
        for number, name in enumerate(self.names):
            again = set(told["dropped"][number])
            if not again & storages.read_late:
                continue
            policies[name], kept = _policy_of(storages, name, number, again)
            made_here = {s for s in saved if self._of_block[storages.maker[s]] == number}
            saved = (saved - made_here) | kept | storages.read_by_blocks.get(number, set())
        return MemoryPlan(
            policies,
            memory,
            told["after"]["peak"],
            before["peak"],
            sum(storages.bytes[s] for s in saved if not storages.is_given(s)),
            without,
            told["time"],
            told["lower_bound"],
            before["compute"],
        )

    def _within(self, memory: int, least: int) -> dict[str, Any]:
        """The quickest choice whose peak in the simulator is within the memory.

        The library's rows count a little more than the simulator as a rule, and the limit is theirs: so the largest
        limit whose choice keeps to the memory is looked for, in a few steps.
        """
        best, limit, within, above = None, memory, 0, 0
        for _ in range(10):
            told = self._exported.tasks.recomputed(self._of_block, limit, least)
            if "shortage" in told:
                missing = told["shortage"]
                where = f"block {self.names[missing['block']]}" if missing["block"] < len(self.names) else "the loss"
                raise ValueError(f"{where} needs {missing['least'] + memory - limit} bytes at least, found {memory}")
            spare = memory - told["after"]["peak"]
            if spare >= 0:
                best, within = told, limit
                if spare <= max(least, memory // 1024):
                    break
            else:
                above = limit
            limit = (within + above) // 2 if within and above else limit + spare
        if best is None:
            raise ValueError(f"no choice needs at most {memory} bytes")
        return best


def plan_memory(
    make: Callable[[], tuple[nn.Module, Sequence[Any]]],
    memory: int,
    machine: str | Machine = "h100",
    *,
    blocks: Sequence[str] | None = None,
    least: int = 2**20,
    compiled: bool = False,
) -> MemoryPlan:
    """What blocks keep and make again within the memory of a device: `BlockMemory` asked once."""
    return BlockMemory(make, machine, blocks=blocks, compiled=compiled).plan(memory, least=least)


def _policy_of(storages: _Storages, name: str, number: int, again: set[int]) -> tuple[BlockPolicy, set[int]]:
    """The policy of a block that makes these storages again, and the storages that it keeps."""
    kept: dict[Any, set[int]] = {}
    dropped: dict[Any, set[int]] = {}
    calls: Counter[Any] = Counter()
    stays: set[int] = set()
    for task, node in enumerate(storages.exported.nodes):
        if storages.blocks[task] != number or _is_backward(node) or node.op != "call_function":
            continue
        if not isinstance(node.target, torch._ops.OpOverload) or node.target in SAC_IGNORED_OPS:
            continue
        call = calls[node.target]
        calls[node.target] += 1
        made = set(storages.made[task])
        if made & again:
            dropped.setdefault(node.target, set()).add(call)
        elif made & storages.read_late:
            kept.setdefault(node.target, set()).add(call)
            stays |= made
    frozen = [{o: frozenset(n) for o, n in by.items()} for by in (kept, dropped)]
    return BlockPolicy(name, *frozen, dict(calls)), stays


def checkpoint_blocks(model: nn.Module, plan: MemoryPlan) -> nn.Module:
    """Lets the blocks of a model keep and make again what was planned; the model is changed in place and returned."""
    for name, policy in plan.blocks.items():
        module = model.get_submodule(name)
        module.forward = _checkpointed(module.forward, policy)
    return model


def _checkpointed(forward: Callable[..., Any], policy: BlockPolicy) -> Callable[..., Any]:
    contexts = policy.context_fn()

    @functools.wraps(forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(forward, *args, use_reentrant=False, context_fn=contexts, **_HOOKS, **kwargs)

    return call
