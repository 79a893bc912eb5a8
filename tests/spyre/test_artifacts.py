"""What each program is compiled to, whole: every pass, every SuperDSC file, bundles, host code, explanations.

`expected.json`, `superdsc.json` and `recorded.json.xz` have what the real front end gives and come first; these
texts are ours, and a change in them is a decision: see `artifacts.py`.
"""

from __future__ import annotations

import pytest

from tests.spyre.artifacts import artifacts, difference, kept
from tests.spyre.programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_artifact_is_as_it_was(name):
    found = difference(name, kept()[name], artifacts(PROGRAMS[name].compile()))
    assert not found, f"{found}\n\nIf this is meant: python -m tests.spyre.artifacts --write"


def test_no_program_is_forgotten():
    assert set(kept()) == set(PROGRAMS)
