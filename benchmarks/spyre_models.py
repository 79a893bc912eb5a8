"""Whole models for Spyre: `torch.compile(model, backend="irwidget_spyre")` of tiny Hugging Face configurations.

    python benchmarks/spyre_models.py [llama granite gpt2 mixtral bert vit whisper]
    python benchmarks/spyre_models.py --full [llama ...]
    python benchmarks/spyre_models.py --train [llama ...]

Needs transformers, which irwidget does not. Prints per model how far the result is from eager's, how many ops run on
the device and which on the host, and the same of one decoding step with the key-value cache of the first. `--full`
compiles the configuration that transformers has by default (Llama: 7B), with weights and inputs that have no values,
and a step of decoding for models that have a cache. `--train` compares the gradients of the tiny models with eager's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import torch

import irwidget.spyre as spyre
from irwidget.spyre.bundling import HostCall
from irwidget.spyre.dynamo import forget_programs, irwidget_spyre

SIZES: dict[str, Any] = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 256,
}
GPT2: dict[str, Any] = {"n_embd": 128, "n_layer": 2, "n_head": 2, "vocab_size": 256, "n_positions": 64}
VIT: dict[str, Any] = {k: v for k, v in SIZES.items() if k != "vocab_size"} | {"image_size": 32, "patch_size": 16}
WHISPER: dict[str, Any] = {
    "d_model": 128,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "encoder_ffn_dim": 256,
    "num_mel_bins": 16,
    "max_source_positions": 16,
    "vocab_size": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def full(name: str, tokens: int = 128) -> tuple[Any, dict[str, Any]]:
    """The model at its default size on the meta device, and its inputs by name."""
    import transformers as hf  # pyright: ignore[reportMissingImports]
    from transformers.models.whisper.modeling_whisper import WhisperEncoder  # pyright: ignore

    h: Any = hf
    ids = {"input_ids": torch.zeros((1, tokens), dtype=torch.int64, device="meta"), "use_cache": False}
    made: dict[str, Any] = {
        "llama": lambda: (h.LlamaForCausalLM(h.LlamaConfig()), ids),
        "granite": lambda: (h.GraniteForCausalLM(h.GraniteConfig()), ids),
        "gpt2": lambda: (h.GPT2LMHeadModel(h.GPT2Config()), ids),
        "mixtral": lambda: (h.MixtralForCausalLM(h.MixtralConfig()), ids),
        "bert": lambda: (h.BertModel(h.BertConfig()), ids),
        "vit": lambda: (h.ViTModel(h.ViTConfig()), {"pixel_values": torch.empty(1, 3, 224, 224, device="meta").half()}),
        "whisper": lambda: (
            WhisperEncoder(h.WhisperConfig()),
            {"input_features": torch.empty(1, 80, 3000, device="meta").half()},
        ),
    }
    with torch.device("meta"):
        net, inputs = made[name]()
    return net.eval().half(), inputs


def model(name: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """A model in float16 with random weights, and its inputs by name."""
    import transformers as hf  # pyright: ignore[reportMissingImports]
    from transformers.models.whisper.modeling_whisper import WhisperEncoder  # pyright: ignore

    h: Any = hf
    tokens = {"input_ids": torch.randint(0, 256, (1, 16))}
    made: dict[str, Any] = {
        "llama": lambda: (h.LlamaForCausalLM(h.LlamaConfig(**SIZES, num_key_value_heads=1)), tokens),
        "granite": lambda: (h.GraniteForCausalLM(h.GraniteConfig(**SIZES, num_key_value_heads=1)), tokens),
        "gpt2": lambda: (h.GPT2LMHeadModel(h.GPT2Config(**GPT2)), tokens),
        "mixtral": lambda: (
            h.MixtralForCausalLM(
                h.MixtralConfig(**SIZES, num_key_value_heads=1, num_local_experts=2, num_experts_per_tok=1)
            ),
            tokens,
        ),
        "bert": lambda: (h.BertModel(h.BertConfig(**SIZES, max_position_embeddings=64)), tokens),
        "vit": lambda: (h.ViTModel(h.ViTConfig(**VIT)), {"pixel_values": torch.randn(1, 3, 32, 32).half()}),
        "whisper": lambda: (
            WhisperEncoder(h.WhisperConfig(**WHISPER)),
            {"input_features": torch.randn(1, 16, 32).half()},
        ),
    }
    net, inputs = made[name]()
    return net.eval().half(), inputs


def _result(output: Any) -> torch.Tensor:
    return output.logits if hasattr(output, "logits") else output.last_hidden_state


def _ops(programs: Sequence[spyre.SpyreProgram]) -> str:
    hosts = [step.op.func for program in programs for step in program.steps if isinstance(step, HostCall)]
    ops = sum(len(kernel.specs) for program in programs for kernel in program.kernels)
    return f"{len(programs)} graphs, {ops} ops, {len(hosts)} on the host ({', '.join(sorted(set(hosts)))})"


def _filled_cache(config: Any, tokens: int) -> Any:
    """The keys and values of so many tokens, without values."""
    from transformers import DynamicCache  # pyright: ignore

    cache: Any = DynamicCache()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = (1, heads, tokens, config.hidden_size // config.num_attention_heads)
    for layer in range(config.num_hidden_layers):
        cache.update(*(torch.empty(size, dtype=torch.float16, device="meta") for _ in range(2)), layer)
    return cache


@torch.no_grad()
def compiled(name: str) -> str:
    """One line about a model at full size."""
    torch.compiler.reset()
    forget_programs()
    net, inputs = full(name)
    begun, processor = time.perf_counter(), time.process_time()
    made: Any = torch.compile(net, backend=irwidget_spyre)
    made(**inputs)
    seconds, processor = time.perf_counter() - begun, time.process_time() - processor
    size = sum(p.numel() for p in net.parameters()) / 1e9
    line = f"{name:8} {size:.2f} billion weights, {_ops(spyre.programs())}, {seconds:.0f} s ({processor:.0f} s of CPU)"
    if hasattr(net, "lm_head"):
        cache = _filled_cache(net.config, inputs["input_ids"].shape[1])
        forget_programs()
        processor = time.process_time()
        made(input_ids=torch.zeros((1, 1), dtype=torch.int64, device="meta"), past_key_values=cache)
        line += f"; decoding: {_ops(spyre.programs())}, {time.process_time() - processor:.0f} s of CPU"
    return line


def gradients(name: str) -> str:
    """One line about how far the gradients of a random sum are from eager's, beside the largest of each weight."""
    torch.compiler.reset()
    forget_programs()
    found: list[dict[str, torch.Tensor]] = []
    for way in (lambda net: net, lambda net: torch.compile(net, backend=irwidget_spyre)):
        torch.manual_seed(0)
        net, inputs = model(name)
        result = _result(way(net)(**inputs)).float()
        (result * torch.randn(result.shape)).sum().backward()
        found.append({path: p.grad.float() for path, p in net.named_parameters() if p.grad is not None})
    want, got = found
    unused = {path: torch.zeros_like(g) for path, g in got.items()}  # AOTAutograd gives zeros for what is not used
    least = max(g.abs().max() for g in want.values()) / 1000  # what should be 0, as of a bias of keys, is noise
    away = {
        path: float((got[path] - g).abs().max() / max(g.abs().max(), least)) for path, g in {**unused, **want}.items()
    }
    worst = max(away, key=lambda path: away[path])
    return f"{name:8} {len(want)} gradients, off by {away[worst]:.1e} at most ({worst}), {_ops(spyre.programs())}"


@torch.no_grad()
def measure(name: str) -> str:
    """One line about a model."""
    torch.manual_seed(0)
    torch.compiler.reset()
    forget_programs()
    net, inputs = model(name)
    want = net(**inputs)
    begun = time.perf_counter()
    compiled: Any = torch.compile(net, backend=irwidget_spyre)
    got = compiled(**inputs)
    seconds = time.perf_counter() - begun
    found = spyre.programs()
    away = float((_result(got).float() - _result(want).float()).abs().max())
    line = f"{name:8} off by {away:.1e}, {_ops(found)}, {seconds:.1f} s"
    if getattr(want, "past_key_values", None) is not None:
        token = torch.randint(0, 256, (1, 1))
        steps = [f(input_ids=token, past_key_values=o.past_key_values) for f, o in ((net, want), (compiled, got))]
        line += f"; decoding off by {float((steps[0].logits - steps[1].logits).abs().max()):.1e}"
    return line


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    say = compiled if "--full" in sys.argv else gradients if "--train" in sys.argv else measure
    for chosen in names or ("llama", "granite", "gpt2", "mixtral", "bert", "vit", "whisper"):
        print(say(chosen), flush=True)
