"""Measures training steps of LLaMA models on the devices at hand, as a table that `predict_training` reads.

    python scripts/measure_steps.py --out steps.csv 1b:8192x2 1b:8192x2/full/compiled 8b@6:4096x2/selective_op
    torchrun --nproc-per-node 8 scripts/measure_steps.py --out steps.csv 8b:8192x2/selective_op/compiled
    predict_training steps.csv --each

A configuration is MODEL[@LAYERS]:TOKENSxSEQUENCES[/CHECKPOINTING][/compiled], per device and step; checkpointing is
`full` or `selective_op`. Steps are those of torchtitan: FSDP2 over all devices, parameters computed with in bfloat16
and kept in float32, gradients reduced in float32 and clipped, AdamW in one kernel, the loss in float32. What cannot be
held is told, and left out.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import datetime
import functools
import gc
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812
from llama import Llama, Shape
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

MODELS = {
    "tiny": Shape(layers=2, width=128, heads=4, key_heads=2, hidden=256, words=512),
    "1b": Shape(layers=16, width=2048, heads=32, key_heads=8, hidden=8192),
    "3b": Shape(layers=28, width=3072, heads=24, key_heads=8, hidden=8192),
    "8b": Shape(),
}

COLUMNS = [
    *("id", "source", "date", "model", "hidden", "layers", "heads", "kv_heads", "ffn", "vocab", "moe"),
    *("gpu", "gpus", "gpus_per_node", "inter_node_GBps_per_gpu", "precision", "seq_len", "micro_batch_per_dp_rank"),
    *("grad_accum", "global_batch", "fsdp_or_zero", "dp", "tp", "sp", "pp", "cp", "activation_checkpointing"),
    *("compile_or_framework", "step_time_s", "memory_gib", "notes"),
]


@dataclasses.dataclass(frozen=True)
class Configuration:
    """What is measured: a model, a batch, and how it is run."""

    model: str
    shape: Shape
    sequences: int
    checkpointing: str
    compiled: bool

    @staticmethod
    def parse(words: str) -> Configuration:
        """Reads one from a command line."""
        form = re.fullmatch(
            r"(?P<model>\w+)(@(?P<layers>\d+))?:(?P<tokens>\d+)x(?P<sequences>\d+)"
            r"(/(?P<checkpointing>full|selective_op))?(?P<compiled>/compiled)?",
            words,
        )
        if form is None or form["model"] not in MODELS:
            raise argparse.ArgumentTypeError(
                f"'{words}' is no MODEL[@LAYERS]:TOKENSxSEQUENCES[/full|/selective_op][/compiled], "
                f"with a MODEL of {', '.join(MODELS)}"
            )
        shape = dataclasses.replace(MODELS[form["model"]], length=int(form["tokens"]))
        if form["layers"]:
            shape = dataclasses.replace(shape, layers=int(form["layers"]))
        return Configuration(
            form["model"], shape, int(form["sequences"]), form["checkpointing"] or "none", bool(form["compiled"])
        )


def _saved_operators() -> set[Any]:
    """What torchtitan's selective checkpoints keep beside every second product."""
    aten = torch.ops.aten
    names = [
        f"_scaled_dot_product_{kind}_attention" for kind in ("cudnn", "flash", "efficient", "flash_attention_for_cpu")
    ]
    found = [getattr(aten, name).default for name in names if hasattr(aten, name)]
    return {*found, torch.ops._c10d_functional.reduce_scatter_tensor.default}


def _selective() -> tuple[Any, Any]:
    """Keeps what is in the list, and of products every other one, forward and again counted apart."""
    saved, counts = _saved_operators(), {True: 0, False: 0}

    def decide(context: Any, operator: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
        if operator is torch.ops.aten.mm.default:
            counts[context.is_recompute] += 1
            keep = counts[context.is_recompute] % 2 == 1
        else:
            keep = operator in saved
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(decide)


def _checkpointed(module: nn.Module, how: str) -> None:
    options: dict[str, Any] = {"use_reentrant": False}
    if how == "selective_op":
        options["context_fn"] = _selective
    forward = module.forward

    @functools.wraps(forward)
    def call(*args: Any) -> Any:
        return checkpoint(forward, *args, **options)

    module.forward = call


class Logits(Llama):
    """The model without its loss, which is compiled apart."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        cosine, sine = self.cosine.to(x.dtype), self.sine.to(x.dtype)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return self.head(self.norm(x))


def _loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def build(c: Configuration, mesh: Any, device: torch.device) -> nn.Module:
    """The sharded model."""
    with torch.device("meta"):
        model = Logits(c.shape)
    for block in model.layers:
        if c.checkpointing != "none":
            _checkpointed(block, c.checkpointing)
        if c.compiled:
            block.compile(fullgraph=True)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.layers:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    model.to_empty(device=device)
    with torch.no_grad():
        for parameter in model.parameters():
            nn.init.trunc_normal_(parameter, std=0.02) if parameter.ndim == 2 else nn.init.ones_(parameter)
        half = torch.arange(0, c.shape.width // c.shape.heads, 2) / (c.shape.width // c.shape.heads)
        angles = torch.outer(torch.arange(c.shape.length).float(), 500000.0**-half).repeat(1, 2)
        model.cosine.copy_(angles.cos())
        model.sine.copy_(angles.sin())
    return model


@dataclasses.dataclass
class Measured:
    """What was measured of a configuration."""

    seconds: float  #: the median step of the slowest rank
    reserved: int  #: the most bytes that the allocator reserved
    allocated: int  #: and gave away
    loss: float  #: of the last step
    kernels: dict[str, float]  #: milliseconds of the device in a step, by kind


def _kind_of(kernel: str) -> str:
    """What a kernel does, by its name."""
    kinds = {
        "products": ("gemm", "nvjet", "cutlass", "cublas"),
        "attention": ("sdpa", "flash", "fmha", "attention"),
        "optimizer": ("multi_tensor", "lpnorm", "adam"),
        "communication": ("nccl", "split_with_sizes_copy", "chunk_cat"),
        "copies": ("memcpy", "memset"),
    }
    name = kernel.lower()
    return next((kind for kind, words in kinds.items() if any(w in name for w in words)), "element-wise")


def _profiled(step: Callable[[], object]) -> dict[str, float]:
    """Milliseconds of kernels in a step, by kind."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found:
        step()
        torch.cuda.synchronize()
    sums: dict[str, float] = {}
    for event in found.key_averages():
        if event.self_device_time_total > 0:
            kind = _kind_of(event.key)
            sums[kind] = sums.get(kind, 0) + event.self_device_time_total / 1e3
    return dict(sorted(sums.items(), key=lambda pair: -pair[1]))


def measure(c: Configuration, mesh: Any, device: torch.device, steps: int, profiles: bool) -> Measured:
    """Trains for some steps."""
    on_cuda = device.type == "cuda"
    if on_cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    model = build(c, mesh, device)
    loss_of = torch.compile(_loss) if c.compiled else _loss
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    words = torch.randint(0, c.shape.words, (c.sequences, c.shape.length + 1), device=device)
    tokens, targets = words[:, :-1].contiguous(), words[:, 1:].contiguous()

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model(tokens), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        return loss.detach()

    kinds = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    times = []
    with sdpa_kernel(kinds, set_priority=True):
        for number in range(3 + steps):
            begin = time.perf_counter()
            loss = step()
            if on_cuda:
                torch.cuda.synchronize()
            if number >= 3:
                times.append(time.perf_counter() - begin)
    slowest = torch.tensor(statistics.median(times), device=device)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    memory = (torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated()) if on_cuda else (0, 0)
    with sdpa_kernel(kinds, set_priority=True):
        kernels = _profiled(step) if profiles and on_cuda else {}
    return Measured(float(slowest), *memory, float(loss), kernels)


def row_of(c: Configuration, number: int, series: str, device: torch.device) -> dict[str, Any]:
    """The row of a configuration, but for what is measured."""
    world = dist.get_world_size()
    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    return {
        "id": f"{series}-{number:03}",
        "source": "measure_steps.py",
        "date": datetime.date.today().isoformat()[:7],
        "model": f"llama-{c.model}",
        "hidden": c.shape.width,
        "layers": c.shape.layers,
        "heads": c.shape.heads,
        "kv_heads": c.shape.key_heads,
        "ffn": c.shape.hidden,
        "vocab": c.shape.words,
        "gpu": name,
        "gpus": world,
        "gpus_per_node": min(world, int(os.environ.get("LOCAL_WORLD_SIZE", world))),
        "precision": "bf16",
        "seq_len": c.shape.length,
        "micro_batch_per_dp_rank": c.sequences,
        "grad_accum": 1,
        "global_batch": c.sequences * world,
        "fsdp_or_zero": "zero3",
        "dp": world,
        "tp": 1,
        "sp": "no",
        "pp": 1,
        "cp": 1,
        "activation_checkpointing": c.checkpointing,
        "compile_or_framework": f"PyTorch {torch.__version__} FSDP2 {'torch.compile' if c.compiled else 'eager'}",
    }


def main() -> None:
    """Measures one configuration after the other; a row is there as soon as it was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configurations", nargs="+", type=Configuration.parse, metavar="CONFIGURATION")
    parser.add_argument("--out", required=True, help="the table, CSV")
    parser.add_argument("--series", default="here", help="what ids of rows begin with")
    parser.add_argument("--profile", action="store_true", help="tell what kernels of each kind take, in the notes")
    parser.add_argument("--steps", type=int, default=5, help="timed, after three others")
    chosen = parser.parse_args()
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29511")):
        os.environ.setdefault(name, value)
    on_cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if on_cuda else torch.device("cpu")
    if on_cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_cuda else "gloo")
    mesh = init_device_mesh(device.type, (dist.get_world_size(),), mesh_dim_names=("dp",))
    torch.set_float32_matmul_precision("high")
    first = dist.get_rank() == 0
    with open(chosen.out if first else os.devnull, "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        for number, c in enumerate(chosen.configurations, 1):
            row = row_of(c, number, chosen.series, device)
            told = f"{c.model} {c.shape.layers} layers {c.shape.length}x{c.sequences} {c.checkpointing} " + (
                "compiled" if c.compiled else "eager"
            )
            begin = time.perf_counter()
            try:
                m = measure(c, mesh, device, chosen.steps, chosen.profile)
            except torch.OutOfMemoryError as refused:
                if first:
                    print(f"{told}: {str(refused).splitlines()[0]}", file=sys.stderr)
                continue
            finally:
                torch._dynamo.reset()
                gc.collect()
            if first:
                row["step_time_s"] = f"{m.seconds:.5f}"
                if m.reserved:
                    row["memory_gib"] = f"{m.reserved / 2**30:.2f}"
                    row["notes"] = f"allocated {m.allocated / 2**30:.2f} GiB" + "".join(
                        f"; {kind} {ms:.2f} ms" for kind, ms in m.kernels.items()
                    )
                table.writerow(row)
                file.flush()
                took = time.perf_counter() - begin
                print(
                    f"{told}: {m.seconds * 1e3:.2f} ms, {m.reserved / 2**30:.2f} GiB reserved, {row.get('notes', '')}, "
                    f"loss {m.loss:.3f}, in {took:.0f} s"
                )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
