"""Triton's settings, by knobs and by the environment, as they are where a kernel is launched."""

import pytest
import torch
import triton
import triton.language as tl

from irwidget.errors import UnsupportedError
from irwidget.frontends import triton as frontend
from irwidget.toolchain import triton_private, triton_settings


@triton.jit
def fused(x_ptr, y_ptr, z_ptr):
    i = tl.arange(0, 64)
    tl.store(z_ptr + i, tl.load(x_ptr + i) * tl.load(y_ptr + i) + tl.load(z_ptr + i))


@triton.jit
def dots(x_ptr, y_ptr, z_ptr):
    i = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(z_ptr + i, tl.dot(tl.load(x_ptr + i), tl.load(y_ptr + i)))


def launched(kernel, arch="sm_90"):
    tensors = [torch.rand(1024, device="cuda") for _ in range(3)]
    return kernel[(1,)](*tensors), arch


def captured(kernel, arch="sm_90"):
    (one,) = frontend.capture(lambda: launched(kernel), arch)
    return one


def by_triton(launch, folder):
    """What Triton itself compiles with the settings that are in force."""
    special, _ = launch.compiled()
    source = triton_private.ast_source(special.kernel, special.signature, special.constants, special.attributes)
    knobs = triton_private.knobs()
    with knobs.cache.scope():
        knobs.cache.dir = str(folder)
        return triton.compile(source, target=triton_private.gpu_target(special.arch), options=dict(special.given)).asm


def last(trace, language):
    return next(dump.text for dump in reversed(trace.dumps) if dump.language == language)


def environment(monkeypatch, name, value):
    monkeypatch.setenv(name, value)


def knob(monkeypatch, name, value):
    group, _, name = name.partition(".")
    of = getattr(triton.knobs, group)
    monkeypatch.setattr(triton.knobs, "propagate_env", False)  # the environment does not say it
    monkeypatch.setitem(vars(of), name, value)


@pytest.mark.parametrize(
    ("kernel", "set_here", "name", "value"),
    [
        (fused, environment, "TRITON_DEFAULT_FP_FUSION", "0"),
        (fused, knob, "language.default_fp_fusion", False),
        (fused, environment, "DISABLE_LLVM_OPT", "1"),
        (fused, knob, "compilation.disable_line_info", True),
        (dots, environment, "TRITON_OVERRIDE_ARCH", "sm80"),
        (dots, environment, "TRITON_F32_DEFAULT", "ieee"),
        (dots, knob, "language.fp32_default", "ieee"),
    ],
)
def test_code_is_that_of_the_settings_where_it_was_launched(kernel, set_here, name, value, monkeypatch, tmp_path):
    plain = frontend.lower(captured(kernel), to="triton_nvptx")
    with monkeypatch.context() as patch:
        set_here(patch, name, value)
        launch = captured(kernel)
        real = by_triton(launch, tmp_path)
    trace = frontend.lower(launch, to="triton_nvptx")  # after the setting has gone, as after the cell
    assert (last(trace, "llvm"), last(trace, "ptx")) == (real["llir"], real["ptx"])
    assert [dump.text for dump in trace.dumps] != [dump.text for dump in plain.dumps]
    assert next(iter(trace.attachments.values())) == real["cubin"]


def test_a_setting_is_shown_and_tells_launches_apart(monkeypatch):
    def cell():
        launched(fused)
        triton.knobs.language.default_fp_fusion = False
        launched(fused)
        launched(fused)

    with triton.knobs.language.scope():
        one, two = frontend.capture(cell, "sm_90")
    assert "enable_fp_fusion=False" in frontend.lower(two, to="triton_ir").facts["specialization"]
    assert "enable_fp_fusion" not in frontend.lower(one, to="triton_ir").facts["specialization"]
    # another architecture has the setting, too
    assert "fmul" in last(frontend.lower(two, to="triton_llvm_ir", arch="gfx942"), "llvm")


def test_a_setting_of_amds_back_end(monkeypatch):
    monkeypatch.setenv("AMDGCN_USE_BUFFER_OPS", "0")
    off = captured(fused, "gfx942")
    monkeypatch.delenv("AMDGCN_USE_BUFFER_OPS")
    on = captured(fused, "gfx942")
    assert "buffer_load" not in last(frontend.lower(off, to="triton_amdgpu"), "amdgcn")
    assert "buffer_load" in last(frontend.lower(on, to="triton_amdgpu"), "amdgcn")


def test_applied_settings_leave_nothing_behind(monkeypatch):
    monkeypatch.setenv("DISABLE_LLVM_OPT", "1")
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    before = triton_settings.current(options=True)
    assert before == (("DISABLE_LLVM_OPT", "true"), ("TRITON_DEFAULT_FP_FUSION", "0"))
    with triton_settings.applied((("TRITON_F32_DEFAULT", "tf32x3"),)):
        assert triton_settings.current(options=True) == (("TRITON_F32_DEFAULT", "tf32x3"),)
    assert triton_settings.current(options=True) == before


@pytest.mark.parametrize("name", ["TRITON_KERNEL_OVERRIDE", "USE_IR_LOC"])
def test_settings_that_take_code_from_elsewhere_are_refused(name, monkeypatch):
    monkeypatch.setenv(name, "1")
    with pytest.raises(UnsupportedError, match=f"{name} is set"):
        captured(fused)


def test_a_hook_that_replaces_stages_is_refused(monkeypatch):
    monkeypatch.setattr(triton.knobs.runtime, "add_stages_inspection_hook", lambda *args: ("", ""))
    with pytest.raises(UnsupportedError, match="add_stages_inspection_hook is set"):
        captured(fused)
