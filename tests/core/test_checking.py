"""--check: every element of every result against an exact evaluation of the same program."""

import math

import pytest
import torch
from torch import nn

import irwidget
from irwidget import private_torch_mlir
from irwidget.checking.allowance import ExpectedResult, result_of
from irwidget.checking.evaluate import Wide
from irwidget.checking.expected import ExportedCopy, array, expect
from irwidget.checking.growth import growth, length_of
from irwidget.checking.judge import judge
from irwidget.private_torch import make_fx, pytree
from irwidget.toolchain import jit
from irwidget.toolchain.events import Array
from irwidget.trace import Element, Verdict


class Several(nn.Module):
    """Several results of several dtypes, one of them a transposed view, a scalar, and a number before a tensor."""

    def forward(self, x, y):
        return torch.softmax(x @ y, -1), (x @ y).T, (x > 0), 7, x.sum(), torch.argmax(y, 0), x.shape[0] * 2


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.seen.add_(x)
        self.count.add_(1)
        return self.seen * 2


def in_place(x):
    x.add_(1)
    return x * 2


PROGRAMS = {
    "mlp": (nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)), (torch.randn(3, 16),)),
    "several": (Several(), (torch.randn(2, 3), torch.randn(3, 4))),
    "gelu": (nn.GELU(), (torch.randn(20),)),
    "mutated buffers": (Counter(), (torch.randn(3),)),
    "mutated input": (in_place, (torch.randn(3),)),
    "half": (nn.Linear(16, 4).half(), (torch.randn(3, 16).half(),)),
    "bfloat16": (nn.Linear(16, 4).bfloat16(), (torch.randn(3, 16).bfloat16(),)),
    "double": (nn.Linear(16, 4).double(), (torch.randn(3, 16).double(),)),
    "complex": (lambda x: x * x, (torch.randn(5, dtype=torch.complex64),)),
    "an integer": (lambda x: 7, (torch.randn(3),)),
    "a float": (lambda x: x.sum().item(), (torch.randn(3),)),
    "large integers": (lambda x: x + 1, (torch.tensor([2**53, 2**62, -(2**55)]),)),
    "no element": (lambda x: x * 2, (torch.empty(0, 3),)),
    "constant input": (lambda x, n, flag=True: x * n if flag else x, (torch.randn(3), 3)),
    "infinite": (lambda x: torch.where(x > 0, torch.inf, x), (torch.randn(6),)),
    "not a number": (lambda x: torch.log(x), (torch.randn(6),)),
    "a long sum": (lambda x: (x * 0 + 0.1).sum(), (torch.randn(4096),)),
    "large weights": (nn.Linear(40, 30), (torch.randn(2, 40),)),
}
TARGETS = ["linalg_on_tensors_mlir", "llvm_mlir", "llvm_ir"]
EVERYWHERE = ("several", "mutated buffers", "bfloat16", "complex", "no element", "large weights")
"""Programs with inputs or results of a kind of their own: they are executed at each level, the others at the last."""


@pytest.mark.parametrize("name", ["mlp", "several", "half", "bfloat16", "mutated buffers"])
def test_a_program_of_many_loops_is_compiled_without_llvms_passes_for_them(name, monkeypatch):
    monkeypatch.setattr(jit, "_MANY", 0)
    model, inputs = PROGRAMS[name]
    low = irwidget.lower(model, *inputs, to="llvm_ir", check=True, isolate=False)
    assert " = phi " in low.text
    assert low.check.state == "equal"


@pytest.mark.parametrize("program", PROGRAMS)
def test_right_programs_are_equal_at_every_level(program):
    model, inputs = PROGRAMS[program]
    held = [*inputs, *(model.buffers() if isinstance(model, nn.Module) else ())]
    before = [tensor.clone() if isinstance(tensor, torch.Tensor) else tensor for tensor in held]
    targets = TARGETS if program in EVERYWHERE else TARGETS[-1:]
    for target, low in irwidget.lower(model, *inputs, to=targets, check=True).items():
        assert low.check.state == "equal", (target, str(low.check))
        assert low.check.index == max(i for i, dump in enumerate(low.dumps) if dump.changed)
        assert low.diagnostics[-1].message == f"check: {low.check}"
    for kept, now in zip(before, held, strict=True):
        assert torch.equal(kept, now) if isinstance(now, torch.Tensor) else kept == now


def test_open_sizes_and_symbolic_results():
    batch = torch.export.Dim("batch")

    def sized(x):
        return x.shape[0], x * 2

    low = irwidget.lower(sized, torch.randn(4, 3), to="llvm_ir", dynamic_shapes=({0: batch},), check=True)
    assert low.check.state == "equal"


def test_a_cnn_equals_eager_after_each_pass():
    model = nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)).eval()
    low = irwidget.lower(model, torch.randn(1, 3, 6, 6), to="llvm_ir", check="each")
    states = [one.state for one in low.check.each]
    assert low.check.state == "equal"
    assert "differs" not in states
    assert states.count("equal") > 5
    assert all(one.reason for one in low.check.each if one.state == "not checked")


WRONG = {
    "five times too large": (lambda x: x * 1e-5, "linalg_on_tensors_mlir", "1.000000e-05", "5.000000e-05"),
    "exp2": (lambda x: torch.softmax(x, -1), "linalg_on_tensors_mlir", "math.exp ", "math.exp2 "),
    "half twice": (lambda x: x.half() * 3, "linalg_on_tensors_mlir", "3.000000e+00", "6.000000e+00"),
    "predicate": (lambda x: (x > 0.5).sum(), "linalg_on_tensors_mlir", "cmpf ogt", "cmpf olt"),
    "dialect": (lambda x: x + x * 2, "llvm_mlir", "llvm.fadd", "llvm.fsub"),
    "LLVM IR": (lambda x: x + x * 2, "llvm_ir", "fadd", "fsub"),
    "integers": (lambda x: (x * 3).to(torch.int64) + 1, "llvm_ir", "add i64 %", "sub i64 %"),
    "beside weights": (nn.Linear(50, 3), "linalg_on_tensors_mlir", "arith.addf", "arith.subf"),
    "second result": (lambda x: (x * 2, x * 3), "linalg_on_tensors_mlir", "3.000000e+00", "3.100000e+00"),
    "first result": (lambda x: (x * 2, x * 3), "linalg_on_tensors_mlir", "2.000000e+00", "2.100000e+00"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_rewrite_is_found_and_named(case, rewriting):
    function, to, old, new = WRONG[case]
    tool = rewriting(old, new)
    low = irwidget.lower(function, torch.randn(4, 50), to=to, pipeline=f"user-tool {tool}", check=True)
    assert new in low.text
    assert low.text.rstrip() == low.dumps[-2].text.replace(old, new).rstrip()  # the check changes nothing else
    assert (low.check.state, low.check.dump) == ("differs", "wrong"), str(low.check)
    assert low.check.index == len(low.dumps) - 1
    assert low.diagnostics[-1].severity == "error"
    assert "DIFFERS from eager PyTorch after wrong" in low.diagnostics[-1].message


def test_what_is_equal_on_the_given_inputs_alone_differs(rewriting):
    tool = rewriting("constant 3 : i64", "constant 9 : i64")
    x = torch.tensor([[7, 0, 5, 1] * 10])
    low = irwidget.lower(
        lambda x: torch.where(x == 3, 100, x), x, to="linalg_on_tensors_mlir", pipeline=f"user-tool {tool}", check=True
    )
    assert (low.check.state, low.check.dump) == ("differs", "wrong"), str(low.check)
    assert low.check.reason.startswith("on your inputs it is equal, but with others of their kind result 0[")


def test_the_wrong_pass_is_named_among_those_that_keep_the_error(rewriting, mlp):
    pipeline = f"mlir-opt --canonicalize | user-tool {rewriting('arith.addf', 'arith.subf')} | mlir-opt --cse"
    for check in (True, "each"):
        low = irwidget.lower(mlp, torch.randn(2, 4), to="linalg_on_tensors_mlir", pipeline=pipeline, check=check)
        assert (low.check.state, low.check.dump) == ("differs", "wrong")
        assert isinstance(low.check.element, Element)
        assert low.check.error > 0.01 > low.check.eager_error


def small_pivot(x):
    return torch.linalg.slogdet(x)[1]


def transformed(x):
    return torch.fft.rfft(x, dim=0)


def beside(x):
    """What lies beside a view in memory, after arithmetic."""
    return torch.as_strided((x * 2).select(1, 1), (2, 2), (12, 1))


NUMBERS = torch.randn(16, 256, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
RIGHT = {
    "float64": (lambda x: (x @ x.T, torch.nn.functional.gelu(x), x.softmax(1)), NUMBERS),
    "elimination": (small_pivot, torch.tensor([[1e-3, 1.0, 2.0], [1.0, 2.0, 0.5], [3.0, 0.25, 1.0]])),
    "a transform": (transformed, torch.rand(36, 10, generator=torch.Generator().manual_seed(0))),
    "memory beside a view": (beside, torch.rand(2, 3, 4)),
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_right_programs_lose_is_allowed(case):
    function, x = RIGHT[case]
    low = irwidget.lower(function, x, to="linalg_on_tensors_mlir", check=True)
    assert low.check.state == "equal", str(low.check)


COMPOSED = {
    "of integers": (torch.sinh, torch.arange(-90, 90), "stablehlo_mlir"),
    "along no dimension": (lambda x: x.mean(), torch.tensor(2.5), "stablehlo_mlir"),
    "places of equal elements": (lambda x: x.kthvalue(2, 1), torch.arange(40).reshape(4, 10) % 3, "tosa_mlir"),
}


@pytest.mark.parametrize("case", COMPOSED)
def test_what_torch_mlir_composes_is_allowed_what_its_parts_lose(case):
    function, x, target = COMPOSED[case]
    low = irwidget.lower(function, x, to=target, check=True)
    assert low.check.state == "equal", str(low.check)


def test_what_a_dtype_does_not_hold_is_infinite():
    """Too large for the dtype is no distance, and of what overflows too early in eager PyTorch anything is right."""
    want = torch.tensor([1.0, torch.inf, torch.inf, torch.inf])
    exact = torch.tensor([1.0, 1e60, 3e38, torch.inf], dtype=torch.float64)
    made = result_of("result 0", want, exact, [exact * (1 + 1e-7), exact * (1 - 1e-7)])
    assert made.allowed[1] < 1e38
    for got, state in (([1.0, 1.0, torch.inf, torch.inf], "differs"), ([1.0, torch.inf, torch.inf, 5.0], "differs")):
        assert judge("p", 1, [_array(torch.tensor(got))], [made]).state == state
    assert judge("p", 1, [_array(want)], [made]).state == "equal"


def test_the_largest_number_is_no_infinity():
    """Of a row of minus infinities the largest is that, which no rounding makes of -FLT_MAX."""
    most = torch.finfo(torch.float32).max
    want = torch.tensor([-torch.inf, torch.inf, most])
    exact = torch.tensor([-torch.inf, torch.inf, most * (1 + 1e-9)], dtype=torch.float64)
    made = result_of("result 0", want, exact, [exact * (1 + 1e-7), exact * (1 - 1e-7)])
    for got, state in (
        ([-most, torch.inf, most], "differs"),
        ([-torch.inf, most, most], "differs"),
        ([-torch.inf, torch.inf, torch.inf], "equal"),
    ):
        assert judge("p", 1, [_array(torch.tensor(got))], [made]).state == state, got


@pytest.mark.parametrize("meant", [1.0, 1.5])
def test_rounding_of_the_program_as_it_was_written_counts_only_where_it_is_the_same(meant):
    """What was taken apart says 1.5, eager PyTorch 1; as written, the program means one of these, and rounds by 1."""
    want, exact = torch.ones(4), torch.full((4,), 1.5, dtype=torch.float64)
    noise = exact * 1e-6
    shaken = [torch.full((4,), meant - 1), torch.full((4,), meant + 1)]
    written = torch.full((4,), meant, dtype=torch.float64)
    result = result_of("result 0", want, exact, [exact + noise, exact - noise], lambda: written, lambda: shaken)
    ulps = 2 * torch.finfo(torch.float32).eps * 1.5
    if meant == 1.0:
        assert result.exact is None  # it is judged by eager PyTorch, by what float64 says of noise
        assert torch.allclose(result.allowed, 4 * noise + ulps, rtol=1e-9, atol=0)
    else:
        assert torch.equal(result.exact, exact)
        assert torch.allclose(result.allowed, torch.full((4,), 1 + ulps, dtype=torch.float64), rtol=1e-9, atol=0)


def test_a_transform_loses_by_its_length_and_elimination_by_its_pivots():
    def grown(function, x):
        (node, *_) = (
            node
            for node in torch.export.export(as_module(function), (x,)).graph.nodes
            if node.op == "call_function" and "getitem" not in str(node.target)
        )
        return growth(node, (x, *node.args[1:]))

    assert grown(transformed, torch.zeros(64, 3)) == grown(transformed, torch.zeros(64, 30))
    assert grown(transformed, torch.zeros(64, 3)) > 2 * grown(transformed, torch.zeros(16, 3))
    assert grown(small_pivot, RIGHT["elimination"][1]) > 1000
    assert grown(small_pivot, torch.eye(3)) == 4
    assert grown(small_pivot, torch.tensor([[1.0, 0.1, 0.1], [0.1, 1.0, 0.1], [1.1, 1.1, 0.2]])) == math.inf
    assert grown(small_pivot, torch.tensor([[1.0, 1.0], [1.0, 1.0000001]])) == math.inf
    half = torch.zeros(33, 3, dtype=torch.complex64)  # of 66 or 64 numbers
    node = torch.fx.Graph().call_function(torch.ops.aten._fft_c2r.default, (half, [0], 2, 64))
    assert growth(node, node.args) == grown(transformed, torch.zeros(33, 3))


ATEN = torch.ops.aten
A, B, C = torch.ones(2, 3, 5), torch.ones(2, 5, 7), torch.ones(2, 3, 7)
LENGTHS = [
    (ATEN.mm.default, (A[0], B[0]), 5),
    (ATEN.bmm.default, (A, B), 5),
    (ATEN.addmm.default, (C[0], A[0], B[0]), 5),
    (ATEN.baddbmm.default, (C, A, B), 5),
    (ATEN.convolution.default, (A, torch.ones(3, 3, 2), None, [1], [0], [1], False, [0], 1), 6),
    (ATEN._softmax.default, (A, 1, False), 3),
    (ATEN.logsumexp.default, (A, [2]), 5),
    (ATEN.cumsum.default, (torch.tensor(1.0), 0), 1),
    (ATEN.native_layer_norm.default, (A, [3, 5], None, None, 1e-5), 15),
    (ATEN.native_batch_norm.default, (A, None, None, None, None, True, 0.1, 1e-5), 10),
    (ATEN.fft_rfft.default, (A, 4, 2), 4),
    (ATEN.fft_irfft.default, (A, None, 1), 6),
    (ATEN._fft_c2r.default, (A + 0j, [1, 2], 2, 8), 30),
    (ATEN.sum.dim_IntList, (A, [0, 2]), 10),
    (ATEN.sum.default, (A,), 30),
    (ATEN.relu.default, (A,), 1),
    (ATEN.arange.default, (4,), 1),
]


@pytest.mark.parametrize(("operator", "args", "length"), LENGTHS)
def test_a_sum_has_so_many_terms(operator, args, length):
    node = torch.fx.Graph().call_function(operator, args)
    node.meta["val"] = operator(*args)
    assert length_of(node, args) == length
    assert growth(node, args) == (1 if length == 1 else 1 + math.sqrt(length) / 2 + length / 16)
    if length > 1:  # but for a few, narrow floats are added up in wider ones
        node.meta["val"] = pytree.tree_map(lambda one: one.real.half(), node.meta["val"])
        assert growth(node, args) == 1 + math.sqrt(min(length, 8)) / 2


def as_module(function):
    module = nn.Module()
    module.forward = function
    return module


def test_one_large_element_hides_no_other():
    def at_scale(x):
        return torch.cat([x * 1e7, x])

    def off(x):
        return torch.cat([x * 1e7, x + 0.01])

    x = torch.randn(5)
    want = at_scale(x)
    allowed = torch.full((10,), 1e-6, dtype=torch.float64) * want.abs()
    result = ExpectedResult("result 0", want, want.double(), allowed)
    assert judge("p", 1, [_array(want)], [result]).state == "equal"
    verdict = judge("p", 1, [_array(off(x))], [result])
    assert (verdict.state, verdict.element.index[0] >= 5) == ("differs", True)


def test_places_of_infinities_and_not_a_numbers_are_compared():
    want = torch.tensor([1.0, torch.inf, torch.nan, -torch.inf])
    result = ExpectedResult("result 0", want, want.double(), torch.full((4,), 0.5, dtype=torch.float64))
    assert judge("p", 1, [_array(want)], [result]).state == "equal"
    for wrong in (
        [torch.nan, torch.inf, torch.nan, -torch.inf],
        [1.0, 3e38, torch.nan, -torch.inf],
        [1.0, torch.inf, 0.0, -torch.inf],
        [1.0, torch.inf, torch.nan, torch.inf],
        [torch.inf, torch.inf, torch.nan, -torch.inf],
    ):
        assert judge("p", 1, [_array(torch.tensor(wrong))], [result]).state == "differs", wrong


def test_where_anything_would_be_allowed_only_eagers_own_number_is_equal():
    want = torch.tensor([1.0, -torch.inf, -torch.inf])
    allowed = torch.tensor([0.5, torch.inf, torch.inf], dtype=torch.float64)
    result = ExpectedResult("result 0", want, torch.tensor([1.0, -27.0, -28.0], dtype=torch.float64), allowed)
    assert judge("p", 1, [_array(want)], [result]) == Verdict("equal", "p", 1, "", 0.0, 0.0)
    verdict = judge("p", 1, [_array(torch.tensor([1.25, 5.0, -torch.inf]))], [result])
    assert str(verdict) == (
        "equal to eager PyTorch after p (largest error 0.25; eager's own is 0), but 1 of 3 elements cannot be "
        "compared: rounding may make anything of them"
    )
    assert judge("p", 1, [_array(torch.tensor([1.75, 5.0, 7.0]))], [result]).state == "differs"
    whole = ExpectedResult("result 0", want[1:], result.exact[1:], allowed[1:])
    assert judge("p", 1, [_array(torch.tensor([5.0, 6.0]))], [whole]).state == "not checked"


def test_a_remainder_may_lose_a_part_of_a_dividend_that_is_not_much_larger():
    """As `x - trunc(x / y) * y` does, in which torch-mlir lowers it; not where all of it may be lost."""

    def allowed(function, x):
        module = as_module(function)
        exported = ExportedCopy.of(torch.export.export(module, (x, torch.full_like(x, 0.3))))
        (case, *_) = expect(module, (x, torch.full_like(x, 0.3)), {}, exported, seconds=60).cases
        return case.results[0].allowed

    for function in (torch.fmod, torch.remainder):
        x = torch.tensor([0.2, 10.0, 5e3, 1e6])
        one, ten, more, many = allowed(lambda x, y, called=function: called(x, y), x).tolist()
        assert 0 < one < 1e-6 < ten < 1e-4 < more < 0.02
        assert many < 1e-6


REINTERPRETED = {
    "half": (lambda x: x.half().view(torch.bfloat16), torch.bfloat16),
    "integers": (lambda x: (100 * x).int().view(torch.float16) * 1.0, torch.float16),
    "complex": (lambda x: torch.complex(x, -x).view(torch.float32), torch.float32),
}


@pytest.mark.parametrize("case", REINTERPRETED)
def test_bytes_are_read_as_those_of_the_dtype_that_the_program_has(case):
    function, dtype = REINTERPRETED[case]
    x = torch.arange(1.0, 9).reshape(2, 4)
    program = make_fx(function)(x)
    (found,) = pytree.tree_leaves(Wide(program, {}).run(x))
    wanted = function(x)
    assert wanted.dtype == dtype
    assert torch.equal(found.nan_to_num(), wanted.double().nan_to_num())


def test_integers_are_compared_exactly():
    want = torch.tensor([2**62 + 1, 5])
    result = ExpectedResult("result 0", want)
    assert judge("p", 1, [_array(want)], [result]).state == "equal"
    assert judge("p", 1, [_array(torch.tensor([2**62, 5]))], [result]).element == Element(
        "result 0", (0,), 2**62, 2**62 + 1
    )


def test_shapes_and_numbers_are_compared():
    two = ExpectedResult("result 0", torch.ones(2))
    assert "has shape [3], not [2]" in judge("p", 1, [_array(torch.ones(3))], [two]).reason
    assert judge("p", 1, [8], [ExpectedResult("result 0", 7)]).state == "differs"
    assert judge("p", 1, [7], [ExpectedResult("result 0", 7)]).state == "equal"


NOT_CHECKED = {
    "random": (lambda x: x + torch.rand(3), (torch.randn(3),), "llvm_ir", "random"),
    "dropout": (nn.Dropout(), (torch.randn(3),), "llvm_ir", "random"),
    "random in a branch": (
        lambda x: torch.cond(x[0] > 0, torch.rand_like, torch.sin, (x,)),
        (torch.ones(3),),
        "linalg_on_tensors_mlir",
        "random",
    ),
    "PTX": (nn.ReLU(), (torch.randn(3),), "nvptx", "PTX is not executed; the last dump that was"),
    "AMDGCN": (nn.ReLU(), (torch.randn(3),), "amdgpu", "AMD's assembly is not executed; the last dump that was"),
    "SPIR-V": (nn.ReLU(), (torch.randn(3),), "spirv", "@main returns 0 results, and eager PyTorch 1; the last dump"),
    "TorchScript": (nn.ReLU(), (torch.randn(3),), "torch_script_graph_ir", "a TorchScript graph is not executed"),
    "text": ("module {}", (), "raw_ir", "no eager PyTorch"),
    "without data": (nn.ReLU(), (torch.empty(3, device="meta"),), "llvm_ir", "hold no data"),
}


@pytest.mark.parametrize("case", NOT_CHECKED)
def test_what_is_not_executed_says_so(case):
    model, inputs, to, reason = NOT_CHECKED[case]
    low = irwidget.lower(model, *inputs, to=to, check=True)
    assert low.check.state == "not checked"
    assert reason in low.check.reason
    assert low.diagnostics[-1].severity == "warning"


class Raises(nn.Module):
    """Fails when it is run, not when it is traced."""

    def forward(self, x):
        if not torch.compiler.is_exporting():
            raise ValueError("not today")
        return x * 2


WHERE = torch.tensor([5])


def is_exported_wrongly(x):
    """Whose program reads what is not there; while it is traced nobody looks."""
    return x[WHERE] if torch.compiler.is_exporting() else x[:1] * 1


class Dies(nn.Module):
    """Ends its process when it is run, not when it is traced."""

    def forward(self, x):
        if not torch.compiler.is_exporting():
            import os
            import signal

            os.kill(os.getpid(), signal.SIGSEGV)
        return x * 2


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Raises(), "eager PyTorch fails on copies of the inputs: ValueError: not today"),
        (
            is_exported_wrongly,
            "the exported program, not the model, fails: IndexError: index 5 is out of bounds for dimension 0 with "
            "size 3",
        ),
        (Dies(), "the eager run of the model was killed by SIGSEGV"),
    ],
)
def test_the_failure_of_the_eager_run_costs_only_the_verdict(model, reason):
    low = irwidget.lower(model, torch.randn(3), to="llvm_ir", check=True)
    assert "define" in low.text
    assert (low.check.state, low.check.reason) == ("not checked", reason)


def test_a_result_that_pytorch_exports_in_another_dtype_is_not_compared():
    low = irwidget.lower(
        lambda g, x: torch.ops.aten.threshold_backward(g, x, 1),
        *(torch.arange(6), torch.randn(6)),
        to="torch_mlir",
        check=True,
    )
    reason = "result 0 is torch.float32 in eager PyTorch, but torch.int64 in the exported program"
    assert (low.check.state, low.check.reason) == ("not checked", reason)


def test_a_program_that_crashes_differs(rewriting):
    tool = rewriting("getelementptr inbounds nuw float, ptr %1,", "getelementptr inbounds nuw float, ptr null,")
    low = irwidget.lower(nn.ReLU(), torch.randn(3), to="llvm_ir", pipeline=f"user-tool {tool}", check=True)
    assert "ptr null" in low.text
    assert low.check.state == "differs"
    assert low.check.reason.startswith("the compiled program was killed by SIGSEGV, and eager PyTorch returns")


def test_a_program_that_crashes_on_other_inputs_says_so_and_what_it_printed():
    low = irwidget.lower(torch.linalg.det, 2 * torch.eye(3), to="torch_mlir", check=True)
    assert str(low.check) == (
        "DIFFERS from eager PyTorch after torch.export: on your inputs it is equal, but with others of their kind the "
        "compiled program was killed by SIGABRT after it printed 'unimplemented: determinants requiring permutations "
        "and singular matrices', and eager PyTorch returns; no pass had run yet: the import is wrong, or a pass of the "
        "standard route that executes it"
    )


def test_a_fault_that_these_inputs_do_not_show_is_found_with_others(rewriting):
    """The weights of a row that nobody looks up are wrong."""
    torch.manual_seed(0)
    table = nn.Embedding(6, 2)
    table.weight.data[3, 1] = 0.625
    tool = rewriting("6.250000e-01", "7.250000e-01")
    low = irwidget.lower(
        table,
        torch.tensor([5, 0, 1, 2, 4, 4, 2, 1]),
        to="linalg_on_tensors_mlir",
        pipeline=f"user-tool {tool}",
        elide=False,
        check=True,
    )
    if "7.250000e-01" in low.text:
        assert low.check.state == "differs"
        assert low.check.reason.startswith("on your inputs it is equal")


def test_a_verdict_in_brief_counts_those_of_each_dump():
    inner = Verdict("differs", "p", 3, "far", 2.0, 1e-7, Element("result 0", (1, 2), 1 + 2j, 1 - 2j))
    verdict = Verdict("not checked", reason="because", each=(inner, Verdict("equal", "q", 4, "", 0.0, 0.0)))
    assert verdict.brief == "not checked (of 2 dumps: 1 differs, 1 equal)"


def _array(tensor):
    return Array(tensor.contiguous().numpy().tobytes(), tuple(tensor.shape))


@pytest.mark.parametrize("to", ["torch_mlir", "linalg_on_tensors_mlir", "llvm_ir"])
def test_results_that_are_none_are_left_out_and_the_others_judged(to):
    def function(x):
        return {"none": None, "both": (x * 2, None)}

    low = irwidget.lower(function, torch.randn(3), to=to, check=True)
    assert low.check.ok, low.check
    assert "!torch.none" not in low.text
    said = [str(one) for one in low.diagnostics]
    assert sum("of the model is None" in one for one in said) == 2, said


def test_a_result_that_is_none_in_eager_only_is_not_checked():
    def function(x):
        return x * 2, None if not torch.compiler.is_exporting() else x

    low = irwidget.lower(function, torch.randn(3), to="linalg_on_tensors_mlir", check=True)
    assert low.check.state == "not checked"
    assert "result 1 is None in eager PyTorch, but not in the exported program" in low.check.reason


def test_a_builtin_is_lowered_and_checked():
    low = irwidget.lower(torch.erf, torch.randn(3), to="linalg_on_tensors_mlir", check=True)
    assert low.check.ok
    assert low.name == "erf"


def test_a_part_that_torch_compile_has_made_is_checked_as_it_was_written():
    """Eager PyTorch is the reference: what a compiler makes of a submodule is neither waited for nor believed."""

    def wrong(module, inputs):
        return lambda *given: [given[0] * 0]

    model = nn.Sequential(torch.compile(nn.Sigmoid(), backend=wrong))
    low = irwidget.lower(model, torch.randn(3), to="linalg_on_tensors_mlir", check=True)
    assert low.check.ok, low.check
    assert (
        irwidget.lower(model, torch.randn(64, dtype=torch.float16), to="spyre_opspec").text.count("op='sigmoid'") == 1
    )


def test_what_pytorch_leaves_open_is_no_alarm_and_the_rest_is_compared():
    for made in (
        torch.empty_like,
        lambda x: x.byte().new_empty_strided((3, 2, 2), (1, 2, 3)),
    ):  # which becomes an arange
        low = irwidget.lower(made, torch.ones(3), to="linalg_on_tensors_mlir", check=True)
        assert str(low.check) == "not checked: no element can be compared: PyTorch leaves them open"
    many = torch.randint(0, 40, (80,), generator=torch.Generator().manual_seed(1))
    low = irwidget.lower(lambda x: torch.sort(x * 2), many, to="linalg_on_tensors_mlir", check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check


def test_a_float_that_an_integer_does_not_hold_is_open_and_no_other():
    x = torch.tensor([1e20, 3.7, -1e20, math.nan, math.inf, -math.inf, 2.0**31, 2.0**31 - 1], dtype=torch.float64)
    program = ExportedCopy.of(torch.export.export(Cast(), (x,)))
    low, high = expect(Cast(), (x,), {}, program, seconds=60).cases[0].results
    assert low.open is not None
    assert low.open.tolist() == [True, False, False, True, True, False, True, False]
    assert high.open is not None
    assert high.open.tolist() == [True, False, False, True, True, False, False, False]
    lowered = irwidget.lower(Cast(), x[:4].float(), to="tosa_mlir", check=True)
    assert "4 of 8 elements cannot be compared: PyTorch leaves them open" in str(lowered.check)


def test_the_order_of_equal_elements_is_open_and_no_other():
    program = ExportedCopy.of(torch.export.export(Sorted(), (TIES,)))
    case = expect(Sorted(), (TIES,), {}, program, seconds=60).cases[0]
    values, places = case.results
    assert values.open is None
    assert places.open is not None
    assert places.open.tolist() == [False, True, True, False, True, True, True]

    def verdict(order: list[int]) -> str:
        made = array(TIES.sort().values), array(torch.tensor(order))
        return judge("", 0, made, case.results).state

    assert verdict([3, 6, 2, 0, 5, 4, 1]) == "equal"
    assert verdict([3, 6, 2, 1, 5, 4, 0]) == "differs"


TIES = torch.tensor([2.0, 4.0, 1.0, 0.0, 4.0, 4.0, 1.0])


class Cast(nn.Module):
    def forward(self, x):
        return x.int(), x.long()


class Sorted(torch.nn.Module):
    def forward(self, x):
        return torch.sort(x)


def test_an_operator_that_was_taken_apart_wrongly_is_not_the_measure(monkeypatch):
    """The exact values come from what torch-mlir imports: few elements that were wrong there were called right."""
    aten = torch.ops.aten
    wrong = {
        aten.hardsigmoid.default: lambda x: (x / 6 + 0.5).clamp(0, 1) + torch.where(x > 2.9, 0.01, 0.0),
        aten.sgn.default: lambda x: torch.where(x == 7, 2, x.clamp(-1, 1)),
        aten.isposinf.default: lambda x: x > 2.9,
    }
    table = private_torch_mlir.decompositions()

    def model(x, i):
        return torch.nn.functional.hardsigmoid(x), torch.sgn(i), torch.isposinf(x)

    inputs = torch.linspace(-3, 3, 200), torch.arange(-40, 40)
    monkeypatch.setattr(private_torch_mlir, "decompositions", lambda: {**table, **wrong})
    low = irwidget.lower(model, *inputs, to="linalg_on_tensors_mlir", check=True)
    assert low.check is not None
    assert low.check.state == "differs", low.check
    assert "; so is result 1; so is result 2" in str(low.check)
    assert "no pass had run yet" in str(low.check)


@pytest.mark.parametrize("wrong", [False, True])
def test_of_very_many_sums_none_is_called_wrong_that_rounds(wrong, monkeypatch):
    """By chance, few evaluations with noise are all near the exact value somewhere: each other input was 'wrong'."""
    torch.manual_seed(1)
    x = torch.randn(150, 240)
    if wrong:
        aten = torch.ops.aten
        table = private_torch_mlir.decompositions() | {aten.sgn.default: lambda x: x.clamp(-1, 1) * (1 + 3e-6)}
        monkeypatch.setattr(private_torch_mlir, "decompositions", lambda: table)

    def model(x):
        made = x @ x.T
        return made, (made * 100).int(), made.round(), torch.sgn(x)

    low = irwidget.lower(model, x, to="linalg_on_tensors_mlir", check=True)
    assert low.check is not None
    assert low.check.state == ("differs" if wrong else "equal"), low.check


def scattered(x):
    y = torch.zeros(6, 4).scatter(1, torch.tensor([[0], [1], [2], [3], [0], [1]]), x[:, :1])
    y[torch.tensor([0, 2])] = x[:2].double().float()
    return y, x.bfloat16().sort(1), torch.index_add(x, 0, torch.tensor([0, 0, 3]), x[:3])


def narrowed(x):
    """What is too large for 8 bits wraps in eager PyTorch."""
    y, z = (x.abs() * 300).to(torch.uint8), (x > 0) & (x < 1)
    y[2:], z[1:] = 3, True
    return y, z, (x * 1000).to(torch.int8).sort(0)


def unwritten(x):
    """Torch-mlir leaves `tensor.empty` in StableHLO."""
    made = []
    for dtype in (torch.float32, torch.float16, torch.int64, torch.bool):
        y = torch.empty(6, 4, dtype=dtype)
        y[2:], y[:2] = x[2:], x[:2]
        made.append(y)
    return made


@pytest.mark.parametrize("model", [scattered, narrowed, unwritten])
def test_what_nothing_compiles_of_stablehlo_is_interpreted(model):
    torch.manual_seed(0)
    low = irwidget.lower(model, torch.randn(6, 4), to="stablehlo_mlir", check=True, elide=False)
    assert low.check is not None
    assert low.check.state == "equal", low.check
    scatters = [dump for dump in low.dumps if "stablehlo.scatter" in dump.text]
    assert len(scatters) > 1
    broken = low.text.replace("stablehlo.return %arg2", "stablehlo.return %arg1", 1)
    assert broken != low.text
    again = low.edit(len(low.dumps) - 1, broken).run(check=True)
    assert again.check is not None
    assert again.check.state == "differs", again.check


def test_rows_in_order_stay_so_in_other_inputs() -> None:
    rows = torch.sort(torch.rand(3, 6), -1)[0]
    values, order = rows.flip(-1), torch.arange(5, -1, -1).repeat(3, 1)

    def searched(given: tuple[torch.Tensor, ...], wanted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.searchsorted(given[0], wanted), torch.searchsorted(given[1], wanted, sorter=given[2])

    given = (rows, values, order), torch.rand(3, 4)
    low = irwidget.lower(searched, *given, to="linalg_on_tensors_mlir", check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check
