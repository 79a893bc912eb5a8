"""A launch as data, as a file that stock Triton runs, and an autotuner's configurations as a table."""

import enum
import html
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import irwidget
from irwidget.errors import PassError, UnsupportedError, UsageError
from irwidget.frontends import triton as frontend
from irwidget.frontends.triton.compiling import too_much
from irwidget.frontends.triton.configurations import Configurations, numbers
from irwidget.frontends.triton.recipe import Recipe
from irwidget.toolchain import triton_archs, triton_facts, triton_glue, triton_private
from irwidget.trace import WHOLE
from tests import processes
from tests.triton.kernels import TUTORIALS

SCALE: tl.constexpr = tl.constexpr(3)
CLAMP = tl.constexpr(float("inf"))


@triton.constexpr_function
def doubled(n):
    return 2 * n


@triton.jit
def inner(x):
    return x * SCALE


@triton.jit
def outer(x_ptr, y_ptr, n, activation: tl.constexpr, dtype: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(dtype)
    tl.store(y_ptr + i, tl.minimum(activation(x) + doubled(BLOCK), CLAMP), mask=i < n)


class Mine:
    pass


class Mode(enum.IntEnum):
    FAST = 2


class Side(enum.StrEnum):
    LEFT = "left"


class Pair(NamedTuple):
    to: Any
    others: Any


@triton.jit(do_not_specialize=["count"], repr=lambda given: f"various_{given.constants['side']}")
def various(pair, nothing, scale, count, mode: tl.constexpr, side: tl.constexpr, rate: tl.constexpr):
    if nothing is None and side == "left":
        tl.store(pair.to, tl.load(pair.others[0]) * scale + mode + rate + count)


def various_cell():
    pair = Pair(torch.rand(4, device="cuda"), (torch.rand(6, 2, device="cuda")[1:],))
    options = {"num_warps": np.int64(2)}
    various[(np.int64(3), True)](pair, None, float("inf"), 16, Mode.FAST, Side.LEFT, np.float64(0.5), **options)


def cell():
    x = torch.rand(20, 100, device="cuda").half()
    outer[(8,)](x[1:, 1:], torch.empty_like(x), 1000, inner, tl.float32, BLOCK=128, num_warps=2)


def recipe_of(run, arch="sm_90"):
    launch = frontend.select(frontend.capture(run, arch))[0]
    return Recipe(launch, launch.compiled()[0])


def test_a_launch_is_data():
    data = recipe_of(cell).data
    assert json.loads(json.dumps(data))["arguments"] == [
        {
            "name": "x_ptr",
            "type": "*fp16",
            "divisible_by_16": False,
            "dtype": "float16",
            "shape": [19, 99],
            "strides": [100, 1],
            "offset": 101,
        },
        {
            "name": "y_ptr",
            "type": "*fp16",
            "divisible_by_16": True,
            "dtype": "float16",
            "shape": [20, 100],
            "strides": [100, 1],
            "offset": 0,
        },
        {"name": "n", "type": "i32", "divisible_by_16": False, "value": 1000},
        {"name": "activation", "type": "constexpr", "divisible_by_16": False, "value": "inner"},
        {"name": "dtype", "type": "constexpr", "divisible_by_16": False, "value": "fp32"},
        {"name": "BLOCK", "type": "constexpr", "divisible_by_16": False, "value": 128},
    ]
    assert (data["kernel"], data["arch"], data["grid"]) == ("outer", "sm_90", (8,))
    assert data["options"] == {"num_warps": 2}
    assert data["launched_at"].endswith(f"test_recipe.py:{cell.__code__.co_firstlineno + 2}")


AGAIN = """
import runpy, sys
from irwidget.frontends import triton as frontend
for path in sys.argv[1:]:
    (launch,) = frontend.capture(lambda: runpy.run_path(path, run_name="__main__"), "sm_90")
    special, source = launch.compiled()
    print(frontend.lower(launch, to="triton_gpu_ir").dumps[-1].text, special.signature, special.options, launch.grid)
"""


def test_files_stand_alone_and_launch_the_same(tmp_path):
    from tests.triton.test_gluon import descriptors

    paths, expected = [], ""
    for run in (cell, various_cell, TUTORIALS["fused_attention"], descriptors):
        recipe = recipe_of(run)
        special = recipe.special
        paths.append(tmp_path / f"{recipe.launch.name}.py")
        text = recipe.reproducer(paths[-1])
        assert paths[-1].read_text() == text
        assert "irwidget" not in text
        assert "tests" not in text
        same = frontend.lower(recipe.launch, to="triton_gpu_ir").dumps[-1].text
        expected += f"{same} {special.signature} {special.options} {recipe.launch.grid}\n"
    command = [sys.executable, "-c", AGAIN, *map(str, paths)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected


def test_tensors_of_a_file_are_laid_out_as_those_of_the_launch():
    def cell(first, last):
        tuned.fn[(1,)](torch.rand(64, device="cuda")[first:last].expand(64), 64, BLOCK=32)

    made = [recipe_of(lambda at=at: cell(*at)).reproducer() for at in ((0, 64), (0, 1), (4, 5))]
    flat = "x_ptr = torch.randn(64, device='cuda').to(torch.float32)"
    lines = [next(line.strip() for line in text.splitlines() if "x_ptr = " in line) for text in made]
    assert lines == [flat, f"{flat}.as_strided((64,), (0,), 0)", f"{flat}.as_strided((64,), (0,), 4)"]


def test_what_no_file_can_say_is_refused():
    @triton.jit
    def odd(x_ptr, thing: tl.constexpr):
        tl.store(x_ptr, 1.0)

    recipe = recipe_of(lambda: odd[(1,)](torch.rand(4, device="cuda"), Mine()))
    with pytest.raises(UnsupportedError, match="thing is a Mine that no file can say"):
        recipe.reproducer()


def test_a_lowering_has_its_recipe():
    low = irwidget.lower(outer, torch.rand(64), torch.rand(64), 64, inner, tl.float32, BLOCK=64, to="triton_ir")
    assert low.results["recipe"].data["arguments"][2]["value"] == 64
    assert "configurations" not in low.results


# --- configurations


@triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 512}, num_warps=1)], key=["n"])
@triton.jit
def tuned(x_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK != 64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i) * 2)


@pytest.mark.parametrize("arch", ["sm_80", "gfx942"])
def test_configurations_are_a_table(arch):
    low = irwidget.lower(tuned, torch.rand(1024), 1024, to="triton_ir", arch=arch)
    table = low.results["configurations"].table()
    assert [row["config"].split(",")[0] for row in table] == ["BLOCK=32", "BLOCK=512"]
    assert [row["chosen"] for row in table] == [True, True]
    widths = [list(row["loads"]) for row in table]
    assert widths[1] == ["128"]
    assert table[1]["num_warps"] == 1
    for row in table:
        assert row["registers"] > 0
        assert row["shared_memory"] == 0
        assert sum(row["loads"].values()) > 0
        assert row["instructions"]
    if arch == "sm_80":
        assert [row["occupancy"] for row in table] == [1.0, 32 / 64], "of 32 blocks each has one warp"
        assert table[1]["sass_lines"] > 0
    assert json.dumps(table)
    by = low.results["configurations"].table(sort="num_warps", descending=True)
    assert [row["number"] for row in by] == [0, 1]
    with pytest.raises(UsageError, match=r"the table has no column 'speed'; it has .*chosen, config"):
        low.results["configurations"].table(sort="speed")


def test_configurations_compiled_side_by_side_are_those_compiled_one_by_one():
    kernel = triton.autotune([triton.Config({"BLOCK": n}) for n in (32, 64, 128, 256)], key=["n"])(tuned.fn)
    low = irwidget.lower(kernel, torch.rand(1024), 1024, to="triton_ir", arch="sm_80")
    first = low.results["configurations"]
    launches = first.launches
    together = Configurations(launches, "sm_80", to="triton_nvptx")
    before = max(1, len(processes.workers()))
    together.compile(workers=2)
    for number in (0, 2, 3):
        (alone,) = Configurations(launches[number : number + 1], "sm_80", to="triton_nvptx")
        assert [dump.text for dump in together[number].dumps] == [dump.text for dump in alone.dumps]
        assert together[number].attachments == alone.attachments
    with pytest.raises(PassError, match="tuned does not compile"):
        together[1]
    until = time.monotonic() + 90
    while len(processes.workers()) > before:
        assert time.monotonic() < until, "the second worker does not end"
        time.sleep(0.05)


def test_two_configurations_diverge_at_a_pass():
    made = irwidget.lower(tuned, torch.rand(1024), 1024, to="triton_ir", arch="sm_80").results["configurations"]
    one, other = made.diverge(0, 1)
    assert (one, other) == (0, 0)  # the block size is in the source
    assert made.diverge(0, 0) is None
    made._traces[1] = replace(made[0], dumps=made[0].dumps[:-2])
    assert made.diverge(0, 1) == (len(made[0].dumps) - 1, len(made[0].dumps) - 3)


def test_a_configuration_that_does_not_compile_is_a_row_that_says_so(tmp_path):
    kernel = triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])(tuned.fn)
    low = irwidget.lower(kernel, torch.rand(1024), 1024, to="triton_ir")
    table = low.results["configurations"].table()
    first, second = table
    assert "error" not in first
    assert "tuned does not compile" in second["error"]
    ordered = low.results["configurations"].table(sort="registers", descending=True)
    assert [row["number"] for row in ordered] == [0, 1]
    trace = low.results["configurations"][0]
    taking = {**trace.facts, "arch": "sm_100", "tensor_memory": 512}
    assert numbers(replace(trace, facts=taking))["occupancy"] == trace.facts["num_warps"] / 64
    shown = table._repr_mimebundle_()
    head, *lines = shown["text/plain"].splitlines()
    names = head.split()
    assert names == [*(name for name in first if name != "instructions"), "error"]
    assert lines[0].split("  ")[0] == "0"
    assert f"{first['occupancy']:.0%}" in lines[0]
    assert ", ".join(f"{count} x {bits}" for bits, count in first["loads"].items()) in lines[0]
    assert lines[1].endswith(second["error"])
    page = table.to_html(tmp_path / "table.html")
    assert (tmp_path / "table.html").read_text() == page
    assert shown["text/html"] in page
    rows = re.findall("<tr>(.*?)</tr>", shown["text/html"])
    assert re.findall("<th>(.*?)</th>", rows[0]) == names
    cells = [re.findall("<td>(.*?)</td>", row) for row in rows[1:]]
    assert [row[1] for row in cells] == [row["config"] for row in table]
    assert [row[-1] for row in cells] == ["", html.escape(second["error"])]


def test_every_call_of_a_tuned_kernel_is_shown():
    def through(x):
        tuned[(4,)](x, 1024)

    def calls():
        for dtype in (torch.float32, torch.float16, torch.float32):
            through(torch.rand(1024, device="cuda").to(dtype))

    launches = frontend.capture(calls, "sm_90")
    shown = frontend.select(launches)
    assert [one.arguments[0].dtype for one in shown] == [torch.float32, torch.float16]
    assert [len(one.siblings) for one in shown] == [2, 2]
    assert [one.sources == {} for one in launches] == [False, True, False, True]  # compiled when it is looked at
    assert [one.config.split(",")[0] for one in frontend.select(launches, "BLOCK=512")] == ["BLOCK=512"] * 2


@pytest.mark.parametrize(
    ("arch", "registers", "shared", "warps", "expected"),
    [  # by NVIDIA's occupancy calculator
        ("sm_80", 32, 0, 8, 1.0),
        ("sm_80", 128, 0, 4, 0.25),
        ("sm_80", 33, 0, 4, 0.75),
        ("sm_80", 32, 49152, 4, 3 * 4 / 64),
        ("sm_90", 168, 100 * 1024, 8, 8 / 64),
        ("sm_90", 255, 0, 4, 8 / 64),
        ("sm_90", 32, 228 * 1024, 4, 0.0),
        ("sm_90", 16, 0, 64, 0.0),
        ("sm_90", 32, 57 * 1024, 4, 3 * 4 / 64),  # of each block the system takes 1 KiB
        ("sm_90", 32, 24832, 4, 9 * 4 / 64),  # which with it is a multiple of 128, and not of 256
        ("sm_80", 96, 0, 1, 20 / 64),  # 5 warps in each of four parts
        ("sm_75", 64, 0, 4, 1.0),
        ("sm_75", 32, 10880, 4, 5 * 4 / 32),  # a multiple of 128, and not of 256
        ("sm_89", 32, 0, 1, 24 / 48),
        ("sm_86", 40, 0, 1, 16 / 48),
        ("gfx942", 32, 0, 4, None),
    ],
)
def test_occupancy(arch, registers, shared, warps, expected):
    arch = triton_archs.find(arch)
    found = triton_archs.occupancy(arch, registers=registers, shared_memory=shared, num_warps=warps)
    assert found == expected
    if found:  # of 512 columns of tensor memory two blocks have 256, and another has none
        used = {"registers": registers, "shared_memory": shared, "num_warps": warps}
        assert triton_archs.occupancy(arch, **used, tensor_memory=256) == min(found, 2 * warps / arch.warps)


@pytest.mark.parametrize(
    ("language", "name", "bits"),
    [
        ("ptx", "ld.global.v4.b32", 128),
        ("ptx", "ld.global.b16", 16),
        ("ptx", "ld.global.L1::evict_last.v2.b64", 128),
        ("ptx", "ld.shared.b32", None),
        ("ptx", "st.global.b32", None),
        ("amdgcn", "buffer_load_dwordx4", 128),
        ("amdgcn", "global_load_dword", 32),
        ("amdgcn", "buffer_load_ushort", 16),
        ("amdgcn", "global_load_ubyte", 8),
        ("amdgcn", "s_load_dwordx2", None),
    ],
)
def test_widths_of_loads(language, name, bits):
    assert triton_facts.load_width(language, name) == bits


def test_products_are_counted_by_their_kind():
    launch = frontend.select(frontend.capture(TUTORIALS["matmul"], "sm_80"))[0]
    found = numbers(frontend.lower(launch, to="triton_sass"))
    assert any(name.startswith("HMMA") for name in found["mma"])
    assert any(name.startswith("mma.sync") for name in found["mma"])


# --- assemblers that refuse


@triton.jit
def bad_asm(x_ptr):
    i = tl.arange(0, 64)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise("mov.b33 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(x_ptr + i, y)


@triton.jit
def bad_amd_asm(x_ptr):
    i = tl.arange(0, 64)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise("v_no_such $0, $1", "=v,v", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(x_ptr + i, y)


@pytest.mark.parametrize(
    ("kernel", "to", "said"),
    [
        (bad_asm, "triton_nvptx", "Unknown modifier '.b33'"),
        (bad_amd_asm, "triton_amdgpu", "failed: invalid instruction"),
    ],
)
def test_an_assembler_refuses_at_the_users_line(kernel, to, said):
    with pytest.raises(irwidget.errors.PassError) as caught:
        irwidget.lower(kernel, torch.rand(64), to=to)
    assert said in str(caught.value)
    (first, *_) = caught.value.diagnostics
    assert (first.location.file, first.location.line) == (__file__, triton_private.definition(kernel)[1] + 3)
    assert len(caught.value.lowering.dumps) > 60
    assert "inline_asm_elementwise" in str(caught.value)


@triton.jit
def odd_asm(x_ptr):
    i = tl.arange(0, 64)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=q,zz", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(x_ptr + i, y)


def test_what_is_compiled_and_would_not_run_is_warned_of():
    launch = frontend.capture(lambda: odd_asm[(1,)](torch.rand(64, device="cuda"), num_warps=64), "sm_90")[0]
    trace = frontend.lower(launch, to="triton_nvptx")
    assert "mov.b32 %r" not in trace.dumps[-1].text.split("inline asm")[-1]  # LLVM left it out
    assert [one.message for one in trace.diagnostics] == [
        "unknown asm constraint 'z' (translate-to-asm went on after it)",
        "odd_asm needs 2048 threads in a block and sm_90 has 1024: a launch would fail",
    ]
    asked = {"num_warps": 8, "registers": 255, "shared_memory": 0, "tensor_memory": 600}
    assert list(too_much(triton_archs.find("sm_100"), asked | {"num_warps": 16})) == [
        "needs 600 columns of tensor memory and sm_100 has 512",
        "needs 131072 registers in a block and sm_100 has 65536",
    ]
    assert list(too_much(triton_archs.find("sm_90"), asked | {"tensor_memory": 0})) == []


def test_what_passes_and_ptxas_remark_is_told():
    call = triton_glue.PendingPass("inline", "", WHOLE, "", lambda: None)
    with triton_glue.heard(call):
        os.write(2, b"error: odd\nerror: odd\n")
    assert [one.message for one in call.said] == ["odd (inline went on after it)"]
    log = """ptxas info    : 0 bytes gmem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in function 'f'
ptxas warning : Registers are spilled to local memory in function 'f'
ptxas info    : Used 40 registers, used 1 barriers
"""
    assert triton_facts.ptxas_warnings(log) == (
        "(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in function 'f'",
        "Registers are spilled to local memory in function 'f'",
    )
