"""Programs that end, abort or hang LLVM: the kernel survives, the dumps stay, the next lowering works."""

from __future__ import annotations

import pytest
import torch

import irwidget
from irwidget import routes
from irwidget.errors import IRWidgetError, PassError, ToolError
from irwidget.frontends import importing
from irwidget.frontends import torch as frontend
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step
from tests.llvm.test_targets import named


def survives(error: IRWidgetError, pass_name: str, tool: str, last_step: str) -> None:
    """What must hold after any crash."""
    assert error.lowering
    assert str(error.lowering.trace.step_of(error.lowering.dumps[-1])) == last_step
    assert all(dump.text for dump in error.lowering.dumps)
    assert isinstance(error, PassError | ToolError)
    assert (error.pass_name, error.tool) == (pass_name, tool)
    assert error.reproducer.startswith(tool)


def works() -> None:
    """The next lowering, by code generation, too."""
    assert ".visible .func" in irwidget.lower(torch.nn.Linear(4, 2), torch.zeros(1, 4), to="nvptx", dumps=False).text


@pytest.mark.parametrize(("program", "target", "message"), [
    ("cnn", "nvptx", "exited with status 1.*stackrestore requires PTX ISA version >= 7.3"),
    ("cnn", "amdgpu", r"^parse \(llc\) failed: alloca on amdgpu must be in addrspace\(5\)\n"),
    ("cnn", "spirv", "exited with status 1.*SPV_INTEL_variable_length_array"),
    pytest.param(
        "encoder", "nvptx", "exited with status 1.*no libcall available for fexp", marks=pytest.mark.exhaustive
    ),
])  # fmt: skip
def test_code_generation_that_fails_or_ends_the_process(program: str, target: str, message: str) -> None:
    model, inputs = named(program).make()
    with pytest.raises((PassError, ToolError), match=message) as caught:  # SPIR-V is written by a copy of the worker
        irwidget.lower(model, *inputs, to=target, route="explorer")
    survives(caught.value, "parse" if target == "amdgpu" else "codegen", "llc", "opt")  # as llc itself refuses it
    assert irwidget.lower(model, *inputs, to=target, dumps=False).text


def test_translation_that_would_segfault_is_refused() -> None:
    model, inputs = named("gelu").make()
    with pytest.raises(PassError, match=r"math\.erf") as caught:
        irwidget.lower(model, *inputs, to="llvm_ir", route="explorer")
    survives(caught.value, "mlir-to-llvmir", "mlir-translate", "explorer")
    works()


@pytest.mark.heavy
def test_unrolling_for_amd_gpus_is_stopped_in_time() -> None:
    """Without the robust route's switches, code generation of an encoder layer takes minutes."""
    model, inputs = named("encoder").make()
    source = Source(importing.import_program(frontend.export(model, inputs, {}, None, "encoder"), "encoder").bytecode)
    *before, _, _ = routes.find("amdgpu").steps
    target = "-O2 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx942"
    assert not source.run(before, Options(), target="amdgpu").failure  # the limit is for what comes after
    trace = source.run((*before, Step("opt", target), Step("llc", target)), Options(timeout=3), target="amdgpu")
    assert trace.failure
    assert trace.failure.kind == "tool"
    assert "timed out" in trace.failure.message
    assert trace.failure.tool in ("opt", "llc")
    assert trace.dumps[-1].text
    works()


def test_llvm_ir_that_does_not_parse_is_an_error_with_its_line() -> None:
    with pytest.raises(IRWidgetError, match="expected instruction opcode|use of undefined value"):
        irwidget.lower("define void @f() {\n  nonsense\n}\n", to="raw_ir", pipeline="opt -O2")
