"""What operators of an FX graph do to the compute stream, to memory and to order."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.node import _side_effectful_functions

aten = torch.ops.aten

#: `_c10d_functional` operators that start a collective: its kind, and where group and reduction stand.
_STARTS = {
    "all_gather_into_tensor": ("all_gather", 2, None),
    "all_gather_into_tensor_coalesced": ("all_gather", 2, None),
    "all_gather_into_tensor_out": ("all_gather", 2, None),
    "reduce_scatter_tensor": ("reduce_scatter", 3, 1),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", 3, 1),
    "reduce_scatter_tensor_out": ("reduce_scatter", 3, 1),
    "all_reduce": ("all_reduce", 2, 1),
    "all_reduce_": ("all_reduce", 2, 1),
    "all_reduce_coalesced": ("all_reduce", 2, 1),
    "all_reduce_coalesced_": ("all_reduce", 2, 1),
    "all_to_all_single": ("all_to_all", 3, None),
    "broadcast": ("other", 2, None),
    "broadcast_": ("other", 2, None),
}

#: Namespaces whose operators do more than their schemas say: nothing moves across them.
_OPAQUE_NAMESPACES = {"c10d", "_c10d_functional", "_c10d_functional_autograd", "streams", "rpc", "symm_mem", "fsdp"}

#: Higher-order operators that are functions of their arguments alone.
_PURE_HIGHER_ORDER = {"flex_attention", "flex_attention_backward"}

#: Functions of numbers alone, beside those of modules operator and math.
_ON_NUMBERS = {abs, min, max, int, float, bool, round, pow, torch.sym_int, torch.sym_float, torch.sym_max,
               torch.sym_min, torch.sym_not, torch.sym_ite, torch.sym_sum}  # fmt: skip

_PRODUCTS = {aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default}


def _takes_a_group(target: torch._ops.OpOverload) -> bool:
    """Whether an operator may talk to other ranks: it takes a process group, or the name of one."""
    named = [str(a.type) for a in target._schema.arguments if "group" in a.name]
    return any(not re.search("int|Int|bool|Tensor", kind) for kind in named)


def _is_attention(name: str) -> bool:
    return "scaled_dot_product" in name or "flash_attention" in name or "efficient_attention" in name


@dataclass(frozen=True)
class OperatorKind:
    """What the target of a call is.

    `what` is one of start, wait, take (an element of a tuple), number (arithmetic on sizes), product, attention,
    formula (has a FLOP formula of PyTorch's), plain (anything else that is a function of its arguments) and fence
    (nothing is known of it, or it has effects: no task moves across).
    """

    what: str
    collective: str = "other"
    group_at: int = 0
    reduction_at: int | None = None
    writes: tuple[tuple[int, str], ...] = ()  #: arguments that it changes: position and name
    is_random: bool = False
    is_fusible: bool = False  #: element by element, or a reduction: a compiler puts it into one kernel with its like


_FUSIBLE_TAGS = (
    (torch.Tag.pointwise, torch.Tag.reduction) if hasattr(torch.Tag, "reduction") else (torch.Tag.pointwise,)
)
_FUSIBLE_NAMES = {
    "sum", "mean", "amax", "amin", "var", "var_mean", "_softmax", "_log_softmax", "_softmax_backward_data", "softmax",
    "_log_softmax_backward_data", "native_layer_norm", "native_layer_norm_backward", "_fused_rms_norm", "rsqrt",
    "_fused_rms_norm_backward", "full", "full_like", "zeros", "ones", "empty", "iota", "arange", "clone", "cat",
    "convert_element_type", "_to_copy", "embedding", "embedding_dense_backward", "slice", "where", "gather", "select",
    "native_dropout", "constant_pad_nd", "copy", "index", "scalar_tensor", "inductor_random", "inductor_seeds",
    "inductor_lookup_seed", "prod", "any", "all", "argmax", "argmin", "repeat", "expand", "silu_backward",
}  # fmt: skip

_kinds: dict[Any, OperatorKind] = {}


def kind_of(target: Any) -> OperatorKind:
    """The kind of a call's target; equal targets share one answer."""
    found = _kinds.get(target)
    if found is None:
        found = _kinds[target] = _kind_of(target)
    return found


def _kind_of(target: Any) -> OperatorKind:
    if target is operator.getitem:
        return OperatorKind("take")
    if not isinstance(target, torch._ops.OpOverload):
        if isinstance(target, torch._ops.HigherOrderOperator):
            return OperatorKind("plain" if target.name() in _PURE_HIGHER_ORDER else "fence")
        home = getattr(target, "__module__", None)
        is_number = home in ("_operator", "math") or target in _ON_NUMBERS
        return OperatorKind("number" if is_number else "fence")
    name = target._opname
    writes = tuple(
        (position, argument.name)
        for position, argument in enumerate(target._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )
    is_random = torch.Tag.nondeterministic_seeded in target.tags or name in ("inductor_seed", "inductor_seeds")
    if target.namespace == "_c10d_functional":
        if name == "wait_tensor":
            return OperatorKind("wait")
        if name in _STARTS:
            collective, group_at, reduction_at = _STARTS[name]
            return OperatorKind("start", collective, group_at, reduction_at, writes)
    is_opaque = target.namespace in _OPAQUE_NAMESPACES or _takes_a_group(target)
    if is_opaque or (target in _side_effectful_functions and not writes):
        return OperatorKind("fence", writes=writes)
    if target in _PRODUCTS:
        return OperatorKind("product")
    if _is_attention(name):
        return OperatorKind("attention", is_random=is_random)
    from torch.utils.flop_counter import flop_registry

    if target._overloadpacket in flop_registry or name == "_grouped_mm":
        return OperatorKind("formula", writes=writes, is_random=is_random)
    fusible = name in _FUSIBLE_NAMES or any(tag in target.tags for tag in _FUSIBLE_TAGS)
    return OperatorKind("plain", writes=writes, is_random=is_random, is_fusible=fusible and not writes)


def size_of(number: Any) -> int:
    """A dimension as a number; of a symbolic one what it was traced with."""
    if isinstance(number, int):
        return number
    hint = getattr(number.node, "hint", None)
    return int(hint) if hint is not None else 8192


def shape_of(value: torch.Tensor) -> list[int]:
    """The sizes of a tensor, symbolic ones as they were traced."""
    return [size_of(s) for s in value.shape]


def bytes_of(value: torch.Tensor) -> int:
    """What the elements of a tensor take."""
    return size_of(value.numel()) * value.dtype.itemsize


def attention_flops(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, causal: bool, backward: bool) -> float:
    """Operations of fused attention on (batch, heads, length, width): two products forward, five backward."""
    *batch, rows, width = shape_of(query)
    columns, out_width = shape_of(key)[-2], shape_of(value)[-1]
    pairs = float(math.prod(batch)) * rows * columns * (0.5 if causal and rows == columns else 1.0)
    if not backward:
        return 2 * pairs * (width + out_width)
    return 2 * pairs * (3 * width + 2 * out_width)


def flops_of(node: torch.fx.Node, kind: OperatorKind, values: list[torch.Tensor]) -> float:
    """Operations that a call does, a multiplication and an addition counting as two.

    `values` are the tensors among its arguments, in order.
    """
    if kind.what == "product":
        left, right = values[-2], values[-1]
        *batch, rows, inner = shape_of(left)
        return 2.0 * math.prod(batch) * rows * inner * shape_of(right)[-1]
    if kind.what == "attention":
        backward = "backward" in node.target._opname
        operands = values[1:4] if backward else values[:3]
        return attention_flops(*operands, causal=_is_causal(node), backward=backward)
    if node.target._opname in ("convolution", "convolution_backward"):  # PyTorch's formula leaves groups out backward
        backward = node.target._opname == "convolution_backward"
        result, weight = (values[0], values[2]) if backward else (node.meta["val"], values[1])
        each = math.prod(shape_of(weight)[1:]) * (sum(node.args[10][:2]) if backward else 1)
        is_transposed = bool(node.args[7 if backward else 6])
        places = math.prod(shape_of(result))
        if is_transposed:  # every element that comes in is spread over the window
            source = values[1] if backward else values[0]
            places = math.prod(shape_of(source))
        return 2.0 * places * each
    if node.target._opname == "_grouped_mm":
        left, right = values[0], values[1]
        return 2.0 * math.prod(shape_of(left)) * shape_of(right)[-1]
    from torch.utils.flop_counter import flop_registry

    values_of = torch.fx.node.map_arg
    formula = flop_registry[node.target._overloadpacket]
    arguments = values_of(node.args, lambda n: n.meta.get("val"))
    named = values_of(dict(node.kwargs), lambda n: n.meta.get("val"))
    return float(formula(*arguments, **named, out_val=node.meta.get("val")))


def _is_causal(node: torch.fx.Node) -> bool:
    for position, argument in enumerate(node.target._schema.arguments):
        if argument.name == "is_causal":
            return bool(node.args[position] if position < len(node.args) else node.kwargs.get("is_causal", False))
    return False
