"""How ranks find out, before anything runs, whether they would launch the same collectives in the same order."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist


@dataclass(frozen=True)
class Agreement:
    """What ranks came to: whether all launch alike, and if not, why, in a sentence."""

    holds: bool
    why: str = ""


_asked = 0


def agree(signature: dict[str, str], problem: str = "", seconds: float = 300.0) -> Agreement:
    """Whether all ranks of the job found the same signature on each group that they share.

    `signature` has a hash of what is launched by the ranks of each group ("0,1,2"). `problem` is why this rank has no
    plan; then nobody has one. Every rank must ask as often as the others, or these wait for `seconds` and then do
    without. The first rank compares what all told and writes the answer down, or whoever waited for that long; all take
    what is written: so none launches a plan that another one gave up.
    Complexity: what all told is read once, by the first rank; each other one reads the answer.
    """
    global _asked
    if not dist.is_initialized() or dist.get_world_size() == 1 or dist.get_backend() == "fake":
        return Agreement(not problem, problem)
    _asked += 1
    store = dist.PrefixStore(f"shardweave/{_asked}", dist.distributed_c10d._get_default_store())
    rank, world = dist.get_rank(), dist.get_world_size()
    store.set(f"rank{rank}", json.dumps({"signature": signature, "problem": problem}))
    limit = datetime.timedelta(seconds=seconds)
    try:
        if rank != 0:
            store.wait(["answer"], limit)
            return Agreement(**json.loads(store.get("answer")))
        keys = [f"rank{r}" for r in range(world)]
        store.wait(keys, limit)
        found = compare([json.loads(store.get(k)) for k in keys])
    except Exception:  # a store tells a timeout by its own kinds of error
        missing = [r for r in range(world) if not store.check([f"rank{r}"])]
        found = Agreement(False, f"ranks {missing} did not compile this graph within {seconds:g} s")
    answer = json.dumps({"holds": found.holds, "why": found.why})
    return Agreement(**json.loads(store.compare_set("answer", "", answer)))


def compare(told: Sequence[dict[str, Any]]) -> Agreement:
    """Whether what all ranks told is a common plan: no problems, and equal hashes for equal groups."""
    for rank, one in enumerate(told):
        if one["problem"]:
            return Agreement(False, f"rank {rank} has no plan: {one['problem']}")
    first: dict[str, int] = {}  # by group: the first rank that launches on it
    for rank, one in enumerate(told):
        for ranks in one["signature"]:
            first.setdefault(ranks, rank)
    for ranks, rank in first.items():
        for other in map(int, ranks.split(",")):
            if told[other]["signature"].get(ranks) != told[rank]["signature"][ranks]:
                return Agreement(False, f"ranks {rank} and {other} would launch other collectives on [{ranks}]")
    return Agreement(True)
