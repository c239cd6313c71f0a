"""A LLaMA of any size, written for the programs and tests of this folder."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


@dataclass(frozen=True)
class Shape:
    """The sizes of a model; those of LLaMA-3 8B unless told otherwise."""

    layers: int = 32
    width: int = 4096
    heads: int = 32
    key_heads: int = 8
    hidden: int = 14336
    words: int = 128256
    length: int = 8192


SMALL = Shape(layers=2, width=128, heads=4, key_heads=2, hidden=256, words=256, length=32)


class Norm(nn.Module):
    """Root mean square normalization with a weight."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


def _rotate(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    low, high = x.chunk(2, -1)
    return x * cosine + torch.cat([-high, low], -1) * sine


class Attention(nn.Module):
    """Causal attention with grouped keys and rotary positions."""

    def __init__(self, s: Shape) -> None:
        super().__init__()
        self.head = s.width // s.heads
        self.query = nn.Linear(s.width, s.heads * self.head, bias=False)
        self.key = nn.Linear(s.width, s.key_heads * self.head, bias=False)
        self.value = nn.Linear(s.width, s.key_heads * self.head, bias=False)
        self.out = nn.Linear(s.width, s.width, bias=False)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        query, key, value = (
            part(x).view(batch, length, -1, self.head).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        query, key = _rotate(query, cosine, sine), _rotate(key, cosine, sine)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    """A gated layer: SiLU of one product times another."""

    def __init__(self, s: Shape) -> None:
        super().__init__()
        self.gate = nn.Linear(s.width, s.hidden, bias=False)
        self.up = nn.Linear(s.width, s.hidden, bias=False)
        self.down = nn.Linear(s.hidden, s.width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """Attention and feed-forward, each normalized and added."""

    def __init__(self, s: Shape) -> None:
        super().__init__()
        self.before_attention, self.attention = Norm(s.width), Attention(s)
        self.before_feed, self.feed = Norm(s.width), FeedForward(s)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before_attention(x), cosine, sine)
        return x + self.feed(self.before_feed(x))


class Llama(nn.Module):
    """The model: tokens in, the loss of predicting the targets out."""

    def __init__(self, s: Shape = SMALL) -> None:
        super().__init__()
        self.embedding = nn.Embedding(s.words, s.width)
        self.layers = nn.ModuleList(Block(s) for _ in range(s.layers))
        self.norm = Norm(s.width)
        self.head = nn.Linear(s.width, s.words, bias=False)
        half = torch.arange(0, s.width // s.heads, 2) / (s.width // s.heads)
        angles = torch.outer(torch.arange(s.length).float(), 500000.0**-half).repeat(1, 2)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        length = tokens.shape[1]
        cosine, sine = self.cosine[:length].to(x.dtype), self.sine[:length].to(x.dtype)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), targets.flatten())
