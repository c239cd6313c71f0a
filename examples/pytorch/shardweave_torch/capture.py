"""Forward and backward graphs of a model, captured without devices and without compiling."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
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


def regathering(graph: torch.fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
    """Splits a joint graph so that the backward half gathers parameters again instead of keeping them whole (ZeRO-3)."""
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
