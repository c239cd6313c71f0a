"""A traced step as a computation, and its placement as DTensor has it."""

import pytest
import torch
import torch.nn.functional as F
from llama import Llama, Shape
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard

from shardweave_torch.capture import capture_exported, capture_joint
from shardweave_torch.computation import computation_of
from shardweave_torch.placement import (
    distribute_parameters,
    placement_text,
    placements_of,
    plan_computation,
    plan_placement,
    shared_parameters,
)

SHAPE = Shape(layers=2, width=1024, heads=8, key_heads=8, hidden=2048, words=4096, length=256)


def llama():
    words = torch.empty(16, SHAPE.length, dtype=torch.long)
    return Llama(SHAPE), (words, words)


def test_a_llama_has_rules_throughout_and_the_work_that_its_formula_says():
    captured = capture_joint(llama)
    computation = computation_of(captured.graph.graph, shared=captured.shared)
    coverage = computation.coverage
    assert coverage.share == 1 and not coverage.without_rule
    # 2 operations per weight and token forward, 4 backward; the embedding is no product
    weights = SHAPE.layers * (4 * SHAPE.width**2 + 3 * SHAPE.width * SHAPE.hidden) + SHAPE.words * SHAPE.width
    tokens = 16 * SHAPE.length
    # causal attention: two products forward, five backward, half of all pairs
    pairs = 16 * SHAPE.heads * SHAPE.length**2 / 2
    attention = SHAPE.layers * pairs * 2 * (SHAPE.width // SHAPE.heads) * (2 + 5)
    assert coverage.flops == 6 * weights * tokens + attention
    names = {n for n, _ in Llama(SHAPE).named_parameters()}
    assert set(computation.parameters) == names


def test_a_plan_is_within_its_bound_and_every_device_holds_its_share():
    plan = plan_placement(llama, (2, 4))
    assert plan.status == "optimal"
    assert plan.lower_bound_us <= plan.objective_us * (1 + 1e-9)
    with torch.device("meta"):
        model = Llama(SHAPE)
    for name, parameter in model.named_parameters():
        pieces = 1
        for extent, placement in zip((2, 4), plan.parameters[name], strict=True):
            if isinstance(placement, Shard):
                assert placement.dim < parameter.dim()
                pieces *= extent
        assert pieces == 8  # the least that a device can hold is the default


def test_parameters_are_cut_as_planned(ranks):
    plan = plan_placement(llama, (2, 4))
    small = Llama(SHAPE)
    whole = {n: p.detach().clone() for n, p in small.named_parameters()}
    for rank in (0, 3, 6):
        ranks(8, rank)
        mesh = init_device_mesh("cpu", (2, 4))
        model = Llama(SHAPE)
        model.load_state_dict(whole, strict=False)
        distribute_parameters(model, mesh, plan)
        where = divmod(rank, 4)
        for name, parameter in model.named_parameters():
            piece = whole[name]
            for extent, at, placement in zip((2, 4), where, plan.parameters[name], strict=True):
                if isinstance(placement, Shard):
                    piece = piece.chunk(extent, placement.dim)[at]
            assert torch.equal(parameter.to_local(), piece)
    with pytest.raises(ValueError, match="mesh"):
        distribute_parameters(Llama(SHAPE), init_device_mesh("cpu", (8,)), plan)


class Tied(nn.Module):
    """An embedding that is the head, too."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(512, 64)
        self.head = nn.Linear(64, 512, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words, targets):
        return F.cross_entropy(self.head(self.embedding(words)).flatten(0, 1), targets.flatten())


def test_parameters_that_are_one_tensor_are_planned_as_one():
    assert shared_parameters(Tied()) == {"head.weight": "embedding.weight"}
    words = torch.empty(8, 16, dtype=torch.long)
    plan = plan_placement(lambda: (Tied(), (words, words)), (2, 2))
    assert plan.parameters["head.weight"] == plan.parameters["embedding.weight"]


@pytest.mark.parametrize("strict", [False, True])
def test_exported_programs_are_planned(strict):
    with torch.device("meta"):
        model = nn.Sequential(nn.Embedding(512, 64), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 512))
        words = torch.empty(8, 16, dtype=torch.long)
    program = torch.export.export(model, (words,), strict=strict)
    captured = capture_exported(program)
    computation = computation_of(captured.graph.graph, shared=captured.shared)
    assert set(computation.parameters) == {n for n, _ in model.named_parameters()}
    assert computation.coverage.share == 1 and not computation.coverage.without_rule
    assert computation.coverage.flops == 2 * 8 * 16 * (64 * 256 + 256 * 512)
    assert {s.module for s in computation.steps if s.op == "einsum"} == {"1", "3"}
    plan = plan_placement(program, (2, 2))
    assert plan.status == "optimal" and set(plan.parameters) == set(computation.parameters)
    assert list(plan.inputs) == ["input0"]


def test_exported_programs_say_what_is_one_tensor_and_which_buffers_change():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8 * 36, 8 * 36))
    model.append(nn.Linear(8 * 36, 8 * 36))
    model[-1].weight = model[-2].weight
    plan = plan_placement(torch.export.export(model, (torch.randn(16, 3, 8, 8),)), (2, 2))
    assert plan.parameters["4.weight"] == plan.parameters["3.weight"]
    assert not plan.coverage.without_rule


class Odd(nn.Module):
    """A product under a rule, and an operator without one."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(64, 64)

    def forward(self, x):
        return torch.linalg.matrix_exp(self.a(x).view(-1, 64, 64)).sum()


def test_what_has_no_rule_is_named_and_counted():
    captured = capture_joint(lambda: (Odd(), (torch.empty(128, 64),)))
    computation = computation_of(captured.graph.graph)
    assert any("matrix_exp" in name for name in computation.coverage.without_rule)
    assert plan_computation(computation, (2, 2)).parameters


class Pictures(nn.Module):
    """Convolutions of all kinds, a norm over the batch, pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, groups=16),
            nn.Conv2d(16, 32, 3, groups=4), nn.GELU(), nn.MaxPool2d(2), nn.Conv2d(32, 8, 1, bias=False),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))  # fmt: skip

    def forward(self, x, labels):
        return F.cross_entropy(self.body(x), labels)


def test_convolutions_have_rules():
    captured = capture_joint(lambda: (Pictures(), (torch.empty(16, 3, 20, 20), torch.empty(16, dtype=torch.long))))
    computation = computation_of(captured.graph.graph)
    assert computation.coverage.share == 1, computation.coverage
    outputs = [400 * 16 * 27, 324 * 16 * 9, 256 * 32 * 36, 64 * 8 * 32]  # places, channels out, weights of each
    first, *others = (2 * 16 * o for o in outputs)
    # forward, and gradients of weights; all but the first also give those of what came in
    assert computation.coverage.flops == 2 * first + 3 * sum(others) + 3 * 2 * 16 * 8 * 4
    assert plan_computation(computation, (2, 2)).status in ("optimal", "feasible")


class Picked(nn.Module):
    """Rows by two lists of numbers, rows put and added, attention with a mask, convolutions that widen."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(8, 32, 64))
        self.query = nn.Linear(64, 64)
        self.wide = nn.ConvTranspose1d(16, 8, 4, stride=2)
        self.apart = nn.ConvTranspose1d(8, 16, 3, groups=4)

    def forward(self, rows, columns):
        x = self.table[rows, columns]  # sample, place, width
        q = self.query(x).unflatten(-1, (4, 16)).transpose(1, 2)
        mask = (rows[:, None, None, :] > 2).expand(-1, 1, 16, 16)
        x = F.scaled_dot_product_attention(q, q, q, attn_mask=torch.where(mask, 0.0, -1.0)).transpose(1, 2).flatten(2)
        y = self.apart(self.wide(x))
        z = torch.zeros_like(y).index_put((rows[0] % 2, columns[0] % 2), y[0, :1].expand(16, -1))
        return (y + z).sum() + y.prod(-1).sum() + y.argmax(-1).sum() * 0.0


def test_rows_that_numbers_pick_masks_and_transposed_convolutions_have_rules():
    numbers = torch.empty(16, 16, dtype=torch.long)
    captured = capture_joint(lambda: (Picked(), (numbers, numbers)))
    computation = computation_of(captured.graph.graph)
    assert not computation.coverage.without_rule
    ops = {s.op for s in computation.steps}
    assert {"index", "index_backward", "index_put", "sdpa", "sdpa_backward", "transposed_convolution",
            "transposed_convolution_backward", "prod", "argmax"} <= ops  # fmt: skip
    plan = plan_computation(computation, (2, 2))
    assert plan.status == "optimal"


def carried_out(function, tensor):
    """What the operations say that stand for a function of one tensor, carried out one by one."""
    from torch.fx.experimental.proxy_tensor import make_fx

    from shardweave_torch.computation import _Converter

    graph = make_fx(lambda x: [function(x)], tracing_mode="fake")(tensor).graph
    values = []

    class Recording(_Converter):
        def add(self, op, inputs, outputs, *, dims=(), index=0, **settings):
            given = [values[i] for i in inputs]
            sizes = outputs[0][0]
            if op == "input":
                values.append(tensor)
            elif op == "constant":
                values.append(-torch.ones(sizes))
            elif op == "view":
                values.append(given[0].reshape(sizes))
            elif op == "permute":
                values.append(given[0].permute(dims))
            elif op == "slice":
                values.append(given[0].narrow(dims[0], index, sizes[dims[0]]))
            elif op == "pad":
                whole = torch.zeros(sizes)
                whole.narrow(dims[0], index, given[0].shape[dims[0]]).copy_(given[0])
                values.append(whole)
            else:
                assert op == "pointwise", op  # of what was there and what was put
                values.append(torch.where(given[1] == 0, given[0], given[1]))
            assert list(values[-1].shape) == sizes
            return super().add(op, inputs, outputs, dims=dims, index=index, **settings)

    converter = Recording(graph, "strided", {})
    converter.run()
    assert not converter.coverage.without_rule, converter.coverage.without_rule
    return values[-1]


STRIDED = [
    ((4, 6), (4, 6), (6, 1), 0),  # as it is
    ((4, 6), (6, 4), (1, 6), 0),  # turned
    ((4, 6, 5), (6, 4), (5, 30), 2),  # one of the last dimension
    ((4, 6), (2, 3, 4), (12, 4, 1), 0),  # another shape
    ((4, 6), (2, 1, 3), (12, 7, 2), 1),  # every other one
    ((24,), (2, 3), (8, 1), 9),  # a part, from the middle
]


@pytest.mark.parametrize("shape, sizes, strides, offset", STRIDED)
@pytest.mark.parametrize("turned", [False, True])
def test_strides_are_views_slices_and_permutations(shape, sizes, strides, offset, turned):
    x = torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)
    x = x.mT if turned and x.dim() > 1 else x
    assert torch.equal(
        carried_out(lambda x: x.as_strided(sizes, strides, offset), x), x.as_strided(sizes, strides, offset)
    )

    def put(x):
        return torch.as_strided_scatter(x, torch.full(sizes, -1.0), sizes, strides, offset)

    assert torch.equal(carried_out(put, x), put(x))


def test_strides_of_windows_that_overlap_have_no_rule():
    x = torch.arange(24.0)
    with pytest.raises(AssertionError, match="as_strided"):
        carried_out(lambda x: x.as_strided((8, 4), (2, 1), 0), x)


def test_placements_are_read_and_written():
    for text in ("S(0)R", "RR", "S(1)S(0)", "R"):
        assert placement_text(placements_of(text)) == text
    assert placements_of("S(1)R") == (Shard(1), Replicate())
    with pytest.raises(ValueError, match="no placement"):
        placements_of("S(0)P")
