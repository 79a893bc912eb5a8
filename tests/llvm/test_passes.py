"""Every LLVM pass that changed something, on request; the switch for it stays out of the worker."""

import re
import subprocess
import sys

import psutil
import pytest
import torch

import irwidget
from irwidget import expand, llvm_routes, routes
from irwidget.errors import UsageError
from irwidget.experiments.passes import leavable
from irwidget.frontends import importing
from irwidget.frontends import torch as frontend
from irwidget.reducing.reduce import runs
from irwidget.toolchain import llvm, llvm_passes
from irwidget.toolchain.events import PassStarted
from irwidget.toolchain.run import Interrupted, Options, Source
from irwidget.trace import WHOLE, Dump, Scope, Step
from tests.llvm.programs import UNROLLED


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


def _slow(count: int) -> str:
    """A function that LLVM changes at once, and one that takes it a time that grows with the square of `count`."""
    lines, value = list[str](), "%x"
    for i in range(count):
        lines += [
            f"  %q{i} = getelementptr i32, ptr %p, i32 {value}", f"  store i32 {value}, ptr %q{i}",
            f"  %l{i} = load i32, ptr %p", f"  %a{i} = add i32 {value}, %l{i}",
        ]  # fmt: skip
        value = f"%a{i}"
    small = (
        "define i32 @f(i32 %x) {\n  %p = alloca i32\n  store i32 %x, ptr %p\n  %y = load i32, ptr %p\n  ret i32 %y\n}\n"
    )
    body = "\n".join(lines)
    return f"{small}define i32 @g(ptr %p, i32 %x) {{\n{body}\n  ret i32 {value}\n}}\n"


@pytest.mark.parametrize("program", [False, True])
def test_passes_are_told_of_while_llvm_runs(program: bool) -> None:
    """An interrupt, or a time-out, leaves those up to it; what was stopped is the optimiser, not the step before it."""
    running: list[list[str]] = []

    def progress(started: PassStarted, step: Step, _: float) -> None:
        if started.over:
            running.extend(one.cmdline() for one in psutil.Process().children(recursive=True))
            raise KeyboardInterrupt

    source = Source(_slow(2000), "llvm", name="input")
    steps = (Step("user-tool", "cat"), Step("opt", "-O2 -print-changed", program=program))
    with pytest.raises(Interrupted) as caught:
        source.run(steps, Options(progress=progress))
    assert any("-print-changed" in " ".join(words) for words in running)
    trace = caught.value.trace
    assert [dump.name for dump in trace.dumps] == ["input", "cat"]
    assert trace.failure
    assert (trace.failure.step, trace.failure.message[:17]) == (1, "opt was interrupt")


EVERY = """
import sys
import llvmlite.binding as binding
from irwidget.toolchain import llvm
for flag in ("-print-after-all", "-print-module-scope"):
    binding.set_option("test", flag)
llvm.optimize(sys.stdin.read(), llvm.settings("opt", "-O1"))
"""


def test_each_dump_is_the_module_after_the_passes_that_it_is_called_by() -> None:
    """Held against what LLVM prints of the module after every pass."""
    found = list(llvm_passes.run("opt", "-O1", UNROLLED, own=True))
    ran = subprocess.run([sys.executable, "-c", EVERY], input=llvm.named(UNROLLED), capture_output=True, text=True)
    assert ran.returncode == 0
    printed = re.split(r"^; \*\*\* IR Dump After (.+) on .+ \*\*\*\n", ran.stderr, flags=re.M)[1:]
    changed: list[tuple[list[str], str]] = []
    before, names = "", list[str]()
    texts = {one.text for one in found}
    for name, text in zip(printed[::2], printed[1::2], strict=True):
        bare = text.strip("\n") + "\n"
        if bare != (before or bare):
            names.append(name)
            if bare in texts:
                changed.append((names, bare))
                names = []
        before = bare
    assert [(one.name.split(" + "), one.text) for one in found] == changed
    assert any(names[0] == "LoopFullUnrollPass" and len(names) > 1 for names, _ in changed)
    assert {"main", "other", "module"} < {str(one.scope) for one in found}


def _with_lines() -> str:
    """Two functions with debug information."""
    at = "!DILocation(line: {}, column: 1, scope: !{})"
    text = "".join(
        f"define i32 @{name}(i32 %0, i32 %1) !dbg !{scope} {{\n  %3 = mul i32 %0, %1, !dbg !{scope + 1}\n"
        f"  %4 = mul i32 %3, %1, !dbg !{scope + 1}\n  ret i32 %4\n}}\n"
        for name, scope in (("f", 4), ("g", 6))
    )
    text += '!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!1}\n!1 = !{i32 2, !"Debug Info Version", i32 3}\n'
    text += "!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)\n"
    text += '!2 = !DIFile(filename: "cell.py", directory: "")\n!3 = !DISubroutineType(types: !{})\n'
    for name, scope, line in (("f", 4, 10), ("g", 6, 20)):
        text += (
            f'!{scope} = distinct !DISubprogram(name: "{name}", file: !2, type: !3, unit: !0, '
            f"spFlags: DISPFlagDefinition)\n!{scope + 1} = {at.format(line, scope)}\n"
        )
    return text


@pytest.mark.parametrize("own", [True, False])
def test_a_value_has_the_place_that_it_has_in_its_function(own: bool) -> None:
    """Names are given function by function: two have an `%i`. What the user wrote of it stays in the text."""
    changed = list(llvm_passes.run("opt", "-O1", _with_lines(), own=own))
    last = changed[-1]
    lines = [
        place.line for line, place in zip(last.text.splitlines(), last.places, strict=False) if place and "mul" in line
    ]
    assert lines == [10, 10, 20, 20]
    assert ("!dbg" in last.text, "DILocation" in last.text) == (own, own)


def test_ir_with_debug_information_of_its_own_leads_to_its_lines() -> None:
    """As it is, after a tool, after each of its passes, and in the assembly; its text is left alone."""
    text = _with_lines()
    low = irwidget.lower(text, to="raw_ir", pipeline="opt -O1 -print-changed | llc -print-changed")

    def lines(dump: Dump) -> list[int]:
        places = zip(dump.text.split("\n"), dump.content.locations, strict=False)
        return [place.line for line, place in places if place and "mul" in line]

    assert low.dumps[0].text == text
    *_, assembly = low.dumps
    assert {tuple(lines(dump)) for dump in low.dumps if dump.language == "llvm"} == {(10, 10, 20, 20)}
    assert all(dump.content.locations and "debug-location" in dump.text for dump in low.dumps if dump.language == "mir")
    assert lines(assembly) == [10, 10, 20, 20]
    timed = {dump.name for dump in low.dumps if dump.seconds}
    assert timed == {"default<O1>", "codegen"}, "what LLVM prints of a pass does not say what the pass took"


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


@pytest.mark.parametrize("flag", ["-print-changed", "--print-changed=quiet", "-print-after-all", "", "-verify-each"])
def test_a_step_that_shows_its_passes_has_none_inside(flag: str) -> None:
    low = irwidget.lower(UNROLLED, to="raw_ir", pipeline=f"opt -O1 {flag}")
    inside = expand.LLVMPasses(Source(UNROLLED, "llvm"), low.trace, Options())
    assert {inside.has(dump) for dump in low.dumps[1:]} == {"print" not in flag}


def test_passes_up_to_a_failure_are_not_the_whole_step() -> None:
    """Nothing that is left out of a step is offered on the dump up to which it came."""
    text = UNROLLED + "define float @bad(float %x) {\n  %y = call float @llvm.exp.f32(float %x)\n  ret float %y\n}\n"
    text += "declare float @llvm.exp.f32(float)\n"
    with pytest.raises(irwidget.errors.PassError, match="fexp") as caught:
        irwidget.lower(text, to="raw_ir", pipeline="opt -O1 | llc -mtriple=nvptx64 -print-changed")
    trace = caught.value.lowering.trace
    assert trace.failure
    assert (trace.failure.step, trace.dumps[-1].step, trace.dumps[-1].language) == (1, 1, "mir")
    assert leavable(trace) == {1}
    assert "open('before.ll', 'w').write(error.lowering.dumps[1].text), then\n" in str(caught.value)
    assert [run() for run, _ in runs(trace)] == [text, trace.dumps[1].text]


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
    ("*** IR Pass LoopFullUnrollPass invalidated ***\n*** IR Pass PassManager<Loop> invalidated ***\n"
     "*** IR Dump After APass on main omitted because no change ***\n"
     "*** IR Dump After BPass on main ***\n; ModuleID = 'x'\n",
     [("LoopFullUnrollPass + BPass", Scope(anchor="main"), "llvm")]),
    ("*** IR Dump At Start ***\nx\n" + "*** IR Pass Y ignored ***\n"
     + "".join(f"*** IR Pass {name} invalidated ***\n" for name in "ABCDE") + "*** IR Dump After F on f ***\nx\n",
     [("A + B + C + 2 more + F", Scope("", "f"), "llvm")]),
    ("noise\n", []),
])  # fmt: skip
def test_dumps_are_taken_apart(log: str, expected: list[tuple[str, Scope, str]]) -> None:
    assert [(one.name, one.scope, one.language) for one in llvm_passes.split(log)] == expected


def test_the_step_says_it_as_a_user_would() -> None:
    lowering = irwidget.lower(MODEL, X, to="spirv", llvm_passes=True, dumps=False)
    assert all(llvm_routes.PRINT_CHANGED in step.arguments for step in lowering.steps[-2:])


@pytest.mark.parametrize("arguments", ["", " -print-changed"])
def test_a_target_that_the_text_names(arguments):
    """`llc` cannot do without it, `opt` can; a processor that it does not have is refused rather than replaced."""
    text = 'target triple="{}" ; by hand\ndefine void @f() {{ ret void }}'
    with pytest.raises(
        irwidget.PassError, match=r"codegen .* failed: unable to get target for 'bla-foo', which the IR"
    ):
        irwidget.lower(text.format("bla-foo"), to="raw_ir", pipeline=f"llc -O2{arguments}")
    made = irwidget.lower(text.format("bla-foo"), to="raw_ir", pipeline=f"opt -O2 -mcpu=x{arguments}").text
    assert "target datalayout" not in made
    assert "target-cpu" not in made
    for pipeline in ("llc -mcpu=sm_8", "opt -mcpu=sm_8"):
        with pytest.raises(irwidget.PassError, match=r"failed: nvptx64 has no processor 'sm_8'"):
            irwidget.lower(text.format("nvptx64"), to="raw_ir", pipeline=pipeline + arguments)
    made = irwidget.lower(text.format("nvptx64"), to="raw_ir", pipeline=f"llc -mcpu=sm_80{arguments}")
    assert ".target sm_80" in made.text


@pytest.mark.parametrize(
    "head", ["define void @f() {{ {} }}", "define void @f(\n  i32 %x)\n{{ {} }}", "  define void @f() {{\n{}\n}}"]
)
def test_a_processor_for_functions_that_are_written_in_another_way(head):
    made = irwidget.lower(head.format("ret void"), to="raw_ir", pipeline="opt -O1 -mtriple=x86_64 -mcpu=x86-64-v3")
    assert '"target-cpu"="x86-64-v3"' in made.text


LOOP = """\
target triple = "x86_64-unknown-linux-gnu"
define void @f(ptr noalias %a, ptr noalias %b) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %n, %loop ]
  %p = getelementptr float, ptr %a, i64 %i
  %x = load float, ptr %p
  %y = fmul float %x, %x
  %q = getelementptr float, ptr %b, i64 %i
  store float %y, ptr %q
  %n = add i64 %i, 1
  %c = icmp eq i64 %n, 4096
  br i1 %c, label %end, label %loop
end:
  ret void
}
"""
LINE = """\
  %p{0} = getelementptr float, ptr %a, i64 {0}
  %x{0} = load float, ptr %p{0}
  %y{0} = fmul float %x{0}, %x{0}
  %q{0} = getelementptr float, ptr %b, i64 {0}
  store float %y{0}, ptr %q{0}
"""


@pytest.mark.parametrize(("options", "loop", "line"), [
    ("-O1", (True, 8), (False, 4)),
    ("-O2", (True, 8), (True, 1)),
    ("-O2 -vectorize-loops=false", (False, 8), (True, 1)),
    ("-O2 -vectorize-slp=0", (True, 8), (False, 4)),
    ("-O3 -disable-loop-unrolling", (True, 4), (True, 1)),
])  # fmt: skip
def test_options_of_opt_are_those_of_their_passes(options, loop, line):
    """Whether it computes with vectors, and how many products there are."""
    unrolled = f"{LOOP.partition('entry:')[0]}{''.join(map(LINE.format, range(4)))}  ret void\n}}\n"
    asked = llvm.settings("opt", f"{options} -mcpu=haswell")
    made = [llvm.optimize(text, asked) for text in (LOOP, unrolled)]
    assert [("x float>" in text, text.count("fmul")) for text in made] == [loop, line]
