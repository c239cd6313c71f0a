"""What less memory costs: plans of what the blocks of a LLaMA keep and make again, for one limit after the other.

    python scripts/memory_frontier.py --layers 32 --gib 72 64 56
    python scripts/memory_frontier.py --layers 32 --gib 72 64 56 --measure

One device, one sequence, all in bfloat16; traced without devices, times are those of an H100, or of `--machine`. With
`--measure` each plan is run on the device that is there: forward and backward parts, and what PyTorch's allocator gives
away at most.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import statistics
import time
from collections.abc import Iterator

import torch
from llama import Llama, Shape
from torch.nn.attention import SDPBackend, sdpa_kernel

from shardweave_torch.memory import BlockMemory, MemoryPlan, checkpoint_blocks


@contextlib.contextmanager
def in_bfloat16(device: str) -> Iterator[None]:
    """What is made is in bfloat16, on this device."""
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(torch.float32)


def attention_by(kernel: str | None) -> contextlib.AbstractContextManager[None]:
    """While this lasts attention runs by kernels of that library."""
    named = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
    return sdpa_kernel(named[kernel]) if kernel else contextlib.nullcontext()


def measured(shape: Shape, plan: MemoryPlan, steps: int = 5) -> str:
    """Runs forward and backward parts with a plan, and tells the median time and the peak."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    try:
        with in_bfloat16("cuda"):
            model = checkpoint_blocks(Llama(shape), plan)
            words = torch.randint(0, shape.words, (1, shape.length))
        times = []
        for _ in range(2 + steps):
            model.zero_grad()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            model(words, words).backward()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
    except torch.OutOfMemoryError:
        return "measured: out of memory"
    peak = torch.cuda.max_memory_allocated() / 2**30
    return f"measured: a step takes {statistics.median(times[2:]) * 1e3:.2f} ms, peak {peak:.2f} GiB"


def main() -> None:
    """Traces once, prints a line per limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--gib", type=float, nargs="+", default=[79, 72, 64, 56, 48, 40])
    parser.add_argument("--machine", default="h100", help="whose times are modelled")
    parser.add_argument("--measure", action="store_true", help="run every plan on the device")
    parser.add_argument("--attention", choices=("cudnn", "flash"), help="by which kernels (default: PyTorch's choice)")
    chosen = parser.parse_args()
    with attention_by(chosen.attention):
        _plan_each(chosen)


def _plan_each(chosen: argparse.Namespace) -> None:
    shape = dataclasses.replace(Shape(), layers=chosen.layers, length=chosen.length)

    def make() -> tuple[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]:
        # as the device runs it: kernels of attention are others on processors
        with in_bfloat16("cuda" if chosen.measure else "cpu"):
            words = torch.empty(1, shape.length, dtype=torch.long)
            return Llama(shape), (words, words)

    begin = time.perf_counter()
    blocks = BlockMemory(make, chosen.machine)
    unlimited = blocks.plan(2**60)
    print(f"traced in {time.perf_counter() - begin:.1f} s; without a limit: {unlimited}")
    if chosen.measure:
        print(measured(shape, unlimited))
    for gib in chosen.gib:
        begin = time.process_time()
        try:
            plan = blocks.plan(int(gib * 2**30))
            proven = "proven" if plan.more_time == plan.lower_bound else f"at least {plan.lower_bound * 1e-6:.2f} ms"
            print(f"{gib:g} GiB: {plan}; {proven}, in {time.process_time() - begin:.2f} s")
            if chosen.measure:
                print(measured(shape, plan))
        except ValueError as refused:
            print(f"{gib:g} GiB: {refused}")


if __name__ == "__main__":
    main()
