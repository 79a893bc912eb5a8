"""Failures with known causes become small, and stay the failures that they were: some in every run, all on demand."""

import pytest

from benchmarks.reduce import reduce, same
from tests.reduce.corpus import CASES, HELION, LLVM, MLIR, PYTORCH, TRITON
from tests.sampling import sampled


def test_there_are_fifteen_of_each_kind():
    assert [len(kind) for kind in (MLIR, LLVM, PYTORCH, TRITON, HELION)] == [15] * 5
    assert len({(case.kind, case.name) for case in CASES}) == 75


def named(case):
    return f"{case.kind} {case.name}"


IN_EVERY_RUN = sampled([*MLIR, *LLVM], 2, name=named)
"""Of IR; a file of Python becomes small in `test_programs.py`, too, and each takes a worker with PyTorch in it."""


@pytest.mark.parametrize("case", [*IN_EVERY_RUN, *sampled([*PYTORCH, *TRITON, *HELION], 0, name=named)], ids=named)
def test_it_becomes_small(case):
    reduced = reduce(case)
    assert same(case, reduced), reduced.report
    assert reduced.operations <= 5 or not reduced.complete, reduced.report
    assert reduced.operations < reduced.before
