"""What a log does not tell is left out or said: passes that are filtered, functions of one name or printed at once."""

from __future__ import annotations

import lzma
import re
import textwrap
from pathlib import Path

import pytest

import irwidget
from irwidget.trace import predecessors
from tests.readers.test_open import BANNER
from tests.readers.test_printed import said

EVEN = """\
define i32 @even(i32 %n) noinline {{
  %a = add i32 %n, 0
  %r = call i32 @odd(i32 {0})
  ret i32 %r
}}
"""
ODD = EVEN.replace("@even", "@swap").replace("@odd", "@even").replace("@swap", "@odd")
OTHER = "define i32 @other(i32 %n) {{\n  %b = mul i32 %n, 1\n  ret i32 {}\n}}\n"
MODULE = "; ModuleID = 'm'\n\n{}\n{}\n{}"
START = MODULE.format(EVEN.format("%a"), ODD.format("%a"), OTHER.format("%b"))


def told(low: irwidget.Lowering) -> list[tuple[str, str, str]]:
    return [(dump.name, str(dump.scope), dump.text) for dump in low.dumps]


def test_functions_that_llvm_prints_at_once_go_back_into_their_module():
    """A pass on the call graph ran on both: neither is shown as it was, nor are they compared with the module."""
    new = EVEN.format("%n"), ODD.format("%n")
    log = (
        f"; *** IR Dump After A on [module] ***\n{START}"
        f"; *** IR Dump After InlinerPass on (odd, even) ***\n{new[1]}{new[0]}"
        f"; *** IR Dump After B on other ***\n{OTHER.format('%n')}"
        f"; *** IR Dump After C on even ***\n{EVEN.format('7')}"
    )
    (low,) = irwidget.open(log)
    assert told(low) == [
        ("A", "module", START),
        ("InlinerPass", "even, odd", MODULE.format(*new, OTHER.format("%b"))),
        ("B", "other", MODULE.format(*new, OTHER.format("%n"))),
        ("C", "even", MODULE.format(EVEN.format("7"), new[1], OTHER.format("%n"))),
    ]


@pytest.mark.parametrize("functions", ["even", "even, odd"])
def test_a_module_of_which_llvm_prints_some_functions_has_the_others_too(functions):
    """-print-changed -filter-print-funcs prints all of the module at first, and then of each only those."""
    shown = EVEN.format("%n") + (ODD.format("%n") if "odd" in functions else "")
    log = f"*** IR Dump At Start ***\n{START}*** IR Dump After A on [module] ***\n{shown}"
    log += "*** IR Dump After B on [module] omitted because no change ***\n"
    (low,) = irwidget.open(log)
    odd = ODD.format("%n" if "odd" in functions else "%a")
    module = MODULE.format(EVEN.format("%n"), odd, OTHER.format("%b"))
    assert told(low) == [("input", "module", START), ("A", functions, module), ("B", "module", module)]
    assert [dump.changed for dump in low.dumps[1:]] == [True, False]


def test_of_a_pass_that_was_filtered_out_nothing_is_known():
    """What LLVM says did not change is not what was printed last, if a pass ran between that it does not print."""
    log = (
        f"*** IR Dump At Start ***\n{START}"
        "*** IR Dump After A on even filtered out ***\n"
        "*** IR Dump After B on even omitted because no change ***\n"
        "*** IR Dump After B on other omitted because no change ***\n"
        f"*** IR Dump After C on even ***\n{EVEN.format('%n')}"
        "*** IR Dump After D on even omitted because no change ***\n"
    )
    (low,) = irwidget.open(log)
    module = MODULE.format(EVEN.format("%n"), ODD.format("%a"), OTHER.format("%b"))
    assert told(low) == [
        ("input", "module", START),
        ("B", "other", START),
        ("C", "even", module),
        ("D", "even", module),
    ]
    filtered, left_out = (one.message for one in low.diagnostics)
    assert filtered.startswith("1 times a pass was filtered out")
    assert left_out.startswith("1 passes that changed nothing are left out")
    assert "(B)" in left_out


FUNCTION = "define void @f(i32 %n) {{\n  br label %1\n\n1:{0:>49} preds = %1, %0\n{1}  br label %1\n}}\n"


def loop(text: str) -> str:
    return f"; Preheader:\n  br label %1\n\n; Loop:\n{text.partition(chr(10) * 2)[2].removesuffix('}' + chr(10))}"


def test_what_passes_on_loops_did_is_theirs_where_texts_before_passes_are_printed():
    texts = [FUNCTION.format(";", f"  %a = add i32 %n, {i}\n") for i in range(4)]
    banner = "*** IR Dump Before {} ***\n"
    log = (
        banner.format("Simplify (loop-simplify)") + texts[0] + banner.format("Freeze (freeze)") + loop(texts[1])
        + banner.format("Reduce (loop-reduce)") + loop(texts[2]) + banner.format("Merge (merge)") + texts[3]
    )  # fmt: skip
    (low,) = irwidget.open(log)
    assert [(dump.name, str(dump.scope)) for dump in low.dumps] == [
        ("input", "f"),
        ("loop-simplify", "%1 in function f"),
        ("freeze", "%1 in function f"),
        ("loop-simplify + loop-reduce", "f"),
    ]
    strange = log.replace(loop(texts[1]), loop(texts[1]).replace("1:", "9:").replace("%1", "%9"))
    (low,) = irwidget.open(strange)  # a block that the function has not: whose loop it is, the log does not say
    assert [(dump.name, str(dump.scope)) for dump in low.dumps][1] == ("before freeze", "%9")


GPU = """
module attributes {gpu.container_module} {
  gpu.module @a {
    gpu.func @k(%x: memref<8xi32>) kernel {
      gpu.return
    }
  }
  gpu.module @b {
    gpu.func @k(%x: memref<8xf32>) kernel {
      gpu.return
    }
  }
  func.func @k() {
    return
  }
}
"""
NESTED = "builtin.module(gpu.module(canonicalize,gpu.func(cse,canonicalize)),func.func(cse))"
NAMES = ["a", "gpu.func @k in @a", "gpu.func @k in @a", "b", "gpu.func @k in @b", "gpu.func @k in @b", "func.func @k"]


@pytest.mark.external
def test_functions_of_one_name_are_not_compared_with_each_other():
    (low,) = irwidget.open(
        said("mlir-opt", GPU, f"--pass-pipeline={NESTED}", "--mlir-print-ir-after-all", "--mlir-disable-threading")
    )
    assert [str(dump.scope) for dump in low.dumps] == NAMES
    assert [dump.changed for dump in low.dumps] == [True, True, False, True, True, False, True]


@pytest.mark.external
@pytest.mark.parametrize("flags", [("-stop-after=finalize-isel",), ("-stop-before=greedy", "-simplify-mir")])
def test_machine_ir_by_itself_is_opened(flags):
    text = said("llc", "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n", *flags, output="/dev/stderr")
    for one in (text, text[text.index("\n---\nname:") + 1 :]):
        (low,) = irwidget.open(one)
        assert [(dump.language, dump.text) for dump in low.dumps] == [("mir", one)]
    with pytest.raises(irwidget.UsageError, match="no dump that a reader knows"):
        irwidget.open("---\nname: f\non: push\njobs:\n  body: x\n")


TWINS = "".join(
    f"  module @{name} {{\n    func.func @main(%x: i32) -> i32 {{\n      %c = arith.constant {number} : i32\n"
    f"      %y = arith.{op} %x, %c : i32\n      return %y : i32\n    }}\n  }}\n"
    for name, number, op in (("a", 0, "addi"), ("b", 1, "muli"))
)


@pytest.mark.external
def test_functions_of_which_the_log_does_not_say_in_which_module_they_are_are_not_compared_with_each_other():
    """After both passes both functions are the same, and each had changed."""
    inner = "builtin.module(canonicalize{max-iterations=0},builtin.module(func.func(canonicalize,cse)),canonicalize)"
    flags = (f"--pass-pipeline={inner}", "--mlir-print-ir-after-all", "--mlir-disable-threading")
    (low,) = irwidget.open(said("mlir-opt", f"module {{\n{TWINS}}}\n", *flags))
    assert [str(dump.scope) for dump in low.dumps[1:5]] == [f"func.func @main (text {i})" for i in range(1, 5)]
    assert predecessors(low.dumps) == [-1, 0, 0, 0, 0, 0]  # the module, and none another
    assert [one.message.partition(",")[0] for one in low.diagnostics] == [
        "Which of several func.func @main its texts are"
    ]


TYPED = TWINS[: TWINS.index("module @b")] + TWINS[TWINS.index("module @b") :].replace("i32", "i64")
IN = "func.func @main in @{}"
ALL = ("--mlir-print-ir-before-all", "--mlir-print-ir-after-all")


@pytest.mark.external
@pytest.mark.parametrize("flags", [(), ("--mlir-print-op-generic",), ("--mlir-print-debuginfo",)])
def test_functions_of_one_name_are_told_apart_by_what_they_take(flags):
    inner = "builtin.module(builtin.module(func.func(canonicalize,cse)),canonicalize)"
    run = (f"--pass-pipeline={inner}", "--mlir-disable-threading", *flags)
    (low,) = irwidget.open(said("mlir-opt", f"module {{\n{TYPED}}}\n", *run, *ALL))
    a, b = IN.format("a"), IN.format("b")
    assert [(dump.name, str(dump.scope), dump.changed) for dump in low.dumps] == [
        ("input", a, True), ("canonicalize", a, True), ("cse", a, False),
        ("before canonicalize", b, True), ("canonicalize", b, True), ("cse", b, False),
        ("before canonicalize", "module", True), ("canonicalize", "module", False),
    ]  # fmt: skip
    (remark,) = low.diagnostics
    assert "told apart by what these take and return" in remark.message


@pytest.mark.external
@pytest.mark.parametrize(
    ("text", "flags"), [(TYPED, ALL[1:]), (TYPED, ALL), (TWINS.replace("constant 1", "constant 2"), ALL)]
)
@pytest.mark.parametrize("printing", [(), ("--mlir-print-local-scope",)])
def test_functions_of_one_name_go_back_into_the_module_that_each_is_of(text, flags, printing):
    """What they take, or what they were before a pass, tells which it is: each dump is what MLIR prints of all."""
    inner = "builtin.module(canonicalize{max-iterations=0},builtin.module(func.func(canonicalize,cse)),canonicalize)"
    run = (f"--pass-pipeline={inner}", "--mlir-disable-threading", *printing, *flags)
    texts = [
        [dump.text for dump in irwidget.open(log)[0].dumps if dump.step >= 0]
        for log in (
            said("mlir-opt", f"module {{\n{text}}}\n", *run, *more) for more in ((), ("--mlir-print-ir-module-scope",))
        )
    ]
    assert texts[0] == texts[1]
    (low,) = irwidget.open(said("mlir-opt", f"module {{\n{text}}}\n", *run))
    assert [str(dump.scope) for dump in low.dumps if dump.scope.anchor] == [IN.format(name) for name in "aabb"]


@pytest.mark.parametrize(
    "ran",
    [
        [("Before A", 0), ("Before B", 1), ("After B", 1)],  # what A made of the first is not in the log
        [("After A", 1), ("Before B", 1), ("After B", 1)],  # whichever A ran on may have become what the other is
        [("Before A", 0), ("Before A", 1), ("After A", 1), ("After A", 1), ("Before B", 1), ("After B", 1)],
    ],
)
def test_a_text_that_another_may_have_by_now_does_not_tell_which_it_is(ran):
    texts = [f"func.func @f() {{\n  call @{name}() : () -> ()\n  return\n}}\n" for name in ("x", "y")]
    modules = "".join(
        f"  module @{name} {{\n{textwrap.indent(text, '    ')}  }}\n" for name, text in zip("ab", texts, strict=True)
    )
    banner = "// -----// IR Dump {} //----- //\n"
    log = f"{banner.format('After O (o)')}module {{\n{modules}}}\n"
    log += "".join(f"{banner.format(f'{name} ({name[-1].lower()})')}{texts[which]}" for name, which in ran)
    (low,) = irwidget.open(log)
    assert "(text" in str(low.dumps[-1].scope)


@pytest.mark.external
def test_a_function_is_not_said_to_be_in_what_was_printed_before_it_where_others_may_have_it():
    """Passes on functions come before those on what they are in: the one of `b` is printed right below `a`."""
    same = GPU.replace("8xf32", "8xi32")
    inner = "builtin.module(gpu.module(gpu.func(cse),canonicalize))"
    (low,) = irwidget.open(
        said("mlir-opt", same, f"--pass-pipeline={inner}", "--mlir-print-ir-after-all", "--mlir-disable-threading")
    )
    assert [str(dump.scope) for dump in low.dumps] == ["gpu.func @k (text 0)", "a", "gpu.func @k (text 2)", "b"]
    (low,) = irwidget.open(
        said("mlir-opt", GPU, f"--pass-pipeline={inner}", "--mlir-print-ir-after-all", "--mlir-disable-threading")
    )
    assert [str(dump.scope) for dump in low.dumps] == ["gpu.func @k (text 0)", "a", "gpu.func @k in @b", "b"]


@pytest.mark.external
def test_texts_before_and_after_a_pass_are_of_one_function_whatever_others_are_called():
    """Functions that nothing tells apart; the log has both texts of each pass."""
    inner = "builtin.module(canonicalize{max-iterations=0},builtin.module(func.func(canonicalize)))"
    run = (f"--pass-pipeline={inner}", "--mlir-disable-threading", *ALL)
    (low,) = irwidget.open(said("mlir-opt", f"module {{\n{TWINS}}}\n", *run))
    assert [(dump.name, str(dump.scope), dump.changed) for dump in low.dumps[2:]] == [
        ("canonicalize", IN.format(name), True) for name in "ab"
    ]
    assert len(low.diagnostics) == 1  # none of a pass of which there is one text only


@pytest.mark.external
def test_in_a_tree_folder_texts_before_passes_are_that_and_functions_have_their_folders(tmp_path):
    said("mlir-opt", GPU, f"--pass-pipeline={NESTED}", "--mlir-print-ir-after-all", "--mlir-print-ir-before-all",
         "--mlir-disable-threading", f"--mlir-print-ir-tree-dir={tmp_path}")  # fmt: skip
    (low,) = irwidget.open(tmp_path)
    shown = sorted((str(dump.scope), dump.name, dump.changed) for dump in low.dumps if dump.step >= 0)
    assert shown == sorted(
        (scope, name, False)
        for scope, name in (
            ("a", "canonicalize"),
            ("b", "canonicalize"),
            ("k", "cse"),
            ("gpu_module_a/gpu_func_k", "cse"),
            ("gpu_module_a/gpu_func_k", "canonicalize"),
            ("gpu_module_b/gpu_func_k", "cse"),
            ("gpu_module_b/gpu_func_k", "canonicalize"),
        )
    )
    assert len([dump for dump in low.dumps if dump.step < 0]) == 5  # each before its first pass


MACHINE = "# Machine code for function {}: IsSSA\n\nbb.0:\n  RET 0\n\n# End machine code for function {}.\n"


def test_what_llc_prints_of_instruction_selection():
    """-print-isel-input and -print-after-isel, also where assembly stands on the line before."""
    second = OTHER.replace("@other", "@last")
    log = "".join(
        f"\n\n*** Final LLVM Code input to ISel ***\n{text.format('%b')}# After Instruction Selection:\n"
        f"{MACHINE.format(name, name)}\n{asm}"
        for text, name, asm in ((OTHER, "other", "\t.text\n\t.si"), (second, "last", "ze\tother, 8\n"))
    )
    run = log
    log = log.replace(
        "\t.si\n\n*** Final", "\t.si# After Instruction Selection:\n" + MACHINE.format("f", "f") + "*** Final"
    )
    (low,) = irwidget.open(log)
    assert [(dump.name, dump.language, str(dump.scope), dump.text) for dump in low.dumps] == [
        ("input", "llvm", "other", OTHER.format("%b")),
        ("isel", "mir", "other", MACHINE.format("other", "other")),
        ("isel", "mir", "f", MACHINE.format("f", "f")),
        ("before isel", "llvm", "last", second.format("%b")),
        ("isel", "mir", "last", MACHINE.format("last", "last")),
    ]
    assert [[dump.text for dump in low.dumps] for low in irwidget.open(run + run)] == 2 * [
        [dump.text for dump in low.dumps if str(dump.scope) != "f"]
    ]
    (alone,) = irwidget.open(log.partition("# After")[0])
    assert [dump.name for dump in alone.dumps] == ["input"]


def test_a_message_with_a_pipeline_is_no_ir():
    with pytest.raises(irwidget.UsageError, match="no dump that a reader knows"):
        irwidget.open("error: 'bad' does not refer to a registered pass\nfunc.func(cse,bad)\n               ^\n")


def test_a_text_that_begins_on_the_line_of_its_banner():
    banner = "// -----// IR Dump After {} //----- //"
    module = "!s32 = !cir.int<s, 32>\nmodule {\n  cir.func @f() -> !s32 {\n    cir.trap\n  }\n}\n"
    log = f"{banner.format('A (a)')} {module}\n{banner.format('B (b)')}\n{module.replace('trap', 'unreachable')}"
    (low,) = irwidget.open(log)
    shown = [(dump.name, dump.text) for dump in low.dumps]
    assert shown == [("a", module), ("b", module.replace("trap", "unreachable"))]


PARTS = """
module @outer {
  module @a { func.func @f() { return } }
  module @b { func.func @f() { return } func.func @g() { return } }
  module { func.func @h() { return } }
}
"""


@pytest.mark.external
@pytest.mark.parametrize("last", ["canonicalize", "symbol-dce"])
def test_modules_in_a_module_are_not_compared_with_each_other_nor_with_that(last):
    pipeline = f"builtin.module(builtin.module(canonicalize,func.func(cse)),{last})"
    found = irwidget.open(
        said("mlir-opt", PARTS, f"--pass-pipeline={pipeline}", "--mlir-print-ir-after-all", "--mlir-disable-threading")
    )
    assert [(low.name, [dump.name for dump in low.dumps]) for low in found] == [
        ("a", ["canonicalize", "cse"]),
        ("b", ["canonicalize", "cse", "cse"]),
        ("h", ["canonicalize", "cse"]),
        ("outer", [last]),
    ]


DATA = Path(__file__).parent / "data"


def first(name: str, count: int) -> str:
    """The first lines of a log."""
    lines = lzma.decompress((DATA / f"{name}.log.xz").read_bytes()).decode().splitlines(keepends=True)
    return "".join(lines[:count])


@pytest.mark.parametrize(
    ("log", "text"),
    [
        ("// -----// IR Dump After A (a) //----- //\nmodule {\n  func.func @f()\n  xx.yy\n}\n\n", "module"),
        (f"; *** IR Dump After A on [module] ***\n{START}\n!11 = !{{!22, !33}}\n", "; Module"),
        (f"# After Instruction Selection:\n{MACHINE.format('f', 'f')}", "# Machine"),
        (first("taichi", 22), "kernel"),
        (first("torchscript", 5), " graph"),
    ],
)
def test_a_log_that_is_cut_says_so_where_that_can_be_seen(log, text):
    """Below a banner, and within a line that is no name; between two lines it is not always seen."""

    def said_of(text: str) -> list[str]:
        return [one.message[:26] for one in irwidget.open(text)[-1].diagnostics if one.severity == "warning"]

    assert said_of(log) == said_of(f"{log}\n") == []
    lines = [*re.finditer(r"^(?:\[.*\])?  +(?=\w\w|%\w\w).*\w\w", log[log.index(text) :], re.M)]
    assert lines
    cuts = [log.index(text) + line.end() - 1 for line in lines]
    assert [said_of(log[:at]) for at in cuts] == [["The log ends in the middle"]] * len(cuts)
    if text in ("module", "; Module"):
        assert said_of(log[: log.index(text)]) == ["The log ends in the middle"]


def test_a_log_that_is_cut_at_a_blank_or_in_a_name_of_a_place_says_just_that():
    module = (
        'module {\n  xx.yy {a = 1 : i32} loc(#loc1)\n} loc(#loc)\n#loc = loc(unknown)\n#loc1 = loc("a, \\" b"(#loc))\n'
    )
    log = f"{BANNER.format('A (a)')}{module}\n{BANNER.format('B (b)')}{module}"
    assert not irwidget.open(log.rstrip())[0].diagnostics
    cuts = [log.rindex("{a") + 1 + i for i in (3, 5, 7, 9)]  # at and after blanks
    cuts += range(log.rindex("#loc1 =") + 8, len(log) - 2)
    for at in cuts:
        said = [one.message[:26] for one in irwidget.open(log[:at])[0].diagnostics]
        assert said == ["The log ends in the middle"], log[:at]


@pytest.mark.parametrize(
    "banner", ["// -----// IR Dump After B (b) //----- //", "; *** IR Dump After BPass on other ***"]
)
def test_a_log_that_is_cut_in_a_banner_says_so(banner):
    text = "module {\n}\n\n" if banner.startswith("/") else START
    whole = f"{banner}\n{text}"
    assert not irwidget.open(whole + whole.replace("B (b)", "C (c)").replace("BPass", "CPass"))[0].diagnostics
    for at in range(11, len(banner) - 3):
        (low,) = irwidget.open(whole + banner[:at])
        (said,) = [one.message for one in low.diagnostics if one.severity == "warning"]
        assert said.startswith("The log ends within the line that names a pass")
        assert [dump.text.strip() for dump in low.dumps] == [text.strip()]


def machine(name: str, *passes: tuple[str, str]) -> str:
    """What llc -print-changed says of a function: for each pass what machine IR is by then, or no text."""
    made = ""
    for one, kept in passes:
        head = f"*** IR Dump After {one} on {name}"
        text = MACHINE.format(name, name).replace("IsSSA", kept)
        made += f"{head} ***\n{text}\n" if kept else f"{head} omitted because no change ***\n"
    return made


RUN = (("X86 DAG->DAG Instruction Selection (x86-isel)", "IsSSA"), ("Finalize ISel (finalize-isel)", ""))
LATE = (("Eliminate PHI nodes (phi-node-elimination)", "NoPHIs"), ("Greedy Register Allocator (greedy)", "NoVRegs"))


@pytest.mark.parametrize("passes", [(*RUN, *LATE), RUN[:1]], ids=["all", "selection alone"])
def test_a_function_that_is_selected_again_is_of_another_run(passes):
    one, two = machine("f", *passes) + machine("g", *passes), machine("f", *passes) + machine("h", *passes)
    runs = [irwidget.open(run)[0] for run in (one, two)]
    shown = [[(d.name, str(d.scope), d.text, d.changed) for d in low.dumps] for low in irwidget.open(one + two)]
    assert shown == [[(d.name, str(d.scope), d.text, d.changed) for d in run.dumps] for run in runs]


MLIR = "// -----// IR Dump After A (a) //----- //\nmodule {{\n  func.func @{0}() {{\n    return\n  }}\n}}\n\n"
LLVM = "*** IR Dump {2} ***\n; ModuleID = '{1}'\n\ndefine void @{0}() {{\n  ret void\n}}\n"


def names(log: str) -> list[list[tuple[str, str]]]:
    return [[(dump.name, dump.language) for dump in low.dumps] for low in irwidget.open(log)]


@pytest.mark.parametrize("name", ["f", "_mlir_ciface_f", "f_", "f.1", "g"])
def test_ir_of_llvms_below_mlir_is_the_same_programs_where_a_name_is(name):
    whole = LLVM.format(name, "m", "After X on [module]")
    for lower in (whole, LLVM.format(name, "m", "At Start"), whole[: whole.find(";")] + whole[whole.find("define") :]):
        upper, own = [("a", "mlir")], names(lower)[0]
        assert names(MLIR.format("f") + lower) == ([upper, own] if name == "g" else [[*upper, *own]])
        if name != "f":
            assert names(lower + MLIR.format("f")) == [own, upper]


def test_machine_ir_is_of_what_was_printed_before_it_where_that_has_the_function():
    module, code = LLVM.format("f", "m", "After X on [module]"), machine("f", *RUN, *LATE)
    outlined = machine("OUTLINED_FUNCTION_0", ("Outliner (machine-outliner)", "NoVRegs"))
    assert len(names(module + code + module.replace("After X", "After Y") + outlined)) == 1
    assert [len(low) for low in names(module + machine("g", *RUN, *LATE))] == [1, 4]
    assert [len(low) for low in names(MLIR.format("f") + machine("g", *RUN))] == [1, 2]
    assert [len(low) for low in names(MLIR.format("f") + machine("f", *RUN))] == [3]
    assert [len(low) for low in names(machine("g", *RUN) + module)] == [2, 1]
    assert [len(low) for low in names(machine("g", *RUN) + MLIR.format("f"))] == [2, 1]


def test_what_is_printed_before_the_first_pass_and_at_the_start_is_one_input():
    """opt -print-before-all -print-changed."""
    text = LLVM.format("f", "m", "X").partition("\n")[2]
    log = f"; *** IR Dump Before A on [module] ***\n{text}*** IR Dump At Start ***\n{text}"
    log += "*** IR Dump After A on [module] omitted because no change ***\n"
    log += f"; *** IR Dump Before B on f ***\n{text[text.find('define') :]}"
    log += f"*** IR Dump After B on f ***\n{text[text.find('define') :].replace('ret void', 'unreachable')}"
    (low,) = irwidget.open(log)
    assert [(dump.name, dump.changed) for dump in low.dumps] == [("input", True), ("A", False), ("B", True)]
    assert not low.diagnostics


def test_what_did_not_change_is_as_the_module_printed_since_has_it():
    """A function was printed alone before any module, which a pass on the module has changed since."""
    old = "define void @f() {\n  unreachable\n}\n"
    module = LLVM.format("f", "m", "After M on [module]")
    log = f"*** IR Dump After A on f ***\n{old}{module}*** IR Dump After B on f omitted because no change ***\n"
    (low,) = irwidget.open(log)
    assert [(dump.name, dump.changed, "unreachable" in dump.text) for dump in low.dumps] == [
        ("A", True, True), ("M", True, False), ("B", False, False),
    ]  # fmt: skip


def test_a_module_with_a_name_may_have_its_first_pass_again():
    module = "// -----// IR Dump After {} //----- //\nmodule @m {{\n  func.func @f() {{\n{}"
    module += "    x.a\n    x.b\n    x.c\n    return\n  }}\n}}\n\n"
    log = module.format("A (a)", "    x.y\n") + module.format("B (b)", "") + module.format("A (a)", "    x.w\n")
    assert names(log) == [[("a", "mlir"), ("b", "mlir"), ("a", "mlir")]]
    assert names(log + module.replace("@m", "@n").format("A (a)", "")) == [names(log)[0], [("a", "mlir")]]


def test_what_deleted_the_function_that_it_ran_on_says_so():
    log = LLVM.format("f", "m", "At Start") + "*** IR Deleted After X on f ***\n"
    (low,) = irwidget.open(log)
    assert [one.message for one in low.diagnostics] == ["X on f: deleted what it ran on; the log has no text of it"]
