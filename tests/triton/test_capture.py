"""What is captured of a cell, and what is left behind: nothing."""

import subprocess
import sys
import textwrap
import types
from functools import partial

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd.function import BackwardCFunction
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from irwidget.errors import PassError, UnsupportedError, UsageError
from irwidget.frontends import triton as frontend
from irwidget.toolchain import triton_private
from irwidget.views import fallbacks
from tests.triton.kernels import add, add_kernel, matmul_body


def signature_of(launch, arch=None):
    special, source = launch.compiled(arch)
    return special, source.data.split("attributes")[0]


def test_a_launch_is_specialised_as_a_real_one():
    def cell():
        x = torch.rand(4096, device="cuda")
        add_kernel[(4,)](x, x[1:], torch.empty_like(x), 4096, BLOCK=1024)
        add_kernel[(4,)](x, x[4:], torch.empty_like(x), 1, BLOCK=1024)

    aligned, unaligned = "{tt.divisibility = 16 : i32}", ""
    first, second = frontend.capture(cell, "sm_90")
    special, head = signature_of(first)
    assert f"%a_ptr: !tt.ptr<f32> {aligned}" in head
    assert f"%b_ptr: !tt.ptr<f32> {unaligned}loc" in head
    assert f"%length: i32 {aligned}" in head
    special, head = signature_of(second)
    assert f"%b_ptr: !tt.ptr<f32> {aligned}" in head
    assert special.signature["length"] == "constexpr"  # a one is a constant
    assert "tt.pointer_range = 32" in signature_of(first, "gfx942")[1]


def test_equal_launches_are_one_and_different_types_are_two():
    def cell():
        for dtype in (torch.float32, torch.float16, torch.float32):
            add(torch.rand(512, device="cuda", dtype=dtype), torch.rand(512, device="cuda", dtype=dtype))

    launches = frontend.capture(cell, "sm_90")
    assert [launch.arguments[0].dtype for launch in launches] == [torch.float32, torch.float16]
    assert {launch.location.line for launch in launches} == {launches[0].location.line}
    assert launches[0].location.file.endswith("kernels.py")


def test_cpu_tensors_and_tensors_of_earlier_cells_serve():
    real = torch.rand(256)
    earlier = []
    frontend.capture(lambda: earlier.append(torch.rand(256, device="cuda")), "sm_90")

    def cell():
        add(real, earlier[0])
        add(torch.rand(256), real.cuda())

    assert len(frontend.capture(cell, "gfx942")) == 1


def everything_patched():
    return {
        "driver": vars(driver)["_active"],
        "jit": dict(vars(JITFunction)),
        "tuner": dict(vars(Autotuner)),
        "cuda": dict(vars(torch.cuda)),
        "fake": dict(vars(FakeTensor)),
        "hip": torch.version.hip,
        "default": torch.set_default_device,
        "backward": dict(vars(BackwardCFunction)),
        "module": dict(vars(torch.nn.Module)),
        "torch": (torch.compile, torch.Generator),
        "modes": torch._C._len_torch_function_stack(),
        "dispatch": torch._C._len_torch_dispatch_stack(),
        "caches": dict(add_kernel.device_caches),
    }


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_stays_patched(fails):
    def cell():
        x = torch.rand(64, device="cuda")
        assert torch.cuda.is_available()
        assert torch.cuda.get_device_capability() == (8, 0)
        add(x, x)
        if fails:
            raise KeyError("mine")

    before = everything_patched()
    if fails:
        with pytest.raises(KeyError, match="mine"):
            frontend.capture(cell, "sm_80")
    else:
        frontend.capture(cell, "sm_80")
    assert everything_patched() == before
    assert not torch.cuda.is_available()
    assert torch.rand(3).device.type == "cpu"
    assert not isinstance(torch.rand(3), FakeTensor)


ASSERTED = {
    "assert torch.allclose(y, x + x)": True,
    "assert y.equal(x) and torch.equal(\n    x, y), 'differ'": True,
    "assert (y == x + x).all()": True,
    "assert (y - x).abs().max() < 1": True,
    "assert not torch.allclose(y, x)": False,
    "assert torch.equal(y, x) or len(x) == 1": False,
    "assert (y == x).all() if torch.equal(x, y) else x is y": False,
    "assert (y - x).max().item() < 1": False,
    "if torch.equal(x, y): assert True": False,
}
"""Statements, and whether a cell goes on after them."""


def test_what_was_launched_before_a_value_was_needed_is_kept():
    def cell():
        x = torch.rand(64, device="cuda")
        y = add(x, x)
        if torch.allclose(y, x + x):
            raise AssertionError("not reached")

    with frontend.recording("sm_90", interpret=False) as launches:
        cell()
    assert len(launches) == 1
    (note,) = launches.diagnostics
    assert "needs the value of a tensor" in note.message
    assert note.location.file == __file__


def test_values_needed_before_any_launch_are_an_error():
    def cell():
        x = torch.empty(1 << 20, device="cuda")
        add(x, x[: int(x.sum())])

    with pytest.raises(UnsupportedError, match=r"No kernel was launched: .*test_capture.py:\d+ needs the value"):
        frontend.capture(cell, "sm_90")


def test_operators_of_which_only_values_tell_the_shape_end_the_cell_with_a_note():
    def cell():
        x = torch.rand(64, device="cuda")
        add(x, x)
        torch.nested.nested_tensor([x, x[:3]])

    launches = frontend.capture(cell, "sm_90")
    assert [launch.name for launch in launches] == ["add_kernel"]
    (note,) = launches.diagnostics
    said = "without values PyTorch does not know what aten._nested_tensor_from_tensor_list.default gives"
    assert f"{said}. What was launched before is shown; --run executes launches" in note.message


@triton.jit
def helper(x):
    return x + undefined_name  # noqa: F821


@triton.jit
def broken(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(x_ptr + tl.arange(0, BLOCK), helper(x))


@triton.jit
def asserting(x_ptr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK > 64, "too small")
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


def test_a_kernel_that_does_not_compile_names_the_users_line():
    with pytest.raises(PassError, match="undefined_name is not defined") as caught:
        frontend.capture(lambda: broken[(1,)](torch.rand(64), BLOCK=64), "sm_90")
    (diagnostic,) = caught.value.diagnostics
    place = diagnostic.location
    line = triton_private.definition(helper)[1] + 1
    assert (place.file, place.line) == (__file__, line)
    assert place.caller.line == triton_private.definition(broken)[1] + 2
    assert "return x + undefined_name" in str(caught.value)


def test_the_autotuner_skips_configurations_that_assert():
    tuned = triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 128})], key=[])(asserting)
    launches = frontend.capture(lambda: tuned[(1,)](torch.rand(128)), "sm_90")
    assert ["BLOCK=128" in launch.config for launch in launches] == [True]
    assert "too small" in launches.diagnostics[0].message


def test_a_launch_after_an_autotuned_one_is_executed():
    tuned = triton.autotune([triton.Config({"BLOCK": 128})], key=[])(asserting)
    x = torch.rand(128)
    with frontend.recording("sm_90", values=True):
        tuned[(1,)](x.clone())
        made = torch.empty_like(x)
        add_kernel[(1,)](x, x, made, 128, BLOCK=128)
    assert torch.equal(made, x + x)


def test_heuristics_choose_constants():
    kernel = triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["length"])})(add_kernel)

    def cell():
        x = torch.rand(100, device="cuda")
        kernel[(1,)](x, x, torch.empty_like(x), 100)

    (launch,) = frontend.capture(cell, "sm_90")
    assert launch.keywords["BLOCK"] == 128


BIG, ACROSS = 2**31 - 1, 65535
# Each raises in Triton's own launcher, too (3.8.0, over a CUDA library that refuses what CUDA documents).
NO_GRIDS = ((), [], None, 3, (1.5,), (2, 2.0), {2}, "abc", (None,), lambda _: (), lambda _: None)
REFUSED_GRIDS = {
    (BIG + 1,): f"Triton's launchers take sizes up to {BIG}",
    (1, -BIG - 2): f"Triton's launchers take sizes up to {BIG}",
    (1, ACROSS + 1): f"CUDA launches at most {ACROSS} programs along the second and the third axis",
    (1, 1, ACROSS + 1): f"CUDA launches at most {ACROSS} programs along the second and the third axis",
    (-1, -1): "CUDA launches no negative number of programs",
}
AGAIN = {
    ((2,), 1, 1, 8): r"is launched on \(2,\): here a grid has all three sizes",
    ((1, 1, 1), 1): "takes all arguments by position, and is given no sum_ptr",
    ((1, 1, 1), 1.5, 1, 8): r"compiled for b_ptr: \*fp32, which is not made of a float",
    ((1, 1, 1), 1, 1, "8"): "compiled for length: i32, which is not made of a str",
}


class _At:
    """An object with an address."""

    def __init__(self, address):
        self.address, self.dtype = address, torch.float32

    def data_ptr(self):
        return self.address


def _compiled(x):
    return add_kernel[(1,)](x, x, x, 64, BLOCK=64)


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        (lambda x: add_kernel[(1,)](x, x, x, 64), r"missing 1 required positional argument: 'BLOCK'.*add_kernel\(a_"),
        (lambda x: add_kernel[(1,)](x, x, x, 64, BLOK=64), "argument: 'BLOCK', and it takes no 'BLOK'. The kernel"),
        (lambda x: add_kernel[(1,)](x, x, x, 64, BLOK=64, BLOCK=64), "no launch option 'BLOK'.*Did you mean BLOCK"),
        (lambda x: add_kernel[(1,)](x, x, x, object(), BLOCK=64), "failed to specialize argument of type: object"),
        (lambda x: add_kernel[(1,)](x, x, x, 64, BLOCK=64, num_ctas=2), "num_ctas > 1 requires"),
        (lambda x: add_kernel[(1,)](x, x, x, 64, BLOCK=64, maxnreg=1j), "cannot be launched with maxnreg=1j"),
        (lambda x: add_kernel[(1,)](x, x, x, 64, BLOCK=64, ir_override="/a.ttir"), "irwidget does not follow"),
        (lambda x: add_kernel[(1,)](x, x, x, 64, BLOCK=64, foo=None), "no launch option 'foo'"),
        (lambda x: add_kernel[(1,)](x, x, "*fp32", 64, BLOCK=64), "failed to specialize argument of type: str"),
        (lambda x: add_kernel[(1,)](x, x, x, tl.constexpr([64]), BLOCK=64), "unhashable type: 'list'"),
        (lambda x: add_kernel[(1,)](x, x, _At(1.5), 64, BLOCK=64), "an integer is required"),
        (lambda x: add_kernel[(1,)](x, x, x.to_sparse(), 64, BLOCK=64), "a sparse_coo tensor has more than one"),
        *((lambda x, g=g: add_kernel[g](x, x, x, 64, BLOCK=64), "which is no grid") for g in NO_GRIDS),
        *((lambda x, g=g: add_kernel[g](x, x, x, 64, BLOCK=64), said) for g, said in REFUSED_GRIDS.items()),
        *((lambda x, a=args: _compiled(x)[a[0]](x, *a[1:]), said) for args, said in AGAIN.items()),
    ],
)
def test_wrong_arguments_name_the_line_that_launches(launch, message):
    with pytest.raises(UsageError, match=message) as caught:
        frontend.capture(lambda: launch(torch.rand(64)), "sm_80")
    assert "test_capture.py" in str(caught.value)


def test_a_grid_that_does_not_run_is_said_at_its_line():
    """The kernel is lowered all the same."""
    wrapped = "Triton multiplies the sizes in 32 bits, and comes to no program: nothing runs"
    wrong = {
        (4, -1): "a size is negative: nothing runs",
        (0, 7): "which has no program: nothing runs",
        (ACROSS + 1, 2**15): wrapped,
        (1, 2, 3, None): "Triton heeds the first three sizes",
    }
    fine = ((BIG, 1, ACROSS), (1,), [2], np.array([2, 3]), torch.tensor([3]), (np.int64(2), True), b"a")

    def cell():
        x = torch.rand(64)
        for grid in (*fine, *wrong):
            add_kernel[grid](x, x, x, 64, BLOCK=64)
        add_kernel[(1, 2, 3, None)](x, x, x, 64, BLOCK=tl.constexpr(32), num_warps=tl.constexpr(2))
        add_kernel.warmup(x, x, x, 64, BLOCK=16, grid=None)

    launches = frontend.capture(cell, "sm_80")
    line = cell.__code__.co_firstlineno + 3
    assert [(str(note.location), note.severity, note.message) for note in launches.diagnostics] == [
        (f"{__file__}:{line}", "warning", f"add_kernel is launched on {grid}: {said}") for grid, said in wrong.items()
    ]
    assert [launch.grid for launch in launches] == [(BIG, 1, ACROSS), (1, 2, 3), None]
    amd = [note.message.partition(": ")[2] for note in frontend.capture(cell, "gfx942").diagnostics]
    assert amd == [
        "a size is negative, of which HIP makes a large number",
        "which has no program: nothing runs",
        "Triton heeds the first three sizes",
    ]


def test_a_kernel_whose_grid_is_refused_is_kept():
    with pytest.raises(UsageError, match="no grid"), frontend.recording("sm_80") as launches:
        add_kernel[()](*[torch.rand(64)] * 3, 64, BLOCK=64)
    assert [(launch.name, launch.grid) for launch in launches] == [("add_kernel", None)]


def test_what_is_compiled_runs_with_the_constants_that_it_is_compiled_for():
    with frontend.recording("sm_80"):
        a, out = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
        add_kernel[(1,)](a, a, out, 8, BLOCK=16)[(1, 1, 1)](a, a, out, 64, 64)
        written = out.tolist()
    assert written == [2.0] * 16 + [0.0] * 48


def test_a_cell_without_a_launch_is_told_what_it_could_launch():
    launches = frontend.capture(lambda: None, "sm_90")
    with pytest.raises(UsageError, match=r"no Triton kernel. Launch one of its kernels: add_kernel\[grid\]\(a_ptr, "):
        frontend.require_launch(launches, {"add_kernel": add_kernel, "x": 1})


def test_an_unknown_architecture_lists_the_known_ones():
    shell = types.SimpleNamespace(showtraceback=None)
    for run in (frontend.capture, partial(frontend.run_cell, shell)):
        with pytest.raises(UsageError, match=r"unknown architecture 'sm_42'.*sm_80, .*gfx942"):
            run("", "sm_42")


def test_asking_whether_something_is_a_kernel_does_not_import_triton():
    code = """
        import sys
        from irwidget.frontends import triton
        assert not triton.is_kernel(3) and triton.kernels({"x": 1}) == {}
        assert "triton" not in sys.modules and "torch" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
    assert frontend.is_kernel(add_kernel)
    assert frontend.is_kernel(triton.heuristics({})(add_kernel))
    assert not frontend.is_kernel(add)


def test_without_triton_the_error_names_the_extra():
    code = """
        import sys
        sys.modules["triton"] = None
        from irwidget.errors import ToolError
        from irwidget.frontends import triton
        try:
            triton.capture(lambda: None)
        except ToolError as error:
            assert "pip install irwidget[triton]" in str(error), error
        else:
            raise SystemExit(1)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_gradients_run_in_the_users_backward_functions_without_a_gpu():
    """Fake CUDA tensors would abort the process here."""
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return add(x, x)

        @staticmethod
        def backward(ctx, dy):
            seen.append((dy.device.type, torch.empty(3, device="cuda").is_cuda))
            return add(dy, dy.half())

    def cell():
        x = torch.rand(64, device="cuda", requires_grad=True)
        Double.apply(x).sum().backward()
        seen.append(x.grad.shape)

    assert len(frontend.capture(cell, "sm_90")) == 2
    assert seen == [("cuda", True), (64,)]


CELL = """\
import torch, triton, triton.language as tl

@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + index, mask=index < n)
    tl.store(x_ptr + index, x * 2, mask=index < n)

x = torch.ones(1000, device="cuda")
scale[(4,)](x, x.numel(), BLOCK=256)
"""


def test_an_unmodified_notebook_cell_maps_to_its_own_lines():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    launches = frontend.capture(lambda: shell.run_cell(CELL).raise_error(), "sm_90")
    (launch,) = launches
    assert launch.location.line == 10
    trace = frontend.lower(launch, to="triton_sass")
    assert trace.failure is None
    ((name, text),) = trace.sources.items()
    assert text == CELL
    for language, pattern in (("ptx", "ld.global"), ("sass", "LDG")):
        dump = next(dump for dump in reversed(trace.dumps) if dump.language == language)
        loads = [place for line, place in zip(dump.text.splitlines(), dump.locations, strict=True) if pattern in line]
        assert loads
        assert {(place.file, place.line) for place in loads} == {(name, 6)}


@pytest.mark.parametrize(
    ("extra", "shown", "count", "problem"),
    [
        ("", "", 1, None),
        ("\nassert x.tolist() == [2.0] * 1000", "", 1, None),
        ("\n1 / 0", "ZeroDivisionError", 1, None),
        ("\n1 +", "SyntaxError", 0, None),
        ("\nscale[lambda meta: (meta['NO'],)](x, x.numel(), BLOCK=256)", "KeyError", 1, None),
        ("\nscale[(4,)](x, x.numel())", "", 1, "missing 1 required positional argument"),
    ],
)
def test_a_notebook_shows_the_users_own_errors_and_only_those(extra, shown, count, problem, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    launches = frontend.run_cell(shell, CELL + extra, "sm_90")
    assert (len(launches), type(launches.error).__name__ if launches.error else "") == (count, shown)
    assert [note.severity for launch in launches for note in launch.notes] == ["remark"] * 2 * ("tolist" in extra)
    assert problem in str(launches.problem) if problem else launches.problem is None
    printed = capsys.readouterr()
    assert (shown in printed.out + printed.err) if shown else "Error" not in printed.out + printed.err
    assert "irwidget/frontends" not in printed.out + printed.err
    assert "showtraceback" not in vars(shell)
    assert shell.ast_node_interactivity == "last_expr"


def test_a_launch_that_would_not_fit_is_warned_about():
    def cell():
        matmul_body[(1,)](
            *(torch.rand(512, 512, device="cuda", dtype=torch.float16) for _ in range(3)),
            512,
            512,
            512,
            *(512, 1) * 3,
            BM=128,
            BN=128,
            BK=128,
            GROUP=8,
            ACTIVATION="",
            num_stages=3,
            num_warps=8,
        )

    (launch,) = frontend.capture(cell, "sm_86")
    trace = frontend.lower(launch, to="triton_llvm_ir")
    assert trace.facts["shared_memory"] > 99 * 1024
    assert "sm_86 has 101376: a launch would fail" in trace.diagnostics[0].message
    assert frontend.lower(launch, to="triton_llvm_ir", arch="sm_90").diagnostics == ()


def _module():
    layer = torch.nn.Linear(64, 64, device="cuda").half()
    assert layer.cuda().weight.dtype == torch.float16
    return layer.weight


def _descriptor():
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor.from_tensor(torch.rand(64, 64, device="cuda"), [32, 32]).base


def _inside(*contexts):
    for context in contexts:
        with context:
            made = torch.rand(64, device="cuda")
    return made


@pytest.mark.parametrize(
    "make",
    [
        _module,
        _descriptor,
        lambda: _inside(torch.device("cuda"), torch.cuda.stream(torch.cuda.Stream()), torch.autocast("cuda")),
        lambda: torch.rand(64, generator=torch.Generator(device="cuda"), device="cuda"),
        lambda: torch.compile(lambda x: x * 2)(torch.rand(64, device="cuda")),
        lambda: torch.rand(64).to("cuda:0").to(torch.device("cuda", 0)).view(-1)[::2].contiguous(),
        lambda: torch.randn(64, 64, device="cuda").to(torch.float8_e5m2).float() @ torch.rand(64, 64).cuda(),
        lambda: torch.nn.functional.softmax(torch.rand(4, 64, device="cuda"), -1).clone().zero_(),
    ],
)
def test_what_cells_do_with_a_gpu_works_without(make):
    def cell():
        x = make()
        assert x.is_cuda
        assert x.device == torch.device("cuda", 0)
        assert torch.empty_like(x).device == x.device
        add_kernel[(1,)](x, x, x, 64, BLOCK=64)
        torch.cuda.synchronize()

    assert len(frontend.capture(cell, "sm_90")) == 1


def test_interpreted_kernels_are_refused(monkeypatch):
    monkeypatch.setattr(triton.knobs.runtime, "interpret", True)
    with pytest.raises(UsageError, match="TRITON_INTERPRET is set"):
        frontend.capture(lambda: None)


def test_benchmarks_in_a_cell_run_once():
    calls = []

    def cell():
        x = torch.rand(64, device="cuda")

        def once():
            calls.append(1)
            return add(x, x)

        triton.testing.do_bench(once)

    assert len(frontend.capture(cell, "sm_90")) == 1
    assert len(calls) < 20


@pytest.mark.parametrize("test", ASSERTED)
def test_an_assert_of_values_that_are_not_there_is_left_out(test, tmp_path):
    """Only where nothing but an `assert` looks at the comparison: whatever else it decides is not known."""
    accepted = ASSERTED[test]
    cell = tmp_path / "cell.py"
    cell.write_text(f"x = torch.rand(8192, device='cuda')\ny = add(x, x)\n{test}\nadd(y.half(), x)\n")
    run = compile(cell.read_text(), str(cell), "exec")
    with frontend.recording("sm_90", interpret=False) as launches:
        exec(run, {"torch": torch, "add": add})
    assert len(launches) == (2 if accepted else 1)
    (note,) = launches.diagnostics
    said = f"not checked: {cell}:3 compares" if accepted else f"the cell was run up to here: {cell}:3 needs the value"
    assert note.message.startswith(said)


def test_comparisons_without_values_are_not_checked_and_the_cell_goes_on():
    from torch.testing import assert_close  # as an earlier cell would have it

    def cell():
        x = torch.ones(8192, device="cuda", dtype=torch.int32)
        y = add(x, x)
        assert_close(y, x + x)
        triton.testing.assert_close(y, x + x)
        with pytest.raises(AssertionError, match="shape"):
            assert_close(y, x[:5])
        add(y.half(), x)

    with frontend.recording(interpret=False) as launches:
        cell()
    assert len(launches) == 2
    said = [one.message for one in launches.diagnostics]
    assert len(said) == 2
    assert all(one.startswith("not checked: ") and "test_capture.py" in one for one in said)
    shown = fallbacks.text([frontend.lower(launch, to="triton_ir") for launch in launches])
    assert [shown.count(one[:120]) for one in said] == [1, 1]  # once for both
    assert_close(torch.ones(2), torch.ones(2))
    with pytest.raises(AssertionError):
        assert_close(torch.ones(2), torch.zeros(2))
