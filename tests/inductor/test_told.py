"""Backends, stances and settings: what torch.compile is told elsewhere than in a cell's options."""

import pytest
import torch

import irwidget
from irwidget.errors import ExportError
from irwidget.inductor import private
from tests.inductor import programs

X = torch.randn(12, 16)


def doubling(module, inputs, mode="", options=None):
    """A backend that Inductor compiles other code for, as it is told."""
    by = {torch.sin: torch.cos} if mode == "other" or (options or {}).get("other") else {}
    for node in module.graph.nodes:
        node.target = by.get(node.target, node.target)
    module.recompile()
    return private.get("compile_fx")(module, inputs)


@pytest.mark.parametrize("told", [{"mode": "other"}, {"options": {"other": True}}])
def test_a_backend_of_the_users_is_told_what_is_for_it_also_where_it_has_a_name(told):
    if "irwidget_doubling" not in private.get("list_backends")(exclude_tags=()):
        torch._dynamo.register_backend(doubling, name="irwidget_doubling")
    low = irwidget.lower(torch.compile(torch.sin, backend="irwidget_doubling", **told), X, to="inductor_python")
    assert ("fused_cos" in low.text, "fused_sin" in low.text) == (True, False)


def test_it_is_said_which_backend_gives_way_and_that_one_calls_no_inductor():
    def forward_only(module, inputs):
        return module.forward

    said = {
        "eager": "torch.compile was told backend='eager', which gives way to Inductor here",
        forward_only: "the backend forward_only has Inductor generate no code",
    }
    for backend, remark in said.items():
        low = irwidget.lower(torch.compile(torch.sin, backend=backend), X, to="inductor_python")
        assert [one.message for one in low.diagnostics] == [remark]


@pytest.mark.parametrize("told", ["cpp_wrapper", "use_aoti"])
def test_kernels_are_found_in_a_module_of_cpp(told):
    """Which has Triton kernels beside it, and those for the CPU without a call of Inductor's compiler."""
    made = torch.compile(lambda x: x.sin(), options={told: True})
    cpu, gpu = irwidget.lower(made, X, to=["inductor_cpp", "inductor_triton"]).values()
    remark = "torch.compile was told use_aoti=True, which gives way to Inductor with cpp_wrapper=True here"
    for low, begins in ((cpu, 'extern "C"'), (gpu, "@triton.jit")):
        (kernel,) = low.results["compilation"].captured.kernels
        assert (begins in low.text, kernel.ops, any(kernel.source.places)) == (True, ("op0",), True)
        assert [one.message for one in low.diagnostics] == [remark] * (told == "use_aoti")
    code = next(one for one in cpu.dumps if one.name == "output code").content
    placed = {line.strip() for line, place in zip(code.text.split("\n"), code.locations, strict=True) if place}
    assert any("tmp1 = " in line for line in placed)


def stopped(stance):
    with torch.compiler.set_stance(stance):
        irwidget.lower(torch.sin, X, to="dynamo_fx")


def test_what_switches_dynamo_off_is_named(monkeypatch):
    with pytest.raises(irwidget.IRWidgetError, match=r"switched off by torch.compiler.set_stance\('force_eager'\)"):
        stopped("force_eager")
    with torch._dynamo.config.patch(disable=True), pytest.raises(irwidget.IRWidgetError, match="config.disable"):
        irwidget.lower(torch.sin, X, to="dynamo_fx")
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    with pytest.raises(irwidget.IRWidgetError, match="TORCHDYNAMO_DISABLE=1"):
        irwidget.lower(torch.sin, X, to="dynamo_fx")


def test_code_for_the_cpu_is_for_the_threads_of_the_kernel():
    """The copy in which it is generated has one."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        low = irwidget.lower(torch.sin, torch.randn(300, 300), to="inductor_cpp")
    finally:
        torch.set_num_threads(before)
    assert "#pragma omp parallel num_threads(3)" in low.text


class Softened(torch.nn.Module):
    def forward(self, x):
        return x.softmax(-1)


def compiled_in_place(kind=Softened, **told):
    module = kind()
    module.compile(**told)
    return module


def test_what_torch_compile_was_told_before_the_cell_is_heard():
    told = {"options": {"max_fusion_size": 1}, "dynamic": False, "fullgraph": True}
    made = [
        torch.compile(programs.apart, **told),
        torch.compile(torch.nn.Softmax(-1), **told),
        compiled_in_place(**told),
    ]
    assert [private.compiled_with(one) for one in made] == [told] * 3
    assert private.compiled_with(torch.compile(programs.apart, backend=print))["backend"] is print
    assert private.compiled_with(torch.compile(programs.apart, backend="eager")) == {
        "dynamic": None, "fullgraph": False, "options": None, "instead_of": "backend='eager'",
    }  # fmt: skip
    further = {"recompile_limit": 1, "isolate_recompiles": True}
    kept = {"guard_filter_fn": lambda guards: [True for _ in guards]}
    for fullgraph in (False, True):
        made = torch.compile(programs.apart, **further, options=kept.copy(), fullgraph=fullgraph)
        assert private.compiled_with(made).items() >= {**further, **kept}.items()
    assert private.compiled_with(programs.apart) == private.compiled_with(torch.nn.ReLU()) == {}
    chosen = {"size_asserts": False}
    heard = irwidget.lower(compiled_in_place(options=chosen), X, to="inductor_python").text
    assert heard == irwidget.lower(Softened(), X, to="inductor_python", patches=chosen).text
    assert "assert_size_stride(" not in heard
    assert "assert_size_stride(" in irwidget.lower(torch.compile(torch.nn.Softmax(-1)), X, to="inductor_python").text
    with pytest.raises(ExportError, match="no graph of ReLU: it leaves such modules to eager"):
        irwidget.lower(compiled_in_place(torch.nn.ReLU), X, to="inductor_python")
