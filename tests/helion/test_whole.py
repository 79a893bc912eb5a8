"""The passes of a kernel as one, without dumps: the same module as one by one, and nothing stale between kernels."""

from __future__ import annotations

import helion
import helion.language as hl
import pytest
import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import emit_kernel, lower_kernel, passes, whole
from irwidget.toolchain.run import Options
from irwidget.trace import Location
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw
from tests.helion.cases import CASES, Case
from tests.helion.test_kernels import ATEN
from tests.sampling import sampled

X, Y = torch.randn(20, 33), torch.randn(33, 18)


@pytest.mark.parametrize("case", sampled(CASES, 4), ids=str)
def test_all_passes_at_once_leave_what_they_leave_one_by_one(case: Case):
    kernel = emit_kernel(case.kernel, case.inputs(), case.config)
    for aten in ATEN:
        at_once, one_by_one = kernel.lower(aten, dumps=False), kernel.lower(aten)
        assert at_once.mlir == one_by_one.mlir
        assert at_once.links == one_by_one.links
        ends = [(low.trace.dumps[2], low.trace.dumps[-2]) for low in (at_once, one_by_one)]
        assert [end.text for end in ends[0]] == [end.text for end in ends[1]]
        assert [end.locations for end in ends[0]] == [end.locations for end in ends[1]]
        assert [(end.name, end.step) for end in ends[0]] == [(end.name, end.step) for end in ends[1]]
        assert at_once.trace.steps == one_by_one.trace.steps
        assert at_once.trace.tools == one_by_one.trace.tools
        assert at_once.trace.facts == one_by_one.trace.facts
        assert at_once.diagnostics == one_by_one.diagnostics


def test_they_are_run_at_once_where_nobody_asks_for_dumps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("irwidget.helion.stages._one_by_one", None)
    for aten in ATEN:
        low = lower_kernel(mm.matmul, (X, Y), aten, dumps=False)
        assert len(low.trace.dumps) == (5 if aten != "raw" else 4)


def test_where_they_fail_the_pass_and_the_line_are_told():
    @helion.kernel()
    def gamma(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        for tile in hl.tile(x.size()):
            out[tile] = torch.lgamma(x[tile])
        return out

    said: list[str] = []
    for dumps in (False, True):
        with pytest.raises(UnsupportedError) as error:
            lower_kernel(gamma, (X,), dumps=dumps)
        said.append(str(error.value))
    assert said[0] == said[1]
    line = gamma.fn.__code__.co_firstlineno + 4
    assert said[0].startswith(str(Location(gamma.fn.__code__.co_filename, line)))


def test_a_module_that_does_not_verify_is_not_taken():
    raw = passes.bytecode(emit_kernel(pw.add, (X, X)).emission.module.operation)
    assert whole.finished(raw, "linalg-on-tensors", Options()) is not None
    assert whole.finished(raw[: len(raw) // 2], "linalg-on-tensors", Options()) is None


def test_what_is_imported_once_follows_the_default_dtype():
    @helion.kernel()
    def quotient(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty(x.shape, dtype=torch.float64)
        for tile in hl.tile(x.size()):
            out[tile] = (x[tile] / 3).to(torch.float64)
        return out

    n = torch.arange(10)
    texts: list[str] = []
    before = torch.get_default_dtype()
    try:
        for dtype in (torch.float32, torch.float64):
            torch.set_default_dtype(dtype)
            low = lower_kernel(quotient, (n,), "raw", dumps=False)
            texts.append(low.mlir)
    finally:
        torch.set_default_dtype(before)
    assert "f64" in texts[1]
    assert ",f32>" in texts[0]
    assert ",f32>" not in texts[1]


def test_an_op_of_the_users_own_is_imported_anew():
    """It may have been defined anew, in the next cell, and give another dtype."""
    narrow, wide = _with_an_op_of(torch.float32), _with_an_op_of(torch.float64)
    assert ",f64>" not in narrow
    assert ",f64>" in wide


def _with_an_op_of(dtype: torch.dtype) -> str:
    """The text of a call of an op that gives this dtype, imported by the parts of a kernel's emission."""
    from irwidget.helion.bindings import ir
    from irwidget.helion.builder import Builder
    from irwidget.helion.nodes import AtenCall, AtenImporter, TensorOperand

    with torch.library._scoped_library("irwidget_test_whole", "DEF") as library:
        library.define("same(Tensor x) -> Tensor")
        library.impl("same", lambda x: x.to(dtype), "Meta")
        context = passes.shared_context()
        builder = Builder(context)
        with context, ir.Location.unknown():
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                kind = builder.tensor_type([4], builder.element(torch.float32))
                value = ir.Operation.create("tensor.empty", [kind], []).result
                target = torch.ops.irwidget_test_whole.same.default
                call = AtenCall(target, (TensorOperand(0),), {}, ((value, torch.float32),))
                AtenImporter(context).call(builder, call)
        return str(module)
