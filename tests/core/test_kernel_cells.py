"""%%lower on cells with Triton and Helion kernels, in a real IPython shell."""

import sys

import pytest
import torch

import irwidget
from irwidget.trace import Location

from .test_magic import run, shell  # noqa: F401

TRITON = """
import torch, triton, triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)

x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
out = torch.empty_like(x)
"""
LAUNCH = "add[(triton.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)\n"
HELION = """
import torch, helion, helion.language as hl

@helion.kernel()
def plus(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(a)
    for tile in hl.tile(a.size()):
        out[tile] = a[tile] + b[tile]
    return out

a, b = torch.randn(100, 70), torch.randn(100, 70)
"""


@pytest.mark.parametrize(
    ("target", "arch", "sign"),
    [
        ("triton_ir", "sm_90", "tt.load"),
        ("triton_gpu_ir", "sm_80", "#ttg.blocked"),
        ("triton_nvptx", "sm_90", ".entry add"),
        ("triton_amdgpu", "gfx942", ".amdhsa_kernel add"),
    ],
)
def test_an_unmodified_launch_lowers(target, arch, sign, run, shell):  # noqa: F811
    printed = run(f"%%lower --to {target} --arch {arch} --text{TRITON}{LAUNCH}")
    assert "CapturedKernel" not in printed
    low = shell.user_ns["_lowering"]
    assert sign in low.text
    assert low.name == "add"


@pytest.mark.parametrize(
    ("target", "cell", "pipeline", "sign"),
    [
        ("triton_ir", TRITON + LAUNCH, "triton-opt --cse", "tt.load"),
        ("helion_mlir", HELION, "mlir-opt --scf-forall-to-for", "scf.for "),
    ],
)
def test_a_pipeline_is_edited_on_the_kernel_of_a_cell(target, cell, pipeline, sign, run, shell):  # noqa: F811
    run(f"%%lower --interactive --to {target} --pipeline '{pipeline}'{cell}")
    made = shell.user_ns["_pipeline"]
    assert sign in made.run().text
    assert made.steps[-1].state == "done"
    made.close()


EXPLORE = "import torch\n__explore__(torch.nn.ReLU(), torch.ones(2))\n"


@pytest.mark.parametrize(("target", "before"), [("triton_ir", TRITON + LAUNCH), ("torch_mlir", EXPLORE)])
def test_what_came_before_an_error_of_the_cell_is_lowered_and_the_cell_fails(target, before, shell, capsys):  # noqa: F811
    """It was taken as done, so that a notebook ran on below its error."""
    error = shell.run_cell(f"%%lower --to {target} --text\n{before}1 / 0").error_in_exec
    assert (type(error).__name__, str(error)) == ("ZeroDivisionError", "division by zero")
    assert shell.user_ns["_lowering"].target == target
    printed = "".join(capsys.readouterr())
    assert printed.count(" division by zero") == 1
    assert printed.index("division by zero") < printed.index(f"-> {target}: ")


def test_a_cell_without_a_launch_says_how(run):  # noqa: F811
    with pytest.raises(irwidget.UsageError, match=r"add\[grid\]\(x, y, out, n, BLOCK\)"):
        run(f"%%lower --to triton_ir{TRITON}")


REFUSED = """
@triton.jit
def bad(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.dot(i, i))

"""


def test_what_came_before_a_refusal_is_shown_beside_it(run, shell):  # noqa: F811
    text = TRITON + REFUSED + LAUNCH + "bad[(1,)](x, BLOCK=16)\n" + LAUNCH
    with pytest.raises(irwidget.PassError, match="bad does not compile: .*equal ranks") as error:
        run(f"%%lower --to triton_ir --text --out kept{text}")
    kept = shell.user_ns["kept"]
    assert error.value.lowerings == kept == shell.user_ns["_lowering"]
    assert list(kept) == ["add", "bad"]
    assert "tt.load" in kept["add"].text
    refused = kept["bad"]
    assert error.value.lowering is refused
    assert refused.trace.refused
    assert refused.text == text.removeprefix("\n")
    assert refused.dumps[0].locations[text[1:].split("\n").index("    tl.store(x + i, tl.dot(i, i))")] == Location(
        refused.failure.diagnostics[0].location.file, refused.failure.diagnostics[0].location.line
    )
    mended = refused.edit(source=refused.source.replace("tl.dot(i, i)", "i + i")).run()
    assert "tt.func public @bad" in mended.text


def test_a_call_of_another_kind_leaves_what_was_launched_before(run, shell):  # noqa: F811
    """The arguments are wrong: there is nothing of it to show."""
    with pytest.raises(irwidget.UsageError, match="missing 1 required positional argument: 'BLOCK'") as error:
        run(f"%%lower --to triton_ir,triton_gpu_ir --text{TRITON}{LAUNCH}add[(4,)](x, y, out, 1000)\n")
    assert list(error.value.lowerings) == ["add:triton_ir", "add:triton_gpu_ir"]


HELION_REFUSED = """
@helion.kernel()
def wrong(a: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(a)
    for tile in hl.tile(a.size()):
        out[tile] = nothing_like_it(a[tile])
    return out

"""


def test_of_helion_kernels_that_a_cell_calls_those_before_its_error_are_lowered(run, shell):  # noqa: F811
    with pytest.raises(irwidget.ExportError, match="Helion cannot bind wrong") as error:
        run(f"%%lower --to helion_mlir --text{HELION}{HELION_REFUSED}plus(a, b)\nwrong(a)\nplus(b, a[:1])\n")
    made = {name: (low.trace.refused, low.name) for name, low in error.value.lowerings.items()}
    assert made == {"plus": (False, "plus"), "wrong": (True, "wrong")}
    assert "linalg.generic" in shell.user_ns["_lowering"]["plus"].text


@pytest.mark.parametrize(
    ("options", "sign"),
    [
        ("helion_device_ir", "root_graph_0"),
        ("helion_mlir", "linalg.generic"),
        ("helion_mlir --aten tosa", "tosa.add"),
        ("llvm_ir", "define void @plus"),
        ("helion_triton", "@triton.jit"),
        ("triton_nvptx --arch sm_90", ".entry _helion_plus"),
    ],
)
def test_a_helion_kernel_lowers(options, sign, run, shell):  # noqa: F811
    run(f"%%lower --to {options} --text{HELION}")
    assert sign in shell.user_ns["_lowering"].text


@pytest.mark.parametrize("target", ["helion_mlir", "llvm_ir", "triton_ir"])
def test_a_helion_kernel_lowers_as_it_is_called(target, run, shell):  # noqa: F811
    """The call also runs, in Helion's eager mode where there is no GPU."""
    from helion.runtime.kernel import Kernel

    call = Kernel.__call__
    calls = "c, d = torch.ones(3, 4), torch.ones(5)\nfor _ in range(2): e = plus(c, c)\nf = plus(d, b=d)\n"
    run(f"%%lower --to {target} --text{HELION}{calls}assert e.sum() == 24 and f.sum() == 10")
    assert list(shell.user_ns["_lowering"]) == ["plus", "plus_2"]
    assert Kernel.__call__ is call


ON_A_GPU = """
import helion, helion.language as hl, torch
from helion._testing import DEVICE

@helion.kernel()
def ramp(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    weights = torch.arange(x.size(0), device="cuda", dtype=x.dtype)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile] * weights[tile]
    return out

x = torch.ones(50, device=DEVICE).cuda()
y = ramp(x)
torch.testing.assert_close(y, torch.arange(50.0).to("cuda"))
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("target", ["helion_mlir --check", "triton_ir"])
def test_a_helion_cell_that_names_the_gpu_works_without_one(target, run, shell):  # noqa: F811
    run(f"%%lower --to {target} --text{ON_A_GPU}")
    low = shell.user_ns["_lowering"]
    assert low.name == "ramp"
    assert target == "triton_ir" or low.check.ok
    with pytest.raises(AssertionError, match="CUDA"):
        torch.ones(1, device="cuda")


def test_a_cell_may_speak_of_helion_where_it_is_not_installed(run, shell, monkeypatch):  # noqa: F811
    from irwidget.helion import private

    private.module.cache_clear()
    for name in ("helion", "helion.runtime.kernel"):
        monkeypatch.setitem(sys.modules, name, None)
    run("%%lower --to tosa_mlir --text\nimport torch\nm, x = torch.nn.ReLU(), torch.ones(2)  # as in helion")
    assert "tosa.clamp" in shell.user_ns["_lowering"].text


def test_a_custom_pipeline_goes_on_from_a_kernel(run, shell):  # noqa: F811
    run(f"%%lower --to helion_mlir --text --pipeline 'mlir-opt --scf-forall-to-for | mlir-opt --cse'{HELION}")
    low = shell.user_ns["_lowering"]
    assert [d.name for d in low.dumps[-2:]] == ["scf-forall-to-for", "cse"]
    assert "scf.forall" not in low.text


def test_a_kernel_is_no_model(run, shell):  # noqa: F811
    run(TRITON.split("x, y =")[0] + "x = torch.ones(4)")
    with pytest.raises(irwidget.UsageError, match="add is a Triton kernel"):
        run("%lower add x --to tosa_mlir")
    add, x = shell.user_ns["add"], shell.user_ns["x"]
    for to in ("tosa_mlir", "helion_mlir", "spyre_superdsc", "inductor_fx", "raw_ir", ["llvm_ir", "spyre_fx"]):
        with pytest.raises(irwidget.UsageError, match="add is a Triton kernel: lower it to one of .* triton_"):
            irwidget.lower(add, x, to=to, BLOCK=256)  # an argument of the kernel, and no option of any of them
    with pytest.raises(irwidget.UsageError, match="add is a Triton kernel") as caught:
        irwidget.lower(add, x, x, x, 4, to=["triton_ir", "llvm_ir"], BLOCK=256)
    assert list(caught.value.lowerings) == ["triton_ir"]


@pytest.mark.parametrize(
    ("target", "message"),
    [("helion_mlir", "starts from a Helion kernel"), ("triton_ir", "starts from a Triton kernel")],
)
def test_a_model_is_no_kernel(target, message, mlp):
    with pytest.raises(irwidget.UsageError, match=message):
        irwidget.lower(mlp, to=target)
