"""What blocks keep and make again: equal gradients, and as many bytes saved as planned."""

import contextlib
import inspect
import logging

import pytest
import torch
import torch.utils.checkpoint
from llama import Llama, Shape
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from shardweave_torch.memory import BlockMemory, checkpoint_blocks, plan_memory, repeated_blocks

#: Before 2.14 hooks do not see what selective checkpoints keep.
HOOKS_SEE_ALL = "respect_saved_tensors_hooks" in inspect.signature(torch.utils.checkpoint.checkpoint).parameters

SHAPE = Shape(layers=4, width=128, heads=4, key_heads=2, hidden=256, words=256, length=64)


def llama():
    words = torch.empty(2, SHAPE.length, dtype=torch.long)
    return Llama(SHAPE), (words, words)


def some_words():
    words = torch.randint(0, SHAPE.words, (2, SHAPE.length + 1), generator=torch.Generator().manual_seed(2))
    return words[:, :-1].contiguous(), words[:, 1:].contiguous()


class Products(TorchDispatchMode):
    """Counts products of matrices."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func is torch.ops.aten.mm.default
        return func(*args, **(kwargs or {}))


def step(model, inputs, compiled=False):
    """Loss, gradients, bytes that stay from the forward to the backward pass beside parameters and inputs, and how many
    products the backward pass does."""
    given = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers(), *inputs)}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in given:
            kept[storage.data_ptr()] = tensor  # it stays alive, so that no other one gets its place
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)
    with contextlib.nullcontext() if compiled else hooks:
        loss = model(*inputs)
    saved = sum(t.untyped_storage().nbytes() for t in kept.values())
    kept.clear()
    with contextlib.nullcontext() if compiled else Products() as products:
        loss.backward()
    return loss.detach(), {n: p.grad for n, p in model.named_parameters()}, saved, products and products.count


def both(make, plan, inputs, backend=None):
    """The same step as it is, and as planned."""
    found = []
    for change in (lambda m: m, lambda m: checkpoint_blocks(m, plan)):
        torch.manual_seed(0)
        model = change(make())
        torch.manual_seed(1)
        if backend is not None:
            torch._dynamo.reset()
            model = torch.compile(model, fullgraph=True, backend=backend)
        found.append(step(model, inputs, backend is not None))
    return found


def compare(plain, planned):
    """Equal losses and gradients, bit by bit."""
    assert torch.equal(plain[0], planned[0])
    for name, gradient in plain[1].items():
        assert torch.equal(gradient, planned[1][name]), name


def limits(step, count=4):
    """Memory between the least that a step can do with and what it needs without a limit."""
    free, least = step.plan(2**40), 1
    while True:  # each refusal names what one part needs
        try:
            step.plan(least, least=1024)
            break
        except ValueError as told:
            assert f"found {least}" in str(told)
            least = int(str(told).split(" needs ")[1].split()[0])
    return [least + (free.peak - least) * i // (count - 1) for i in range(count)]


def test_gradients_are_equal_and_saved_bytes_are_as_planned(caplog):
    inputs, memory_of = some_words(), BlockMemory(llama)
    free = memory_of.plan(2**40)
    assert not free.blocks and free.more_time == 0 and free.saved == free.saved_without
    times, bytes_, partial, skipped = [], [], 0, 0
    caplog.set_level(logging.WARNING, "shardweave")
    for memory in limits(memory_of):
        plan = memory_of.plan(memory, least=1024)
        assert plan.peak <= memory and plan.lower_bound <= plan.more_time
        plain, planned = both(lambda: Llama(SHAPE), plan, inputs)
        compare(plain, planned)
        assert plain[2] == plan.saved_without
        assert planned[2] == plan.saved or not HOOKS_SEE_ALL
        products = [c for p in plan.blocks.values() for c in p.calls if c.operator is torch.ops.aten.mm.default]
        assert planned[3] == plain[3] + sum(c.again for c in products)
        skipped += sum(c.skipped for c in products)
        times.append(plan.more_time)
        bytes_.append(plan.saved)
        partial += any(any(c.kept for c in p.calls) and any(c.again for c in p.calls) for p in plan.blocks.values())
    assert times == sorted(times, reverse=True) and times[0] > 0 and times[-1] == 0
    assert bytes_[0] < bytes_[-1] == free.saved_without
    assert partial  # not all or nothing
    assert skipped  # PyTorch by itself would do these, too
    assert "otherwise than traced" not in caplog.text


def test_compiled_programs_make_the_same_again():
    memory_of = BlockMemory(llama, compiled=True)
    plan = memory_of.plan(limits(memory_of)[1], least=1024)
    assert len(plan.blocks) == SHAPE.layers
    compare(*both(lambda: Llama(SHAPE), plan, some_words(), "aot_eager_decomp_partition"))


class Stack(nn.Module):
    """Blocks with dropout, which must be the same when it is made again."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(
            *(nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Dropout(0.3), nn.Linear(256, 64)) for _ in range(3))
        )

    def forward(self, x):
        return self.blocks(x).square().mean()


def test_random_numbers_are_made_again_as_they_were_and_what_was_not_traced_is_named(caplog):
    def make():
        return Stack(), (torch.empty(512, 64),)

    assert repeated_blocks(Stack())[0] == "blocks.0"
    memory_of = BlockMemory(make)
    plan = memory_of.plan(limits(memory_of)[1], least=1024)
    assert plan.blocks and plan.saved < plan.saved_without
    with caplog.at_level(logging.WARNING, "shardweave"):
        plain, planned = both(Stack, plan, (torch.randn(512, 64, generator=torch.Generator().manual_seed(3)),))
    compare(plain, planned)
    assert planned[2] < plain[2] or not HOOKS_SEE_ALL
    assert "block blocks.0 runs aten.bernoulli_" in caplog.text  # traced is a fused dropout


def test_blocks_that_are_not_there_are_named():
    with pytest.raises(ValueError, match="Linear has no list of modules"):
        repeated_blocks(nn.Linear(2, 2))
    with pytest.raises(AttributeError, match="strata"):
        plan_memory(llama, 2**40, blocks=["strata.0"])
