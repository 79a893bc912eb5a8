"""What each option may be: told before anything is exported, the same way from Python, a cell and the command line."""

import numpy as np
import pytest
import torch

import irwidget
from irwidget import cli, routes

from .test_magic import run, shell  # noqa: F401


class Untouched(torch.nn.Module):
    def forward(self, x):
        raise AssertionError("it was exported")


def refusal(**options):
    with pytest.raises(irwidget.UsageError) as caught:
        irwidget.lower(Untouched(), torch.ones(2), **{"to": "llvm_ir", **options})
    assert caught.value.lowering is None
    return str(caught.value)


REFUSED = [
    ({"check": "eech"}, "check is True, False or 'each', not 'eech'. Did you mean each?"),
    ({"check": 1}, "check is True, False or 'each', not 1."),
    ({"check": None}, "check is True, False or 'each', not None."),
    ({"timeout": -1}, "timeout is a number of seconds above 0, not -1."),
    ({"timeout": 0}, "timeout is a number of seconds above 0, not 0."),
    ({"timeout": float("nan")}, "timeout is a number of seconds above 0, not nan."),
    ({"timeout": float("inf")}, "timeout is a number of seconds above 0, not inf."),
    ({"timeout": 1e300}, "timeout is a number of seconds above 0, not 1e+300."),
    ({"timeout": "5"}, "timeout is a number of seconds above 0, not '5'."),
    ({"timeout": True}, "timeout is a number of seconds above 0, not True."),
    ({"memory": -2.5}, "memory is a number of GiB above 0, not -2.5."),
    ({"memory": float("nan")}, "memory is a number of GiB above 0, not nan."),
    ({"memory": "4"}, "memory is a number of GiB above 0, not '4'."),
    ({"memory": False}, "memory is a number of GiB above 0, not False."),
    ({"to": None}, "Say what to lower to: to='torch_script_graph_ir', or a list of names; to is None"),
    ({"to": []}, "Say what to lower to: to='torch_script_graph_ir', or a list of names; to is []"),
    ({"to": 5}, "Say what to lower to: to='torch_script_graph_ir', or a list of names; to is 5"),
    (
        {"to": ["tosa_mlir", 5]},
        "to is the name of an IR type, as in 'torch_script_graph_ir', or a list of names; 5 is none",
    ),
    (
        {"to": ["tosa_mlir", "llvm_irr"]},
        "Unknown IR type 'llvm_irr'. Did you mean llvm_ir or llvm_mlir or triton_llvm_ir?",
    ),
    (
        {"pipeline": ["mlir-opt --cse"]},
        "pipeline is one line of text, as in 'mlir-opt --cse | opt -O2', not ['mlir-opt --cse'].",
    ),
    ({"name": 5}, "name is a text, not 5."),
    ({"route": "explorr"}, "route is 'robust' or 'explorer', not 'explorr'. Did you mean explorer?"),
    ({"route": None}, "route is 'robust' or 'explorer', not None."),
    ({"kwargs": [1]}, "kwargs is a mapping from names to values, not [1]."),
    ({"dumps": "no"}, "dumps is True or False, not 'no'."),
    ({"elide": 0}, "elide is True or False, not 0."),
    ({"isolate": "yes"}, "isolate is True or False, not 'yes'."),
    ({"external": None}, "external is True or False, not None."),
    ({"progress": 3}, "progress is a function, not 3."),
    ({"O": 4}, "O is 0, 1, 2 or 3, not 4."),
    ({"O": True}, "O is 0, 1, 2 or 3, not True."),
    ({"kernels": "no"}, "kernels is True or False, not 'no'."),
    ({"arch": 80}, "arch is a text, as in 'sm_90' or 'gfx942', not 80."),
    ({"timout": 5}, "lower(to='llvm_ir') has no option 'timout'. Did you mean timeout or route or to?"),
    (
        {"to": ["llvm_ir", "helion_mlir"], "open_tile": True},
        "lower(to=['llvm_ir', 'helion_mlir']) has no option 'open_tile'. Did you mean open_tiles?",
    ),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_bad_value_is_refused_before_the_export(options, message):
    assert refusal(**options) == message


@pytest.mark.parametrize(
    ("to", "options", "message"),
    [
        ("nvptx", {"arch": "sm_9"}, "nvptx: no architecture 'sm_9'. Did you mean sm_90 or"),
        ("tosa_mlir", {"arch": "sm_9"}, "There is no architecture 'sm_9'. Did you mean sm_90 or"),
        ("triton_ir", {"arch": "sm_91"}, "unknown architecture 'sm_91' for a Triton kernel. Did you mean sm_"),
        ("helion_mlir", {"aten": "linalg"}, "There is no output type 'linalg' for ATen nodes. Did you mean linalg-on"),
    ],
)
def test_a_misspelt_architecture_or_form_is_refused_before_the_export(to, options, message):
    assert refusal(to=to, **options).startswith(message)


def test_each_ir_type_gets_the_options_that_it_takes():
    wanted = [irwidget.targets()[name] for name in ("nvptx", "triton_nvptx", "helion_mlir", "spyre_opspec")]
    given = {"arch": "sm_80", "O": 2, "config": 1, "aten": "raw", "cores": 8, "BLOCK": 64}
    shares = {target.name: routes.share([target], wanted, given) for target in wanted}
    assert {name: list(share) for name, share in shares.items()} == {
        "nvptx": ["arch", "O"],
        "triton_nvptx": ["arch", "config", "BLOCK"],
        "helion_mlir": ["config", "aten"],
        "spyre_opspec": ["cores"],
    }


def test_numpys_numbers_are_numbers(mlp):
    low = irwidget.lower(mlp, torch.ones(2, 4), to="torch_mlir", timeout=np.float32(60), memory=np.int64(8))
    assert low.failure is None


FROM_WORDS = [
    ("--check eech", "check is True, False or 'each', not 'eech'. Did you mean each?"),
    ("--timeout -1", "timeout is a number of seconds above 0, not -1.0."),
    ("--timeout nan", "timeout is a number of seconds above 0, not nan."),
    ("--timeout soon", "timeout is a number of seconds above 0, not 'soon'."),
    ("--memory 0", "memory is a number of GiB above 0, not 0.0."),
    ("--route explorr", "route is 'robust' or 'explorer', not 'explorr'. Did you mean explorer?"),
    ("--O 7", "O is 0, 1, 2 or 3, not '7'."),
    ("--arch sm_9", "There is no architecture 'sm_9'. Did you mean sm_90 or sm_89 or sm_90a?"),
    ("--pipeline 'mliropt --cse'", "Unknown tool 'mliropt' in the pipeline. Did you mean mlir-opt or"),
]


@pytest.mark.parametrize(("words", "message"), FROM_WORDS)
def test_a_cell_is_not_run_with_a_bad_option(words, message, run, shell):  # noqa: F811
    shell.user_ns.pop("ran", None)
    with pytest.raises(irwidget.UsageError) as caught:
        run(f"%%lower --to tosa_mlir {words}\nran = True")
    assert str(caught.value).startswith(message)
    assert "ran" not in shell.user_ns


@pytest.mark.parametrize("words", ["", "--to ,", "--to tosa_mlirr"])
def test_a_cell_is_not_run_without_a_target(words, run, shell):  # noqa: F811
    shell.user_ns.pop("ran", None)
    with pytest.raises(irwidget.UsageError, match="Say what to lower to|Did you mean tosa_mlir"):
        run(f"%%lower {words}\nran = True")
    assert "ran" not in shell.user_ns


@pytest.mark.parametrize(("words", "message"), FROM_WORDS[:4])
def test_the_command_line_says_the_same(words, message, tmp_path, capsys):
    path = tmp_path / "model.py"
    path.write_text("raise AssertionError('it was run')")
    assert cli.main(["lower", str(path), "--to", "tosa_mlir", *words.split()]) == 2
    assert f"UsageError: {message}" in capsys.readouterr().err


@pytest.mark.parametrize("options", [{"timeout": "5"}, {"memory": -1}, {"pipeline": ["x"]}, {"name": 5}])
def test_the_pipeline_widget_goes_by_the_same_table(options):
    with pytest.raises(irwidget.UsageError, match=next(iter(options))):
        irwidget.Pipeline(Untouched(), torch.ones(2), **options)


class Branch(torch.nn.Module):
    """What TorchScript's tracer takes and torch.export does not."""

    def forward(self, x):
        return x if x.sum() > 0 else -x


class Keyed(torch.nn.Module):
    """What torch.export takes and TorchScript's tracer does not: a dict of results."""

    def forward(self, x):
        return {"sum": x + 1}


def made(lowerings):
    """Those that nothing has refused; of each there is what can be minimised."""
    return [name for name, low in lowerings.items() if low.failure is None]


def test_what_only_the_export_refuses_leaves_the_torchscript():
    wanted = ["tosa_mlir", "torch_script_graph_ir", "nvptx"]
    with pytest.raises(irwidget.ExportError, match="torch.export cannot trace Branch") as caught:
        irwidget.lower(Branch(), torch.ones(2), to=wanted)
    assert list(caught.value.lowerings) == wanted
    assert made(caught.value.lowerings) == ["torch_script_graph_ir"]
    assert caught.value.__notes__ == ["It is the same for tosa_mlir, nvptx"]


def test_what_only_torchscript_refuses_leaves_the_rest():
    wanted = ["torch_script_graph_ir", "tosa_mlir", "linalg_on_tensors_mlir"]
    with pytest.raises(irwidget.ExportError, match="torch.jit.trace cannot trace Keyed") as caught:
        irwidget.lower(Keyed(), torch.ones(2), to=wanted)
    assert list(caught.value.lowerings) == wanted
    assert made(caught.value.lowerings) == ["tosa_mlir", "linalg_on_tensors_mlir"]


def test_an_ir_type_of_another_source_costs_itself_only(mlp):
    with pytest.raises(irwidget.UsageError, match="helion_mlir starts from a Helion kernel") as caught:
        irwidget.lower(mlp, torch.ones(2, 4), to=["helion_mlir", "tosa_mlir", "raw_ir"])
    assert list(caught.value.lowerings) == ["tosa_mlir"]
    assert caught.value.__notes__ == ["raw_ir: raw_ir starts from IR text, not from a MLP"]


def test_a_cell_for_all_shows_what_could_be_made(run, shell):  # noqa: F811
    cell = "import torch\ndef branch(x):\n    return x if x.sum() > 0 else -x\nx = torch.ones(2)"
    with pytest.raises(irwidget.ExportError, match="torch.export cannot trace branch"):
        run(f"%%lower --all --text\n{cell}")
    assert made(shell.user_ns["_lowering"]) == ["torch_script_graph_ir"]


def test_a_model_that_cannot_be_exported_is_not_tried_for_every_ir_type():
    calls = []

    class Counts(torch.nn.Module):
        def forward(self, x):
            calls.append(x.shape)
            return x if x.sum() > 0 else -x

    with pytest.raises(irwidget.ExportError):
        irwidget.lower(Counts(), torch.ones(2), to=["torch_mlir", "tosa_mlir", "llvm_ir"])
    assert len(calls) == 1
