"""A mixture of experts of any size, after DeepSeek-V3: latent attention, experts that lie on other ranks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812
from llama import FeedForward, Norm, Shape, _rotate
from torch import nn
from torch.distributed._functional_collectives import all_to_all_single


@dataclass(frozen=True)
class ExpertShape:
    """The sizes of a model; those of DeepSeek-V3 unless told otherwise."""

    layers: int = 61
    dense: int = 3  #: layers without experts, which come first
    width: int = 7168
    heads: int = 128
    head: int = 128  #: of queries, keys and values, without what is rotated
    rotary: int = 64
    query_rank: int = 1536
    key_rank: int = 512
    hidden: int = 18432  #: of layers without experts
    expert_hidden: int = 2048
    experts: int = 256
    chosen: int = 8  #: experts per token
    words: int = 129280
    length: int = 4096


SMALL_EXPERTS = ExpertShape(layers=2, dense=1, width=128, heads=4, head=32, rotary=16, query_rank=64, key_rank=32,
                            hidden=256, expert_hidden=64, experts=8, chosen=2, words=256, length=32)  # fmt: skip


class LatentAttention(nn.Module):
    """Causal attention whose queries, keys and values are made from narrow values; values are padded to keys' width."""

    def __init__(self, s: ExpertShape) -> None:
        super().__init__()
        self.s = s
        self.query_down = nn.Linear(s.width, s.query_rank, bias=False)
        self.query_norm = Norm(s.query_rank)
        self.query_up = nn.Linear(s.query_rank, s.heads * (s.head + s.rotary), bias=False)
        self.key_down = nn.Linear(s.width, s.key_rank + s.rotary, bias=False)
        self.key_norm = Norm(s.key_rank)
        self.key_up = nn.Linear(s.key_rank, s.heads * 2 * s.head, bias=False)
        self.out = nn.Linear(s.heads * s.head, s.width, bias=False)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        s = self.s
        batch, length, _ = x.shape
        query = self.query_up(self.query_norm(self.query_down(x)))
        query = query.view(batch, length, s.heads, s.head + s.rotary).transpose(1, 2)
        plain, turned = query.split([s.head, s.rotary], -1)
        query = torch.cat([plain, _rotate(turned, cosine, sine)], -1)
        narrow, turned = self.key_down(x).split([s.key_rank, s.rotary], -1)
        turned = _rotate(turned.unsqueeze(1), cosine, sine).expand(-1, s.heads, -1, -1)
        both = self.key_up(self.key_norm(narrow)).view(batch, length, s.heads, 2 * s.head).transpose(1, 2)
        plain, value = both.split([s.head, s.head], -1)
        key = torch.cat([plain, turned], -1)
        mixed = F.scaled_dot_product_attention(query, key, F.pad(value, (0, s.rotary)), is_causal=True)
        return self.out(mixed[..., : s.head].transpose(1, 2).reshape(batch, length, -1))


class Experts(nn.Module):
    """Each token goes to the ranks of the experts that were chosen for it, and what they make of it comes back.

    Every expert takes equally many tokens of each rank, so that sizes do not depend on values; what is above that is
    left out. Parameters of experts lie on their rank alone.
    """

    def __init__(self, s: ExpertShape, group: dist.ProcessGroup) -> None:
        super().__init__()
        self.s, self.group = s, group
        local = s.experts // group.size()
        self.router = nn.Linear(s.width, s.experts, bias=False)
        self.gate_up = nn.Parameter(torch.empty(local, s.width, 2 * s.expert_hidden).normal_(std=0.02))
        self.down = nn.Parameter(torch.empty(local, s.expert_hidden, s.width).normal_(std=0.02))
        self.shared = FeedForward(Shape(width=s.width, hidden=s.expert_hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        s, ranks = self.s, self.group.size()
        tokens = x.flatten(0, 1)
        count = tokens.shape[0]
        weights, chosen = self.router(tokens).float().sigmoid().topk(s.chosen)
        weights = weights / weights.sum(-1, keepdim=True)
        flat = chosen.flatten()
        taken = torch.zeros(flat.shape[0], s.experts, dtype=torch.int32, device=x.device)
        taken = taken.scatter(1, flat.unsqueeze(1), 1).cumsum(0, dtype=torch.int32)
        place = taken.gather(1, flat.unsqueeze(1)).squeeze(1) - 1  # among those that chose the same expert
        room = count * s.chosen // s.experts
        slot = torch.where(place < room, flat * room + place, s.experts * room)
        repeated = tokens.unsqueeze(1).expand(-1, s.chosen, -1).reshape(-1, s.width)
        sent = tokens.new_zeros(s.experts * room + 1, s.width).index_copy(0, slot, repeated)[:-1]
        came = all_to_all_single(sent, None, None, self.group)
        came = came.view(ranks, s.experts // ranks, room, s.width).transpose(0, 1).flatten(1, 2)
        gate, up = torch.bmm(came, self.gate_up.to(x.dtype)).chunk(2, -1)
        made = torch.bmm(F.silu(gate) * up, self.down.to(x.dtype))
        made = made.view(s.experts // ranks, ranks, room, s.width).transpose(0, 1).flatten(0, 2)
        back = F.pad(all_to_all_single(made, None, None, self.group), (0, 0, 0, 1))
        mixed = back.index_select(0, slot).view(count, s.chosen, s.width) * weights.to(x.dtype).unsqueeze(-1)
        return mixed.sum(1).view_as(x) + self.shared(x)


class ExpertBlock(nn.Module):
    """Attention, and a feed-forward layer or experts, each normalized and added."""

    def __init__(self, s: ExpertShape, layer: int, group: dist.ProcessGroup) -> None:
        super().__init__()
        self.before_attention, self.attention = Norm(s.width), LatentAttention(s)
        self.before_feed = Norm(s.width)
        self.feed = FeedForward(Shape(width=s.width, hidden=s.hidden)) if layer < s.dense else Experts(s, group)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before_attention(x), cosine, sine)
        return x + self.feed(self.before_feed(x))


class ExpertModel(nn.Module):
    """The model: tokens in, the loss of predicting the targets out."""

    def __init__(self, s: ExpertShape, group: dist.ProcessGroup) -> None:
        super().__init__()
        if s.experts % group.size():
            raise ValueError(f"{s.experts} experts do not lie evenly on {group.size()} ranks")
        self.embedding = nn.Embedding(s.words, s.width)
        self.layers = nn.ModuleList(ExpertBlock(s, i, group) for i in range(s.layers))
        self.norm = Norm(s.width)
        self.head = nn.Linear(s.width, s.words, bias=False)
        angles = torch.outer(torch.arange(s.length).float(), 10000.0 ** -(torch.arange(0, s.rotary, 2) / s.rotary))
        self.register_buffer("cosine", angles.repeat(1, 2).cos())
        self.register_buffer("sine", angles.repeat(1, 2).sin())

    def of_experts(self) -> list[nn.Parameter]:
        """Parameters that differ between ranks, and are whole on theirs."""
        return [p for m in self.modules() if isinstance(m, Experts) for p in (m.gate_up, m.down)]

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        length = tokens.shape[1]
        cosine, sine = self.cosine[:length].to(x.dtype), self.sine[:length].to(x.dtype)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), targets.flatten())
