"""Cells whose tensors have values: launches are executed on the CPU."""

import copy
import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import triton
import triton.language as tl

import irwidget
from irwidget.errors import UsageError
from irwidget.frontends import triton as frontend
from irwidget.frontends.triton.failures import NotExecuted
from tests.triton.kernels import add, add_kernel, recording
from tests.triton.test_settings import fused


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + index, mask=index < n)
    tl.store(y_ptr + index, twice(x) + tl.zeros_like(x) + 0 * tl.sum(x, axis=0), mask=index < n)


@triton.jit
def far_away(x_ptr, y_ptr, far):
    tl.store(x_ptr, tl.load(x_ptr + far))
    tl.atomic_add(x_ptr + 1 + tl.arange(0, 2) * far, 2.0)
    tl.store(x_ptr + far, 5.0)


@triton.jit
def counts(x_ptr, n):
    for _ in range(n):
        tl.atomic_add(x_ptr, 1)


@triton.jit
def through_pointers(where_ptr, n):
    for i in range(n):
        target = tl.load(where_ptr + i).to(tl.pointer_type(tl.float32))
        tl.store(target, i + 1.0)


@triton.jit
def thrice(x):
    return x * 3


def adds(twice, number):  # which hides the function of the module
    more = tl.constexpr(number)

    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        index = tl.arange(0, BLOCK)
        tl.store(x_ptr + index, twice(tl.load(x_ptr + index)) + more)

    return kernel


@tl.core._aggregate
class Pair:
    one: tl.tensor
    other: tl.tensor

    @triton.constexpr_function
    def __init__(self, one, other):
        self.one = one
        self.other = other

    @triton.jit
    def total(self, factor):
        return (self.one + self.other) * factor


@triton.jit
def uses_a_method(x_ptr, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    pair = Pair(tl.load(x_ptr + index), index.to(tl.float32))
    tl.store(x_ptr + index, pair.total(3))


def test_closures_and_methods_are_executed():
    seen = []

    def cell():
        x = torch.ones(4, device="cuda")
        adds(twice, 5)[(1,)](x, BLOCK=4)
        adds(thrice, 7)[(1,)](x, BLOCK=4)
        seen.append(x.tolist())
        uses_a_method[(1,)](x, BLOCK=4)
        seen.append(x.tolist())

    with frontend.recording("sm_90", values=True) as launches:
        cell()
    assert len(launches) == 3
    assert not launches.diagnostics
    assert seen == [[28.0] * 4, [84.0, 87.0, 90.0, 93.0]]


def test_host_code_reads_results_and_goes_on():
    seen = []

    def cell():
        x = torch.rand(1000, device="cuda")
        y = torch.zeros_like(x)
        scale[(4,)](x, y, x.numel(), BLOCK=256)
        torch.testing.assert_close(y, x * 2)
        assert y.is_cuda
        count = int((y > 1).sum())
        z = torch.empty(count, device="cuda")
        scale[(triton.cdiv(count, 128),)](y, z, count, BLOCK=128)
        seen.append((z.tolist(), (y[:count] * 2).tolist()))

    with frontend.recording("sm_90", values=True) as launches:
        cell()
    assert [launch.grid for launch in launches] == [(4,), (-(-len(seen[0][0]) // 128),)]
    assert seen[0][0] == seen[0][1]
    assert len(seen[0][0]) > 100
    assert launches.diagnostics == []
    assert [comparison.equal for comparison in launches[0].compared] == [True]


def test_a_repeated_launch_is_executed_each_time():
    with frontend.recording("sm_90", values=True) as launches:
        x = torch.zeros(1, dtype=torch.int32, device="cuda")
        for _ in range(3):
            counts[(2,)](x, 5)
    assert len(launches) == 1
    assert x.item() == 30


def test_only_the_configuration_that_is_shown_is_executed():
    tuned = triton.autotune([triton.Config({}, num_warps=n) for n in (1, 2, 4)], key=["n"])(counts)
    with frontend.recording("sm_90", values=True) as launches:
        x = torch.zeros(1, dtype=torch.int32, device="cuda")
        tuned[(1,)](x, 5)
    assert len(launches) == 3
    assert x.item() == 5
    assert tuned.best_config.num_warps == 1


@pytest.mark.parametrize("values", [False, True])
def test_addresses_in_a_tensor_lead_to_the_tensors(values):
    seen, mapped = [], []
    torch.func.vmap(lambda x: mapped.append(x) or x)(torch.ones(2))  # a tensor without memory of its own

    def cell():
        targets = [torch.zeros(3, device="cuda") for _ in range(3)]
        targets.append(torch.zeros(8)[2:])  # of the CPU
        other, gone = torch.ones(2, device="cuda"), torch.zeros(3, device="cuda").data_ptr()
        where = torch.tensor([4 + target.data_ptr() for target in targets], device="cuda")
        through_pointers[(1,)](where, 4)
        assert torch.empty(0, device="cuda").data_ptr() == 0
        assert torch.tensor(0, device="cuda").data_ptr() % 16 == 0
        seen.extend([*(target[:3].tolist() for target in targets), other.tolist()])
        if not values:  # nothing is there any more; with values, there may be
            through_pointers[(1,)](torch.tensor([targets[0].data_ptr(), gone], device="cuda"), 2)
            seen.append(other.tolist())
            targets[1].tolist()

    with frontend.recording("sm_90", values=values) as launches:
        cell()
    assert seen == [[0, number, 0] for number in (1, 2, 3, 4)] + [[1, 1]] * (1 if values else 2)
    ended = [note.message for note in launches.diagnostics if "the cell was run up to here" in note.message]
    assert [values, *("through_pointers writes outside of its tensors" in one for one in ended)] in (
        [True],
        [False, True],
    )


@pytest.mark.parametrize("far", [4, -(1 << 30), 10**12, 1 << 60, "where another tensor is"])
def test_what_a_kernel_does_outside_of_its_tensors_happens_nowhere(far):
    with frontend.recording("sm_90", values=True) as launches:
        x, y = torch.ones(4, device="cuda"), torch.full((1,), 7.0, device="cuda")
        by = (y.data_ptr() - x.data_ptr()) // 4 if isinstance(far, str) else far
        far_away[(1,)](x, y, by)
        assert (x.tolist(), y.tolist()) == ([0, 3, 1, 1], [7])
    outside = re.compile(r"(\w+) outside of its tensors at \S*test_values.py:(\d+)")
    begins = far_away.fn.__code__.co_firstlineno
    told = [
        match and (match[1], int(match[2]) - begins)
        for note in launches.diagnostics
        if (match := outside.search(note.message))
    ]
    assert told == [("reads", 2), ("reads", 3), ("writes", 3), ("writes", 4)]
    assert [one.partition(" ")[0] for one in launches[0].outside] == ["writes", "writes", "reads", "reads"]


def test_a_launch_that_takes_too_long_says_so():
    with frontend.recording("sm_90", values=True, seconds=10) as launches:
        x = torch.zeros(1, dtype=torch.int32, device="cuda")
        counts[(1,)](x, 16)
        launches.seconds = 0.5
        counts[(1,)](x, 1 << 30)
        raise AssertionError("not reached")
    (note,) = launches[0].notes
    assert re.search(r"counts was not executed: 1 program took the CPU more than 0\.\d+ s", note.message)


def test_benchmarks_launch_once_and_measure_nothing():
    calls = []

    def cell():
        x = torch.zeros(1, dtype=torch.int32, device="cuda")
        time = triton.testing.do_bench(lambda: (calls.append(1), counts[(1,)](x, 1)))
        low, high = triton.testing.do_bench(lambda: None, quantiles=[0.2, 0.8])
        assert len(triton.testing.do_bench(lambda: None, return_mode="all")) == 1
        assert f"{triton.testing.do_bench(lambda: None, quantiles=[0.5]):.1f}" == "nan"
        assert time != time
        assert low != low
        assert f"{triton.testing.nvsmi(['clocks.max.sm'])[0] * 1e3}" == "nan"  # as where configurations are estimated
        assert int(100 / copy.deepcopy(time)) == 1
        assert f"{2 * high:.1f}" == "nan"
        assert x.item() == 0

    with frontend.recording("sm_90", values=True) as launches:
        cell()
    assert len(calls) == len(launches) == 1


@pytest.mark.parametrize("values", [False, True])
def test_threads_and_transformed_functions_see_the_same_world(values):
    """A thread that the cell starts launches as the cell does; functions of torch.func compute with its tensors."""

    def twice(kind):
        x = torch.ones(8, device="cuda", dtype=kind)
        return add(x, torch.func.grad(lambda x: (x * x / 2).sum())(x))

    with recording("sm_90", values=values) as launches:
        with ThreadPoolExecutor(2) as pool:
            both = list(pool.map(twice, (torch.float32, torch.float16)))
        assert [one.device.type for one in both] == ["cuda", "cuda"]
        read = torch.stack([one.float() for one in both]).tolist()
    assert read == [[2.0] * 8] * 2
    kinds = [launch.arguments[0].dtype for launch in launches]
    assert sorted(map(str, kinds)) == ["torch.float16", "torch.float32"]
    with ThreadPoolExecutor(1) as pool:  # and no longer
        assert pool.submit(lambda: torch.ones(1).is_cpu).result()


def test_what_a_process_of_the_cell_launches_is_said_to_be_missing():
    def child():
        if (process := os.fork()) == 0:
            add(torch.ones(8, device="cuda"), torch.ones(8, device="cuda"))
            os._exit(0)
        assert os.waitpid(process, 0)[1] == 0

    for here in (True, False):
        with recording("sm_90") as launches:
            child()
            if here:
                add(torch.ones(8, device="cuda"), torch.ones(8, device="cuda"))
        assert len(launches) == here
        assert ["what processes that the cell starts" in one.message for one in launches.diagnostics] == [True]
    with pytest.raises(UsageError, match="The cell itself launches no Triton kernel: what processes that the cell"):
        frontend.require_launch(launches, {})


def test_lower_executes_a_kernel_on_real_tensors():
    x, y = torch.rand(100), torch.zeros(100)
    low = irwidget.lower(scale, x, y, 100, BLOCK=32, grid=(4,), to="triton_ir", run=True)
    assert low.failure is None
    torch.testing.assert_close(y, x * 2)


@pytest.mark.parametrize("tuned", [False, True])
def test_a_kernel_is_lowered_as_it_is_launched(tuned: bool):
    kernel = triton.autotune([triton.Config({"BLOCK": 32})], key=[])(scale) if tuned else scale
    constants = {} if tuned else {"BLOCK": 32}
    given = torch.rand(100), torch.zeros(100), 100
    bound = irwidget.lower(kernel[(4,)], *given, **constants, to="triton_ir", run=True)
    assert bound.text == irwidget.lower(kernel, *given, **constants, grid=(4,), to="triton_ir").text
    assert bound.trace.name == "scale"
    assert bound.results["recipe"].data["grid"] == (4,)
    torch.testing.assert_close(given[1], given[0] * 2)
    with pytest.raises(UsageError, match=r"kernel\[grid\] has its grid already: leave out grid="):
        irwidget.lower(kernel[(4,)], *given, **constants, grid=(1,), to="triton_ir")


def test_without_values_the_note_says_how_to_have_them():
    def cell():
        y = add(torch.rand(64, device="cuda"), torch.rand(64, device="cuda"))
        y.tolist()

    with frontend.recording("sm_90", interpret=False) as launches:
        cell()
    assert "--run executes launches" in launches[0].notes[0].message


# --- kernels that are launched by way of torch


def test_operators_of_the_users_own_launch_their_kernels():
    from torch.library import custom_op, triton_op, wrap_triton

    @triton_op("irwidget_tests::fused", mutates_args={})
    def by_triton_op(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        wrap_triton(fused)[(1,)](x, x, out)
        return out

    @custom_op("irwidget_tests::add", mutates_args=())
    def without_a_fake(x: torch.Tensor) -> torch.Tensor:
        return add(x, x)

    @custom_op("irwidget_tests::add_half", mutates_args=())
    def with_a_fake(x: torch.Tensor) -> torch.Tensor:
        return add(x.half(), x.half()).float()

    @with_a_fake.register_fake
    def _(x):
        return torch.empty_like(x)

    @custom_op("irwidget_tests::add_into", mutates_args=("out",), device_types="cuda")
    def on_cuda_only(x: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(add(x, x).to(torch.device("cuda")))

    @on_cuda_only.register_kernel("cpu")
    def _(x, out):
        raise AssertionError("not on a GPU")

    def cell():
        x = torch.ones(64, device="cuda")
        assert by_triton_op(x).device.type == "cuda"
        once = without_a_fake(x)
        torch.testing.assert_close(once, x + x)
        on_cuda_only(x, x)
        torch.testing.assert_close(x, with_a_fake(once) / 2)

    for values in (False, True):
        with frontend.recording("sm_90", values=values) as launches:
            cell()
        assert [launch.name for launch in launches] == ["fused", "add_kernel", "add_kernel"]  # in half only once
        of_each = [[], [True, True], [True]] if values else [[], [], []]  # what is in half is made of what is not
        assert [[one.equal for one in launch.compared] for launch in launches] == of_each
        said = ["fused reads memory that nothing" if values else "3 launches were executed on the CPU"]
        assert [one for one, note in zip(said, launches.diagnostics, strict=True) if one not in note.message] == []
        if values:  # and what is compared after that is not known to be right
            doubts = [one.doubt for launch in launches for one in launch.compared]
            assert {one.partition(" (")[0] for one in doubts} == {"fused reads memory that nothing has written"}


class Placed:
    """A pointer that is no tensor."""

    def __init__(self, tensor):
        self.address, self.dtype = tensor.data_ptr(), tensor.dtype

    def data_ptr(self):
        return self.address


@pytest.mark.parametrize("values", [False, True])
def test_functions_for_cuda_of_operators_that_come_apart_elsewhere(values):
    """On the CPU PyTorch makes other operators of these before anybody else sees them."""
    before, within = torch.library.Library("aten", "IMPL"), torch.library.Library("aten", "IMPL")
    given = []

    def doubled(name):
        def run(x, *rest):
            given.append((name, x.device.type, x.requires_grad, torch.is_grad_enabled()))
            out = torch.empty_like(x)
            add_kernel[(1,)](Placed(x), Placed(x), Placed(out), x.numel(), BLOCK=64)
            return out

        return run

    def cell():
        x, on_host = torch.full((8, 8), 2.0, device="cuda"), torch.full((8, 8), 2.0).requires_grad_()
        seen.append(torch.nn.LayerNorm(8).cuda()(x).sum().item())
        torch.nn.functional.layer_norm(on_host, (8,)).sum().backward()
        assert on_host.grad is not None
        seen.append(torch.nn.functional.linear(on_host, on_host).sum().item())
        within.impl("linear", doubled("linear"), "CUDA")
        seen.append(torch.nn.functional.linear(on_host, on_host).sum().item())
        with torch.inference_mode():
            seen.append(torch.nn.functional.linear(x, x).sum().item())
        torch.nn.functional.linear(x.requires_grad_(), x)

    seen = []
    try:
        before.impl("layer_norm", doubled("layer_norm"), "CUDA")
        with frontend.recording("sm_90", values=values):
            cell()
        x = torch.ones(2, 2).requires_grad_()
        torch.nn.functional.layer_norm(x, (2,)).sum().backward()  # as before
        assert x.grad is not None
    finally:
        before._destroy()
        within._destroy()
    assert seen == [256.0, 2048.0, 2048.0, 256.0]
    assert given == [
        ("layer_norm", "cuda", False, True), ("linear", "cuda", False, False), ("linear", "cuda", True, True),
    ]  # fmt: skip
    assert torch.library.Library.impl.__module__ == "torch.library"
    names = ("aten::layer_norm", "aten::linear")
    assert not any(torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutogradCPU") for name in names)


@pytest.mark.parametrize("values", [False, True])
def test_functions_registered_for_cuda_launch_their_kernels(values):
    """As libraries of kernels do it that take the place of PyTorch's own operators."""
    ours, torchs = torch.library.Library("irwidget_tests_cuda", "DEF"), torch.library.Library("aten", "IMPL")
    given = []

    def doubled(x, y=None, alpha=1):
        given.append((x.device.type, isinstance(y, torch.Tensor) or y))
        out = torch.empty_like(x)
        assert out.is_cuda
        add_kernel[(1,)](Placed(x), Placed(x), Placed(out), x.numel(), BLOCK=64)
        return out

    try:
        ours.define("plus(Tensor x, Tensor y) -> Tensor")
        ours.impl("plus", doubled, "CUDA")
        torchs.impl("silu", doubled, "CUDA")
        torchs.impl("sub.Tensor", doubled, "CUDA")
        ours.define("plus_anywhere(Tensor x) -> Tensor")
        ours.impl("plus_anywhere", doubled, "CompositeExplicitAutograd")

        def cell():
            on_host = torch.full((64,), 8.0)
            x = on_host.cuda().requires_grad_()
            y = torch.ops.irwidget_tests_cuda.plus(x, x) * 2
            assert y.is_cuda
            half = torch.nn.functional.silu(y.half())
            torch.nn.functional.gelu(x)
            z = torch.ones(8, device="cuda", dtype=torch.bfloat16)
            anywhere = torch.ops.irwidget_tests_cuda.plus_anywhere(z)
            seen.extend([half.tolist(), anywhere.tolist(), (half - 3).tolist(), (on_host - 3).tolist()])

        seen = []
        with frontend.recording("sm_90", values=values) as launches:
            cell()
    finally:
        ours._destroy()
        torchs._destroy()
    assert [launch.name for launch in launches] == ["add_kernel", "add_kernel", "add_kernel"]
    assert seen == [[64.0] * 64, [2.0] * 8, [128.0] * 64, [5.0] * 64]
    assert given == [("cuda", True), ("cuda", None), ("cuda", None), ("cuda", 3)]


class Doubled(torch.autograd.Function):
    """A kernel with a derivative, as libraries have them."""

    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        add_kernel[(1,)](x, x, out, x.numel(), BLOCK=64)
        return out

    @staticmethod
    def backward(ctx, grad):
        return Doubled.apply(grad.contiguous())


def softmax(x):
    return torch.nn.functional.softmax(x, 0)


EARLY = [
    ("aten", "softmax.int", "CUDA", softmax, (2.0, 2.0, 2.0, 0.125)),
    ("aten", "softmax.int", "AutogradCUDA", softmax, (2.0, 2.0, 0.125, 0.125)),
    ("aten", "softmax.int", "CompositeImplicitAutograd", softmax, (2.0, 2.0, 2.0, 2.0)),
    ("aten", "true_divide.Tensor", "CUDA", lambda x: torch.true_divide(x, 4), (2.0, 2.0, 2.0, 0.25)),
    ("aten", "silu", "AutogradCUDA", lambda x: torch.nn.functional.silu(x - 1), (2.0, 2.0, 0.0, 0.0)),
    ("aten", "repeat", "CompositeExplicitAutograd", lambda x: x.repeat(1), (2.0, 1.0, 2.0, 2.0)),
    ("aten", "repeat", "CompositeImplicitAutograd", lambda x: x.repeat(1), (1.0, 1.0, 1.0, 1.0)),  # it has a kernel
    ("irwidget_tests_early", "op", "CompositeImplicitAutograd", lambda x: op(x), (2.0, 2.0, 2.0, 2.0)),
    ("irwidget_tests_early", "op", "Autograd", lambda x: op(x), (2.0, 2.0, "refused", 2.0)),
]
"""What a library registers, an operator of it, what that gives of ones, its derivative; in inference, on the CPU."""


def op(x):
    return torch.ops.irwidget_tests_early.op(x)


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize(("namespace", "name", "key", "call", "wanted"), EARLY)
def test_operators_that_no_mode_sees_run_functions_of_libraries(namespace, name, key, call, wanted, values):
    """PyTorch's dispatcher says which: `torch._C._dispatch_dump_table`."""
    before = call(torch.ones(8)).tolist() if namespace == "aten" else []
    library = torch.library.Library(namespace, "IMPL" if namespace == "aten" else "DEF")
    seen = []

    def doubled(x, *args):
        made = torch.empty_like(x)
        return Doubled.apply(x + 1 if name == "silu" else x) if made.is_cuda else x * 2

    def cell():
        if namespace != "aten":
            library.define("op(Tensor x) -> Tensor")
        library.impl(name, doubled, key)
        x = torch.ones(8, device="cuda", requires_grad=True)
        y = call(x)
        y.sum().backward()
        seen.extend([y.tolist(), x.grad.tolist()])
        try:
            with torch.inference_mode():
                seen.append(call(torch.ones(8, device="cuda")).tolist())
        except RuntimeError:
            seen.append("refused")
        seen.append(call(torch.ones(8)).tolist())
        add_kernel[(1,)](x.data, x.data, x.data, 8, BLOCK=8)

    try:
        with frontend.recording("sm_90", values=values) as launches:
            cell()
    finally:
        library._destroy()
    assert seen == [one if one == "refused" else [one] * 8 for one in wanted]
    assert [launch.name for launch in launches] == ["add_kernel"] * (1 + (2.0 in wanted))
    assert not before or call(torch.ones(8)).tolist() == before


@pytest.mark.parametrize("values", [False, True])
def test_what_a_cell_before_has_compiled_is_launched_in_this_one(values):
    """By libraries that keep what a launch returns."""
    kept, seen = {}, []

    def cell():
        x = torch.arange(64.0, device="cuda")
        out = torch.empty_like(x)
        if "kernel" in kept:
            kept["kernel"][(1, 1, 1)](x, x, out, 64)
        else:
            kept["kernel"] = add_kernel[(1,)](x, x, out, 64, BLOCK=64, num_warps=2)
        seen.append(out.tolist())

    noted = []
    for arch in ("sm_90", "sm_90", "sm_80"):
        with frontend.recording(arch, values=values) as launches:
            cell()
        (launch,) = launches
        noted.append((launch.name, launch.arch, launch.specialised().options.num_warps))
    assert noted == [("add_kernel", arch, 2) for arch in ("sm_90", "sm_90", "sm_80")]
    assert seen == [[2.0 * i for i in range(64)]] * 3


def test_an_operator_that_takes_functions_gives_tensors():
    from torch.nn.attention.flex_attention import flex_attention

    def cell():
        q = torch.randn(1, 2, 128, 64, device="cuda", dtype=torch.float16)
        out = flex_attention(q, q, q)
        assert (out.shape, out.dtype, out.is_cuda) == (q.shape, q.dtype, True)
        add(out, out)

    for values in (False, True):
        with frontend.recording("sm_90", values=values) as launches:
            cell()
        (launch,) = launches
        assert launch.name == "add_kernel"


def test_a_graph_is_captured_and_torch_compile_is_left_out_with_a_note():
    def cell():
        x, y = torch.zeros(2, 64, device="cuda", dtype=torch.int32).unbind()
        graph, other = torch.cuda.CUDAGraph(), torch.zeros(1, device="cuda", dtype=torch.int32)
        x = x.clone()
        with torch.cuda.graph(graph):
            add_kernel[(1,)](x, x, x, 64, BLOCK=64)
            z = x + 1
        torch.compile(lambda x: x * 2)(x)
        other += y[0]
        x.zero_()
        seen.extend([other.item(), x.sum().item()])
        graph.replay()
        seen.append(other.item())
        (z if launches.values else x).tolist()

    seen = []
    with frontend.recording("sm_90") as launches:
        cell()
    assert len(launches) == 1
    compiled, ended, *_ = launches.diagnostics
    assert compiled.message.startswith("torch.compile is left out")
    assert "a CUDA graph, which is not replayed, may write it" in ended.message
    assert seen == [0, 0, 0]
    with frontend.recording("sm_90", values=True) as launches:
        cell()
    assert [note.message.partition(",")[0] for note in launches.diagnostics] == [
        "the cell was run up to here: a CUDA graph is captured"
    ]


def test_products_of_cublas_are_the_cpus_and_the_rest_is_left_out_with_a_note():
    from triton._C.libtriton import nvidia

    def cell(rest=True):
        x = torch.rand(64, 32, device="cuda")
        y = torch.ones(16, 32, device="cuda")
        out = torch.empty(64, 16, device="cuda", dtype=torch.float16)
        library = nvidia.cublas.CublasLt(torch.empty(1024, device="cuda", dtype=torch.uint8))
        library.matmul(x, y, out)
        assert out[3].tolist() == [x[3].sum().half().item()] * 16
        if rest:
            library.gemm(x, x, out, out, 1.0, 0.0)
        add_kernel[(1,)](x, x, x, 64, BLOCK=64)
        assert out.tolist() == x.tolist() if rest else True

    launches = frontend.capture(cell, "sm_90")
    said = [note.message for note in launches.diagnostics if "CublasLt" in note.message]
    assert said[0].startswith("CublasLt.matmul is computed by PyTorch")
    assert said[1].startswith("CublasLt.gemm is left out")
    assert "CublasLt.gemm, a library's for a GPU, may have written it" in said[2]
    with frontend.recording("sm_90", values=True) as launches:
        cell(rest=False)
    with frontend.recording("sm_90", values=True) as launches, pytest.raises(NotExecuted, match="CublasLt.gemm"):
        cell()
    assert launches == []


@triton.jit(repr=lambda special: f"named_{special.signature['x_ptr'].lstrip('*')}")
def named(x_ptr):
    tl.store(x_ptr, 1)


def test_what_a_launch_returns_is_what_tritons_own_has():
    def cell():
        assert named[(1,)](torch.zeros(1, device="cuda")).name == "named_fp32"
        x = torch.rand(64, device="cuda")
        kernel = add_kernel[(1,)](x, x, x, 64, BLOCK=64, num_warps=2)
        assert kernel.metadata.target.arch == 90
        assert kernel.metadata.num_warps == 2
        assert kernel.metadata.shared == 0
        assert len(kernel.hash) == 64
        return kernel

    assert len(frontend.capture(cell, "sm_90")) == 2
