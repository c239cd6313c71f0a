"""Where parameters and inputs of a model lie on a mesh: planned by the library, given as DTensor placements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Placement, Replicate, Shard, distribute_tensor

from ._planner import Machine
from .capture import Call, capture_exported, capture_joint
from .computation import Computation, Coverage, Step, computation_of

#: Where the arguments of an operation lie as it takes them, and where its results lie: "S(0)R", "P" for sums to come.
Use = tuple[list[str], list[str]]


@dataclass
class PlacementPlan:
    """A placement per parameter and input, and how good the whole is.

    `parameters` and `inputs` have a placement per mesh dimension, as `distribute_tensor` takes them. Parameters that
    are one tensor under several names have the same.
    """

    mesh: tuple[int, ...]
    parameters: dict[str, tuple[Placement, ...]]
    inputs: dict[str, tuple[Placement, ...]]
    objective_us: float  #: modelled time of computation and communication of one step, one after the other
    lower_bound_us: float  #: no placement takes less
    status: str  #: "optimal" if that is proven
    seconds: float  #: that planning took
    operations: int
    strategies: int
    coverage: Coverage
    operations_of: dict[str, str] = field(default_factory=dict)  #: by parameter: name of its operation
    steps: list[Step] = field(default_factory=list)  #: the operations that were planned, in order
    results: set[int] = field(default_factory=set)  #: numbers of the operations that the model gives
    uses: dict[str, Use] = field(default_factory=dict)  #: by operation, where it was asked for
    calls: dict[str, Call] = field(default_factory=dict)  #: by name of a module: how it was called

    @property
    def gap(self) -> float:
        """How far above the best placement this one can be at most, relative to the bound."""
        return max(0.0, self.objective_us - self.lower_bound_us) / max(self.lower_bound_us, 1e-300)


def placements_of(text: str) -> tuple[Placement, ...]:
    """ "S(0)R" as DTensor has it: a placement per mesh dimension."""
    parts = re.findall(r"S\((\d+)\)|(R)", text)
    if "".join(f"S({d})" if d else r for d, r in parts) != text:
        raise ValueError(f"'{text}' is no placement of a parameter, expected S(d) or R for each mesh dimension")
    return tuple(Shard(int(d)) if d else Replicate() for d, _ in parts)


def shared_parameters(model: nn.Module) -> dict[str, str]:
    """Names of parameters that stand for the tensor of an earlier one, with its name."""
    return first_names(model.named_parameters(remove_duplicate=False))


def first_names(parameters: Iterable[tuple[str, torch.Tensor]]) -> dict[str, str]:
    """Of names and tensors: the names of those that came before under another name, with that one."""
    first: dict[int, str] = {}
    shared: dict[str, str] = {}
    for name, parameter in parameters:
        if id(parameter) in first:
            shared[name] = first[id(parameter)]
        else:
            first[id(parameter)] = name
    return shared


def plan_computation(
    computation: Computation,
    mesh: Sequence[int],
    machine: str | Machine = "h100",
    *,
    inputs: str | None = None,
    share: float | None = 0.0,
    memory: int | None = None,
    seconds: float = 5.0,
    uses: bool = False,
) -> PlacementPlan:
    """The best placement that is found of a computation.

    Args:
        computation: of `computation_of`.
        mesh: sizes of the mesh dimensions; ranks fill one node after the other, the last dimension first.
        machine: prices computation and communication.
        inputs: where inputs lie, such as "S(0)R"; left open where it is not said.
        share: of each parameter that a device may hold; 0 is the least one device can hold, None is no limit.
        memory: bytes that a device may hold at any time, as the library counts them.
        seconds: when to stop at the latest, with the best placement so far; a tenth of a second is always left.
        uses: whether the plan tells of every operation where its arguments and results lie.

    Raises:
        ValueError: nothing keeps what was demanded; mesh, machine or `inputs` are not what they should be.
    """
    on = Machine(machine) if isinstance(machine, str) else machine
    told = computation.builder.place(list(mesh), on, inputs, share, memory, seconds, uses)
    where: dict[str, str] = told["placements"]
    if not where:
        raise ValueError(f"no placement on {'x'.join(map(str, mesh))} keeps what was demanded: {told['status']}")
    return PlacementPlan(
        tuple(mesh),
        {name: placements_of(where[operation]) for name, operation in computation.parameters.items()},
        {name: placements_of(where[operation]) for name, operation in computation.inputs.items()},
        told["objective_us"],
        told["lower_bound_us"],
        told["status"],
        told["seconds"],
        told["operations"],
        told["strategies"],
        computation.coverage,
        dict(computation.parameters),
        computation.steps,
        computation.results,
        told.get("uses", {}),
    )


def plan_placement(
    model: Callable[[], tuple[nn.Module, Sequence[Any]]] | torch.export.ExportedProgram,
    mesh: Sequence[int],
    machine: str | Machine = "h100",
    *,
    inputs: str | None = None,
    share: float | None = 0.0,
    memory: int | None = None,
    seconds: float = 5.0,
    uses: bool = False,
) -> PlacementPlan:
    """Captures a training step, or takes an exported program, and plans its placement.

    Args:
        model: gives a model whose call is its loss, and arguments; it runs under fake tensors, so that neither takes
            memory. Or a program of `torch.export`, which has no backward half.
        mesh: and all others as of `plan_computation`.
    """
    is_exported = isinstance(model, torch.export.ExportedProgram)
    captured = capture_exported(model) if is_exported else capture_joint(model)
    computation = computation_of(captured.graph.graph, shared=captured.shared)
    plan = plan_computation(
        computation, mesh, machine, inputs=inputs, share=share, memory=memory, seconds=seconds, uses=uses
    )
    plan.calls = captured.calls
    return plan


def distribute_parameters(model: nn.Module, mesh: DeviceMesh, plan: PlacementPlan) -> nn.Module:
    """Makes every parameter a DTensor that lies as planned, in place; ranks cut their own piece of what they have.

    Parameters that several modules share stay shared.
    """
    if tuple(mesh.shape) != plan.mesh:
        raise ValueError(f"the plan is for a mesh of {plan.mesh}, found one of {tuple(mesh.shape)}")
    made: dict[int, nn.Parameter] = {}
    for prefix, module in model.named_modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is None:
                continue
            if id(parameter) not in made:
                placements = plan.parameters[f"{prefix}.{name}" if prefix else name]
                kept = distribute_tensor(parameter.data, mesh, placements, src_data_rank=None)
                made[id(parameter)] = nn.Parameter(kept, requires_grad=parameter.requires_grad)
            module._parameters[name] = made[id(parameter)]
    return model


def placement_text(placements: Sequence[Placement]) -> str:
    """The library's word for DTensor placements: "S(0)R"."""
    return "".join(f"S({p.dim})" if isinstance(p, Shard) else "R" for p in placements)


__all__ = [
    "PlacementPlan",
    "distribute_parameters",
    "placement_text",
    "placements_of",
    "plan_computation",
    "plan_placement",
]
