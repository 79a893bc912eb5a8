"""Targets, dumps, errors, the host module, torch.compile."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

from irwidget import ExportError, IRWidgetError, UnsupportedError, UsageError
from irwidget.spyre import TensorSpec, compile, inductor, lower
from irwidget.spyre.dynamo import forget_programs, graph_breaks, irwidget_spyre, programs
from irwidget.spyre.encoding import encode_dl16
from irwidget.spyre.formats import device_format
from irwidget.spyre.hardware import SEMANTICS
from irwidget.spyre.layout import DeviceLayout
from irwidget.spyre.targets import TARGETS
from tests.spyre import models

X = TensorSpec((128, 256))


def test_importing_spyre_does_not_import_torch():
    code = "import sys, irwidget.spyre as s; s.TensorSpec((4,)); s.SpyreSwitches(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_targets_are_views_of_one_program():
    traces = lower(lambda a: torch.softmax(a, -1), [X], to=TARGETS)
    assert list(traces) == list(TARGETS)
    last = {target: trace.dumps[-1] for target, trace in traces.items()}
    languages = {target: dump.language for target, dump in last.items()}
    assert languages == {
        "spyre_fx": "fx",
        "spyre_loop_ir": "text",
        "spyre_opspec": "python",
        "spyre_kernelspec": "python",
        "spyre_superdsc": "json",
        "spyre_bundle": "mlir",
        "spyre_host": "python",
    }
    for trace in traces.values():
        assert trace.dumps[0].name == "capture"
        assert all(dump.text for dump in trace.dumps if dump.name != "inductor_loop_ir")
        assert {dump.step for dump in trace.dumps} == set(range(len(trace.steps)))
        locations = trace.dumps[0].locations
        assert any(place is not None and place.file == __file__ for place in locations)
        assert len(locations) == trace.dumps[0].text.count("\n")
        assert trace.sources[__file__].startswith('"""Targets')
    assert SEMANTICS in last["spyre_superdsc"].text
    assert json.loads(last["spyre_superdsc"].text)["kernels"]
    assert "KernelSpec(" in last["spyre_kernelspec"].text
    ast.parse(last["spyre_host"].text)


def test_inductors_loop_ir_lies_beside_ours_whatever_lies_in_the_folder(tmp_path, monkeypatch):
    (tmp_path / "irwidget.py").write_text("raise ImportError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    trace = lower(lambda a: torch.exp(a), [X], to="spyre_loop_ir")
    ours, theirs = (next(d for d in trace.dumps if d.name == name) for name in ("lower", "inductor_loop_ir"))
    assert "exp(arg0_1[" in ours.text
    assert "ops.exp" in theirs.text


def test_an_inductor_that_has_moved_costs_its_dump_only(monkeypatch):
    monkeypatch.delattr("torch._inductor.graph.GraphLowering")
    captured = compile(lambda a: torch.exp(a), [X]).captured
    assert "gives no loop-level IR" in inductor.lowered(captured.graph, [((128, 256), (256, 1), torch.float16)])


def test_a_pass_that_changes_nothing_says_so():
    dumps = {d.name: d for d in lower(lambda a: a + a, [X], to="spyre_loop_ir").dumps}
    assert not dumps["deadcode_elimination"].changed
    assert dumps["finalize_layouts"].changed


def test_unknown_targets_and_options():
    with pytest.raises(UsageError, match="spyre_superdsc"):
        lower(torch.exp, [X], to="spyre_superdcs")
    with pytest.raises(UsageError, match="Did you mean lx_planning"):
        compile(torch.exp, [X], lx_plannin=True)
    with pytest.raises(UsageError, match="greedy"):
        compile(torch.exp, [X], layout_solver="greed")


@pytest.mark.parametrize("cores", [0, 33, -1, True, 2.0])
def test_core_counts(cores):
    with pytest.raises(UnsupportedError, match="invalid SENCORES"):
        compile(torch.exp, [X], cores=cores)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (TensorSpec((4, 4), "float64"), "no device format for float64"),
        (TensorSpec((4, 4), "complex64"), "no device format for complex64"),
        (TensorSpec((1,) * 7), "rank 7"),
        (TensorSpec((4, 64), dynamic={1: (0, 64)}), "symbolic stick dim 1"),
    ],
)
def test_inputs_without_a_layout(spec, message):
    with pytest.raises(UnsupportedError, match=message):
        compile(torch.exp, [spec])


@pytest.mark.parametrize(
    ("function", "specs", "message"),
    [
        (lambda a: F.layer_norm(a, (8, 256)), [TensorSpec((16, 8, 256))], "shape of length 2"),
        (lambda a: F.rms_norm(a, (8, 256)), [TensorSpec((16, 8, 256))], "shape of length 2"),
        (lambda a: torch.topk(a, 2), [TensorSpec((4, 16, 256))], "3-D"),
        (lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.1), [TensorSpec((1, 2, 64, 64))], "dropout"),
        (lambda x, w: F.conv_transpose2d(x, w), [TensorSpec((1, 8, 8, 8)), TensorSpec((8, 8, 3, 3))], "convolution"),
        (lambda a, b: a @ b, [TensorSpec((64, 64), "float32")] * 2, "batchmatmul on DataFormats.IEEE_FP32"),
        (lambda a: a.t().contiguous(), [TensorSpec((64, 128), "float32")], "ReStickifyOpHBM on DataFormats.IEEE_FP32"),
        (lambda a, b: a.sum(1) + b, [X, TensorSpec((128,))], "stick incompatibility"),
        (lambda a, b: a.float() + b, [X, TensorSpec((128, 256), "float32")], "element-arrangement"),
    ],
)
def test_what_is_refused_names_the_line(function, specs, message):
    with pytest.raises(UnsupportedError, match=message) as caught:
        compile(function, specs)
    assert "test_views.py" in str(caught.value)


def test_a_function_that_cannot_be_traced():
    with pytest.raises(ExportError, match="tracing for Spyre failed"):
        compile(lambda a: a.nonsense(), [X])
    with pytest.raises(IRWidgetError):
        compile(3, [X])


def test_layouts_per_input_and_explicit_ones():
    padded = DeviceLayout((1, 512, 64), (64, 60, 1), device_format("float16"))
    program = compile(lambda a: a + 1, [TensorSpec((40, 60), layout=padded)])
    x = torch.randn(40, 60).half()
    assert torch.equal(program.run(x), x + 1)
    module = torch.nn.Linear(256, 512)
    ours = compile(module.half(), [X])
    theirs = compile(module, [X], layouts={"weight": (0, 1)})
    assert [k.op for k in ours.kernels[0].specs] == ["batchmatmul", "add"]
    assert theirs.kernels[0].specs[0].op == "ReStickifyOpHBM"
    with pytest.raises(UsageError, match="no parameter"):
        compile(module, [X], layouts={"weigth": (0, 1)})


def test_the_host_module_launches_what_the_program_has():
    program = compile(lambda a, w: torch.softmax(torch.cumsum(F.linear(a, w), 1), -1), [X, TensorSpec((512, 256))])
    module = ast.parse(program.host)
    called = {n.func.attr for n in ast.walk(module) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    assert "run" in called
    assert program.host.count(".run(") == len(program.kernels)
    assert "torch.ops.aten.cumsum" in program.host
    assert "del _pool" in program.host


def test_shapes_larger_than_memory():
    specs = [TensorSpec((65536, 16384))] * 2
    program = compile(lambda a, b: a + b, specs)
    assert program.divisions[0].source == "span"


def test_why_things_are_as_they_are():
    program = compile(lambda a: torch.softmax(a, 0), [TensorSpec((512, 1024))])
    reasons = program.scratchpad.reasons
    assert "split over cores" in reasons["buf0"]
    assert "core division mismatch" in reasons["buf2"]
    assert program.scratchpad.in_place == {}
    assert "buf1: lx 0" in program.explain()


@pytest.mark.parametrize(("value", "bits"), [(0.0, 0), (1.0, 31 << 9), (-2.0, 0x8000 | 32 << 9), (1.5, 31 << 9 | 256)])
def test_encoding_of_half_constants(value, bits):
    assert encode_dl16(value) == bits


def test_torch_compile():
    torch._dynamo.reset()
    forget_programs()
    model = models.MLP().half().eval()
    x = torch.randn(64, 128).half()
    with torch.no_grad():
        got = torch.compile(model, backend=irwidget_spyre, options={"cores": 8})(x)
        want = model(x)
    torch.testing.assert_close(got, want, atol=5e-3, rtol=0)
    (program,) = programs()
    assert program.options.cores == 8
    assert "ReStickifyOpHBM" not in [s.op for k in program.kernels for s in k.specs]


def test_torch_compile_with_a_graph_break():
    torch._dynamo.reset()
    forget_programs()

    def f(a):
        b = torch.exp(a)
        torch._dynamo.graph_break()
        return b + 1

    x = torch.randn(64, 128).half()
    torch.testing.assert_close(torch.compile(f, backend=irwidget_spyre)(x), f(x), atol=2e-2, rtol=0)
    assert len(programs()) == 2
    assert graph_breaks()
