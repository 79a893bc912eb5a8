"""What fails under torch.compile, or is left to eager PyTorch: which node and line are named, and what is kept."""

import pytest
import torch
from torch._higher_order_ops import map
from torch._inductor.lowering import register_lowering

import irwidget
from irwidget.errors import PassError
from irwidget.inductor import private
from tests.inductor import programs
from tests.inductor.programs import line

X = torch.randn(64, 64)


def test_what_fails_keeps_what_came_before():
    with pytest.raises(irwidget.IRWidgetError) as caught:
        irwidget.lower(programs.unlowerable, torch.randn(64), to="inductor_triton")
    assert "sort" in str(caught.value) or "Dimension" in str(caught.value)
    assert caught.value.lowering.dumps[0].name == "bytecode"


def test_bfloat16_is_left_to_eager_where_a_gpu_has_none():
    with pytest.raises(irwidget.IRWidgetError) as caught:
        irwidget.lower(programs.summed, X.bfloat16(), to="inductor_triton", arch="sm_75")
    said = "torch.compile leaves this program to eager PyTorch on sm_75: BF16 is not supported\n  Lower it for another"
    assert said in str(caught.value)
    assert caught.value.lowering.dumps[0].name == "bytecode"


def test_a_pass_of_the_users_is_shown_and_a_failing_one_named():
    def add_nothing(graph):
        for node in graph.nodes:
            node.meta["seen"] = True

    def fails(graph):
        raise RuntimeError("this pass is wrong")

    low = irwidget.lower(programs.apart, X, to="inductor_fx", patches={"post_grad_custom_post_pass": add_nothing})
    assert any("custom_post_pass" in dump.name for dump in low.dumps)
    with pytest.raises(irwidget.IRWidgetError, match="this pass is wrong") as caught:
        irwidget.lower(programs.apart, X, to="inductor_python", patches={"post_grad_custom_post_pass": fails})
    assert caught.value.lowering.dumps[-1].name not in ("bytecode", "dynamo")


def mapped(x):
    return map(lambda row: row.sin(), x)


def test_of_a_pattern_that_fails_the_node_and_its_line_are_named():
    """PyTorch's own, of `map` without another input."""
    with pytest.raises(PassError, match=r"\n  node map_impl: .* = torch\.ops\.higher_order\.map_impl\(") as caught:
        irwidget.lower(mapped, X, to="inductor_fx")
    (said,) = caught.value.lowering.failure.diagnostics
    assert (said.location.file, said.location.line) == (__file__, line(mapped, "return"))


@torch.library.custom_op("irwidget_tests::unlowered", mutates_args=())
def unlowered(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


def branched(x):
    return torch.cond(x.sum() > 0, lambda x: unlowered(x + 1), lambda x: x + 2, (x,))


def test_of_a_lowering_that_fails_in_a_branch_its_own_node_and_line_are_named():
    @register_lowering(torch.ops.irwidget_tests.unlowered.default, type_promotion_kind=None)
    def _(x):
        raise ValueError("nothing lowers this")

    unlowered.register_fake(torch.empty_like)
    with pytest.raises(PassError, match=r"nothing lowers this(?s:.*)\n  node %unlowered : ") as caught:
        irwidget.lower(branched, X, to="inductor_triton")
    (said,) = caught.value.lowering.failure.diagnostics
    assert (said.location.file, said.location.line) == (__file__, line(branched, "unlowered"))


def test_a_sparse_gradient_takes_a_gpu():
    with pytest.raises(PassError, match="takes a GPU: .* on sm_90(?s:.*)Lower it without --arch, for the CPU.*sparse="):
        irwidget.lower(torch.nn.Embedding(8, 4, sparse=True), torch.tensor([2]), to="inductor_triton", arch="sm_90")


def test_what_dynamo_keeps_to_itself_is_a_failure_all_the_same():
    """Such an error of a backend is a graph break to it, and the frame runs as it is."""
    from torch._subclasses.fake_tensor import UnsupportedFakeTensorException

    def fails(module, inputs):
        raise UnsupportedFakeTensorException("this backend is not for such graphs")

    with pytest.raises(PassError, match="UnsupportedFakeTensorException: this backend is not for such graphs"):
        irwidget.lower(torch.compile(programs.apart, backend=fails), X, to="inductor_fx")


def test_after_what_dynamo_keeps_to_itself_other_frames_are_compiled_as_they_are_without_us():
    low = irwidget.lower(programs.narrowed, X, torch.tensor(2), to="inductor_cpp")
    (kernel,) = low.results["compilation"].captured.kernels
    assert kernel.name == "cpp_fused_cos_sin_0"
    (said,) = [one for one in low.diagnostics if "Backend compiler `inductor` failed" in one.message]
    assert said.location.line == line(programs.narrowed, "x.narrow")
    assert low.failure is None
    with pytest.raises(PassError, match="leaves the whole of that frame to eager PyTorch"):
        irwidget.lower(programs.narrowed_only, X, torch.tensor(2), to="inductor_cpp")


def test_why_a_whole_frame_is_left_to_eager_is_said():
    """Once, though it breaks the caller's graph and then its own."""
    low = irwidget.lower(programs.branches_in_a_loop, X, to="inductor_cpp")
    (said,) = [one for one in low.diagnostics if one.message.startswith("graph break: Data-dependent branching")]
    assert said.message.endswith("All of clamped is left to eager PyTorch.")
    assert said.location.line == line(programs.clamped, "if x.sum() > 0")


def test_half_of_a_training_step_is_a_failure(monkeypatch):
    put = private.put
    monkeypatch.setattr(private, "put", lambda name, value: None if name == "backward_now" else put(name, value))
    with pytest.raises(irwidget.IRWidgetError, match="did not have the backward half of graph 0 compiled") as caught:
        irwidget.lower(programs.Stack(), torch.randn(8, 32), to="inductor_triton")
    assert caught.value.lowering.dumps[-1].name == "output code"
