"""Times the kernels of a training step on the device at hand: products, attention, element-wise kernels, the optimizer.

    python scripts/measure_kernels.py --out kernels.csv

A row is a kernel: its kind (`product`, `product_f8`, `attention`, `attention_backward`, `memory`), what it is, the
operations that it does, the bytes that it reads and writes at least, and microseconds: the median of several batches of
launches, the host's part hidden behind them. Rows of kind `host` are copies from and to the host, and the time that
launching takes.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch.nn.attention import SDPBackend, sdpa_kernel

BF16, F32 = torch.bfloat16, torch.float32


@dataclass
class Kernel:
    """What is timed; sizes in bytes."""

    kind: str
    name: str
    operations: float
    moved: int
    run: Callable[[], object]


def microseconds(run: Callable[[], object], *, batches: int = 5, least: float = 4e3) -> float:
    """The median of batches, each of so many launches that it takes 4 ms at least."""

    def batch(count: int) -> float:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / count

    batch(2)
    count = max(1, min(200, int(least / max(batch(2), 1))))
    return statistics.median(batch(count) for _ in range(batches))


def values(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    """Random numbers: devices are faster on zeros."""
    return torch.randn(*shape, device="cuda", dtype=dtype)


WIDTHS = (  # inner and outer features of the products of LLaMA-3 1B, 8B and 70B, some cut by 8
    (2048, 512), (2048, 2048), (2048, 8192), (8192, 2048), (4096, 1024), (4096, 4096), (4096, 14336), (14336, 4096),
    (4096, 1792), (1792, 4096), (8192, 1024), (8192, 8192), (8192, 28672), (28672, 8192), (8192, 3584), (3584, 8192),
)  # fmt: skip


def products() -> Iterator[Kernel]:
    """As forward parts do them, and for the gradients of their weights."""
    for tokens in (128, 512, 2048, 8192, 16384):
        for inner, outer in WIDTHS:
            x, weight, gradient = values(tokens, inner), values(outer, inner), values(tokens, outer)
            moved = 2 * (tokens * inner + inner * outer + tokens * outer)
            work = 2.0 * tokens * inner * outer
            yield Kernel("product", f"{tokens} x {inner} x {outer}", work, moved, lambda x=x, w=weight: x @ w.T)
            yield Kernel("product", f"{outer} x {tokens} x {inner}", work, moved, lambda g=gradient, x=x: g.T @ x)
    x, weight = values(8192, 4096), values(128256, 4096)
    moved = 2 * (8192 * 4096 + 128256 * 4096 + 8192 * 128256)
    yield Kernel("product", "8192 x 4096 x 128256", 2.0 * 8192 * 4096 * 128256, moved, lambda: x @ weight.T)


def products_f8() -> Iterator[Kernel]:
    """The same in 8 bits, scaled by tensor and by row; and what converting a tensor takes."""
    f8, one = torch.float8_e4m3fn, torch.ones((), device="cuda")
    for tokens in (2048, 8192, 16384):
        for inner, outer in WIDTHS:
            x, weight = values(tokens, inner).to(f8), values(outer, inner).to(f8)
            work, moved = 2.0 * tokens * inner * outer, tokens * inner + inner * outer + 2 * tokens * outer
            rows, columns = torch.ones(tokens, 1, device="cuda"), torch.ones(1, outer, device="cuda")
            name = f"{tokens} x {inner} x {outer}"
            for how, scales in (("by tensor", (one, one)), ("by row", (rows, columns))):

                def run(x=x, w=weight, s=scales):  # noqa: ANN001, ANN202
                    return torch._scaled_mm(x, w.T, *s, out_dtype=BF16, use_fast_accum=True)

                yield Kernel("product_f8", f"{name}, scaled {how}", work, moved, run)
    x = values(8192, 4096)
    yield Kernel("memory", "largest element of 8192 x 4096", 0, 2 * x.numel(), lambda: x.abs().max())
    yield Kernel("memory", "8192 x 4096 to 8 bits", 0, 3 * x.numel(), lambda: x.to(f8))


def attention() -> Iterator[Kernel]:
    """Causal, whole heads of each sequence: half of the products' operations count."""
    kernels = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
    shapes = [(8, 32, 8, 1024, 128), (4, 32, 8, 2048, 128), (2, 32, 8, 4096, 128), (1, 32, 8, 8192, 128)]
    shapes += [(1, 32, 8, 16384, 128), (1, 32, 8, 32768, 128), (1, 8, 1, 8192, 128), (2, 32, 8, 8192, 64)]
    for batch, heads, of_keys, length, width in shapes:
        query = values(batch, heads, length, width).requires_grad_()
        key, value = (values(batch, of_keys, length, width).requires_grad_() for _ in range(2))
        work = 2.0 * 2 * batch * heads * length * length * width / 2
        moved = 2 * batch * length * width * (2 * heads + 2 * of_keys)
        for name, kernel in kernels.items():

            def forward(query=query, key=key, value=value, kernel=kernel):  # noqa: ANN001, ANN202
                with sdpa_kernel(kernel):
                    return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)

            try:
                out = forward()
            except RuntimeError as refused:
                print(f"{name} does not do {batch} x {heads}/{of_keys} x {length} x {width}: {str(refused)[:90]}")
                continue
            gradient = torch.randn_like(out)
            shape = f"{name}: {batch} x {heads} of {of_keys} x {length} x {width}"
            yield Kernel("attention", shape, work, moved, forward)

            def backward(out=out, gradient=gradient, of=(query, key, value)):  # noqa: ANN001, ANN202
                return torch.autograd.grad(out, of, gradient, retain_graph=True)

            yield Kernel("attention_backward", shape, 2.5 * work, 2 * moved, backward)


def element_wise() -> Iterator[Kernel]:
    """Kernels that move data, eager ones."""
    for size in (2**16, 2**19, 2**22, 2**24, 2**26, 2**28):
        x, y = values(size), values(size)
        yield Kernel("memory", f"copy of {size}", 0, 4 * size, lambda x=x, y=y: y.copy_(x))
        yield Kernel("memory", f"sum of two of {size}", 0, 6 * size, lambda x=x, y=y: torch.add(x, y))
        yield Kernel("memory", f"silu of {size}", 0, 4 * size, lambda x=x: F.silu(x))
        yield Kernel("memory", f"bf16 to f32 of {size}", 0, 6 * size, lambda x=x: x.float())
    for width in (2048, 4096, 8192):
        x, weight = values(8192, width).requires_grad_(), values(width).requires_grad_()
        out = F.rms_norm(x, (width,), weight, 1e-5)
        yield Kernel(
            "memory", f"norm of 8192 x {width}", 0, 4 * 8192 * width,
            lambda x=x, w=weight, n=width: F.rms_norm(x, (n,), w, 1e-5),
        )  # fmt: skip
        yield Kernel(
            "memory", f"norm of 8192 x {width}, backward", 0, 6 * 8192 * width,
            lambda o=out, x=x, w=weight: torch.autograd.grad(o, (x, w), x, retain_graph=True),
        )  # fmt: skip
    logits = values(8192, 128256, dtype=F32).requires_grad_()
    targets = torch.randint(0, 128256, (8192,), device="cuda")
    loss = F.cross_entropy(logits, targets)
    size = logits.nbytes
    yield Kernel("memory", "loss of 8192 x 128256 in f32", 0, size, lambda: F.cross_entropy(logits, targets))
    yield Kernel(
        "memory", "loss of 8192 x 128256 in f32, backward", 0, 2 * size,
        lambda: torch.autograd.grad(loss, logits, retain_graph=True),
    )  # fmt: skip


def optimizer() -> Iterator[Kernel]:
    """AdamW of 16 layers of LLaMA-3 1B in f32, and the clipping of gradients."""
    sizes = [(2048, 2048), (512, 2048), (512, 2048), (2048, 2048), (8192, 2048), (8192, 2048), (2048, 8192)] * 16
    parameters = [values(*s, dtype=F32).requires_grad_() for s in sizes]
    count = sum(p.numel() for p in parameters)
    for p in parameters:
        p.grad = torch.randn_like(p)
    adam = torch.optim.AdamW(parameters, lr=1e-3, fused=True)
    adam.step()
    yield Kernel("memory", f"AdamW in one kernel, {count} parameters", 0, 28 * count, adam.step)
    yield Kernel(
        "memory", f"norm of gradients and clipping, {count} parameters", 0, 12 * count,
        lambda: torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True),
    )  # fmt: skip


def host() -> Iterator[tuple[str, int, float]]:
    """Copies from and to pinned memory, one way and both, and what launching takes."""
    size = 2**30
    here, there = torch.empty(size, dtype=torch.uint8, pin_memory=True), values(size // 2)
    up, down = there.view(torch.uint8), torch.empty(size, dtype=torch.uint8, device="cuda")
    back = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    yield "copy to the host", size, microseconds(lambda: here.copy_(up, non_blocking=True), least=1)
    yield "copy from the host", size, microseconds(lambda: down.copy_(back, non_blocking=True), least=1)
    other = torch.cuda.Stream()

    def both() -> None:
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            here.copy_(up, non_blocking=True)
        down.copy_(back, non_blocking=True)
        torch.cuda.current_stream().wait_stream(other)

    yield "copies both ways at once, each", size, microseconds(both, least=1)
    x = values(16)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(10000):
        x.add_(1)
    yield "launch of a small kernel, on the host", 0, (time.perf_counter() - begin) * 100
    torch.cuda.synchronize()
    x, weight = values(16, 16).requires_grad_(), values(16, 16).requires_grad_()
    begin = time.perf_counter()
    for _ in range(3000):
        F.linear(x, weight)
    yield "launch of a small product with its autograd, on the host", 0, (time.perf_counter() - begin) * 1e6 / 3000


def main() -> None:
    """Writes a row for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="the table, CSV")
    chosen = parser.parse_args()
    torch.manual_seed(0)
    with open(chosen.out, "w", newline="") as file:
        file.write(
            f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}\n"
        )
        table = csv.writer(file)
        table.writerow(["kind", "kernel", "operations", "bytes", "time_us"])
        for part in (products, products_f8, attention, element_wise, optimizer):
            begin = time.perf_counter()
            for k in part():
                table.writerow([k.kind, k.name, f"{k.operations:.0f}", k.moved, f"{microseconds(k.run):.3f}"])
                file.flush()
            torch.cuda.empty_cache()
            print(f"{part.__name__}: {time.perf_counter() - begin:.1f} s")
        for name, size, time_us in host():
            table.writerow(["host", name, 0, size, f"{time_us:.3f}"])


if __name__ == "__main__":
    main()
