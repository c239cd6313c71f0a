"""What less memory costs: plans of what the blocks of a LLaMA keep and make again, for one limit after the other.

    python scripts/memory_frontier.py --layers 32 --gib 72 64 56

One device, one sequence, all in bfloat16; traced without devices, times are those of an H100.
"""

from __future__ import annotations

import argparse
import dataclasses
import time

import torch
from llama import Llama, Shape

from shardweave_torch.memory import BlockMemory


def main() -> None:
    """Traces once, prints a line per limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--gib", type=float, nargs="+", default=[79, 72, 64, 56, 48, 40])
    chosen = parser.parse_args()
    shape = dataclasses.replace(Shape(), layers=chosen.layers, length=chosen.length)

    def make() -> tuple[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]:
        torch.set_default_dtype(torch.bfloat16)
        try:
            words = torch.empty(1, shape.length, dtype=torch.long)
            return Llama(shape), (words, words)
        finally:
            torch.set_default_dtype(torch.float32)

    begin = time.perf_counter()
    blocks = BlockMemory(make)
    print(f"traced in {time.perf_counter() - begin:.1f} s; without a limit: {blocks.plan(2**60)}")
    for gib in chosen.gib:
        begin = time.process_time()
        try:
            plan = blocks.plan(int(gib * 2**30))
            proven = "proven" if plan.more_time == plan.lower_bound else f"at least {plan.lower_bound * 1e-6:.2f} ms"
            print(f"{gib:g} GiB: {plan}; {proven}, in {time.process_time() - begin:.2f} s")
        except ValueError as refused:
            print(f"{gib:g} GiB: {refused}")


if __name__ == "__main__":
    main()
