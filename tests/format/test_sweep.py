"""Sweeps keep traces as .irtrace files; those that older versions kept still open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from irwidget.errors import ToolError, UsageError
from irwidget.sweeps import Cell, Sweep, load, stored
from irwidget.trace import Diagnostic, Element, Failure, Location, Scope, Step, Verdict, file
from tests.format import traces
from tests.views.lowerings import SOURCE, lower

OLD = Path(__file__).parent / "sweep-2.parquet"


def test_a_sweep_of_version_2_still_opens():
    """It was written before there were .irtrace files; nothing writes it any more."""
    low = load(OLD).lowering("model", "llvm_mlir")
    made = lower()
    for found, wanted in zip(low.dumps[:4], made.dumps, strict=False):
        assert (found.name, found.step, found.options, found.scope) == (
            wanted.name, wanted.step, wanted.options, wanted.scope,
        )  # fmt: skip
        assert found.content == wanted.content
    with pytest.raises(ToolError, match="the worker died"):
        _ = low.dumps[4].content
    note = Diagnostic("note", "see", Location("cell", 2))
    said = Diagnostic("error", "no", Location("cell", 3, 7, Location("cell", 1)), (note,))
    assert low.diagnostics == (said,)
    assert low.failure == Failure(0, "cse", "it failed", (said,), reproducer="mlir-opt --cse")
    assert low.steps == (Step("mlir-opt", "--inline --cse"),)
    assert low.tools == {"torch-mlir": "20261001"}
    assert low.trace.sources == {"cell": SOURCE}
    assert low.trace.facts == {"registers": 32, "least": {"ok": True}}
    element = Element("result 0", (1, 2), 1 + 2j, 2.0)
    assert low.check == Verdict("differs", "cse", 3, "one element", 0.5, 1e-7, element)


def test_a_cell_keeps_everything():
    whole = replace(traces.whole(), check=Verdict("differs", "cse", reference="numpy"))
    cell = Cell("m", "t", "ok", dumps=file.packed([whole]))
    assert traces.plain(Sweep([cell], {}).lowering("m", "t").trace) == traces.plain(whole)


def test_damaged_dumps_of_a_cell_are_named():
    (cell,) = load(OLD).cells
    for data in (cell.dumps[:-20], b"\x1f\x8b", b"x"):
        with pytest.raises(UsageError, match="sweep again"):
            Sweep([replace(cell, dumps=data)], {}).lowering("model", "llvm_mlir")


@pytest.mark.parametrize(
    ("text", "language", "scope"),
    [
        ("module", "llvm", Scope()),
        ("any", "mlir", Scope(anchor="any")),
        ("func.func", "mlir", Scope(anchor="func.func")),
        ("a.b", "llvm", Scope(function="a.b")),
        ("k: f", "llvm", Scope("k", "f")),
        ("k: %l in function f", "llvm", Scope("k", "f", "%l")),
    ],
)
def test_a_scope_of_version_2_is_taken_apart(text, language, scope):
    assert stored._scope(text, language) == scope
