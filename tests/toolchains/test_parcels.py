"""What goes to the process of a toolchain, and what comes back: as data, without such a process."""

from __future__ import annotations

import dataclasses
import linecache
import os
import pickle
import sys
import threading

import pytest
import torch

import irwidget
from irwidget import hosted
from irwidget.errors import IRWidgetError, LoweringInterrupted, ToolError, UnsupportedError, UsageError
from irwidget.frontends.base import Given
from irwidget.options import LowerOptions
from irwidget.result import Origin
from irwidget.toolchain import budget, forked
from irwidget.toolchain.run import Options
from irwidget.toolchains import carry, process, remote
from irwidget.toolchains.environments import Environment
from irwidget.toolchains.inside import Inside
from irwidget.toolchains.work import Answer, Questions, Ready, Work
from irwidget.trace import Step, Trace, dump, file

CELL = "def doubled(x):\n    return x * by\n"


def test_a_parcel_has_what_its_objects_need(tmp_path, monkeypatch):
    space = {"by": 2}
    exec(compile(CELL, "<a cell>", "exec"), space)
    linecache.cache["<a cell>"] = (len(CELL), None, CELL.splitlines(keepends=True), "<a cell>")
    monkeypatch.setenv("OF_THE_KERNEL", "yes")
    monkeypatch.setenv("OF_ITS_OWN", "no")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, "", "/no/such/folder"])
    torch.set_default_dtype(torch.float64)
    try:
        parcel = carry.packed((space["doubled"], 3))
    finally:
        torch.set_default_dtype(torch.float32)
    assert parcel.files == {"<a cell>": CELL}
    assert (parcel.directory, parcel.default_dtype) == (str(tmp_path), "float64")
    assert parcel.path == (*sys.path[:-2], str(tmp_path), "/no/such/folder")
    assert parcel.environment == dict(os.environ)
    monkeypatch.setenv("OF_THE_KERNEL", "no")
    monkeypatch.setenv("SINCE_THEN", "no")
    monkeypatch.chdir("/")
    monkeypatch.setattr(sys, "path", ["/first", *sys.path[:-2]])
    before = list(sys.path)

    def opened():
        linecache.clearcache()
        function, number = parcel.opened({"OF_ITS_OWN": "yes"})
        return (
            function(number), os.getcwd(), os.environ["OF_THE_KERNEL"], os.environ["OF_ITS_OWN"],
            "SINCE_THEN" in os.environ,
            linecache.getline("<a cell>", 2), str(torch.get_default_dtype()), sys.path,
        )  # fmt: skip

    assert forked.call(opened) == (
        6, str(tmp_path), "yes", "yes", False, "    return x * by\n", "torch.float64",
        [*before, str(tmp_path), "/no/such/folder"],
    )  # fmt: skip


class Refusing:
    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        raise self.error


def test_what_cannot_be_packed(monkeypatch):
    with pytest.raises(
        UsageError, match=r"cannot be sent to the process of the toolchain: TypeError: .*lock.* Put it in"
    ):
        carry.packed(threading.Lock())
    with pytest.raises(UnsupportedError, match="^of ours$"):
        carry.packed(Refusing(UnsupportedError("of ours")))
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(ToolError, match=r"pip install 'irwidget\[toolchains\]'"):
        carry.packed(1)


TEXT = "define i32 @f(i32 %x) {\n  %a = add i32 %x, 0\n  %b = mul i32 %a, 3\n  ret i32 %b\n}\n"


@pytest.fixture(scope="module")
def low():
    return irwidget.lower(TEXT, to="raw_ir", pipeline="opt -O1 -mtriple=x86_64 | llc -O1 -mtriple=x86_64")


def test_the_passes_inside_of_a_dump_whose_text_alone_is_here(low):
    inside = Inside(low.trace, Options())
    assert [inside.has(one) for one in low.dumps] == [False, True, True]
    for index in (1, 2):
        found, real = inside.open(low.dumps[index]), low.expand(index)
        assert [(one.name, one.text, one.step) for one in found] == [(one.name, one.text, index - 1) for one in real]
        assert found[-1].text == low.dumps[index].text
        assert len(found) > 1
    with pytest.raises(UsageError, match="There are no passes to be shown inside input"):
        inside.open(low.dumps[0])
    other = dump("other", "", step=0)
    assert not inside.has(other)
    with pytest.raises(UsageError, match="There are no passes to be shown inside other"):
        inside.open(other)


def test_a_step_that_runs_on_text_without_values_is_not_opened():
    left_out = "x = dense_resource<__elided__>"
    dumps = (dump("input", "", step=-1), dump("a", left_out, step=0), dump("b", "", step=1), dump("c", "", step=1))
    trace = Trace("llvm_ir", dumps, (Step("mlir-opt", ""), Step("opt", "-O1")))
    inside = Inside(trace, Options())
    assert [inside.has(one) for one in dumps] == [False, False, True, True]
    for one in dumps[2:]:
        with pytest.raises(
            UsageError, match=rf"^The text before {one.name} leaves out the values of .*, with which it runs"
        ):
            inside.open(one)


TRACES = tuple(Trace(name, (dump("input", name, step=-1),), name="model") for name in ("tosa_mlir", "llvm_ir"))
THERE = Environment("/envs/triton-3.6/", ("/no/such",))


def lowered(monkeypatch, answer, to, **options):
    """What a lowering in a process gives that answers so, and what it was asked."""
    asked, onward = [], []

    def run(environment, work, progress=None):
        asked.append((environment, work, progress))
        return answer

    def origin(name, run_options):
        onward.append((name, run_options))
        return Origin(run_options)

    monkeypatch.setattr(process, "run", run)
    given = Given(1, (2,), {"three": 3}, name="called", options={"arch": "sm_90"})
    try:
        return remote.lower(THERE, given, to, LowerOptions(**options), origin), asked, onward
    except (IRWidgetError, KeyboardInterrupt) as error:
        return error, asked, onward


def test_what_is_asked_of_a_process_and_made_of_its_answer(monkeypatch):
    answer = Answer(file.packed(list(TRACES)), ("tosa_mlir", "llvm_ir"))
    heard = []
    made, asked, onward = lowered(
        monkeypatch, answer, ["tosa_mlir", "llvm_ir"], progress=heard.append, timeout=9, dumps=False
    )
    ((environment, work, progress),) = asked
    assert (environment, progress, work.to) == (THERE, heard.append, ["tosa_mlir", "llvm_ir"])
    assert (work.toolchain, work.folders, work.packages, work.timeout) == (THERE.name, THERE.folders, (), None)
    obj, inputs, options = pickle.loads(work.parcel.data)
    assert (obj, inputs, options["kwargs"], options["name"], options["arch"], options["dumps"]) == (
        1, (2,), {"three": 3}, "called", "sm_90", False,
    )  # fmt: skip
    assert not {"toolchain", "progress", "timeout"} & set(options)
    assert list(made) == ["tosa_mlir", "llvm_ir"]
    assert [one.trace.name for one in made.values()] == ["model, triton-3.6"] * 2
    assert [one.toolchain for one in made.values()] == [THERE.name] * 2
    assert [name for name, _ in onward] == ["tosa_mlir", "llvm_ir"]
    run = onward[0][1]
    assert (run.isolate, run.progress, run.folders, run.dumps, run.target) == (
        True, None, THERE.folders, False, (("arch", "sm_90"),),
    )  # fmt: skip
    assert made["llvm_ir"].trace.inside == Inside(dataclasses.replace(made["llvm_ir"].trace, inside=None), run)
    assert made["llvm_ir"].origin.ask([]) == []
    assert len(asked) == 1, "nobody is asked nothing"
    with budget.of(budget.Budget(100)):
        made, ((_, work, _),), ((_, run), _) = lowered(monkeypatch, answer, "llvm_ir", isolate=False)
    assert (made.target, work.to, 90 < work.timeout <= 100, run.isolate) == ("llvm_ir", "llvm_ir", True, True)
    assert lowered(monkeypatch, Answer(answer.file, ("tosa_mlir", "other")), "llvm_ir")[0].target == "tosa_mlir"


def test_what_went_wrong_in_a_process_has_what_was_made(monkeypatch):
    whole = file.packed([TRACES[0]])
    answer = Answer(whole, ("tosa_mlir",), pickle.dumps(UsageError("no")), "tosa_mlir")
    error, _, _ = lowered(monkeypatch, answer, ["tosa_mlir", "llvm_ir"])
    assert (type(error), str(error), error.__notes__) == (UsageError, "no", [f"The toolchain is {THERE.name}"])
    assert (error.lowering.target, list(error.lowerings)) == ("tosa_mlir", ["tosa_mlir"])
    error, _, _ = lowered(monkeypatch, answer, "tosa_mlir")
    assert (error.lowering.target, error.lowerings) == ("tosa_mlir", {})
    error, _, _ = lowered(monkeypatch, Answer(b"", error=pickle.dumps(ToolError("x", tool="t"))), "tosa_mlir")
    assert (error.lowering, error.lowerings, error.tool) == (None, {}, "t")
    stop, _, _ = lowered(monkeypatch, dataclasses.replace(answer, error=b"", interrupted="in cse"), "tosa_mlir")
    assert (type(stop), str(stop), stop.lowering.target, list(stop.lowerings)) == (
        LoweringInterrupted, "in cse", "tosa_mlir", ["tosa_mlir"],
    )  # fmt: skip


def test_questions_about_layouts_go_to_the_process(monkeypatch):
    asked = []
    answers = [
        Answer(b"", layouts=("one",)),
        Answer(b"", error=pickle.dumps(UsageError("no"))),
        Answer(b"", interrupted="x"),
    ]
    monkeypatch.setattr(process, "run", lambda environment, work: asked.append((environment, work)) or answers.pop(0))
    assert remote._layouts(THERE, ["question"]) == ["one"]
    with pytest.raises(UsageError, match="no"):
        remote.require(THERE)
    with pytest.raises(KeyboardInterrupt):
        remote.require(THERE)
    assert asked == [(THERE, Questions(asked, THERE.name, ())) for asked in (("question",), (), ())]


def test_what_a_process_answers():
    lows = {one.target: irwidget.Lowering(one) for one in TRACES}
    plain = hosted._answer(lows, None)
    assert plain == Answer(file.packed(list(TRACES)), ("tosa_mlir", "llvm_ir"))
    error = UsageError("no")
    error.lowering, error.lowerings = lows["llvm_ir"], lows
    said = hosted._answer(lows, error)
    assert (said.file, said.names, said.failed, said.interrupted) == (plain.file, plain.names, "llvm_ir", "")
    sent = pickle.loads(said.error)
    assert (type(sent), str(sent), sent.lowering, sent.lowerings) == (UsageError, "no", None, {})
    stop = LoweringInterrupted("in cse")
    stop.lowering = lows["tosa_mlir"]
    assert hosted._answer(lows, stop) == Answer(plain.file, plain.names, failed="tosa_mlir", interrupted="in cse")
    assert hosted._answer({}, KeyboardInterrupt()) == Answer(b"", interrupted="interrupted")


def test_a_process_says_when_it_begins_and_answers_whatever_happens(monkeypatch):
    monkeypatch.setattr(hosted.imports, "wait", lambda _: None)  # of all that any lowering needs

    def answered(lower, work=None):
        told = []
        monkeypatch.setattr(hosted, "lower", lower)
        parcel = carry.packed((1, (2,), {"dumps": False}))
        work = work or Work(dataclasses.replace(parcel, path=()), "tosa_mlir", "t", (), (), 7.0)
        return forked.call(lambda: (hosted._interruptible(work, told.append), told))

    def made(obj, *inputs, to, progress, timeout, dumps):
        assert (obj, inputs, to, timeout, dumps) == (1, (2,), "tosa_mlir", 7.0, False)
        return irwidget.Lowering(TRACES[0])

    answer, told = answered(made)
    assert (answer, told) == (Answer(file.packed([TRACES[0]]), ("tosa_mlir",)), [Ready()])

    def fails(*_, **__):
        raise ValueError("of the user's")

    assert str(pickle.loads(answered(fails)[0].error)) == "ValueError: of the user's"

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    assert answered(interrupted)[0].interrupted == "interrupted"
    assert answered(fails, Questions((), "t", ())) == (Answer(b""), [Ready()])
    monkeypatch.setattr(hosted.triton_layouts, "ask", tuple)
    assert answered(fails, Questions(("one", "two"), "t", ()))[0] == Answer(b"", layouts=("one", "two"))
