"""Plans as arguments of `parallelize_module` and `fully_shard`: the numbers are those of the unplanned program."""

import math
import re
from dataclasses import replace

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from gloo import on_ranks
from llama import Llama, Shape
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel

from shardweave_torch.parallel import parallelization
from shardweave_torch.placement import plan_placement

SHAPE = Shape(layers=2, width=128, heads=4, key_heads=2, hidden=256, words=256, length=32)
BATCH = 8


#: Large enough that products are worth cutting, small enough that samples are worth it elsewhere; same names.
LARGE = Shape(layers=2, width=4096, heads=32, key_heads=8, hidden=8192, words=32000, length=2048)


def planned(mesh, shape=SHAPE, dtype=torch.float32, **demands):
    def make():
        words = torch.empty(BATCH, shape.length, dtype=torch.long)
        torch.set_default_dtype(dtype)
        try:
            return Llama(shape), (words, words)
        finally:
            torch.set_default_dtype(torch.float32)

    plan = plan_placement(make, mesh, uses=True, **demands)
    with torch.device("meta"):
        return plan, parallelization(Llama(shape), plan)


def in_sequence(mesh, **demands):
    """A plan whose values between products are cut along the sequence, by the dimension of the products."""
    plan, _ = planned(mesh, inputs="S(0)R", **demands)
    for step in plan.steps:
        between = step.module == "" or step.module.endswith(("norm", "before_attention", "before_feed"))
        if between and not step.backward and len(step.sizes) == 3 and step.op != "view":
            whole = [len(plan.steps[i].sizes) < 3 for i in step.inputs]  # weights
            plan.uses[step.name] = (["RR" if w else "S(0)S(1)" for w in whole], ["S(0)S(1)"])
    with torch.device("meta"):
        return plan, parallelization(Llama(SHAPE), plan)


def along_two(mesh, **demands):
    """A plan whose tensor dimension is that of a smaller mesh, in two."""
    plan, _ = planned((mesh[0], mesh[1] * mesh[2]), inputs="S(0)R", **demands)

    def in_two(text):
        return text + "".join(re.findall(r"S\(\d+\)|R|P(?:\(\w+\))?", text)[-1:])

    uses = {n: ([in_two(t) for t in takes], [in_two(t) for t in gives]) for n, (takes, gives) in plan.uses.items()}
    placed = {n: (*p, p[-1]) for n, p in plan.parameters.items()}
    inputs = {n: (*p, p[-1]) for n, p in plan.inputs.items()}
    plan = replace(plan, mesh=mesh, parameters=placed, inputs=inputs, uses=uses)
    with torch.device("meta"):
        return plan, parallelization(Llama(SHAPE), plan)


def losses(model, pieces, piece, group, steps=20):
    """Of training steps on pieces of the same batches; `group` has one rank per piece."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    data = torch.Generator().manual_seed(1)
    found = []
    for _ in range(steps):
        words = torch.randint(0, SHAPE.words, (BATCH, SHAPE.length + 1), generator=data).chunk(pieces)[piece]
        loss = model(words[:, :-1], words[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss = loss.detach().clone()
        if group is not None:
            dist.all_reduce(loss, group=group)
        found.append(loss.item() / pieces)
    return found


def trains_alike(mesh_shape, plan_it, demands):
    torch.manual_seed(0)
    plain = losses(Llama(SHAPE), 1, 0, None)
    torch.manual_seed(0)
    model = Llama(SHAPE)
    _, made = plan_it(mesh_shape, **demands)
    names = ("outer", "inner", "innermost")[: len(mesh_shape)]
    mesh = init_device_mesh("cpu", mesh_shape, mesh_dim_names=names)
    whole = {n: p.detach().clone() for n, p in model.named_parameters()}
    made.apply(model, mesh)
    for name, parameter in model.named_parameters():  # also of what is cut along both dimensions
        held = parameter.full_tensor() if isinstance(parameter, DTensor) else parameter
        assert torch.equal(held, whole[name]), name
    data = made.data_mesh(mesh)
    cut = {f"{name}.weight" for name in made.styles}
    assert all(isinstance(p, DTensor) for n, p in model.named_parameters() if data is not None or n in cut)
    if data is None:
        found = losses(model, 1, 0, None)
    else:
        flat = data if data.ndim == 1 else data._flatten("samples")
        found = losses(model, flat.size(), flat.get_local_rank(), flat.get_group())
    # sums of other parts in another order: float32 keeps about seven digits, and AdamW makes differences grow
    for step, (mine, wanted) in enumerate(zip(found, plain, strict=True)):
        assert abs(mine - wanted) <= 2e-5 * wanted, (step, mine, wanted)
    if dist.get_rank() == 0:
        print(mesh_shape, demands, max(abs(a / b - 1) for a, b in zip(found, plain, strict=True)))


@pytest.mark.parametrize(
    ("mesh", "plan_it", "demands"),
    [
        ((2, 2), planned, {"inputs": "S(0)R"}),
        ((2, 2), planned, {"inputs": "S(0)S(0)"}),
        ((2,), planned, {"inputs": "R"}),
        ((2, 2), planned, {"inputs": "S(0)R", "shape": LARGE}),
        ((2, 2), in_sequence, {}),
        ((1, 2, 2), along_two, {}),
        ((2, 2, 1), along_two, {}),
    ],
    ids=[
        "tensor and data",
        "data alone",
        "tensor alone",
        "samples between products",
        "sequence between products",
        "two tensor dimensions",
        "two tensor dimensions and data",
    ],  # fmt: skip
)
def test_twenty_steps_give_the_losses_of_the_unplanned_run(mesh, plan_it, demands):
    on_ranks(math.prod(mesh), trains_alike, mesh, plan_it, demands)


def test_products_are_cut_as_planned():
    plan, made = planned((2, 2), inputs="S(0)R")
    assert made.tensor == (1,) and made.sharded == (0,) and not made.replicated
    for layer in range(SHAPE.layers):
        for name in ("attention.query", "attention.key", "attention.value", "feed.gate", "feed.up"):
            style = made.styles[f"layers.{layer}.{name}"]
            assert isinstance(style, ColwiseParallel) and style.output_layouts == (Shard(-1),)
        for name in ("attention.out", "feed.down"):
            style = made.styles[f"layers.{layer}.{name}"]
            assert isinstance(style, RowwiseParallel) and style.input_layouts == (Shard(-1),)
    # what is stored cut along the tensor dimension and used whole is named
    assert any("norm.weight is stored cut along mesh dimension 1" in what for what in made.left_out)


def test_products_that_are_cut_alike_along_two_dimensions_are_cut_along_both_as_one():
    plan, made = along_two((2, 2, 1))
    _, small = planned((2, 2), inputs="S(0)R")
    assert made.tensor == (1, 2) and made.sharded == (0,) and small.tensor == (1,)
    assert {n: str(s) for n, s in made.styles.items()} == {n: str(s) for n, s in small.styles.items()}
    assert not any("alike" in what for what in made.left_out)
    for step in plan.steps:  # one product is cut along one of them
        if step.module == "layers.1.feed.up" and not step.backward:
            takes, gives = plan.uses[step.name]
            plan.uses[step.name] = ([re.sub(r"S\(\d+\)$", "R", t) for t in takes], gives)
    with torch.device("meta"):
        made = parallelization(Llama(SHAPE), plan)
    assert made.tensor == (1, 2) and "layers.1.feed.up" not in made.styles and "layers.0.feed.up" in made.styles
    said = "products of layers.1.feed.up are not cut alike along mesh dimensions 1 and 2: they are used whole"
    assert said in made.left_out


def test_values_between_products_are_cut_as_planned():
    _, made = planned((2, 2), shape=LARGE, inputs="S(0)R")
    for name in ("norm", "layers.0.before_attention", "layers.1.attention.query", "layers.0.attention.out"):
        assert made.styles[name].sequence_sharding == (Shard(0),)  # samples of their own
    assert made.styles["layers.0.feed"].input_layouts == (Shard(0),)  # gathered for what is cut by columns
    assert made.styles["layers.0.feed.down"].output_layouts == (Shard(0),)
    _, made = in_sequence((2, 2))
    assert made.styles["layers.1.attention"].input_layouts == (Shard(1), None, None)
    assert made.styles["layers.1.attention.query"].input_layouts == (Replicate(),)
    assert made.styles["layers.1.attention.out"].output_layouts == (Shard(1),)
    assert made.styles["layers.1.before_feed"].sequence_sharding == (Shard(1),)
    assert made.styles["embedding"].prepare_module_output.desired_output_layouts == (Shard(1),)
    assert not any("results lie cut" in what for what in made.left_out)
    _, halves = in_sequence((2, 2), dtype=torch.bfloat16)  # norms compute in float32
    assert {n: str(s) for n, s in halves.styles.items()} == {n: str(s) for n, s in made.styles.items()}


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Outer(nn.Module):
    """Normalized values, which go to a module around products as they are, or not."""

    def __init__(self, direct):
        super().__init__()
        self.embedding, self.norm, self.inner = nn.Embedding(64, 32), nn.LayerNorm(32), Inner()
        self.direct = direct

    def forward(self, words, targets):
        x = self.norm(self.embedding(words))
        return F.cross_entropy(self.inner(x if self.direct else x * 1.5).flatten(0, 1), targets.flatten())


@pytest.mark.parametrize("direct", [True, False])
def test_what_no_module_is_called_with_stays_whole(direct):
    words = torch.empty(2, 16, dtype=torch.long)
    plan = plan_placement(lambda: (Outer(direct), (words, words)), (2,), uses=True, inputs="R")
    for step in plan.steps:
        takes, gives = plan.uses[step.name]
        if step.module == "norm" and step.op in ("layer_norm", "getitem"):
            plan.uses[step.name] = (["S(1)", *takes[1:]], ["S(1)"] * len(gives))
        elif step.module == "" and not step.backward and step.op.startswith("mul"):
            plan.uses[step.name] = (["S(1)"], ["S(1)"])
        elif step.module.endswith("up") and step.op == "einsum":
            plan.uses[step.name] = (["R", "S(1)"], ["S(1)"])
    made = parallelization(Outer(direct), plan)
    if direct:
        assert made.styles["inner"].input_layouts == (Shard(1),)
        assert made.styles["norm"].sequence_sharding == (Shard(1),)
    else:
        assert "norm" not in made.styles and "inner" not in made.styles
        assert any("results lie cut" in what for what in made.left_out)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(4096, 1024)
        self.blocks = nn.ModuleList(nn.Linear(1024, 1024, bias=False) for _ in range(2))
        self.head = nn.Linear(1024, 4096, bias=False)
        self.head.weight = self.embedding.weight
        self.scale = nn.Parameter(torch.ones(1024))

    def forward(self, words, targets):
        x = self.embedding(words) * self.scale
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


def test_what_cannot_be_expressed_is_named():
    words = torch.empty(2, 16, dtype=torch.long)
    plan = plan_placement(lambda: (Tied(), (words, words)), (2,), uses=True, inputs="R")
    made = parallelization(Tied(), plan)
    assert "head" not in made.styles and "embedding" not in made.styles
    assert any("is shared" in what for what in made.left_out), made.left_out
    with pytest.raises(ValueError, match="uses=True"):
        parallelization(Tied(), plan_placement(lambda: (Tied(), (words, words)), (2,)))
    more = torch.empty(8, 16, dtype=torch.long)
    without = plan_placement(lambda: (Tied(), (more, more)), (2, 2), uses=True, share=None, inputs="S(0)S(0)")
    made = parallelization(Tied(), without)
    assert made.sharded == (0, 1) and any("stored" in what for what in made.left_out)


def test_meshes_that_do_not_fit_are_refused(ranks):
    _, made = planned((2, 2), inputs="S(0)R")
    ranks(8)
    with pytest.raises(ValueError, match="mesh"):
        made.apply(Llama(SHAPE), init_device_mesh("cpu", (8,), mesh_dim_names=("all",)))
    with pytest.raises(ValueError, match="names"):
        made.data_mesh(init_device_mesh("cpu", (2, 4)))
    assert made.data_mesh(init_device_mesh("cpu", (2, 4), mesh_dim_names=("a", "b"))).size() == 2
    assert Replicate() not in made.styles["layers.0.feed.down"].input_layouts
