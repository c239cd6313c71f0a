"""A planned placement as arguments of `parallelize_module` and `fully_shard`, as far as these can express it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from .memory import repeated_blocks
from .placement import PlacementPlan
from .sequence import BetweenProducts, Sequences

#: Operations that hand a parameter on to the product that uses it.
_HANDED_ON = {"cast", "conv", "permute", "view"}

#: By what a module is, and the dimension of its weight that is cut: the style.
_STYLES: dict[tuple[type[nn.Module], int], type[ParallelStyle]] = {
    (nn.Linear, 0): ColwiseParallel,
    (nn.Linear, 1): RowwiseParallel,
    (nn.Embedding, 0): RowwiseParallel,
    (nn.Embedding, 1): ColwiseParallel,
}
_PRODUCTS = (nn.Linear, nn.Embedding)

#: Mesh dimensions side by side, which are cut as one.
Along = tuple[int, ...]


@dataclass
class Parallelization:
    """What two functions of PyTorch's need to do what was planned. Numbers of dimensions are those of the mesh.

    `parallelize_module` cuts products along `tensor`, several as one. Along the others every rank has samples of its
    own, and `fully_shard` cuts parameters along `sharded` and keeps them whole along `replicated`.
    """

    mesh: tuple[int, ...]
    tensor: Along = ()
    sharded: tuple[int, ...] = ()
    replicated: tuple[int, ...] = ()
    styles: dict[str, ParallelStyle] = field(default_factory=dict)  #: by name of a module
    cuts: dict[str, int] = field(default_factory=dict)  #: by name of a parameter: the dimension that is cut
    left_out: list[str] = field(default_factory=list)  #: what these functions cannot do, and what is done instead

    def data_mesh(self, mesh: DeviceMesh) -> DeviceMesh | None:
        """The mesh of `fully_shard`: shards, or replicas and shards; nothing where all ranks have the same samples."""
        names = _names(mesh)
        if self.replicated:
            return mesh[names[self.replicated[0]], names[self.sharded[0]]]
        return _as_one(mesh, self.sharded)

    def tensor_mesh(self, mesh: DeviceMesh) -> DeviceMesh | None:
        """The mesh of `parallelize_module`; nothing where no product is cut."""
        return _as_one(mesh, self.tensor)

    def shard_placement(self, model: nn.Module) -> dict[nn.Parameter, Shard]:
        """How `fully_shard` cuts each parameter: `shard_placement_fn` is its `get`."""
        return {p: Shard(self.cuts[n]) for n, p in model.named_parameters() if n in self.cuts}

    def apply(self, model: nn.Module, mesh: DeviceMesh, units: Sequence[str] | None = None) -> nn.Module:
        """Parallelizes a model in place, which every rank has with equal values; parameters become DTensors.

        `units` are the modules that are gathered each at once, in the order of their use (default: the blocks).
        """
        if tuple(mesh.shape) != self.mesh:
            raise ValueError(f"the plan is for a mesh of {self.mesh}, found one of {tuple(mesh.shape)}")
        data, tensor = self.data_mesh(mesh), self.tensor_mesh(mesh)
        names = repeated_blocks(model) if units is None else units
        if tensor is not None:
            parallelize_module(model, tensor, self.styles, src_data_rank=None)
        if data is not None:
            placement = self.shard_placement(model)
            for name in (*names, ""):
                fully_shard(model.get_submodule(name), mesh=data, shard_placement_fn=placement.get)
        return model


def parallelization(model: nn.Module, plan: PlacementPlan) -> Parallelization:
    """What `parallelize_module` and `fully_shard` can do of a plan that was made with `uses=True`.

    `model` is the planned one; its values do not matter (it may lie on the meta device). `left_out` names what is done
    otherwise than planned: the numbers that a program gives are the same, its time and memory are not.
    """
    if not plan.uses:
        raise ValueError("the plan does not tell how parameters are used: make it with uses=True")
    return _Parallelizer(model, plan).run()


@dataclass(frozen=True)
class _Use:
    """A product that takes a weight: its number, which argument, and whether that is the weight transposed."""

    step: int
    place: int
    is_turned: bool


class _Parallelizer:
    def __init__(self, model: nn.Module, plan: PlacementPlan) -> None:
        self.model, self.plan, self.steps = model, plan, plan.steps
        self.made = Parallelization(plan.mesh)
        self.consumers: list[list[tuple[int, int]]] = [[] for _ in self.steps]
        for number, step in enumerate(self.steps):
            for place, source in enumerate(step.inputs):
                if not step.backward:
                    self.consumers[source].append((number, place))
        number_of = {s.name: i for i, s in enumerate(self.steps)}
        self.owner = {number_of[o]: n.rpartition(".")[0] for n, o in plan.operations_of.items()}
        self.uses = {n: self._used_by(number_of[o]) for n, o in plan.operations_of.items()}
        self.names = Counter(plan.operations_of.values())

    def _used_by(self, parameter: int) -> list[_Use]:
        found, waiting = [], [(parameter, False)]
        while waiting:
            at, turned = waiting.pop()
            for step, place in self.consumers[at]:
                op = self.steps[step].op
                if op in _HANDED_ON:
                    waiting.append((step, turned != (op == "permute")))
                else:
                    found.append(_Use(step, place, turned))
        return found

    def _argument(self, step: int, place: int, along: Along) -> int | None:
        """The dimension in which an argument is cut along mesh dimensions as it is taken; nothing if it is whole."""
        return _dimension(self.plan.uses[self.steps[step].name][0][place], along)

    def _result(self, step: int, along: Along) -> int | None:
        return _dimension(self.plan.uses[self.steps[step].name][1][0], along)

    def _stored(self, parameter: str, along: Along) -> int | None:
        found = {self.plan.parameters[parameter][d] for d in along}
        placement = found.pop()
        return placement.dim if not found and isinstance(placement, Shard) else None

    def run(self) -> Parallelization:
        """Cuts products along the mesh dimensions, side by side, along which most of their elements are cut alike.

        Several are those along which all have the same samples.
        """
        count = len(self.plan.mesh)
        cut = {(d,): self._weights_cut((d,)) for d in range(count)}
        on_samples = [self._elements(self._on_samples(d)) for d in range(count)]
        of_samples = {d for d in range(count) for placed in self.plan.inputs.values() if placed[d] == Shard(0)}
        runs = [tuple(range(a, b)) for a in range(count) for b in range(a + 1, count + 1)]
        runs = [along for along in runs if len(along) == 1 or of_samples.isdisjoint(along)]
        size = {}
        for along in runs:
            alike = {m: c for m, c in cut[along[:1]].items() if all(cut[d,].get(m) == c for d in along)}
            size[along] = len(along) * self._elements(alike) - sum(on_samples[d] for d in along)
            cut.setdefault(along, alike)
        best = max(runs, key=lambda along: size[along])
        if size[best] > 0:
            self.made.tensor = best
            self._style(cut[best], best)
        unlike = {m for d in self.made.tensor for m in cut[d,]} - cut[best].keys()
        if unlike:
            self._leave(
                f"products of {', '.join(sorted(unlike))} are not cut alike along {_said(best)}: they are used whole"
            )
        for d in range(count):
            if d not in self.made.tensor and cut[d,]:
                self._leave(
                    f"products of {', '.join(sorted(cut[d,]))} are cut along mesh dimension {d}: here only samples"
                )
        self._data()
        return self.made

    def _elements(self, modules: Iterable[str]) -> int:
        return sum(self.model.get_submodule(m).weight.numel() for m in modules)

    def _on_samples(self, dimension: int) -> set[str]:
        """Products that work on samples of their own along a mesh dimension."""

        def is_on_samples(use: _Use) -> bool:
            along = (dimension,)
            return self._weight_dimension(use, along) is None and self._result(use.step, along) == 0

        of_weights = {n.removesuffix(".weight"): uses for n, uses in self.uses.items() if n.endswith(".weight")}
        products = {m: u for m, u in of_weights.items() if isinstance(self.model.get_submodule(m), _PRODUCTS)}
        return {m for m, uses in products.items() if all(map(is_on_samples, uses))}

    def _leave(self, what: str) -> None:
        self.made.left_out.append(what)

    def _weights_cut(self, along: Along) -> dict[str, int]:
        """By module: the dimension of its weight that is cut along mesh dimensions while it is used."""
        found: dict[str, int] = {}
        for name, uses in self.uses.items():
            cuts = {self._weight_dimension(u, along) for u in uses}
            if cuts <= {None}:
                continue
            module, _, what = name.rpartition(".")
            kind = next((k for k, _ in _STYLES if isinstance(self.model.get_submodule(module), k)), None)
            if what == "bias" and kind is nn.Linear:
                continue  # goes with its weight
            if what != "weight" or kind is None or len(cuts) > 1:
                self._leave(f"{name} is used cut along {_said(along)}: no style does that, it is used whole")
            elif self.names[self.plan.operations_of[name]] > 1:
                self._leave(f"{name} is shared, and used cut along {_said(along)}: it is used whole")
            else:
                found[module] = cuts.pop()
        return found

    def _weight_dimension(self, use: _Use, along: Along) -> int | None:
        dimension = self._argument(use.step, use.place, along)
        return dimension if dimension is None or not use.is_turned else 1 - dimension

    def _style(self, cut: dict[str, int], along: Along) -> None:
        """A style per product. A result stays cut where the plan leads it so to products that are cut by rows."""
        kinds = {m: _STYLES[self._kind(m), d] for m, d in cut.items()}
        step_of = {m: self.uses[f"{m}.weight"][0].step for m in cut}
        ends = {step_of[m] for m, style in kinds.items() if style is RowwiseParallel and self._kind(m) is nn.Linear}
        begins = {step_of[m] for m, style in kinds.items() if style is ColwiseParallel and self._kind(m) is nn.Linear}
        regions = {b: self._region(b, ends, along) for b in begins}
        while True:  # what is taken cut must come from where it is cut: whole tensors would be too large there
            within = set().union(*(r for r in regions.values() if r is not None))
            broken = [b for b, r in regions.items() if r is not None and not self._is_closed(r - {b}, within, along)]
            if not broken:
                break
            regions.update(dict.fromkeys(broken))
        stay = {m for m in cut if regions.get(step_of[m]) is not None}
        come = {m for m in cut if step_of[m] in ends and self.steps[step_of[m]].inputs[0] in within}
        between = self._between(cut, within, stay, come, along)
        for module in dict.fromkeys((*kinds, *sorted({*between.arrives, *between.leaves}))):
            taken = _layout(-1 if module in come else between.arrives.get(module))
            given = _layout(-1 if module in stay else between.leaves.get(module))
            if module in kinds:
                self.made.styles[module] = kinds[module](input_layouts=taken, output_layouts=given)
            else:  # used whole
                self.made.styles[module] = PrepareModuleInputOutput(
                    input_layouts=taken, desired_input_layouts=Replicate(), use_local_input=True,
                    output_layouts=Replicate(), desired_output_layouts=given,
                )  # fmt: skip
        for module, gathered in between.gates.items():
            self.made.styles[module] = self._gathering(module, gathered)
        for module, dimension in between.works.items():
            self.made.styles[module] = SequenceParallel(sequence_dim=dimension, use_local_output=True)
        if between.missed:
            some = ", ".join(self.steps[i].name for i in between.missed[:3])
            count = len(between.missed)
            self._leave(f"{count} results lie cut along {_said(along)} ({some}, ...): they are whole")
        for module in cut:
            if self._stored(f"{module}.weight", along) != cut[module]:
                self._leave(f"{module}.weight is stored along {_said(along)} otherwise than used: as used")
        for name in self.plan.parameters:
            stored = tuple(d for d in along if self._stored(name, (d,)) is not None)
            if name.rpartition(".")[0] not in cut and stored:
                self._leave(f"{name} is stored cut along {_said(stored)} and used whole: it is stored whole")

    def _between(
        self, cut: dict[str, int], within: set[int], stay: set[str], come: set[str], along: Along
    ) -> BetweenProducts:
        """What lies in pieces outside the regions from products that are cut by columns to those cut by rows."""
        alone = {n for n, m in self.model.named_modules() if m._parameters and not any(m.children())}
        alone -= {n.rpartition(".")[0] for n, o in self.plan.operations_of.items() if self.names[o] > 1}
        products = {n for n in alone if isinstance(self.model.get_submodule(n), _PRODUCTS)}
        others = math.prod(e for d, e in enumerate(self.plan.mesh) if d not in along)
        pieces = math.prod(self.plan.mesh[d] for d in along)
        return Sequences(
            self.steps,
            self.plan.results,
            lambda step, place: self._argument(step, place, along),
            lambda step: self._result(step, along),
            lambda dimension: pieces * (others if dimension == 0 else 1),
            products - stay,
            products - come,
            alone - set(cut),
            self.owner,
            self.plan.calls,
            within,
        ).run()

    def _gathering(self, module: str, gathered: dict[int | str, int]) -> PrepareModuleInput:
        """Makes whole what a module is called with in pieces; by position or keyword, the dimension that is cut."""
        by_place = [gathered.get(place) for place in range(self.plan.calls[module].positions)]
        named = {k: d for k, d in gathered.items() if isinstance(k, str)}
        return PrepareModuleInput(
            input_layouts=tuple(None if d is None else Shard(d) for d in by_place) or None,
            desired_input_layouts=tuple(None if d is None else Replicate() for d in by_place) or None,
            input_kwarg_layouts={k: Shard(d) for k, d in named.items()} or None,
            desired_input_kwarg_layouts={k: Replicate() for k in named} or None,
        )

    def _kind(self, module: str) -> type[nn.Module]:
        return nn.Linear if isinstance(self.model.get_submodule(module), nn.Linear) else nn.Embedding

    def _region(self, begin: int, ends: set[int], along: Along) -> set[int] | None:
        """All that is made of a product's result up to the next products; nothing if it is whole on the way."""
        found, waiting, arrives = {begin}, [begin], False
        while waiting:
            at = waiting.pop()
            if self._result(at, along) is None:
                return None
            for step, place in self.consumers[at]:
                if self._argument(step, place, along) is None:
                    return None
                arrives = arrives or step in ends
                if step not in ends and step not in found:
                    found.add(step)
                    waiting.append(step)
        return found if arrives else None

    def _is_closed(self, region: set[int], within: set[int], along: Along) -> bool:
        return all(
            source in within or self._is_parameter_of(source, self.steps[step].module)
            for step in region
            for place, source in enumerate(self.steps[step].inputs)
            if self._argument(step, place, along) is not None
        )

    def _is_parameter_of(self, step: int, module: str) -> bool:
        """Whether a value is a parameter of a module, as it is or handed on."""
        while self.steps[step].op in _HANDED_ON:
            step = self.steps[step].inputs[0]
        return module != "" and self.owner.get(step) == module

    def _data(self) -> None:
        """Along all other dimensions samples are cut, and parameters as most of their elements are."""
        rest = [d for d in range(len(self.plan.mesh)) if d not in self.made.tensor and self.plan.mesh[d] > 1]
        cut_elements, elements = Counter(), 0
        sizes = {n: p.numel() for n, p in self.model.named_parameters()}
        for name, size in sizes.items():
            elements += size
            cut_elements.update({d: size for d in rest if self._stored(name, (d,)) is not None})
        sharded = [d for d in rest if 2 * cut_elements[d] > elements]
        replicated = [d for d in rest if d not in sharded]
        if replicated and (not sharded or len(rest) > 2):
            self._leave(f"parameters are stored whole along mesh dimensions {replicated}: they are cut")
            sharded, replicated = rest, []
        self.made.sharded, self.made.replicated = tuple(sharded), tuple(replicated)
        for key, placements in self.plan.inputs.items():
            for d in rest:
                if key.startswith("input") and placements[d] != Shard(0):
                    self._leave(f"{key} lies as {placements[d]} along mesh dimension {d}: samples are cut")
        for name in sizes:
            stored = {self._stored(name, (d,)) for d in sharded}
            dimension = min((d for d in stored if d is not None), default=0)
            if sharded and stored != {dimension}:
                self._leave(f"{name} is stored {self._text(name)}: it is cut by dimension {dimension} alone")
            if any(self._stored(name, (d,)) is not None for d in replicated):
                self._leave(f"{name} is stored {self._text(name)}: it is whole along mesh dimensions {replicated}")
            if dimension:
                self.made.cuts[name] = dimension

    def _text(self, name: str) -> str:
        return ", ".join(str(p) for p in self.plan.parameters[name])


def _layout(dimension: int | None) -> Replicate | Shard:
    return Replicate() if dimension is None else Shard(dimension)


def _dimension(text: str, along: Along) -> int | None:
    """Of "S(0)RP": the tensor's dimension that is cut along all of the mesh dimensions."""
    parts = re.findall(r"S\(\d+\)|R|P(?:\(\w+\))?", text)
    found = {parts[d] for d in along}
    part = found.pop()
    return int(part[2:-1]) if not found and part[0] == "S" else None


def _said(along: Along) -> str:
    return f"mesh dimension{'s' * (len(along) > 1)} {' and '.join(map(str, along))}"


def _names(mesh: DeviceMesh) -> tuple[str, ...]:
    if mesh.mesh_dim_names is None:
        raise ValueError("the dimensions of the mesh have no names (mesh_dim_names of init_device_mesh)")
    return mesh.mesh_dim_names


def _as_one(mesh: DeviceMesh, along: Along) -> DeviceMesh | None:
    """Dimensions of a mesh as one."""
    chosen = tuple(_names(mesh)[d] for d in along)
    if len(chosen) > 1:
        return mesh[chosen]._flatten("_".join(chosen))
    return mesh[chosen[0]] if chosen else None
