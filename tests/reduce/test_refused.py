"""What a front end refuses: a lowering of its source alone, which can be made small, and what others do with it."""

import pytest
import torch
from IPython.terminal.interactiveshell import TerminalInteractiveShell

import irwidget
from irwidget import ExportError, cli
from irwidget.reducing import earlier, python
from irwidget.views.widget import PassDiff

BEFORE = """\
import torch, triton, triton.language as tl
unused = 1
@triton.jit
def helper(x):
    return x * 2
size = 64
size = 128
"""
KERNEL = """\
@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    z = tl.dot(helper(i), i)
    tl.store(x + i, z)
kernel[(1,)](torch.ones(1024), BLOCK=size)
"""


@pytest.fixture(scope="module")
def low():
    """A cell that Triton refuses, which takes names of others."""
    shell = TerminalInteractiveShell.instance()
    shell.run_line_magic("load_ext", "irwidget")
    for cell in (BEFORE, "%time 1 + 1", "1 +", f"%%lower --to triton_ir --arch sm_90 --text\n{KERNEL}"):
        shell.run_cell(cell, store_history=True)
    yield shell.user_ns["_lowering"]
    TerminalInteractiveShell.clear_instance()


def test_a_cell_that_is_refused_can_be_made_small(low):
    assert (low.text, low.target, low.failure.pass_name) == (KERNEL, "triton_ir", "ast-to-ttir")
    assert low.dumps[0].locations[3].line == low.failure.diagnostics[0].location.line == 5
    view = PassDiff([low.trace], lowerings=[low])
    assert view.reducible == [{"trace": 0, "ir": False, "program": True}]
    view.close()


def test_a_cell_by_itself_begins_with_what_it_takes_from_others(low):
    text = low.origin.cell.alone()
    assert text.endswith(KERNEL)
    assert python.unbound(text) == set()
    assert [word for word in ("unused", "64", "%time") if word in text] == []


@pytest.mark.exhaustive
def test_it_becomes_small(low):
    reduced = low.reduce()
    assert reduced.operations <= 5 < reduced.before
    assert "equal ranks" in reduced.message
    assert "irwidget lower program.py --to triton_ir --arch sm_90" in reduced.report


def test_names_are_looked_for_in_the_last_cell_that_has_them():
    cells = [
        "a = 1\nb = a",
        "a = 2\nc = 0",
        "get_ipython().run_cell_magic('lower', '--to x', '!true\\nd = b\\n')",
        "d += c",
        "d = (",
    ]
    assert earlier.alone("d + a", cells) == "a = 1\nb = a\na = 2\nc = 0\nd = b\nd += c\nd + a"
    assert earlier.alone("e = 1\ne", cells) == "e = 1\ne"
    assert earlier.alone("d(", cells) == "d("


def branch(x):
    return x if x.sum() > 0 else -x


def test_nothing_is_compared_with_what_was_refused():
    with pytest.raises(ExportError) as error:
        irwidget.lower(branch, torch.ones(2), to=["torch_mlir", "tosa_mlir"])
    assert [(name, low.target) for name, low in error.value.lowerings.items()] == [
        ("torch_mlir", "torch_mlir"),
        ("tosa_mlir", "tosa_mlir"),
    ]
    assert error.value.__notes__ == ["It is the same for torch_mlir, tosa_mlir"]
    refused = error.value.lowering
    assert refused is error.value.lowerings["torch_mlir"]
    assert "return x if" in refused.text
    whole = irwidget.lower(torch.relu, torch.ones(2), to="torch_mlir")
    compared = irwidget.compare(whole, refused)
    assert compared.summary == "not compared: the right one was refused before the first pass, so it has none"
    assert (compared.first, compared.ends_the_same) == (None, None)
    assert {(one.right, one.state) for one in compared.passes} == {(None, "not compared")}
    with pytest.raises(
        irwidget.UsageError, match="There is no graph to make smaller .torch.export cannot trace branch"
    ):
        refused.reduce()


def test_no_source_is_written_for_ir(tmp_path, capsys):
    path, out = tmp_path / "model.py", tmp_path / "out.mlir"
    path.write_text(
        "import irwidget, torch\ndef branch(x):\n    return x if x.sum() > 0 else -x\n"
        "irwidget.explore(branch, torch.ones(2))\n"
    )
    assert cli.main(["lower", str(path), "--to", "torch_mlir", "-o", str(out)]) == 1
    assert not out.exists()
    assert cli.main(["lower", str(path), "--to", "torch_mlir", "--no-dumps"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "cannot trace branch" in said.err
