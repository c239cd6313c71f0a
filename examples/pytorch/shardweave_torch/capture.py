"""Forward and backward graphs of a model, captured without devices and without compiling."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch._inductor.decomposition
import torch.distributed as dist
from torch import nn
from torch._functorch.aot_autograd import (
    aot_compile_joint_with_descriptors,
    aot_export_joint_with_descriptors,
    boxed_nop_preserve_node_meta,
)
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import FakeTensorMode


@dataclass
class Captured:
    """The joint graph of a training step, and its two halves as a compiler gets them."""

    fake_mode: FakeTensorMode
    joint: torch.fx.GraphModule
    forward: torch.fx.GraphModule
    backward: torch.fx.GraphModule


def fake_ranks(world: int, rank: int = 0) -> None:
    """Makes this process one rank of a job that does not exist; collectives give anything, and take no time."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)


def capture_training(
    make: Callable[[], tuple[nn.Module, Sequence[Any]]],
    partition: Callable[..., Any] = min_cut_rematerialization_partition,
) -> Captured:
    """The graphs of a training step of a model whose call gives its loss.

    `make` gives model and arguments; it runs under fake tensors, so that neither takes memory.
    """
    halves: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        halves.append(graph)
        return boxed_nop_preserve_node_meta(graph, inputs)

    with FakeTensorMode() as fake_mode, contextlib.ExitStack() as stack:
        model, arguments = make()
        joint = aot_export_joint_with_descriptors(
            stack, model, tuple(arguments), decompositions=torch._inductor.decomposition.select_decomp_table()
        )
        aot_compile_joint_with_descriptors(joint, partition_fn=partition, fw_compiler=keep, bw_compiler=keep)
    return Captured(fake_mode, joint.graph_module, *halves)


#: Nodes of a joint graph are marked with the name of the module with parameters that they were traced of.
MODULE = "shardweave.module"


@dataclass
class CapturedJoint:
    """The graph of a step of a model that is not distributed yet, and which of its parameters are one tensor."""

    fake_mode: FakeTensorMode
    graph: torch.fx.GraphModule
    shared: dict[str, str]  #: by name of a parameter: that of the one whose tensor it is
    calls: dict[str, Call]  #: by name of a module: how it was called


@dataclass(frozen=True)
class Call:
    """How a module is called: how many arguments it has by position, and which of them are results of modules."""

    positions: int
    made_by: dict[int | str, str]  #: by position or keyword: the innermost module that gave this argument


@contextlib.contextmanager
def _calls_of(model: nn.Module) -> Iterator[dict[str, Call]]:
    """Notes who is called with whose results; modules that are called in several ways are left out."""
    calls: dict[str, Call] = {}
    several: set[str] = set()
    makers: dict[int, tuple[str, torch.Tensor]] = {}

    def before(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        given = [*enumerate(arguments), *named.items()]
        call = Call(len(arguments), {k: makers[id(a)][0] for k, a in given if id(a) in makers})
        if calls.setdefault(name, call) != call:
            several.add(name)

    def after(name: str, result: Any) -> None:
        if isinstance(result, torch.Tensor):
            makers.setdefault(id(result), (name, result))

    hooks = []
    for name, module in model.named_modules():
        hooks.append(module.register_forward_pre_hook(lambda _, a, k, name=name: before(name, a, k), with_kwargs=True))
        hooks.append(module.register_forward_hook(lambda _, a, result, name=name: after(name, result)))
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()
        for name in several:
            calls.pop(name)


def _decompositions() -> dict[Any, Any]:
    """Into PyTorch's core operators, but for those of which the library knows the whole."""
    from torch._decomp import core_aten_decompositions, get_decompositions

    aten = torch.ops.aten
    table = dict(core_aten_decompositions())
    table.update(
        get_decompositions(
            [
                aten._native_batch_norm_legit_functional,
                aten.native_batch_norm,
                aten.native_batch_norm_backward,
                aten.cudnn_batch_norm,
                aten.native_group_norm,
                aten.native_group_norm_backward,
                aten.gelu_backward,
                aten.silu_backward,
                aten.silu,
                aten.tanh_backward,
                aten.sigmoid_backward,
                aten.threshold_backward,
                aten.hardtanh_backward,
                aten.hardswish,
                aten.hardswish_backward,
                aten.split_with_sizes_copy,
                aten.slice_backward,
                aten.select_backward,
                aten.value_selecting_reduction_backward,
            ]
        )
    )
    whole = (
        aten.native_layer_norm, aten.native_layer_norm_backward, aten._fused_rms_norm, aten._fused_rms_norm_backward,
        aten._softmax, aten._log_softmax, aten._softmax_backward_data, aten._log_softmax_backward_data,
        aten.embedding, aten.embedding_dense_backward, aten.nll_loss_forward, aten.nll_loss_backward, aten.addmm,
        aten._scaled_dot_product_flash_attention_for_cpu, aten.native_dropout, aten.native_dropout_backward,
        aten.var_mean, aten.split, aten.split_with_sizes, aten.stack,
        aten.unbind, aten._unsafe_index_put, aten.max_pool2d_with_indices_backward,
    )  # fmt: skip
    for packet in whole:
        for overload in packet.overloads():
            table.pop(getattr(packet, overload), None)
    return table


@contextlib.contextmanager
def _without_initialization() -> Iterator[None]:
    """Fake parameters have no values, and some initializations ask for them."""

    def leave(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        return tensor

    kept = {n: f for n, f in vars(nn.init).items() if n.endswith("_") and not n.startswith("_") and callable(f)}
    try:
        for name in kept:
            setattr(nn.init, name, leave)
        yield
    finally:
        for name, function in kept.items():
            setattr(nn.init, name, function)


@contextlib.contextmanager
def marked(modules: Mapping[nn.Module, Any], key: str) -> Iterator[None]:
    """Nodes that are traced of a module, and of its backward part, carry its mark: `mark_of(node, key)`.

    What several modules trace, one within the other, carries the mark of the innermost.
    """

    def carrying(forward: Callable[..., Any], mark: Any) -> Callable[..., Any]:
        @functools.wraps(forward)
        def call(*args: Any, **kwargs: Any) -> Any:
            with torch.fx.traceback.annotate({key: mark}):
                return forward(*args, **kwargs)

        return call

    try:
        for module, mark in modules.items():
            module.forward = carrying(module.forward, mark)
        with torch.fx.traceback.preserve_node_meta():
            yield
    finally:
        for module in modules:
            module.__dict__.pop("forward", None)


def mark_of(node: torch.fx.Node, key: str) -> Any:
    """The mark of the module that a node was traced of; nothing outside all of them."""
    return node.meta.get("custom", {}).get(key)


@contextlib.contextmanager
def _as_if_exported() -> Iterator[None]:
    """Models that look at values where they may skip work do not, as under `torch.export`."""
    flag = "_is_exporting_flag"
    before = getattr(torch.compiler, flag, None)
    compiling = getattr(torch.compiler, "_is_compiling_flag", None)
    try:
        if before is not None:
            setattr(torch.compiler, flag, True)
            torch.compiler._is_compiling_flag = True
        yield
    finally:
        if before is not None:
            setattr(torch.compiler, flag, before)
            torch.compiler._is_compiling_flag = compiling


def capture_joint(make: Callable[[], tuple[nn.Module, Sequence[Any]]]) -> CapturedJoint:
    """The joint graph of a training step of a model whose call gives its loss, in operators that placement knows.

    `make` gives model and arguments; it runs under fake tensors, so that neither takes memory.
    """
    from .placement import shared_parameters

    with FakeTensorMode() as fake_mode, contextlib.ExitStack() as stack:
        with _without_initialization():
            model, arguments = make()
        owners = {m: name for name, m in model.named_modules() if m._parameters}
        with _as_if_exported(), marked(owners, MODULE), _calls_of(model) as calls:
            joint = aot_export_joint_with_descriptors(stack, model, tuple(arguments), decompositions=_decompositions())
        return CapturedJoint(fake_mode, joint.graph_module, shared_parameters(model), calls)


def capture_exported(program: torch.export.ExportedProgram) -> CapturedJoint:
    """The graph of an exported program, which has no backward half, in operators that placement knows.

    Its inputs, outputs and modules are described as AOTAutograd describes those of a joint graph.
    """
    from torch._functorch._aot_autograd import descriptors
    from torch.export.graph_signature import InputKind, OutputKind

    from .placement import first_names

    lowered = program.run_decompositions(_decompositions())
    signature, graph = lowered.graph_signature, lowered.graph_module
    owners = {name.rpartition(".")[0] for name in signature.parameters}
    given = 0
    for node, spec in zip(graph.graph.find_nodes(op="placeholder"), signature.input_specs, strict=True):
        if spec.kind == InputKind.PARAMETER:
            node.meta["desc"] = descriptors.ParamAOTInput(spec.target)
        elif spec.kind == InputKind.USER_INPUT:
            node.meta["desc"] = descriptors.PlainAOTInput(given)
            given += 1
        else:
            node.meta["desc"] = descriptors.BufferAOTInput(spec.target or node.name)
    graph.graph.output_node().meta["desc"] = [
        descriptors.PlainAOTOutput(i)
        if spec.kind == OutputKind.USER_OUTPUT
        else descriptors.InputMutationAOTOutput(descriptors.BufferAOTInput(spec.target or spec.arg.name))
        for i, spec in enumerate(signature.output_specs)
    ]
    for node in graph.graph.nodes:
        around = [name for name, _ in node.meta.get("nn_module_stack", {}).values()]
        owner = next((name for name in reversed(around) if name in owners), "")
        node.meta["custom"] = {**node.meta.get("custom", {}), MODULE: owner}
    value = next(n.meta["val"] for n in graph.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor))
    parameters = [(name, lowered.state_dict[name]) for name in signature.parameters]
    return CapturedJoint(value.fake_mode, graph, first_names(parameters), {})


def regathering(graph: torch.fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
    """Splits a joint graph so that the backward half gathers parameters again and keeps none whole (ZeRO-3)."""
    from torch.utils.checkpoint import CheckpointPolicy

    gather = torch.ops._c10d_functional.all_gather_into_tensor.default
    for node in graph.graph.find_nodes(op="call_function", target=gather):
        if node.meta.get("partitioner_tag") == "is_backward":
            continue
        for part in (node, *node.users, node.args[0]):
            if part.op == "call_function":
                part.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
                part.meta["ac_graph_id"] = 0
    return min_cut_rematerialization_partition(graph, *args, **kwargs)


def on_accelerator(graph: torch.fx.GraphModule, fake_mode: FakeTensorMode) -> torch.fx.GraphModule:
    """A captured graph as if it had been captured on an accelerator: tensors and device arguments, in place.

    Tensors that share memory keep doing so. PyTorch's own passes count memory of accelerators alone.
    """
    device = torch.device("cuda:0")
    memory: dict[int, tuple[torch.Tensor, torch.UntypedStorage]] = {}

    def moved(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        storage = value.untyped_storage()
        with fake_mode, torch.no_grad():
            if storage._cdata not in memory:
                memory[storage._cdata] = (torch.empty(storage.nbytes(), dtype=torch.uint8, device=device), storage)
            base = memory[storage._cdata][0].untyped_storage()
            return torch.empty(0, dtype=value.dtype, device=device).set_(
                base, value.storage_offset(), value.shape, value.stride()
            )

    def placed(argument: Any) -> Any:
        return device if isinstance(argument, torch.device) and argument.type == "cpu" else argument

    for node in graph.graph.nodes:
        if "val" in node.meta:
            node.meta["val"] = torch.utils._pytree.tree_map(moved, node.meta["val"])
        node.args = torch.fx.node.map_aggregate(node.args, placed)
        node.kwargs = torch.fx.node.map_aggregate(node.kwargs, placed)
    return graph
