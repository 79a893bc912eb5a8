"""Whole models for Spyre: `torch.compile(model, backend="irwidget_spyre")` of tiny Hugging Face configurations.

    python benchmarks/spyre_models.py [llama granite gpt2 mixtral bert vit whisper]

Needs transformers, which irwidget does not. Prints per model how far the result is from eager's, how many ops run on
the device and which on the host, and the same of one decoding step with the key-value cache of the first.
"""

from __future__ import annotations

import sys
import time
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
    hosts = [step.op.func for program in found for step in program.steps if isinstance(step, HostCall)]
    ops = sum(len(kernel.specs) for program in found for kernel in program.kernels)
    calls = ", ".join(sorted(set(hosts)))
    line = f"{name:8} off by {away:.1e}, {ops} ops, {len(hosts)} on the host ({calls}), {seconds:.1f} s"
    if getattr(want, "past_key_values", None) is not None:
        token = torch.randint(0, 256, (1, 1))
        steps = [f(input_ids=token, past_key_values=o.past_key_values) for f, o in ((net, want), (compiled, got))]
        line += f"; decoding off by {float((steps[0].logits - steps[1].logits).abs().max()):.1e}"
    return line


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ("llama", "granite", "gpt2", "mixtral", "bert", "vit", "whisper"):
        print(measure(chosen), flush=True)
