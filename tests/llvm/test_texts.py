"""What is read out of LLVM's texts and arguments, and what is taken out of them: nothing is run."""

from __future__ import annotations

import pytest

from irwidget.readers import llvm as reader
from irwidget.toolchain import debug_lines, llvm, llvm_debug, llvm_passes, llvm_state, llvm_tools, tool
from irwidget.toolchain.llvm_passes import Changed
from irwidget.toolchain.triples import normalised
from irwidget.trace import WHOLE, Location, Scope, Step

WITH_LINES = """\
source_filename = "x"
define i32 @f(i32 %a) !dbg !4 {
  #dbg_value(i32 %a, !9, !DIExpression(), !7)
  %v = add i32 %a, 1, !dbg !7, !tbaa !8
  %w = call i32 @g(i32 %v), !dbg !12
  br label %end, !dbg !13, !llvm.loop !15
end:
  ret i32 %w
}
@s = constant [3 x i8] c"!7\\00"
!llvm.dbg.cu = !{!0}
!llvm.ident = !{!20}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1)
!1 = !DIFile(filename: "a.c", directory: "/src")
!2 = !DIFile(filename: "<cell>", directory: "/src")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, type: !5, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 3, column: 2, scope: !4)
!8 = !{!21, !21, i64 0}
!9 = !DILocalVariable(name: "a", scope: !4)
!10 = distinct !DISubprogram(name: "g", scope: !2, file: !2, line: 5, type: !5, unit: !0)
!11 = !DILexicalBlockFile(scope: !10, file: !2, discriminator: 0)
!12 = !DILocation(line: 6, column: 1, scope: !11, inlinedAt: !7)
!13 = !DILocation(line: 0, scope: !4, inlinedAt: !14)
!14 = distinct !DILocation(line: 8, column: 3, scope: !4, inlinedAt: !16)
!15 = distinct !{!15, !7, !22}
!16 = !DILocation(line: 8, column: 9, scope: !4)
!20 = !{!"clang"}
!21 = !{!"int"}
!22 = !{!"llvm.loop.mustprogress"}
"""
SHOWN = """\
source_filename = "x"
define i32 @f(i32 %a) {                                         | /src/a.c:1
  %v = add i32 %a, 1, !tbaa !1                                  | /src/a.c:3:2
  %w = call i32 @g(i32 %v)                                      | <cell>:6:1 < /src/a.c:3:2
  br label %end, !llvm.loop !2                                  | /src/a.c:8:9
end:
  ret i32 %w
}
@s = constant [3 x i8] c"!7\\00"
!llvm.ident = !{!3}
!llvm.module.flags = !{!0}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{!4, !4, i64 0}
!2 = distinct !{!2, !5}
!3 = !{!"clang"}
!4 = !{!"int"}
!5 = !{!"llvm.loop.mustprogress"}
"""
PTX = """\
\t.file\t1 "/src" "a.c"
\t.file 2 "b.c"
.visible .entry f(
)
{
$L__func_begin0:
\t.loc\t1 3 2
\tadd.s32 \t%r1, %r2, 1;
$L__tmp0:
\t.loc\t2 6 1, function_name $L__info_string0, inlined_at 1 3 2
\tmul.s32 %r3, %r1, 2; // x
$L__BB0_2:
\t.loc 1 9 0 ; a.c:9:0 @[ b.c:4:7 @[ a.c:1:1 ] ]
\tbra $L__tmp1;
$L__tmp1:
\tret;
$L__tmp2:
$L__func_end0:
\tadd.s32 %r1, %r2, 2;
}
\t.section\t.debug_macinfo { }
"""
PTX_SHOWN = """\
.visible .entry f(
)
{
\tadd.s32 \t%r1, %r2, 1; | /src/a.c:3:2
\tmul.s32 %r3, %r1, 2; // x | b.c:6:1 < /src/a.c:3:2
$L__BB0_2:
\tbra $L__tmp1; | /src/a.c:9 < b.c:4:7 < /src/a.c:1:1
$L__tmp1:
\tret; | /src/a.c:9 < b.c:4:7 < /src/a.c:1:1
\tadd.s32 %r1, %r2, 2;
}
"""
MACHINE = """\
  %0:gr32 = MOV32rr %1, debug-location !7; a.c:3:5 @[ b.c:9:1 @[ c.c:2 ] ]
  %1:gr32 = ADD debug-location !7; /usr/lib/python3/x.py:3:5 @[ b.c:9:1 ]
  DBG_VALUE debug-location !8; a.c:4 line no:2
  RET ; a.c:4:1
"""
SASS = """\
\t//## File "/src/a.py", line 3 inlined at "/src/b.py", line 9
\t//## File "/src/b.py", line 9
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   EXIT ;
\t//## File "/usr/lib/python3/c.py", line 1
        /*0020*/                   NOP ;
"""
SASS_SHOWN = """\
        /*0000*/                   MOV R1, c[0x0][0x28] ; | /src/a.py:3 < /src/b.py:9
.L_x_0:
        /*0010*/                   EXIT ; | /src/a.py:3 < /src/b.py:9
        /*0020*/                   NOP ;
"""


def said(place: Location | None) -> str:
    """A place and those that called it."""
    found: list[str] = []
    while place:
        found.append(str(place))
        place = place.caller
    return " < ".join(found)


def beside(text: str, places: tuple[Location | None, ...]) -> list[str]:
    return [f"{line.rstrip()} | {said(place)}" if place else line for line, place in
            zip(text.split("\n"), (*places, *[None] * text.count("\n")), strict=False)]  # fmt: skip


def expected(shown: str) -> list[str]:
    return [" | ".join(part.rstrip() for part in line.split(" | ")) for line in shown.split("\n")]


@pytest.mark.parametrize(("language", "text", "shown"), [
    ("llvm", WITH_LINES, SHOWN), ("llvm", WITH_LINES[:-1], SHOWN[:-1]),
    ("ptx", PTX, PTX_SHOWN), ("amdgcn", PTX, PTX_SHOWN), ("ptx", PTX[:-1], PTX_SHOWN[:-1]),
    ("spirv", PTX, PTX),
])  # fmt: skip
def test_lines_are_taken_out_of_a_text(language: str, text: str, shown: str) -> None:
    found = llvm_debug.content(language, text)
    if shown is text:
        assert (found.text, found.locations) == (text, ())
    else:
        assert beside(found.text, found.locations) == expected(shown)


def test_lines_of_machine_code() -> None:
    assert [said(place) for place in debug_lines.machine(MACHINE)] == [
        "a.c:3:5 < b.c:9:1", "b.c:9:1", "a.c:4", "",
    ]  # fmt: skip
    assert beside(*debug_lines.sass(SASS)) == expected(SASS_SHOWN)
    far = f"  RET debug-location !7{' ' * 4000}; a.c:1:1"
    assert [debug_lines.machine_line(line) for line in (far, far.replace(" " * 4000, ""))] == [
        None, Location("a.c", 1, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "places"), [
    ("ptx", PTX, 14), ("x86asm", PTX, 14), ("mir", MACHINE, 4), ("llvm", WITH_LINES, 33), ("mlir", WITH_LINES, 0),
    ("ptx", MACHINE, 0), ("ptx", "\t.loc\t9 0 0\n\tret;\n", 0), ("mir", PTX, 0),
])  # fmt: skip
def test_the_lines_of_a_text_by_its_language(language: str, text: str, places: int) -> None:
    found = debug_lines.lines(language, text)
    assert len(found) == (text.count("\n") if places else 0)


def test_circles_in_debug_information_come_to_an_end() -> None:
    text = "ret void, !dbg !1\n!1 = !DILocation(line: 3, scope: !2, inlinedAt: !1)\n!2 = !DILexicalBlock(scope: !2)\n"
    assert debug_lines.llvm(text) == (None, None, None)
    text = text.replace("scope: !2)\n", "scope: !2, file: !3)\n").replace("!2, inl", "!2, column: 99999999999, inl")
    assert debug_lines.llvm(text + '!3 = !DIFile(filename: "a.c", directory: "")\n')[0] == Location("a.c", 3)
    circle = '\t.file 1 "a.c"\n\t.loc 1 2 0, function_name x, inlined_at 1 3 0\n'
    circle += "\t.loc 1 3 0, function_name x, inlined_at 1 2 0\n\tret;\n"
    assert said(debug_lines.assembly(circle)[-1]) == "a.c:3 < a.c:2 < a.c:3"


def test_a_position_that_is_inlined_in_several_places_is_of_the_one_said_last() -> None:
    at = "\t.loc 1 {} 0, function_name x, inlined_at 1 {} 0\n\tret;\n"
    text = '\t.file 1 "a.c"\n' + "".join(at.format(*one) for one in ((2, 3), (3, 8), (2, 3), (3, 9), (2, 3)))
    assert [said(place) for place in debug_lines.assembly(text)[2::2]] == [
        "a.c:2 < a.c:3 < a.c:8", "a.c:3 < a.c:8", "a.c:2 < a.c:3 < a.c:8", "a.c:3 < a.c:9", "a.c:2 < a.c:3 < a.c:9",
    ]  # fmt: skip


LINES = (Location("cell", 1), Location("cell", 2))


@pytest.mark.parametrize(("mark", "place"), [
    (None, None), (Location("lines", 1), LINES[0]), (Location("/x/lines", 2), LINES[1]), (Location("lines", 3), None),
    (Location("lines", 0), None), (Location("a.c", 1), None),
])  # fmt: skip
def test_numbers_of_lines_that_stand_for_places(mark: Location | None, place: Location | None) -> None:
    ours = llvm_state.DebugText("llvm", "", lines=LINES)
    assert llvm_state.places(ours, (mark,)) == (place,)
    assert llvm_state.places(tool.TextState("llvm", ""), (mark,)) == (None,)


def test_what_a_tool_makes_keeps_the_places() -> None:
    text = 'ret void, !dbg !1\n!1 = !DILocation(line: 2, scope: !2)\n!2 = !DIFile(filename: "lines", directory: "")\n'
    made = llvm_state.same_kind(llvm_state.DebugText("ptx", "", lines=LINES), "llvm", text)
    shown = made.render(elide=True)
    assert (shown.text, shown.changed, shown.locations) == ("ret void\n", True, (LINES[1],))
    assert llvm_state.same_kind(tool.TextState("ptx", ""), "llvm", text) == tool.TextState("llvm", text)


@pytest.mark.parametrize(("name", "arguments", "asked"), [
    ("opt", "", {}), ("opt", "-S -o - -", {}), ("opt", "-o=- -O1", {"level": 1}),
    ("llc", "-filetype=asm -O0", {"level": 0}),
    ("opt", "--O3 -mtriple=nvptx64 -mcpu sm_80 -mattr=+a,-b",
     {"level": 3, "triple": "nvptx64", "cpu": "sm_80", "features": "+a,-b"}),
    ("opt", "-mcpu", {}), ("opt", "-mtriple x86_64-linux-gnu", {"triple": "x86_64-unknown-linux-gnu"}),
    ("opt", "-vectorize-loops=false -vectorize-slp=0 -disable-loop-unrolling",
     {"vectorize_loops": False, "vectorize_slp": False, "unroll_loops": False}),
    ("opt", "-vectorize-loops -vectorize-slp=true", {}),
    ("llc", "-print-changed=quiet", {"print_changed": True}), ("opt", "-print-changed", {"print_changed": True}),
    ("llc", "-mtriple=nvptx64 -mcpu=sm_20", {"triple": "nvptx64", "cpu": "sm_20"}),
    ("llc", "-mtriple=amdgcn -mcpu=gfx9-generic", {"triple": "amdgcn", "cpu": "gfx9-generic"}),
])  # fmt: skip
def test_arguments_of_the_embedded_tools(name: str, arguments: str, asked: dict[str, object]) -> None:
    assert llvm.settings(name, arguments) == llvm.Settings(**asked)
    assert llvm_tools.embeds(name, arguments)


@pytest.mark.parametrize(("name", "arguments", "kind", "message"), [
    ("opt", "-O2 in.ll", llvm.NotEmbedded, "embedded opt has no argument 'in.ll'"),
    ("llc", "-vectorize-slp", llvm.NotEmbedded, "embedded llc has no option '-vectorize-slp'. "),
    ("llc", "-disable-loop-unrolling", llvm.NotEmbedded, "embedded llc has no option '-disable-loop-unrolling'. "),
    ("opt", "-vectorize-loops=maybe", llvm.NotEmbedded, "embedded opt has no option '-vectorize-loops=maybe'. "),
    ("opt", "-O4", llvm.NotEmbedded, "embedded opt has no option '-O4'. "),
    ("opt", "-print-changed=diff", llvm.NotEmbedded, "embedded opt has no option '-print-changed=diff'. "),
    ("opt", "-S=1", llvm.NotEmbedded, "embedded opt has no option '-S=1'. "),
    ("opt", "-O1 -o out.ll", llvm.NotEmbedded, "embedded opt has no option '-o'. "),
    ("llc", "-filetype=obj", llvm.NotEmbedded, "embedded llc has no option '-filetype=obj'. "),
    ("llc", "-mtriple=nvptx64 -mcpu=sm_81", llvm.BadArguments, "nvptx64 has no processor 'sm_81'. "),
    ("llc", "-mtriple=amdgcn -mcpu=sm_80", llvm.BadArguments, "amdgcn has no processor 'sm_80'. "),
])  # fmt: skip
def test_arguments_that_they_do_not_have(name: str, arguments: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(llvm.BadArguments) as caught:
        llvm.settings(name, arguments)
    assert (type(caught.value), str(caught.value)[: len(message)]) == (kind, message)
    assert not llvm_tools.embeds(name, arguments)
    with pytest.raises(tool.NeedsProgram if kind is llvm.NotEmbedded else tool.StepFailed):
        llvm_tools.settings(Step(name, arguments))


@pytest.mark.parametrize(
    ("name", "level", "called"),
    [("llc", 2, "codegen"), ("opt", None, "verify"), ("opt", 0, "default<O0>"), ("opt", 3, "default<O3>")],
)
def test_what_a_tool_is_called_as_a_pass(name: str, level: int | None, called: str) -> None:
    assert llvm.pass_name(name, llvm.Settings(level)) == called


@pytest.mark.parametrize(("triple", "language"), [
    ("nvptx64-nvidia-cuda", "ptx"), ("amdgcn-amd-amdhsa", "amdgcn"), ("spirv64", "spirv"), ("x86_64-linux", "x86asm"),
    ("i686", "x86asm"), ("aarch64", "text"),
])  # fmt: skip
def test_what_the_assembly_of_a_target_is_called(triple: str, language: str) -> None:
    assert llvm.language(triple) == language
    assert llvm.language("") == llvm.language(str(llvm._binding().get_process_triple()))


@pytest.mark.parametrize(("head", "with_processor"), [
    ("define void @f() {", 'define void @f() "target-cpu"="c" {'),
    ("define void @f() #0 !x !1 {", 'define void @f() #0 "target-cpu"="c" !x !1 {'),
    ('define void @"a {"() section "s" comdat gc "x" {',
     'define void @"a {"() "target-cpu"="c" section "s" comdat gc "x" {'),
    ("declare void @f(ptr) personality ptr @g", 'declare void @f(ptr) "target-cpu"="c" personality ptr @g'),
    ("declare void @f()", 'declare void @f() "target-cpu"="c"'),
    ("@x = global i32 1", "@x = global i32 1"),
])  # fmt: skip
def test_a_processor_is_written_behind_the_attributes(head: str, with_processor: str) -> None:
    assert llvm._with_processor(f"{head}\n", llvm.Settings(cpu="c")) == f"{with_processor}\n"
    assert llvm._with_processor(f"{head}\n", llvm.Settings()) == f"{head}\n"
    both = llvm._with_processor(f"{head}\n", llvm.Settings(cpu="c", features="+f"))
    assert both == with_processor.replace('="c"', '="c" "target-features"="+f"') + "\n"
    other = f'{head}\nattributes #0 = {{ "target-cpu"="b" }}\n'
    assert llvm._with_processor(other, llvm.Settings(cpu="c")) == other


def test_the_target_that_a_text_names() -> None:
    text = 'x\n  target triple = "nvptx64"\n'
    assert llvm._own_target(text, llvm.Settings(2)) == llvm.Settings(2, "nvptx64")
    assert llvm._own_target(text, llvm.Settings(triple="a")) == llvm.Settings(triple="a")
    assert llvm._own_target(f"; {text}".replace("\n ", " "), llvm.Settings()) == llvm.Settings()
    with pytest.raises(llvm.Rejected, match="nvptx64 has no processor 'x'") as caught:
        llvm._own_target(text, llvm.Settings(cpu="x"))
    assert caught.value.parsed


def test_what_llvm_refuses_has_its_place() -> None:
    with pytest.raises(llvm.Rejected) as caught:
        llvm.parse("define i32 @f() {\n  ret i32 %x\n}\n")
    assert (caught.value.diagnostic.location.line, caught.value.parsed) == (2, False)
    assert str(caught.value).startswith("the IR does not parse: ")
    assert caught.value.diagnostic.message == "use of undefined value '%x'"
    unplaced = llvm._rejected("", "broken module")
    assert (str(unplaced), unplaced.diagnostic.location) == ("broken module", None)
    with pytest.raises(llvm.BadArguments, match=r"^-mtriple=bla: "):
        llvm.machine(llvm.Settings(triple="bla"))
    assert llvm.machine(llvm.Settings()) is None


def test_only_the_functions_that_are_called_are_linked_and_stay_inside() -> None:
    library = "define i32 @used(i32 %x) {\n  %y = call i32 @inner(i32 %x)\n  ret i32 %y\n}\n"
    library += (
        "define i32 @inner(i32 %x) {\n  ret i32 %x\n}\ndefine void @unused() {\n  ret void\n}\n@g = global i32 1\n"
    )
    text = "declare i32 @used(i32)\ndeclare void @gone()\ndeclare void @kept()\n"
    text += "define i32 @f(i32 %x) {\n  %1 = call i32 @used(i32 %x)\n  call void @kept()\n  ret i32 %1\n}\n"
    made = llvm.link(text, llvm.parse(library).as_bitcode())
    heads = [line for line in made.splitlines() if line.startswith(("define", "declare", "@"))]
    assert heads == [
        "declare void @kept()", "define i32 @f(i32 %x) {",
        "define internal i32 @used(i32 %x) {", "define internal i32 @inner(i32 %x) {",
    ]  # fmt: skip
    assert "  %i = call i32 @used" in llvm.named(text)


def test_levels_are_those_that_are_asked_for() -> None:
    text = "define internal i32 @a(i32 %x) alwaysinline {\n  ret i32 %x\n}\n"
    text += "define i32 @f(i32 %x) {\n  %1 = call i32 @a(i32 %x)\n  %2 = add i32 %1, 0\n  ret i32 %2\n}\n"
    calls = [llvm.optimize(text, llvm.Settings(level)).count("call ") for level in (None, 0, 1)]
    assert calls == [1, 0, 0]
    none, least, usual = (llvm.emit(text, llvm.Settings(level, "x86_64-linux-gnu")) for level in (None, 0, 2))
    assert (none == usual, least == usual) == (True, False)


def after(what: str, text: str) -> str:
    return f"*** IR Dump After {what} ***\n{text}\n"


LOG = (
    "; *** IR Dump At Start ***\ndefine void @f() {\n}\n"
    + "".join(f"; *** IR Pass {name} invalidated ***\n" for name in ("A", "B<x>PassManager<y>"))
    + "; *** IR Deleted After Inline on (gone) ***\n"
    + "; " + after("B on f filtered out", "x")
    + after("C on (f) (invalidated)", "define void @f() {\n  %v = add i32 1, 2, !dbg !7\n  ret void, !dbg !8\n}")
    + after("C on f", "define void @f() {\n  %v = add i32 1, 2, !dbg !9\n  ret void, !dbg !8\n}")
    + after("D on [module]", "; ModuleID = 'm'\ndefine void @f() {\n  %v.1 = mul i32 1, 2\n}\n"
            "define void @g() {\n  %v = x\n}")
    + after("E on g", "; ModuleID = 'm'\ndefine void @g() {\n}")
    + "# *** IR Dump After Machine CSE (machine-cse) ***:\n# Machine code for function h: SSA\n"
    "  %0:gr = ADD debug-location !3; a.c:3:5\n"
)  # fmt: skip
NAMED = {("f", "%v"): Location("a.c", 1), ("g", "%v"): Location("a.c", 2)}


def test_a_log_is_taken_apart_and_led_to_its_lines() -> None:
    found = [(one.name, one.scope, one.language, beside(one.text, one.places)) for one in llvm_passes.split(LOG, NAMED)]
    f, g = ("define void @f() {", "define void @g() {")
    assert found == [
        ("A + Inline + C", Scope(function="f"), "llvm", [f, "  %v = add i32 1, 2 | a.c:1", "  ret void", "}", ""]),
        ("D", WHOLE, "llvm",
         ["; ModuleID = 'm'", f, "  %v.1 = mul i32 1, 2 | a.c:1", "}", g, "  %v = x | a.c:2", "}", ""]),
        ("E", Scope(anchor="g"), "llvm", ["; ModuleID = 'm'", g, "}", ""]),
        ("machine-cse", Scope(function="h"), "mir",
         ["# Machine code for function h: SSA", "  %0:gr = ADD | a.c:3:5", ""]),
    ]  # fmt: skip
    every = list(llvm_passes.split(LOG, every=True))
    assert [one.name for one in every] == ["A + Inline + C", "C", "D", "E", "machine-cse"]
    assert "!dbg !9" in every[1].text
    same = after("A on f", "x") + after("B on f", "x") + after("C on g", "x") + after("D on f", "y")
    assert [one.name for one in llvm_passes.split(same)] == ["A", "C", "D"]
    assert [one.name for one in llvm_passes.split(same, every=True)] == ["A", "B", "C", "D"]
    assert next(llvm_passes.split("*** IR Dump After A on f ***\nx")) == Changed(
        "A", Scope(function="f"), "llvm", "x\n"
    )


@pytest.mark.parametrize(("names", "shown"), [
    ("A", "A"), ("AAB", "A + B"), ("ABCD", "A + B + C + D"), ("ABCDE", "A + B + C + 1 more + E"),
])  # fmt: skip
def test_a_dump_of_several_passes_has_the_names_of_some(names: str, shown: str) -> None:
    assert llvm_passes.joined(names) == shown


@pytest.mark.parametrize(("unit", "scope"), [
    ("[module]", WHOLE), ("module", WHOLE), ("", WHOLE), ("f", Scope(function="f")), ("(f, g)", Scope(function="f, g")),
    ("loop %l in function f", Scope(function="f", loop="%l")), ("%l in function f", Scope(function="f", loop="%l")),
])  # fmt: skip
def test_what_a_pass_ran_on(unit: str, scope: Scope) -> None:
    assert llvm_passes.scope_of(unit) == scope


@pytest.mark.parametrize(("triple", "whole"), [
    ("", ""), ("x86_64", "x86_64"), ("arm-linux-gnueabihf", "arm-unknown-linux-gnueabihf"),
    ("a--linux", "a-unknown-linux"), ("a-b-cygwin", "a-b-windows-cygnus"),
    ("arm-none-eabi", "arm-unknown-none-eabi"), ("arm-none", "arm-none"), ("a-gnu", "a-unknown-unknown-gnu"),
    ("x86_64-apple-darwin", "x86_64-apple-darwin"), ("x86_64-pc-win32", "x86_64-pc-windows-msvc"),
    ("x86_64-pc-mingw32", "x86_64-pc-windows-gnu"), ("x86_64-windows", "x86_64-unknown-windows-msvc"),
    ("x86_64-pc-windows-gnu", "x86_64-pc-windows-gnu"), ("a-b-gnu", "a-b-unknown-gnu"),
])  # fmt: skip
def test_triples_in_order(triple: str, whole: str) -> None:
    assert normalised(triple) == whole


@pytest.mark.parametrize(("arguments", "shown"), [("-O2 -S -mcpu=a", "-mcpu=a"), ("-O3", ""), ("-Os -x", "-Os -x")])
def test_the_arguments_that_the_name_of_a_pass_leaves_to_say(arguments: str, shown: str) -> None:
    assert llvm_tools._shown(Step("opt", arguments)) == shown


def test_bfloat16_is_refused_for_spirv_alone() -> None:
    spirv, text = llvm.Settings(triple="spirv64"), "define bfloat @f()"
    with pytest.raises(tool.StepFailed) as caught:
        llvm_tools._refuse_bfloat(text, spirv)
    failed = caught.value.failure
    assert (failed.kind, failed.pass_name, failed.tool) == ("unsupported", "codegen", "llc")
    llvm_tools._refuse_bfloat(text, llvm.Settings(triple="nvptx64"))
    llvm_tools._refuse_bfloat("@bfloats", spirv)


@pytest.mark.parametrize(("data", "end", "cut"), [
    (b"define void @f() {\n}\n", 21, False), (b"define void @f() {\n", 19, True),
    (b"; x\ndefine void @f() {\n}\n\nsaid by the tool\n", 26, False),
    (b"declare void @f()\n", 18, False), (b"define void @f() {\n}\ndefine void @g() {\n", 40, True),
])  # fmt: skip
def test_where_a_text_of_llvm_ends(data: bytes, end: int, cut: bool) -> None:
    assert reader.end(data, machine=False) == (end, cut)
