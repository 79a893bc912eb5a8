"""What the real front end gave for functions of its own tests, op by op; where we differ, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.spyre import recorded, unseen

DIFFERENCES: dict[str, list[str]] = json.loads((Path(__file__).parent / "differences.json").read_text())
"""Cause -> the functions that it makes differ."""
KNOWN = {name: cause for cause, names in DIFFERENCES.items() for name in names}


@pytest.mark.parametrize("name", recorded.functions())
def test_a_function_becomes_what_the_real_front_end_makes(name):
    wanted = recorded.functions()[name]
    made = recorded.ours(wanted)
    if name in KNOWN:
        assert not recorded.agrees(wanted, made), f"agrees now: take {name} out of differences.json"
        return
    said = wanted["error"] or recorded.shown(wanted["ops"])
    assert recorded.agrees(wanted, made), f"ours:\n{recorded.shown(made)}\nreal:\n{said}"


@pytest.mark.parametrize("name", unseen.FUNCTIONS)
def test_a_function_of_our_own_becomes_what_the_real_front_end_makes(name):
    assert unseen.made(name) == unseen.real()[name]


def test_every_known_difference_is_a_recorded_function():
    assert set(KNOWN) <= set(recorded.functions())
    assert len(KNOWN) == sum(len(names) for names in DIFFERENCES.values())
