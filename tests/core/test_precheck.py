"""A pipeline is read by its tools before the model is exported: misspelt passes, options and programs are told."""

import pytest
import torch

import irwidget
from tests.core.test_magic import run, shell  # noqa: F401
from tests.core.test_options import Untouched
from tests.core.test_pipelines import needs_llvm


def refusal(pipeline, kind=irwidget.UsageError, **options):
    with pytest.raises(kind) as caught:
        irwidget.lower(Untouched(), torch.ones(2), to="linalg_on_tensors_mlir", pipeline=pipeline, **options)
    assert caught.value.lowering is None
    return str(caught.value)


TOP_DOWN = "canonicalize has no option 'top-dwn'. Did you mean top-down?"
REFUSED = [
    ("mlir-opt --canonicalize=top-dwn=false", f"mlir-opt cannot run --canonicalize=top-dwn=false: {TOP_DOWN}"),
    (
        "mlir-opt --pass-pipeline='builtin.module(canonicalize{top-dwn=false})'",
        f"mlir-opt cannot run 'builtin.module(canonicalize{{top-dwn=false}})': {TOP_DOWN}",
    ),
    ("mlir-opt --canonicalize=top-down=flase", "'flase' is invalid value for boolean argument"),
    ("mlir-opt --cse cse", "mlir-opt got 'cse': passes are written --cse"),
    ("mlir-opt --cse | mlir-opt --canonicalise", "Did you mean"),
    ("mlir-opt --pass-pipeline='builtin.module(func.func(canonicalise))'", "Did you mean canonicalize"),
    ("torch-mlir-opt --convert-torch-to-tos", "Did you mean '--convert-torch-to-tosa'?"),
    ("mlir-translate --mlir-to-llvmir | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_8", "no processor 'sm_8'. Did you"),
    ("mlir-translate --mlir-to-llvmir | opt -mtriple=nvptx65", 'compatible with triple "nvptx65"'),
    ("triton-opt --csee", "has no pass 'csee'. Did you mean cse?"),
    ("triton-opt --tritongpu-coalesce=foo=1", "tritongpu-coalesce has no option 'foo'"),
    ("triton-llvm-opt -O7", "does not know 'O7'. Did you mean O0 or O1 or O2"),
    ("user-tool", "user-tool needs a program"),
    ("opt -O2", "opt reads LLVM IR, but linalg_on_tensors_mlir is MLIR"),
    ("mlir-opt --cse | llc", "llc reads LLVM IR, but mlir-opt leaves MLIR"),
    ("mlir-translate --mlir-to-llvmir | mlir-opt --cse", "mlir-opt reads MLIR, but mlir-translate leaves LLVM IR"),
]


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize(("pipeline", "message"), REFUSED)
def test_what_no_ir_can_make_right_is_told_at_once(pipeline, message, isolate):
    assert message in refusal(pipeline, isolate=isolate)


BY_PROGRAM = [
    ("mlir-opt --canonicalise", "Unknown command line argument '--canonicalise'. Did you mean '--canonicalize'?"),
    ("mlir-opt --canonicalize=top-dwn=false", "no such option top-dwn"),
    ("mlir-opt --pass-pipeline='builtin.module(canonicalise)'", "'canonicalise' does not refer to a registered pass"),
    ("mlir-translate --mlir-to-llvmi", "Did you mean '--mlir-to-llvmir'?"),
    ("user-tool cat | opt -passes=instcombin", "unknown pass name 'instcombin'. Did you mean instcombine"),
    (
        "user-tool cat | opt -passes=sink,tysan",
        "unknown function pass 'tysan'. --print-passes has it among 'Module passes', which do not stand here",
    ),
    ("user-tool cat | opt -O2 -mtripl=x", "Did you mean '--mtriple=x'?"),
]


@pytest.mark.parametrize("_", [pytest.param("", marks=needs_llvm)])
@pytest.mark.parametrize(("pipeline", "message"), BY_PROGRAM)
def test_real_programs_are_asked_too(pipeline, message, _):
    assert message in refusal(pipeline, external=True)


@pytest.mark.parametrize("_", [pytest.param("", marks=needs_llvm)])
def test_asking_writes_nothing(_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(irwidget.ExportError):
        refusal(f"user-tool cat | opt -O2 -passes=dot-cfg -o {tmp_path}/kept | llc -o={tmp_path}/kept", external=True)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_text() == "mine"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("nonesuch", "there is no program 'nonesuch' on PATH; give its path, as in ./nonesuch."),
        ("sedd s/a/b/", "Did you mean sed"),
        ("./mime", "there is no program './mime'. Did you mean ./mine?"),
        ("mine", "'mine' is a file, but not on PATH: give its path, as in ./mine"),
        ("./mine", "'./mine' is a file, but nobody may execute it: chmod +x ./mine"),
    ],
)
def test_a_program_that_is_not_there_is_missed_at_once(program, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("#!/bin/sh\ncat\n")
    assert message in refusal(f"mlir-opt --cse | user-tool {program}", irwidget.ToolError)


def test_what_depends_on_the_ir_is_a_failure_at_its_step(mlp):
    with pytest.raises(irwidget.PassError) as caught:
        irwidget.lower(mlp, torch.ones(2, 4), to="torch_mlir", pipeline="mlir-opt --transform-interpreter")
    assert caught.value.lowering.dumps[-1].language == "mlir"


def test_a_pipeline_that_fits_one_of_two_ir_types_runs_there(mlp):
    with pytest.raises(irwidget.UsageError, match="mlir-opt reads MLIR, but llvm_ir is LLVM IR") as caught:
        irwidget.lower(mlp, torch.ones(2, 4), to=["llvm_ir", "tosa_mlir"], pipeline="mlir-opt --cse")
    assert caught.value.lowerings["tosa_mlir"].dumps[-1].name == "cse"


def test_a_cell_is_not_run(run, shell):  # noqa: F811
    shell.user_ns.pop("ran", None)
    with pytest.raises(irwidget.UsageError, match="top-down"):
        run("%%lower --to tosa_mlir --pipeline 'mlir-opt --canonicalize=top-dwn=1'\nran = True")
    with pytest.raises(irwidget.UsageError, match="top-down"):
        run("%%lower --interactive --to tosa_mlir --pipeline 'mlir-opt --canonicalize=top-dwn=1'\nran = True")
    with pytest.raises(irwidget.UsageError, match="top-down"):
        run("%%lower --interactive --pipeline 'mlir-opt --canonicalize=top-dwn=1'\nran = True")
    assert "ran" not in shell.user_ns


def test_a_pipeline_that_does_not_fit_is_not_blamed_on_the_inputs(run, shell):  # noqa: F811
    cell = "import torch\nnet = torch.nn.Linear(4, 8)\na, b = torch.ones(2, 4), torch.ones(3, 4)"
    with pytest.raises(irwidget.UsageError, match="^opt reads LLVM IR, but tosa_mlir is MLIR$"):
        run(f"%%lower --to tosa_mlir --pipeline 'opt -O2'\n{cell}")
    with pytest.raises(irwidget.UsageError, match="^opt reads LLVM IR, but tosa_mlir is MLIR$"):
        run(f"%%lower --to tosa_mlir,llvm_ir --pipeline 'opt -O2' --text\n{cell}")
    assert shell.user_ns["_lowering"].target == "llvm_ir"
