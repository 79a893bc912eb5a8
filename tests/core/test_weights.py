"""Weights are not sent, and nothing that is shown or computed changes for that."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn

import irwidget
from irwidget import routes
from irwidget.frontends import importing, pytorch
from irwidget.frontends import torch as frontend
from irwidget.toolchain import constants, mlir
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step
from tests.sampling import sampled


class Of(nn.Module):
    """A function of buffers and inputs; buffers named `passing...` are not persistent."""

    def __init__(self, function: Callable[..., Any], **tensors: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, tensor in tensors.items():
            if isinstance(tensor, nn.Parameter):
                setattr(self, name, tensor)
            else:
                self.register_buffer(name, tensor, persistent=not name.startswith("passing"))

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self, *inputs)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(100, 64), nn.Linear(64, 100, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.words(ids))


class Lifted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attribute = torch.randn(100, 100)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.attribute + torch.tensor([1.0, 2.0]).sum() + torch.tensor(3.0)


def typed(dtype: torch.dtype) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Large, small and tiny constants of a type."""
    values = torch.randn(80, 512) * 50
    values = values.abs() if dtype in (torch.uint8, torch.float8_e8m0fnu) else values
    large, small, tiny = (part.to(dtype) for part in (values, values[0], values[0, :1]))
    model = Of(lambda m, x: x + m.a.float() + m.b.float() + m.c.float(), a=large, b=small, c=tiny)
    return model, (torch.ones(80, 512),)


def models() -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    torch.manual_seed(0)
    some, x, base, square = torch.randn, torch.randn(2, 128), torch.randn(64, 256), torch.randn(150, 150)
    conv = (
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 64, 3),
        nn.Conv2d(64, 64, 3, stride=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 100),
        nn.Linear(100, 3),
    )
    small = {"a": some(3), "b": some(2, 3), "c": some(2, 2, 3), "d": some(3), "w": some(3, 3000)}
    return {
        "two layers of one shape": (nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 128)), (x,)),
        "convolutions, batch norm": (nn.Sequential(*conv).eval(), (some(1, 3, 32, 32),)),
        "encoder": (nn.TransformerEncoderLayer(64, 4, 256, batch_first=True).eval(), (some(1, 8, 64),)),
        "embedding": (nn.Embedding(1000, 64), (torch.arange(14).reshape(2, 7),)),
        "tied": (Tied(), (torch.arange(14).reshape(2, 7),)),
        "small ones shown": (Of(lambda m, x: ((x * m.a + m.b) * m.c + m.d) @ m.w, **small), (some(2, 2, 3),)),
        "integers": (Of(lambda m, x: x @ m.w.float(), w=torch.randint(-99, 99, (128, 256))), (x,)),
        "masks": (
            Of(lambda m, x: torch.where(m.a, x, 0.0) + torch.where(m.b, x, 1.0), a=square > 0, b=square > 1),
            (square,),
        ),
        "transposed": (Of(lambda m, x: x @ m.w, w=nn.Parameter(some(256, 128).t())), (x,)),
        "expanded": (Of(lambda m, x: x @ m.w, w=some(1, 128).expand(128, 128)), (x,)),
        "one memory": (
            Of(lambda m, x: x + m.a[:, :128] + m.b + m.c, a=base, b=base[:, 128:], c=base[:, :128]),
            (some(64, 128),),
        ),
        "0-d": (Of(lambda m, x: x * m.a + m.b, a=torch.tensor(2.5), b=torch.tensor([3.5])), (some(4),)),
        "size 0": (Of(lambda m, x: x + m.a.sum(), a=torch.zeros(0, 3)), (some(4, 3),)),
        "not persistent": (
            Of(lambda m, x: x @ m.passing + m.passing_too, passing=some(128, 128), passing_too=some(128)),
            (x,),
        ),
        "lifted": (Lifted(), (some(3, 100),)),
        "written to": (Of(lambda m, x: x + m.a.add_(1), a=some(64, 128)), (some(64, 128),)),
        **{
            str(dtype): typed(dtype)
            for dtype in (
                torch.float16,
                torch.bfloat16,
                torch.float64,
                torch.int64,
                torch.int32,
                torch.int16,
                torch.int8,
                torch.uint8,
                torch.bool,
                torch.float8_e5m2,
                torch.float8_e4m3fn,
                torch.float8_e5m2fnuz,
                torch.float8_e4m3fnuz,
                torch.float8_e8m0fnu,
            )
        },
        "complex": (Of(lambda m, x: x + m.a.abs(), a=torch.randn(80, 128, dtype=torch.complex64)), (some(80, 128),)),
    }


MODELS = models()


def bare(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> Any:
    """The module that torch-mlir's own importer makes."""
    from torch_mlir.extras.fx_importer import FxImporter, RefTracker

    class Holding(RefTracker):
        """Knows tensors by their id, and by mistake a later one that has the id of one that is gone."""

        def track(self, referrent: Any) -> Any:
            held.append(referrent)
            return super().track(referrent)

    held: list[Any] = []
    program = frontend.export(model, inputs)
    importer = FxImporter(context=mlir.new_context(), py_attr_tracker=Holding())
    missing = {name for name in program.graph_signature.inputs_to_buffers.values() if name not in program.state_dict}
    program.state_dict.update({name: program.constants[name] for name in missing})
    importer.import_frozen_program(program, func_name="main")
    return importer.module


def text(module: Any, *, elide: bool) -> str:
    limits = {"large_elements_limit": 10, "large_resource_limit": 64} if elide else {}
    return mlir.content(module.operation.get_asm(enable_debug_info=True, **limits)).text


@pytest.mark.parametrize("name", sampled(MODELS, 12))
def test_the_import_is_that_of_torch_mlir(name: str) -> None:
    model, inputs = MODELS[name]
    theirs = bare(model, inputs)
    imported = importing.import_program(frontend.export(model, inputs), name)
    source = Source(imported.bytecode, weights=imported.weights)
    assert source.run(()).dumps[0].text == text(theirs, elide=True)
    assert source.whole.run(()).dumps[0].text == text(theirs, elide=True)
    full = irwidget.lower(model, *inputs, to="torch_mlir", elide=False)
    assert full.dumps[0].text == text(theirs, elide=False)


ROUTES = ("torch_mlir", "tosa_mlir", "linalg_on_tensors_mlir", "stablehlo_mlir", "llvm_mlir")
LOWERED = (
    "two layers of one shape",
    "convolutions, batch norm",
    "encoder",
    "small ones shown",
    "integers",
    "transposed",
    "expanded",
    "torch.float16",
    "torch.int8",
)


@pytest.mark.parametrize("name", sampled(LOWERED, 6))
def test_passes_give_what_they_give_with_the_values(name: str) -> None:
    model, inputs = MODELS[name]
    imported = mlir.bytecode(bare(model, inputs))
    elided: Any = irwidget.lower(model, *inputs, to=ROUTES)
    whole: Any = irwidget.lower(model, *inputs, to=ROUTES, elide=False) if name in LOWERED[:2] else {}
    for target in ROUTES:
        module = mlir.parse(imported, mlir.new_context())
        for step in routes.find(target).steps:
            mlir.passmanager.PassManager.parse(step.arguments, context=module.context).run(module.operation)
        assert elided[target].text == text(module, elide=True), target
        if whole:
            assert whole[target].text == text(module, elide=False), target


WIDE = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).eval()
X = torch.ones(1, 512)


def wide() -> importing.Imported:
    imported = importing.import_program(frontend.export(WIDE, (X,)), "wide")
    assert imported.weights
    imported.weights.safe = pytorch.value_independent_steps()
    return imported


def test_large_floats_are_not_in_the_bytecode() -> None:
    imported = wide()
    assert imported.weights
    assert len(imported.bytecode) < 10_000
    assert imported.weights.size == 2 * 512 * 512 * 4
    assert imported.weights.values(everything=False) is None


def test_linalg_needs_no_values() -> None:
    source = Source((imported := wide()).bytecode, weights=imported.weights)
    assert not source.run(routes.find("llvm_ir").steps).failure
    assert "whole" not in vars(source)


def test_a_pass_of_the_users_own_sees_the_values() -> None:
    """This one transposes constants, which it cannot without them."""
    ours = irwidget.lower(WIDE, X, to="tosa_mlir").text
    own = "torch-mlir-opt --torch-backend-to-tosa-backend-pipeline"
    assert irwidget.lower(WIDE, X, to="torch_mlir", pipeline=own).text == ours
    assert "tosa.transpose" not in ours


@pytest.mark.usefixtures("own_folder")
def test_what_crashes_without_values_is_run_with_them() -> None:
    """The worker is killed the first time; that it was for want of values is what cannot be excluded."""
    Path("kill").write_text("#!/bin/sh\ntest -e done || { touch done; kill -9 $PPID; }\ncat\n")
    Path("kill").chmod(0o755)
    source = Source((imported := wide()).bytecode, weights=imported.weights)
    steps = routes.find("linalg_on_tensors_mlir").steps
    trace = source.run((*steps, Step("user-tool", "./kill")))
    assert not trace.failure
    assert trace.dumps[-2].text == source.run(steps).dumps[-1].text
    assert trace.dumps[-1].language == "mlir"


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_fails_without_values_and_with_them_fails_alike() -> None:
    model = Of(lambda m, x: torch.fft.fft(x @ m.w).real, w=torch.ones(512, 512))
    imported = importing.import_program(frontend.export(model, (X,)), "spectrum")
    assert imported.weights
    imported.weights.safe = pytorch.value_independent_steps()
    source = Source(imported.bytecode, weights=imported.weights)
    trace = source.run(routes.find("linalg_on_tensors_mlir").steps)
    assert "whole" in vars(source)
    assert trace.failure
    assert trace.failure.pass_name


def test_a_source_is_named_alike_in_every_run() -> None:
    source = Source((imported := wide()).bytecode, weights=imported.weights)
    ways = (Options(), Options(verify=False), Options(isolate=False))
    texts = [source.run(routes.find("torch_mlir").steps, how).dumps[0].text for how in ways]
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.parametrize("change", ["in place", "unseen by torch"])
def test_weights_that_change_are_not_shown_as_those_that_were_exported(change: str) -> None:
    model = nn.Linear(512, 512)
    imported = importing.import_program(frontend.export(model, (X,)), "changing")
    if change == "in place":
        with torch.no_grad():
            model.weight[7, 7] += 1
    else:
        model.weight.data.mul_(2)
    with pytest.raises(irwidget.UsageError, match="The weights of changing have changed since it was exported"):
        Source(imported.bytecode, weights=imported.weights).run((), Options(elide=False))


Truncated = Callable[[int], torch.Tensor]


@pytest.fixture
def truncated(tmp_path: Path) -> Truncated:
    """Weights in a file that somebody cuts off: reading them is a SIGBUS."""

    def make(count: int) -> torch.Tensor:
        path = tmp_path / "weights"
        path.write_bytes(bytes(count * 4))
        with path.open("r+b") as file:
            return torch.frombuffer(mmap.mmap(file.fileno(), 0), dtype=torch.float32)

    return make


def test_a_crash_of_the_importer_costs_the_cell(truncated: Truncated, tmp_path: Path) -> None:
    model = Of(lambda m, x: x + m.w, w=truncated(2048))
    program = frontend.export(model, (torch.ones(2048),))
    os.truncate(tmp_path / "weights", 0)
    with pytest.raises(irwidget.ToolError, match=r"torch-mlir's importer crashed on weights \(it was killed by SIGBUS"):
        importing.import_program(program, "weights")


def test_a_crash_while_weights_are_copied_costs_the_cell(truncated: Truncated, tmp_path: Path) -> None:
    model = Of(lambda m, x: x + m.w, w=truncated(1 << 16))
    imported = importing.import_program(frontend.export(model, (torch.ones(1 << 16),)), "weights")
    os.truncate(tmp_path / "weights", 0)
    with pytest.raises(irwidget.ToolError, match="The weights cannot be read: copying them was killed by SIGBUS"):
        Source(imported.bytecode, weights=imported.weights).run((), Options(elide=False))


def test_an_importer_that_takes_too_long_is_ended() -> None:
    with pytest.raises(irwidget.ToolError, match=r"torch-mlir's importer timed out on wide \(after 0.001 s\)"):
        importing.import_program(frontend.export(WIDE, (X,)), "wide", seconds=0.001)


def test_what_cannot_be_imported_is_refused_at_the_users_line() -> None:
    model = Of(lambda m, x: x + m.w.to(torch.int64), w=torch.arange(9).to(torch.uint16))
    with pytest.raises(irwidget.ExportError, match="Of: it has no type for torch.uint16") as caught:
        irwidget.lower(model, torch.arange(9), to="torch_mlir")
    assert caught.value.location
    assert caught.value.location.file == __file__
    assert "model = Of(lambda m, x: x + m.w.to(torch.int64)" in str(caught.value)


def memory(name: str) -> int:
    """What the kernel says of this process, in MiB: `VmRSS` is what it has now, `VmHWM` the most that it had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) // 1024


@pytest.mark.parametrize("to", ["linalg_on_tensors_mlir", pytest.param("tosa_mlir", marks=pytest.mark.exhaustive)])
def test_the_kernel_has_no_second_copy(to: str) -> None:
    """64 MiB of weights."""
    model = nn.Sequential(*(nn.Linear(2048, 2048) for _ in range(4))).eval()
    irwidget.lower(nn.Linear(8, 8), torch.ones(1, 8), to=to)
    Path("/proc/self/clear_refs").write_text("5")  # the most is what it has now
    before = memory("VmRSS")
    irwidget.lower(model, torch.ones(1, 2048), to=to)
    assert memory("VmHWM") - before < 40


CONSTANTS = {
    "dense<[1, -2, 3]> : tensor<3xi64>": ("int64", [1, -2, 3]),
    "dense<[200, 1]> : tensor<2xui8>": ("uint8", [200, 1]),
    "dense<[true, false]> : tensor<2xi1>": ("bool", [True, False]),
    "dense<[1.5, -2.0]> : tensor<2xf32>": ("float32", [1.5, -2.0]),
    "dense<[1.5, -2.0]> : tensor<2xf16>": ("float16", [1.5, -2.0]),
    "dense<7> : tensor<2xi32>": ("int32", [7, 7]),
    "dense<[[1.5], [0x7F80], [-1.0e-30]]> : tensor<3x1xbf16>": ("uint16", [0x3FC0, 0x7F80, 0x8DA2]),
    'dense<"0xC03F807F"> : tensor<2xbf16>': ("uint16", [0x3FC0, 0x7F80]),
}


@pytest.mark.parametrize("text", CONSTANTS)
def test_the_elements_of_a_constant(text: str) -> None:
    kind, values = CONSTANTS[text]
    context = mlir.new_context()
    attribute = mlir.ir.Attribute.parse(text, context=context)
    assert numpy.frombuffer(constants.values(attribute), kind).tolist() == values
