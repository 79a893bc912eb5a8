"""What the browser gets: packing and its invariants."""

from __future__ import annotations

import gzip
import json
import struct
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irwidget.dumps import Content, Diagnostic, Dump, Failure, Location, Trace, dump
from irwidget.views.packing import blank, facts_of, last_change, lines_of, pack
from tests.views.lowerings import SOURCE, lower

TABLE = json.loads((Path(__file__).parents[2] / "js/test/blank.json").read_text())


def unpack(data: bytes) -> tuple[dict[str, Any], list[list[list[str]]], list[list[list[int] | None]]]:
    """What js/src/unpack.ts does, in a few lines: meta, then for each trace and stage lines and places."""
    raw = gzip.decompress(data)
    assert struct.unpack_from("<I", raw)[0] == 1
    at = 4
    texts: list[str] = []
    for _ in range(2):
        (length,) = struct.unpack_from("<I", raw, at)
        texts.append(raw[at + 4 : at + 4 + length].decode())
        at += 4 + length
    meta, table = json.loads(texts[0]), texts[1].split("\n")

    def numbers(count: int) -> list[int]:
        nonlocal at
        values = struct.unpack_from(f"<{count}i", raw, at)
        at += 4 * count
        return list(accumulate(values))

    lines: list[list[list[str]]] = []
    places: list[list[list[int] | None]] = []
    for trace in meta["traces"]:
        lines.append([])
        places.append([])
        for stage in trace["stages"]:
            lines[-1].append(lines[-1][-1] if stage["lines"] < 0 else [table[i] for i in numbers(stage["lines"])])
            places[-1].append(numbers(len(lines[-1][-1])) if stage["places"] else None)
    assert at == len(raw)
    return meta, lines, places


texts = st.lists(st.sampled_from(["a", "b", "%1 = f", "", "é\r\x00", "<script>"]), max_size=8).map("\n".join)


@given(st.lists(st.lists(texts, min_size=1, max_size=5), min_size=1, max_size=3))
def test_every_text_comes_back(traces):
    packed = pack([Trace("t", tuple(dump(f"p{i}", text, step="s") for i, text in enumerate(one))) for one in traces])
    _, lines, _ = unpack(packed)
    assert lines == [[lines_of(text) for text in one] for one in traces]


def test_equal_traces_make_equal_bytes():
    def one() -> Trace:
        return Trace("t", (dump("a", "x\ny\n", step="s"), dump("b", "x\nz\n", step="s")))

    assert pack([one()]) == pack([one()])


def test_places_follow_their_lines():
    trace = lower()
    meta, _, places = unpack(pack([trace]))
    assert meta["sources"] == [{"file": "cell", "text": SOURCE}]
    for content, found in zip((one.load() for one in trace.dumps), places[0], strict=True):
        assert found is not None
        wanted = [place.line if place else 0 for place in content.locations]
        assert [meta["places"][i][1] if i >= 0 else 0 for i in found][: len(wanted)] == wanted


def test_places_in_unknown_files_are_left_out():
    trace = Trace("t", (dump("a", "x\n", step="s", locations=(Location("elsewhere.py", 3),)),))
    meta, _, places = unpack(pack([trace]))
    assert meta["places"] == []
    assert places == [[None]]


def test_a_dump_that_is_not_ready_is_named_and_not_waited_for():
    def never() -> Content:
        raise AssertionError("waited for")

    late = Dump("cse", "s", "mlir", never, is_ready=lambda: False)
    meta, lines, _ = unpack(pack([Trace("t", (dump("input", "x", step="s"), late))]))
    assert [stage["ready"] for stage in meta["traces"][0]["stages"]] == [True, False]
    assert lines == [[["x"], []]]


def test_invalid_utf8_is_shown_as_its_escape():
    text = b"a\xffb".decode("utf-8", "surrogateescape")
    _, lines, _ = unpack(pack([Trace("t", (dump("a", text, step="s"),))]))
    assert lines == [[["a\\udcffb"]]]


def test_a_failure_crosses_with_its_diagnostics():
    said = Diagnostic("error", "no", Location("cell", 3))
    failure = Failure("mlir-opt", "cse", "it failed", diagnostics=(said,), reproducer="mlir-opt x")
    meta, _, _ = unpack(pack([Trace("t", (dump("a", "", step="s"),), failure=failure)]))
    assert meta["traces"][0]["failure"] == {
        "step": "mlir-opt", "pass": "cse", "message": "it failed", "diagnostics": ["cell:3: error: no"],
        "reproducer": "mlir-opt x",
    }  # fmt: skip


@pytest.mark.parametrize(("line", "blanked"), TABLE)
def test_blanking_agrees_with_the_browser(line, blanked):
    assert blank(line) == blanked


@pytest.mark.parametrize(
    ("texts", "at"), [(["a"], 0), (["a", "b"], 1), (["a", "b", "b"], 1), (["a", "a"], 1), (["a", "b", "a", "a"], 2)]
)
def test_the_last_change(texts, at):
    assert last_change(Trace("t", tuple(dump("p", text, step="s") for text in texts))) == at


def test_facts_are_short():
    facts = {"check": {"max |diff|": 2.98e-08, "ok": True}, "registers": 32, "kernels": ["a", "b"]}
    assert facts_of(facts) == [("check", "max |diff| 2.98e-08, ok yes"), ("registers", "32"), ("kernels", "a, b")]
