"""Every LLVM pass that changed something, on request; the switch for it stays out of the worker."""

import re

import pytest
import torch

import irwidget
from irwidget import expand, llvm_routes, routes
from irwidget.errors import UsageError
from irwidget.frontends import importing
from irwidget.frontends import torch as frontend
from irwidget.toolchain import llvm_passes
from irwidget.toolchain.run import Options, Source
from irwidget.trace import WHOLE, Scope


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


MODEL, X = Mlp(), torch.zeros(4, 16)


@pytest.fixture(scope="module")
def source() -> Source:
    return Source(importing.import_program(frontend.export(MODEL, (X,), {}, None, "mlp"), "mlp").bytecode)


def test_llvm_passes_become_dumps() -> None:
    plain = irwidget.lower(MODEL, X, to="nvptx")
    every = irwidget.lower(MODEL, X, to="nvptx", llvm_passes=True)
    names = [dump.name for dump in every.dumps if str(every.trace.step_of(dump)) == "opt"]
    assert names[0] == "InferFunctionAttrsPass"
    assert {"LICMPass", "InstCombinePass", "SimplifyCFGPass"} < set(names)
    assert names[-1] == "default<O2>"
    machine = [dump for dump in every.dumps if str(every.trace.step_of(dump)) == "llc"]
    assert machine[0].name == "nvptx-isel"
    assert machine[0].language == "mir"
    assert machine[-1].language == "ptx"
    assert every.text == plain.text
    for name in ("LICMPass", "InstCombinePass", "nvptx-isel"):
        lines = {place.line for dump in every.dumps if dump.name == name for place in dump.locations if place}
        assert lines == {MODEL.forward.__code__.co_firstlineno + 1}, name


def test_values_keep_their_names_through_the_passes() -> None:
    """What the passes make of named values is what they make of nameless ones."""
    every = irwidget.lower(MODEL, X, to="llvm_ir", pipeline="opt -O2 -print-changed=quiet")
    last, result = (_nameless(dump.text) for dump in every.dumps[-2:])
    assert len(result) > 100
    assert last == result
    assert "= phi" in every.dumps[-2].text
    assert not re.search(r"%\d+ = phi", every.dumps[-2].text)


def _nameless(text: str) -> list[str]:
    """The instructions of `@main` without the names of values and blocks."""
    body = text[text.index("define") :].partition("\n}\n")[0].splitlines()
    return [re.sub(r"%[\w.]+", "%", line) for line in body[1:] if line.startswith("  ")]


def test_a_dump_of_llvm_can_be_opened_later(source: Source) -> None:
    options = Options()
    trace = source.run(routes.find("amdgpu").steps, options, target="amdgpu")
    for index in (len(trace.dumps) - 2, len(trace.dumps) - 1):
        inside = expand.LLVMPasses(source, trace, options).open(trace.dumps[index])
        assert len(inside) > 5
        assert inside[-1].text == trace.dumps[index].text
        assert "!dbg" not in "".join(dump.text for dump in inside)
        by_scope: dict[Scope, str] = {}
        for dump in inside[:-1]:
            assert by_scope.get(dump.scope) != dump.text, f"{dump.name} changed nothing"
            by_scope[dump.scope] = dump.text


def test_only_llvm_has_passes_inside(source: Source) -> None:
    options = Options()
    trace = source.run(routes.find("llvm_ir").steps, options)
    with pytest.raises(UsageError, match="only those of opt and llc"):
        expand.LLVMPasses(source, trace, options).open(trace.dumps[3])


def test_a_crash_inside_is_an_error_of_the_tool(source: Source) -> None:
    """The NVPTX back end ends the process for exp; here that is not even the worker."""
    encoder = torch.nn.Softmax(-1)
    with pytest.raises(irwidget.errors.PassError, match="no libcall available for fexp"):
        irwidget.lower(encoder, torch.zeros(2, 3), to="nvptx", route="explorer", llvm_passes=True)


@pytest.mark.parametrize(("log", "expected"), [
    ("*** IR Dump After SROAPass on main ***\ndefine void @main() {\n}\n", [("SROAPass", Scope("", "main"), "llvm")]),
    ("*** IR Dump After LICMPass on loop %bb in function main ***\n; Preheader:\n",
     [("LICMPass", Scope("", "main", "%bb"), "llvm")]),
    ("*** IR Dump After Machine Common Subexpression Elimination (machine-cse) on main ***\n"
     "# Machine code for function main: IsSSA\n", [("machine-cse", Scope("", "main"), "mir")]),
    ("*** IR Dump After APass on [module] ***\nx\n*** IR Dump After BPass on [module] ***\nx\n"
     "*** IR Dump After CPass on [module] ***\ny\n", [("APass", WHOLE, "llvm"), ("CPass", WHOLE, "llvm")]),
    ("noise\n", []),
])  # fmt: skip
def test_dumps_are_taken_apart(log: str, expected: list[tuple[str, Scope, str]]) -> None:
    assert [(one.name, one.scope, one.language) for one in llvm_passes.split(log)] == expected


def test_the_step_says_it_as_a_user_would() -> None:
    lowering = irwidget.lower(MODEL, X, to="spirv", llvm_passes=True, dumps=False)
    assert all(llvm_routes.PRINT_CHANGED in step.arguments for step in lowering.steps[-2:])
