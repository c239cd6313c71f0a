"""Trains a small LLaMA on gloo processes, without and with the overlap pass, and compares losses and gradients.

    python scripts/train_llama.py --ranks 4 --steps 20

Each rank is a process on this machine; parameters are sharded over all of them. Gloo's times say nothing about those
of accelerators: what is shown is that the planned program gives the same numbers, bit by bit.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import time
from dataclasses import dataclass, field
from typing import Any

import torch
import torch._inductor.config as inductor
import torch.distributed as dist
from gloo import on_ranks
from llama import SMALL, Llama
from torch.distributed.device_mesh import init_device_mesh

from shardweave_torch import OverlapPass
from shardweave_torch.sharded import shard_parameters


@dataclass
class Run:
    """What one training run gave on one rank."""

    losses: list[float] = field(default_factory=list)
    gradients: list[str] = field(default_factory=list)  #: a hash of all gradients, by step
    seconds: list[float] = field(default_factory=list)  #: by step; the first one compiles
    plans: list[str] = field(default_factory=list)


def bits(tensor: torch.Tensor) -> bytes:
    """The bytes of a tensor's elements; numpy, which PyTorch does without, is not asked."""
    tensor = tensor.detach().clone(memory_format=torch.contiguous_format)
    return ctypes.string_at(tensor.data_ptr(), tensor.nbytes)


def _hash_of_gradients(model: torch.nn.Module) -> str:
    digest = hashlib.sha256()
    for _, parameter in sorted(model.named_parameters()):
        gradient = parameter.grad
        digest.update(b"none" if gradient is None else bits(gradient.to_local()))
    return digest.hexdigest()


def train(steps: int, overlap: OverlapPass | None, **settings: Any) -> Run:
    """Trains on the ranks of the job that is there; every run begins with the same parameters and data."""
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("dp",))
    model = shard_parameters(Llama(SMALL), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.Generator().manual_seed(1)
    run = Run()
    torch._dynamo.reset()
    with inductor.patch(post_grad_custom_post_pass=overlap, **settings):
        step = torch.compile(model, fullgraph=True)
        for _ in range(steps):
            begin = time.perf_counter()
            words = torch.randint(0, SMALL.words, (2 * world, SMALL.length + 1), generator=data).chunk(world)[rank]
            loss = step(words[:, :-1], words[:, 1:])
            loss.backward()
            run.gradients.append(_hash_of_gradients(model))
            optimizer.step()
            optimizer.zero_grad()
            loss = loss.detach().clone()
            dist.all_reduce(loss)
            run.losses.append(loss.item() / world)
            run.seconds.append(time.perf_counter() - begin)
    if overlap is not None:
        run.plans = [str(r) for r in overlap.reports]
    return run


def _compare(steps: int, buckets: bool) -> None:
    plain = train(steps, None)
    planned = train(steps, OverlapPass("h100", scheduling="prefetch", buckets=buckets))
    if dist.get_rank() == 0:
        for name, run in (("as it is", plain), ("planned", planned)):
            print(f"{name:9} loss {run.losses[0]:.6f} -> {run.losses[-1]:.6f}, a step takes {min(run.seconds):.4f} s")
        print(*planned.plans, sep="\n")
    same = plain.losses == planned.losses and plain.gradients == planned.gradients
    print(f"rank {dist.get_rank()}: losses and gradients of {steps} steps are {'equal' if same else 'DIFFERENT'}")
    if not same:
        raise SystemExit(1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--no-buckets", action="store_true", help="move collectives, merge none")
    chosen = parser.parse_args()
    on_ranks(chosen.ranks, _compare, chosen.steps, not chosen.no_buckets)
