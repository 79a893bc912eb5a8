"""What a lowering is made of: text, links, dumps, errors, and that nothing of the user's is touched."""

from __future__ import annotations

import functools
import linecache
import re
import subprocess
import sys

import helion
import helion.language as hl
import pytest
import torch
from torch_mlir import ir
from torch_mlir.dialects import arith

import irwidget
from irwidget import helion as irhelion
from irwidget.errors import ExportError, ToolError, UnsupportedError, UsageError
from irwidget.helion import lowering as lowering_module
from irwidget.helion import verify
from irwidget.helion.handlers import _handlers
from tests.helion import kernels_idioms as idioms
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw
from tests.helion.cases import CASES, Case, difference

X, Y = torch.randn(100, 70), torch.randn(70, 90)


@pytest.fixture(scope="module")
def matmul():
    return irhelion.lower_kernel(mm.matmul, (X, Y))


def test_importing_the_package_imports_neither_helion_nor_torch():
    code = (
        "import sys, irwidget.helion as h; h.is_kernel(3);"
        "print([m for m in ('helion', 'torch', 'torch_mlir') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_knows_kernels():
    assert irhelion.is_kernel(mm.matmul)
    assert not irhelion.is_kernel(torch.mm)


def test_text_has_stable_readable_names(matmul):
    assert "%t0 = " in matmul.mlir
    assert "%blk_arg0" in matmul.mlir
    assert "#map" not in matmul.mlir
    assert "func.func @matmul(%out: memref<100x90xf32>, %x: memref<100x70xf32>" in matmul.mlir
    assert irhelion.lower_kernel(mm.matmul, (X, Y)).mlir == matmul.mlir
    defined = re.findall(r"^\s*(%t\d+)(?::\d+)? =", matmul.mlir, re.M)
    assert len(defined) == len(set(defined))


@functools.lru_cache(maxsize=1)
def emitted(name: str) -> tuple[Case, irhelion.EmittedKernel]:
    case = next(c for c in CASES if str(c) == name)
    return case, irhelion.emit_kernel(case.kernel, case.inputs(), case.config)


@pytest.mark.parametrize("aten", ["raw", "linalg-on-tensors", "tosa", "stablehlo"])
@pytest.mark.parametrize("name", ["matmul", "softmax", "jagged_sum", "branches"])
def test_every_op_comes_from_a_line_of_the_kernel(name: str, aten: str):
    case, kernel = emitted(name)
    low = kernel.lower(aten, dumps=False)
    known = {link.node: link for link in low.links}
    lines = low.mlir.splitlines()
    without = [
        lines[i]
        for i, node in enumerate(low.shown.nodes)
        if node is None
        and "arith.constant" not in lines[i]
        and not lines[i].strip().startswith("//")
        and "torch.constant" not in lines[i]
        and "const" not in lines[i]
        and lines[i].strip()
    ]
    assert without == []
    used = {node for node in low.shown.nodes if node}
    assert all(known[node].location is not None for node in used)
    first = case.kernel.fn.__code__.co_firstlineno
    assert all(known[n].location.line >= first for n in used)


def test_links_join_source_node_and_mlir(matmul):
    link = next(k for k in matmul.links if k.target == "aten.addmm.default")
    source = linecache.getline(link.location.file, link.location.line)
    assert "torch.addmm" in source
    assert any("linalg.matmul" in matmul.mlir.splitlines()[n - 1] for n in link.mlir_lines)
    assert "torch.addmm" in matmul.in_place


def test_trace_shows_the_steps_and_every_pass(matmul):
    names = [d.name for d in matmul.trace.dumps]
    assert names[:3] == ["device-ir", "normalise", "import"]
    assert "convert-torch-to-linalg" in names
    assert "aten.addmm.default" in matmul.trace.dumps[0].text
    assert "torch.aten.addmm" in matmul.trace.dumps[2].text


def test_targets():
    text = irhelion.lower(mm.matmul, (X, Y), to="helion_device_ir").dumps[-1].text
    assert "root_graph" in text
    trace = irhelion.lower(mm.matmul, (X, Y), to="helion_triton")
    assert trace.dumps[-1].language == "python"
    assert "@triton.jit" in trace.dumps[-1].text
    assert irhelion.lower(mm.matmul, (X, Y), to="helion_mlir", aten="tosa").dumps[-1].text.count("tosa.matmul") == 1
    trace = irhelion.lower(mm.matmul, (X, Y), to="llvm_ir")
    assert trace.dumps[-1].language == "llvm"
    assert "define void @matmul" in trace.dumps[-1].text
    assert "llvm.func" in irhelion.lower(mm.matmul, (X, Y), to="llvm_mlir", aten="stablehlo").dumps[-1].text
    with pytest.raises(UsageError, match="Did you mean helion_mlir"):
        irhelion.lower(mm.matmul, (X, Y), to="helion_mlr")


@pytest.mark.parametrize("to", ["helion_mlir", "llvm_mlir", "llvm_ir"])
def test_what_lower_gives_runs_and_has_the_links(to):
    low = irwidget.lower(mm.matmul, X, Y, to=to)
    torch.testing.assert_close(low.run(X, Y), X @ Y)
    assert low.kernel.links


def test_several_targets_bind_once_and_are_those_of_each_alone():
    wanted = ["helion_device_ir", "helion_triton", "helion_mlir", "llvm_ir", "triton_ir"]
    lows = irwidget.lower(mm.matmul, X, Y, to=wanted)
    assert lows["helion_mlir"].kernel.binding is lows["llvm_ir"].kernel.binding
    assert {to: irwidget.lower(mm.matmul, X, Y, to=to).text for to in wanted} == {to: lows[to].text for to in wanted}


@pytest.mark.parametrize(
    ("obj", "inputs", "options"),
    [
        (torch.nn.Linear(70, 90), (X,), {"to": "tosa_mlir"}),
        (mm.matmul, (X, Y), {"to": "helion_device_ir"}),
        (mm.matmul, (X, Y), {"to": "helion_mlir", "pipeline": "mlir-opt --cse"}),
    ],
)
def test_what_cannot_run_says_so(obj, inputs, options):
    low = irwidget.lower(obj, *inputs, **options)
    with pytest.raises(UsageError, match="cannot be run"):
        low.run(X, Y)


def test_meta_tensors_bind_and_lower_but_do_not_run():
    args = (torch.empty(100, 70, device="meta"), torch.empty(70, 90, device="meta"))
    low = irhelion.lower_kernel(mm.matmul, args)
    assert low.verify() is None
    with pytest.raises(UsageError, match="meta"):
        low.run(*args)
    assert difference(low.run(X, Y), X @ Y) < 1e-4


def test_any_configuration():
    for sizes in ([16, 32, 16], [64, 32, 32]):
        low = irhelion.lower_kernel(mm.matmul, (X, Y), config=helion.Config(block_sizes=sizes))
        assert f"step ({sizes[0]}, {sizes[1]})" in low.trace.dumps[2].text
        assert difference(low.run(X, Y), X @ Y) < 1e-4


def test_launches_are_recorded_without_a_gpu(matmul):
    (launch,) = irhelion.launches(matmul.binding)
    assert launch.grid == (7 * 6,)
    assert launch.options["num_warps"] == 4


def test_the_kernel_object_and_its_caches_stay_as_they_were():
    before = dict(vars(mm.matmul))
    irhelion.lower_kernel(mm.matmul, (X, Y))
    assert dict(vars(mm.matmul)) == before
    assert not mm.matmul._bound_kernels


# --- bad input ----------------------------------------------------------------------


def test_wrong_arguments():
    with pytest.raises(UsageError, match="does not take these 1 arguments"):
        irhelion.lower_kernel(mm.matmul, (X,))
    with pytest.raises(UsageError, match="not a Helion kernel"):
        irhelion.lower_kernel(torch.mm, (X, Y))
    with pytest.raises(UsageError, match="linalg-on-tensors"):
        irhelion.lower_kernel(mm.matmul, (X, Y), aten="linalg")
    with pytest.raises(UsageError, match="does not fit"):
        irhelion.lower_kernel(mm.matmul, (X, Y), config={"block_sizes": [16]})
    with pytest.raises(UsageError, match="no option"):
        irhelion.lower_kernel(mm.matmul, (X, Y), isolated=True)


def test_wrong_shapes_at_run_time(matmul):
    with pytest.raises(UsageError, match="was lowered for"):
        matmul.run(Y, X)


@helion.kernel()
def shadowed(x: torch.Tensor) -> torch.Tensor:
    shadow, _ = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(shadow):
        out[tile, :] = x[tile, :]
    return out


def test_a_global_that_the_kernel_shadows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(globals(), "shadow", ir.Context())
    monkeypatch.setitem(globals(), "tile", ir.Context())  # of the same type
    with pytest.raises(
        ExportError, match=r"(?s)test_lowering\.py:\d+: .* local name\(s\) shadow also exist as globals"
    ):
        irhelion.lower_kernel(shadowed, (X,))


@helion.kernel()
def rebinds(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out = x[tile, :]
    return out


def test_a_global_that_is_not_why_a_kernel_is_refused_is_not_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(globals(), "out", 5)
    with pytest.raises(ExportError, match="Cannot modify host variable 'out'") as caught:
        irhelion.lower_kernel(rebinds, (X,))
    assert "globals" not in str(caught.value)


@helion.kernel()
def assembly(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = hl.inline_asm_elementwise(
            "mov.u32 $0, $1;", "=r,r", [x[tile]], dtype=torch.float32, is_pure=True, pack=1
        )
    return out


def test_unsupported_ops_name_op_line_and_reason():
    with pytest.raises(UnsupportedError, match=r"test_lowering\.py:\d+: inline_asm_elementwise .*assembly"):
        irhelion.lower_kernel(assembly, (torch.randn(32),))


# --- the oracle has teeth --------------------------------------------------------------


def mutated(monkeypatch: pytest.MonkeyPatch, target: str, handler, kernel, args):
    monkeypatch.setitem(_handlers, target, handler)
    return irhelion.lower_kernel(kernel, args, dumps=False).run(*args)


def test_a_dropped_mask_is_noticed(monkeypatch: pytest.MonkeyPatch):
    args = next(c for c in CASES if str(c) == "softmax_two_pass").inputs()
    result = mutated(monkeypatch, "_mask_to", lambda e, n: e.tensor(n.args[0]), pw.softmax_two_pass, args)
    assert difference(result, args[0].softmax(1)) > 1e-3


def test_swapped_operands_are_noticed(monkeypatch: pytest.MonkeyPatch):
    real = _handlers["dot"]

    def swapped(emitter, node):
        left, right, *rest = node.args
        node.args = (right, left, *rest)
        return real(emitter, node)

    q = torch.randn(1, 32, 32)
    result = mutated(monkeypatch, "dot", swapped, mm.causal_attention, (q, q.flip(1), q))
    expected = torch.nn.functional.scaled_dot_product_attention(q, q.flip(1), q, is_causal=True)
    assert difference(result, expected) > 1e-3


def test_handlers_of_third_parties(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("irwidget.helion.handlers._handlers", dict(_handlers))

    @irhelion.register_handler(torch.ops.aten.exp.default)
    def doubled(emitter, node):
        value = emitter.value(node.args[0])
        element = emitter.builder.element(torch.float32)
        two = emitter.builder.constant(2.0, element)
        shape = list(value.type.shape)
        return emitter.builder.generic(
            [(value, list(range(len(shape))))],
            shape,
            element,
            lambda args, _: arith.mulf(args[0], two),
        )

    x = torch.randn(50)
    assert difference(irhelion.lower_kernel(pw.exp_forward, (x,)).run(x), x * 2) == 0


def test_a_failing_handler_is_named_with_the_node_and_its_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("irwidget.helion.handlers._handlers", dict(_handlers))
    irhelion.register_handler("aten.exp.default", lambda emitter, node: emitter.nothing_of_that_name)
    with pytest.raises(UnsupportedError, match=r"kernels_pointwise.py:\d+.*aten.exp.default.*rule failed with Attr"):
        irhelion.lower_kernel(pw.exp_forward, (torch.randn(50),))


def test_a_reduction_that_helion_splits_is_lowered_whole():
    """Helion cannot compile it, so it cannot be run either."""
    lowering = irhelion.lower_kernel(idioms.variances, (torch.randn(20, 33),))
    assert lowering.verify() is None
    with pytest.raises(ExportError, match="Helion cannot generate the host function"):
        lowering.run()


def test_a_variance_of_a_ragged_tile_is_by_the_lanes_that_exist_without_its_correction():
    """Helion cannot compile it either."""
    lowering = irhelion.lower_kernel(idioms.variances_of_tiles, (torch.randn(6, 40),), dumps=False)
    assert "%cst = arith.constant dense<2.000000e+00> : tensor<f32>" in lowering.mlir
    lanes = re.search(r"(%\w+) = affine.min affine_map<\(d0\) -> \(-d0 \+ 40, 16\)>", lowering.mlir)
    assert lanes
    assert f"arith.index_cast {lanes[1]} : index to i64" in lowering.mlir
    assert lowering.mlir.count("arith.select") == 2, "values are masked for the mean, squares for the variance"


# --- crashes and wrong memory ---------------------------------------------------------------


def test_an_int8_product_does_not_kill_the_caller():
    graph = torch.fx.Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    a.meta["val"], b.meta["val"] = torch.empty(4, 8, dtype=torch.int8), torch.empty(8, 5, dtype=torch.int8)
    node = graph.call_function(torch.ops.aten.mm.default, (a, b))
    with pytest.raises(ToolError, match="crashed"):
        irhelion.import_aten_node_to_mlir(node, output_type="linalg-on-tensors")


def test_a_crash_while_running_does_not_kill_the_caller(matmul):
    program = matmul.program()
    text = program.bytecode
    broken = lowering_module.execute.Executable("nothing", text, program.steps, program.tensors, program.scalars)
    with pytest.raises(ToolError, match="no function @nothing"):
        lowering_module.execute.run(broken, matmul.binding, (X, Y))


@pytest.mark.external
def test_strict_verification_refuses_what_is_not_stock():
    if verify.mlir_opt() is None:
        pytest.skip("no mlir-opt")
    assert verify.strict('module { "loom.sym"() : () -> () }') is not None
    assert verify.strict("module {}") is None
