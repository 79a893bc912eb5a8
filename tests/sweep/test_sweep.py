"""Sweeps: every cell accounted for, whatever happens to the processes that run them."""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import torch
from torch import nn

from irwidget.errors import ToolError, UsageError
from irwidget.sweeps import Case, driver, load, process, sweep
from irwidget.sweeps.cells import failing_op


class Aborts(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        os.abort()


class Hangs(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time.sleep(60)
        return x


class Volume(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.det(x[..., None] * x[..., None, :])


def linear(width: int = 4):
    return nn.Linear(width, 2), torch.zeros(1, width)


@pytest.mark.parametrize(("message", "op"), [
    ("failed to legalize operation 'torch.aten.atan2' that was explicitly marked illegal", "torch.aten.atan2"),
    ("'linalg.generic' op expected the shaped-type", "linalg.generic"),
    ("The program uses aten.foo.default", "aten.foo.default"),
    ("LLVM ERROR: Cannot select: 0x55: f32 = fexp 0x56", "fexp"),
    ("out of memory", ""),
])  # fmt: skip
def test_the_op_of_a_message(message: str, op: str) -> None:
    assert failing_op(message) == op


def test_every_cell_is_alone_and_the_file_goes_on(tmp_path) -> None:
    """A crash, a hang and a rejected op cost their own cells; the same call runs only what is new."""
    path = tmp_path / "sweep.parquet"
    models = {
        "volume": (Volume(), torch.ones(2)), "aborts": (Aborts(), torch.ones(2)),
        "kwargs": Case(nn.Linear(4, 2), kwargs={"input": torch.zeros(1, 4)}),
    }  # fmt: skip
    first = sweep(models, ["tosa_mlir"], path=path, timeout=60)
    assert {cell.model: cell.status for cell in first} == {
        "volume": "failed", "aborts": "crashed", "kwargs": "ok",
    }  # fmt: skip
    volume = first["volume", "tosa_mlir"]
    assert (volume.pass_name, volume.op) == ("convert-torch-to-tosa", "torch.aten.linalg_det")
    assert volume.place.startswith(__file__)
    assert "SIGABRT" in first["aborts", "tosa_mlir"].message
    assert "tosa" in first.lowering("kwargs", "tosa_mlir").text
    assert not (tmp_path / "sweep.parquet.parts").exists()

    again = sweep(models, {"tosa_mlir": "tosa_mlir", "sm_90": {"to": "nvptx", "arch": "sm_90"}}, path=path, timeout=60)
    assert again["volume", "tosa_mlir"] == volume  # its time and all: it has not run again
    assert ".target sm_90" in again.lowering("kwargs", "sm_90").text
    assert again.counts == {"ok": 3, "failed": 1, "crashed": 2}
    assert load(path).cells == again.cells
    assert again.compare(first).added
    assert not again.compare(first).regressed
    assert "volume to tosa_mlir: failed: convert-torch-to-tosa: torch.aten.linalg_det" in str(again)


def test_a_hang_is_ended(monkeypatch) -> None:
    monkeypatch.setattr(process, "GRACE", 4.0)
    cell = sweep({"hangs": (Hangs(), torch.ones(2))}, ["tosa_mlir"], timeout=2)["hangs", "tosa_mlir"]
    assert cell.status == "timeout"


@pytest.mark.exhaustive  # two processes
def test_a_process_that_ended_while_it_had_nothing_to_do_is_replaced() -> None:
    with ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            assert sweep({"linear": linear()}, ["torch_mlir"], pool)["linear", "torch_mlir"].status == "ok"
            (one,) = process._idle
            one.kill()
            one.process.wait(60)


def test_comparison_says_what_changed(tmp_path) -> None:
    from dataclasses import replace

    from irwidget.sweeps import Cell, Sweep

    before = Sweep([Cell("a", "t", "ok"), Cell("b", "t", "failed", pass_name="p"), Cell("c", "t", "failed", op="x.y")],
                   {"toolchain": {"torch-mlir": "1", "torch": "2"}})  # fmt: skip
    a, b, c = before.cells
    after = Sweep([replace(a, status="failed", pass_name="q"), replace(b, status="ok"), replace(c, op="z.w")],
                  {"toolchain": {"torch-mlir": "9", "torch": "2"}})  # fmt: skip
    found = after.compare(before)
    assert [[new.model for _, new in pairs] for pairs in (found.regressed, found.fixed, found.moved)] == [
        ["a"], ["b"], ["c"],
    ]  # fmt: skip
    assert found.versions == {"torch-mlir": ("1", "9")}
    assert "a to t: failed: q" in str(found)
    assert "torch-mlir" in found._repr_html_()


@pytest.mark.parametrize(("models", "targets", "toolchains", "message"), [
    ({"a": linear}, ["tosa_mlr"], [], "Did you mean tosa_mlir"),
    ({"a": nn.Linear(2, 2)}, {"x": {"arch": "sm_80"}}, [], "names no IR type"),
    ({"a": 3}, ["tosa_mlir"], [], "give \\(model, \\*inputs\\)"),
    ({"a": linear}, ["tosa_mlir"], "triton==3.6.0", "toolchains is a list"),
    ({"a": linear}, ["tosa_mlir"], ["triton==3.6.0"] * 2, "is there twice"),
])  # fmt: skip
def test_what_cannot_be_swept_is_said_at_once(models, targets, toolchains, message) -> None:
    with pytest.raises(UsageError, match=message):
        sweep(models, targets, toolchains=toolchains)


class Loses(ThreadPoolExecutor):
    """An executor whose workers die with the first cells that they get, as a cluster's do."""

    left = 2

    def submit(self, fn, /, *args, **kwargs) -> Future:
        if self.left:
            self.left -= 1
            lost: Future = Future()
            lost.set_exception(ConnectionError("the worker is gone"))
            return lost
        return super().submit(fn, *args, **kwargs)


def test_a_lost_cell_is_given_again_and_a_closed_executor_is_named() -> None:
    with Loses(1) as executor:
        assert sweep({"linear": linear}, ["torch_mlir"], executor, dumps=False).counts == {"ok": 1}
    with pytest.raises(ToolError, match="takes no more cells"):
        sweep({"linear": linear}, ["torch_mlir"], executor)


@pytest.mark.heavy
@pytest.mark.exhaustive
def test_a_dask_worker_killed_in_the_middle_loses_nothing(tmp_path) -> None:
    distributed = pytest.importorskip("distributed")
    path = tmp_path / "sweep.parquet"
    models = {f"linear {width}": lambda width=width: linear(width) for width in range(2, 7)}
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
        ThreadPoolExecutor(1) as aside,
    ):
        done = aside.submit(sweep, models, ["tosa_mlir", "linalg_on_tensors_mlir"], executor, path=path)
        parts = tmp_path / "sweep.parquet.parts"
        while not parts.exists() or len(list(parts.glob("*.parquet"))) < 3:
            assert not done.done(), "nothing was left to be killed in the middle of"
            time.sleep(0.02)
        os.kill(next(iter(cluster.workers.values())).pid, 9)
        found = done.result(120)
    assert found.counts == {"ok": 10}
    assert load(path).cells == found.cells


def test_how_far_it_is_stays_on_a_page_and_goes_from_a_terminal(monkeypatch, capsys):
    """On a page it was an error to the eye, with nothing in it when all was done."""
    for cell, out, err in (("abc", "sweep: 2 of 3 cells in", ""), (None, "", "sweep: 2 of 3 cells in")):
        monkeypatch.setattr("irwidget.display.cell_id", lambda cell=cell: cell)
        line = driver._Progress(3, 2, True)
        line._shown -= 1
        line.show(1)
        line._shown += 2
        line.end()
        printed = capsys.readouterr()
        assert (out in printed.out, err in printed.err) == (True, True)
        assert bool(printed.out) != bool(printed.err)
        last = (printed.out + printed.err).rstrip("\r").rpartition("\r")[2].strip()
        assert last.startswith(out) if cell else last == ""
