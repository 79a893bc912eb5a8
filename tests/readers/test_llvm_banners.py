"""What LLVM writes above its dumps, in the words of its releases, and what others write between them."""

from __future__ import annotations

import pytest

import irwidget
from irwidget.readers import llvm

BODY = "define i32 @f() {\n  %a = add i32 2, 3\n  ret i32 %a\n}\n"
FOLDED = "define i32 @f() {\n  ret i32 5\n}\n"
OTHER = BODY.replace("@f", "@g")


def told(low: irwidget.Lowering) -> list[tuple[str, str, str]]:
    return [(dump.name, str(dump.scope), dump.text) for dump in low.dumps]


@pytest.mark.parametrize(
    ("line", "name", "scope"),
    [
        ("*** IR Dump After SROAPass on \x01-[A(Foo) bar: on:] ***", "SROAPass", r"\01-[A(Foo) bar: on:]"),
        ("*** IR Dump After SROAPass on julia_α ***", "SROAPass", r"julia_\CE\B1"),
        ("; *** IR Dump After CSE (early-cse) on a (b) on c ***", "early-cse", "a (b) on c"),
        ("; *** IR Dump After InlinerPass on (f) ***", "InlinerPass", "f"),
        ("; *** IR Dump After InlinerPass on List(u8) ***", "InlinerPass", "List(u8)"),
        ("*** IR Dump After SROA *** (function: f)", "SROA", "f"),
        ("*** IR Dump After InlinerPass *** (scc: (f, g))", "InlinerPass", "f, g"),
        ("*** IR Dump After LICMPass *** (loop: %l)", "LICMPass", "loop %l"),
        ("*** IR Dump After GlobalOptPass *** (module)", "GlobalOptPass", "module"),
        ("*** IR Dump After VerifierPass (module) omitted because no change ***", "VerifierPass", "module"),
        ("*** IR Pass PassManager<llvm::Function> (function: g) ignored ***", "PassManager<llvm::Function>", "g"),
    ],
)  # fmt: skip
def test_the_pass_and_what_it_ran_on(line, name, scope):
    banner = llvm.banner(line.encode())
    assert banner is not None
    assert (banner.name, str(banner.scope)) == (name, scope)


def test_a_function_whose_name_is_quoted_goes_back_into_its_module():
    name = r'"\01-[A b]"'
    module = f"; ModuleID = 'x'\n\n{OTHER}\n{BODY.replace('f()', f'{name}()')}"
    log = (
        f"*** IR Dump At Start ***\n{module}*** IR Dump After X on \x01-[A b] ***\n{FOLDED.replace('f()', f'{name}()')}"
    )
    (low,) = irwidget.open(log)
    assert low.text == module.replace(BODY.replace("f()", f"{name}()"), FOLDED.replace("f()", f"{name}()"))


def test_what_llvm_14_says():
    start = f"; ModuleID = 'x'\n\n{BODY}\n{OTHER}"
    log = (
        f"*** IR Dump At Start: ***\n{start}"
        "*** IR Dump After VerifierPass (module) omitted because no change ***\n"
        f"*** IR Dump After InstSimplifyPass *** (function: f)\n{FOLDED}"
        "*** IR Dump After InstSimplifyPass (function: g) filtered out ***\n"
    )
    (low,) = irwidget.open(log)
    folded = start.replace(BODY, FOLDED)
    assert told(low) == [
        ("input", "module", start),
        ("VerifierPass", "module", start),
        ("InstSimplifyPass", "f", folded),
    ]
    (said,) = low.diagnostics
    assert said.message.startswith("1 times a pass was filtered out")


def test_what_early_mlir_says():
    module = "module {\n  func @main() {\n    return\n  }\n}\n"
    log = f"*** IR Dump Before Canonicalizer ***\n{module}\n*** IR Dump After (anonymous namespace)::Foo Failed ***\n"
    (low,) = irwidget.open(f"{log}{module.replace('return', 'x.y')}\n")
    shown = [(dump.name, dump.language, dump.text) for dump in low.dumps]
    assert shown == [("input", "mlir", module), ("Foo", "mlir", module.replace("return", "x.y"))]
    assert low.failure.pass_name == "Foo"


def test_the_text_that_a_crash_leaves():
    """`-print-on-crash`; what is being run is a pipeline with a pass in it."""
    log = (
        'Stack dump:\n1.\tRunning pass "function(a,b<x>)" on module "x"\n2.\tRunning pass "b" on function "f"\n'
        f"; *** Dump of IR Before Last Pass BPass Started ***\n{BODY}"
    )
    (low,) = irwidget.open(log)
    assert told(low) == [("input", "f", BODY)]
    assert (low.failure.pass_name, low.failure.message) == ("b", "Stack dump:")
    (low,) = irwidget.open(log.replace('2.\tRunning pass "b"', '2.\tRunning pass "function(b)"'))
    assert low.failure.pass_name == "BPass"


def test_what_pass_managers_list_is_no_ir():
    log = f"; *** IR Dump After A on f ***\n{BODY} Running pass 2 BPass on f\n"
    log += f"; *** IR Dump After BPass on f ***\n{FOLDED}  9 instcombine - Number of insts combined\n"
    (low,) = irwidget.open(log)
    assert told(low) == [("A", "f", BODY), ("BPass", "f", FOLDED)]
    assert [one.message for one in low.diagnostics] == ["9 instcombine - Number of insts combined"]


def test_remarks_of_the_optimiser_have_their_own_places():
    said = "remark: x.c:3:4: loop not vectorized\nremark: <unknown>:0:0: inlined\n"
    (low,) = irwidget.open(
        f"; *** IR Dump After A on f ***\n{BODY}{said}; *** IR Dump After B on f ***\n{FOLDED}", name="l"
    )
    places = [(one.severity, str(one.location), one.message) for one in low.diagnostics]
    assert places == [("remark", "x.c:3:4", "loop not vectorized"), ("remark", "l:6", "inlined")]


def test_lines_that_end_as_on_windows():
    module = f"; ModuleID = 'x'\n\n{BODY}\nattributes #0 = {{ nounwind }}\n"
    log = f"; *** IR Dump After A on [module] ***\n{module}; *** IR Dump After B on f ***\n{FOLDED}{module}"
    (low,) = irwidget.open(log.replace("\n", "\r\n"))
    assert told(low) == told(irwidget.open(log)[0])
    assert [dump.name for dump in low.dumps] == ["A", "B", "output"]


def test_a_loop_of_machine_ir_is_in_no_function_of_llvms():
    ran = ("A on [module]", "B on loop %l in function f", "C on f")
    (low,) = irwidget.open("".join(f"# *** IR Dump After {one} ***\n#   br label %o\n" for one in ran))
    shown = [(dump.language, str(dump.scope)) for dump in low.dumps]
    assert shown == [("mir", "module"), ("mir", "%l in function f"), ("mir", "f")]


def test_functions_that_go_down_to_machine_ir_one_after_the_other_are_of_one_program():
    log = ""
    for name in "fg":
        text = f"define i32 @{name}(i32 %a) {{\n  ret i32 %a\n}}\n"
        machine = f"# Machine code for function {name}: IsSSA\n\nbb.0:\n# End machine code for function {name}.\n\n"
        log += f"*** IR Dump After Safe Stack (safe-stack) ***\n{text}"
        log += f"# *** IR Dump After Finalize ISel (finalize-isel) ***:\n{machine}"
    (low,) = irwidget.open(log)
    assert [(dump.name, dump.language, str(dump.scope)) for dump in low.dumps] == [
        ("safe-stack", "llvm", "f"),
        ("finalize-isel", "mir", "f"),
        ("safe-stack", "llvm", "g"),
        ("finalize-isel", "mir", "g"),
    ]


BANNER = "; *** IR Dump After {} on {} ***\n"


@pytest.mark.parametrize("at", [0, 1])
def test_what_threads_print_at_once_is_cut_off_and_said_of_all_of_the_log(at):
    """A banner that begins on another's line is one; what stands below it may be the other's."""
    head, rest = FOLDED.split("ret i32 5")
    first = BANNER.format("A", "[module]")
    log = (
        f"{first}; ModuleID = 'x'\n{BODY}\n{first}; ModuleID = 'y'\n{OTHER}\n"
        f"{BANNER.format('B', 'g')}{head}ret {BANNER.format('C', 'g')}{OTHER}i32 5{rest}"
    )  # fmt: skip
    found = irwidget.open(log)
    assert [[one.name for one in low.dumps] for low in found] == [["A"], ["A", "B (cut off)", "C"]]
    assert found[1].dumps[1].text == f"{head}ret"
    (said,) = (one.message for one in found[at].diagnostics if one.severity == "warning")
    assert said.startswith("1 dumps are cut off where another begins on their line: several threads or processes")


def test_what_another_prints_before_a_banner_is_not_part_of_the_dump_above():
    log = f"{BANNER.format('A', 'f')}{BODY}progress: 50 %{BANNER.format('B', 'f')}{FOLDED}"
    (low,) = irwidget.open(log)
    assert [(one.name, one.text) for one in low.dumps] == [("A", BODY), ("B", FOLDED)]
    assert [one.message for one in low.diagnostics] == ["progress: 50 %"]
