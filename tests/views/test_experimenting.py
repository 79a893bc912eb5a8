"""What a page may do with the dumps of a view: experiments, run in the background."""

from __future__ import annotations

import contextlib
import io
import json
import time
import zipfile

import pytest
import torch

import irwidget
from irwidget import UsageError
from irwidget.toolchain import client
from irwidget.views.widget import PassDiff

TEXT = """\
func.func @f(%a: i32, %b: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %x = arith.addi %a, %zero : i32
  %y = arith.muli %x, %b : i32
  %z = arith.muli %x, %b : i32
  %s = arith.addi %y, %z : i32
  return %s : i32
}
"""
PIPELINE = "mlir-opt --canonicalize --cse --convert-arith-to-llvm"


@pytest.fixture(scope="module")
def low():
    return irwidget.lower(TEXT, to="raw_ir", name="f", pipeline=PIPELINE)


@pytest.fixture
def view(low):
    made = PassDiff([low.trace], lowerings=[low])
    yield made
    made.close()


def ask(view, do, **request):
    answer = view._experimenting.answer({"id": 1, "kind": "experiments", "do": do, **request})
    return json.loads(answer) if answer and do in ("plan", "problems") else answer


def ended(view, *, outcome=True):
    """The experiments, when none runs any more and what came of them is there."""
    until = time.monotonic() + 90
    while any(e["state"] == "running" or (outcome and e["trace"] > 0 and not e["outcome"]) for e in view.experiments):
        assert time.monotonic() < until, view.experiments
        time.sleep(0.02)
    return view.experiments


def test_the_page_learns_what_runs_after_a_dump_and_what_the_parser_says(view, low):
    plan = ask(view, "plan", trace=0, stage=0)
    assert [(one["name"], one["stage"]) for one in plan["passes"]] == [
        ("canonicalize", 1), ("cse", 2), ("convert-arith-to-llvm", 3)
    ]  # fmt: skip
    assert plan["parser"]
    assert plan["passes"][0]["options"]["max-iterations"] == "10"
    assert plan["passes"][1]["options"] == {}
    assert ask(view, "problems", trace=0, stage=2, text=low.dumps[2].text) == []
    wrong = low.dumps[2].text.replace("arith.muli %arg0", "arith.muli %argO")
    (said,) = ask(view, "problems", trace=0, stage=2, text=wrong)
    assert said["line"] == 3
    assert said["message"] == "use of undeclared SSA value name. Did you mean %arg1 or %arg0?"
    (said,) = ask(view, "problems", trace=0, stage=2, text=low.dumps[2].text.replace("arith.addi", "arith.adi"))
    assert (said["line"], said["column"]) == (4, 10)
    assert said["message"].startswith("custom op 'arith.adi' is unknown. Did you mean arith.")
    assert "arith.addi" in said["message"]
    (said,) = ask(view, "problems", trace=0, stage=2, text="modul {}")
    assert said["line"] == 1, "a typo at the start is one, too"


def test_an_edited_dump_goes_on_beside_the_original(view, low):
    before = low.text
    text = low.dumps[2].text.replace("arith.muli", "arith.subi")
    ask(view, "go", trace=0, stage=2, text=text, name="a difference")
    (one,) = ended(view)
    assert (one["name"], one["state"], one["trace"], one["message"]) == ("a difference", "done", 1, one["message"])
    assert one["edit"]["lines"] == ["    %0 = arith.subi %arg0, %arg1 : i32"]
    assert (one["edit"]["first"], one["edit"]["gone"]) == (2, 1)
    assert "llvm.sub" in view.traces[1].dumps[-1].text
    assert (view.trace, view.against, view.left, view.right) == (1, 0, 3, 1)
    assert one["outcome"]["passes"] == [
        {"name": "cse", "left": 2, "right": 0, "state": "differs"},
        {"name": "convert-arith-to-llvm", "left": 3, "right": 1, "state": "differs"},
    ]
    assert one["outcome"]["facts"][0] == ("check", "not computed", "not computed")
    assert low.text == before
    # From the experiment's own dump, a child of it.
    ask(view, "go", trace=1, stage=0, text=text.replace("arith.subi", "arith.divsi"))
    child = ended(view)[1]
    assert (child["parent"], child["lowering"], child["name"]) == (1, 0, "dump 0 edited")
    assert (view.trace, view.against) == (2, 1)


def test_passes_are_left_out_arranged_and_given_options(view):
    ask(view, "without", trace=0, stage=2)
    passes = [{"place": 1, "options": {}}, {"place": 0, "options": {"max-iterations": "1", "top-down": "false"}}]
    ask(view, "go", trace=0, stage=0, text=None, passes=passes)
    without, arranged = ended(view)
    assert (without["name"], without["stage"]) == ("without cse", 1)
    assert [dump.name for dump in view.traces[1].dumps] == ["canonicalize", "convert-arith-to-llvm"]
    assert arranged["name"] == "without convert-arith-to-llvm; canonicalize with max-iterations=1 top-down=false"
    assert [dump.name for dump in view.traces[2].dumps[1:]] == ["cse", "canonicalize"]
    assert "max-iterations=1 " in view.traces[2].dumps[2].options


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"do": "exec"}, "not understood"),
        ({"do": "go", "trace": True}, "not understood"),
        ({"do": "go", "stage": 99}, "There is no stage 99"),
        ({"do": "go", "stage": -1}, "not made by a %%lower cell"),
        ({"do": "go", "trace": 9}, "There is no lowering 9"),
        ({"do": "go", "passes": [{"place": 7, "options": {}}]}, "each at most once"),
        ({"do": "go", "passes": [{"place": 0, "options": {"max-iterations": "1} cse"}}]}, "wants a whole number"),
        ({"do": "go", "passes": [{"place": 0, "options": {"pass-pipeline": "x"}}]}, "has no option 'pass-pipeline'"),
        ({"do": "without"}, "there is no pass to leave out"),
        ({"do": "again", "experiment": 3}, "There is no experiment 3"),
        ({"do": "recall", "experiments": [{"id": 1}]}, "not understood"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_runs(view, request_, says):
    with pytest.raises(UsageError, match=says):
        ask(view, **{"trace": 0, "stage": 0} | request_)
    assert view.experiments == []


def test_a_view_of_what_is_only_data_says_so(low):
    view = PassDiff([low.trace])
    assert not view.editable
    with pytest.raises(UsageError, match="cannot be edited"):
        ask(view, "plan", trace=0, stage=0)


def test_the_last_run_of_a_cell_is_only_text(view):
    view._show_instead((view.traces[0], view.traces[0]))
    with pytest.raises(UsageError, match="Only the text of this run is kept"):
        ask(view, "plan", trace=1, stage=0)


def test_failures_are_those_of_a_lowering_and_the_worker_that_dies_costs_the_experiment_only(view, low, tmp_path):
    ask(view, "go", trace=0, stage=2, text="module {\n  foo.bar\n}\n")
    (failed,) = ended(view)
    assert failed["state"] == "failed"
    assert "does not parse" in failed["message"]
    assert view.traces[1].failure
    assert view.traces[1].dumps[0].text == "module {\n  foo.bar\n}\n"

    tool = tmp_path / "tool.sh"
    tool.write_text("#!/bin/sh\ncat\n")
    tool.chmod(0o755)
    pipeline = f"mlir-opt --canonicalize | user-tool {tool} | mlir-opt --cse"
    slow = irwidget.lower(TEXT, to="raw_ir", pipeline=pipeline)
    tool.write_text("#!/bin/sh\nsleep 60\ncat\n")
    other = PassDiff([slow.trace], lowerings=[slow])
    ask(other, "go", trace=0, stage=1, text=None)
    ask(other, "go", trace=0, stage=2, text=slow.dumps[2].text.replace("arith.muli", "arith.subi"), name="second")
    until = time.monotonic() + 90
    while "tool.sh" not in other.experiments[0]["message"]:
        assert time.monotonic() < until, other.experiments
        time.sleep(0.02)
    ask(other, "stop", experiment=1)
    first, second = ended(other, outcome=False)
    assert (first["state"], first["message"]) == ("stopped", "Stopped")
    assert (second["state"], second["name"]) == ("done", "second"), "a second edit while the first runs"
    assert slow.dumps[-1].text
    ask(other, "again", experiment=1)
    while "tool.sh" not in other.experiments[0]["message"]:
        assert time.monotonic() < until, other.experiments
        time.sleep(0.02)
    client.worker().kill()
    first, _ = ended(other, outcome=False)
    assert first["state"] == "failed"
    assert "crashed" in first["message"]
    other.close()


def test_an_experiment_that_fails_is_made_small_like_any_lowering():
    pipeline = "mlir-opt --cse --convert-arith-to-llvm --convert-func-to-llvm | mlir-translate --mlir-to-llvmir"
    low = irwidget.lower(TEXT, to="raw_ir", name="f", pipeline=pipeline)
    view = PassDiff([low.trace], lowerings=[low])
    assert view.reducible == []
    erf = "%q = arith.sitofp %a : i32 to f32\n  %r = math.erf %q : f32\n  %t = arith.fptosi %r : f32 to i32"
    ask(view, "go", trace=0, stage=0, text=TEXT)
    ended(view)
    ask(view, "go", trace=0, stage=0, text=TEXT.replace("return %s", f"{erf}\n  return %t"), name="wrong")
    ended(view)
    assert [(one["trace"], one["ir"], one["program"]) for one in view.reducible] == [(2, True, False)]
    view._reducing.answer({"do": "start", "trace": 2, "program": False})
    ask(view, "remove", experiment=1)
    assert [one["trace"] for one in view.reductions] == [1], "it is still of the same lowering"
    assert (view.trace, view.against) == (1, 0), "the reader still looks at it"
    until = time.monotonic() + 90
    while view.reductions[0]["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.02)
    (done,) = view.reductions
    assert (done["trace"], done["state"]) == (1, "done")
    assert "math.erf" in done["text"]
    assert "arith.muli" not in done["text"]
    assert view.reducible[0]["trace"] == 1
    ask(view, "remove", experiment=2)
    assert (view.reducible, view.reductions) == ([], [])
    view.close()


def test_they_are_named_removed_and_taken_along(view, low):
    ask(view, "go", trace=0, stage=2, text=low.dumps[2].text.replace("arith.muli", "arith.subi"))
    ended(view)
    ask(view, "go", trace=1, stage=0, text=None)
    ended(view)
    ask(view, "rename", experiment=1, name=" <b>mine</b> ")
    assert (view.experiments[0]["name"], view.traces[1].name) == ("<b>mine</b>", "f: <b>mine</b>")
    files = zipfile.ZipFile(io.BytesIO(ask(view, "files", experiment=1)))
    assert sorted(files.namelist()) == ["edited.mlir", "run.sh", "tools.sh"]
    commands = files.read("tools.sh").decode()
    assert "mlir-opt --pass-pipeline='builtin.module(convert-arith-to-llvm" in commands
    assert commands.endswith(" edited.mlir -o 1.mlir\n")
    ask(view, "remove", experiment=1)
    assert view.experiments == [], "what starts from it goes, too"
    assert len(view.traces) == 1
    assert (view.trace, view.against) == (0, -1)


def test_what_was_kept_runs_again_where_the_dump_is_still_the_same(view, low):
    text = low.dumps[2].text.replace("arith.muli", "arith.subi")
    ask(view, "go", trace=0, stage=2, text=text, name="mine")
    (kept,) = json.loads(json.dumps(ended(view)))
    kept |= {"switches": ["--no-elide"]}
    fresh = PassDiff([low.trace], lowerings=[low])
    ask(fresh, "recall", experiments=[kept])
    assert fresh.experiments == [{**kept, "state": "kept", "trace": -1, "message": "", "outcome": None}]
    ask(fresh, "again", experiment=1)
    assert ended(fresh)[0]["state"] == "done"
    assert fresh.traces[1].dumps[0].text == text
    other = irwidget.lower(TEXT.replace("%a, %zero", "%b, %zero"), to="raw_ir", name="f", pipeline=PIPELINE)
    changed = PassDiff([other.trace], lowerings=[other])
    changed.follow(view)
    with pytest.raises(UsageError, match="has another text now"):
        ask(changed, "again", experiment=1)
    for one in (fresh, changed):
        one.close()


def test_the_verdicts_of_both_are_computed_when_asked_for():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.ReLU()
    low = irwidget.lower(model, torch.randn(4), to="linalg_on_tensors_mlir", elide=False)
    view = PassDiff([low.trace], lowerings=[low])
    at = next(i for i, dump in enumerate(low.dumps) if "arith.cmpf ugt" in dump.text)
    text = low.dumps[at].text.replace("arith.cmpf ugt", "arith.cmpf ult")
    ask(view, "go", trace=0, stage=at, text=text, check=True)
    (one,) = ended(view)
    name, before, here = one["outcome"]["facts"][0]
    assert name == "check"
    assert before.startswith("equal")
    assert here.startswith("differs")
    assert low.check is None, "the original stays as it is"
    view.close()


def of_a_model(target):
    class Doubled(torch.nn.Module):
        def forward(self, x):
            return x.sin() * 2

    arch = {"arch": "sm_90"} if target != "linalg_on_tensors_mlir" else {}
    return irwidget.lower(Doubled(), torch.ones(64), to=target, **arch)


def of_a_kernel(target):
    from tests.triton.kernels import add_kernel

    numbers = torch.ones(256)
    return irwidget.lower(add_kernel, numbers, numbers, numbers, 256, BLOCK=64, to=target, arch="sm_90", grid=(4,))


def can_leave_out(low, index):
    """Whether some dump before lists the pass of a dump by itself."""
    for start in range(index - 1, -1, -1):
        with contextlib.suppress(irwidget.UsageError):
            return any(one.index == index for one in low.edit(start).passes)
    return False


def without_every_pass(target):
    return irwidget.lower(torch.nn.Linear(4, 8), torch.randn(2, 4), to=target, dumps=False)


@pytest.mark.parametrize(
    ("make", "target", "some"),
    [
        (without_every_pass, "nvptx", 1.0),
        (of_a_model, "linalg_on_tensors_mlir", 1.0),
        (of_a_model, "nvptx", 1.0),
        (of_a_model, "inductor_triton", 0.0),
        (of_a_model, "inductor_ttgir", 0.1),
        (of_a_kernel, "triton_gpu_ir", 1.0),
        (of_a_kernel, "triton_nvptx", 0.7),
    ],
)
def test_a_pass_is_offered_to_be_left_out_where_that_can_be_done(make, target, some):
    if target not in ("linalg_on_tensors_mlir", "nvptx"):
        pytest.importorskip("triton")
    low = make(target)
    made = PassDiff([low.trace], lowerings=[low])
    numbers = range(len(low.dumps))
    assert made.leavable == [[index for index in numbers if can_leave_out(low, index)]]
    assert len(made.leavable[0]) == pytest.approx(some * (len(numbers) - 1), abs=0.1 * len(numbers))
    made.close()
    assert PassDiff([low.trace]).leavable == []
