"""What XLA dumps: a folder, or the same files in one log; HLO by module, the passes of its emitters by kernel."""

import re
import tarfile
import zipfile
from pathlib import Path

import irwidget
from irwidget.trace import Location

DATA = Path(__file__).parent / "data"
KERNEL = "module_0000.jit__lambda tanh_reduce_fusion_kernel_module"


def test_xla(tmp_path):
    zipfile.ZipFile(DATA / "xla.zip").extractall(tmp_path)
    found = irwidget.open(tmp_path)
    (low,) = found
    assert (found.format, low.name) == ("xla", "module_0006.jit_f")
    names = [dump.name for dump in low.dumps]
    assert names[0] == "input"
    assert names[-3:] == ["after optimizations", "ir-no-opt", "ir-with-opt"]
    fused = names.index("fusion")
    assert low.trace.step_of(low.dumps[fused]).name == "HLO_passes_after_layout_assignment"
    assert [dump.language for dump in low.dumps[-3:]] == ["hlo", "llvm", "llvm"]
    text = (tmp_path / "module_0006.jit_f.before_optimizations.txt").read_text()
    assert low.dumps[0].text == text
    line = next(i for i, one in enumerate(text.split("\n")) if "%dot_general" in one)
    where = low.dumps[0].locations[line]
    assert (where.file, where.line, where.column) == ("/home/me/j.py", 2, 29)
    assert where.caller == Location("/home/me/j.py", 3, 6)


def test_hlo_that_is_there_as_graphs_alone_is_named(tmp_path):
    zipfile.ZipFile(DATA / "xla.zip").extractall(tmp_path)
    for path in tmp_path.glob("*optimizations*.txt"):
        path.with_suffix(".dot").write_text("digraph G {}")
    assert not irwidget.open(tmp_path)[0].diagnostics  # beside texts
    (tmp_path / "module_0008.jit_g.0003.pipeline.after_fusion.before_cse.html").write_text("<html>")
    (tmp_path / "module_0008.jit_g.before_optimizations.hlo.pb").write_bytes(b"\1")
    (said,) = irwidget.open(tmp_path)[0].diagnostics
    assert said.severity == "warning"
    assert said.message.startswith("HLO of module_0008.jit_g is there as graphs or protocol buffers alone")


def test_older_hlo_names_its_lines_itself():
    (low,) = irwidget.open(
        "HloModule m\n\nENTRY e {\n"
        '  ROOT x = f32[] add(a, b), metadata={op_name="f" source_file="f.py" source_line=7}\n}\n'
    )
    assert low.dumps[0].language == "hlo"
    assert low.dumps[0].locations[3] == Location("f.py", 7)


def emitted(tmp_path):
    with tarfile.open(DATA / "xla-emitters.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "D", tmp_path / "out.log"


def dumps(low):
    steps = [low.trace.step_of(one) for one in low.dumps]
    return [
        (one.name, one.language, str(one.scope), step and step.name, one.text)
        for one, step in zip(low.dumps, steps, strict=True)
    ]


def test_a_kernel_of_an_emitter_is_a_lowering_from_its_first_pass_to_llvm_ir(tmp_path):
    folder, _ = emitted(tmp_path)
    (low,) = (one for one in irwidget.open(folder) if one.name == KERNEL)
    stem = f"{folder}/{KERNEL.replace(' ', '.')}"
    banner = re.compile(r"// -----// IR Dump Before \S+ (?:unknown<[\w:]*::)?([\w-]+).*//----- //\n")
    before = banner.split(Path(f"{stem}.mlir-passes.log").read_text())[1:]
    names, texts = ["input", *before[::2]], [one.rstrip() for one in before[1::2]]
    made = dumps(low)
    assert [(one[0], one[4].rstrip()) for one in made[:-2]] == [
        *zip(names[:-1], texts, strict=True), (names[-1], Path(f"{stem}-post-lowering.mlir").read_text().rstrip()),
    ]  # fmt: skip
    llvm = [Path(f"{stem}.{name}.ll").read_text() for name in ("ir-no-opt", "ir-with-opt")]
    kernel = "tanh_reduce_fusion_kernel_module"
    assert made[-2:] == [
        (name, "llvm", kernel, "back end", text) for name, text in zip(("ir-no-opt", "ir-with-opt"), llvm, strict=True)
    ]
    assert [one[3] for one in made[:-2]] == [None, *["emitter"] * (len(made) - 3)]
    assert not [one for one in low.diagnostics if "not in it" in one.message]  # the last is
    assert low.diagnostics[0].location == Location(f"{stem}.mlir-passes.log", 1)


def test_two_processes_in_one_folder_are_told_apart_by_their_times(tmp_path):
    folder, _ = emitted(tmp_path)
    *runs, kernel = irwidget.open(folder)
    stamps = sorted({one.name.partition(".")[0] for one in folder.iterdir() if one.name[0].isdigit()})
    assert [one.name for one in runs] == [f"{stamp}.module_0000.jit__lambda" for stamp in stamps]
    both = [dumps(one) for one in (*runs, kernel)]
    for path in folder.glob(f"{stamps[1]}.*"):
        path.unlink()
    alone, again = irwidget.open(folder)
    assert alone.name == "module_0000.jit__lambda"
    assert [dumps(alone), dumps(alone), dumps(again)] == both


def test_the_same_files_in_one_log(tmp_path):
    folder, log = emitted(tmp_path)
    *runs, kernel = irwidget.open(folder)
    found = irwidget.open(log)
    assert found.format == "xla-log"
    assert [dumps(one) for one in found] == [dumps(runs[0]), dumps(kernel)]
    assert [one.name for one in found] == ["module_0000.jit__lambda", KERNEL]
    twice = irwidget.open(log.read_text() * 2)
    assert [dumps(one) for one in twice] == [dumps(found[i]) for i in (0, 0, 1, 1)]
    again = [one.name.replace("lambda", "lambda, run 2") for one in found]
    assert [one.name for one in twice] == [found[0].name, again[0], found[1].name, again[1]]


def test_a_log_that_ends_within_a_file_says_so(tmp_path):
    text = emitted(tmp_path)[1].read_text()
    at = text.index("after_optimizations.txt")
    (low,) = irwidget.open(text[: text.index("%param", at)])
    assert low.dumps[-1].name == "after optimizations (cut off)"
    assert "The log ends in the middle of the IR after after optimizations" in low.diagnostics[-1].message
    of_passes = text.index("*** End module_0000.jit__lambda.tanh_reduce_fusion_kernel_module.mlir-passes.log")
    *_, kernel = irwidget.open(text[: text.rindex("\n    llvm.", 0, of_passes) + 12])
    assert [one.name for one in kernel.dumps[-3:]] == ["reconcile-unrealized-casts", "canonicalize (cut off)", "cse"]
    assert "The log ends in the middle of the IR before cse" in kernel.diagnostics[-1].message


def module(name, operation):
    return f"module @{name} {{\n  func.func @{name}() {{\n    {operation}\n    return\n  }}\n}}\n\n"


def before(name, on):
    return f"// -----// IR Dump Before {name.title()}: {name} ('builtin.module' operation: @{on}) //----- //\n"


def test_what_a_gpu_has_besides(tmp_path):
    """Kernels of Triton's, whose logs have the IR before and after each pass, and PTX, whole or in shards."""
    hlo = "HloModule jit_f\n\nENTRY e {\n}\n"
    dump = [module("k", f'"x.{name}"()') for name in ("one", "two", "three")]
    names = ["before_optimizations.txt", "sm_9.0_gpu_after_optimizations.txt", "ir-no-opt.ll", "ptx", "2.ptx"]
    for name in names:
        (tmp_path / f"module_0003.jit_f.{name}").write_text(hlo if name.endswith("txt") else f"; {name}\n")
    (tmp_path / "jit_f.gemm_fusion.1.triton-passes.log").write_text(
        before("p", "k") + dump[0] + after("p", "k") + dump[1] + before("q", "k") + dump[1] + after("q", "k") + dump[2]
    )
    whole, kernel = irwidget.open(tmp_path)
    assert (whole.name, kernel.name) == ("module_0003.jit_f", "jit_f gemm_fusion.1")
    assert [(one.name, one.language, str(one.scope), one.text) for one in whole.dumps] == [
        ("input", "hlo", "module", hlo), ("after optimizations", "hlo", "module", hlo),
        ("ir-no-opt", "llvm", "module", "; ir-no-opt.ll\n"),
        ("ptx", "ptx", "module", "; ptx\n"), ("ptx", "ptx", "2", "; 2.ptx\n"),
    ]  # fmt: skip
    assert [(one.name, one.text.strip()) for one in kernel.dumps] == [
        *zip(("input", "p", "q"), map(str.strip, dump), strict=True)
    ]


def after(name, on):
    return before(name, on).replace("Before", "After")


def test_kernels_that_xla_emits_side_by_side_are_kept_apart(tmp_path):
    """What two threads print into one file: dumps of both, and one that another interrupts."""
    first, second = (tmp_path / f"module_0001.jit_f.{name}.mlir-passes.log" for name in "ab")
    torn, rest = module("a", '"x.two"()').split("two", 1)
    first.write_text(
        before("p", "a") + module("a", '"x.one"()') + before("q", "a") + torn
        + before("p", "b") + module("b", '"x.one"()') + rest + before("r", "a") + module("a", '"x.three"()')
    )  # fmt: skip
    second.write_text(before("q", "b") + module("b", '"x.two"()'))
    (tmp_path / "module_0001.jit_f.c.mlir-passes.log").write_text("there is none\n")
    one, other = irwidget.open(tmp_path)
    assert [(dump.name, "x.three" in dump.text, "@b" in dump.text) for dump in one.dumps] == [
        ("input", False, False), ("p (cut off)", False, False), ("q", True, False),
    ]  # fmt: skip
    assert [dump.name for dump in other.dumps] == ["input"]
    assert [[line.severity for line in low.diagnostics] for low in (one, other)] == [
        ["remark", "warning", "remark", "remark"], ["remark"],
    ]  # fmt: skip
    assert "XLA has printed 1 dumps of other kernels, b, into this one's log" in one.diagnostics[-1].message
