"""Plans the placement of models of public packages, built from their configurations, and prints a table.

    pip install 'examples/pytorch[models]'          # once
    python scripts/place_models.py                  # all of them
    python scripts/place_models.py llama gpt2 vit

Neither weights nor devices are needed: models are built under fake tensors, one training step is traced, and its
placement is planned on a mesh of 8x8 H100.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from shardweave_torch.capture import capture_joint
from shardweave_torch.computation import computation_of
from shardweave_torch.placement import plan_computation

BATCH = 64

#: A model whose call is its loss, and its arguments.
Made = tuple[nn.Module, Sequence[Any]]


class Classified(nn.Module):
    """The loss of a model that gives a score per class."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        scores = self.model(x)
        return F.cross_entropy(getattr(scores, "logits", scores), labels)


class Worded(nn.Module):
    """The loss of a model of transformers that gives a score per word."""

    def __init__(self, model: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *arguments: torch.Tensor) -> torch.Tensor:
        *given, labels = arguments
        scores = self.model(**dict(zip(self.names, given, strict=True)), use_cache=False).logits
        return F.cross_entropy(scores.flatten(0, -2).float(), labels.flatten())


def _words(length: int) -> torch.Tensor:
    return torch.empty(BATCH, length, dtype=torch.long)


def _picture(size: int = 224) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty(BATCH, 3, size, size), torch.empty(BATCH, dtype=torch.long)


def _vision(name: str) -> Callable[[], Made]:
    def make() -> Made:
        import torchvision

        return Classified(getattr(torchvision.models, name)(weights=None)), _picture()

    return make


def _language(model: str, config: str, length: int, **settings: Any) -> Callable[[], Made]:
    def make() -> Made:
        import transformers

        chosen = getattr(transformers, config)(attn_implementation="sdpa", use_cache=False, **settings)
        made = getattr(transformers, model)(chosen)
        return Worded(made, ["input_ids"]), (_words(length), _words(length))

    return make


def _bert() -> Made:
    import transformers

    config = transformers.BertConfig(attn_implementation="sdpa")
    made = transformers.BertForMaskedLM(config)
    return _Plain(made, ["input_ids"]), (_words(512), _words(512))


class _Plain(Worded):
    def forward(self, *arguments: torch.Tensor) -> torch.Tensor:
        *given, labels = arguments
        scores = self.model(**dict(zip(self.names, given, strict=True))).logits
        return F.cross_entropy(scores.flatten(0, -2).float(), labels.flatten())


def _t5() -> Made:
    import transformers

    made = transformers.T5ForConditionalGeneration(transformers.T5Config(
        d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12, use_cache=False))  # fmt: skip
    return Worded(made, ["input_ids", "decoder_input_ids"]), (_words(512), _words(512), _words(512))


def _whisper() -> Made:
    import transformers

    config = transformers.WhisperConfig(
        d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12, decoder_attention_heads=12,
        encoder_ffn_dim=3072, decoder_ffn_dim=3072, attn_implementation="sdpa", use_cache=False,
        apply_spec_augment=False)  # fmt: skip
    sound = torch.empty(BATCH, 80, 3000)
    return Worded(transformers.WhisperForConditionalGeneration(config), ["input_features", "decoder_input_ids"]), (
        sound, _words(448), _words(448))  # fmt: skip


_EXPERTS = {"experts_implementation": "batched_mm"}

MODELS: dict[str, tuple[str, Callable[[], Made]]] = {
    "llama": ("LLaMA 3 8B", _language("LlamaForCausalLM", "LlamaConfig", 4096, hidden_size=4096,
                                      intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
                                      num_key_value_heads=8, vocab_size=128256)),
    "gpt2": ("GPT-2 XL", _language("GPT2LMHeadModel", "GPT2Config", 1024, n_embd=1600, n_layer=48, n_head=25)),
    "mixtral": ("Mixtral 8x7B", _language("MixtralForCausalLM", "MixtralConfig", 2048, **_EXPERTS)),
    "qwen": ("Qwen 3 8B", _language("Qwen3ForCausalLM", "Qwen3Config", 4096, hidden_size=4096,
                                    intermediate_size=12288, num_hidden_layers=36, num_attention_heads=32,
                                    num_key_value_heads=8, head_dim=128, vocab_size=151936)),
    "gemma": ("Gemma 2B", _language("GemmaForCausalLM", "GemmaConfig", 4096, hidden_size=2048,
                                    intermediate_size=16384, num_hidden_layers=18, num_attention_heads=8,
                                    num_key_value_heads=1)),
    "t5": ("T5 base", _t5),
    "bert": ("BERT base", _bert),
    "whisper": ("Whisper small", _whisper),
    "resnet50": ("ResNet-50", _vision("resnet50")),
    "vit": ("ViT-L/16", _vision("vit_l_16")),
    "convnext": ("ConvNeXt base", _vision("convnext_base")),
    "efficientnet": ("EfficientNet V2 S", _vision("efficientnet_v2_s")),
    "swin": ("Swin T", _vision("swin_t")),
    "vgg": ("VGG-16", _vision("vgg16")),
}  # fmt: skip


def main() -> None:
    """Prints one row per model, and below which operators had no rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[*MODELS, []], default=[], help="(default: all)")
    parser.add_argument("--mesh", default="8x8")
    parser.add_argument("--seconds", type=float, default=4.5, help="for planning one model")
    chosen = parser.parse_args()
    mesh = tuple(int(d) for d in chosen.mesh.split("x"))
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore")
    torch.set_default_dtype(torch.bfloat16)
    print("| model | parameters | operations | FLOPs under rules | without rule | planned in | step, ms | gap |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    missing: dict[str, dict[str, int]] = {}
    for key in chosen.models or MODELS:
        name, make = MODELS[key]
        try:
            begin = time.perf_counter()
            captured = capture_joint(make)
            computation = computation_of(captured.graph.graph, key, captured.shared)
            traced = time.perf_counter() - begin
            plan = plan_computation(computation, mesh, seconds=chosen.seconds)
        except Exception as error:  # one model must not hide the others
            print(f"| {name} | failed: {type(error).__name__}: {str(error)[:300]!r} |", flush=True)
            continue
        held = sum(torch.Size(s).numel() for s in computation.shapes.values())
        unknown = sum(plan.coverage.without_rule.values())
        gap = "0, proven" if plan.status == "optimal" else f"{100 * plan.gap:.2f} %"
        print(f"| {name} | {held / 1e9:.2f} G | {plan.operations:,} | {100 * plan.coverage.share:.1f} % | {unknown} | "
              f"{plan.seconds:.2f} s | {plan.objective_us / 1e3:.2f} | {gap} |", flush=True)  # fmt: skip
        if unknown:
            missing[name] = dict(plan.coverage.without_rule)
        del captured, traced
    for name, operators in missing.items():
        print(f"\n{name}, without rule: " + ", ".join(f"{o} ({n})" for o, n in sorted(operators.items())))


if __name__ == "__main__":
    main()
