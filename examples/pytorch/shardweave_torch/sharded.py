"""Fully sharded parameters whose collectives a compiler sees."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

_c10d = torch.ops._c10d_functional
_GATHER = {
    _c10d.all_gather_into_tensor.default,
    _c10d.wait_tensor.default,
    torch.ops.aten._to_copy.default,
    torch.ops.prims.convert_element_type.default,
}


def _regather(_context: object, operator: object, *_args: object, **_kwargs: object) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_RECOMPUTE if operator in _GATHER else CheckpointPolicy.MUST_SAVE


class _Sharded:
    """Gives a module's parameters whole whenever they are read."""

    def __init__(self, name: str, dtype: torch.dtype | None, regather: bool) -> None:
        self.name, self.dtype, self.regather = name, dtype, regather

    def whole(self, parameter: torch.Tensor) -> torch.Tensor:
        if not isinstance(parameter, DTensor):
            return parameter
        backward = torch.float32 if self.dtype is not None else None
        gathered = parameter.redistribute(placements=[Replicate()], forward_dtype=self.dtype, backward_dtype=backward)
        return gathered.to_local(grad_placements=[Partial("avg")])

    def __call__(self, module: nn.Module) -> torch.Tensor:
        parameter = module._parameters[self.name]
        if not self.regather:
            return self.whole(parameter)
        contexts = partial(create_selective_checkpoint_contexts, _regather)
        return checkpoint(self.whole, parameter, use_reentrant=False, context_fn=contexts)


@cache
def _sharded_class(kind: type[nn.Module], names: tuple[str, ...], dtype: torch.dtype | None, regather: bool) -> type:
    """One class for all modules that are alike, so that what is compiled of one serves the others."""
    reads = {n: property(_Sharded(n, dtype, regather)) for n in names}
    return type("Sharded" + kind.__name__, (kind,), reads)


def shard_parameters(
    model: nn.Module,
    mesh: DeviceMesh,
    dtype: torch.dtype | None = None,
    regather: bool = False,
    ignored: Iterable[nn.Parameter] = (),
) -> nn.Module:
    """Shards every parameter over a mesh of one dimension; each use gathers it, each gradient is scattered.

    What `fully_shard` does in hooks, which compilers do not see, stands here in the graph: an all-gather per parameter
    and use, a reduce-scatter (average) per gradient. So `OverlapPass` can move it. Parameters that several modules
    share stay shared. The model is changed in place and returned.

    Args:
        model: its parameters are sharded along their first dimension.
        mesh: the ranks among which they are.
        dtype: in which parameters are gathered and used; gradients are reduced in float32 then.
        regather: gather again for the backward pass instead of keeping whole parameters (ZeRO-3).
        ignored: parameters that stay as they are, such as those of experts that lie on one rank.

    Raises:
        ValueError: the mesh has several dimensions.
    """
    if mesh.ndim != 1:
        raise ValueError(f"the mesh has {mesh.ndim} dimensions, expected one: take a dimension of it (mesh['dp'])")
    sharded: dict[int, nn.Parameter] = {id(p): p for p in ignored}
    for module in list(model.modules()):
        names = [n for n, p in module._parameters.items() if p is not None]
        names = [n for n in names if sharded.get(id(module._parameters[n])) is not module._parameters[n]]
        for name in names:
            whole = module._parameters[name]
            if id(whole) not in sharded:
                kept = distribute_tensor(whole.data, mesh, [Shard(0)], src_data_rank=None)
                sharded[id(whole)] = nn.Parameter(kept, requires_grad=whole.requires_grad)
            module._parameters[name] = sharded[id(whole)]
        if names:
            module.__class__ = _sharded_class(type(module), tuple(names), dtype, regather)
    return model
