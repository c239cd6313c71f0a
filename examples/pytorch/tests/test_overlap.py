"""What the pass does to a graph, and that it leaves graphs as they are when anything is wrong."""

import copy
import itertools
import logging
import operator
import pickle

import pytest
import torch
import torch._inductor.config as inductor
import torch.distributed as dist
from llama import Llama, Shape
from support import RandomSchedules, as_text, launches_in
from torch.distributed.device_mesh import init_device_mesh

from shardweave_torch import Machine, OverlapPass, estimate_by_pytorch, export_graph
from shardweave_torch.agreement import compare
from shardweave_torch.capture import capture_training, regathering
from shardweave_torch.overlap import signature_of
from shardweave_torch.sharded import shard_parameters

c10d = torch.ops._c10d_functional


def halves(ranks, world=64, **sizes):
    ranks(world)
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("dp",))
    shape = Shape(**{"layers": 2, "width": 2048, "heads": 16, "hidden": 4096, "words": 32000, "length": 2048} | sizes)

    def make():
        words = torch.empty(1, shape.length, dtype=torch.long)
        return shard_parameters(Llama(shape), mesh, torch.bfloat16), (words, words)

    captured = capture_training(make, regathering)
    return captured.forward, captured.backward


@pytest.mark.parametrize("scheduling", ["prefetch", "best_known"])
def test_communication_hides_and_nothing_gets_worse(ranks, scheduling):
    for graph in halves(ranks):
        before = export_graph(graph.graph, Machine("h100")).tasks.simulate()
        overlap = OverlapPass("h100", scheduling=scheduling, keep=False)
        overlap(graph.graph)
        # what the changed graph is worth is told by exporting it anew
        after = export_graph(graph.graph, Machine("h100")).tasks.simulate()
        assert overlap.reports[0].changed
        assert after["end_to_end"] < before["end_to_end"]
        assert after["exposed"] < before["exposed"]
        assert after["peak"] <= before["peak"]
        assert after["collectives"] == overlap.reports[0].launches


def test_equal_graphs_give_equal_plans_on_every_rank(ranks):
    texts = []
    for rank in (0, 5):
        graph, _ = halves(lambda world, rank=rank: ranks(world, rank))
        OverlapPass("h100")(graph.graph)
        texts.append([(str(n.target), n.name) for n in graph.graph.nodes])
    assert texts[0] == texts[1]


def test_each_of_several_groups_of_the_same_ranks_is_compared(ranks):
    from torch.fx.experimental.proxy_tensor import make_fx

    ranks(8)
    first, second = (dist.new_group(list(range(8))).group_name for _ in range(2))

    def launches(a, b):
        started = [c10d.all_gather_into_tensor(x, 8, g) for g in (first, second) for x in (a, b)]
        return [c10d.wait_tensor(s) for s in started]

    exported = export_graph(make_fx(launches, tracing_mode="fake")(torch.empty(8, 4), torch.empty(16, 4)).graph)
    assert exported.ranks == [list(range(8))] * 2
    order = list(range(len(exported.nodes)))
    on = [[t for t in order if exported.kinds[t] == "collective" and exported.nodes[t].args[2] == g]
          for g in (first, second)]  # fmt: skip
    told = [signature_of(exported, exported.tasks.schedule(order, []))]
    for a, b in on:  # launched on one of the groups in the other order
        swapped = list(order)
        swapped[a], swapped[b] = b, a
        told.append(signature_of(exported, exported.tasks.schedule(swapped, [])))
    for i, j in itertools.combinations(range(3), 2):
        compared = compare([{"signature": told[r], "problem": ""} for r in (i, j, *[i] * 6)])
        assert not compared.holds and "other collectives" in compared.why
    assert compare([{"signature": told[0], "problem": ""}] * 8).holds


def test_errors_leave_the_graph_as_it_is(ranks, caplog):
    graph, _ = halves(ranks)
    before = as_text(graph.graph)
    code = graph.code

    def broken(tasks, budget):
        raise RuntimeError("out of ideas")

    def invalid(tasks, budget):
        return tasks.schedule(list(reversed(range(len(tasks)))), [])

    for planner, told in ((broken, "out of ideas"), (invalid, "the order")):
        with caplog.at_level(logging.WARNING, "shardweave"):
            overlap = OverlapPass("h100", scheduling=planner)
            overlap(graph.graph)
        assert as_text(graph.graph) == before
        assert told in caplog.text
        assert not overlap.reports[0].changed and told in overlap.reports[0].why_unchanged
    graph.recompile()
    assert graph.code == code


def test_errors_in_the_middle_of_a_change_are_undone(ranks, monkeypatch):
    import shardweave_torch.apply as apply

    graph, _ = halves(ranks)
    before = as_text(graph.graph)
    changed = []

    def breaks(graph, pairs):
        original(graph, pairs[: len(pairs) // 2])
        changed.append(as_text(graph))
        raise RuntimeError("half way")

    original = apply.hold
    monkeypatch.setattr(apply, "hold", breaks)
    overlap = OverlapPass("h100")
    overlap(graph.graph)
    assert changed and changed[0] != before
    assert as_text(graph.graph) == before
    assert "half way" in overlap.reports[0].why_unchanged
    graph.graph.lint()
    graph.recompile()


def test_nodes_are_held_as_pytorch_holds_them(ranks, monkeypatch):
    from torch._inductor.fx_passes.control_dependencies import control_deps, preserve_node_ordering
    from torch.utils._ordered_set import OrderedSet

    import shardweave_torch.apply as apply

    def whole(graph):
        """The graph, and what its control dependencies hold, with all notes on their arguments and results."""
        held = {}
        for node in graph.graph.find_nodes(op="call_function", target=control_deps):
            inner = getattr(graph, node.args[1].target)
            held[node.name] = inner.code, [(n.name, sorted(n.meta), str(n.meta.get("val"))) for n in inner.graph.nodes]
        return as_text(graph.graph), held

    def theirs(graph, pairs):
        needs = {}
        for earlier, later in pairs:
            if isinstance(earlier.meta.get("val"), (tuple, list)):
                part = next(u for u in earlier.users if u.target is operator.getitem)
                earlier.append(part)
                earlier = part
            needs.setdefault(later, OrderedSet()).add(earlier)
        preserve_node_ordering(graph, needs)

    for half in halves(ranks):
        mine, other = copy.deepcopy(half), copy.deepcopy(half)
        OverlapPass("h100")(mine.graph)
        with monkeypatch.context() as patch:
            patch.setattr(apply, "hold", theirs)
            OverlapPass("h100")(other.graph)
        mine.graph.lint()
        text, held = whole(mine)
        assert len(held) > 3
        assert (text, held) == whole(other)


def test_a_node_before_what_it_takes_is_refused(ranks):
    from shardweave_torch.apply import check_order, put_in_order

    graph, _ = halves(ranks, layers=1)
    check_order(graph.graph)
    put_in_order(graph.graph, list(reversed(list(graph.graph.nodes))))
    with pytest.raises(RuntimeError, match="does not stand before it"):
        check_order(graph.graph)
    with pytest.raises(RuntimeError):
        graph.graph.lint()


def test_random_schedules_can_be_put_into_the_graph_and_taken_back(ranks):
    from shardweave_torch.apply import Snapshot

    for half in halves(ranks, layers=1):
        before = as_text(half.graph)
        for seed in range(5):
            graph = copy.deepcopy(half)
            snapshot = Snapshot(graph.graph)
            overlap = OverlapPass("h100", scheduling=RandomSchedules(seed, True), memory=2**60)
            overlap(graph.graph)
            assert overlap.reports[0].changed, overlap.reports[0].why_unchanged
            assert as_text(graph.graph) != before
            graph.graph.lint()
            snapshot.restore()
            assert as_text(graph.graph) == before


def test_a_budget_that_nothing_keeps_leaves_the_graph(ranks):
    _, graph = halves(ranks, layers=1)
    before = as_text(graph.graph)

    # a schedule that launches everything first needs more than the original order
    def eager(tasks, budget):
        order = sorted(range(len(tasks)), key=lambda t: (depth[t], t))
        return tasks.schedule(order, [])

    tasks = export_graph(graph.graph, Machine("h100")).tasks
    depth = []
    for t in range(len(tasks)):
        own = 0 if tasks.kind(t) in ("input", "view", "collective") else 1
        depth.append(max((depth[n] for n in tasks.needs(t)), default=0) + own)
    overlap = OverlapPass("h100", scheduling=eager)
    overlap(graph.graph)
    assert "within" in overlap.reports[0].why_unchanged
    assert as_text(graph.graph) == before


def test_graphs_without_collectives_are_not_touched():
    graph = torch.fx.symbolic_trace(lambda x: x + 1)
    overlap = OverlapPass("h100")
    overlap(graph.graph)
    assert overlap.reports == []


def test_uuid_tells_all_that_plans_depend_on():
    one = OverlapPass("h100").uuid()
    assert one == OverlapPass("h100").uuid() == pickle.loads(pickle.dumps(OverlapPass("h100"))).uuid()
    others = [
        OverlapPass("a100"),
        OverlapPass(Machine("h100", collectives="fitted")),
        OverlapPass(Machine("h100", devices_per_node=4)),
        OverlapPass(scheduling="prefetch"),
        OverlapPass(buckets=False),
        OverlapPass(keep=False),
        OverlapPass(memory=1 << 30),
    ]
    assert len({one, *(o.uuid() for o in others)}) == len(others) + 1
    assert OverlapPass(caches=False).uuid() is None
    with pytest.raises(ValueError, match="h100"):
        OverlapPass("abacus")
    with pytest.raises(ValueError, match="best_known, prefetch"):
        OverlapPass(scheduling="best")


def test_functions_of_a_program_are_cached_if_they_can_be_told_apart():
    for setting in ("scheduling", "ranks_of", "estimate"):
        assert OverlapPass(**{setting: lambda *_: None}).uuid() is None
        told = RandomSchedules(1, False), RandomSchedules(2, False), RandomSchedules(1, False)
        one, other, again = (OverlapPass(**{setting: t}).uuid() for t in told)
        assert None not in (one, other) and one == again != other
        assert one != OverlapPass().uuid()
    assert OverlapPass(estimate=estimate_by_pytorch).uuid() not in (None, OverlapPass().uuid())


def test_uuid_tells_who_is_in_the_groups_that_graphs_name(ranks):
    def uuid(world, shape):
        ranks(world)
        init_device_mesh("cpu", shape)
        return OverlapPass().uuid()

    assert uuid(8, (2, 4)) == uuid(8, (2, 4))
    assert len({uuid(8, (8,)), uuid(16, (16,)), uuid(8, (2, 4)), uuid(8, (4, 2))}) == 4


def test_blocks_that_are_sharded_alike_stay_of_one_class(ranks):
    ranks(8)
    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
    model = shard_parameters(Llama(Shape(layers=3, width=64, heads=4, key_heads=4, hidden=64, words=64)), mesh["dp"])
    kinds = {type(m) for m in model.modules()}
    assert len(kinds) == len({k.__mro__[1] if k.__name__.startswith("Sharded") else k for k in kinds})
    with pytest.raises(ValueError, match="2 dimensions"):
        shard_parameters(Llama(Shape(layers=1, width=64, heads=4, key_heads=4, hidden=64, words=64)), mesh)


def prefetching(x, *weights):
    for w in weights:
        x = x @ c10d.wait_tensor(c10d.all_gather_into_tensor(w, 8, dist.group.WORLD.group_name))
    return x


class Prefetch:
    """Launches each gather before the product that needs the one before it."""

    def __call__(self, tasks, budget):
        """Collectives and waits stand before the second product that follows, products keep their order."""
        kinds = [tasks.kind(t) for t in range(len(tasks))]
        at = {k: [t for t, kind in enumerate(kinds) if kind == k] for k in ("collective", "wait", "compute")}
        order = [t for t, kind in enumerate(kinds) if kind == "input"] + [at["collective"][0]]
        for i, product in enumerate(at["compute"]):
            order.append(at["wait"][i])
            order += at["collective"][i + 1 : i + 2]
            order.append(product)
        return tasks.schedule([*order, len(tasks) - 1], [])


def without_simple_overlap():
    """PyTorch 2.13 has no such pass."""
    has = hasattr(inductor.aten_distributed_optimizations, "enable_simple_overlap")
    return {"aten_distributed_optimizations.enable_simple_overlap": False} if has else {}


def test_inductor_keeps_the_order(ranks):
    from torch._inductor.utils import run_and_get_code

    ranks(8)
    tensors = [torch.randn(64, 512), *(torch.randn(64, 512) for _ in range(4))]

    def compiled(overlap):
        """What the generated code calls, in order."""
        torch._dynamo.reset()
        plain = {"force_disable_caches": True, **without_simple_overlap()}
        with inductor.patch(plain | {"post_grad_custom_post_pass": overlap}):
            code = run_and_get_code(torch.compile(prefetching), *tensors)[1][-1]
        names = {"all_gather_into_tensor": "gather", "wait_tensor": "wait", "extern_kernels.mm(": "product"}
        lines = [line for line in code.split("\n") if not line.strip().startswith("#")]
        calls = [line for line in lines if "default(" in line or "extern_kernels" in line]
        return [short for line in calls for name, short in names.items() if name in line]

    def hidden(calls):
        """Gathers with a product between launch and wait."""
        launches, waits = ([i for i, c in enumerate(calls) if c == name] for name in ("gather", "wait"))
        return sum("product" in calls[a:b] for a, b in zip(launches, waits, strict=True))

    overlap = OverlapPass("h100", scheduling=Prefetch(), memory=2**40)
    planned = compiled(overlap)
    assert overlap.reports[0].changed, overlap.reports[0].why_unchanged
    assert planned == ["gather", *["wait", "gather", "product"] * 3, "wait", "product"]
    assert hidden(planned) == 3
    # without control dependencies Inductor makes another order of the same plan
    assert compiled(OverlapPass("h100", scheduling=Prefetch(), memory=2**40, keep=False)) != planned


def test_caches_know_the_pass(ranks, tmp_path, monkeypatch):
    from torch._dynamo.utils import counters

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))  # in which nothing is yet
    ranks(8)
    tensors = [torch.randn(256, 512), *(torch.randn(64, 512) for _ in range(2))]

    def hits(overlap):
        torch._dynamo.reset()
        counters.clear()
        with inductor.patch(post_grad_custom_post_pass=overlap, fx_graph_cache=True):
            torch.compile(prefetching)(*tensors)
        return counters["inductor"]["fxgraph_cache_hit"], len(overlap.reports)

    hits(OverlapPass("h100", memory=2**40))
    assert hits(OverlapPass("h100", memory=2**40)) == (1, 0)
    assert hits(OverlapPass("h100", memory=2**41)) == (0, 1)
    assert hits(OverlapPass("h100", memory=2**40, caches=False)) == (0, 1)


def test_buckets_are_launched_as_one(ranks):
    forward, backward = halves(ranks, width=256, heads=4, key_heads=2, hidden=512, words=512, length=8192)
    for graph in (forward, backward):
        before = launches_in(graph.graph)
        overlap = OverlapPass("h100")
        overlap(graph.graph)
        report = overlap.reports[0]
        after = launches_in(graph.graph)
        assert report.collectives == len(before) and report.launches == len(after) < len(before)
        merged = [n for n in graph.graph.nodes if "coalesced" in str(n.target)]
        parts = sum(len(n.args[0]) for n in merged)
        assert parts + len(after) - len(merged) == len(before)
