"""Jobs of several processes on this machine, and why their gloo groups have one thread each.

    python scripts/gloo.py --ranks 4 --threads 2

PyTorch gives each gloo group two threads. On three ranks and more, all-gathers that are in flight at once on the two
end in writes out of bounds: processes die of SIGSEGV or SIGABRT, sooner or later. This script shows it with PyTorch
alone. With one thread collectives run one after another in the order of their launch, as on one stream of NCCL, and
none dies.
"""

from __future__ import annotations

import argparse
import datetime
import os
import random
import socket
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist


def on_ranks(ranks: int, work: Callable[..., Any], *arguments: Any, threads: int = 1) -> None:
    """Calls `work(*arguments)` in so many processes that are the ranks of a gloo job, and waits for them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(_as_rank, (ranks, port, threads, work, arguments), nprocs=ranks)


def _as_rank(
    rank: int, ranks: int, port: int, threads: int, work: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TORCHINDUCTOR_COMPILE_THREADS="1")
    torch.set_num_threads(1)
    dist.init_process_group(_backend(threads), rank=rank, world_size=ranks)
    try:
        work(*arguments)
    finally:
        dist.destroy_process_group()


def _backend(threads: int) -> str:
    """Registers gloo with so many threads for each group; returns its name."""

    def create(store: Any, rank: int, ranks: int, timeout: datetime.timedelta) -> Any:
        options = dist.ProcessGroupGloo._Options()
        options._timeout, options._threads = timeout, threads
        options._devices = [dist.ProcessGroupGloo.create_default_device()]
        return dist.ProcessGroupGloo(store, rank, ranks, options)

    name = f"gloo_{threads}"
    dist.Backend.register_backend(name, create, devices=["cpu"])
    return name


def _gather(rounds: int) -> None:
    """All-gathers of several sizes, at most seven in flight; each is waited for at a moment drawn by chance."""
    rank, ranks, group = dist.get_rank(), dist.get_world_size(), dist.group.WORLD.group_name
    chance = random.Random(0)
    for _ in range(rounds):
        flying: list[tuple[int, torch.Tensor, torch.Tensor]] = []
        for value in range(24):
            given = torch.full((chance.choice([16, 256, 1024, 16384]),), float(value + 100 * rank))
            flying.append((value, given, torch.ops._c10d_functional.all_gather_into_tensor(given, ranks, group)))
            while len(flying) > 6 or (value == 23 and flying):
                value_of, _, found = flying.pop(chance.randrange(len(flying)))
                firsts = torch.ops._c10d_functional.wait_tensor(found).view(ranks, -1)[:, 0]
                assert firsts.tolist() == [value_of + 100 * r for r in range(ranks)], "another gather's values"
    if rank == 0:
        print(f"{24 * rounds} all-gathers on {ranks} ranks: all values are right")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ranks", type=int, default=4)
    options.add_argument("--threads", type=int, default=1, help="of each group; PyTorch's own number is 2")
    options.add_argument("--rounds", type=int, default=400, help="of 24 all-gathers each")
    chosen = options.parse_args()
    on_ranks(chosen.ranks, _gather, chosen.rounds, threads=chosen.threads)
