"""What the real front end gave for functions of its own tests, op by op; where we differ, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from irwidget.spyre import TensorSpec, compile
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


def test_rewrites_leave_the_dump_of_the_decompositions_as_it_is():
    table = torch.arange(64, dtype=torch.float32)
    program = compile(lambda x: (x.float().bfloat16() + table).sum(0), [TensorSpec((4, 64))])
    texts = {dump.name: dump.text for dump in program.trace.dumps}
    assert texts["decompositions"].count("_to_copy.default(") == texts["rewrites"].count("_to_copy.default(") + 1


def test_a_view_that_is_returned_of_a_buffer_with_other_strides_has_the_values_of_the_function():
    def turned(x):
        return torch.nn.functional.gelu(x.permute(1, 0, 2)).transpose(0, 1)

    x = torch.linspace(-2, 2, 8 * 4 * 64).half().view(8, 4, 64)
    torch.testing.assert_close(compile(turned, [TensorSpec((8, 4, 64))]).run(x), turned(x))


@pytest.mark.parametrize(
    ("size", "index", "marked"), [((2, 5, 64), (64,), 0), ((4, 5, 64), (64,), 1), ((16, 64), (2, 4), 1)]
)
def test_of_what_an_index_chooses_from_the_dims_are_marked_that_have_more_than_it_in_that_place(size, index, marked):
    made = compile(lambda x, i: x[i], [TensorSpec(size), TensorSpec(index, torch.int64)])
    ((_, file),) = made.kernels[0].files()
    ((_, top),) = file.items()
    (_, gathered, _) = top["dscs_"][0]["identity"]["scheduleTree_"]
    assert gathered["indirectAllocType_"] == "value_tensor"
    assert gathered["maxDimSizes_"].count(1) == marked


def test_a_number_that_is_written_into_rows_has_their_sticks():
    def filled(x):
        x[:, 1:2].fill_(2.0)
        return x * 2

    made = compile(filled, [TensorSpec((3, 3, 192))])
    first, second, _ = recorded.ops_of(made)
    assert (first["op"], second["op"]) == ("identity", "identity"), "the second moves no sticks"
    assert first["args"][1][2:4] == [[3, 3, 64], ["floor(c1/64)", "c0", "Mod(c1, 64)"]]
