"""Gluon's kernels: the same cells, launches and views, from TTGIR on."""

import pytest
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from irwidget.errors import PassError, UsageError
from irwidget.frontends import triton as frontend
from irwidget.toolchain import triton_private, triton_state


@gluon.jit
def copy_kernel(in_ptr, out_ptr, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    index = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout)
    total = gl.load(in_ptr + index, mask=index < n)
    for turn in range(n):
        total += turn
    gl.store(out_ptr + index, total, mask=index < n)


@gluon.jit
def through_shared(in_desc, out_desc, layout: gl.constexpr):
    memory = gl.allocate_shared_memory(in_desc.dtype, in_desc.block_shape, in_desc.layout)
    barrier = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(barrier, count=1)
    mbarrier.expect(barrier, in_desc.block_type.nbytes)
    tma.async_load(in_desc, [0, 0], barrier, memory)
    mbarrier.wait(barrier, 0)
    out = gl.allocate_shared_memory(in_desc.dtype, in_desc.block_shape, in_desc.layout)
    out.store(memory.load(layout) * 2)
    tma.store_wait(0)
    tma.async_copy_shared_to_global(out_desc, [0, 0], out)
    tma.store_wait(0)


@gluon.jit
def wrong_layouts(x_ptr, A: gl.constexpr, B: gl.constexpr):
    gl.store(x_ptr + gl.arange(0, 128, A), gl.full([128], 1.0, gl.float32, B))


def blocked(warp):
    return gl.BlockedLayout([1], [warp], [4], [0])


def copies(warp=32):
    x = torch.rand(1000, device="cuda")
    copy_kernel[(8,)](x, torch.empty_like(x), 1000, BLOCK=128, layout=blocked(warp), num_warps=4)


def descriptors():
    x = torch.rand(64, 64, device="cuda").half()
    shared = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    made = [TensorDescriptor.from_tensor(one, [64, 64], shared) for one in (x, torch.empty_like(x))]
    through_shared[(1,)](*made, gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]), num_warps=4)


def compiled(launch, folder):
    special, _ = launch.compiled()
    source = triton_private.ast_source(special.kernel, special.signature, special.constants, special.attributes)
    knobs = triton_private.knobs()
    with knobs.cache.scope():
        knobs.cache.dir = str(folder)
        return triton.compile(source, target=triton_private.gpu_target(special.arch), options=dict(special.given)).asm


@pytest.mark.parametrize(
    ("cell", "arch"),
    [
        (copies, "sm_80"),
        (copies, "sm_100"),
        (lambda: copies(64), "gfx942"),
        (lambda: copies(64), "gfx950"),
        (descriptors, "sm_90"),
    ],
)
def test_all_stages_are_those_of_gluon_itself(cell, arch, tmp_path):
    (launch,) = frontend.capture(cell, arch)
    amd = arch.startswith("gfx")
    trace = frontend.lower(launch, to="triton_amdgpu" if amd else "triton_nvptx")
    assert trace.failure is None
    real = compiled(launch, tmp_path)
    ours = {str(trace.step_of(dump) or "source"): dump.text for dump in trace.dumps}
    for stage in ("source", "ttgir"):
        assert ours[stage] == triton_state.content("mlir", real[stage]).text
    for stage in ("llir", "amdgcn" if amd else "ptx"):
        assert ours[stage] == real[stage]
    assert next(iter(trace.attachments.values())) == real["hsaco" if amd else "cubin"]
    assert trace.steps[0].name == "ttgir"
    passes = [dump.name for dump in trace.dumps]
    assert {"gluon-resolve-auto-encodings", "sccp"} <= set(passes)
    if cell is copies:
        assert "scf.for %turn = " in ours["ttgir"]


def test_gluon_has_no_ttir():
    (launch,) = frontend.capture(copies, "sm_90")
    with pytest.raises(UsageError, match="A Gluon kernel has no TTIR"):
        frontend.lower(launch, to="triton_ir")


def test_layouts_that_do_not_fit_are_told_with_the_users_line():
    def cell():
        layouts = [gl.BlockedLayout([size], [32], [4], [0]) for size in (1, 2)]
        wrong_layouts[(1,)](torch.rand(128, device="cuda"), *layouts, num_warps=4)

    with pytest.raises(PassError, match="wrong_layouts does not compile") as caught:
        frontend.capture(cell, "sm_90")
    assert caught.value.diagnostics[0].location.file == __file__
    assert "gl.store(x_ptr" in str(caught.value)


def test_what_gluon_writes_has_no_value_and_no_option_is_named_that_gives_it():
    def cell(read):
        x = torch.rand(1000, device="cuda")
        y = torch.empty_like(x)
        copy_kernel[(8,)](x, y, 1000, BLOCK=128, layout=blocked(32), num_warps=4)
        read(x, y)

    why = "copy_kernel, a Gluon kernel, may have written it, and that is not executed"
    with frontend.recording("sm_90") as launches:
        cell(torch.testing.assert_close)
    [note] = [one.message for one in launches.diagnostics if one.message.startswith("not checked")]
    assert note.endswith(f"compares what is not known: {why}")
    with frontend.recording("sm_90") as launches:
        cell(lambda x, y: y.tolist())
    [note] = [one.message for one in launches.diagnostics]
    assert note.endswith(f"has none: {why}. What was launched before is shown")
    with frontend.recording("sm_90", values=True) as launches:
        cell(lambda x, y: y.tolist())
    [note] = [one.message for one in launches.diagnostics]
    assert "the cell was run up to here: copy_kernel is a Gluon kernel, which is not executed" in note
