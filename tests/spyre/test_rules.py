"""The page of rules, docs/spyre-rules.md: what docstrings cite is there, and its numbers are the compiler's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irwidget.spyre import formats, hardware, opfuncs
from irwidget.spyre.layout import device_layout, restickified
from tests.spyre.faults import faults
from tests.spyre.programs import PROGRAMS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "spyre-rules.md").read_text()
HEADINGS = set(re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE))
MODULES = sorted((ROOT / "irwidget" / "spyre").glob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda p: p.name)
def test_docstrings_cite_sections_of_the_page(module):
    text = module.read_text()
    cited = set(re.findall(r"docs/spyre-rules\.md: ([A-Z][\w -]*)", text))
    assert cited <= HEADINGS
    assert not re.search(r"\bsections? \d", text), "a section of a document that nobody can open"


def test_the_page_has_the_formats():
    rows = re.findall(r"^\| ([a-z0-9_, ()]+) \| `(\w+)`.* \| (\d+)", PAGE, re.MULTILINE)
    said = {
        dtype.split(" ")[0]: (name, int(eps)) for dtypes, name, eps in rows for dtype in dtypes.replace(",", "").split()
    }
    said.pop("(narrowed)")
    assert said == {d: (formats.device_format(d).name, formats.device_format(d).elements_per_stick) for d in said}


def test_the_page_has_the_limits():
    assert f"{hardware.LX_BYTES:,} bytes" in PAGE
    assert hardware.SPAN_LIMIT == 2**28
    assert hardware.SEGMENT_BYTES == 2**34
    listed = re.search(r"its ATen op is ([\w, ]+?) or (\w+)", PAGE.replace("\n", " "))
    assert listed is not None
    assert {*listed[1].split(", "), listed[2]} == opfuncs.LX_ATEN_OPS


def test_the_example_of_a_layout():
    made = device_layout((5, 100, 150), "float16")
    assert f"becomes {list(made.device_size)} with strides {list(made.stride_map)}" in PAGE


def test_the_page_lists_every_pass():
    program = PROGRAMS["large tensors"].compile()
    passes = [dump.name for dump in program.trace.dumps]
    listed = PAGE[PAGE.index("## Passes") : PAGE.index("## How near it is")].replace("\n", " ")
    positions = [re.search(rf"\b{name}\b", listed) for name in passes]
    assert None not in positions, passes
    starts = [found.start() for found in positions if found is not None]
    assert starts == sorted(starts)


def test_only_the_dim_that_has_the_sticks_gives_them_away():
    rows, columns = (128, 64), (64, 1)
    layout = device_layout((128, 64), "float16")
    moved = restickified(layout, columns, rows)
    assert moved is not None
    assert moved.stride_map == (4096, 1, 64)
    batches = device_layout((2, 128, 64), "float16")
    assert restickified(batches, columns, rows) is not None
    assert restickified(batches, (2, 128 * 64), rows) is None


def test_every_fault_that_is_kept_is_still_one_of_a_text():
    assert [fault for fault in faults() if fault.path.read_text().count(fault.old) != 1] == []
