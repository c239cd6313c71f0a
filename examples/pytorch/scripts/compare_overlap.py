"""The overlap pass beside PyTorch's own on training graphs of large models, captured without devices.

    python scripts/compare_overlap.py --model 8b

Both passes get the same durations (of an H100, from `shardweave_torch.Machine`), and what they make is timed by the
same rule: the changed graph is exported anew and simulated in the order in which it stands, copies into and out of
buckets included. Seconds are CPU time of the whole pass, control dependencies that keep the order included for both;
searches for cycles of garbage, which look through all graphs that are there, are held off for both.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import gc
import logging
import time
from collections.abc import Callable
from typing import Any

import torch
import torch._inductor.comm_analysis as comm_analysis
import torch.distributed as dist
import torch.utils._runtime_estimation as runtime_estimation
from experts import ExpertModel, ExpertShape
from llama import Llama, Shape
from torch._inductor.fx_passes import fsdp
from torch.distributed.device_mesh import init_device_mesh

from shardweave_torch import Exported, Machine, OverlapPass, export_graph
from shardweave_torch.capture import Captured, capture_training, fake_ranks, on_accelerator, regathering
from shardweave_torch.sharded import shard_parameters

SHAPES = {
    "8b": Shape(),
    "70b": Shape(layers=80, width=8192, heads=64, key_heads=8, hidden=28672),
    "experts": ExpertShape(),  # DeepSeek-V3: experts on all ranks, all else fully sharded over them
}


def captured(shape: Shape | ExpertShape, world: int) -> Captured:
    """Forward and backward graph of fully sharded training in bfloat16, parameters gathered again (ZeRO-3)."""
    fake_ranks(world)
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("dp",))

    def make() -> tuple[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]:
        words = torch.empty(1, shape.length, dtype=torch.long)
        if isinstance(shape, Shape):
            model, ignored = Llama(shape), []
        else:
            model = ExpertModel(shape, dist.group.WORLD)
            ignored = model.of_experts()
        return shard_parameters(model, mesh, torch.bfloat16, ignored=ignored), (words, words)

    return capture_training(make, regathering)


def same_durations(exported: Exported, machine: Machine) -> Callable[..., float | None]:
    """What PyTorch's pass asks for: milliseconds of a node, of a collective of any size too."""
    by_name = {n.name: exported.durations[i] for i, n in enumerate(exported.nodes)}
    kinds = {k: k for k in ("all_gather", "reduce_scatter", "all_reduce", "all_to_all")}

    def estimate(node: torch.fx.Node, override_size: int | None = None) -> float | None:
        name = getattr(node.target, "_opname", "")
        kind = next((k for word, k in kinds.items() if name.startswith(word)), None)
        if override_size is not None and kind is not None:
            # PyTorch names the larger buffer, the machine asks what a rank puts in
            ranks = exported.ranks[0]
            size = override_size // len(ranks) if kind == "all_gather" else override_size
            return machine.communicating(kind, int(size), ranks) * 1e-6
        found = by_name.get(node.name)
        return None if found is None else found * 1e-6

    return estimate


def torch_pass(graph: torch.fx.GraphModule, mode: Any, estimate: Callable[..., float | None], deps: bool) -> float:
    """PyTorch's pass with buckets, as Inductor would call it. Gives the CPU seconds that it took."""
    from torch._inductor.fx_passes.overlap_scheduling import schedule_overlap_bucketing

    gc.collect()
    gc.disable()
    try:
        begin = time.process_time()
        with mode:
            schedule_overlap_bucketing(
                graph,
                collective_bucketing=True,
                insert_overlap_deps=deps,
                compute_estimator="analytical",
                custom_runtime_estimation=estimate,
            )
        return time.process_time() - begin
    finally:
        gc.enable()


def row(name: str, figures: dict[str, int], seconds: float | None) -> str:
    """A line of the table."""
    took = "" if seconds is None else f"{seconds:.2f}"
    return (
        f"{name:34} {took:>8} {figures['collectives']:>9} {figures['end_to_end'] / 1e6:>11.2f} "
        f"{figures['exposed'] / 1e6:>11.2f} {figures['peak'] / 2**30:>9.2f}"
    )


def main() -> None:
    """Captures, runs both passes on copies, prints one table per half."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=sorted(SHAPES), default="8b")
    parser.add_argument("--layers", type=int, help="of the model (default: all)")
    parser.add_argument("--world", type=int, default=64)
    parser.add_argument("--length", type=int, help="of the one sequence of a rank (default: the model's)")
    chosen = parser.parse_args()
    shape = SHAPES[chosen.model]
    fields = {name: n for name in ("length", "layers") if (n := getattr(chosen, name))}
    shape = dataclasses.replace(shape, **fields)
    fsdp.logger.setLevel(logging.ERROR)
    # without devices PyTorch knows no figures: those of the data sheet, its products counting half
    for name in {"get_gpu_dram_gbps", "get_device_dram_gbps"} & vars(runtime_estimation).keys():  # by version
        setattr(runtime_estimation, name, lambda *_, **__: 3350.0)
    runtime_estimation.get_device_tflops = lambda dtype, *_, **__: 494.5 if dtype.itemsize == 2 else 33.5
    comm_analysis.get_gpu_type = lambda: comm_analysis.NVIDIA_GPU_TYPE.HOPPER

    begin = time.process_time()
    graphs = captured(shape, chosen.world)
    took = time.process_time() - begin
    print(f"{chosen.model}, {shape.layers} layers on {chosen.world} ranks: captured in {took:.1f} s of CPU")
    machine = Machine("h100")
    for name, half in (("forward", graphs.forward), ("backward", graphs.backward)):
        exported = export_graph(half.graph, machine)
        print(f"\n{name}: {len(exported.nodes)} nodes\n")
        print(f"{'':34} {'seconds':>8} {'launches':>9} {'step ms':>11} {'exposed ms':>11} {'peak GiB':>9}")
        print(row("as it is", exported.tasks.simulate(), None), flush=True)
        estimate = same_durations(exported, machine)
        for deps in (False, True):
            graph = on_accelerator(copy.deepcopy(half), graphs.fake_mode)
            seconds = torch_pass(graph, graphs.fake_mode, estimate, deps)
            if not deps:
                figures = export_graph(graph.graph, machine).tasks.simulate()
            print(row("PyTorch" + (", order kept" if deps else ""), figures, seconds), flush=True)
        for scheduling in ("prefetch", "best_known"):
            for keep in (False, True):
                graph = copy.deepcopy(half)
                overlap = OverlapPass(machine, scheduling=scheduling, keep=keep)
                begin = time.process_time()
                overlap(graph.graph)
                seconds = time.process_time() - begin
                if not keep:
                    figures = export_graph(graph.graph, machine).tasks.simulate()
                label = f"shardweave, {scheduling}" + (", order kept" if keep else "")
                print(row(label, figures, seconds), flush=True)
        bound = exported.tasks.bound()
        print(f"no order with packed buckets ends before {bound / 1e6:.2f} ms")


if __name__ == "__main__":
    main()
