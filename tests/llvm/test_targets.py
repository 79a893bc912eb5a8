"""Every program reaches every LLVM target by the robust route, and what it becomes is valid there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch

import irwidget
from irwidget import llvm_routes
from tests.llvm import validity
from tests.llvm.programs import PROGRAMS, Program
from tests.sampling import one_of

TARGETS = ("llvm_mlir", "llvm_ir", "nvptx", "amdgpu", "spirv")
CHOSEN = {"encoder": ("llvm_ir", "spirv")}
"""Where a GPU's code generation takes ten seconds; tests/crashers has the encoder for AMD."""
QUICK = ("mlp", "gelu", "bfloat16", "trigonometry", "dynamic_batch")


def lower(program: Program, target: str | tuple[str, ...], **options: object) -> Any:
    torch.manual_seed(0)
    model, inputs = program.make()
    return irwidget.lower(model, *inputs, to=target, dynamic_shapes=program.dynamic_shapes, timeout=300, **options)


def named(name: str) -> Program:
    return next(program for program in PROGRAMS if program.name == name)


def complete_llvm_mlir(text: str) -> None:
    operations = set(re.findall(r"^\s*(?:%[\w:, %]+ = )?([a-z_]+)\.", text, re.M))
    assert operations == {"llvm"}


def complete_llvm_ir(text: str) -> None:
    assert re.search(r"^define .*@main\(", text, re.M)
    assert "!dbg" not in text


def complete_nvptx(text: str) -> None:
    assert re.search(r"^\.visible \.func .*main\(", text, re.M)
    valid("nvptx", text)


def complete_amdgpu(text: str) -> None:
    assert '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"' in text
    assert re.search(r"^\s+s_setpc_b64", text, re.M)
    valid("amdgpu", text)


def complete_spirv(text: str) -> None:
    assert re.search(r'OpDecorate %\w+ LinkageAttributes "main" Export', text)
    assert text.count("OpFunction ") == text.count("OpFunctionEnd")
    valid("spirv", text)


def valid(target: str, text: str) -> None:
    if not validity.missing(target):
        assert validity.faults(target, text) == ""
    assert validity.unresolved(target, text) == set()


COMPLETE = {
    "llvm_mlir": complete_llvm_mlir, "llvm_ir": complete_llvm_ir, "nvptx": complete_nvptx,
    "amdgpu": complete_amdgpu, "spirv": complete_spirv,
}  # fmt: skip


def rows() -> Iterator[Any]:
    """Every run has each program on one target of GPUs and on one of the others, and a few on all."""
    for program in PROGRAMS:
        if program.name in QUICK:
            yield pytest.param(program, TARGETS, id=program.name)
            continue
        chosen = CHOSEN.get(program.name, (one_of(TARGETS[:2], program.name), one_of(TARGETS[2:], program.name)))
        left = tuple(target for target in TARGETS if target not in chosen)
        yield pytest.param(program, chosen, id=f"{program.name}-{'-'.join(chosen)}", marks=pytest.mark.heavy)
        yield pytest.param(program, left, id=f"{program.name}-{'-'.join(left)}", marks=pytest.mark.exhaustive)


@pytest.mark.parametrize(("program", "targets"), [*rows()])
def test_every_program_reaches_every_target(program: Program, targets: tuple[str, ...]) -> None:
    """All targets of one export."""
    made = lower(program, targets)
    for target in targets:
        assert made[target].dumps[-1].language == irwidget.targets()[target].language
        COMPLETE[target](made[target].text)


@pytest.mark.parametrize(("target", "arch", "expected"), [
    ("nvptx", "sm_70", ".target sm_70"),
    ("nvptx", "sm_90a", ".target sm_90a"),
    ("nvptx", "sm_100", ".target sm_100"),
    ("amdgpu", "gfx1100", "gfx1100"),
    ("amdgpu", "gfx90a", "gfx90a"),
])  # fmt: skip
def test_arch_is_what_the_code_is_for(target: str, arch: str, expected: str) -> None:
    assert expected in lower(named("mlp"), target, arch=arch).text


def test_one_arch_of_each_family() -> None:
    model, inputs = named("mlp").make()
    made: Mapping[str, irwidget.Lowering] = irwidget.lower(model, *inputs, to=["nvptx", "amdgpu"], arch="sm_90,gfx1100")
    assert ".target sm_90" in made["nvptx"].text
    assert "gfx1100" in made["amdgpu"].text


@pytest.mark.parametrize(("options", "message"), [
    ({"to": "nvptx", "arch": "sm_81"}, r"sm_80 or sm_86 or sm_87\? Known: sm_30, "),
    ({"to": "amdgpu", "arch": "sm_80"}, "amdgpu: no architecture 'sm_80'"),
    ({"to": "nvptx", "O": 4}, "O is 0, 1, 2 or 3"),
    ({"to": "nvptx", "route": "explore"}, "Did you mean explorer"),
    ({"to": "nvptx", "route": "explorer", "kernels": True}, "explorer route has no kernels"),
])  # fmt: skip
def test_wrong_options_are_refused_before_anything_runs(options: dict[str, object], message: str) -> None:
    def never(*_: object) -> torch.Tensor:
        raise AssertionError("it ran")

    with pytest.raises(irwidget.errors.UsageError, match=message):
        irwidget.lower(never, torch.zeros(1), **options)


def test_O_sets_the_level_of_opt_and_llc() -> None:
    sizes = {}
    for level in (0, 2):
        lowering = lower(named("mlp"), "nvptx", O=level)
        assert [step.arguments.split()[0] for step in lowering.steps[-2:]] == [f"-O{level}"] * 2
        sizes[level] = lowering.text.count("\n")
    assert sizes[0] != sizes[2]


def test_large_constants_are_external_unless_they_are_wanted() -> None:
    model = torch.nn.Linear(64, 32)
    elided = irwidget.lower(model, torch.zeros(1, 64), to="llvm_ir")
    full = irwidget.lower(model, torch.zeros(1, 64), to="llvm_ir", elide=False)
    assert re.search(r"^@\w+ = external constant \[32 x \[64 x float\]\]", elided.text, re.M)
    assert re.search(r"^@\w+ = private constant \[32 x \[64 x float\]\] \[\[", full.text, re.M)


def test_the_routes_differ_where_they_should() -> None:
    robust, explorer = (lower(named("mlp"), "llvm_mlir", route=route) for route in ("robust", "explorer"))
    assert robust.steps[-1] == llvm_routes.TO_LLVM
    assert explorer.steps[-1] == llvm_routes.EXPLORER
    complete_llvm_mlir(explorer.text)
