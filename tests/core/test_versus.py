"""`--versus`: two lowerings of one line, side by side."""

import json
import subprocess
import sys

import pytest
from IPython.terminal.interactiveshell import TerminalInteractiveShell

import irwidget
from irwidget import arguments, versus
from irwidget.errors import UsageError
from irwidget.frontends.cell import Call, Candidate

ADD = """func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
"""
MODELS = """import torch
net = torch.nn.ReLU()
other = torch.nn.Sigmoid()
x = torch.ones(2)
"""


@pytest.fixture(scope="module")
def shell():
    made = TerminalInteractiveShell.instance()
    made.run_line_magic("load_ext", "irwidget")
    yield made
    TerminalInteractiveShell.clear_instance()


def test_other_options(shell, capsys):
    shell.run_cell_magic(
        "lower",
        """--to raw_ir --pipeline "mlir-opt --cse" --versus "--pipeline 'mlir-opt --canonicalize'" --text""",
        ADD,
    )
    found = shell.user_ns["_lowering"]
    assert [(one.name, one.left, one.right, one.state) for one in found.passes] == [
        ("input", 0, 0, "same"),
        ("cse", 1, None, "only left"),
        ("canonicalize", None, 1, "only right"),
    ]
    assert found.left.text.count("arith.addi") == 1
    assert found.right.text.count("arith.addi") == 2
    assert found.ends_the_same is False
    said = capsys.readouterr().out
    assert found.summary in said
    assert "IR (raw_ir) and IR (--pipeline 'mlir-opt --canonicalize') (raw_ir): " in said  # which is which


def test_another_model_with_the_same_inputs(shell, capsys):
    shell.run_cell_magic("lower", "--to torch_mlir --model net --inputs x --versus other --text", MODELS)
    found = shell.user_ns["_lowering"]
    assert (found.left.name, found.right.name) == ("net", "other")
    assert "torch.aten.relu" in found.left.text
    assert "torch.aten.sigmoid" in found.right.text
    assert "they start differently" in capsys.readouterr().out


def test_another_type_of_ir(shell, capsys):
    shell.user_ns.update(x=0)
    shell.run_cell_magic("lower", "--to torch_mlir --model net --inputs x --versus '--to tosa_mlir' --text", MODELS)
    found = shell.user_ns["_lowering"]
    assert (found.left.target, found.right.target) == ("torch_mlir", "tosa_mlir")
    assert found.first is None
    capsys.readouterr()
    shell.run_cell_magic(
        "lower", "--to tosa_mlir --versus '--to linalg_on_tensors_mlir' --model net --inputs x --text", MODELS
    )
    found = shell.user_ns["_lowering"]
    names = {pair.name: (pair.state, pair.renamed) for pair in found.passes}
    assert names["convert-torch-to-tosa"] == ("only left", ""), "it is not convert-torch-to-tmtensor under another name"
    assert names["convert-torch-to-tmtensor"] == ("only right", "")
    capsys.readouterr()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--to torch_mlir --model net --versus nett", r"There is no variable 'nett'. Did you mean net"),
        (
            "--to torch_mlir --model net --versus '--pipelin x'",
            r"--versus has no option '--pipelin'. Did you mean --pipeline",
        ),
        ("--to torch_mlir --model net --versus '--html x'", "--versus takes options of a lowering, not --html"),
        ("--to torch_mlir --model net --versus ''", "--versus takes the options of the other side"),
        ("--to torch_mlir --interactive --versus other", "--versus lowers twice, which --interactive does not"),
        ("--command --versus other", "--versus lowers twice, which --command does not"),
        ("--to torch_mlir,tosa_mlir --model net --versus other", "--versus compares two lowerings, not 2 IR types"),
        ("--to torch_mlir --model net --versus 'two words'", "the path of an environment.*, not 'two words'"),
        ("--to torch_mlir --model net --versus 'triton=='", "'triton==' is no toolchain"),
        ("--to torch_mlir --model net --versus ./gone", "There is no environment ./gone"),
        ("--to torch_mlir --interactive --toolchain triton==3.6.0", "leave out --toolchain"),
        ('--to torch_mlir --model net --versus "--O \'1"', "No closing quotation"),
    ],
)
def test_mistakes(shell, line, said):
    with pytest.raises(UsageError, match=said):
        shell.run_cell_magic("lower", line, MODELS)


def test_a_side_that_fails_is_shown_and_told(shell, capsys):
    broken = "--pipeline 'mlir-opt --cse --sccp | user-tool false'"
    line = f'--to raw_ir --pipeline "mlir-opt --cse --canonicalize" --versus "{broken}" --text'
    with pytest.raises(irwidget.ToolError, match="false"):
        shell.run_cell_magic("lower", line, ADD)
    found = shell.user_ns["_lowering"]
    assert found.right.failure is not None
    assert found.ends_the_same is None
    said = "the same after 1 pass; the {} one failed before 1 pass of the {} one; {}; the results are not compared"
    assert found.summary == said.format("right", "left", "0 passes only left, 1 only right")
    assert irwidget.compare(found.right, found.left).summary == said.format(
        "left", "right", "1 pass only left, 0 only right"
    )
    assert [(pair.name, pair.left, pair.right, pair.state) for pair in found.passes] == [
        ("input", 0, 0, "same"),
        ("cse", 1, 1, "same"),
        ("canonicalize", 2, None, "not compared"),
        ("sccp", None, 2, "only right"),
    ]
    assert "the results are not compared" in capsys.readouterr().out


def test_of_two_sides_that_fail_both_are_told(shell, capsys):
    other = "--pipeline 'user-tool sh -c exit\\ 3'"
    line = f'--to raw_ir --pipeline "mlir-opt --cse | user-tool false" --versus "{other}" --text'
    with pytest.raises(irwidget.ToolError, match="^false exited with 1") as raised:
        shell.run_cell_magic("lower", line, ADD)
    assert [note.splitlines()[0].partition("): ")[2] for note in raised.value.__notes__] == [
        "sh exited with 3 and said nothing"
    ]
    assert [low.failure.pass_name for low in raised.value.lowerings.values()] == ["false", "sh"]
    assert "the results are not compared" in capsys.readouterr().out


@pytest.mark.parametrize("left", [{}, {"f": "what was made"}])
def test_after_an_interrupt_the_other_side_is_not_begun(left, monkeypatch):
    begun = []

    def interrupted(candidates, *_):
        begun.append(candidates)
        return left, [irwidget.LoweringInterrupted()]

    monkeypatch.setattr(versus, "lower_all", interrupted)
    parsed = arguments.parse(["--to", "raw_ir", "--versus", "--pipeline='mlir-opt --cse'"], "", objects=False)
    candidate = Candidate("f", ADD, (Call((), told=True),))
    assert versus.compared([candidate], ["raw_ir"], parsed, None, namespace={})[0] == left
    assert len(begun) == 1


def test_the_command_line(tmp_path):
    (tmp_path / "add.mlir").write_text(ADD)
    command = [sys.executable, "-m", "irwidget", "lower", "add.mlir", "--pipeline", "mlir-opt --cse"]
    command += ["--versus", "--pipeline='mlir-opt --canonicalize'"]
    command += ["--save", "both.irtrace", "--html", "both.html", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    answer = json.loads(ran.stdout)
    left, right = answer["lowerings"]
    assert [row["state"] for row in answer["comparison"]["not_the_same"]["items"]] == ["only left", "only right"]
    assert (left["steps"], right["steps"]) == (["mlir-opt --cse"], ["mlir-opt --canonicalize"])
    assert len(irwidget.load_all(tmp_path / "both.irtrace")) == 2
    assert "only right" in (tmp_path / "both.html").read_text()
