"""One pipeline that runs on several programs of one name, by mlir-opt itself: each is what its own log gives."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pytest

import irwidget
from tests.readers.test_printed import said

FIRST = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %unused = arith.constant 1 : i32
  %0 = arith.addf %a, %b : tensor<4xf32>
  %1 = arith.addf %a, %b : tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = math.tanh %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}
"""
OTHERS = {
    "sizes": FIRST.replace("4xf32", "8xf32"),
    "arguments": FIRST.replace("%b: tensor<4xf32>)", "%b: tensor<4xf32>, %c: i32)"),
    "operations": FIRST.replace("addf", "remf").replace("tanh", "cos"),
}
PASSES = "canonicalize,cse,sccp,control-flow-sink"
PIPELINES = {
    "module": f"builtin.module({PASSES})",
    "functions": f"builtin.module(func.func({PASSES}))",
    "both": "builtin.module(canonicalize,func.func(cse,sccp),canonicalize)",
    "lowered": "builtin.module(canonicalize,cse,math-expand-ops{ops=tanh})",
    "functions first": "builtin.module(func.func(canonicalize,cse),symbol-dce)",
}
ROUND = "canonicalize,func.func(cse,convert-elementwise-to-linalg)"
FLAGS = {
    "after": ("--mlir-print-ir-after-all",),
    "module scope": ("--mlir-print-ir-after-all", "--mlir-print-ir-module-scope"),
    "before": ("--mlir-print-ir-before-all",),
    "both": ("--mlir-print-ir-before-all", "--mlir-print-ir-after-all", "--mlir-print-debuginfo"),
}


def printed(text: str, pipeline: str, flags: str) -> str:
    return said("mlir-opt", text, f"--pass-pipeline={pipeline}", "--mlir-disable-threading", *FLAGS[flags])


def shown(found: Sequence[irwidget.Lowering]) -> list[list[tuple[str, str]]]:
    return [[(dump.name, dump.text) for dump in low.dumps] for low in found]


def said_between(low: irwidget.Lowering) -> list[str]:
    return [line for one in low.diagnostics if one.location for line in one.message.split("\n")]


@pytest.mark.external
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize(
    ("pipeline", "flags"),
    [
        ("module", "after"),
        ("functions", "module scope"),
        ("both", "after"),
        ("functions first", "both"),
        ("functions", "before"),
        ("lowered", "after"),
    ],
)
def test_each_program_is_a_lowering(pipeline, flags, other):
    logs = [printed(text, PIPELINES[pipeline], flags) for text in (FIRST, OTHERS[other], FIRST)]
    logs = [f"begins {i}\n{log}ends {i}\n" for i, log in enumerate(logs)]
    found, alone = irwidget.open("".join(logs)), [low for log in logs for low in irwidget.open(log)]
    assert shown(found) == shown(alone)
    assert [message for low in found for message in said_between(low)] == [
        message for i in range(3) for message in (f"begins {i}", f"ends {i}")
    ]
    assert [len(said_between(low)) for low in found] == [3, 2, 1]  # what stands between two is of the one before
    for low in found:
        *_, last = [one for one in low.diagnostics if one.location]
        assert last.notes[0].message == f"printed after {low.dumps[-1].name}, dump {len(low.dumps) - 1}"


@pytest.mark.external
def test_a_program_begins_where_all_that_had_gone_is_back():
    """The second has most of the operations of the first; but for what `cse` had left out of that, one would be it."""
    logs = [printed(text, PIPELINES["module"], "after") for text in (FIRST, FIRST.replace("tanh", "exp"))]
    assert [len(one) for one in shown(irwidget.open("".join(logs)))] == [4, 4]
    other = FIRST.replace("%1 = arith.addf", "%1 = arith.subf")  # of which nothing goes
    logs = [printed(text, PIPELINES["module"], "after") for text in (other, other.replace("tanh", "exp"))]
    assert [len(one) for one in shown(irwidget.open("".join(logs)))] == [8]


@pytest.mark.external
@pytest.mark.parametrize("flags", ["after", "both"])
@pytest.mark.parametrize("pipeline", ["builtin.module(cse)", "builtin.module(func.func(canonicalize,cse))"])
def test_short_pipelines_have_run_on_several_programs_where_nothing_else_is_in_the_log(pipeline, flags):
    texts = FIRST, OTHERS["sizes"], OTHERS["operations"]
    logs = [printed(text, pipeline, flags) for text in texts]
    assert shown(irwidget.open("".join(logs))) == [one for log in logs for one in shown(irwidget.open(log))]
    again = pipeline.replace("canonicalize,cse", "canonicalize,cse,canonicalize,cse").replace("(cse)", "(cse,cse)")
    assert len(irwidget.open(printed(FIRST, again, flags))) == 1


LLVM = """
define i32 @f(i32 %n) {
  %p = alloca i32
  store i32 %n, ptr %p
  %a = load i32, ptr %p
  %b = add i32 %a, 0
  %c = mul i32 %b, %b
  ret i32 %c
}
"""


@pytest.mark.external
@pytest.mark.parametrize("passes", ["mem2reg,instcombine", "function(mem2reg,instcombine),globaldce"])
def test_modules_of_llvm_that_have_one_name_are_told_apart(passes):
    texts = LLVM, LLVM.replace("mul", "xor"), LLVM
    logs = [said("opt", text, f"-passes={passes}", "-print-after-all") for text in texts]
    assert shown(irwidget.open("".join(logs))) == [one for log in logs for one in shown(irwidget.open(log))]


@pytest.mark.external
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize(
    "pipeline",
    [
        f"builtin.module({PASSES},{PASSES},{PASSES})",
        f"builtin.module(func.func({PASSES},{PASSES}),convert-math-to-libm,func.func({PASSES}))",
        "builtin.module(canonicalize,cse,one-shot-bufferize{bufferize-function-boundaries},canonicalize,cse)",
        "builtin.module(cse,canonicalize,sccp,canonicalize)",
        f"builtin.module({ROUND},{ROUND})",
    ],
)
def test_passes_that_run_again_on_one_program_begin_no_other(pipeline, flags):
    folded = FIRST.replace("%a, %b :", "%c, %c :").replace(
        "%unused = arith.constant 1 : i32", "%c = arith.constant dense<2.0> : tensor<4xf32>"
    )
    for text in (FIRST, folded):
        (low,) = irwidget.open(printed(text, pipeline, flags))
        assert [dump.name for dump in low.dumps if dump.step >= 0]


def told(low: irwidget.Lowering) -> list[tuple[str, str, bool, str]]:
    return [(dump.name, str(dump.scope), dump.changed, dump.text) for dump in low.dumps]


ADDED = "; ModuleID = 'm'\ndefine i32 @f(i32 %x) {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n"
RUNS = {
    "module": ("mlir-opt", FIRST, f"--pass-pipeline={PIPELINES['module']}", "--mlir-print-ir-after-all"),
    "functions": ("mlir-opt", FIRST, f"--pass-pipeline={PIPELINES['functions']}", "--mlir-print-ir-after-all"),
    "before": ("mlir-opt", FIRST, f"--pass-pipeline={PIPELINES['module']}", "--mlir-print-ir-before-all"),
    "llvm": ("opt", ADDED, "-S", "-passes=instcombine,gvn", "-print-after-all"),
    "changed": ("opt", ADDED, "-S", "-passes=instcombine,gvn", "-print-changed"),
    "quiet": ("opt", ADDED, "-S", "-passes=instcombine,gvn", "-print-changed=quiet"),
}


@pytest.mark.external
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_program_begins_again_below_what_the_tool_left_of_it(run):
    """Its passes did the same again: that they changed nothing is not so. What a run left is its last dump."""
    log = said(*run, output="/dev/stderr")
    (alone,) = irwidget.open(log)
    assert [dump.name for dump in alone.dumps][-1] == ("control-flow-sink" if "before" in run[-1] else "output")
    other = log.replace("@main", "@other").replace("@f", "@h").replace(" on f ", " on h ")
    runs = irwidget.open(f"+ a\n{log}+ b\nwarning: w\n{log}{log}+ c\n{other}")
    assert [told(low) for low in runs[:3]] == [told(alone)] * 3
    assert len(runs) == 4
    assert told(runs[3]) == told(*irwidget.open(other))
    assert [dump.changed for dump in runs[3].dumps] == [dump.changed for dump in alone.dumps]
    assert [one.message for one in runs[0].diagnostics][:2] == ["+ a", "+ b"]


@pytest.mark.external
def test_what_another_process_left_is_no_dump():
    flags = f"--pass-pipeline={PIPELINES['module']}", "--mlir-print-ir-after-all"
    log = said("mlir-opt", FIRST, *flags)
    left = "module {\n  func.func @other() {\n    return\n  }\n}\n"
    first, second = irwidget.open(log + left + log.replace("@main", "@second"))
    assert [dump.name for dump in (*first.dumps, *second.dumps)] == 2 * [
        dump.name for dump in irwidget.open(log)[0].dumps
    ]
    assert [one.message for one in first.diagnostics] == [left.strip()]


@pytest.mark.external
@pytest.mark.parametrize("when", ["after", "before"])
def test_where_the_log_has_the_same_twice_it_does_not_say_of_how_many_runs(when):
    log = said(
        "mlir-opt", FIRST.replace("  %unused = arith.constant 1 : i32\n", ""), "--sccp", f"--mlir-print-ir-{when}-all"
    )
    (low,) = irwidget.open(log * 3)
    assert len(low.dumps) == 3
    assert any(one.message.startswith("The log has the same 3 times, one after the other") for one in low.diagnostics)
    assert not any("the same" in one.message for one in irwidget.open(log)[0].diagnostics)


ADDS = """func.func @f(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  %1 = arith.addi %x, %x : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
"""
TO_LLVM = "builtin.module(func.func(canonicalize,cse),convert-func-to-llvm,convert-arith-to-llvm)"


@pytest.mark.parametrize("flags", [(), ("--mlir-print-ir-after-change",), ("--mlir-print-ir-module-scope",)])
@pytest.mark.parametrize(
    ("pipeline", "names"),
    [
        (TO_LLVM, ("f", "h")),
        (TO_LLVM, ("f", "f")),
        ("builtin.module(func.func(cse,canonicalize),symbol-privatize)", ("f", "h")),
    ],
)
def test_modules_that_a_tool_reads_one_after_the_other_are_lowerings_of_their_own(flags, pipeline, names):
    """Where the passes begin with one function, that is not in the module before it, or written as none there is."""
    how = (f"--pass-pipeline={pipeline}", "--mlir-print-ir-after-all", "--mlir-disable-threading", *flags)
    parts = ADDS.replace("@f", f"@{names[0]}"), ADDS.replace("@f", f"@{names[1]}").replace("i32", "i64")

    def opened(text: str):
        found = irwidget.open(said("mlir-opt", text, "-split-input-file", *how))
        return [(low.name, [(dump.name, dump.text) for dump in low.dumps]) for low in found]

    apart = [one for part in parts for one in opened(part)]
    assert len(apart) == 2
    assert opened("// -----\n".join(parts)) == apart


def test_a_function_that_a_pass_has_made_is_of_its_module():
    """Such a pass may have printed nothing, told to or not: the passes do not begin again with what it made."""
    function = "func.func @{}() {{\n  return\n}}\n"
    texts = (
        function.format("f"),
        f"module {{\n{textwrap.indent(function.format('f'), '  ')}}}\n\n",
        function.format("h"),
    )
    banner = "// -----// IR Dump After {} ({}) //----- //\n"
    (low,) = irwidget.open(
        "".join(banner.format(name.upper(), name) + text for name, text in zip("abc", texts, strict=True))
    )
    assert [dump.name for dump in low.dumps] == ["a", "b", "c"]
