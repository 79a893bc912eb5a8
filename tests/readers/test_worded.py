"""Logs in which a line of words stands before each text: real ones of TVM and Halide, and SPIRV-Tools itself."""

from __future__ import annotations

import lzma
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

import irwidget
from irwidget import running
from irwidget.readers.base import BannerReader
from irwidget.registry import readers

DATA = Path(__file__).parent / "data"
TVM = lzma.decompress((DATA / "tvm.log.xz").read_bytes()).decode()
HALIDE = lzma.decompress((DATA / "halide.log.xz").read_bytes()).decode()
BANNER = re.compile(r'^(Before|After) Running Pass: transform\.PassInfo\(.*name="(.+)", required.*\n', re.M)

_, *PARTS = BANNER.split(TVM)
PASSES = [(name, text) for when, name, text in zip(*[iter(PARTS)] * 3, strict=True) if when == "After"]
AFTER = "".join(
    f'After Running Pass: transform.PassInfo(opt_level=0, name="{name}", required=(), traceable=False)\n{text}'
    for name, text in PASSES
)


def shown(low: irwidget.Lowering) -> list[tuple[str, str]]:
    return [(dump.name, dump.text) for dump in low.dumps]


def differ(texts: list[str]) -> list[bool]:
    return [one != other for one, other in pairwise(texts)]


def test_each_pass_of_tvm_has_what_it_printed():
    (low,) = found = irwidget.open(AFTER)
    assert (found.format, low.name, low.dumps[0].language) == ("tvm", "main", "python")
    assert shown(low) == PASSES
    assert [dump.changed for dump in low.dumps[1:]] == differ([text for _, text in PASSES])
    assert sum(dump.changed is True for dump in low.dumps[1:]) == 23


def test_what_changed_between_two_passes_of_tvm_is_told_from_what_they_did():
    (low,) = irwidget.open(TVM)
    assert shown(low)[0] == ("input", PARTS[2])
    between = [(name, low.dumps[i - 1].text) for i, (name, _) in enumerate(shown(low)) if name.startswith("before ")]
    assert [name for name, _ in between] == ["before NormalizeGlobalVar", "before tirx.BindTarget", "before sequential"]
    assert [one for one in shown(low)[1:] if not one[0].startswith("before ")] == PASSES
    (remark,) = irwidget.open(AFTER)[0].diagnostics
    assert "looks like the second's work" in remark.message
    assert not low.diagnostics


def test_a_log_of_tvm_of_what_stands_before_passes_is_shifted():
    texts = [text for when, text in zip(PARTS[::3], PARTS[2::3], strict=True) if when == "Before"]
    names = [name for when, name in zip(PARTS[::3], PARTS[1::3], strict=True) if when == "Before"]
    log = "".join(
        f'Before Running Pass: transform.PassInfo(name="{n}")\n{t}' for n, t in zip(names, texts, strict=True)
    )
    (low,) = irwidget.open(log)
    assert shown(low) == list(zip(["input", *names[:-1]], texts, strict=True))


def test_what_ci_says_at_the_end_is_none_of_tvms():
    said = "##[error]Process completed with exit code 2."
    (low,) = irwidget.open(f"{TVM}{said}\n")
    assert shown(low) == shown(irwidget.open(TVM)[0])
    assert [one.message for one in low.diagnostics] == [said]


def test_a_function_of_tvm_alone_is_a_text_too():
    texts = [
        f"# from tvm.script import tirx as T\n\n@T.prim_func\ndef f(a: T.handle):\n    T.evaluate({i})\n"
        for i in (0, 1)
    ]
    (low,) = irwidget.open("".join(f'After Running Pass: transform.PassInfo(name="p")\n{text}' for text in texts))
    assert shown(low) == [("p", text) for text in texts]


class Mine(BannerReader):
    name = "mine"
    language = "text"
    banner = re.compile(rb"^== (?P<name>\w+)(?P<unchanged> kept)?$")


def test_below_a_banner_of_a_pass_that_left_its_text_there_are_remarks():
    log = "hello\n== a\nx = 1\n\n\n== b kept\nslow!\n\n== c\nx = 2\n"
    with readers.trying(Mine()):
        (low,) = irwidget.open(log)
    assert shown(low) == [("a", "x = 1\n"), ("b", "x = 1\n"), ("c", "x = 2\n")]
    assert [dump.changed for dump in low.dumps[1:]] == [False, True]
    assert [one.message for one in low.diagnostics] == ["hello", "slow!"]


@pytest.mark.parametrize(
    "banner",
    [
        "After Running Pass: The meta data of the pass - pass name: {}, opt_level: 0, required passes: []\n\n",
        "After running pass: The meta data of the pass - pass name: {}, opt_level: 2, required passes: [A, B]\n",
    ],
)
def test_older_releases_of_tvm_say_it_otherwise(banner):
    log = re.sub(r"After Running.*name=\"(.+)\", req.*\n", lambda found: banner.format(found[1]), AFTER)
    (low,) = irwidget.open(log)
    assert [name for name, _ in shown(low)] == [name for name, _ in PASSES]


def test_tvm_prints_passes_by_name_too():
    after = "".join(f"Print IR after: {name}\n{text}\n\n" for name, text in PASSES)
    assert shown(irwidget.open(after)[0]) == PASSES
    before = after.replace("Print IR after: ", "Print IR before: ")
    assert [name for name, _ in shown(irwidget.open(before)[0])] == ["input", *(name for name, _ in PASSES[:-1])]


def test_relay_of_older_releases_of_tvm_is_kept_whole():
    texts = [
        f"fn (%x: Tensor[(4), float32]) {{\n  add(%x, {i}f)\n}}\nfree_var %y: Tensor[(4), float32];\n" for i in (1, 2)
    ]
    banner = (
        "After Running Pass: The meta data of the pass - pass name: FoldConstant, opt_level: 2, required passes: []\n\n"
    )
    (low,) = irwidget.open("".join(banner + text for text in texts))
    assert [dump.text.lstrip() for dump in low.dumps] == texts


def test_what_others_print_is_no_part_of_a_module_of_tvm():
    said = "[12:00:07] /src/tvm/x.cc:70: Warning: slow\n  more of it\n"
    place = AFTER.index("After", AFTER.index("LegalizeOps"))
    (low,) = irwidget.open(AFTER[:place] + said + AFTER[place:] + "epoch 1\n")
    assert shown(low) == PASSES
    assert [one.message for one in low.diagnostics[:-1]] == [said.strip(), "epoch 1"]


def test_a_module_of_tvm_that_is_compiled_after_another_is_another_lowering():
    again = irwidget.open(AFTER + AFTER)
    assert [shown(low) for low in again] == [PASSES, PASSES]
    changed = AFTER.replace("(4, 8)", "(4, 9)")
    assert [len(low.dumps) for low in irwidget.open(AFTER + changed)] == [len(PASSES)] * 2


def test_tvms_folder_is_the_log_in_files(tmp_path):
    for number, (name, text) in enumerate(PASSES):
        (tmp_path / f"{number:03}_{name}.py").write_text(text)
    (low,) = found = irwidget.open(tmp_path)
    assert (found.format, shown(low)) == ("numbered", [(name.lstrip("_"), text) for name, text in PASSES])
    (one,) = irwidget.open(PASSES[0][1])
    assert (one.dumps[0].language, one.text) == ("python", PASSES[0][1])


def test_each_step_of_halide_has_its_text_without_what_is_said_below_it():
    (low,) = found = irwidget.open(HALIDE)
    assert found.format == "halide"
    steps = re.findall(r"^Lowering after ([^:\n]+):?(?: (\(unchanged\))\n|\n((?:.+\n)+))", HALIDE, re.M)
    texts = [""]
    for _, unchanged, text in steps:
        texts.append(texts[-1] if unchanged else text)
    assert shown(low) == [(name, text) for (name, *_), text in zip(steps, texts[1:], strict=True)]
    assert len(steps) == len(re.findall("^Lowering after", HALIDE, re.M))
    assert [dump.changed for dump in low.dumps[1:]] == differ(texts[1:])
    assert "Adding checks for parameters" in [one.message for one in low.diagnostics]


def test_each_pipeline_of_halide_is_a_lowering():
    first, second = irwidget.open(HALIDE + HALIDE)
    assert shown(first) == shown(second) == shown(irwidget.open(HALIDE)[0])
    assert second.name == "pipeline 2"


SHADER = """\
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%3 = OpTypeFunction %void
%float = OpTypeFloat 32
%ptr = OpTypePointer Function %float
%float_1 = OpConstant %float 1
%main = OpFunction %void None %3
%5 = OpLabel
%v = OpVariable %ptr Function
%s = OpFAdd %float %float_1 %float_1
OpStore %v %s
OpReturn
OpFunctionEnd
"""


@pytest.mark.external
def test_spirv_opt_is_told_to_print_and_each_pass_has_what_it_made(tmp_path):
    if shutil.which("spirv-opt") is None:
        pytest.skip("needs spirv-tools")
    given, made = tmp_path / "a.spv", tmp_path / "b.spv"
    (tmp_path / "a.spvasm").write_text(SHADER)
    subprocess.run(["spirv-as", tmp_path / "a.spvasm", "-o", given], check=True)
    passes = ["eliminate-dead-code-aggressive", "ccp", "eliminate-dead-functions", "compact-ids"]
    (low,) = found = running.run(f"spirv-opt {given} -o {made} " + " ".join(f"--{one}" for one in passes))
    assert (found.format, low.dumps[0].language, low.steps[0].arguments[-11:]) == ("spirv-opt", "spirv", "--print-all")

    def after(count: int) -> str:
        """What so many passes make, said by the tools alone."""
        subprocess.run(["spirv-opt", given, "-o", made, *(f"--{one}" for one in passes[:count])], check=True)
        said = subprocess.run(["spirv-dis", "--no-header", "--no-indent", made], capture_output=True, text=True)
        return said.stdout

    assert shown(low) == [(name, after(count)) for count, name in enumerate(["input", *passes])]


def sil(name: str, *lines: str) -> str:
    head = f"// {name}(_:)\nsil hidden [ossa] @$s{name} : $@convention(thin) (Int) -> Int {{\n"
    return head + "".join(f"  {line}\n" for line in lines) + f"}} // end sil function '$s{name}'\n"


@pytest.mark.parametrize("function", ["", ", Function: $sf"])
def test_each_text_of_sil_is_of_its_function_or_of_the_module(function):
    """As Swift's pass manager writes its lines (dumpPassInfo)."""
    whole = f"sil_stage raw\n\nimport Builtin\n\n{sil('f', 'a', 'b')}\n{sil('g', 'c')}\n// Properties: \n"
    cse = f"#7, stage HighLevel,Function+EarlyLoopOpt, pass 12: CSE (cse){function}\n"
    log = (
        f"  *** SIL module after #3, stage MandatoryOptimizations, pass 1: SILGenCleanup (silgen-cleanup)\n{whole}\n\n"
        f"  *** SIL function before  {cse}{sil('f', 'a', 'b')}\n  *** SIL function after  {cse}{sil('f', 'a')}\n"
        "x.swift:3:4: warning: odd\n"
        f"  *** SIL function after  #9, stage MidLevel, pass 2: DCE (dce)\n{sil('g')}\n"
    )
    (low,) = irwidget.open(log)
    assert [
        (dump.name, str(dump.scope), low.steps[dump.step].name, dump.text) for dump in low.dumps if dump.step >= 0
    ] == [
        ("silgen-cleanup", "module", "MandatoryOptimizations", whole),
        ("cse", "$sf", "HighLevel,Function+EarlyLoopOpt", sil("f", "a")),
        ("dce", "$sg", "MidLevel", sil("g")),
    ]
    assert [one.message for one in low.diagnostics] == ["odd"]
