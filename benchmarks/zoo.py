"""A zoo of models with random weights: what bare torch-mlir lowers, and what irwidget lowers, by IR type.

python -m benchmarks.zoo [MODEL ...] [--targets T,T] [--packages FOLDER] [--results FILE] [--table]

The models are those of transformers, made small by their configurations. The package is installed into FOLDER
(`build/zoo`) by this command only. GPU targets are real kernels, assembled, not executed. FILE keeps what is done, a
line for each model: the same command goes on where it stopped, and `--table` prints what is there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import irwidget
from benchmarks import bare, kernels
from irwidget.errors import IRWidgetError

PACKAGES = ("transformers", "tokenizers", "huggingface_hub", "safetensors", "regex", "tqdm", "pyyaml", "requests")
TARGETS = (
    *("torch_mlir", "linalg_on_tensors_mlir", "tosa_mlir", "stablehlo_mlir"),
    *("llvm_mlir", "llvm_ir", *kernels.TARGETS),
)
SECONDS = 300.0


class First(torch.nn.Module):
    """The first result of a model, in inference, without a cache."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> Any:
        return self.model(x)[0]


def _words() -> torch.Tensor:
    return torch.randint(1, 60, (1, 8))


def _image(size: int = 32) -> Callable[[], torch.Tensor]:
    return lambda: torch.randn(1, 3, size, size)


_SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 64,
    "max_position_embeddings": 32,
    "use_cache": False,
    "pad_token_id": 0,
}
_GPT: dict[str, Any] = {
    "n_embd": 16,
    "n_layer": 2,
    "n_head": 2,
    "n_positions": 32,
    "vocab_size": 64,
    "use_cache": False,
}
_VISION: dict[str, Any] = {"image_size": 32, "patch_size": 8, "num_channels": 3}
_T5: dict[str, Any] = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "vocab_size": 64}
_STAGES: dict[str, Any] = {"hidden_sizes": [8, 16], "depths": [1, 1], "embedding_size": 8}
Model = tuple[str, dict[str, Any], Callable[[], torch.Tensor]]
MODELS: dict[str, Model] = {
    **{
        name: (name, _SIZES, _words)
        for name in (
            *("Bert", "Roberta", "Electra", "MPNet", "Camembert", "Ernie", "Nystromformer"),
            *("Llama", "Mistral", "Qwen2", "StableLm", "Olmo", "Granite", "GPTNeoX", "Cohere", "Starcoder2", "Phi"),
        )
    },
    "Albert": ("Albert", {**_SIZES, "embedding_size": 8}, _words),
    "DistilBert": (
        "DistilBert",
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "vocab_size": 64, "max_position_embeddings": 32},
        _words,
    ),
    "SqueezeBert": ("SqueezeBert", {**_SIZES, "embedding_size": 16}, _words),
    "DebertaV2": ("DebertaV2", _SIZES, _words),
    "FNet": ("FNet", _SIZES, _words),
    "GPT2": ("GPT2", _GPT, _words),
    "GPTJ": ("GPTJ", {**_GPT, "rotary_dim": 4}, _words),
    "GPTNeo": (
        "GPTNeo",
        {**_SIZES, "num_layers": 2, "num_heads": 2, "attention_types": [[["global", "local"], 1]], "window_size": 4},
        _words,
    ),
    "Bloom": ("Bloom", {"hidden_size": 16, "n_layer": 2, "n_head": 2, "vocab_size": 64, "use_cache": False}, _words),
    "OPT": ("OPT", {**_SIZES, "ffn_dim": 32, "word_embed_proj_dim": 16}, _words),
    "Gemma": ("Gemma", {**_SIZES, "head_dim": 8}, _words),
    "Gemma2": ("Gemma2", {**_SIZES, "head_dim": 8, "sliding_window": 4}, _words),
    "Qwen3": ("Qwen3", {**_SIZES, "head_dim": 8}, _words),
    "T5Encoder": ("T5Encoder", _T5, _words),
    "ViT": ("ViT", {**_SIZES, **_VISION}, _image()),
    "DeiT": ("DeiT", {**_SIZES, **_VISION}, _image()),
    "Beit": ("Beit", {**_SIZES, **_VISION}, _image()),
    "Dinov2": ("Dinov2", {**_SIZES, **_VISION}, _image()),
    "Swin": (
        "Swin",
        {"image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 4},
        _image(),
    ),
    "ConvNext": ("ConvNext", {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2}, _image()),
    "ResNet": ("ResNet", _STAGES, _image()),
    "RegNet": ("RegNet", {**_STAGES, "groups_width": 4}, _image()),
    "MobileNetV2": ("MobileNetV2", {"image_size": 32, "depth_multiplier": 0.25}, _image()),
    "Segformer": (
        "Segformer",
        {"hidden_sizes": [8, 16], "depths": [1, 1], "num_attention_heads": [1, 2], "num_encoder_blocks": 2},
        _image(),
    ),
    "PoolFormer": ("PoolFormer", {"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1]}, _image(64)),
}


def install(folder: Path) -> None:
    """Install the packages of the models where they are not, and make them importable."""
    if not (folder / "transformers").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *PACKAGES]
        subprocess.run(pip, check=True)
    sys.path.append(str(folder))


def make(name: str) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """A model of the zoo and its inputs."""
    torch.manual_seed(0)
    kind, sizes, inputs = MODELS[name]
    transformers: Any = importlib.import_module("transformers")
    named = "T5Config" if kind == "T5Encoder" else f"{kind}Config"
    config = getattr(transformers, named)(**sizes)
    model = getattr(transformers, f"{kind}Model")._from_config(config, attn_implementation="eager")
    return First(model.eval()).eval(), (inputs(),)


def row(name: str, targets: tuple[str, ...]) -> dict[str, str]:
    """For each IR type `ok`, `more` where bare torch-mlir fails, `less: why` where irwidget does, or why both do.

    Of a GPU target it is `valid` kernels, or why not.
    """
    model, inputs = make(name)
    made: Any = {}
    problem = ""
    try:
        made = irwidget.lower(model, *inputs, to=list(targets), kernels=True, timeout=SECONDS)
    except IRWidgetError as error:
        made, problem = error.lowerings, str(error).split("\n")[0]
    both = any(target in bare.OUTPUT_TYPES for target in targets)
    imports = both and bare.lowered(model, inputs, "torch_mlir") is not None  # what comes first, whatever the IR type
    found: dict[str, str] = {}
    for target in targets:
        low = made.get(target)
        if low is None or low.trace.failure is not None:
            said = low.trace.failure.message.split("\n")[0] if low is not None and low.trace.failure else problem
        else:
            said = kernels.verdict(low, target) if target in kernels.TARGETS else "ok"
        if target in bare.OUTPUT_TYPES:
            alone = imports and bare.lowered(model, inputs, target) is not None
            said = ("ok" if alone else "more") if said == "ok" else f"less: {said}" if alone else said
        found[target] = said
    return found


def table(results: dict[str, dict[str, str]]) -> str:
    """The results as Markdown: a row for each model, reasons as notes below, and how many there are of each."""
    notes: dict[str, int] = {}
    targets = list(dict.fromkeys(target for found in results.values() for target in found))
    lines = ["| model | " + " | ".join(targets) + " |", "|" + "---|" * (len(targets) + 1)]
    for name, found in results.items():
        said = [found.get(target, "not run") for target in targets]
        cells = [one if one in _SHORT else f"[{notes.setdefault(one, len(notes) + 1)}]" for one in said]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    good = [sum(found.get(target) in ("ok", "more", "valid") for found in results.values()) for target in targets]
    lines.append(f"| of {len(results)} | " + " | ".join(map(str, good)) + " |")
    return "\n".join([*lines, "", *(f"{number}. {note[:240]}" for note, number in notes.items())])


_SHORT = ("ok", "more", "valid", "not run")


def _kept(file: Path) -> dict[str, dict[str, str]]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    kept = {name: dict[str, str]() for name in MODELS}
    for line in map(json.loads, lines):
        kept[line["model"]] = kept.get(line["model"], {}) | line["found"]
    return {name: found for name, found in kept.items() if found}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.zoo", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="these only, also where they are done")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--packages", type=Path, default=Path("build/zoo"), metavar="FOLDER")
    parser.add_argument("--results", type=Path, default=Path("build/zoo.jsonl"), metavar="FILE")
    parser.add_argument("--table", action="store_true", help="print what is done, run nothing")
    parsed = parser.parse_args(arguments)
    if not parsed.table:
        install(parsed.packages)
        parsed.results.parent.mkdir(parents=True, exist_ok=True)
        _run(parsed.models, tuple(parsed.targets.split(",")), parsed.results)
    print(table(_kept(parsed.results)))


def _run(wanted: list[str], targets: tuple[str, ...], results: Path) -> None:
    done = {name for name, found in _kept(results).items() if set(targets) <= set(found)}
    for name in wanted or [name for name in MODELS if name not in done]:
        started = time.perf_counter()
        try:
            found = row(name, targets)
        except Exception as error:  # the model itself
            print(f"{name}: left out, {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)
            continue
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"model": name, "found": found}) + "\n")
        left = {target: said for target, said in found.items() if said not in _SHORT}
        print(f"{name}: {time.perf_counter() - started:.0f} s {left or ''}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
