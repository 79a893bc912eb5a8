"""`irwidget.open`: what it recognises, what it says of logs that are not whole, what it reads and when."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
from pathlib import Path

import pytest

import irwidget
from irwidget import cli, display, opened, registry
from irwidget.readers.base import BannerReader
from irwidget.trace import predecessors
from irwidget.views import offline
from irwidget.views.packing import opening
from irwidget.views.widget import PassDiff

DATA = Path(__file__).parent / "data"
BANNER = "// -----// IR Dump After {} //----- //\n"


def module(*functions: str) -> str:
    return "module {\n" + "".join(f"  func.func @{one}() {{\n    return\n  }}\n" for one in functions) + "}\n\n"


def function(name: str, line: str = "return") -> str:
    return f"func.func @{name}() {{\n  {line}\n}}\n\n"


LOG = (
    BANNER.format("A (a)") + module("f", "g") + BANNER.format("CPass: c{max=3 top-down=true}") + function("g", "x.y")
    + "in.mlir:3:4: warning: odd\nsomething else\n" + BANNER.format("B (b)") + module("f").replace("f", "f", 1)
)  # fmt: skip


def test_both_spellings_options_scopes_and_what_is_between():
    (low,) = irwidget.open(LOG)
    assert [(dump.name, dump.options) for dump in low.dumps] == [("a", ""), ("c", "max=3 top-down=true"), ("b", "")]
    assert [str(dump.scope) for dump in low.dumps] == ["module", "func.func @g", "module"]
    assert low.dumps[1].text == module("f", "g").replace("@g() {\n    return", "@g() {\n    x.y").strip() + "\n"
    assert low.dumps[2].text == module("f").strip() + "\n"
    (said,) = low.diagnostics
    assert (said.severity, said.location.file, said.location.line, said.location.column) == ("warning", "in.mlir", 3, 4)
    assert said.message == "odd\nsomething else"
    assert str(said.notes[0]) == "note: printed after c, dump 1"


def test_a_module_without_a_common_symbol_is_another_lowering():
    lows = irwidget.open(BANNER.format("A (a)") + module("f") + BANNER.format("A (a)") + module("h"))
    assert [low.name for low in lows] == ["f", "h"]
    again = irwidget.open((BANNER.format("A (a)") + module("f") + BANNER.format("B (b)") + function("f", "x.y")) * 2)
    assert [len(low.dumps) for low in again] == [4]  # the state never went back in a module's own text
    twice = (BANNER.format("A (a)") + module("f") + BANNER.format("B (b)") + module("f", "g")) * 2
    assert [len(low.dumps) for low in irwidget.open(twice)] == [2, 2]


def test_modules_whose_dumps_come_in_turn_are_said_to_be_of_processes_that_print_at_once():
    one, other = ([BANNER.format(f"{p} ({p})") + module(f) for p in "abcd"] for f in "fg")
    mixed = irwidget.open("".join(f"{a}{b}" for a, b in zip(one, other, strict=True)))
    assert len(mixed) == 8
    assert all("come in turn, 6 times" in low.diagnostics[-1].message for low in mixed)
    apart = irwidget.open("".join((*one, *other, *one)))
    assert [len(low.dumps) for low in apart] == [4, 4, 4]
    assert not any(low.diagnostics for low in apart)


LLVM = "; *** IR Dump After {} on [module] ***\n; ModuleID = 'LLVMDialectModule'\n\n"
MACHINE = (
    "# *** IR Dump After I (i) ***:\n# Machine code for function f: x\nbb.0:\n# End machine code for function f.\n"
)


def kernel(name: str, line: str = "ret void") -> str:
    return f"declare void @assume()\n\ndefine void @{name}() {{\n  {line}\n}}\n"


def test_kernels_that_triton_compiles_one_after_the_other_are_lowerings():
    """Their modules have one name; what they declare says nothing, and many a kernel is compiled twice."""
    two = [LLVM.format("A") + kernel(name) + LLVM.format("B") + kernel(name, "unreachable") for name in ("f", "g")]
    assert [(low.name, len(low.dumps)) for low in irwidget.open("".join(two))] == [("f", 2), ("g", 2)]
    other = LLVM.format("A") + kernel("f", "ret") + LLVM.format("B") + kernel("f", "unreachable")
    again = irwidget.open(two[0] + MACHINE + other + MACHINE)
    assert [(low.name, [dump.name for dump in low.dumps]) for low in again] == [("f", ["A", "B", "i"])] * 2
    twice = irwidget.open((LLVM.format("A") + kernel("f") + MACHINE) * 2)  # of a module that is printed once
    assert [len(low.dumps) for low in twice] == [2, 2]
    (still,) = irwidget.open(two[0] + LLVM.format("A") + kernel("f", "ret") + MACHINE)
    assert [dump.name for dump in still.dumps] == ["A", "B", "A", "i"]  # a pass may run twice
    inlined = [BANNER.format("A (a)") + module(one, "help") + BANNER.format("B (b)") + module(one) for one in "fg"]
    assert [low.name for low in irwidget.open("".join(inlined))] == ["f", "g"]


def test_a_program_that_another_compiler_goes_on_with_in_a_higher_language_is_another_lowering():
    code = LLVM.format("A") + kernel("f") + MACHINE
    both = irwidget.open(code + "".join(BANNER.format(f"{one} ({one})") + module("g") for one in "ab"))
    assert [(low.name, len(low.dumps)) for low in both] == [("f", 2), ("g", 2)]
    host = [BANNER.format(f"{one} ({one})") + module(*symbols) for one, symbols in (("a", "fg"), ("b", "g"))]
    assert [len(low.dumps) for low in irwidget.open(host[0] + code + host[1])] == [4]  # code for a part of it


def test_what_nothing_is_known_of_is_not_compared():
    (low,) = irwidget.open(BANNER.format("A (a)") + function("f") + BANNER.format("A (a)") + function("g"))
    assert predecessors(low.dumps) == [-1, -1]
    (alone,) = irwidget.open(BANNER.format("A (a)") + function("f"))
    assert "0  a, not compared" in display.text([alone])


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_cut_log_opens_up_to_there_and_says_so(cut):
    (low,) = irwidget.open(LOG.rstrip()[:-cut])
    assert [dump.name for dump in low.dumps] == ["a", "c", "b (cut off)"]
    assert any("ends in the middle of the IR after b" in one.message for one in low.diagnostics)


@pytest.mark.parametrize("last", [module("f"), '"builtin.module"() ({\n^bb0:\n}) : () -> ()\n'])
@pytest.mark.parametrize("end", ["", "\n"])
def test_the_module_that_the_tool_leaves_is_a_dump_also_after_other_words(last, end):
    report = "===---===\n  ... Pass statistics report ...\n===---===\n\n"
    last = f"#map = affine_map<(d0) -> (d0)>\n{last.strip()}\n"
    (low,) = irwidget.open(LOG + report + last + end)
    assert [(dump.name, dump.text) for dump in low.dumps[3:]] == [("output", last)]
    assert [one.message for one in low.diagnostics][1:] == [report.rstrip()]
    (low,) = irwidget.open(f"{LOG}{report}{last}more\n")  # which it may have printed for another reason
    assert [dump.name for dump in low.dumps] == ["a", "c", "b"]


def test_a_crash_is_the_failure():
    tail = (
        'PLEASE submit a bug report to us\nStack dump:\n0.\tArguments: opt\n1.\tRunning pass "licm" on function "f"\n'
    )
    (low,) = irwidget.open(LOG + tail)
    assert (low.failure.kind, low.failure.pass_name) == ("tool", "licm")
    assert low.failure.message == "PLEASE submit a bug report to us; the last dump is 2, b"
    assert len(low.dumps) == 3


def test_ways_to_give_it(tmp_path, monkeypatch):
    path = tmp_path / "x.log"
    path.write_text(LOG)
    packed = tmp_path / "x.log.gz"
    packed.write_bytes(gzip.compress(LOG.encode()))
    monkeypatch.setattr(sys, "stdin", io.StringIO(LOG))
    ways = [path, str(path), LOG, LOG.encode(), io.BytesIO(LOG.encode()), io.StringIO(LOG), packed, "-"]
    found = [irwidget.open(way) for way in ways]
    assert {tuple(dump.text for dump in one[0].dumps) for one in found} == {tuple(d.text for d in found[0][0].dumps)}
    assert {one.format for one in found} == {"passes"}
    kept = found[0].save(tmp_path / "x.irtrace")
    again = irwidget.open(kept)
    assert again.format == "irtrace"
    assert [dump.text for dump in again[0].dumps] == [dump.text for dump in found[0][0].dumps]


def test_texts_are_read_when_they_are_looked_at(tmp_path):
    path = tmp_path / "x.log"
    path.write_text(LOG)
    (low,) = irwidget.open(path)
    os.truncate(path, 100)
    assert len(low.dumps) == 3
    with pytest.raises(irwidget.ToolError, match="has become shorter since it was opened: open it again"):
        _ = low.text


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("/no/such.log", "There is no file or folder /no/such.log"),
        (b"", "is empty"),
        ("", "nothing to open: an empty text, and no path"),
        (b"hello\nworld\n", "no dump that a reader knows"),
        (b"\0\1\2\n", "no dump that a reader knows"),
        ("a\0b", "There is no file or folder"),
        (3, "takes a path, text, bytes or a stream, not a int"),
    ],
)
def test_what_is_no_dump_is_refused(what, message):
    with pytest.raises(irwidget.UsageError, match=re.escape(message)):
        irwidget.open(what)


def test_formats_by_name():
    with pytest.raises(irwidget.UsageError, match=r"Unknown format 'pases'. Did you mean passes"):
        irwidget.open(LOG, format="pases")
    with pytest.raises(irwidget.UsageError, match="has no dump that the reader 'xla' finds"):
        irwidget.open(LOG, format="xla")
    assert set(opened.formats()) >= {"passes", "irtrace", "xla", "gcc", "mlir-tree", "tritonparse", "torch-trace", "ir"}


class Mine(BannerReader):
    """A company's own format."""

    name = "mine"
    summary = "what mine-cc prints"
    language = "llvm"
    banner = re.compile(rb"^==> (?P<name>[\w-]+)(?: in (?P<function>\w+))?(?: took (?P<seconds>[\d.]+) s)?$")


def test_readers_of_others_are_asked_first():
    text = "==> fold\n@x = global i32 1\n==> strip\n@x = global i32 2\n"
    assert irwidget.open(text).format == "ir"
    with registry.readers.trying(Mine()):
        assert irwidget.open(text).format == "mine"


def test_a_reader_of_ones_own():
    text = "start\n==> fold took 0.5 s\na\n==> split in f\nb\nc\n"
    with pytest.raises(irwidget.UsageError, match="no dump that a reader knows"):
        irwidget.open(text)
    with registry.readers.trying(Mine()):
        (low,) = irwidget.open(text)
    shown = [(dump.name, dump.seconds, str(dump.scope), dump.language, dump.text) for dump in low.dumps]
    assert shown == [("fold", 0.5, "module", "llvm", "a\n"), ("split", 0.0, "f", "llvm", "b\nc\n")]
    assert [one.message for one in low.diagnostics] == ["start"]


class Broken(Mine):
    """One that fails."""

    name = "broken"

    def scan(self, log, start=0):
        raise KeyError("oops")


def test_a_reader_that_fails_is_an_error_of_ours():
    with registry.readers.trying(Broken()), pytest.raises(irwidget.UsageError, match="'broken' cannot read"):
        irwidget.open("==> fold\na\n", format="broken")


def test_command_line(tmp_path, capsys):
    path = tmp_path / "x.log"
    path.write_text(LOG)
    assert cli.main(["open", str(path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("x.log -> mlir: 3 passes\n")
    assert cli.main(["open", str(path), "--html", str(tmp_path / "x.html")]) == 0
    assert "irw-view" in (tmp_path / "x.html").read_text()
    assert cli.main(["open", str(tmp_path / "y.log")]) == 2
    assert "There is no file or folder" in capsys.readouterr().err


def test_magic(tmp_path, capsys, shell):
    path = tmp_path / "x.log"
    path.write_text(LOG)
    shell.run_line_magic("lower", f"--open {path} --text")
    assert "x.log -> mlir: 3 passes" in capsys.readouterr().out
    assert shell.user_ns["_lowering"].dumps[1].name == "c"


def test_a_pipeline_goes_on_from_a_dump():
    pytest.importorskip("torch_mlir")
    (low,) = irwidget.open(BANNER.format("A (a)") + module("f"))
    made = irwidget.lower(low.dumps[0], to="raw_ir", pipeline="mlir-opt --symbol-privatize --symbol-dce", isolate=False)
    assert made.text.split() == ["module", "{", "}"]


def test_modules_inside_of_one_are_not_compilations_of_their_own():
    """As IREE lowers them: each to a module in a module, one after the other."""
    inside = "  x.executable {\n    builtin.module {\n      func.func @%s() {\n        return\n      }\n    }\n  }\n"
    whole = f"module {{\n  util.func @main() {{\n    return\n  }}\n{inside % 'd0'}{inside % 'd1'}}}\n\n"
    log = f"{BANNER.format('A (a)')}{whole}"
    for name in ("d0", "d1"):
        deeper = f"module {{\n  vm.module @m {{\n    vm.func @{name}() {{\n      return\n    }}\n  }}\n}}\n\n"
        log += f"{BANNER.format('B (b)')}{module(name)}{BANNER.format('C (c)')}{deeper}"
    (low,) = irwidget.open(f"{log}{BANNER.format('A (a)')}{whole}")
    assert [dump.name for dump in low.dumps] == ["a", "b", "c", "b", "c", "a"]
    lowered = "module {\n  vm.module @m {\n    vm.func @main() {\n    }\n    vm.func @d0() {\n    }\n  }\n}\n"
    (low,) = irwidget.open(f"{log}{BANNER.format('D (d)')}{lowered}\n")
    assert low.text == lowered  # the program itself, though all of it is deeper inside now
    assert len(irwidget.open(f"{log}{BANNER.format('A (a)')}{module('main', 'other')}")) == 1
    assert len(irwidget.open(f"{log}{BANNER.format('A (a)')}{module('other')}")) == 2


def test_what_is_no_dump_is_refused_with_what_it_says():
    said = "mlir-opt: Unknown command line argument '--canon'.\n"
    with pytest.raises(irwidget.UsageError, match=r"It begins with \"mlir-opt: Unknown .* '--canon'.\"\. Formats: "):
        irwidget.open("\n" + said + said)


SMALL = "// -----// IR Dump After {} //----- //\nmodule {{\n  func.func @{}() {{\n    return\n  }}\n}}\n"


@pytest.mark.parametrize("failed", [False, True])
def test_a_view_of_several_lowerings_opens_with_the_one_that_failed_or_has_most_passes(failed):
    log = (
        SMALL.format("A (a)", "f")
        + SMALL.format("A (a)", "g")
        + SMALL.format("B (b)", "g")
        + SMALL.format("A (a)", "h")
    )
    if failed:
        log += SMALL.format("B Failed (b)", "h")
        log += SMALL.format("A (a)", "i") + SMALL.format("B (b)", "i") + SMALL.format("C (c)", "i")
    found = irwidget.open(log)
    at = 2 if failed else 1
    view = PassDiff([low.trace for low in found])
    assert (view.trace, view.left, view.right) == (at, *opening(found[at].trace))
    state = offline.state_of([low.trace for low in found])
    assert (state["trace"], state["left"], state["right"]) == (at, *opening(found[at].trace))
    assert PassDiff([found[0].trace, found[0].trace]).trace == 0  # one name: to be compared
