"""Any order that the task graph allows gives the values of the original one: run node by node, bit by bit."""

import copy

import pytest
import torch
import torch.distributed as dist
from support import random_order
from torch import library
from torch.fx.experimental.proxy_tensor import make_fx

from shardweave_torch import Machine, estimate_by_pytorch, export_graph
from shardweave_torch._operators import kind_of
from shardweave_torch.apply import put_in_order

c10d = torch.ops._c10d_functional
aten = torch.ops.aten


def traced(function, *arguments):
    graph = make_fx(function, tracing_mode="fake")(*arguments)
    graph.graph.eliminate_dead_code(
        lambda n: n.is_impure() or bool(getattr(n.target, "_schema", None) and n.target._schema.is_mutable)
    )
    return graph


def changing(x, w):
    a = x @ w
    view = a.view(-1)
    b = view * 2
    aten.add_.Tensor(view, 1.0)  # changes a and view
    c = a + b.view(8, 8)
    aten.mul_.Tensor(a, 3.0)
    d = view.sum() + c.sum()
    aten.copy_.default(x, c @ w)  # changes an input
    return c, d, x + 1, a


def random_numbers(x, w):
    a = torch.rand_like(x)
    b = x @ w
    c = torch.rand_like(b)
    d = torch.bernoulli(torch.sigmoid(b))
    return a + c, d * b


@pytest.mark.parametrize("function", [changing, random_numbers])
def test_every_allowed_order_gives_the_same_values(function):
    x, w = torch.randn(8, 8), torch.randn(8, 8)
    graph = traced(function, x, w)

    def values(module):
        torch.manual_seed(7)
        mine = x.clone(), w.clone()
        return [*module(*mine), *mine]

    expected = values(graph)
    orders = set()
    for seed in range(40):
        other = copy.deepcopy(graph)
        exported = export_graph(other.graph, Machine("h100"))
        order = random_order(exported.tasks, seed)
        orders.add(tuple(order))
        put_in_order(other.graph, [exported.nodes[t] for t in order])
        other.graph.lint()
        other.recompile()
        for found, wanted in zip(values(other), expected, strict=True):
            assert torch.equal(found, wanted)
    assert len(orders) > 10  # there is something to choose


def test_without_order_by_storage_values_change():
    """The check above can fail: an order by arguments alone gives other values."""
    x, w = torch.randn(8, 8), torch.randn(8, 8)
    graph = traced(changing, x, w)
    expected = graph(x.clone(), w.clone())
    nodes = [n for n in graph.graph.nodes if n.op == "call_function"]
    first = next(n for n in nodes if n.target is aten.mul.Tensor)
    change = next(n for n in nodes if n.target is aten.add_.Tensor)
    change.append(first)  # b = view * 2 behind view += 1
    graph.graph.lint()
    graph.recompile()
    assert not torch.equal(graph(x.clone(), w.clone())[0], expected[0])


def test_nothing_moves_across_what_is_not_understood():
    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    a = graph.call_function(aten.mm.default, (x, x))
    unknown = graph.call_function(lambda x: x, (a,))
    b = graph.call_function(aten.mm.default, (y, y))
    graph.output((a, b))
    for n in graph.nodes:
        if n.op != "output" and n is not unknown:
            n.meta["val"] = torch.empty(4, 4, device="meta")
    exported = export_graph(graph, Machine("h100"))
    assert exported.fences == [unknown.name]
    at = {n: i for i, n in enumerate(exported.nodes)}
    for seed in range(20):
        order = random_order(exported.tasks, seed)
        place = {t: i for i, t in enumerate(order)}
        assert place[at[a]] < place[at[unknown]] < place[at[b]]


def test_what_talks_to_other_ranks_is_never_taken_for_a_function():
    from torch.distributed.tensor import _collective_utils  # noqa: F401  registers an operator

    with library._scoped_library("shardweave_test", "FRAGMENT") as own:
        own.define("dispatch(Tensor x, str group_name) -> Tensor")
        own.define("norm(Tensor x, int[] groups, int? group_size=None) -> Tensor")
        namespaces = torch.ops.shardweave_test, torch.ops._dtensor, torch.ops.c10d_functional, torch.ops.symm_mem
        names = "dispatch", "shard_dim_alltoall", "isend", "fused_all_gather_matmul"
        told = [getattr(n, name).default for n, name in zip(namespaces, names, strict=True) if hasattr(n, name)]
        assert len(told) >= 3
        assert [kind_of(t).what for t in told] == ["fence"] * len(told)
        assert kind_of(torch.ops.shardweave_test.norm.default).what == "plain"
    assert kind_of(aten.native_group_norm.default).what == "plain"
    assert kind_of(aten.convolution.default).what == "formula"


def test_collectives_waits_and_views_are_told(ranks):
    ranks(16)
    group = dist.group.WORLD.group_name

    def step(x, w):
        whole = c10d.wait_tensor(c10d.all_gather_into_tensor(w, 16, group))
        y = x @ whole.view(64, 64)
        return c10d.wait_tensor(c10d.reduce_scatter_tensor(y, "sum", 16, group))

    graph = traced(step, torch.randn(64, 64), torch.randn(4, 64))
    exported = export_graph(graph.graph, Machine("h100"))
    kinds = [exported.kinds[i] for i, n in enumerate(exported.nodes)]
    assert kinds == ["input", "input", "collective", "wait", "view", "compute", "collective", "wait", "output"]
    machine = Machine("h100")
    assert exported.durations[2] == machine.communicating("all_gather", 4 * 64 * 4, list(range(16)))
    assert exported.durations[6] == machine.communicating("reduce_scatter", 64 * 64 * 4, list(range(16)))
    assert exported.durations[5] == machine.computing("product", 2.0 * 64**3, 3 * 64 * 64 * 4, 4)
    figures = exported.tasks.simulate()
    # at the product: one input, the gathered parameter, the result. A wait gives the memory of its collective
    assert figures["peak"] == 3 * 64 * 64 * 4
    assert figures["communication"] == exported.durations[2] + exported.durations[6]


def test_kernels_take_what_an_estimate_says():
    graph = traced(lambda x, w: torch.relu(x @ w) @ w, torch.randn(64, 64), torch.randn(64, 64)).graph
    plain = export_graph(graph)
    other = export_graph(graph, estimate=lambda node: 0.25 if node.target is aten.mm.default else None)
    for node, kind, before, after in zip(plain.nodes, plain.kinds, plain.durations, other.durations, strict=True):
        assert after == (250_000 if kind == "compute" else before), node
    assert plain.kinds.count("compute") == 2
    assert other.tasks.simulate()["compute"] == 500_000 + sum(
        d for d, k in zip(plain.durations, plain.kinds, strict=True) if k != "compute"
    )


def test_pytorchs_own_estimator_can_be_asked(monkeypatch):
    import torch.utils._runtime_estimation as runtime_estimation

    # without a device PyTorch knows no figures; what asks for them has another name from 2.15 on
    figures = {"get_gpu_dram_gbps": 2000.0, "get_device_dram_gbps": 2000.0, "get_device_tflops": 100.0}
    for name in figures.keys() & vars(runtime_estimation).keys():
        monkeypatch.setattr(runtime_estimation, name, lambda *_, figure=figures[name], **__: figure)
    graph = traced(lambda x, w: torch.relu(x @ w), torch.randn(4096, 4096), torch.randn(4096, 4096)).graph
    exported = export_graph(graph, estimate=estimate_by_pytorch)
    product = exported.kinds.index("compute")
    assert exported.durations[product] == pytest.approx(2 * 4096**3 / 100e12 * 1e9, rel=0.5)  # its rates are lower
    assert exported.durations[product] == round(estimate_by_pytorch(exported.nodes[product]) * 1e6)
    assert estimate_by_pytorch(exported.nodes[product + 1]) is None  # relu


def test_a_collective_reads_until_its_wait(ranks):
    """What a collective sends is not changed before it is done."""
    ranks(2)
    group = dist.group.WORLD.group_name

    def step(x, w):
        start = c10d.all_gather_into_tensor(w, 2, group)
        whole = c10d.wait_tensor(start)
        y = x @ whole
        aten.copy_.default(w, y)
        return y

    graph = traced(step, torch.randn(4, 8), torch.randn(4, 8)[:, :8])
    exported = export_graph(graph.graph, Machine("h100"))
    at = {n.target: i for i, n in enumerate(exported.nodes)}
    assert at[c10d.wait_tensor.default] in exported.tasks.needs(at[aten.copy_.default])


def test_symbolic_sizes_count_as_they_were_traced():
    graph = make_fx(lambda x, w: (x @ w) * 2, tracing_mode="symbolic")(torch.randn(32, 16), torch.randn(16, 8))
    exported = export_graph(graph.graph, Machine("h100"))
    products = [i for i, k in enumerate(exported.kinds) if k == "compute"]
    assert len(products) == 1
    assert exported.durations[products[0]] == Machine("h100").computing("product", 2.0 * 32 * 16 * 8, 0, 4)
