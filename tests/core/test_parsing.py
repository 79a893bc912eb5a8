"""IR text that does not parse: where, which line, and what is left to look at."""

import pytest
from IPython.terminal.interactiveshell import TerminalInteractiveShell

import irwidget
from irwidget import views
from irwidget.toolchain import parsing
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Diagnostic, Location, Step

from .test_magic import run, shell  # noqa: F401

MLIR = "module {\n  func.func @f(%a: i32) -> i32 {\n    %0 = arith.addi %a, %b : i32\n    return %0 : i32\n  }\n}\n"
LLVM = "define i32 @f(i32 %a) {\n  ret i32 %x\n}\n"
TRITON = "module {\n  tt.func public @k(%a: !tt.ptr<f32>) {\n    tt.retrn\n  }\n}\n"
AT_B = (
    "the IR does not parse: use of undeclared SSA value name\n  at line 3, column 25:\n"
    "        %0 = arith.addi %a, %b : i32\n                            ^"
)
AT_X = "the IR does not parse: use of undefined value '%x'\n  at line 2, column 11:\n      ret i32 %x\n              ^"
AT_RETRN = "the IR does not parse: custom op 'tt.retrn' is unknown\n  at line 3, column 5:\n        tt.retrn\n        ^"
AT_MODUL = (
    "the IR does not parse: custom op 'modul' is unknown (tried 'builtin.modul' as well)\n"
    "  at line 1, column 1:\n    modul {\n    ^"
)


@pytest.mark.parametrize(
    ("text", "pipeline", "message"),
    [
        (MLIR, None, AT_B),
        (MLIR, "mlir-opt --cse | opt -O2", AT_B),
        (LLVM, None, AT_X),
        (LLVM, "opt -O2", AT_X),
        (LLVM, "llc", AT_X),
        (TRITON, None, AT_RETRN),
        (TRITON, "triton-opt --cse", AT_RETRN),
        ("modul {\n}\n", "mlir-opt --cse", AT_MODUL),
    ],
)
@pytest.mark.parametrize("isolate", [True, False])
def test_the_line_is_shown_and_the_text_kept(text, pipeline, message, isolate):
    with pytest.raises(irwidget.PassError) as caught:
        irwidget.lower(text, to="raw_ir", pipeline=pipeline, isolate=isolate)
    assert str(caught.value).startswith(message + "\n  What it started from is kept: error.lowering")
    low = caught.value.lowering
    assert [dump.name for dump in low.dumps] == ["input"]
    assert low.dumps[0].text == text
    assert (low.failure.pass_name, low.failure.message) == ("parse", message)
    assert message in irwidget.views.text([low.trace]), "lines as lines"
    assert low.failure.diagnostics[0].location.file == parsing.INPUT


def test_a_worker_that_dies_of_the_text_leaves_the_text():
    text = "func.func @f() {" + "scf.execute_region {" * 100_000
    with pytest.raises(irwidget.ToolError, match="crashed") as caught:
        irwidget.lower(text, to="raw_ir")
    assert caught.value.lowering.dumps[0].text == text


def test_what_a_tool_left_is_shown_too():
    with pytest.raises(irwidget.PassError) as caught:
        irwidget.lower("module {\n}\n", to="raw_ir", pipeline="user-tool sed s/module/modul/ | mlir-opt --cse")
    assert AT_MODUL in str(caught.value)
    assert [dump.text for dump in caught.value.lowering.dumps] == ["module {\n}\n", "modul {\n}\n"]


def test_a_cell_shows_the_text_with_the_error(run, shell):  # noqa: F811
    with pytest.raises(irwidget.PassError, match="line 3, column 25"):
        run(f"%%lower --to raw_ir --text\n{MLIR}")
    assert "%0 = arith.addi %a, %b : i32" in views.text([shell.user_ns["_lowering"].trace])


def test_the_widget_has_the_text_and_the_place(run, shell):  # noqa: F811
    assert isinstance(shell, TerminalInteractiveShell)
    with pytest.raises(irwidget.PassError):
        run(f"%%lower --to raw_ir\n{MLIR}")
    low = shell.user_ns["_lowering"]
    assert low.dumps[0].ready
    page = low.to_html()
    assert "at line 3, column 25" in page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module {\n \udc80\n}", "Line 2 of the IR has a character that is not Unicode"),
        ("  \n", "the text is empty"),
        ("define void @f() {\n  ret void\n}\n\0garbage", "Line 4 of the IR has a zero character"),
    ],
)
def test_what_is_no_text_is_refused(text, message):
    with pytest.raises(irwidget.UsageError, match=message):
        irwidget.lower(text, to="raw_ir")


def test_unknown_text_is_said_to_be_unchecked():
    low = irwidget.lower("modul {\n", to="raw_ir")
    assert "nothing has checked it" in low.diagnostics[0].message


@pytest.mark.parametrize(
    ("text", "line", "column", "shown"),
    [
        ("a\nbcd", 2, 3, "m\n  at line 2, column 3:\n    bcd\n      ^"),
        ("\tx\x1b[31my\n", 1, 4, "m\n  at line 1, column 4:\n     x\ufffd[31my\n       ^"),
        ("x" * 5000, 1, 2000, f"m\n  at line 1, column 2000:\n    {'x' * 100}\n    {' ' * 50}^"),
        ("a", 7, 1, "m"),
        ("", 1, 1, "m\n  at line 1, column 1:\n    \n    ^"),
    ],
)
def test_any_line_can_be_shown(text, line, column, shown):
    assert parsing.told(text, "m", line, column) == shown


def test_columns_are_of_characters_not_bytes():
    diagnostic = Diagnostic("error", "m", Location("-", 1, 6))
    assert parsing.placed("äöx", diagnostic, "-").location == Location(parsing.INPUT, 1, 4)


OF_MINE = 'module {\n  "my.op"() {a = 1 : i32} : () -> ()\n}\n'


@pytest.mark.parametrize(
    ("pipeline", "passes", "text"),
    [
        ("user-tool sed s/my.op/my.other/", ["input", "sed"], OF_MINE.replace("my.op", "my.other")),
        ("mlir-opt --allow-unregistered-dialect --cse", ["input", "cse"], OF_MINE),
        ("user-tool cat | mlir-opt --cse --allow-unregistered-dialect", ["input", "cat", "cse"], OF_MINE),
    ],
)
@pytest.mark.parametrize("isolate", [True, False])
def test_dialects_of_the_users_own_are_read_by_who_knows_them(pipeline, passes, text, isolate):
    low = irwidget.lower(OF_MINE, to="raw_ir", pipeline=pipeline, isolate=isolate)
    assert ([dump.name for dump in low.dumps], low.text) == (passes, text)
    with pytest.raises(irwidget.PassError, match="unregistered dialect"):
        irwidget.lower(OF_MINE, to="raw_ir", pipeline="mlir-opt --cse", isolate=isolate)


@pytest.mark.external
def test_a_real_program_reads_them_too():
    pipeline = "mlir-opt --allow-unregistered-dialect --cse"
    low = irwidget.lower(OF_MINE, to="raw_ir", pipeline=pipeline, external=True)
    assert [dump.text for dump in low.dumps] == [OF_MINE, OF_MINE]
    for text, said in (
        (OF_MINE.replace('"my.op"()', "my.op"), "for custom op 'my.op'"),
        (OF_MINE.replace("my.op", "arith.op"), "unregistered operation 'arith.op'"),
        ("module {\n  arith.op\n}\n", "custom op 'arith.op' is unknown"),
    ):
        with pytest.raises(irwidget.ToolError, match=f"mlir-opt exited with 1: <stdin>:2:3: error: .*{said}"):
            irwidget.lower(text, to="raw_ir", pipeline=pipeline, external=True)
    with pytest.raises(irwidget.ToolError, match="mlir-opt exited with 1: <stdin>:2:10: error: .*unregistered dialect"):
        irwidget.lower(OF_MINE, to="raw_ir", pipeline="mlir-opt --cse", external=True)
    with pytest.raises(irwidget.PassError, match="line 2, column 34"):
        irwidget.lower(OF_MINE.replace("-> ()", "->"), to="raw_ir", pipeline=pipeline, external=True)


RESOURCE = """\
module {
  func.func @f() -> tensor<1xf32> {
    %cst = arith.constant dense_resource<one> : tensor<1xf32>
    return %cst : tensor<1xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      one: "0x040000000000803F"
    }
  }
#-}
"""


def test_a_text_that_runs_again_is_parsed_as_the_first_time():
    """MLIR renames the resources of a second module of one context, and keeps what the first was allowed."""
    source, dialect = Source(RESOURCE, "mlir"), Source(OF_MINE, "mlir")
    for flags in ("--cse", "--symbol-dce"):
        assert source.run((Step("mlir-opt", flags),), Options()).dumps[-1].text == RESOURCE
    assert dialect.run((Step("mlir-opt", "--allow-unregistered-dialect --cse"),), Options()).failure is None
    assert "unregistered dialect" in dialect.run((Step("mlir-opt", "--cse"),), Options()).failure.message
