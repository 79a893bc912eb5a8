"""What every run leaves to `--exhaustive`."""

from pathlib import Path

import pytest

from tests.sampling import KEPT, left_out

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", KEPT)
def test_what_is_left_out_is_there(name):
    path, _, function = name.partition("::")
    assert f"def {function}(" in (ROOT / path).read_text()


def test_as_many_rows_as_said_are_kept_and_others_stay():
    family = "tests/helion/test_sorting.py::test_sort_is_that_of_pytorch"
    rows = [f"{family}[{at}]" for at in range(11)]
    alone = "tests/core/test_queue.py::test_a_data_loaders_workers_may_lower"
    others = ["tests/core/test_queue.py::test_another", f"{family}_and_more[1]"]
    found = left_out([*rows, alone, *others])
    assert len(found & {*rows}) == 11 - KEPT[family]
    assert found - {*rows} == {alone}
    assert found & {*rows} == left_out(rows[::-1])
