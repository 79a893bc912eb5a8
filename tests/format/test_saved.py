"""A lowering that was loaded behaves like the one that was saved."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
import torch

import irwidget
from irwidget import UsageError, cli
from irwidget.helion import linking
from irwidget.result import Lowering, save
from irwidget.trace import Trace, dump
from irwidget.views.helion import KernelView
from irwidget.views.lowerings import show
from tests.format import traces
from tests.format.reader import read


@pytest.fixture(scope="module")
def low(request):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU()).eval()
    return irwidget.lower(model, torch.randn(2, 4), to="llvm_ir", check=True)


@pytest.fixture(scope="module")
def again(low, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "x.irtrace"
    assert low.save(path) == path
    return irwidget.load(path)


def test_a_real_lowering_comes_back(low, again):
    assert traces.plain(again.trace) == traces.plain(low.trace)
    assert (again.text, again.target, again.name, again.check) == (low.text, low.target, low.name, low.check)
    assert again.check.ok
    assert again.to_dict() == low.to_dict()


def test_it_is_shown_as_the_fresh_one_is(low, again):
    fresh, loaded = show([low.trace]), show([again.trace])
    try:
        assert loaded.fallbacks() == fresh.fallbacks()
        assert read(loaded.data) == read(fresh.data)
    finally:
        fresh.close()
        loaded.close()
    assert again.to_html() == low.to_html()


def test_what_takes_the_object_says_so(again):
    said = r"not available: this lowering was loaded from .*x\.irtrace.*Lower it again"
    for ask in (lambda: again.expand(-1), again.run):
        with pytest.raises(UsageError, match=said):
            ask()


def test_a_triton_kernel_keeps_its_machine_code(tmp_path):
    pytest.importorskip("triton")
    attached = {"kernel.cubin": bytes(range(256)) * 40_000}
    low = Lowering(Trace("triton_nvptx", (dump("a", "x\n", step=0),), attachments=attached))
    assert irwidget.load(low.save(tmp_path / "k.irtrace")).trace.attachments == attached


def test_a_helion_kernel_keeps_its_columns(tmp_path):
    pytest.importorskip("helion")
    from tests.helion import kernels_pointwise as kernels

    x = torch.randn(64, 64)
    low = irwidget.lower(kernels.add, x, x, to="helion_mlir")
    assert low.trace.nodes
    again = irwidget.load(low.save(tmp_path / "k.irtrace"))
    assert traces.plain(again.trace) == traces.plain(low.trace)
    owners = [[linking.owners_of(one.content) for one in found.dumps] for found in (low, again)]
    assert owners[0] == owners[1]
    assert any(owner for column in owners[1] for owner in column)
    fresh, loaded = KernelView([low.trace]), KernelView([again.trace])
    assert loaded.links[0].data == fresh.links[0].data
    assert loaded.links[0].links == fresh.links[0].links
    fresh.close()
    loaded.close()


def test_ir_is_still_saved_as_ir(low, tmp_path):
    assert low.save(tmp_path / "x.mlir").read_text() == low.text


def test_several_lowerings_in_one_file_are_told_apart(low, tmp_path):
    path = save([low, low], tmp_path / "two.irtrace")
    assert traces.plain(irwidget.load(path, 1).trace) == traces.plain(low.trace)
    assert len(irwidget.load_all(path)) == 2
    with pytest.raises(UsageError, match=r"holds 2 lowerings \(0: .*to llvm_ir, 1: .*load\(path, 0\)"):
        irwidget.load(path)
    for number in (2, -1):
        with pytest.raises(UsageError, match=f"no lowering {number}.*holds 2"):
            irwidget.load(path, number)
    with pytest.raises(UsageError, match=r"kept in \.irtrace files: .*x\.irtrace"):
        save([low], tmp_path / "x.html")


def test_a_file_that_is_not_there_or_cannot_be_written(low, tmp_path):
    with pytest.raises(UsageError, match="There is no file"):
        irwidget.load(tmp_path / "no.irtrace")
    with pytest.raises(UsageError, match="is no file"):
        irwidget.load(tmp_path)
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        low.save(tmp_path / "nowhere" / "x.irtrace")
    (tmp_path / "x.irtrace").write_text("module {}")
    with pytest.raises(UsageError, match=r"x\.irtrace: It is no \.irtrace file"):
        irwidget.load(tmp_path / "x.irtrace")
    kept = sorted(tmp_path.iterdir())
    low.save(tmp_path / "x.irtrace")
    assert sorted(tmp_path.iterdir()) == kept
    assert stat.S_IMODE((tmp_path / "x.irtrace").stat().st_mode) == stat.S_IMODE(kept[0].stat().st_mode)


def test_the_command_line_saves_and_shows(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text("func.func @f(%a: i32) -> i32 {\n  %b = arith.addi %a, %a : i32\n  return %b : i32\n}\n")
    asked = ["lower", "f.mlir", "--to", "raw_ir", "--pipeline", "mlir-opt --canonicalize --cse"]
    assert cli.main([*asked, "--save", "x.irtrace"]) == 0
    assert capsys.readouterr().out == "wrote x.irtrace\n"
    assert [one.name for one in irwidget.load("x.irtrace").dumps][1:] == ["canonicalize", "cse"]
    assert cli.main(asked) == 0
    fresh = capsys.readouterr().out
    assert cli.main(["show", "x.irtrace"]) == 0
    assert re.sub(r"[\d.]+ ?m?s", "", capsys.readouterr().out) == re.sub(r"[\d.]+ ?m?s", "", fresh)
    assert cli.main(["show", "x.irtrace", "--html", "page.html"]) == 0
    assert "irw-view" in Path("page.html").read_text()
    Path("bad.irtrace").write_text("x")
    assert cli.main(["show", "bad.irtrace"]) == 2
    assert "no .irtrace file" in capsys.readouterr().err
