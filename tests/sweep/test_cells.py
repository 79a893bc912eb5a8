"""Sweeps as data: what is run again, what two differ in, what is kept and in which order. Nothing is lowered."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from irwidget.errors import UsageError
from irwidget.sweeps import Case, Cell, Sweep, driver, load, store
from irwidget.sweeps.cells import Column, Task, key_of

CELLS = (
    Cell("a", "t", "ok"),
    Cell("b", "t", "failed", "no\nmore", pass_name="p", op="x.y"),
    Cell("c", "t", "failed", pass_name="p"),
    Cell("d", "t", "failed", pass_name="p"),
    Cell("e", "t", "ok"),
)


def test_two_sweeps_differ_in_versions_states_and_places_of_failures():
    a, b, c, d, e = CELLS
    before = Sweep(CELLS, {"toolchain": {"torch": "2", "gone": "1"}})
    after = Sweep(
        (
            replace(a, status="crashed", message="z" * 161),
            replace(b, status="ok"),
            replace(c, status="timeout"),
            replace(d, message="other words"),
            replace(e, model="f"),
        ),
        {"toolchain": {"torch": "3", "new": "1"}},
    )
    found = after.compare(before)
    assert str(found) == "\n".join(
        [
            "Comparison of sweeps: 1 regressed, 1 fixed, 1 fail elsewhere",
            "  torch: 2 -> 3",
            "  gone: 1 -> -",
            "  new: - -> 1",
            "",
            "Regressed:",
            f"  a to t: crashed: {'z' * 159}…",
            "",
            "Fixed:",
            "  b to t: ok, was failed: p: x.y: no",
            "",
            "Fail elsewhere:",
            "  c to t: timeout: p; was failed: p",
        ]
    )
    assert ([one.model for one in found.added], [one.model for one in found.removed]) == (["f"], ["e"])


def test_failures_are_listed_to_a_limit_and_cells_that_were_not_asked_for_are_marked():
    failed = [Cell(f"m{number}", "t", "usage", "no") for number in range(62)]
    lines = str(Sweep([*failed[:61], Cell("good", "u", "ok")], {})).splitlines()
    assert lines[0].split() == ["model", "t", "u"]
    assert [lines[at].split() for at in (1, 62)] == [["m0", "usage", "-"], ["good", "-", "ok"]]
    assert lines[63:66] == ["", "62 models, 2 targets: 61 usage, 1 ok", "m0 to t: usage: no"]
    assert lines[-2:] == ["m59 to t: usage: no", "... 1 more failures"]
    assert str(Sweep(failed[:60], {})).splitlines()[-1] == "m59 to t: usage: no"


def test_cells_are_kept_as_they_come_and_in_the_order_of_the_call(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MERGE_AT", 3)
    path, parts = tmp_path / "s.parquet", tmp_path / "s.parquet.parts"
    kept = store.Store(path)
    kept.describe({"models": ["e", "d", "c", "b", "a"], "targets": ["t"], "toolchain": {"torch": "2"}})
    seen = []
    for cell in CELLS[:4]:
        kept.add(cell)
        seen.append((path.exists(), len(list(parts.glob("*.parquet")))))
    assert seen == [(False, 1), (False, 2), (True, 0), (True, 1)]
    assert load(path).cells == CELLS[3::-1], "the file and what came after it"
    again = store.Store(path)
    assert again.about == kept.about
    again.add(replace(CELLS[0], status="lost"))
    again.merge()
    assert ([one.status for one in load(path)], parts.exists()) == (["failed"] * 3 + ["lost"], False)
    with pytest.raises(UsageError, match="is a folder: a sweep is kept in a file"):
        store.Store(tmp_path)
    with pytest.raises(UsageError, match="There is no sweep in"):
        load(tmp_path / "none.parquet")


@pytest.mark.parametrize(
    ("cell", "done", "with_retry"),
    [
        (None, False, False),
        (Cell("a", "t", "ok", key="other"), False, False),
        (Cell("a", "t", "ok", key="same"), True, True),
        (Cell("a", "t", "failed", key="same"), True, False),
        (Cell("a", "t", "lost", key="same"), False, False),
    ],
)
def test_what_is_run_again(cell, done, with_retry):
    task = Task("a", Column("t", "raw_ir"), b"", {}, 1.0, True, "same")
    assert (driver._is_done(cell, task, False), driver._is_done(cell, task, True)) == (done, with_retry)


def key(model="m", identity="i", to="t", column=None, options=None, versions=None):
    return key_of(model, identity, Column("name", to, column or {}), options or {}, versions or {})


def test_a_cell_is_the_same_question_where_all_is_the_same():
    others = [
        {"model": "n"},
        {"identity": "j"},
        {"to": "u"},
        {"column": {"x": 1}},
        {"options": {"x": 1}},
        {"versions": {"torch": "2"}},
    ]
    assert len({key(), *(key(**other) for other in others)}) == 7
    assert key(options={"a": 1, "b": 2}) == key(options={"b": 2, "a": 1})


class Other(nn.Linear):
    pass


class Scaled(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale, self.made = scale, object()


def free(x):
    return x


def same(x):
    return x


def test_a_model_is_told_by_its_source_its_settings_and_what_it_is_given():
    x, net, eps = torch.zeros(1, 4), nn.Linear(4, 2), {"eps": 1e-3}
    models = [
        (net, x),
        (nn.Linear(4, 3), x),
        (nn.Linear(4, 2).double(), x),
        (net, torch.zeros(2, 4)),
        (net, x.half()),
        (Other(4, 2), x),
        (nn.Conv2d(1, 1, 3), x),
        (nn.Conv2d(1, 1, 3, stride=2), x),
        (nn.Sequential(nn.LayerNorm(4)), x),
        (nn.Sequential(nn.LayerNorm(4, **eps)), x),
        (nn.Sequential(nn.LayerNorm(4)).eval(), x),
        (Scaled(1), x),
        (Scaled("1"), x),
        Case(net, (x,), options={"elide": True}),
        Case(net, (x,), options={"elide": False}),
        Case(net, kwargs={"input": x}),
        Case(net, kwargs={"other": x}),
        lambda: (net, x),
        free,
        (free, x),
        (same, x),
        (free, x, 2),
        (free, x, 3),
        (free, (x, 3)),
        "module {}",
    ]
    told = [driver._identity(model) for model in models]
    assert len(set(told)) == len(models)
    assert told[0] == driver._identity((nn.Linear(4, 2), x + 1)) == driver._identity(Case(nn.Linear(4, 2), (x,)))
    assert driver._identity((Scaled(1), x, object())) == driver._identity((Scaled(1), x, object()))
    assert told[-1] == "module {}"


def test_each_target_is_a_column_for_each_toolchain(monkeypatch):
    monkeypatch.setattr(driver.remote, "find", lambda name: None)
    columns = driver._columns({"fast": {"to": "nvptx", "arch": "sm_90"}, "tosa_mlir": "tosa_mlir"})
    assert columns == [Column("fast", "nvptx", {"arch": "sm_90"}), Column("tosa_mlir", "tosa_mlir")]
    assert driver._with_toolchains(columns, []) == columns
    assert driver._with_toolchains(columns, ["x==1", "y"]) == [
        Column("fast, x==1", "nvptx", {"arch": "sm_90", "toolchain": "x==1"}),
        Column("fast, y", "nvptx", {"arch": "sm_90", "toolchain": "y"}),
        Column("tosa_mlir, x==1", "tosa_mlir", {"toolchain": "x==1"}),
        Column("tosa_mlir, y", "tosa_mlir", {"toolchain": "y"}),
    ]
    with pytest.raises(UsageError, match="A target of the sweep is there twice"):
        driver._columns(["tosa_mlir", "tosa_mlir"])


def test_keys_of_a_sweep_tell_whether_dumps_are_kept_and_the_line_counts_failures(capsys):
    columns = [Column("t", "raw_ir")]
    (kept,), (not_kept,) = (driver._tasks({"a": ("module {}",)}, columns, {}, 1, dumps, {}) for dumps in (True, False))
    assert kept.key != not_kept.key
    line = driver._Progress(3, 0, True)
    for cell in CELLS[:3]:
        line.add(cell)
    line._shown -= 1
    line.show(3)
    assert "sweep: 3 of 3 cells in 0 s, 2 not ok, 3 on their way" in capsys.readouterr().err
