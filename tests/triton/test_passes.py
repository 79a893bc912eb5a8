"""Dumps of Triton's passes: names, options, lines, facts, errors; text as a start; triton-opt."""

import functools
import json
import os
import re
import signal
import stat
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

import irwidget
from irwidget.errors import PassError, UsageError
from irwidget.frontends import triton as frontend
from irwidget.frontends.triton.specialization import backend_of
from irwidget.toolchain import client, debug_lines, triton_archs, triton_opt
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step
from tests.triton import kernels

LINES = Path(kernels.__file__).read_text().splitlines()


def stage_of(trace, dump):
    return str(trace.step_of(dump) or "source")


def lower(kernel, *signature, to, **options):
    return frontend.lower(kernel, *signature, to=to, **options)


@functools.cache
def matmul_trace(to, arch):
    launch = frontend.capture(kernels.matmul, arch)[0]
    return frontend.lower(launch, to=to)


def test_every_pass_is_a_dump_with_options_time_and_stage():
    trace = matmul_trace("triton_llvm_ir", "sm_80")
    assert [step.name for step in trace.steps] == ["ttir", "ttgir", "llir"]
    by_name = {dump.name: dump for dump in trace.dumps}
    assert stage_of(trace, by_name["convert-triton-to-tritongpu"]) == "ttgir"
    assert "target=cuda:80" in by_name["convert-triton-to-tritongpu"].options
    assert "num-stages=2" in by_name["tritongpu-pipeline"].options
    assert by_name["canonicalize-llvm-ir"].scope.anchor == "llvm.func"
    assert by_name["optimize-module"].options.startswith("O3")
    assert len(trace.dumps) > 66
    assert sum(dump.changed for dump in trace.dumps) > 20
    assert all(dump.seconds > 0 for dump in trace.dumps[1:])
    assert [dump.language for dump in trace.dumps[-3:]] == ["mlir", "llvm", "llvm"]
    assert "#ttg.nvidia_mma" in by_name["tritongpu-accelerate-matmul"].text
    assert " loc(" not in trace.dumps[5].text


def lines_of(dump, pattern):
    """The user's source lines of the lines of a dump that match."""
    text = dump.text.splitlines()
    assert len(dump.locations) == len(text)
    places = {place for line, place in zip(text, dump.locations, strict=True) if place and re.search(pattern, line)}
    return {LINES[place.line - 1].strip() for place in places if place.file == kernels.__file__}


@pytest.mark.parametrize(
    ("arch", "to", "stage", "pattern"),
    [
        ("sm_80", "triton_sass", "ttir", r"tt\.dot"),
        ("sm_80", "triton_sass", "ttgir", r"ttng?\.\w*dot|tt\.dot"),
        ("sm_80", "triton_sass", "llir", r"mma\.sync"),
        ("sm_80", "triton_sass", "ptx", r"mma\.sync"),
        ("sm_80", "triton_sass", "sass", "HMMA"),
        ("gfx942", "triton_amdgpu", "llir", r"llvm\.amdgcn\.mfma"),
        ("gfx942", "triton_amdgpu", "amdgcn", "v_mfma"),
        ("sm_90", "triton_sass", "sass", "HGMMA|HMMA"),
    ],
)
def test_the_line_of_the_dot_is_found_in_every_ir(arch, to, stage, pattern):
    trace = matmul_trace(to, arch)
    last = [dump for dump in trace.dumps if stage_of(trace, dump) == stage][-1]
    lines = lines_of(last, pattern)
    assert "total = tl.dot(a, b, total)" in lines
    assert len(lines) == 1 or stage == "sass"  # ptxas's own line table gives some HGMMA the line of their load


def test_the_line_that_opens_a_loop_is_that_of_the_loop():
    trace = matmul_trace("triton_nvptx", "sm_80")
    for stage in ("ttir", "ttgir"):
        last = [dump for dump in trace.dumps if stage_of(trace, dump) == stage][-1]
        assert lines_of(last, r"scf\.for .*\{$") == {"for step in range(tl.cdiv(K, BK)):"}


def test_inlined_helpers_keep_the_line_that_calls_them():
    trace = matmul_trace("triton_nvptx", "sm_80")
    for stage in ("ttgir", "llir", "ptx"):
        last = [dump for dump in trace.dumps if stage_of(trace, dump) == stage][-1]
        chains = {
            (LINES[place.line - 1].strip(), place.caller and LINES[place.caller.line - 1].strip())
            for place in last.locations
            if place
        }
        assert ("return tl.where(x >= 0, x, 0.01 * x)", "total = leaky_relu(total)") in chains
    assert trace.sources[kernels.__file__].startswith('"""The kernels that Triton')


def test_facts_are_those_of_ptxas(tmp_path):
    trace = matmul_trace("triton_nvptx", "sm_80")
    ptx = tmp_path / "k.ptx"
    ptx.write_text(trace.dumps[-1].text)
    command = [triton.knobs.nvidia.ptxas.path, "-v", "--gpu-name=sm_80", "--regAllocOptLevel=2", "-lineinfo", str(ptx)]
    log = subprocess.run([*command, "-o", str(tmp_path / "k.o")], capture_output=True, text=True, check=True).stderr
    assert f"Used {trace.facts['registers']} registers" in log
    assert f"{trace.facts['spill_stores']} bytes spill stores" in log
    version = subprocess.run([command[0], "--version"], capture_output=True, text=True, check=True).stdout
    assert f"release {trace.tools['ptxas']}," in version
    assert trace.facts["num_warps"] == 4
    assert trace.facts["shared_memory"] > 0
    counts = trace.facts["operations"]
    assert counts["ttir"]["tt.load"] == 2
    ttgir = next(dump for dump in reversed(trace.dumps) if stage_of(trace, dump) == "ttgir").text
    assert counts["ttgir"]["tt.dot"] == ttgir.count("= tt.dot ") > 0
    mma = [name for name in counts["ptx"] if name.startswith("mma.sync")]
    assert sum(counts["ptx"][name] for name in mma) == trace.dumps[-1].text.count("mma.sync")


def test_targets_of_one_launch_share_their_passes():
    launch = frontend.capture(kernels.vector_add, "sm_90")[0]
    first = frontend.lower(launch, to="triton_gpu_ir")
    second = frontend.lower(launch, to="triton_nvptx")
    assert second.dumps[: len(first.dumps)] == first.dumps
    assert second.dumps[5] is first.dumps[5]
    assert second.facts["num_warps"] == 4
    other = frontend.lower(launch, to="triton_amdgpu", arch="gfx1100")
    assert "amdhsa" in other.dumps[-1].text
    assert frontend.lower(launch, to="triton_amdgpu").facts["arch"] == "gfx942"


def test_in_process_gives_the_same():
    signature = "*fp32:16, *fp32:16, *fp32:16, i32:16, 256"
    traces = [
        frontend.lower(kernels.add_kernel, signature=signature, to="triton_nvptx", run=Options(isolate=isolate))
        for isolate in (True, False)
    ]
    assert [dump.text for dump in traces[0].dumps] == [dump.text for dump in traces[1].dumps]


def test_a_signature_or_tensors_without_data_serve_as_arguments():
    typed = lower(kernels.add_kernel, "*fp16:16", "*fp16", "*fp16:16", "i32:16", to="triton_ir", BLOCK=256, num_warps=8)
    head = typed.dumps[0].text.split("attributes")[0]
    assert "%a_ptr: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b_ptr: !tt.ptr<f16>, " in head
    assert typed.facts["num_warps"] == 8
    meta = torch.empty(64, device="meta", dtype=torch.bfloat16)
    real = lower(kernels.add_kernel, meta, meta, meta, 64, to="triton_gpu_ir", BLOCK=64, arch="gfx942")
    assert "!tt.ptr<bf16>" in real.dumps[0].text
    assert 'ttg.target = "hip:gfx942"' in real.dumps[-1].text


def test_the_autotuners_configuration_is_picked_by_number():
    tuned = triton.autotune([triton.Config({"BLOCK": n}) for n in (64, 256)], key=[])(kernels.add_kernel)
    signature = "*fp32, *fp32, *fp32, i32"
    assert "BLOCK=64" in lower(tuned, signature=signature, to="triton_ir").facts["config"]
    assert "tensor<256x" in lower(tuned, signature=signature, to="triton_ir", config=1).dumps[-1].text


@triton.jit
def bad_assembly(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 32))
    y = tl.inline_asm_elementwise("bogus.b32 $0, $1;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x_ptr + tl.arange(0, 32), y)


def test_what_an_assembler_refuses_leaves_no_file_and_can_be_seen_again(tmp_path, monkeypatch):
    client.shutdown()  # a worker keeps the temporary folder that it began with
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    low = None
    for arch, tool in (("sm_80", "ptxas"), ("gfx942", "ld.lld")):
        with pytest.raises(PassError, match=f"{tool} .*failed") as raised:
            irwidget.lower(bad_assembly, "*i32", to="triton_nvptx" if tool == "ptxas" else "triton_amdgpu", arch=arch)
        if tool == "ptxas":
            low = raised.value.lowering
            command = str(raised.value).splitlines()[-1].split()
    assert list((tmp_path / "tmp").iterdir()) == []
    client.shutdown()
    low.save(tmp_path / "before.ptx")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "bogus" in done.stdout + done.stderr


def test_what_ptxas_refuses_keeps_every_dump_before_it():
    trace = lower(bad_assembly, "*i32", to="triton_sass", arch="sm_80")
    assert trace.failure.tool == "ptxas"
    assert "bogus" in trace.failure.message
    assert "--gpu-name=sm_80" in trace.failure.reproducer
    assert "bogus.b32" in trace.dumps[-1].text
    assert trace.dumps[-1].language == "ptx"


def test_a_pass_that_fails_says_so_with_its_diagnostics():
    text = lower(kernels.add_kernel, signature="*fp32, *fp32, *fp32, i32, 64", to="triton_ir").dumps[-1].text
    source = Source(text, "triton")
    trace = source.run([Step("triton-opt", "--tritongpu-coalesce --convert-triton-gpu-to-llvm")])
    assert trace.failure is not None
    assert trace.failure.kind in {"pass", "tool"}
    assert trace.failure.tool == "triton-opt"
    assert trace.failure.pass_name in {"tritongpu-coalesce", "convert-triton-gpu-to-llvm"}
    assert trace.dumps[0].text == text


@pytest.mark.parametrize(
    ("to", "arch", "message"),
    [
        ("triton_sass", "gfx942", "triton_sass cannot be made for gfx942, which is AMD's: use triton_amdgpu"),
        ("triton_amdgpu", "sm_90", "triton_amdgpu cannot be made for sm_90, which is NVIDIA's"),
        ("triton_gpu", None, "Did you mean triton_gpu_ir"),
        ("triton_ir", "sm_12345", "unknown architecture 'sm_12345'"),
    ],
)
def test_bad_targets(to, arch, message):
    with pytest.raises(UsageError, match=message):
        lower(kernels.add_kernel, signature="*fp32, *fp32, *fp32, i32, 64", to=to, arch=arch)


@pytest.mark.parametrize("name", ["sm_90", "sm90", "90", "9.0", "cuda:90", "sm_90a", "SM_90"])
def test_names_of_an_architecture(name):
    assert triton_archs.find(name).name == "sm_90"


# --- text


def texts(arch="sm_80"):
    trace = matmul_trace("triton_nvptx", arch)
    last = {stage_of(trace, dump): dump for dump in trace.dumps}
    return trace, last


def test_ttgir_text_goes_on_where_triton_would():
    _, last = texts()
    again = frontend.lower(last["ttgir"].text, to="triton_nvptx")
    assert [step.name for step in again.steps] == ["llir", "ptx", "cubin"]
    assert again.facts["arch"] == "sm_80"
    assert again.name == "matmul_body"
    instructions = [
        [line.split("//")[0].strip() for line in text.splitlines() if line.startswith("\t") and ".loc" not in line]
        for text in (again.dumps[-1].text, last["ptx"].text)
    ]
    mma = [[line for line in lines if "mma.sync" in line or "ld.global" in line] for lines in instructions]
    assert len(mma[0]) == len(mma[1]) > 0
    from_ttir = frontend.lower(last["ttir"].text, to="triton_gpu_ir", arch="sm_80", num_warps=4, num_stages=2)
    assert [step.name for step in from_ttir.steps] == ["ttgir"]
    assert from_ttir.dumps[-1].text.count("tt.dot") == last["ttgir"].text.count("tt.dot")
    assert [step.name for step in frontend.lower(last["ttir"].text, to="triton_ir").steps] == ["ttir"]
    before_inlining = frontend.lower(last["source"].text, to="triton_gpu_ir", arch="sm_80", num_warps=4)
    assert [step.name for step in before_inlining.steps] == ["ttir", "ttgir"]
    assert before_inlining.failure is None


@pytest.mark.parametrize(
    ("text", "to", "message"),
    [
        ("module {}", "triton_ir", "there is no tt.func in it"),
        ('module attributes {"ttg.num-warps" = 4 : i32} { tt.func @f() { tt.return } }', "triton_ir", "raised"),
    ],
)
def test_text_that_cannot_start_a_lowering(text, to, message):
    with pytest.raises(UsageError, match=message):
        frontend.lower(text, to=to)


def test_text_with_an_error_names_its_line():
    trace = frontend.lower("module {\n  tt.func public @f() {\n    tt.bogus\n  }\n}\n", to="triton_ir")
    assert trace.failure.pass_name == "parse"
    assert "tt.bogus" in trace.failure.message or "bogus" in trace.failure.message
    assert trace.failure.diagnostics[0].location.line == 3


# --- triton-opt


def test_the_embedded_triton_opt_runs_what_triton_runs():
    trace, last = texts()
    ttir = last["ttir"].text
    step = Step("triton-opt", "--convert-triton-to-tritongpu='target=cuda:80 num-warps=4' --tritongpu-coalesce --cse")
    ran = Source(ttir, "triton").run([step])
    assert ran.failure is None
    assert [dump.name for dump in ran.dumps[1:]] == ["convert-triton-to-tritongpu", "tritongpu-coalesce", "cse"]
    expected = next(dump for dump in trace.dumps if dump.name == "tritongpu-coalesce").text
    ours = ran.dumps[2].text
    assert re.sub(r"%\w+", "%", ours) == re.sub(r"%\w+", "%", expected)


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        ("--cse -canonicalize", [("cse", {}), ("canonicalize", {})]),
        ("--tritongpu-pipeline=num-stages=4", [("tritongpu-pipeline", {"num-stages": "4"})]),
        ("--pass-pipeline='builtin.module(cse,tt.func(a{x=1 y=2}))'", [("cse", {}), ("a", {"x": "1", "y": "2"})]),
    ],
)
def test_arguments_of_triton_opt(arguments, parsed):
    assert triton_opt.parse(arguments) == parsed


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Step("triton-opt", "--tritongpu-coalesc"), r"mean tritongpu-coalesce.*It knows \d+: .*TRITON_OPT_PATH"),
        (Step("triton-opt", "--cse=foo=1"), "cse has no option 'foo'.*it has none"),
        (Step("triton-llvm-opt", "-O2"), "reads LLVM IR, not mlir"),
        (Step("triton", "ttgri --arch sm_80"), "sm_80 has no stage 'ttgri'. Did you mean ttgir"),
    ],
)
def test_what_triton_opt_cannot_do(step, message):
    trace = Source("module {\n  tt.func @f() {\n    tt.return\n  }\n}\n", "triton").run([step])
    assert re.search(message, trace.failure.message)


STRUCT_PHI = """target triple = "nvptx64-nvidia-cuda"

define weak_odr ptx_kernel void @k(ptr addrspace(1) %out, i32 %x, i1 %c) {
entry:
  br i1 %c, label %a, label %b
a:
  %s = insertvalue { i32, i32 } undef, i32 %x, 0
  br label %m
b:
  %t = insertvalue { i32, i32 } undef, i32 7, 0
  br label %m
m:
  %p = phi { i32, i32 } [ %s, %a ], [ %t, %b ]
  %r = extractvalue { i32, i32 } %p, 0
  store i32 %r, ptr addrspace(1) %out
  ret void
}
"""


def test_triton_llvm_opt_takes_struct_phis_apart():
    trace = Source(STRUCT_PHI, "llvm").run([Step("triton-llvm-opt", "-break-struct-phi-nodes -O3")])
    assert not trace.failure, trace.failure
    apart, optimized = (dump.text for dump in trace.dumps[1:])
    assert "phi { i32, i32 }" not in apart
    assert "phi i32" in apart
    assert "define weak_odr ptx_kernel void @k(" in apart
    assert "select i1 %c, i32 %x, i32 7" in optimized
    assert 'target triple = "nvptx64-nvidia-cuda"' in optimized
    assert "@llvm.used" not in optimized


@pytest.mark.parametrize(
    ("text", "flag", "message"),
    [
        (STRUCT_PHI, "-gvn", "does not know 'gvn'.*TRITON_LLVM_OPT_PATH"),
        ("define void @f() {", "-O1", "expected|parse"),
    ],
)
def test_what_triton_llvm_opt_cannot_do(text, flag, message):
    trace = Source(text, "llvm").run([Step("triton-llvm-opt", flag)])
    assert re.search(message, trace.failure.message)


def test_the_users_own_triton_opt_is_preferred(tmp_path, monkeypatch):
    program = tmp_path / "triton-opt"
    program.write_text("#!/bin/sh\nsed 's/@f/@renamed/'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("TRITON_OPT_PATH", str(program))
    text = "module {\n  tt.func @f() {\n    tt.return\n  }\n}\n"
    trace = Source(text, "triton").run([Step("triton-opt", "--cse")], Options(isolate=False))
    assert "@renamed" in trace.dumps[-1].text
    program.write_text("#!/bin/sh\necho 'k.mlir:3:5: error: no such pass' >&2; exit 1\n")
    trace = Source(text, "triton").run([Step("triton-opt", "--cse")], Options(isolate=False))
    assert trace.failure.diagnostics[0].location.line == 3


def test_every_pass_of_libtriton_can_be_built():
    context = triton_opt.new_context()
    for name, known in triton_opt.known().items():
        assert name in known.build(context, {}).get_pipeline_str()
    assert len(triton_opt.known()) > 90


# --- a Triton cache


@pytest.mark.parametrize("arch", ["sm_80", "gfx942"])
def test_what_a_triton_cache_holds_is_opened(arch, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    from triton.compiler.compiler import ASTSource

    special, _ = frontend.capture(kernels.vector_add, arch)[0].compiled()
    for warps in (4, 8):
        source = ASTSource(special.kernel, special.signature, special.constants, special.attributes)
        triton.compile(source, target=backend_of(special.arch).target, options={"num_warps": warps})
    traces = frontend.from_cache(tmp_path)
    assert {trace.facts["num_warps"] for trace in traces} == {4, 8}
    for trace in traces:
        assert trace.name == "add_kernel"
        assert trace.facts["arch"] == arch
        steps = [dump.name for dump in trace.dumps]
        assert steps[:4] == ["source", "ttir", "ttgir", "llir"]
        assert steps[4:] == (["ptx", "sass"] if arch == "sm_80" else ["amdgcn"])
        assert any(place and "tl.load(a_ptr" in LINES[place.line - 1] for place in trace.dumps[1].locations)
        (binary,) = trace.attachments.values()
        assert binary.startswith(b"\x7fELF")
    upto = frontend.from_cache(tmp_path, "triton_gpu_ir")
    assert [dump.name for dump in upto[0].dumps] == ["source", "ttir", "ttgir"]
    other = "triton_amdgpu" if arch == "sm_80" else "triton_nvptx"
    with pytest.raises(UsageError, match=f"no kernel with {other}"):
        frontend.from_cache(tmp_path, other)
    assert json.dumps(traces[0].facts)


def test_a_folder_without_kernels_is_no_cache(tmp_path):
    with pytest.raises(UsageError, match="a Triton cache has files such as"):
        frontend.from_cache(tmp_path)
    with pytest.raises(UsageError, match="no directory"):
        frontend.from_cache(tmp_path / "missing")


@pytest.mark.heavy
def test_llvms_own_passes_are_dumped_on_request_and_only_then():
    launch = frontend.capture(kernels.vector_add, "sm_80")[0]
    plain = frontend.lower(launch, to="triton_llvm_ir")
    full = frontend.lower(launch, to="triton_llvm_ir", llvm_passes=True)
    names = [dump.name for dump in full.dumps]
    assert "InstCombinePass" in names
    assert "InstCombinePass" not in [dump.name for dump in plain.dumps]
    assert full.dumps[-1].text == plain.dumps[-1].text
    optimised = full.dumps[names.index("translate-to-llvm-ir") + 1 : names.index("optimize-module")]
    for dump in optimised:  # the module, and nothing else that LLVM prints in between
        assert dump.scope.whole
        assert not re.search(r"^(?:Running|Invalidating|; \*\*\*)", dump.text, re.M)
        assert dump.text.count("\ndefine ") == 1
    assert all(one.text != other.text for one, other in pairwise(optimised))
    assert {"CallSiteSplittingPass", "InlinerPass", "BDCEPass"}.isdisjoint(names)  # which change nothing here
    assert os.environ.get("LLVM_IR_ENABLE_DUMP") is None


def test_a_crash_of_the_compiler_costs_no_dump_before_it():
    launch = frontend.capture(kernels.dropout, "sm_80")[0]

    def crash(started, step, seconds):
        if started.name == "optimize-module":
            os.kill(client.worker().process.pid, signal.SIGSEGV)

    trace = frontend.lower(launch, to="triton_nvptx", run=Options(progress=crash))
    whole = frontend.lower(launch, to="triton_nvptx")
    assert whole.failure is None
    assert "SIGSEGV" in trace.failure.message
    names, count = [dump.name for dump in whole.dumps], len(trace.dumps)
    assert count >= names.index("optimize-module")  # the worker may be past it when the signal comes
    under_way = trace.failure.pass_name  # none when the signal comes between two passes
    assert under_way in (names[count], "")
    assert trace.failure.message.startswith(f"triton: pass {under_way} crashed" if under_way else "triton crashed")
    assert [dump.text for dump in trace.dumps] == [dump.text for dump in whole.dumps[:count]]


def test_ptx_leads_through_every_caller_of_what_is_inlined():
    text = """
.file 1 "/home/me/kernel.py"
.file 2 "/usr/lib/python3/dist-packages/triton/language/standard.py"
.loc 2 293 12, function_name $L__info_string0, inlined_at 1 46 13
add.f32 %r1, %r2, %r3;
.loc 2 263 12, function_name $L__info_string0, inlined_at 2 293 12
add.f32 %r4, %r5, %r6;
.loc 1 50 1
ret;
"""
    assert [place.line for place in debug_lines.assembly(text) if place] == [46, 46, 46, 46, 50, 50]
