"""A compiler of somebody else's, installed from a wheel: its IR type lowers, completes and is explained as ours are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dist import clean

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

CELL = """
import warnings
warnings.simplefilter("error", RuntimeWarning)
from IPython.core.completer import provisionalcompleter
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from IPython.utils.capture import capture_output

import irwidget

shell = TerminalInteractiveShell.instance()

def run(cell):
    with capture_output() as said:
        shell.run_cell(cell).raise_error()
    return said.stdout

def refused(cell):
    try:
        run(cell)
    except irwidget.UsageError as error:
        return str(error)

run("%load_ext irwidget")
told = run('''%%lower --to abacus_moves --beads 5 --text
from irwidget_abacus import Sum
three = Sum("1 + 2")''')
low = shell.user_ns["_lowering"]
assert [dump.name for dump in low.dumps] == ["sum", "fold", "move"], low.dumps
assert low.text == "move 3\\n", low.text
assert low.steps[0].arguments == "--fold --move --beads=5 --style=japanese", low.steps
assert low.tools == {"irwidget-abacus": "0.1.0"}, low.tools
assert "three -> abacus_moves: 2 passes" in told, told
assert "irw-bundle-viewer" in low.to_html()

said = refused("%lower three --to abacus_moves --beads 99")
assert said == "beads is a number from 2 to 20, not 99.", said
said = refused("%lower three --to abacus_moves --style chinees")
assert said == "style is 'chinese' or 'japanese', not 'chinees'. Did you mean chinese?", said
said = refused("%lower three --to abacus_moves --bead 3")
assert said.startswith("%lower has no option '--bead'. Did you mean --beads or "), said
run("import irwidget")
said = refused("irwidget.lower(three, to='abacus_moves', bead=3)")
assert said == "lower(to='abacus_moves') has no option 'bead'. Did you mean beads?", said
said = refused("%lower three --to tosa_mlir")
assert said == "three is a Sum of Abacus: lower it to one of the IR types abacus_moves", said
said = refused("irwidget.lower('1 + 2', to='abacus_moves', pipeline='mlir-opt --cse')")
assert said == "mlir-opt reads MLIR, but abacus_moves is abacus", said
again = irwidget.lower("4 + 5", to="abacus_moves", pipeline="abacus-opt --fold | abacus-opt --move")
assert again.text == "move 9\\n", again.text

def complete(line):
    with provisionalcompleter():
        return {one.text for one in shell.Completer.completions(line, len(line))}

assert "abacus_moves" in complete("%%lower --to aba")
assert "--beads" in complete("%%lower --to abacus_moves --be")
assert complete("%%lower --to abacus_moves --style ja") == {"japanese"}
help = shell.object_inspect_text("%%lower")
assert "--beads" in help and "beads on a rod, 2 to 20" in help and "from a Sum of Abacus" in help, help
assert "abacus_moves" in run("%lower --targets")
doctor = run("%lower --doctor")
assert "abacus_moves            yes         irwidget-abacus 0.1.0" in doctor, doctor
assert "irwidget-abacus  0.1.0  frontends: abacus, targets: abacus_moves, tools: abacus-opt" in doctor, doctor
from irwidget.toolchain import client
client.shutdown()
"""

SWEEP = """
import irwidget
from irwidget_abacus import Sum

if __name__ == "__main__":
    swept = irwidget.sweep(
        {"three": (Sum("1 + 2"),), "nine": (Sum("4 + 5"),)},
        {"few": {"to": "abacus_moves", "beads": 3}, "many": "abacus_moves"},
        progress=False,
    )
    print(sorted((cell.model, cell.target, cell.status, cell.passes, cell.message) for cell in swept.cells))
"""

COMMAND = """
import pathlib, sys
from irwidget import cli

pathlib.Path("sums.py").write_text("from irwidget_abacus import Sum\\nthree = Sum('1 + 2')\\n")
pathlib.Path("sum.txt").write_text("4 + 5")
assert cli.main(["lower", "sums.py", "--to", "abacus_moves", "--beads", "4"]) == 0
assert cli.main(["lower", "sum.txt", "--to", "abacus_moves", "--no-dumps"]) == 0
assert cli.main(["lower", "sum.txt", "--to", "abacus_moves", "--beads", "1"]) == 2
"""

DOCS = """
import runpy, sys
made = runpy.run_path(sys.argv[1])
print(made["types"](), made["magic"](), made["signatures"]())
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    return clean.environment(folder, clean.wheel(ROOT, folder), clean.wheel(HERE, folder))


def test_it_is_short():
    assert len((HERE / "irwidget_abacus.py").read_text().splitlines()) <= 60


def test_a_cell_lowers_by_it(python):
    clean.run(python, CELL)


def test_a_sweep_lowers_by_it(python):
    said = clean.run(python, SWEEP)
    cells = [(model, column, "ok", 2, "") for model in ("nine", "three") for column in ("few", "many")]
    assert said == f"{cells}\n"


def test_the_command_line_lowers_by_it(python):
    said = clean.run(python, COMMAND)
    assert "three -> abacus_moves: 2 passes" in said
    assert said.endswith("move 9\n\n")


def test_the_docs_have_its_rows(python):
    said = clean.run(python, DOCS, str(ROOT / "docs" / "generate.py"))
    assert "| `abacus_moves` | a Sum of Abacus | moves of beads | abacus | irwidget-abacus |" in said
    assert "| beads | `int` | a number from 2 to 20; default `10` | `--beads`: beads on a rod, 2 to 20 |" in said
    assert "| `abacus-opt` | moves beads |" in said
    assert 'style: Literal["chinese", "japanese"] = ...,' in said
