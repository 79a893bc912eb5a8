"""From where a lowering can go on, and how a command says it."""

from types import SimpleNamespace

import pytest

from irwidget.errors import UsageError
from irwidget.experiments import passes
from irwidget.experiments.experiment import Experiment
from irwidget.toolchain.run import Options
from irwidget.trace import Failure, Step, Trace, dump

EXPORT, CSE = Step("no-tool", "x"), Step("mlir-opt", "--cse")


def trace(steps, of, failed=None):
    """A lowering whose dumps after the input are of these steps."""
    dumps = (dump("input", "", step=-1), *(dump(f"d{i}", "", step=step) for i, step in enumerate(of, 1)))
    return Trace("x", dumps, tuple(steps), failure=None if failed is None else Failure(failed, "p", "no"))


FROM_2 = "Dumps from 2 (d2) on can be edited"
CELL = "A %%lower cell that it was made in can be edited: low.edit(source=...)"


@pytest.mark.parametrize(("made", "index", "said"), [
    (trace([EXPORT, CSE], [0, 0, 1]), 0, FROM_2),
    (trace([EXPORT, CSE], [0, 0, 1]), 1, FROM_2),
    (trace([EXPORT, CSE], [0, 0, 1]), 2, ""),
    (trace([EXPORT, CSE], [0, 0, 1]), 3, ""),
    (trace([EXPORT, CSE], [0, 0], failed=0), 2, CELL),
    (trace([CSE, EXPORT], [0, 1]), 0, ""),
    (trace([CSE, EXPORT, CSE], [0, 1, 2]), 0, "Dumps from 2 (d2) on can be edited"),
    (trace([CSE, CSE], [0, 1]), 0, ""),
])  # fmt: skip
def test_from_where_dumps_can_be_edited(made, index, said):
    if not said:
        passes._takes_text(made, index)
        return
    with pytest.raises(UsageError) as caught:
        passes._takes_text(made, index)
    begins = f"Nothing goes on from dump {index} ({made.dumps[index].name}): no tool here runs {EXPORT} on text. "
    assert str(caught.value) == begins + said


@pytest.mark.parametrize(("programs", "elide", "switches"), [
    ([], True, []), ([False, False], True, []), ([True, False], True, ["--external"]),
    ([False, True], False, ["--no-elide", "--external"]), ([False], False, ["--no-elide"]),
])  # fmt: skip
def test_the_switches_that_a_command_needs_to_give_the_same(programs, elide, switches):
    steps = [Step("opt", "-O1", program=program) for program in programs]
    assert Experiment.switches.fget(SimpleNamespace(options=Options(elide=elide), steps=steps)) == switches
