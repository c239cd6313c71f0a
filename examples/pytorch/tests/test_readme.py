"""The programs on the package's own page run as they stand there, on processors and with ranks that do not exist."""

import os
import re
from pathlib import Path

import pytest
import torch
import torch._inductor.config as inductor
from llama import SMALL, Llama
from test_autoparallel import Optimizer
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor

PAGE = Path(__file__).parent.parent / "README.md"


def blocks():
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)


class AutoParallel:
    """What the page asks of that package."""

    def __init__(self, model, input_fn, mesh):
        self.sharding_optimizer, self.wanted = Optimizer(1), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def add_input_constraints(self, wanted):
        self.wanted = wanted

    def apply_placement(self, placement):
        return placement


def make():
    words = torch.zeros(64, SMALL.length, dtype=torch.long)
    return Llama(SMALL), (words, words)


def given(block):
    """The names that a program takes as given."""
    words = torch.zeros(64, SMALL.length, dtype=torch.long)
    names = {"torch": torch, "make": make, "make_model_with_loss": lambda: Llama(SMALL), "model": Llama(SMALL)}
    names.update(words=words, targets=words)
    if "shard_parameters" in block:
        names["mesh"] = init_device_mesh("cpu", (64,), mesh_dim_names=("dp",))
    if "AutoParallel" in block:
        names.update(AutoParallel=AutoParallel, input_fn=None, mesh=None, x_sharding=None)
    return names


@pytest.mark.parametrize("number", range(len(blocks())))
def test_a_program_of_the_page_runs(number, ranks):
    block = blocks()[number].replace('"cuda"', '"cpu"')
    ranks(64)
    names = given(block)
    with inductor.patch(post_grad_custom_post_pass=None):
        exec(compile(block, f"README.md, program {number}", "exec"), names)
        if "shard_parameters" in block:
            assert isinstance(names["model"], nn.Module) and callable(names["step"])
            if "SHARDWEAVE_INDUCTOR" in os.environ:
                names["step"](names["words"][:1], names["targets"][:1]).backward()
                assert inductor.post_grad_custom_post_pass.reports
    if "distribute_parameters" in block:
        assert all(isinstance(p, DTensor) for p in names["model"].parameters())
    if "parallelization" in block:
        assert names["made"].sharded and all(isinstance(p, DTensor) for p in names["model"].parameters())
    if "AutoParallel" in block:
        assert names["answer"].status == "optimal" and names["parallel"] is names["answer"].placement
    if "plan_memory" in block:
        assert names["plan"].peak <= names["plan"].memory and isinstance(names["model"], nn.Module)


def test_each_way_in_stands_on_the_page():
    text = "\n".join(blocks())
    for name in ("OverlapPass", "plan_placement", "parallelization", "optimize_sharding", "plan_memory"):
        assert name in text
