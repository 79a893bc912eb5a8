"""Every hostile input of the corpus ends in a result or in an error of ours, in time, and the kernel lives.

An error names what the case says, and none of the causes that it was not. The last test is a lowering as any other.
"""

from __future__ import annotations

import os
import re
import time
import warnings

import pytest
import torch

import irwidget
from irwidget.errors import IRWidgetError
from tests.crashers import programs, texts
from tests.crashers.cases import Case

CASES = [*texts.CORPUS.cases, *programs.CORPUS.cases]
try:
    from tests.crashers import kernels
except ImportError:
    pass
else:
    CASES += kernels.CORPUS.cases
PID = os.getpid()
GRACE = 2.0
"""Seconds beyond the limit in which a case must have ended, on a machine that has nothing else to do."""
_OURS = re.compile(r"irwidget-\d+-|/irwidget/(toolchain|frontends|views)/|_mlir_libs")
"""What no message names: our temporary files and our own code."""


def _allowed(case: Case) -> float:
    """Seconds for a case: its limit and some grace, times the number of those who want each processor."""
    return (case.timeout + GRACE) * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _marks(case: Case) -> list[pytest.MarkDecorator]:
    given = (pytest.mark.heavy, case.heavy), (pytest.mark.exhaustive, case.exhaustive)
    return [mark for mark, holds in given if holds]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [pytest.param(case, id=str(case), marks=_marks(case)) for case in CASES])
def test_it_ends_in_a_result_or_an_error_of_ours(case: Case) -> None:
    began, message = time.monotonic(), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case.run()
        except IRWidgetError as error:
            message = str(error)
            assert message.strip(), "an error says something"
    spent = time.monotonic() - began
    assert os.getpid() == PID, "a copy of this process must not get here"
    assert spent < _allowed(case), f"{spent:.1f} s of {case.timeout:g}"
    assert not (message and case.fits), message
    assert re.search(case.match, message), message
    assert not [words for words in (*case.never, "SIGKILL") if words in message], message
    assert not _OURS.search(message), message


def test_there_are_enough_and_each_has_a_reason() -> None:
    assert len(CASES) >= 300
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.why for case in CASES)


def test_after_all_of_them_a_lowering_is_right() -> None:
    low = irwidget.lower(torch.nn.Linear(4, 2), torch.ones(1, 4), to="nvptx")
    assert low.failure is None
    assert ".visible .func" in low.text
