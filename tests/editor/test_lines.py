"""What a pipeline under edit says without running: the lines that reproduce it, what may be picked, what a run left."""

import pytest

from irwidget.editor import catalogue, reproduce
from irwidget.editor.catalogue import CataloguedOption, CataloguedPass
from irwidget.editor.chain import PassInvocation
from irwidget.editor.outcome import with_outcome
from irwidget.errors import UsageError
from irwidget.trace import Failure, Step, Trace, dump


def test_the_lines_that_reproduce_it_say_all_that_was_said():
    options = {"kernels": False, "llvm_passes": True, "arch": "sm_80", "of_theirs": 3}
    names = reproduce.Names("module {}", ("x", "y"), {"a": 1}, None, options, True, None)
    said = "%%lower --to nvptx --llvm-passes --arch sm_80 --of-theirs 3"
    assert reproduce.magic_line(names, "nvptx", "") == said
    assert reproduce.magic_line(names, "nvptx", "opt -O1") == f"{said} --pipeline 'opt -O1' --external"
    said = "irwidget.lower(text, x, x1, to='nvptx', kwargs=kwargs, kernels=False, llvm_passes=True, arch='sm_80', "
    said += "of_theirs=3"
    assert reproduce.call(names, "nvptx", "") == f"{said})"
    assert reproduce.call(names, "nvptx", "opt -O1") == f"{said}, pipeline='opt -O1', external=True)"
    named = reproduce.Names(object(), (1,), None, None, {}, False, ("net", "b"))
    assert reproduce.magic_line(named, "llvm_ir", "opt") == "%%lower --to llvm_ir --model net --inputs b --pipeline opt"
    assert reproduce.call(named, "llvm_ir", "opt") == "irwidget.lower(net, b, to='llvm_ir', pipeline='opt')"


def test_the_table_of_steps_says_what_is_disabled():
    steps = (
        PassInvocation("mlir-opt", "cse", state="done"),
        PassInvocation("mlir-opt", "canonicalize", (("max-iterations", "1"),), enabled=False, state="done"),
    )
    summary = reproduce.Summary("net", "llvm_ir", "failed", steps, "it broke", "%%lower", "irwidget.lower()")
    assert summary.text.split("\n") == [
        "Pipeline of net from llvm_ir: failed",
        "  1  mlir-opt        cse  (done)",
        "  2  mlir-opt        canonicalize max-iterations=1  (disabled)",
        "it broke", "%%lower", "irwidget.lower()", "",
    ]  # fmt: skip
    assert "<td>disabled</td>" in summary.html


HELP = """\
  Compiler passes to run
    Passes:
      --first                 -   The first
        --count=<uint>        - How many
        --mode=<value>        - In which way
          =a                  -   one
          =b                  -   another
      --second                -   The second
        --fast                - Quickly
        --output=<filename>   - Where to
  --unrelated                 - Of the program
      --never                 - seen
"""


def test_what_a_program_says_of_its_passes_is_read():
    first, second = catalogue._mlir_help(HELP)
    assert (first.name, first.help) == ("first", "The first")
    assert first.options == (
        CataloguedOption("count", "integer", help="How many"),
        CataloguedOption("mode", "choice", "", ("a", "b"), "In which way"),
    )
    read = catalogue._with_defaults(second, "any(second{depth=3 fast=false output= plugin-path=a})")
    assert [(one.name, one.kind, one.default) for one in read.options] == [
        ("depth", "integer", "3"), ("fast", "flag", "false"),
    ]  # fmt: skip
    first.check({"count": "2", "mode": "b"})
    for wrong, said in (({"mode": "c"}, "mode is one of a, b, not 'c'"), ({"mod": "a"}, "Did you mean mode"),
                        ({"count": "x"}, "count wants")):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            first.check(wrong)
    with pytest.raises(UsageError, match="It has none"):
        CataloguedPass("plain").check({"a": "1"})


def test_a_program_of_the_users_is_allowed_as_a_whole_command():
    known = catalogue.offered_tools()
    assert catalogue.check_allowed(["user-tool ./mine -x", known[0], known[0]]) == ("user-tool ./mine -x", known[0])
    for wrong in ("user-tool", "user-tool ", "user-toolbox", "user-tools x"):
        with pytest.raises(UsageError, match="allow_tools has"):
            catalogue.check_allowed([wrong])
    everything = {"mlir-opt": {"cse": CataloguedPass("cse")}, "opt": {}}
    assert catalogue.allowed(everything, ["mlir-opt", "user-tool ./mine -x"]) == {
        "mlir-opt": everything["mlir-opt"], "user-tool": {"./mine -x": CataloguedPass("./mine -x")},
    }  # fmt: skip
    assert "user-tool" not in catalogue.allowed(everything, ["opt"])


def test_each_step_has_what_a_run_left_of_it():
    route = (PassInvocation("torch.export", "torch.export"), PassInvocation("torch-mlir-opt", "to linalg"))
    own = tuple(PassInvocation("mlir-opt", name, enabled=name != "off") for name in ("cse", "off", "sccp"))
    steps = (Step("torch-mlir-opt", "", "to linalg"), Step("mlir-opt", "--cse"), Step("mlir-opt", "--sccp"))
    dumps = tuple(dump(f"d{i}", "x", step=i - 1, seconds=1.0) for i in range(4))

    def left(trace, status):
        links = [one for part in with_outcome(route, own, trace, status) for one in part]
        return [(one.state, one.stage) for one in links]

    done = Trace("linalg", (*dumps, dump("d4", "x", step=2, seconds=2.0)), steps)
    assert with_outcome(route, own, done, "done")[1][2].seconds == 3.0
    assert left(done, "done") == [("done", 0), ("done", 1), ("done", 2), ("", -1), ("done", 4)]
    failed = Trace("linalg", dumps[:3], steps, failure=Failure(2, "sccp", "no"))
    assert left(failed, "failed") == [("done", 0), ("done", 1), ("done", 2), ("", -1), ("failed", -1)]
    assert left(Trace("linalg", dumps[:2], steps), "stopped")[:2] == [("done", 0), ("stopped", 1)]
    assert left(None, "failed")[0] == ("failed", -1)
