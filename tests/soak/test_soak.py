"""A small part of `make soak`, for every run of the suite; a larger one for `--exhaustive`."""

from __future__ import annotations

import pytest

from tests.soak import company, scenarios


def test_random_programs_raise_nothing_but_our_errors() -> None:
    assert scenarios.random_programs(6, number=0).total() == 6


def test_odd_kernels_and_texts_that_are_looked_at_late() -> None:
    assert scenarios.odd_kernels(6, number=1).total() == 6
    looked_at = scenarios.texts_after_time_outs(2, number=2)
    assert looked_at["timed out"] + looked_at["finished first"] == 2


@pytest.mark.exhaustive
def test_lowerings_beside_threads_and_a_fork_give_what_they_give_alone() -> None:
    assert company.lowerings_beside_others(12, number=5)["of them in company"] == 4


@pytest.mark.exhaustive
def test_interrupts_and_kills_leave_a_right_next_lowering_and_nothing_behind(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scenarios.leftovers(lambda: (scenarios.interrupts(2, number=3), scenarios.worker_kills(2, number=4)))
