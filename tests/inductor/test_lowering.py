"""torch.compile, opened: what is dumped, where its lines come from, what is left as it was."""

import os
import re
import shutil
import sys
from itertools import groupby

import pytest
import torch

import irwidget
from irwidget import phases
from irwidget.errors import UsageError
from irwidget.inductor import attention, capture, printing, private
from irwidget.inductor.data import DOES
from irwidget.toolchain import forked
from tests.inductor import programs
from tests.inductor.programs import line

X, W = torch.randn(64, 64), torch.randn(64, 64)
COMPUTES = re.compile(r"\s+(?:@\S+ )?(?:add|mul|sub|fma|ex2|max|div|ld\.global|st\.global)\S*\s")
"""Instructions of PTX."""
COMPUTES_IN_CPP = re.compile(r"\s+(?![\s/#]).* = ")
GPU = ["dynamo_fx", "inductor_fx", "inductor_loop_ir", "inductor_python", "inductor_triton", "inductor_ptx"]


@pytest.fixture(scope="module")
def on_gpu():
    return irwidget.lower(programs.attended, X, W, to=GPU, arch="sm_90")


@pytest.fixture(scope="module")
def trained():
    return irwidget.lower(
        programs.Stack(), torch.randn(8, 32), to=["aot_joint", "aot_forward", "aot_backward", "inductor_triton"]
    )


@pytest.fixture(scope="module")
def on_cpu():
    return irwidget.lower(programs.apart, torch.randn(32, 48), to="inductor_cpp")


def places(low):
    content = low.dumps[-1].content
    return dict(zip(content.text.split("\n"), content.locations, strict=False))


def test_every_stage_has_its_dumps_in_order(on_gpu):
    names = [dump.name for dump in on_gpu["inductor_triton"].dumps]
    order = ["bytecode", "dynamo", "pre-grad passes", "aot autograd", "joint-graph passes", "post-grad passes",
             "lowering to loops", "fusion round 1", "why", "schedule", "output code", "kernels"]  # fmt: skip
    assert [name for name in names if name in order] == order
    assert {"remove_noop_ops", "stable_sort", "reinplace_inplaceable_ops"} <= set(names)
    assert "dynamo" in on_gpu["dynamo_fx"].dumps[-1].name
    assert on_gpu["inductor_fx"].dumps[-1].name == "post-grad passes"
    assert on_gpu["inductor_loop_ir"].text.startswith("op0: ExternKernelSchedulerNode")


@pytest.mark.parametrize("options", [{"to": "inductor_triton", "arch": "sm_80"}, {"to": "inductor_cpp", "check": True}])
def test_a_copy_of_the_kernel_imports_nothing_of_torch_and_hashes_no_triton(options, monkeypatch, tmp_path):
    """Each copy would do so again."""
    real, hashed = capture.capture, private.get("triton_key").cache_info

    def noted(asked):
        before, known = set(sys.modules), hashed().currsize
        made = real(asked)
        new = [name for name in set(sys.modules) - before if name.split(".")[0] in ("sympy", "torch")]
        new += ["triton_key"] * (hashed().currsize > known and bool(asked.arch or asked.execute))
        new += ["a collection after each compilation"] * private.config(private.DYNAMO).run_gc_after_compile
        with (tmp_path / "new").open("a") as file:
            file.writelines(f"{name}\n" for name in new if ".compile_tasks." not in name)  # the code itself
        return made

    monkeypatch.setattr(capture, "capture", noted)
    irwidget.lower(lambda x: torch.softmax(torch.relu(x) @ x.T, -1).sum(0), torch.ones(4, 8), **options)
    assert (tmp_path / "new").read_text() == ""


@pytest.mark.skipif(shutil.which("g++") is None, reason="takes g++")
def test_the_compiler_is_tried_once_for_a_process(tmp_path):
    """Whether it knows the processor's instructions is in the code; that takes it seconds each time."""
    said, compiler = tmp_path / "called", tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\necho "$*" >> {said}\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    with private.config(private.INDUCTOR).patch({"cpp.cxx": (None, str(compiler))}):
        for _ in range(2):
            said.write_text("")
            irwidget.lower(programs.apart, X, to="inductor_cpp")
    assert not [call for call in said.read_text().splitlines() if ".cpp" in call]


def test_what_a_pass_puts_in_the_place_of_a_node_has_its_line():
    """A number that changes becomes a tensor, by a pass that gives its nodes no line."""
    low = irwidget.lower(lambda x, p: x * p, X, 0.5, to="inductor_triton", arch="sm_90", again=[(X, 0.25)])
    kernels = low.results["compilation"].captured.kernels
    assert len(kernels) == 2
    assert all(any(kernel.source.places) for kernel in kernels)


def test_the_parts_of_pytorch_say_when_they_begin():
    heard: list[str] = []
    with phases.heard(heard.append):
        irwidget.lower(torch.nn.ReLU(), torch.ones(4), to="inductor_python")
    said = [one for one, _ in groupby(heard) if one in DOES.values()]
    ends = ["AOTAutograd", "Dynamo"]
    assert said == ["Dynamo", "pre-grad passes", "AOTAutograd", *list(dict.fromkeys(DOES.values()))[3:], *ends]


def test_the_graph_is_on_the_gpu(on_gpu):
    text = on_gpu["inductor_fx"].text
    assert "aten.mm.default(" in text
    assert all("cuda:0" in line for line in text.split("\n") if '"f32[' in line)


def test_lines_of_a_triton_kernel_come_from_the_lines_that_they_compute(on_gpu):
    found = {text.strip(): place.line for text, place in places(on_gpu["inductor_triton"]).items() if place}
    by_code = {re.sub(r"tmp\d+", "t", text): number for text, number in found.items()}
    assert by_code["t = triton_helpers.maximum(t, t)"] == line(programs.attended, "relu")
    assert by_code["t = tl.full([1, 1], 1.0, tl.float32)"] == line(programs.attended, "+ 1")
    assert by_code["t = libdevice.exp(t)"] == line(programs.attended, "softmax")
    assert {place.file for place in places(on_gpu["inductor_triton"]).values() if place} == {programs.__file__}


def test_every_instruction_of_ptx_that_computes_leads_to_the_user(on_gpu):
    content = on_gpu["inductor_ptx"].dumps[-1].content
    pairs = list(zip(content.text.split("\n"), content.locations, strict=False))
    computing = [(code, place) for code, place in pairs if COMPUTES.match(code)]
    placed = [place for _, place in computing if place is not None]
    assert len(computing) > 20
    assert len(placed) >= 0.95 * len(computing)
    assert {place.file for place in placed} == {programs.__file__}
    assert line(programs.attended, "softmax") in {place.line for place in placed}


def test_kernels_and_calls_are_counted(on_gpu):
    facts = on_gpu["inductor_ptx"].trace.facts
    assert (facts["kernels generated"], facts["kernels called"], facts["device"]) == (1, 1, "sm_90")
    (kernel,) = facts["kernels"]
    assert facts["kernels"][kernel]["num_warps"] >= 1
    assert [name.rsplit(".", 1)[1] for name in on_gpu["inductor_ptx"].trace.attachments] == ["cubin"]


def test_ours_is_the_code_that_an_unwatched_inductor_writes(on_gpu, trained, on_cpu):
    for low, asked in (
        (on_gpu["inductor_python"], capture.CaptureRequest(programs.attended, (X, W), arch="sm_90", watched=False)),
        (on_cpu, capture.CaptureRequest(programs.apart, (torch.randn(32, 48),), watched=False)),
    ):
        unwatched = forked.call(lambda asked=asked: capture.capture(asked), cuda=False)
        assert not [stage for stage in unwatched.stages if stage.name not in ("bytecode", "dynamo")]
        assert unwatched.outputs == low.results["compilation"].captured.outputs != ()


def test_training_has_a_joint_graph_and_two_halves(trained):
    assert "tangents_1" in trained["aot_joint"].text
    assert "tangents_1" not in trained["aot_forward"].text
    assert "tangents_1" in trained["aot_backward"].text
    scopes = {dump.scope.function for dump in trained["inductor_triton"].dumps}
    assert {"forward", "backward"} <= scopes
    ops = trained["inductor_triton"].results["compilation"].captured.ops
    assert {op.direction for op in ops} == {"forward", "backward"}


def test_lines_know_their_module(trained):
    names = {place.name for place in trained["aot_joint"].dumps[-1].locations if place}
    assert {"layers.0.linear1", "layers.0.norm"} <= names


def test_inference_has_no_backward():
    with torch.no_grad(), pytest.raises(UsageError, match="aot_backward is of training"):
        irwidget.lower(programs.Stack(), torch.randn(8, 32), to="aot_backward")


def test_cpp_for_the_cpu(on_cpu):
    assert 'extern "C"' in on_cpu.text
    code = [(text, place) for text, place in places(on_cpu).items() if re.match(r"\s*(?:auto )?tmp", text)]
    assert code
    assert all(place is not None for _, place in code)
    assert {place.line for _, place in code} == {line(programs.apart, ".sum(0)"), line(programs.apart, ".sum(1)")}


def test_a_graph_break_makes_two_graphs_and_is_told(capfd):
    lows = irwidget.lower(programs.broken, torch.randn(16), to=["inductor_triton", "inductor_fx"])
    low, last = lows["inductor_triton"], lows["inductor_fx"].dumps[-1]
    assert last.name == "all graphs"
    assert ("sin" in last.text, "cos" in last.text) == (True, True)
    kernels = {op.kernel for op in low.results["compilation"].captured.ops}
    assert len(kernels) == 2
    (broken,) = low.results["compilation"].captured.breaks
    assert broken.place.line == line(programs.broken, "print")
    assert "print" in broken.reason
    assert {dump.scope.kernel for dump in low.dumps} >= {"graph 0", "graph 1"}


def test_attention_takes_the_kernel_of_a_gpu():
    half = [torch.randn(1, 2, 16, 32, dtype=torch.float16) for _ in range(3)]
    low = irwidget.lower(programs.attention, *half, to="inductor_triton", arch="sm_90")
    kernel = "torch.ops.aten._scaled_dot_product_flash_attention.default"
    assert low.text == f"# Inductor generates no Triton kernel: {kernel} is called instead\n"
    assert low.trace.facts["kernels called"] == 1
    remarks = [one.message for one in low.trace.diagnostics if one.severity == "remark"]
    assert remarks == ["scaled_dot_product_attention is taken to the flash kernel of sm_90"]


@pytest.mark.parametrize(
    ("head", "of_values", "dtype", "mask", "kernel"),
    [
        (32, 32, torch.half, None, "flash"),
        (32, 64, torch.half, None, "efficient"),
        (32, 32, torch.half, True, "efficient"),
        (264, 264, torch.half, None, "efficient"),
        (12, 16, torch.half, None, "math"),
        (16, 12, torch.half, None, "math"),
        (12, 4, torch.float, None, "efficient"),
        (6, 4, torch.float, None, "math"),
        (4, 6, torch.float, None, "math"),
        (32, 32, torch.double, None, "math"),
    ],
)
def test_attention_is_chosen_by_dtype_sizes_and_mask(head, of_values, dtype, mask, kernel):
    query, values = (torch.empty(1, 2, 16, size, dtype=dtype) for size in (head, of_values))
    assert attention.choice(query, query, values, mask and torch.ones(16, 16, dtype=dtype), grouped=False) == kernel
    assert attention.choice(query[0], query[0], values[0], None, grouped=False) == "math"


def test_a_node_without_a_line_has_that_of_its_neighbours():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    sine = graph.call_function(torch.sin, (x,))
    cosine = graph.call_function(torch.cos, (sine,))
    output = graph.output(cosine)
    cosine.meta["stack_trace"] = f'  File "{__file__}", line 3, in f\n    x.sin().cos()'
    lines = [place and place.line for place in (printing.node_place(one) for one in (x, sine, cosine, output))]
    assert lines == [None, 3, 3, None]


def test_where_nothing_is_computed_nothing_is_called():
    low = irwidget.lower(lambda x: x.t(), X, to="inductor_triton", arch="sm_90")
    assert low.text == "# Inductor generates no Triton kernel, and calls none\n"


@pytest.mark.parametrize("program", [programs.scored, programs.summed, programs.quantised, programs.offset])
def test_what_makes_tensors_while_it_compiles_for_a_gpu(program):
    assert "@triton.jit" in irwidget.lower(program, torch.randn(1, 2, 128, 16), to="inductor_triton", arch="sm_90").text


def test_a_tensor_subclass_moves_to_the_gpu_with_the_tensors_that_it_is_made_of():
    rows = torch.nested.nested_tensor([torch.randn(3, 8), torch.randn(5, 8)], layout=torch.jagged)
    low = irwidget.lower(programs.scaled, rows, to="inductor_triton", arch="sm_90")
    assert "@triton.jit" in low.text
    graph = next(dump.text for dump in reversed(low.dumps) if dump.name == "post-grad passes")
    assert "cuda:0" in graph
    assert "cpu" not in graph


def test_a_half_that_computes_nothing_is_no_failure():
    low = irwidget.lower(programs.detached, X.clone().requires_grad_(), to="inductor_cpp")
    assert [dump.scope.function for dump in low.dumps if dump.name == "partition"] == ["forward", "backward"]


def test_nothing_is_left_behind(on_gpu, trained):
    from torch._inductor import config

    assert config.force_disable_caches is False
    assert config.compile_threads != 1 or "TORCHINDUCTOR_COMPILE_THREADS" in os.environ
    assert not torch.cuda.is_available()
    assert "TRITON_CACHE_DIR" not in os.environ or "irwidget-" not in os.environ["TRITON_CACHE_DIR"]
    assert programs.attended(X, W).device.type == "cpu"


def test_a_gpu_is_asked_for_again_where_there_was_none():
    from torch.utils import _triton

    assert not _triton.has_triton()  # what PyTorch keeps from then on
    low = irwidget.lower(lambda x: torch.relu(x) + 1, torch.randn(64), to="inductor_triton", arch="sm_90")
    assert "@triton.jit" in low.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "inductor_cpp", "arch": "sm_90"}, "inductor_cpp is for the CPU"),
        ({"to": "inductor_ptx", "arch": "gfx942"}, "lower to inductor_amdgcn"),
        ({"to": "inductor_triton", "arch": "sm_99"}, "unknown architecture"),
        ({"to": "inductor_fx", "patches": "epilogue_fusions=False"}, "no setting 'epilogue_fusions'"),
        ({"to": "inductor_fx", "patches": "nonsense"}, "settings by name"),
        ({"to": "inductor_fx", "mode": "fast"}, "mode is"),
        ({"to": "inductor_fx", "again": [(X, X, X)]}, "too many"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_compiled(options, message):
    with pytest.raises(UsageError, match=message):
        irwidget.lower(programs.apart, X, **options)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune-no-cudagraphs"])
def test_other_modes_are_compiled_without_a_gpu(mode):
    low = irwidget.lower(
        programs.attended, torch.randn(256, 256), torch.randn(256, 256), to="inductor_triton", mode=mode
    )
    names = {kernel.name for kernel in low.results["compilation"].captured.kernels}
    remarks = [str(one) for one in low.diagnostics]
    if mode == "reduce-overhead":
        assert any(name.startswith("triton_per_fused") for name in names)
        code = next(dump for dump in low.dumps if dump.name == "output code")
        runs = [place for text, place in zip(code.text.split("\n"), code.locations, strict=False) if ".run(" in text]
        assert runs
        assert all(runs)
    else:
        assert any(name.startswith("triton_tem") for name in names)
        assert any("without a GPU none is timed" in remark for remark in remarks)


def test_shapes_can_be_dynamic():
    low = irwidget.lower(programs.apart, torch.randn(32, 48), to="inductor_triton", dynamic=True)
    assert "ks0" in low.text
    assert "Sym(s" in "".join(dump.text for dump in low.dumps) or "s77" in "".join(dump.text for dump in low.dumps)


def test_a_triton_kernel_of_the_users_is_compiled_and_not_launched():
    made = irwidget.lower(programs.doubled, X, to=["inductor_triton", "inductor_ptx"], arch="sm_90")
    kernels = made["inductor_triton"].results["compilation"].captured.kernels
    assert [kernel.name for kernel in kernels] == ["twice_0", "triton_poi_fused_sin_0"]
    assert "twice is not launched: what it writes has no values for code after a graph break" in [
        one.message for one in made["inductor_triton"].diagnostics
    ]
    assert ".entry twice(" in made["inductor_ptx"].text
    assert line(programs.doubled, "twice[") in {place.line for place in kernels[0].source.places if place}


def test_code_that_no_node_is_behind_and_templates_have_the_line_that_they_are_for():
    layout = irwidget.lower(torch.nn.Conv2d(4, 8, 3), torch.randn(1, 4, 8, 8), to="inductor_cpp", grad=False)
    template = irwidget.lower(programs.scored, torch.randn(1, 1, 128, 16), to="inductor_cpp", grad=False)
    for low in (layout, template):
        kernels = low.results["compilation"].captured.kernels
        for kernel in kernels:
            pairs = list(zip(kernel.source.text.split("\n"), kernel.source.places, strict=True))
            assert [text for text, place in pairs if place is None and COMPUTES_IN_CPP.match(text)] == []
    assert {place.line for place in kernels[-1].source.places if place} == {line(programs.scored, "return flex")}


def test_a_tensor_made_of_values_is_on_the_gpu():
    low = irwidget.lower(programs.with_values, torch.randn(4, 2), to="inductor_triton")
    assert "tl.store" in low.text
    graph = next(dump.text for dump in reversed(low.dumps) if dump.name == "post-grad passes")
    assert 'mul: "f32[4, 2][2, 1] cuda:0"' in graph


def chosen(x):
    y = x.clamp(max=5)
    torch._dynamo.graph_break()
    return torch.where(y > 0, y, 0.0)


def test_a_number_is_a_tensor_of_the_gpu_only_while_a_graph_is_compiled_for_it():
    """The gradient of `clamp` makes one of zero; between graphs Dynamo traces on the CPU."""
    low = irwidget.lower(chosen, X.clone().requires_grad_(), to="inductor_triton")
    assert {kernel.graph for kernel in low.results["compilation"].captured.kernels} == {0, 1}


@pytest.mark.parametrize("recurrent", [torch.nn.LSTM, torch.nn.GRU])
def test_a_recurrent_layer_for_a_gpu_has_nothing_of_the_cpus(recurrent):
    model, x = recurrent(4, 8).eval(), torch.randn(3, 2, 4)
    with pytest.raises(irwidget.IRWidgetError, match=r"allow_rnn=True"):
        irwidget.lower(model, x, to="inductor_triton")
    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
        low = irwidget.lower(model, x, to="inductor_triton")
    assert not any("mkldnn" in dump.text for dump in low.dumps)
    assert low.results["compilation"].captured.kernels
    assert any("cuDNN's kernels are never taken" in one.message for one in low.diagnostics)


@torch.library.triton_op("irwidget_tests::doubled", mutates_args={})
def doubled_by_operator(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    torch.library.wrap_triton(programs.twice)[(1,)](x, y, x.numel(), BLOCK=64)
    return y


def test_an_operator_that_launches_a_kernel_of_the_users_is_lowered():
    low = irwidget.lower(
        lambda x: doubled_by_operator(x.sin()) + 1, torch.randn(64), to="inductor_triton", arch="sm_90"
    )
    assert [kernel.name for kernel in low.results["compilation"].captured.kernels if kernel.name == "twice_0"]
    assert "twice is not launched" in "".join(one.message for one in low.trace.diagnostics)
