"""The cell of a lowering with another text in it: lowered beside the first, in a copy of the kernel."""

import threading

import pytest

import irwidget
from irwidget import LoweringInterrupted, ToolError, UsageError
from irwidget.views.widget import PassDiff
from tests.views.test_experimenting import ask, ended

from .test_magic import run, shell  # noqa: F401

KERNEL = """\
import torch, triton, triton.language as tl

@triton.jit
def add(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 1.0, mask=i < n)

kept.append(1)
add[(4,)](torch.zeros(1000), 1000, BLOCK=256)
"""
MODEL = """\
def one(a):
    return torch.relu(a)
def other(a):
    return torch.exp(a)
import irwidget
irwidget.explore(one, torch.zeros(2, 3))
irwidget.explore(other, torch.zeros(2, 3))
"""


@pytest.fixture(scope="module")
def low(shell):  # noqa: F811
    shell.user_ns["kept"] = []
    shell.run_cell(f"%%lower --to triton_ir --arch=sm_90 --text --out low\n{KERNEL}").raise_error()
    return shell.user_ns["low"]


def test_the_edited_cell_is_lowered_and_no_variable_of_the_notebook_changes(shell, low):  # noqa: F811
    kernel = shell.user_ns["add"]
    made = low.edit(source=low.source.replace("1.0", "2.5") + "del kept\n%timeit -n1 -r1 1 + 1\n").run()
    assert low.source == KERNEL
    assert "2.500000e+00" in made.text
    assert "1.000000e+00" in low.text
    assert (made.name, made.trace.facts["launched_at"]) == ("add: cell edited", "line 10")
    assert irwidget.compare(low, made).summary.endswith("the results differ")
    assert shell.user_ns["add"] is kernel
    assert shell.user_ns["kept"] == [1]
    written = f"%%lower --arch=sm_90 --to triton_ir\n{made.source}"
    assert made.trace.sources == {"<edited cell>": written}, "by no cell's name, and as it was edited"
    assert low.edit(-1).run().edit(source=made.source).original is low, "nothing edited after the cell is in it"
    unchanged = made.edit(source=made.source)
    again = unchanged.named("mine").run()
    assert (again.text, again.name, unchanged.says) == (made.text, "add: cell edited: mine", "run again")
    assert made.edit(0).run(check=True).check.reason.startswith("what was lowered ran in a copy of the kernel")


@pytest.mark.parametrize(("more", "error", "says"), [
    ("x = (\n", UsageError, r"is no Python: line 10, column 5: SyntaxError: '\(' was never closed"),
    ("return 3\n", UsageError, "is no Python: line 10, column 1: SyntaxError: 'return' outside function"),
    ("def f():\n    return 1 / 0\nf()\n", UsageError, "ends with ZeroDivisionError: .*\n  at line 11: return 1 / 0"),
    ("import os\nos.abort()\n", ToolError, r"crashed \(the copy of the kernel was killed by SIGABRT"),
])  # fmt: skip
def test_what_is_wrong_with_it_is_said_with_its_line(low, more, error, says):
    with pytest.raises(error, match=says) as raised:
        low.edit(source=low.source + more).run()
    assert (raised.value.lowering is not None) == ("1 / 0" in more), "what was launched before is lowered all the same"


def test_it_is_stopped_and_has_the_time_of_a_lowering(low):
    stop = threading.Event()
    stop.set()
    endless = low.edit(source=f"{low.source}while True:\n    pass\n")
    with pytest.raises(LoweringInterrupted):
        endless.run(stop=stop)
    with pytest.raises(ToolError, match=r"The edited cell timed out|after 0.3 s, the limit of this lowering"):
        endless.run(timeout=0.3)
    with pytest.raises(UsageError, match="a limit is a number of seconds above 0, not 0"):
        endless.run(timeout=0)


def test_of_several_models_it_is_the_one_that_was_edited(shell, run):  # noqa: F811
    run(f"%%lower --to linalg_on_tensors_mlir --text\n{MODEL}")
    low = shell.user_ns["_lowering"]["other"]
    made = low.edit(source=low.source.replace("torch.exp", "torch.tanh")).run(check=True)
    assert "math.tanh" in made.text
    assert made.check.state == "equal"
    with pytest.raises(UsageError, match=r"has nothing called other, .*\. Did you mean"):
        low.edit(source=low.source.replace("other", "another").replace("one(", "oh(").replace("(one", "(oh")).run()


def test_a_view_edits_the_cell_and_takes_it_along(low, tmp_path):
    view = PassDiff([low.trace], lowerings=[low])
    assert view.cells == [KERNEL]
    assert ask(view, "plan", trace=0, stage=-1) == {"passes": [], "parser": True}
    (said,) = ask(view, "problems", trace=0, stage=-1, text=KERNEL.replace("BLOCK)", "BLOCK"))
    assert (said["line"], said["message"]) == (5, "SyntaxError: '(' was never closed")
    text = KERNEL.replace("1.0", "2.5")
    ask(view, "go", trace=0, stage=-1, text=text)
    (one,) = ended(view)
    assert (one["name"], one["state"], one["trace"]) == ("cell edited", "done", 1)
    assert (one["stage"], one["cell"]) == (-1, "--arch=sm_90 --to triton_ir")
    assert one["outcome"]["summary"].endswith("the results differ")
    assert view.cells == [KERNEL, text]
    ask(view, "go", trace=1, stage=-1, text=text.replace("tl.store", "tl.nosuch"))
    child = ended(view)[1]
    assert (child["parent"], child["state"]) == (1, "failed")
    assert "nosuch" in child["message"]
    ask(view, "go", trace=0, stage=0, text=low.dumps[0].text)
    dump = ended(view)[2]
    ask(view, "go", trace=dump["trace"], stage=-1, text=text)
    beside = ended(view)[3]
    assert (dump["parent"], beside["parent"], beside["outcome"]["summary"]) == (0, 0, one["outcome"]["summary"])
    kept = [dict(each) for each in view.experiments]
    fresh = PassDiff([low.trace], lowerings=[low])
    ask(fresh, "recall", experiments=kept)
    ask(fresh, "again", experiment=1)
    assert ended(fresh)[0]["state"] == "done"
    assert fresh.cells == [KERNEL, text]
    folder = low.edit(source=text).save(tmp_path).parent
    assert (folder / "edited.py").read_text() == text
    assert (folder / "run.sh").read_text().endswith("lower edited.py --arch=sm_90 --to triton_ir\n")
    for each in (view, fresh):
        each.close()
