"""A traced training step as a computation whose placement the library plans."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._functorch._aot_autograd.descriptors import (
    BufferAOTInput,
    GradAOTOutput,
    InputMutationAOTOutput,
    ParamAOTInput,
    PlainAOTInput,
    TangentAOTInput,
)
from torch.fx import Graph, Node

from ._operators import flops_of, kind_of, shape_of
from ._planner import ComputationBuilder
from .capture import MODULE, mark_of

aten = torch.ops.aten
prims = torch.ops.prims

_TYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.complex64: "c64",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.uint8: "u8",
    torch.int8: "u8",
    torch.int16: "f16",
    torch.bool: "bool",
    torch.float8_e4m3fn: "f8e4m3",
    torch.float8_e5m2: "f8e5m2",
}

#: Sizes, element type, whether contiguous: what the library knows of a tensor.
Stated = tuple[list[int], str, bool]


def stated(value: torch.Tensor) -> Stated:
    """A tensor as the library takes it."""
    if value.dtype not in _TYPES:
        raise ValueError(f"no element type of the library is like {value.dtype}")
    return shape_of(value), _TYPES[value.dtype], value.is_contiguous()


@dataclass
class Coverage:
    """How much of a computation has rules of its own; the rest is planned whole, replicated on every device."""

    flops: float = 0.0
    flops_without_rule: float = 0.0
    operations: int = 0
    without_rule: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """The share of floating-point operations under rules of their own."""
        return 1.0 if self.flops == 0 else 1 - self.flops_without_rule / self.flops


@dataclass(frozen=True)
class Step:
    """One operation as the library has it, by its name; `inputs` are numbers of operations.

    `module` is the innermost module with parameters that it was traced of, `sizes` are those of its first result.
    """

    name: str
    op: str
    inputs: tuple[int, ...]
    backward: bool
    module: str
    sizes: tuple[int, ...]


@dataclass
class Computation:
    """What the library plans, and which of its operations are parameters and inputs of the model."""

    builder: ComputationBuilder
    parameters: dict[str, str]  #: by name in the model: name of the operation
    inputs: dict[str, str]  #: by place among the inputs, or name of a buffer
    coverage: Coverage
    shapes: dict[str, list[int]]  #: of parameters
    steps: list[Step]  #: all operations, in order
    results: set[int] = field(default_factory=set)  #: numbers of those that the model gives: its loss, and gradients


def _bare(descriptor: Any) -> Any:
    while hasattr(descriptor, "base") and not isinstance(descriptor, ParamAOTInput):
        descriptor = descriptor.base
    return descriptor


class _Converter:
    """Walks a joint graph; each node becomes one operation, or a few.

    `values` has, by node, the number of the operation that gives it, or a list of them for a tuple.
    """

    def __init__(self, graph: Graph, name: str, shared: dict[str, str]) -> None:
        self.graph = graph
        self.builder = ComputationBuilder(name)
        self.shared = shared
        self.values: dict[Node, Any] = {}
        self.tensors: list[list[Stated]] = []  # by operation: what it gives
        self.steps: list[Step] = []
        self.results: set[int] = set()
        self.names: Counter[str] = Counter()
        self.coverage = Coverage()
        self.parameters: dict[str, str] = {}
        self.inputs: dict[str, str] = {}
        self.shapes: dict[str, list[int]] = {}
        self.numbers: dict[str, int] = {}
        self.backward = False
        self.name, self.module = "", ""

    def add(self, op: str, inputs: Sequence[int], outputs: Sequence[Stated], *, role: str = "none", equation: str = "",
            dims: Sequence[int] = (), index: int = 0, keep: bool = False, scalar: float = 0.0, name: str = "",
            group: str = "") -> int:  # fmt: skip
        """Adds an operation; names are made unique."""
        name = name or self.name
        self.names[name] += 1
        unique = name if self.names[name] == 1 else f"{name}.{self.names[name]}"
        self.tensors.append(list(outputs))
        sizes = tuple(outputs[0][0]) if outputs else ()
        self.steps.append(Step(unique, op, tuple(inputs), self.backward, self.module, sizes))
        self.coverage.operations += 1
        return self.builder.add(unique, op, role, self.backward, list(inputs), list(outputs), equation, list(dims),
                                index, keep, scalar, group)  # fmt: skip

    def one(self, op: str, inputs: Sequence[int], like: Stated, **settings: Any) -> int:
        """An operation with one result."""
        return self.add(op, inputs, [like], **settings)

    def parts(self, number: int) -> list[int]:
        """The elements of an operation that gives a tuple."""
        return [self.add("getitem", [number], [t], index=i) for i, t in enumerate(self.tensors[number])]

    def view(self, number: int, shape: Sequence[int]) -> int:
        """The same elements in another shape; nothing where the shape is the same."""
        sizes, kind, contiguous = self.tensors[number][0]
        return number if list(shape) == sizes else self.one("view", [number], (list(shape), kind, contiguous))

    def constant(self, like: Stated) -> int:
        """A value that does not depend on the model."""
        return self.one("constant", [], like, role="constant")

    # --- the walk -----------------------------------------------------------------------------------------------
    def run(self) -> Computation:
        descriptors = self.graph.output_node().meta.get("desc")
        for node in self.graph.nodes:
            self.name, self.module = node.name, mark_of(node, MODULE) or ""
            self.backward = node.meta.get("partitioner_tag") == "is_backward"
            if node.op == "placeholder":
                self._placeholder(node)
            elif node.op == "get_attr":
                if isinstance(node.meta.get("val"), torch.Tensor):
                    self.values[node] = self.constant(stated(node.meta["val"]))
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                self._output(node, descriptors)
        return Computation(self.builder, self.parameters, self.inputs, self.coverage, self.shapes, self.steps,
                           self.results)  # fmt: skip

    def _placeholder(self, node: Node) -> None:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return
        what = _bare(node.meta.get("desc"))
        self.backward = isinstance(what, TangentAOTInput)
        if isinstance(what, ParamAOTInput):
            target = self.shared.get(what.target, what.target)
            if target not in self.numbers:
                self.shapes[target] = shape_of(value)
                self.numbers[target] = self.one("parameter", [], stated(value), role="parameter", name=target)
            self.parameters[what.target] = target
            self.values[node] = self.numbers[target]
        elif isinstance(what, TangentAOTInput):
            self.values[node] = self.one("tangent", [], stated(value), role="tangent")
        else:
            key = what.target if isinstance(what, BufferAOTInput) else node.name
            if isinstance(what, PlainAOTInput):
                key = f"input{what.idx}"
            role = "constant" if isinstance(what, BufferAOTInput) else "input"
            self.inputs[key] = key
            self.values[node] = self.one(role, [], stated(value), role=role, name=key)

    def _output(self, node: Node, descriptors: Sequence[Any] | None) -> None:
        gradients: dict[str, list[int]] = {}
        self.backward = True
        for value, descriptor in zip(node.args[0], descriptors or [None] * len(node.args[0]), strict=True):
            if not isinstance(value, Node) or not isinstance(self.values.get(value), int):
                continue
            number = self.values[value]
            what = descriptor
            while what is not None and hasattr(what, "base"):
                what = what.base
            if isinstance(what, InputMutationAOTOutput):
                continue
            if isinstance(what, GradAOTOutput):
                of = _bare(what.grad_of)
                if isinstance(of, ParamAOTInput):
                    gradients.setdefault(self.shared.get(of.target, of.target), []).append(number)
            else:
                self._result(number)
        for target, found in gradients.items():  # a parameter that stands in several places has one gradient
            total = found[0]
            for other in found[1:]:
                total = self.one("add", [total, other], self.tensors[total][0], name=f"{target}.gradient")
            if self.tensors[total][0][0] == self.shapes[target] and total != self.numbers[target]:
                self.builder.gradient(self.numbers[target], total)
            self._result(total)

    def _result(self, number: int) -> None:
        self.builder.result(number)
        self.results.add(number)

    def number(self, argument: Any) -> int:
        """The operation that gives an argument."""
        found = self.values.get(argument) if isinstance(argument, Node) else None
        if not isinstance(found, int):
            raise LookupError(f"{argument} is not a tensor that is known")
        return found

    def _call(self, node: Node) -> None:
        value = node.meta.get("val")
        if node.target is operator.getitem:
            whole = self.values.get(node.args[0])
            if isinstance(whole, list):
                self.values[node] = whole[node.args[1]]
            return
        if not isinstance(value, (torch.Tensor, tuple, list)):
            return  # a number
        flops = self._flops(node)
        self.coverage.flops += flops
        rule = _RULES.get(node.target) or _RULES.get(getattr(node.target, "overloadpacket", None))
        if rule is None and (is_pointwise(node.target) and isinstance(value, torch.Tensor)):
            rule = _pointwise
        found = None
        if rule is not None:
            try:
                found = rule(self, node)
            except (LookupError, ValueError, NotImplementedError):
                found = None
        if found is None:
            found = self._unknown(node, flops)
        self.values[node] = found

    def _flops(self, node: Node) -> float:
        kind = kind_of(node.target)
        if kind.what not in ("product", "attention", "formula"):
            return 0.0
        tensors = [n.meta["val"] for n in _operands(node) if isinstance(n.meta.get("val"), torch.Tensor)]
        return flops_of(node, kind, tensors)

    def _unknown(self, node: Node, flops: float) -> Any:
        """Planned whole on every device, and counted."""
        label = str(node.target).removesuffix(".default")
        self.coverage.without_rule[label] += 1
        self.coverage.flops_without_rule += flops
        value = node.meta["val"]
        tensors = [value] if isinstance(value, torch.Tensor) else [v for v in value if isinstance(v, torch.Tensor)]
        inputs = [self.values[n] for n in _operands(node) if isinstance(self.values.get(n), int)]
        number = self.add(f"torch.{label}", inputs, [stated(t) for t in tensors])
        if isinstance(value, torch.Tensor):
            return number
        numbers = iter(self.parts(number))
        return [next(numbers) if isinstance(v, torch.Tensor) else None for v in value]


def _operands(node: Node) -> list[Node]:
    found: list[Node] = []
    torch.fx.node.map_arg((node.args, node.kwargs), found.append)
    return found


def is_pointwise(target: Any) -> bool:
    """Whether PyTorch says of an operator that it works element by element."""
    return torch.Tag.pointwise in getattr(target, "tags", ())


# --- operators: each function gives the number of the operation, or a list for a tuple ------------------------------
Rule = Callable[[_Converter, Node], Any]
_RULES: dict[Any, Rule] = {}


def _rule(*targets: Any) -> Callable[[Rule], Rule]:
    def keep(rule: Rule) -> Rule:
        for target in targets:
            _RULES[target] = rule
        return rule

    return keep


def _like(node: Node) -> Stated:
    return stated(node.meta["val"])


def _dims(given: Any, rank: int) -> list[int]:
    if given is None:
        return []
    given = [given] if isinstance(given, int) else list(given)
    return sorted(d % rank for d in given)


def _rank(c: _Converter, number: int) -> int:
    return len(c.tensors[number][0][0])


@_rule(aten.mm)
def _mm(c: _Converter, n: Node) -> int:
    return c.one("einsum", [c.number(n.args[0]), c.number(n.args[1])], _like(n), equation="mk,kn->mn")


@_rule(aten.bmm)
def _bmm(c: _Converter, n: Node) -> int:
    return c.one("einsum", [c.number(n.args[0]), c.number(n.args[1])], _like(n), equation="bmk,bkn->bmn")


@_rule(aten.addmm)
def _addmm(c: _Converter, n: Node) -> int:
    product = c.one("einsum", [c.number(n.args[1]), c.number(n.args[2])], _like(n), equation="mk,kn->mn")
    return c.one("add", [product, c.number(n.args[0])], _like(n))


@_rule(aten.baddbmm)
def _baddbmm(c: _Converter, n: Node) -> int:
    product = c.one("einsum", [c.number(n.args[1]), c.number(n.args[2])], _like(n), equation="bmk,bkn->bmn")
    return c.one("add", [product, c.number(n.args[0])], _like(n))


def _attention(c: _Converter, n: Node) -> list[Any]:
    arguments = [a for a in n.args[:3]]
    mask = n.kwargs.get("attn_mask")
    if "flash_attention_for_cpu" in str(n.target):
        mask = n.args[5] if len(n.args) > 5 else mask
    elif "efficient" in str(n.target):
        mask = n.args[3]
    inputs = [c.number(a) for a in arguments] + ([_mask(c, mask)] if isinstance(mask, Node) else [])
    return _tuple(c, n, c.add("sdpa", inputs, [stated(v) for v in n.meta["val"] if isinstance(v, torch.Tensor)]))


def _mask(c: _Converter, mask: Node) -> int:
    """Of four dimensions: those that it lacks are the leading ones, along which it is the same."""
    number = c.number(mask)
    return c.view(number, [1] * (4 - _rank(c, number)) + c.tensors[number][0][0])


def _tuple(c: _Converter, n: Node, number: int) -> list[Any]:
    numbers = iter(c.parts(number))
    return [next(numbers) if isinstance(v, torch.Tensor) else None for v in n.meta["val"]]


def _attention_backward(c: _Converter, n: Node) -> list[Any]:
    inputs = [c.number(a) for a in n.args[:6]]
    mask = n.kwargs.get("attn_mask")
    inputs += [_mask(c, mask)] if isinstance(mask, Node) else []
    return _tuple(c, n, c.add("sdpa_backward", inputs, [stated(v) for v in n.meta["val"] if v is not None]))


_rule(aten._scaled_dot_product_flash_attention_for_cpu)(_attention)
_rule(aten._scaled_dot_product_flash_attention_for_cpu_backward)(_attention_backward)


@_rule(aten.convolution)
def _convolution(c: _Converter, n: Node) -> int:
    x, weight, bias = n.args[:3]
    number = c.number(weight)
    made = c.one("transposed_convolution" if n.args[6] else "convolution", [c.number(x), number], _like(n))
    if bias is None:
        return made
    shape = [_like(n)[0][1]] + [1] * (_rank(c, number) - 2)
    return c.one("add", [made, c.view(c.number(bias), shape)], _like(n))


@_rule(aten.convolution_backward)
def _convolution_backward(c: _Converter, n: Node) -> list[Any]:
    inputs = [c.number(a) for a in n.args[:3]]
    name = "transposed_convolution_backward" if n.args[7] else "convolution_backward"
    wants, values = n.args[10], n.meta["val"]
    found: list[Any] = [None, None, None]
    if wants[0] and wants[1]:
        found[:2] = c.parts(c.add(name, inputs, [stated(values[0]), stated(values[1])]))
    elif wants[0]:
        found[0] = c.one(f"{name}_input", inputs, stated(values[0]))
    elif wants[1]:
        found[1] = c.one(f"{name}_weight", inputs, stated(values[1]))
    if wants[2]:
        rank = _rank(c, inputs[0])
        found[2] = c.one("sum", inputs[:1], stated(values[2]), dims=[d for d in range(rank) if d != 1])
    return found


@_rule(aten.embedding)
def _embedding(c: _Converter, n: Node) -> int:
    return c.one("embedding", [c.number(n.args[0]), c.number(n.args[1])], _like(n))


@_rule(aten.embedding_dense_backward)
def _embedding_backward(c: _Converter, n: Node) -> int:
    return c.one("embedding_backward", [c.number(n.args[0]), c.number(n.args[1])], _like(n))


@_rule(aten.native_layer_norm)
def _layer_norm(c: _Converter, n: Node) -> list[int]:
    if len(n.args[1]) != 1 or n.args[2] is None or n.args[3] is None:
        raise NotImplementedError("only over the last dimension, with weight and bias")
    x = c.number(n.args[0])
    y, mean, rstd = (stated(v) for v in n.meta["val"])
    rows = c.tensors[x][0][0][:-1]
    made = c.add("layer_norm", [x, c.number(n.args[2]), c.number(n.args[3])], [y, (rows, *mean[1:]), (rows, *rstd[1:])])
    first, second, third = c.parts(made)
    return [first, c.view(second, mean[0]), c.view(third, rstd[0])]


@_rule(aten.native_layer_norm_backward)
def _layer_norm_backward(c: _Converter, n: Node) -> list[Any]:
    gradient, x, sizes, mean, rstd, weight, _bias, wants = n.args
    if len(sizes) != 1 or weight is None or not all(wants):
        raise NotImplementedError("only over the last dimension, with weight and bias")
    source = c.number(x)
    rows = c.tensors[source][0][0][:-1]
    statistics = [c.view(c.number(s), rows) for s in (mean, rstd)]
    inputs = [c.number(gradient), source, c.number(weight), *statistics]
    return c.parts(c.add("layer_norm_backward", inputs, [stated(v) for v in n.meta["val"]]))


@_rule(aten._fused_rms_norm)
def _rms_norm(c: _Converter, n: Node) -> list[int]:
    if len(n.args[1]) != 1 or n.args[2] is None:
        raise NotImplementedError("only over the last dimension, with a weight")
    x = c.number(n.args[0])
    y, rstd = (stated(v) for v in n.meta["val"])
    rows = c.tensors[x][0][0][:-1]
    first, second = c.parts(c.add("rms_norm", [x, c.number(n.args[2])], [y, (rows, *rstd[1:])]))
    return [first, c.view(second, rstd[0])]


@_rule(aten._fused_rms_norm_backward)
def _rms_norm_backward(c: _Converter, n: Node) -> list[Any]:
    gradient, x, sizes, rstd, weight = n.args[:5]
    if len(sizes) != 1 or weight is None or not all(n.args[5]):
        raise NotImplementedError("only over the last dimension, with a weight")
    source = c.number(x)
    statistic = c.view(c.number(rstd), c.tensors[source][0][0][:-1])
    inputs = [c.number(gradient), source, c.number(weight), statistic]
    return c.parts(c.add("rms_norm_backward", inputs, [stated(v) for v in n.meta["val"]]))


@_rule(aten.view, aten._unsafe_view, aten.reshape, aten.unsqueeze, aten.squeeze, aten.flatten)
def _view(c: _Converter, n: Node) -> int:
    return c.view(c.number(n.args[0]), _like(n)[0])


@_rule(aten.permute)
def _permute(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    return c.one("permute", [x], _like(n), dims=[d % _rank(c, x) for d in n.args[1]])


@_rule(aten.t, aten.transpose)
def _transpose(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    dims = list(range(_rank(c, x)))
    a, b = (d % len(dims) for d in (n.args[1:3] if len(n.args) > 2 else (0, 1)))
    dims[a], dims[b] = dims[b], dims[a]
    return c.one("permute", [x], _like(n), dims=dims)


@dataclass(frozen=True)
class _Box:
    """A box of the elements of a dense tensor in the order of memory, as `as_strided` names it."""

    memory: list[int]  #: dimensions of the tensor, the slowest in memory first
    extents: list[int]  #: of the elements, cut into dimensions by the strides
    first: list[int]  #: by dimension of `extents`
    sizes: list[int]
    order: list[int]  #: of those dimensions in the result, which lacks those of one element


def _box(value: torch.Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int | None) -> _Box:
    memory = sorted(range(value.dim()), key=lambda d: (-value.stride(d), -value.shape[d]))
    expected = 1
    for d in reversed(memory):
        if value.shape[d] != 1 and value.stride(d) != expected:
            raise NotImplementedError("elements that are not dense in memory")
        expected *= value.shape[d]
    kept = [d for d, size in enumerate(sizes) if size != 1]
    ranked = sorted(kept, key=lambda d: -strides[d])
    left, rest = value.numel(), (value.storage_offset() if offset is None else offset) - value.storage_offset()
    extents, first, taken = [], [], []
    for stride, size in [(strides[d], sizes[d]) for d in ranked] + [(1, 1)]:
        if stride < 1 or left % stride or rest < 0 or rest // stride + size > left // stride:
            raise NotImplementedError("windows that overlap, or no box")
        extents.append(left // stride)
        first.append(rest // stride)
        taken.append(size)
        left, rest = stride, rest % stride
    return _Box(memory, extents, first, taken, [ranked.index(d) for d in kept])


@_rule(aten.as_strided)
def _as_strided(c: _Converter, n: Node) -> int:
    value = n.args[0].meta["val"]
    box = _box(value, n.args[1], n.args[2], n.args[3] if len(n.args) > 3 else n.kwargs.get("storage_offset"))
    number, kind = c.number(n.args[0]), _like(n)[1]
    if box.memory != sorted(box.memory):
        number = c.one("permute", [number], ([value.shape[d] for d in box.memory], kind, True), dims=box.memory)
    number = c.view(number, box.extents)
    for d, size in enumerate(box.sizes):
        if size != box.extents[d]:
            made = [*box.sizes[: d + 1], *box.extents[d + 1 :]]
            number = c.one("slice", [number], (made, kind, False), dims=[d], index=box.first[d])
    number = c.view(number, box.sizes[:-1])
    if box.order != sorted(box.order):
        number = c.one("permute", [number], ([box.sizes[i] for i in box.order], kind, False), dims=box.order)
    return c.view(number, list(n.args[1]))


@_rule(aten.as_strided_scatter)
def _as_strided_scatter(c: _Converter, n: Node) -> int:
    value = n.args[0].meta["val"]
    box = _box(value, n.args[2], n.args[3], n.args[4] if len(n.args) > 4 else n.kwargs.get("storage_offset"))
    kind = _like(n)[1]
    number = c.view(c.number(n.args[1]), [box.sizes[i] for i in box.order])
    if box.order != sorted(box.order):
        back = [box.order.index(i) for i in range(len(box.order))]
        number = c.one("permute", [number], (box.sizes[:-1], kind, False), dims=back)
    number = c.view(number, box.sizes)
    for d in reversed(range(len(box.sizes))):
        if box.sizes[d] != box.extents[d]:
            made = [*box.sizes[:d], *box.extents[d:]]
            number = c.one("pad", [number], (made, kind, True), dims=[d], index=box.first[d])
    number = c.view(number, [value.shape[d] for d in box.memory])
    if box.memory != sorted(box.memory):
        back = [box.memory.index(d) for d in range(value.dim())]
        number = c.one("permute", [number], (list(value.shape), kind, False), dims=back)
    if box.sizes == box.extents:  # all that was there is overwritten
        return number
    return c.one("pointwise", [c.number(n.args[0]), number], _like(n))


@_rule(aten.expand)
def _expand(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    return x if c.tensors[x][0][0] == _like(n)[0] else c.one("expand", [x], _like(n))


@_rule(aten.alias, aten.detach, aten.lift_fresh_copy)
def _same(c: _Converter, n: Node) -> int:
    return c.number(n.args[0])


@_rule(aten.clone)
def _clone(c: _Converter, n: Node) -> int:
    return c.one("clone", [c.number(n.args[0])], _like(n))


@_rule(aten._to_copy, prims.convert_element_type)
def _convert(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    if c.tensors[x][0][1] == _like(n)[1]:
        return x
    is_parameter = n.args[0].op == "placeholder" and isinstance(_bare(n.args[0].meta.get("desc")), ParamAOTInput)
    return c.one("cast" if is_parameter else "conv", [x], _like(n))


def _binary(op: str) -> Rule:
    def rule(c: _Converter, n: Node) -> int:
        a, b = n.args[:2]
        if n.kwargs.get("alpha", 1) != 1 or "rounding_mode" in n.kwargs:
            return _pointwise(c, n)
        if isinstance(a, Node) and isinstance(b, Node) and isinstance(b.meta.get("val"), torch.Tensor):
            return c.one(op, [c.number(a), c.number(b)], _like(n))
        if not isinstance(a, Node) or isinstance(b, Node):
            return _pointwise(c, n)
        if op == "sub":
            return c.one("add_scalar", [c.number(a)], _like(n), scalar=-float(b))
        return c.one(f"{op}_scalar", [c.number(a)], _like(n), scalar=float(b))

    return rule


for _op in ("add", "sub", "mul", "div"):
    _rule(getattr(aten, _op))(_binary(_op))


def _unary(op: str) -> Rule:
    return lambda c, n: c.one(op, [c.number(n.args[0])], _like(n))


UNARY = ("neg", "exp", "sigmoid", "tanh", "relu", "rsqrt", "reciprocal", "log", "sqrt", "abs", "gelu", "silu")
for _op in UNARY:
    _rule(getattr(aten, _op))(_unary(_op))
_rule(aten.where)(lambda c, n: c.one("where", [c.number(a) for a in n.args], _like(n)))


def _pointwise(c: _Converter, n: Node) -> int:
    inputs = [c.number(a) for a in _operands(n) if isinstance(a.meta.get("val"), torch.Tensor)]
    return c.one("pointwise", inputs, _like(n)) if inputs else c.constant(_like(n))


_rule(aten.bernoulli, aten.copy, aten.fill)(_pointwise)
_rule(aten.full, aten.full_like, aten.zeros, aten.zeros_like, aten.ones, aten.ones_like, aten.empty, aten.empty_like,
      aten.arange, aten.scalar_tensor, aten.rand, aten.randn, aten.rand_like, aten.randn_like, aten.new_zeros,
      aten.new_full, aten.new_ones, aten.new_empty, aten.eye, prims.iota, aten.empty_permuted, aten.new_empty_strided,
      aten.linspace, aten.randperm, aten.tril_indices)(
    lambda c, n: c.constant(_like(n))
)  # fmt: skip


@_rule(aten.native_dropout)
def _dropout(c: _Converter, n: Node) -> list[int]:
    y, mask = (stated(v) for v in n.meta["val"])
    kept = c.constant(mask)
    return [c.one("pointwise", [c.number(n.args[0]), kept], y), kept]


@_rule(aten.native_dropout_backward)
def _dropout_backward(c: _Converter, n: Node) -> int:
    return c.one("pointwise", [c.number(n.args[0]), c.number(n.args[1])], _like(n))


def _reduction(op: str) -> Rule:
    def rule(c: _Converter, n: Node) -> int:
        x = c.number(n.args[0])
        dims = _dims(n.args[1] if len(n.args) > 1 else n.kwargs.get("dim"), _rank(c, x))
        keep = bool(n.args[2]) if len(n.args) > 2 else bool(n.kwargs.get("keepdim", False))
        sizes, kind, _ = c.tensors[x][0]
        like = _like(n)
        if kind != like[1] and op in ("sum", "mean"):  # added up in the type of the result
            x = c.one("conv", [x], (sizes, like[1], True))
        return c.one(op, [x], like, dims=dims, keep=keep)

    return rule


for _op in ("sum", "mean", "amax", "amin"):
    _rule(getattr(aten, _op))(_reduction(_op))
for _op in ("prod", "any", "all", "argmax", "argmin", "logsumexp"):
    _rule(getattr(aten, _op))(_reduction(_op))


def _variance(c: _Converter, x: int, like: Stated, dims: list[int], keep: bool, correction: float) -> tuple[int, int]:
    """Variance and mean, out of parts that come apart: so rows may be cut where they are averaged."""
    sizes, kind, _ = c.tensors[x][0]
    dims = dims or list(range(len(sizes)))
    small = [1 if d in dims else s for d, s in enumerate(sizes)]
    mean = c.one("mean", [x], (small, kind, True), dims=dims, keep=True)
    apart = c.one("sub", [x, mean], (sizes, kind, True))
    square = c.one("mul", [apart, apart], (sizes, kind, True))
    variance = c.one("mean", [square], (small, kind, True), dims=dims, keep=True)
    count = math.prod(sizes[d] for d in dims)
    if correction:
        variance = c.one("mul_scalar", [variance], (small, kind, True), scalar=count / max(count - correction, 1))
    return (variance, mean) if keep else (c.view(variance, like[0]), c.view(mean, like[0]))


@_rule(aten.var_mean)
def _var_mean(c: _Converter, n: Node) -> list[int]:
    x = c.number(n.args[0])
    dims = _dims(n.args[1] if len(n.args) > 1 else n.kwargs.get("dim"), _rank(c, x))
    correction = float(n.kwargs.get("correction", 1) or 0)
    return list(_variance(c, x, stated(n.meta["val"][0]), dims, bool(n.kwargs.get("keepdim", False)), correction))


@_rule(aten.var)
def _var(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    dims = _dims(n.args[1] if len(n.args) > 1 else n.kwargs.get("dim"), _rank(c, x))
    correction = float(n.kwargs.get("correction", 1) or 0)
    return _variance(c, x, _like(n), dims, bool(n.kwargs.get("keepdim", False)), correction)[0]


@_rule(aten._softmax, aten._log_softmax)
def _softmax(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    op = "log_softmax" if "log" in str(n.target) else "softmax"
    return c.one(op, [x], _like(n), dims=_dims(n.args[1], _rank(c, x)))


@_rule(aten._softmax_backward_data, aten._log_softmax_backward_data)
def _softmax_backward(c: _Converter, n: Node) -> int:
    inputs = [c.number(n.args[0]), c.number(n.args[1])]
    return c.one("softmax_backward", inputs, _like(n), dims=_dims(n.args[2], _rank(c, inputs[0])))


@_rule(aten.nll_loss_forward)
def _nll_loss(c: _Converter, n: Node) -> list[int]:
    scores, target = c.number(n.args[0]), c.number(n.args[1])
    (rows, _), kind, _ = c.tensors[scores][0]
    if n.args[3] == 0:
        raise NotImplementedError("losses that are not reduced have no rule")
    column = c.view(target, [rows, 1])
    chosen = c.one("gather", [scores, column], ([rows, 1], kind, True), dims=[1])
    loss, weight = (stated(v) for v in n.meta["val"])
    return [c.one("mean" if n.args[3] == 1 else "sum", [chosen], loss, dims=[0, 1]), c.constant(weight)]


@_rule(aten.nll_loss_backward)
def _nll_loss_backward(c: _Converter, n: Node) -> int:
    gradient, scores, target = (c.number(a) for a in n.args[:3])
    (rows, _), kind, _ = c.tensors[scores][0]
    column = c.view(target, [rows, 1])
    spread = c.one("expand", [c.view(gradient, [1, 1])], ([rows, 1], kind, False))
    return c.one("gather_backward", [spread, column], _like(n), dims=[1])


@_rule(aten.gather)
def _gather(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    return c.one("gather", [x, c.number(n.args[2])], _like(n), dims=_dims(n.args[1], _rank(c, x)))


@_rule(aten.scatter, aten.scatter_add)
def _scatter(c: _Converter, n: Node) -> int:
    base, dim, index, source = n.args[:4]
    x, places = c.number(base), c.number(index)
    if isinstance(source, Node) and isinstance(source.meta.get("val"), torch.Tensor):
        values = c.number(source)
    else:
        sizes, _, _ = c.tensors[places][0]
        values = c.constant((sizes, c.tensors[x][0][1], True))
    op = "scatter_add" if "add" in str(n.target) else "scatter"
    return c.one(op, [x, places, values], _like(n), dims=_dims(dim, _rank(c, x)))


def _lines(op: str) -> Rule:
    def rule(c: _Converter, n: Node) -> int:
        x = c.number(n.args[0])
        dim = n.args[1] if len(n.args) > 1 else 0
        return c.one(op, [x], _like(n), dims=_dims(dim, _rank(c, x)))

    return rule


_rule(aten.slice)(_lines("slice"))
_rule(aten.cumsum)(_lines("cumsum"))
_rule(aten.flip)(_lines("flip"))
_rule(aten.cumprod)(_lines("cumprod"))


@_rule(aten.roll)
def _roll(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    dims = _dims(n.args[2] if len(n.args) > 2 else list(range(_rank(c, x))), _rank(c, x))
    return c.one("roll", [x], _like(n), dims=dims)


@_rule(aten.select)
def _select(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    sizes, kind, _ = c.tensors[x][0]
    dim = n.args[1] % len(sizes)
    row = c.one("slice", [x], ([1 if d == dim else s for d, s in enumerate(sizes)], kind, False), dims=[dim])
    return c.view(row, _like(n)[0])


@_rule(aten.slice_scatter)
def _slice_scatter(c: _Converter, n: Node) -> int:
    x, source = c.number(n.args[0]), c.number(n.args[1])
    dim = (n.args[2] if len(n.args) > 2 else 0) % _rank(c, x)
    sizes, kind, _ = c.tensors[source][0]
    whole = c.one("pad", [source], _like(n), dims=[dim])
    return c.one("pointwise", [x, whole], _like(n))


@_rule(aten.select_scatter)
def _select_scatter(c: _Converter, n: Node) -> int:
    x, source = c.number(n.args[0]), c.number(n.args[1])
    sizes, kind, _ = c.tensors[x][0]
    dim = n.args[2] % len(sizes)
    row = c.view(source, [1 if d == dim else s for d, s in enumerate(sizes)])
    return c.one("pointwise", [x, c.one("pad", [row], _like(n), dims=[dim])], _like(n))


@_rule(aten.split, aten.split_with_sizes)
def _split(c: _Converter, n: Node) -> list[int]:
    x = c.number(n.args[0])
    dim = n.args[2] if len(n.args) > 2 else n.kwargs.get("dim", 0)
    return c.parts(c.add("split", [x], [stated(v) for v in n.meta["val"]], dims=_dims(dim, _rank(c, x))))


@_rule(aten.unbind)
def _unbind(c: _Converter, n: Node) -> list[int]:
    x = c.number(n.args[0])
    sizes, kind, _ = c.tensors[x][0]
    dim = (n.args[1] if len(n.args) > 1 else 0) % len(sizes)
    row = ([1 if d == dim else s for d, s in enumerate(sizes)], kind, False)
    rows = c.parts(c.add("split", [x], [row] * sizes[dim], dims=[dim]))
    return [c.view(r, stated(v)[0]) for r, v in zip(rows, n.meta["val"], strict=True)]


@_rule(aten.cat)
def _cat(c: _Converter, n: Node) -> int:
    numbers = [c.number(a) for a in n.args[0]]
    kept = [x for x in numbers if math.prod(c.tensors[x][0][0]) > 0]
    dim = n.args[1] if len(n.args) > 1 else n.kwargs.get("dim", 0)
    return c.one("cat", kept, _like(n), dims=_dims(dim, _rank(c, kept[0])))


@_rule(aten.stack)
def _stack(c: _Converter, n: Node) -> int:
    sizes = _like(n)[0]
    dim = (n.args[1] if len(n.args) > 1 else 0) % len(sizes)
    rows = [c.view(c.number(a), [1 if d == dim else s for d, s in enumerate(sizes)]) for a in n.args[0]]
    return c.one("cat", rows, _like(n), dims=[dim])


@_rule(aten.constant_pad_nd)
def _pad(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    old, new = c.tensors[x][0][0], _like(n)[0]
    return c.one("pad", [x], _like(n), dims=[d for d in range(len(old)) if old[d] != new[d]])


@_rule(aten.repeat)
def _repeat(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    new = _like(n)[0]
    row = c.view(x, [1] * (len(new) - _rank(c, x)) + c.tensors[x][0][0])
    old = c.tensors[row][0][0]
    changed = [d for d in range(len(new)) if old[d] != new[d]]
    if all(old[d] == 1 for d in changed):
        return c.one("expand", [row], _like(n))
    return c.one("repeat", [row], _like(n), dims=changed)


@_rule(aten.sort, aten.topk)
def _sorted(c: _Converter, n: Node) -> list[int]:
    x = c.number(n.args[0])
    at = 2 if "topk" in str(n.target) else 1
    dim = n.args[at] if len(n.args) > at else n.kwargs.get("dim", -1)
    op = "topk" if "topk" in str(n.target) else "sort"
    return c.parts(c.add(op, [x], [stated(v) for v in n.meta["val"]], dims=_dims(dim, _rank(c, x))))


def _lists(c: _Converter, indices: Sequence[Node | None]) -> tuple[list[int], list[int]]:
    """The dimensions that lists of numbers are given for, and the lists."""
    dims = [d for d, i in enumerate(indices) if i is not None]
    lists = [indices[d] for d in dims]
    if any(i.meta["val"].dtype in (torch.bool, torch.uint8) for i in lists):
        raise NotImplementedError("lists of truth values give results of unknown sizes")
    return dims, [c.number(i) for i in lists]


@_rule(aten.index, aten._unsafe_index)
def _index(c: _Converter, n: Node) -> int:
    dims, lists = _lists(c, n.args[1])
    return c.one("index", [c.number(n.args[0]), *lists], _like(n), dims=dims)


@_rule(aten.index_select)
def _index_select(c: _Converter, n: Node) -> int:
    x = c.number(n.args[0])
    return c.one("index", [x, c.number(n.args[2])], _like(n), dims=_dims(n.args[1], _rank(c, x)))


def _indexed_shape(c: _Converter, table: list[int], dims: list[int], lists: list[int]) -> list[int]:
    """The shape of what lists of numbers pick of a table."""
    spread = list(torch.broadcast_shapes(*(tuple(c.tensors[i][0][0]) for i in lists)))
    rest = [s for d, s in enumerate(table) if d not in dims]
    at = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
    return rest[:at] + spread + rest[at:]


@_rule(aten.index_put, aten._unsafe_index_put, aten.index_add)
def _index_put(c: _Converter, n: Node) -> int:
    base, indices, values = n.args[:3]
    table = c.number(base)
    if "index_add" in str(n.target):
        if n.kwargs.get("alpha", 1) != 1:
            raise NotImplementedError("only as it is, not times a number")
        dims, lists, values, adds = _dims(n.args[1], _rank(c, table)), [c.number(n.args[2])], n.args[3], True
    else:
        dims, lists = _lists(c, indices)
        adds = bool(n.args[3]) if len(n.args) > 3 else bool(n.kwargs.get("accumulate", False))
    wanted = _indexed_shape(c, _like(n)[0], dims, lists)
    number = c.number(values)
    sizes, kind, _ = c.tensors[number][0]
    if sizes != wanted:
        number = c.one("expand", [number], (wanted, kind, False))
    if not adds:
        return c.one("index_put", [table, number, *lists], _like(n), dims=dims)
    return c.one("add", [table, c.one("index_backward", [number, *lists], _like(n), dims=dims)], _like(n))


@_rule(aten.max_pool2d_with_indices, aten._adaptive_avg_pool2d, aten.avg_pool2d, aten.upsample_nearest2d,
       aten.upsample_bilinear2d, aten.avg_pool1d, aten._adaptive_avg_pool2d_backward, aten.avg_pool2d_backward,
       aten.max_pool2d_with_indices_backward)  # fmt: skip
def _channelwise(c: _Converter, n: Node) -> Any:
    inputs = [c.number(a) for a in _operands(n)]
    value = n.meta["val"]
    if isinstance(value, torch.Tensor):
        return c.one("channelwise", inputs, stated(value))
    return c.parts(c.add("channelwise", inputs, [stated(v) for v in value]))


def computation_of(graph: Graph, name: str = "model", shared: dict[str, str] | None = None) -> Computation:
    """A joint graph of AOTAutograd as a computation: parameters, inputs, gradients, operators with their rules.

    What has no rule is planned whole on every device, named and counted in `coverage`.

    Args:
        graph: `Captured.joint.graph`: descriptors in `meta["desc"]`, tensors in `meta["val"]`.
        name: for messages.
        shared: names of parameters that are the same tensor as another, by name; they become one, with one gradient.
    """
    return _Converter(graph, name, shared or {}).run()
