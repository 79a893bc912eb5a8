"""`check=True` for kernels: equal, different, or not compared, and why."""

from __future__ import annotations

import ctypes
from typing import Any

import helion
import helion.language as hl
import llvmlite.binding as llvm
import pytest
import torch

from irwidget.helion.aten import emit_aten
from irwidget.helion.bindings import arith
from irwidget.helion.handlers import _handlers
from irwidget.helion.lowering import HelionLowering
from irwidget.lowering import lower
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw
from tests.helion.cases import CASES

X, Y = torch.randn(20, 30), torch.randn(30, 12)


def test_a_right_module_is_equal_to_eager():
    low = lower(mm.matmul, X, Y, to="helion_mlir", check=True)
    assert low.check.state == "equal"
    assert low.check.error < 1e-5
    assert "equal to eager" in str(low.diagnostics[-1])


def test_of_llvm_ir_the_module_is_executed_that_it_is_made_of():
    low = lower(mm.matmul, X, Y, to="llvm_ir", check=True)
    assert low.check.state == "not checked"
    assert "the last dump that was, after" in low.check.reason


@helion.kernel(config=helion.Config(block_sizes=[64]))
def rounded(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile] * y[tile] + x[tile] / (y[tile].abs() + 1) - torch.exp(y[tile])
    return out


def test_llvm_ir_rounds_each_operation_as_a_run_does():
    x, y = torch.randn(2, 64).bfloat16()
    low = lower(rounded, x, y, to="llvm_ir")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(low.text), machine)
    engine.finalize_object()
    found = torch.empty_like(x)
    arguments = [part for one in (x, y, found) for part in (one.data_ptr(), one.data_ptr(), 0, 64, 1)]
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(arguments))
    kind(engine.get_function_address("rounded"))(*arguments)
    assert torch.equal(found, low.run(x, y))


def test_a_wrong_node_differs_and_each_says_where(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(_handlers, "aten.exp.default", lambda e, n: e.tensor(n.args[0]))
    low = lower(pw.exp_forward, torch.randn(40), to="helion_mlir", check="each")
    assert (low.check.state, low.check.dump) == ("differs", "import")
    assert low.diagnostics[-1].severity == "error"


def test_changed_arguments_are_compared():
    case = next(c for c in CASES if str(c) == "in_place")
    assert lower(case.kernel, *case.inputs(), to="helion_mlir", check=True).check.ok


@helion.kernel(config=helion.Config(block_sizes=[8]))
def first_rows(x: torch.Tensor, count: int) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(count):
        out[rows, :] = x[rows, :] * 3
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_what_nothing_writes_is_told(dtype: torch.dtype):
    x = torch.arange(100).reshape(20, 5).to(dtype)
    low = lower(first_rows, x, 11, to="helion_mlir", check=True)
    assert (low.check.state, low.check.error) == ("equal", 0.0)
    assert low.check.reason == "nothing is written to 45 of 100 elements of result 0"
    filling = torch.full_like(x, 85)  # three times as much is what memory of bytes is filled with
    assert not lower(first_rows, filling, 20, to="helion_mlir", check=True).check.reason


def test_a_module_that_writes_where_nothing_should_differs(monkeypatch: pytest.MonkeyPatch):
    launch = HelionLowering.launch
    monkeypatch.setattr(HelionLowering, "launch", lambda low, given, **how: launch(low, (given[0], 20), **how))
    verdict = lower(first_rows, torch.ones(20, 5), 11, to="helion_mlir", check=True).check
    assert verdict.state == "differs"
    assert "is 3, eager has nan (45 elements are wrong), which never writes there" in verdict.reason


@helion.kernel(config=helion.Config(block_sizes=[8]))
def added_to_what_is_there(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] += x[tile]
    return out


@helion.kernel(config=helion.Config(block_sizes=[8]))
def beside_what_it_returns(x: torch.Tensor) -> torch.Tensor:
    out, own = torch.empty_like(x), torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        own[tile] = x[tile]
    return out


@pytest.mark.parametrize("kernel", [added_to_what_is_there, beside_what_it_returns])
def test_nothing_that_is_computed_is_nothing_to_compare(kernel: Any):
    verdict = lower(kernel, X[:, 0].contiguous(), to="helion_mlir", check=True).check
    reason = "nothing that the kernel returns is computed from what is written"
    assert (verdict.state, verdict.reason) == ("not checked", reason)


@helion.kernel()
def of_a_tile(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        out[rows, columns] = torch.softmax(x[rows, columns], dim=-1)
    return out


@helion.kernel()
def added_in_pairs(x: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Two index tensors of one dim are taken with each other, of a tile as of everything."""
    out = torch.zeros([4, 4], dtype=x.dtype, device=x.device)
    for tile in hl.tile(x.size(0)):
        hl.atomic_add(out, [rows[tile], columns[tile]], x[tile])
    return out


def test_what_cannot_be_compared_says_why():
    meta = torch.empty(8, 8, device="meta")
    assert "meta tensors" in lower(pw.add, meta, meta, to="helion_mlir", check=True).check.reason
    assert lower(of_a_tile, X, to="helion_mlir", check=True, config={"block_sizes": [8, 32]}).check.state == "equal"
    places = torch.arange(20) % 4
    low = lower(added_in_pairs, X[:, 0], places, places, to="helion_mlir", check=True, config={"block_sizes": [32]})
    assert low.check.state == "equal"
    text = lower(pw.add, X, X, to="helion_triton", check=True)
    assert text.check.reason == "helion_triton of a Helion kernel is not executed"


@helion.kernel()
def summed_up(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=torch.int64, device=x.device)
    for rows in hl.tile(x.size(0)):
        out[rows, :] = torch.cumsum(x[rows, :], dim=1)
    return out


def test_a_scan_of_narrow_integers_wraps_as_in_triton_where_eager_mode_widens_them():
    bytes_of_70 = torch.full((3, 5), 70, dtype=torch.int8)
    low = lower(summed_up, bytes_of_70, to="helion_mlir", check=True)
    assert low.check.state == "not checked"
    assert "in the dtype that they have" in low.check.reason
    assert low.kernel.run(opt_level=0)[0].tolist() == [70, 140 - 256, 210 - 256, 280 - 256, 350 - 256]
    assert lower(summed_up, bytes_of_70.long(), to="helion_mlir", check=True).check.state == "equal"


@helion.kernel(config=helion.Config(block_sizes=[8]))
def to_places(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    for rows in hl.tile(x.size(0)):
        out[places[rows]] = torch.exp(x[rows])
    return out


@pytest.mark.parametrize("aten", ["linalg-on-tensors", "raw"])
def test_which_of_the_lanes_stays_that_meet_in_one_element_is_left_open(monkeypatch: pytest.MonkeyPatch, aten: str):
    x, apart, meeting = torch.randn(12), torch.arange(12).flip(0), torch.tensor([0, 1, 1, 2, 4, 4, 4, 5, 6, 7, 8, 8])
    assert lower(to_places, x, apart, to="helion_mlir", aten=aten, check=True).check.state == "equal"
    assert lower(to_places, x, meeting[:8].repeat(2)[:12], to="helion_mlir", aten=aten, check=True).check.reason == (
        "lanes of a tile are stored to one element, and which of them stays is left open; eager mode keeps the last"
    )
    monkeypatch.setitem(_handlers, "aten.exp.default", lambda e, n: e.tensor(n.args[0]))
    assert lower(to_places, x, meeting, to="helion_mlir", aten=aten, check=True).check.state == "differs"


@helion.kernel(config=helion.Config(block_sizes=[1024]))
def scaled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile] * y[tile] * 0.5
    return out


@helion.kernel(config=helion.Config(block_sizes=[16, 16]))
def summed_in_parts(x: torch.Tensor) -> torch.Tensor:
    """Of 16-bit floats each part is rounded, where eager mode takes one of all."""
    out = torch.empty([x.size(1)], dtype=x.dtype, device=x.device)
    for columns in hl.tile(x.size(1)):
        total = hl.zeros([columns])
        for rows in hl.tile(x.size(0)):
            total = total + x[rows, columns].sum(0)
        out[columns] = total
    return out


@helion.kernel(config=helion.Config(block_sizes=[16]))
def summed_at_once(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0)], dtype=x.dtype, device=x.device)
    for rows in hl.tile(x.size(0)):
        out[rows] = x[rows, :].sum(-1)
    return out


def test_long_dims_and_few_bits_allow_no_other_numbers(monkeypatch: pytest.MonkeyPatch):
    long = torch.randn(2, 8192).bfloat16()
    assert lower(scaled, *long, to="helion_mlir", check=True).check.state == "equal"
    parts = torch.randn(300, 70).bfloat16()
    assert lower(summed_in_parts, parts, to="helion_mlir", check=True).check.state == "equal"
    nearly_cancelling = torch.ones(8192).bfloat16()
    nearly_cancelling[1::2], nearly_cancelling[0] = -1, 8
    for node in ("mul.Tensor", "sum.dim_IntList"):
        exact = _handlers.get(f"aten.{node}", emit_aten)
        monkeypatch.setitem(_handlers, f"aten.{node}", lambda e, n, exact=exact: _a_sixteenth_more(e, exact(e, n)))
    assert lower(scaled, *long, to="helion_mlir", check=True).check.state == "differs"
    assert lower(summed_in_parts, parts, to="helion_mlir", check=True).check.state == "differs"
    assert lower(summed_at_once, nearly_cancelling[None], to="helion_mlir", check=True).check.state == "differs"


def _a_sixteenth_more(emitter: Any, value: Any) -> Any:
    builder, shape, element = emitter.builder, list(value.type.shape), value.type.element_type
    more = builder.constant(1.0625, element)
    dims = list(range(len(shape)))
    return builder.generic([(value, dims)], shape, element, lambda args, _: arith.mulf(args[0], more))


@helion.kernel(config=helion.Config(block_sizes=[8, 16]))
def attention_of_rounded_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Weights are rounded beside the largest so far, which in eager mode is the largest of all."""
    width = hl.specialize(q.size(1))
    out = torch.empty_like(q)
    for rows in hl.tile(q.size(0)):
        top, total = hl.full([rows], float("-inf")), hl.zeros([rows])
        acc = hl.zeros([rows, width])
        for keys in hl.tile(k.size(0)):
            scores = hl.dot(q[rows, :], k[keys, :].T, out_dtype=torch.float32) * 0.25
            higher = torch.maximum(top, torch.amax(scores, -1))
            weights = torch.exp(scores - higher[:, None])
            total = total * torch.exp(top - higher) + weights.sum(-1)
            acc = acc * torch.exp(top - higher)[:, None]
            acc = hl.dot(weights.to(q.dtype), v[keys, :], acc=acc)
            top = higher
        out[rows, :] = acc / total[:, None]
    return out


def test_what_is_rounded_inside_may_be_rounded_otherwise():
    torch.manual_seed(0)
    given = [torch.randn(rows, 16).bfloat16() for rows in (20, 200, 200)]
    assert lower(attention_of_rounded_weights, *given, to="helion_mlir", check=True).check.state == "equal"


@helion.kernel(config=helion.Config(block_sizes=[1024]))
def mish(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = torch.nn.functional.mish(x[tile])
    return out


@helion.kernel(config=helion.Config(block_sizes=[256]))
def millionths(x: torch.Tensor) -> torch.Tensor:
    """Integers that one place more or less of a float32 changes."""
    out = torch.empty_like(x, dtype=torch.int64)
    for tile in hl.tile(x.size(0)):
        out[tile] = torch.floor(torch.exp(x[tile]) * 1e6).to(torch.int64)
    return out


def test_right_kernels_are_equal_that_lose_digits_or_sort_equals():
    for name, few in (("gelu", False), ("layer_norm", False), ("sort_rows", True)):  # 1 + erf(x), a bias that cancels
        case = next(c for c in CASES if str(c) == name)
        x, *others = case.inputs()
        given = (x.bfloat16() if few else x, *others)
        assert lower(case.kernel, *given, to="helion_mlir", check=True).check.state == "equal"
    x = torch.linspace(-20, -4, 1024)  # `x * tanh(log(1 + exp(x)))`, and an `erf` that is off by places of one
    for kernel, aten in ((mish, "tosa"), (pw.gelu, "stablehlo")):
        assert lower(kernel, x, to="helion_mlir", aten=aten, check=True).check.state == "equal"
    assert lower(millionths, torch.linspace(1, 3, 200), to="helion_mlir", check=True).check.state == "equal"


@helion.kernel(config=helion.Config(block_sizes=[16]))
def with_a_ticket(x: torch.Tensor) -> list[torch.Tensor]:
    tickets, total = torch.zeros([1], dtype=torch.int32, device=x.device), torch.zeros([1], device=x.device)
    for tile in hl.tile(x.size(0)):
        hl.atomic_add(tickets, [0], 1)
        hl.atomic_add(total, [0], x[tile].sum(0))
    return [tickets, total]


@helion.kernel(config=helion.Config(block_sizes=[16]))
def sum_of_maxima(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros([1], device=x.device)
    for tile in hl.tile(x.size(0)):
        hl.atomic_add(total, [0], x[tile].amax(0))
    return total


@helion.kernel(config=helion.Config(block_sizes=[16]))
def counted(x: torch.Tensor, places: torch.Tensor) -> list[torch.Tensor]:
    each, total, top = torch.zeros_like(x), torch.zeros([1], device=x.device), torch.full([8], -9.0, device=x.device)
    for tile in hl.tile(x.size(0)):
        hl.atomic_add(each, [tile], 1.0)
        hl.atomic_add(total, [0], x[tile].sum(0))
        hl.atomic_max(top, [places[tile]], x[tile])
    return [each, total, top]


def test_what_atomics_add_up_is_compared(monkeypatch: pytest.MonkeyPatch):
    x = torch.randn(50)
    assert lower(counted, x, torch.arange(50) % 8, to="helion_mlir", check=True).check.state == "equal"
    exact = _handlers.get("aten.sum.dim_IntList", emit_aten)
    monkeypatch.setitem(_handlers, "aten.sum.dim_IntList", lambda e, n: _a_sixteenth_more(e, exact(e, n)))
    assert lower(counted, x, torch.arange(50) % 8, to="helion_mlir", check=True).check.state == "differs"


@helion.kernel(static_shapes=False)
def above(x: torch.Tensor, least: float) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        reached = (x[tile] >= 0.1) & (x[tile] == least) & (x[tile] != 2.4 / x.size(0))
        out[tile] = torch.where(reached, 1.0, 0.0).to(x.dtype)
    return out


@pytest.mark.parametrize("aten", ["linalg-on-tensors", "raw"])
def test_a_number_is_compared_in_the_dtype_of_the_elements(aten: str):
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        low = lower(above, torch.full((23,), 0.1).to(dtype), 0.1, to="helion_mlir", aten=aten, check=True)
        assert low.check.state == "equal"
        assert low.kernel.run(opt_level=0).tolist() == [1] * 23
    low = lower(above, torch.full((23,), 0.1, dtype=torch.float64), 0.1, to="helion_mlir", aten=aten, check=True)
    assert "for a float32" in low.check.reason
