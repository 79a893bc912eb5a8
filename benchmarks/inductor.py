"""torch.compile, opened: what can be, and what it costs to look on.

    python -m benchmarks.inductor [--rounds N]                     time with every pass captured against none
    python -m benchmarks.inductor --table [PROGRAM ...] [--devices cpu,sm_90,gfx942] [--assemble] [--models]

The table is of the programs of the support table, and with `--models` of five models of Hugging Face's transformers
(where that is installed) with random weights. A cell says how many kernels Inductor generates and how many it calls;
with `--assemble` each Triton kernel also goes to machine code. RNN, LSTM and GRU, which Dynamo otherwise leaves to
eager PyTorch, are compiled too (`torch._dynamo.config.allow_rnn`). Whether the output code is that of an unwatched
Inductor, text for text, is said for every cell.
"""

from __future__ import annotations

import argparse
import re
import statistics
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch._dynamo

import irwidget
from irwidget import imports
from irwidget.errors import IRWidgetError
from irwidget.inductor import capture, private, settings
from irwidget.inductor.data import CapturedCompilation
from irwidget.toolchain import forked
from irwidget.trace import Content
from tests.llvm.programs import PROGRAMS

Made = tuple[str, Callable[[], tuple[Any, tuple[Any, ...]]]]
TRANSFORMERS = ("bert", "gpt2", "llama", "t5", "vit")


def compiled(asked: capture.CaptureRequest) -> CapturedCompilation:
    """One compilation, in a copy of this process."""
    return forked.call(lambda: capture.capture(asked), cuda=False)


_COMPUTES = re.compile(r"\s+(?:auto )?tmp\w* = |\s+tl\.store\(|.*\.store\(|\s+\w+\[.*\] = ")
"""Lines of a kernel that compute or store something."""
_INSTRUCTION = re.compile(
    r"\s+(?:@!?\S+ )?(?:add|mul|sub|fma|ex2|max|min|div|sqrt|rsqrt|ld\.global|st\.global|v_|global_)\S*\s"
)
"""Instructions of PTX and of AMD that do."""


@dataclass
class Lines:
    """How much of the code leads to a line of the program's."""

    kernels: int = 0
    kernels_placed: int = 0
    lines: int = 0
    lines_placed: int = 0
    instructions: int = 0
    instructions_placed: int = 0

    def add(self, captured: CapturedCompilation, last: Content) -> None:
        """Count the kernels of a compilation, and what was assembled of them."""
        for kernel in captured.kernels:
            pairs = zip(kernel.source.text.split("\n"), kernel.source.places, strict=False)
            known = [place is not None for line, place in pairs if _COMPUTES.match(line)]
            self.kernels += 1
            self.kernels_placed += any(known)
            self.lines += len(known)
            self.lines_placed += sum(known)
        pairs = zip(last.text.split("\n"), last.locations, strict=False)
        found = [place is not None for line, place in pairs if _INSTRUCTION.match(line)]
        self.instructions += len(found)
        self.instructions_placed += sum(found)

    def __str__(self) -> str:
        said = (
            f"{self.kernels_placed} of {self.kernels} kernels and {self.lines_placed} of {self.lines} computing lines"
        )
        more = f", {self.instructions_placed} of {self.instructions} instructions" if self.instructions else ""
        return f"{said}{more} have a line of the program"


def cell(model: Any, inputs: tuple[Any, ...], device: str, lines: Lines, *, assemble: bool) -> str:
    """What becomes of a program on a device, in short; its lines are counted."""
    arch = None if device == "cpu" else device
    try:
        target = "inductor_cpp" if arch is None else "inductor_triton"
        if assemble and arch is not None:
            target = "inductor_amdgcn" if arch.startswith("gfx") else "inductor_ptx"
        options: dict[str, Any] = {"arch": arch} if arch else {}
        low = irwidget.lower(model, *inputs, to=target, **options)
    except IRWidgetError as error:
        return str(error).split("\n")[0][:160].replace("|", "\\|")
    watched: CapturedCompilation = low.results["compilation"].captured
    lines.add(watched, low.dumps[-1].content)
    bare = compiled(capture.CaptureRequest(model, inputs, arch=arch, watched=False))
    same = "equal" if bare.outputs == watched.outputs else "DIFFERS"
    return f"{len(watched.kernels)} + {len(watched.called)}, {same}"


def programs(names: list[str], models: bool) -> Iterator[Made]:
    for program in PROGRAMS:
        if not names or program.name in names:
            yield program.name, program.make
    for name in TRANSFORMERS if models else ():
        yield name, lambda name=name: transformer(name)


def transformer(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A small model of transformers with random weights, and its input."""
    import transformers as hf  # pyright: ignore[reportMissingImports]

    small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    configs: dict[str, Any] = {
        "bert": lambda: hf.BertModel(hf.BertConfig(**small)),
        "gpt2": lambda: hf.GPT2Model(hf.GPT2Config(n_embd=64, n_layer=2, n_head=4)),
        "llama": lambda: hf.LlamaModel(hf.LlamaConfig(**small, num_key_value_heads=4, vocab_size=1000)),
        "t5": lambda: hf.T5EncoderModel(hf.T5Config(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)),
        "vit": lambda: hf.ViTModel(hf.ViTConfig(**small, image_size=32, patch_size=8)),
    }
    image = name == "vit"
    return configs[name]().eval(), (torch.randn(1, 3, 32, 32) if image else torch.randint(0, 1000, (1, 16)),)


def table(names: list[str], devices: list[str], *, assemble: bool, models: bool) -> None:
    print("| program | " + " | ".join(devices) + " |")
    print("|---" * (len(devices) + 1) + "|")
    lines = {device: Lines() for device in devices}
    torch._dynamo.config.allow_rnn = True
    for name, make in programs(names, models):
        torch.manual_seed(0)
        model, inputs = make()
        with torch.no_grad():
            cells = [cell(model, inputs, device, lines[device], assemble=assemble) for device in devices]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    for device in devices:
        print(f"\n{device}: {lines[device]}")


def layers(count: int) -> tuple[Any, tuple[Any, ...]]:
    """An encoder of so many layers, for training, and its input."""
    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    return torch.nn.Sequential(*(layer if count == 1 else _again(layer) for _ in range(count))), (
        torch.randn(2, 16, 128),
    )


def _again(layer: torch.nn.Module) -> torch.nn.Module:
    import copy

    return copy.deepcopy(layer)


def speed(rounds: int, devices: list[str], sizes: list[int]) -> None:
    """Seconds of the processor with all passes captured, and with none, in turn, of encoders of so many layers."""
    print("| program | device | captured, s | bare, s | ratio |")
    print("|---|---|---|---|---|")
    for device in devices:
        arch = None if device == "cpu" else device
        for count in sizes:
            model, inputs = layers(count)
            times: dict[bool, list[float]] = {True: [], False: []}
            for _ in range(rounds):
                for watched in (False, True):
                    done = compiled(capture.CaptureRequest(model, inputs, arch=arch, watched=watched))
                    times[watched].append(done.processor)
            ours, bare = statistics.median(times[True]), statistics.median(times[False])
            name = f"encoder, {count} layer{'s' if count > 1 else ''}, forward and backward"
            print(f"| {name} | {device} | {ours:.2f} | {bare:.2f} | {ours / bare:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--assemble", action="store_true")
    parser.add_argument("--devices", default="cpu,sm_90,gfx942")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", default="1,10")
    given = parser.parse_args()
    imports.wait(private.WARM)
    settings.warm()
    settings.try_compiler()
    if given.table:
        table(given.programs, given.devices.split(","), assemble=given.assemble, models=given.models)
    else:
        devices = [device for device in given.devices.split(",") if not device.startswith("gfx")]
        speed(given.rounds, devices, [int(count) for count in given.layers.split(",")])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
