"""What MLIR's and LLVM's pass managers print, by the real tools: what is put together is what they print whole."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

import irwidget
from tests.llvm.programs import UNROLLED

MODULE = """
#map = affine_map<(d0) -> (d0)>
module {
  func.func private @ext(i32) -> i32
  func.func @f(%a: i32, %b: tensor<4xf32>) -> (i32, tensor<4xf32>) {
    %c0 = arith.constant 0 : i32
    %0 = arith.addi %a, %c0 : i32
    %1 = call @g(%0) : (i32) -> i32
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%b : tensor<4xf32>) outs(%b : tensor<4xf32>) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %x : f32
      linalg.yield %z : f32
    } -> tensor<4xf32>
    return %1, %2 : i32, tensor<4xf32>
  }
  func.func @g(%a: i32) -> i32 {
    %c1 = arith.constant 1 : i32
    %0 = arith.muli %a, %c1 : i32
    return %0 : i32
  }
}
"""
PIPELINE = (
    "builtin.module(func.func(canonicalize,cse),inline,func.func(canonicalize,convert-linalg-to-loops,cse),"
    "convert-scf-to-cf,func.func(canonicalize,cse),symbol-dce)"
)
PROGRAM = """
target triple = "x86_64-unknown-linux-gnu"
@g = global i32 3
define i32 @f(i32 %n, ptr %p) {
entry:
  %s = alloca i32
  store i32 0, ptr %s
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i2, %loop]
  %q = getelementptr i32, ptr %p, i32 %i
  %v = load i32, ptr %q
  %t = load i32, ptr %s
  %u = add i32 %t, %v
  store i32 %u, ptr %s
  %i2 = add i32 %i, 1
  %c = icmp slt i32 %i2, %n
  br i1 %c, label %loop, label %exit
exit:
  %r = load i32, ptr %s
  ret i32 %r
}
define internal i32 @h(i32 %x) {
  %y = mul i32 %x, 2
  ret i32 %y
}
define i32 @k(i32 %x) {
  %y = call i32 @h(i32 %x)
  ret i32 %y
}
"""

NAMED = re.sub(r"^(\d+):", r"v\1:", re.sub(r"%(\d+)", r"%v\1", UNROLLED), flags=re.M).replace("{\n", "{\nv2:\n", 1)


def said(tool: str, text: str, *flags: str, output: str = "/dev/null") -> str:
    """What a tool of LLVM prints on stderr; its output is thrown away, unless it is `/dev/stderr`, too."""
    program = shutil.which(f"{tool}-22") or f"/usr/lib/llvm-22/bin/{tool}"
    if not Path(program).exists():
        pytest.skip(f"needs {tool} of LLVM 22")
    ran = subprocess.run([program, *flags, "-o", output], input=text, capture_output=True, text=True, check=False)
    return ran.stderr


def mlir(*flags: str, text: str = MODULE, pipeline: str = PIPELINE) -> irwidget.Lowering:
    printed = said("mlir-opt", text, f"--pass-pipeline={pipeline}", "--mlir-disable-threading", *flags)
    (low,) = irwidget.open(printed)
    return low


@pytest.mark.external
@pytest.mark.parametrize("extra", [(), ("--mlir-print-debuginfo",), ("--mlir-print-ir-before-all",)])
def test_functions_put_back_are_what_mlir_prints_of_the_module(extra):
    apart = mlir("--mlir-print-ir-after-all", *extra)
    whole = mlir("--mlir-print-ir-after-all", "--mlir-print-ir-module-scope", *extra)
    passes = [[dump for dump in low.dumps if dump.step >= 0] for low in (apart, whole)]
    assert [dump.name for dump in passes[0]] == [dump.name for dump in passes[1]]
    known = [(one, other) for one, other in zip(*passes, strict=True) if one.scope.whole]
    assert len(known) > 15
    assert [one.text for one, _ in known] == [other.text for _, other in known]
    if "--mlir-print-debuginfo" in extra:
        assert [one.locations for one, _ in known] == [other.locations for _, other in known]
    assert {one.scope.anchor for one, _ in known} >= {"func.func @f", "func.func @g"}


@pytest.mark.external
@pytest.mark.parametrize(
    "flag", ["--mlir-print-ir-after-all", "--mlir-print-ir-before-all", "--mlir-print-local-scope"]
)
def test_what_a_pass_prints_of_the_ir_is_a_dump_with_its_label(flag):
    """The pass print-ir, also in a log that has nothing else."""
    pipeline = 'builtin.module(canonicalize,print-ir{label=here},func.func(cse,print-ir{label="in f"}),print-ir)'
    text = MODULE[: MODULE.index("  func.func @f(")] + MODULE[MODULE.index("  func.func @g(") :]
    low, whole = (
        mlir(flag, pipeline=pipeline, text=text),
        mlir("--mlir-print-ir-after-all", pipeline="builtin.module(canonicalize)", text=text),
    )
    named = {"here", "in f"} if "-all" in flag else {"here", "in f", "print-ir"}
    printed = [dump for dump in low.dumps if dump.name in named and "@ext" not in str(dump.scope)]
    scopes = [("here", "module"), ("in f", "func.func @g"), ("print-ir", "module")]
    assert [(dump.name, str(dump.scope)) for dump in printed] == scopes[: len(named)]
    assert {dump.text for dump in printed} == {whole.dumps[0].text}


NAMESAKES = "".join(
    f"""
module @{name} {{
  gpu.module @k {{
    gpu.func @{name}_f(%x: i32) -> i32 {{
      %c = arith.constant 0 : i32
      %y = arith.addi %x, %c : i32
      gpu.return %y : i32
    }}
  }}
}}"""
    for name in "ab"
)


@pytest.mark.external
def test_modules_of_one_name_are_told_apart_by_what_is_in_them():
    inner = "builtin.module(canonicalize{max-iterations=0},builtin.module(gpu.module(canonicalize,cse)))"
    apart = mlir("--mlir-print-ir-after-all", text=NAMESAKES, pipeline=inner)
    whole = mlir("--mlir-print-ir-after-all", "--mlir-print-ir-module-scope", text=NAMESAKES, pipeline=inner)
    assert [(one.name, one.text) for one in apart.dumps[:5]] == [(one.name, one.text) for one in whole.dumps[:5]]
    assert [one.changed for one in apart.dumps[1:5]] == [True, False, True, False]


MAPS = """
#spare = affine_map<(d0, d1) -> (d1, d0)>
#type = #llvm.tbaa_type_desc<id = "data", members = {<#llvm.tbaa_root<id = "root">, 0>}>
#tag = #llvm.tbaa_tag<base_type = <id = "int", members = {<#type, 0>}>, access_type = #type, offset = 0>
module {
  func.func @f(%a: memref<4x4xf32>, %b: memref<4x4xf32>) attributes {x = "#map <affine_map<() -> ()>"} {
    linalg.generic
        {indexing_maps = [#spare, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) {
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
    }
    linalg.matmul ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
    return
  }
  func.func @g(%a: memref<8xf32>, %i: index) -> f32 {
    %j = affine.apply affine_map<(d0) -> ((d0 floordiv 2) * 3)>(%i)
    %z = arith.constant 0.0 : f32
    affine.if affine_set<(d0) : (d0 - 1 >= 0, d0 == 5)>(%i) {
      memref.store %z, %a[%j] : memref<8xf32>
    }
    linalg.add ins(%a, %a : memref<8xf32>, memref<8xf32>) outs(%a : memref<8xf32>)
    %v = memref.load %a[%j] : memref<8xf32>
    return %v : f32
  }
  func.func @h(%p: !llvm.ptr) -> i32 {
    %0 = llvm.load %p {tbaa = [#tag]} : !llvm.ptr -> i32
    return %0 : i32
  }
}
"""


@pytest.mark.external
@pytest.mark.parametrize("extra", [(), ("--mlir-print-local-scope",), ("--mlir-print-debuginfo",)])
def test_maps_are_named_and_numbered_as_in_the_whole_module(extra):
    """A function by itself is printed without names for them; those that it has no more are gone, the rest numbered."""
    pipeline = (
        "builtin.module(canonicalize,func.func(linalg-generalize-named-ops),func.func(convert-linalg-to-loops),"
        "func.func(lower-affine),canonicalize)"
    )
    apart, whole = (
        mlir("--mlir-print-ir-after-all", *scope, *extra, text=MAPS, pipeline=pipeline)
        for scope in ((), ("--mlir-print-ir-module-scope",))
    )
    assert len(apart.dumps) == 11
    assert [dump.text for dump in apart.dumps] == [dump.text for dump in whole.dumps]
    assert [dump.locations for dump in apart.dumps] == [dump.locations for dump in whole.dumps]
    maps = [len(re.findall("^#(?:map|set)", dump.text, re.M)) for dump in whole.dumps]
    assert maps[:6] == ([0] * 6 if "--mlir-print-local-scope" in extra else [4, 7, 2, 2, 3, 2])


@pytest.mark.external
def test_functions_before_the_first_module_stay_by_themselves():
    low = mlir("--mlir-print-ir-after-all")
    assert [str(dump.scope) for dump in low.dumps[:2]] == ["ext", "ext"]
    from irwidget.trace import predecessors

    first = {str(dump.scope): i for i, dump in reversed(list(enumerate(low.dumps))) if not dump.scope.whole}
    assert [predecessors(low.dumps)[i] for i in first.values()] == [-1] * len(first)


@pytest.mark.external
def test_before_all_is_shifted_to_what_each_pass_made():
    flat = PIPELINE.replace("inline,", "")  # which runs passes of its own
    before, after = (mlir(flag, "--mlir-print-ir-module-scope", pipeline=flat) for flag in BEFORE_AFTER)
    assert before.dumps[0].name == "input"
    assert before.dumps[0].step == -1
    assert [(dump.name, dump.text) for dump in before.dumps[1:]] == [(d.name, d.text) for d in after.dumps[:-1]]
    assert any("before passes only" in one.message and "symbol-dce" in one.message for one in before.diagnostics)
    flags = (BEFORE_AFTER[0], "--mlir-print-ir-module-scope", f"--pass-pipeline={flat}", "--mlir-disable-threading")
    (left,) = irwidget.open(said("mlir-opt", MODULE, *flags, output="/dev/stderr"))
    assert [(dump.name, dump.text) for dump in left.dumps[1:]] == [(d.name, d.text) for d in after.dumps]
    assert not left.diagnostics


BEFORE_AFTER = ("--mlir-print-ir-before-all", "--mlir-print-ir-after-all")


@pytest.mark.external
def test_passes_that_changed_nothing_are_there_where_only_texts_before_them_are():
    """So PassManager.enable_ir_printing() printed by default, and CIRCT's does."""
    flat = PIPELINE.replace("inline,", "")
    changed, each = (
        mlir(*BEFORE_AFTER, "--mlir-print-ir-module-scope", *flags, pipeline=flat)
        for flags in (("--mlir-print-ir-after-change",), ())
    )
    shown = [[(d.name, str(d.scope), d.text, d.changed) for d in low.dumps] for low in (changed, each)]
    count = len(shown[0])
    assert shown[0] == shown[1][:count]
    assert sum(not dump.changed for dump in changed.dumps) > 5
    last = [
        f"{one.name}: the log has the text before it only; what it did shows in the next" for one in each.dumps[count:]
    ]
    assert [one.message for one in changed.diagnostics] == last


INLINED = """module {
  func.func private @sq(%x: i32) -> i32 {
    %0 = arith.muli %x, %x : i32
    return %0 : i32
  }
  func.func @top(%x: i32) -> i32 {
    %c = arith.constant 2 : i32
    %0 = func.call @sq(%c) : (i32) -> i32
    %1 = arith.addi %0, %x : i32
    return %1 : i32
  }
}
"""


@pytest.mark.external
@pytest.mark.parametrize("flags", [(), ("--mlir-print-ir-after-change",), ("--mlir-print-ir-module-scope",)])
def test_what_mlirs_inliner_runs_is_not_told_from_its_own_work_where_only_texts_after_passes_are(flags):
    """The call is gone in the text of a canonicalization that the inliner has run."""
    run = ("--pass-pipeline=builtin.module(cse,inline,cse)", "--mlir-disable-threading", *flags)
    (low,) = irwidget.open(said("mlir-opt", INLINED, *run, "--mlir-print-ir-after-all"))
    inline = next(i for i, dump in enumerate(low.dumps) if dump.name == "inline")
    assert ("call @sq" in low.dumps[inline - 1].text, low.dumps[inline - 1].name) == (False, "canonicalize")
    (remark,) = low.diagnostics
    assert remark.message.startswith("Passes on functions right before inline may have been run by it")
    (low,) = irwidget.open(said("mlir-opt", INLINED, *run, *BEFORE_AFTER))
    assert "before canonicalize" in [dump.name for dump in low.dumps]
    assert not [one for one in low.diagnostics if "may have been run" in one.message]


def test_the_module_that_a_tool_leaves_is_its_last_word_whatever_follows():
    """By it a pass without a text after it is known to have changed nothing."""
    banner, module = "// -----// IR Dump {} //----- //\n", "module {\n  func.func @f() {\n    return\n  }\n}\n"
    log = banner.format("Before A (a)") + module.replace("    return", "    x.y\n    return") + "\n"
    log += banner.format("After A (a)") + f"{module}\n" + banner.format("Before B (b)") + f"{module}\n{module}"
    for after in ("", "\n", "\n```\nThanks\n", "##[error]Process completed with exit code 2.\n"):
        (low,) = irwidget.open(log + after)
        assert [(dump.name, dump.changed) for dump in low.dumps[1:]] == [("a", True), ("b", False), ("output", False)]
        assert [one.message for one in low.diagnostics] == ([after.strip()] if after.strip() else [])


@pytest.mark.external
@pytest.mark.parametrize("flag", ["--mlir-print-ir-after-failure", "--mlir-print-ir-after-all"])
def test_a_failed_pass_is_the_failure(flag):
    text = 'func.func @f() -> tensor<4xf32> { %0 = "test.x"() : () -> tensor<4xf32> return %0 : tensor<4xf32> }'
    flags = ("--allow-unregistered-dialect", "--mlir-disable-threading", "--canonicalize", "--one-shot-bufferize", flag)
    (low,) = irwidget.open(said("mlir-opt", text, *flags, "--mlir-print-ir-after-failure"))
    assert low.failure
    assert (low.failure.pass_name, low.failure.kind) == ("one-shot-bufferize", "pass")
    assert "op was not bufferized" in low.failure.message
    assert low.failure.diagnostics[0].location.file == "<stdin>"
    assert low.dumps[-1].name == "one-shot-bufferize"


def defined(text: str) -> dict[str, str]:
    """The functions: one that is printed alone brings no declarations with it."""
    return {found[1]: found[0] for found in re.finditer(r"^define [^\n]*@(\w+)\(.*?^}$", text, re.M | re.S)}


@pytest.mark.external
def test_llvm_functions_put_back_are_the_module_but_for_declarations():
    (apart,) = irwidget.open(said("opt", PROGRAM, "-O2", "-S", "-print-after-all"))
    (whole,) = irwidget.open(said("opt", PROGRAM, "-O2", "-S", "-print-after-all", "-print-module-scope"))
    assert [dump.name for dump in apart.dumps] == [dump.name for dump in whole.dumps]

    compared = [(one, other) for one, other in zip(apart.dumps, whole.dumps, strict=True) if one.scope.whole]
    assert len(compared) > 200
    for one, other in compared:
        names = [one.scope.anchor.rpartition(" ")[2]] if one.scope.anchor else defined(other.text)
        for name in names:  # the inliner empties functions that it does not print
            assert defined(one.text)[name] == defined(other.text)[name], one.name
    assert sum(" in function " in dump.scope.anchor for dump in apart.dumps) > 5  # loops are put back, too
    stale = next(i for i, (one, other) in enumerate(compared) if defined(one.text) != defined(other.text))
    (told,) = (one.message for one in apart.diagnostics if "inlined" in one.message)
    first = next(i for i, dump in enumerate(apart.dumps) if dump.name == "InlinerPass")
    assert told.startswith(f"From dump {first}, InlinerPass, on, ")
    assert first <= apart.dumps.index(compared[stale][0])
    assert not whole.diagnostics


def _is_of(one: Any, module: Any) -> bool:
    """Whether a dump is of that run of a pass: and where it shows the module, that is its text."""
    same = (one.name, str(one.scope)) == (module.name, str(module.scope))
    return same and (not one.scope.whole or defined(one.text) == defined(module.text))


@pytest.mark.external
def test_of_a_models_loops_none_goes_back_into_an_older_function():
    """A loop around it was changed, and could not be put back: the function is not known any more."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Softmax(-1))
    program = irwidget.lower(model, torch.zeros(2, 4), to="llvm_ir", dumps=False).text
    (low,) = irwidget.open(said("opt", program, "-O1", "-S", "-print-after-all"))
    (whole,) = irwidget.open(said("opt", program, "-O1", "-S", "-print-after-all", "-print-module-scope"))
    both = [(one, other) for one, other in zip(low.dumps, whole.dumps, strict=True) if one.scope.whole]
    assert len(both) > 180
    assert all(defined(one.text) == defined(other.text) for one, other in both)


@pytest.mark.external
@pytest.mark.parametrize("flag", ["-print-after-all", "-print-changed", "-print-after-all -print-loop-func-scope"])
@pytest.mark.parametrize("program", [UNROLLED, NAMED], ids=["numbered", "named"])
def test_what_is_shown_as_a_module_is_that_module(program, flag):
    """Of every pass that is listed; those whose text the log has not are left out, and that is said."""
    (low,) = irwidget.open(said("opt", program, "-O1", "-S", *flag.split()))
    (whole,) = irwidget.open(said("opt", program, "-O1", "-S", "-print-after-all", "-print-module-scope"))
    shown = list(low.dumps[1:] if flag == "-print-changed" else low.dumps)
    count = len(shown)
    for other in whole.dumps:  # each is one of them, in order
        if shown and _is_of(shown[0], other):
            del shown[0]
    assert not shown
    left_out = [one.message for one in low.diagnostics if "left out" in one.message]
    assert (len(left_out), count < len(whole.dumps)) == ((1, True) if flag == "-print-changed" else (0, False))
    assert not any("\n (loop: %" in f"\n{dump.text}" for dump in low.dumps)
    alone = any(dump.scope.loop for dump in low.dumps)
    assert any("shown by themselves" in one.message for one in low.diagnostics) == alone
    unrolled = [one for one in low.dumps if one.name == "LoopFullUnrollPass" and one.changed]
    assert bool(unrolled) == (flag != "-print-changed")


@pytest.mark.external
@pytest.mark.parametrize("flag", ["-print-changed", "-print-changed=quiet"])
def test_changed_only(flag):
    (low,) = irwidget.open(said("opt", PROGRAM, "-O2", "-S", flag))
    (every,) = irwidget.open(said("opt", PROGRAM, "-O2", "-S", "-print-after-all"))
    changed = [dump.name for dump in low.dumps if dump.changed]
    if flag == "-print-changed":
        assert (low.dumps[0].name, low.dumps[0].step) == ("input", -1)
        assert len(low.dumps) > 200
        assert [dump.name for dump in low.dumps[1:]] == [dump.name for dump in every.dumps]
    else:
        assert all(dump.changed for dump in low.dumps)
    assert {"SROAPass", "InstCombinePass"} <= set(changed)


@pytest.mark.external
def test_the_code_generator_prints_two_languages():
    (low,) = irwidget.open(said("llc", PROGRAM, "-print-after-all"))
    languages = [dump.language for dump in low.dumps]
    assert {"llvm", "mir"} == set(languages)
    machine = [dump for dump in low.dumps if dump.language == "mir"]
    assert {dump.scope.function for dump in machine} == {"f", "h", "k"}
    assert machine[0].text.startswith("# Machine code for function ")
    assert machine[0].text.endswith("# End machine code for function f.\n")
    assert "init-undef" in [dump.name for dump in machine]
    assert not low.diagnostics


@pytest.mark.external
@pytest.mark.parametrize("program", [PROGRAM, NAMED], ids=["pointers", "named"])
@pytest.mark.parametrize("when", ["after", "before"])
def test_no_dump_of_the_code_generator_is_lost_with_whole_modules(when, program):
    """Its banners have the function behind them then; of a loop, they never say which function it is in."""
    printed = [said("llc", program, f"-print-{when}-all", *more) for more in ((), ("-print-module-scope",))]
    (low,), (whole,) = map(irwidget.open, printed)
    count = printed[0].count(f"IR Dump {when.title()}")
    assert [len(one.dumps) for one in (low, whole)] == [count, count]
    assert not any("*** IR" in dump.text for one in (low, whole) for dump in one.dumps)
    loops = {str(dump.scope) for dump in low.dumps if "%" in str(dump.scope)}
    assert loops == ({"%loop in function f"} if program == PROGRAM else {f"%v{n} in function main" for n in (3, 12)})
    if when == "after":
        assert [dump.name for dump in low.dumps] == [dump.name for dump in whole.dumps]
        for one, other in zip(low.dumps, whole.dumps, strict=True):
            if one.language == "mir":
                assert one.text == other.text
            elif one.scope.whole:
                assert defined(one.text) == defined(other.text)


@pytest.mark.external
@pytest.mark.parametrize("when", ["after", "before"])
def test_a_pass_on_the_call_graph_begins_its_text_on_the_line_of_its_banner(when):
    function = "define i32 @{}(i32 %x) {{\n  %y = call i32 @{}(i32 %x)\n  ret i32 %y\n}}\n"
    program = "declare i32 @h(i32)\n" + function.format("f", "h") + function.format("g", "f")
    printed = said("llc", program, "-mtriple=amdgcn-amd-amdhsa", f"-print-{when}-all")
    names = re.findall(r"^\*\*\* IR Dump \w+ (DummyCGSCCPass) .*\*\*\*define .*@(\w+)\(", printed, re.M)
    assert {function for _, function in names} == {"f", "g"}
    (low,) = irwidget.open(printed)
    assert len(low.dumps) == printed.count(f"IR Dump {when.title()}")
    assert not any("*** IR" in dump.text for dump in low.dumps)
    assert not any("*** IR" in one.message for one in low.diagnostics)
    if when == "after":
        assert {(dump.name, dump.scope.function or dump.scope.anchor) for dump in low.dumps} >= set(names)


def test_a_region_is_of_the_function_printed_before_and_a_pass_without_a_text_is_said():
    """As AMDGPU's code generator has them."""
    function = "define void @f(i32 %x) {\n  %y = add i32 %x, 1, !dbg !3\n  ret void\n}\n"
    region = "  %y = add i32 %x, 1\n  ret void\n"
    empty = "\n*** IR Dump After Nothing (nothing) ***\n\nPrinting <null> Function\n"
    log = f"*** IR Dump After A (a) ***\n{function}*** IR Dump After R (r) ***\n{region}{empty}"
    for text in (log, f"{log}*** IR Dump After B (b) ***\n{function}"):
        (low,) = irwidget.open(text)
        of = [(dump.name, str(dump.scope)) for dump in low.dumps]
        assert of == [("a", "f"), ("r", "%<unnamed block> in function f"), ("b", "f")][: len(of)]
        assert len(of) == 1 + text.count("define")
        assert "nothing: its name printed alone; the log has no text of it" in [one.message for one in low.diagnostics]
    (often,) = irwidget.open(log + empty)
    assert [one.message for one in often.diagnostics if "alone" in one.message] == [
        "nothing: its name printed alone; the log has no text of it (2 times)"
    ]
    (alone,) = irwidget.open(f"*** IR Dump After A (a) ***\n{function}*** IR Dump After R (r) ***\n  ret i32 %z\n")
    assert [str(dump.scope) for dump in alone.dumps] == ["f", "%<unnamed block>"]


@pytest.mark.external
def test_what_the_tool_leaves_is_the_last_dump():
    program = shutil.which("opt-22")
    ran = subprocess.run(
        [str(program), "-O1", "-S", "-print-after-all"], input=PROGRAM, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=True,
    )  # fmt: skip
    (low,) = irwidget.open(ran.stdout)
    assert low.dumps[-1].name == "output"
    assert low.text.startswith("; ModuleID")
    assert "define" in low.text


@pytest.mark.external
def test_differences_are_no_ir():
    (low,) = irwidget.open(said("opt", PROGRAM, "-O1", "-S", "-print-changed=diff"))
    assert [dump.name for dump in low.dumps if dump.changed] == ["input"]
    (every,) = irwidget.open(said("opt", PROGRAM, "-O1", "-S", "-print-after-all", "-print-module-scope"))
    for dump, other in zip(low.dumps[1:], every.dumps, strict=False):  # the last are left out: nobody knows their text
        assert (dump.name, defined(dump.text)) == (other.name, defined(other.text))
    assert 1 < len(low.dumps) < len(every.dumps)
    assert any("passes that changed nothing are left out" in one.message for one in low.diagnostics)
    assert any("-  %s = alloca i32" in one.message for one in low.diagnostics)
    with pytest.raises(irwidget.UsageError, match=r"lines that went and came.*-print-changed=quiet"):
        irwidget.open(said("opt", PROGRAM, "-O1", "-S", "-print-changed=diff-quiet"))
