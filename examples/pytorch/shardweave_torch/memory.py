"""What blocks of a model keep for the backward pass, and what they make again: decided by the library, done by
PyTorch's selective checkpoints."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

from ._operators import kind_of
from ._planner import Machine
from .capture import _without_initialization, mark_of, marked
from .export import Exported, export_graph

log = logging.getLogger("shardweave")

_BLOCK = "shardweave_block"

#: From 2.14 on hooks on saved tensors (offloading) see what is kept, if they are to.
_HOOKS = {n: True for n in ("respect_saved_tensors_hooks",) if n in inspect.signature(checkpoint).parameters}
_warned: set[tuple[str, Any]] = set()


@dataclass(frozen=True)
class BlockCall:
    """One call of a block's forward part, and what becomes of its result."""

    operator: Any
    kept: bool = False
    again: bool = False  #: it is not kept, and the backward pass wants it
    skipped: bool = False  #: it is not kept, and nothing wants it but what is kept


@dataclass(frozen=True)
class BlockPolicy:
    """What becomes of the results of a block's calls, in their order, views included.

    A program may run other calls than were traced, such as those of dropout on processors without a fused one: then
    what is kept goes by the numbers of an operator's calls, the rest is made again, and the log says so.
    """

    name: str
    calls: tuple[BlockCall, ...]

    def context_fn(self) -> Callable[[], tuple[Any, Any]]:
        """What `torch.utils.checkpoint.checkpoint` takes as `context_fn`: a policy of its own for each run."""
        of_operator: dict[Any, list[BlockCall]] = {}
        for call in self.calls:
            of_operator.setdefault(call.operator, []).append(call)

        def contexts() -> tuple[Any, Any]:
            run = _Run(self, of_operator)
            forward, again = create_selective_checkpoint_contexts(run.decide)
            return forward, _Again(run, again)

        return contexts


class _Run:
    """One run of a block: counts its calls, and remembers the results that need not be made again."""

    def __init__(self, policy: BlockPolicy, of_operator: dict[Any, list[BlockCall]]) -> None:
        self.policy, self.of_operator = policy, of_operator
        self.counts: Counter[Any] = Counter()
        self.operators: list[Any] = []
        self.left_out: dict[int, Any] = {}  # by place: what is like the result

    def decide(self, context: Any, operator: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
        """The policy function of the forward part."""
        traced = _functional(operator)
        number, known = self.counts[traced], self.of_operator.get(traced, ())
        self.counts[traced] += 1
        self.operators.append(operator)
        if number >= len(known) or (known[number].kept and operator is not traced):
            if (self.policy.name, operator) not in _warned:
                _warned.add((self.policy.name, operator))
                log.warning("block %s runs %s otherwise than traced: that is made again", self.policy.name, operator)
            return CheckpointPolicy.PREFER_RECOMPUTE
        call = known[number]
        if call.skipped:
            self.left_out[len(self.operators) - 1] = _form_of(context.op_output)
        if call.kept:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.MUST_RECOMPUTE if call.again else CheckpointPolicy.PREFER_RECOMPUTE

    def made_again(self) -> Iterator[tuple[Any, Any]]:
        """Of calls that are not kept, in order: the operator, and where nothing wants its result, its form."""
        aligned = len(self.operators) == len(self.policy.calls) and all(
            made is call.operator or (not call.kept and _functional(made) is call.operator)
            for made, call in zip(self.operators, self.policy.calls, strict=True)
        )
        for place, call in enumerate(self.policy.calls):
            if not call.kept:
                yield call.operator, self.left_out.get(place) if aligned else None


@functools.cache
def _functional(operator: Any) -> Any:
    """The operator as it is traced: one that changes its argument is the one that gives a new result."""
    packet = getattr(torch.ops.aten, operator._opname.removesuffix("_"), None)
    if operator.namespace != "aten" or not operator._opname.endswith("_") or packet is None:
        return operator
    return getattr(packet, operator._overloadname, operator)


def _form_of(result: Any) -> Any:
    """Sizes, strides, type and device of a tensor, or of each of several; nothing where it is anything else."""
    if isinstance(result, (tuple, list)):
        forms = [_form_of(r) for r in result]
        return None if None in forms else type(result)(forms)
    if type(result) is not torch.Tensor:
        return None
    return _Form(tuple(result.shape), result.stride(), result.dtype, result.device)


@dataclass(frozen=True)
class _Form:
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    def empty(self) -> torch.Tensor:
        return torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device=self.device)


class _Again(TorchDispatchMode):
    """Runs a block again within PyTorch's own mode, which calls what is not kept: here nothing is computed that only
    leads to what is kept. Such a result is memory without values."""

    def __init__(self, run: _Run, cached: Any) -> None:
        super().__init__()
        self.run, self.cached = run, cached
        self.calls: Iterator[tuple[Any, Any]] = iter(())

    def __enter__(self) -> _Again:
        self.calls = self.run.made_again()
        super().__enter__()  # below the other one: it is asked for what that one does not have
        self.cached.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self.cached.__exit__(*error)
        finally:
            super().__exit__(*error)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func not in SAC_IGNORED_OPS:
            operator, form = next(self.calls, (None, None))
            if func is operator and form is not None:
                return torch.utils._pytree.tree_map_only(_Form, _Form.empty, form)
        return func(*args, **(kwargs or {}))


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
        for task, node in enumerate(exported.nodes):
            held = self.held_by(node)
            self.made.append([s for s in held if self.maker.setdefault(s, task) == task])
            for producer in node.all_input_nodes:
                read = set(self.held_by(producer))
                if _is_backward(node):
                    self.read_late |= read
                elif blocks[task] >= 0:
                    outside = {s for s in read if blocks[self.maker[s]] != blocks[task]}
                    self.read_by_blocks.setdefault(blocks[task], set()).update(outside)

    def held_by(self, node: torch.fx.Node) -> list[int]:
        """The storages of what a node gives."""
        return [s for _, s in self.exported.outputs[self.exported.task_of[node]]]

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
            with marked({model.get_submodule(name): i for i, name in enumerate(self.names)}, _BLOCK):
                graph = aot_export_joint_with_descriptors(stack, model, tuple(arguments)).graph_module.graph
            self._exported = export_graph(graph, on, "joint", with_phases=True, fused=compiled)
        marks = [mark_of(n, _BLOCK) for n in self._exported.nodes]
        self._of_block = [-1 if m is None else m for m in marks]
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
    nodes = storages.exported.nodes
    calls = [
        task
        for task, node in enumerate(nodes)
        if storages.blocks[task] == number
        and not _is_backward(node)
        and node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and node.target not in SAC_IGNORED_OPS
    ]
    kept = {t for t in calls if storages.made[t] and not again & set(storages.made[t])}
    kept = {t for t in kept if storages.read_late & set(storages.made[t])}
    stays = {s for t in kept for s in storages.made[t]}
    wanted = {s for s in again if s in storages.read_late}
    runs: set[int] = set()
    for task in reversed(calls):
        kind = kind_of(nodes[task].target)
        is_free = bool(storages.made[task]) and kind.what in ("product", "attention", "formula", "plain")
        must = not is_free or kind.is_random or kind.writes or wanted & set(storages.made[task])
        if must and task not in kept:
            runs.add(task)
            if storages.made[task]:
                wanted.update(s for n in nodes[task].all_input_nodes for s in storages.held_by(n))
    made = [
        BlockCall(
            nodes[t].target,
            kept=t in kept,
            again=bool(again & set(storages.made[t])) and t in runs,
            skipped=t not in kept and t not in runs,
        )
        for t in calls
    ]
    return BlockPolicy(name, tuple(made)), stays


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
