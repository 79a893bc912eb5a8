"""Triton's tutorial kernels, unmodified, on a machine without a GPU."""

import functools
import os

import pytest

from irwidget.errors import UsageError
from irwidget.frontends import triton as frontend
from irwidget.frontends.triton.specialization import backend_of
from irwidget.toolchain import triton_state
from tests.triton.kernels import TUTORIALS

KERNELS = {
    "vector_add": ["add_kernel"],
    "fused_softmax": ["softmax_kernel"],
    "matmul": ["matmul_body"],
    "dropout": ["dropout_kernel"],
    "layer_norm": ["norm_forward", "norm_backward_dx", "norm_backward_dwdb"],
    "fused_attention": ["attention_forward"],
    "grouped_gemm": ["grouped_kernel"],
}
ARCHS = ["sm_80", "sm_90", "gfx942"]


@functools.cache
def lowered(name, arch, to):
    launches = frontend.capture(TUTORIALS[name], arch)
    assert launches.diagnostics == []
    return [(launch, frontend.lower(launch, to=to)) for launch in frontend.select(launches)]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", TUTORIALS)
def test_every_kernel_lowers_to_assembly(name, arch):
    amd = arch.startswith("gfx")
    found = lowered(name, arch, "triton_amdgpu" if amd else "triton_nvptx")
    assert [trace.name for _, trace in found] == KERNELS[name]
    for _, trace in found:
        assert trace.failure is None
        last = trace.dumps[-1]
        assert last.language == ("amdgcn" if amd else "ptx")
        assert (f".amdhsa_kernel {trace.name}" if amd else f".entry {trace.name}(") in last.text
        assert trace.attachments[f"{trace.name}.{'hsaco' if amd else 'cubin'}"].startswith(b"\x7fELF")
        assert len(trace.dumps) > 60
        assert {str(trace.step_of(dump)) for dump in trace.dumps[1:]} >= {"ttir", "ttgir", "llir"}
        assert trace.facts["registers"] > 0
        assert trace.facts["arch"] == arch


@pytest.mark.parametrize(
    ("name", "arch"), [*[("matmul", arch) for arch in ARCHS], ("fused_attention", "sm_90"), ("layer_norm", "sm_80")]
)
def test_the_text_of_each_stage_is_what_triton_itself_compiles(name, arch, tmp_path, monkeypatch):
    """Pass by pass and across processes, the result is that of one `triton.compile`."""
    import triton
    from triton.compiler.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    amd = arch.startswith("gfx")
    for launch, trace in lowered(name, arch, "triton_amdgpu" if amd else "triton_nvptx"):
        special, _ = launch.compiled(arch)
        source = ASTSource(launch.kernel, special.signature, special.constants, special.attributes)
        real = triton.compile(source, target=backend_of(special.arch).target, options=dict(special.given))
        ours = {str(trace.step_of(dump) or "source"): dump.text for dump in trace.dumps}
        for stage in ("source", "ttir", "ttgir"):
            assert ours[stage] == triton_state.content("mlir", real.asm[stage]).text
        assert ours["llir"] == real.asm["llir"]
        assembly = "amdgcn" if amd else "ptx"
        assert ours[assembly] == real.asm[assembly]
        binary = "hsaco" if amd else "cubin"
        assert len(trace.attachments[f"{trace.name}.{binary}"]) == len(real.asm[binary])
    assert os.listdir(tmp_path)


def test_autotuned_kernel_lists_its_configurations_and_one_is_picked():
    launches = frontend.capture(TUTORIALS["matmul"], "sm_80")
    assert [launch.config.split(",")[0] for launch in launches] == ["BM=64", "BM=32"]
    assert [launch.config for launch in frontend.select(launches)] == [launches[0].config]
    for config in (1, "1", "BM=32, num_warps=2", "num_warps: 2"):
        (picked,) = frontend.select(launches, config)
        assert picked.config == launches[1].config
        assert "this is configuration 1 of\n  0: BM=64" in picked.notes[0].message
    with pytest.raises(UsageError, match=r"no configuration 'BM=7'.*\n  0: BM=64"):
        frontend.select(launches, "BM=7")
    # the grid is each configuration's own
    assert [launch.grid for launch in launches] == [(64,), (128,)]


def test_a_kernel_that_is_looked_into_is_really_compiled():
    """The softmax sizes its grid by the registers and the shared memory of the compiled kernel."""
    (launch,) = frontend.capture(TUTORIALS["fused_softmax"], "sm_90")
    trace = frontend.lower(launch, to="triton_nvptx")
    assert trace.facts["shared_memory"] == 4128
    assert trace.facts["registers"] > 0
