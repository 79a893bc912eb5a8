"""Folders and traces that compilers leave: real ones, kept in `data`, or made by the tools that are here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from itertools import pairwise
from pathlib import Path

import pytest

import irwidget
from irwidget.trace import predecessors

DATA = Path(__file__).parent / "data"


def test_gcc(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    (tmp_path / "x.c").write_text("int g(int x) { return x * 2; }\nint f(int n) { return g(n) + 1; }\n")
    command = ["gcc", "-O2", "-g", "-fdump-tree-all-lineno-graph", "-fdump-rtl-all", "-c", "x.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    (low,) = irwidget.open(tmp_path)
    assert low.name == "x.c"
    names = [dump.name for dump in low.dumps]
    assert names[0] == "original"
    assert any(path.suffix == ".dot" for path in tmp_path.iterdir())
    assert not any("dot" in name for name in names)  # drawings of passes are none
    assert names.index("gimple") < names.index("ssa") < names.index("optimized") < names.index("expand")
    assert {dump.language for dump in low.dumps} == {"gimple", "rtl"}
    assert [step.name for step in low.steps] == ["tree", "rtl"]
    (file,) = tmp_path.glob("x.c.*t.ssa")
    assert low.dumps[names.index("ssa")].text == file.read_text()
    for name, mark in (("ssa", "[x.c:{}:{}]"), ("expand", '"x.c":{}:{}')):
        dump = low.dumps[names.index(name)]
        lines = dump.text.removesuffix("\n").split("\n")
        said = ["" if at is None else mark.format(at.line, at.column) for at in dump.locations]
        assert [one in line if one else "x.c" not in line for one, line in zip(said, lines, strict=True)] == [
            True
        ] * len(lines)
        assert len(set(said)) > 4


def test_what_gcc_prints_of_one_pass_is_a_text_and_of_several_is_refused(tmp_path):
    """It does not name the passes then."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    (tmp_path / "x.c").write_text("int g(int x) { return x * 2; }\nint f(int n) { return g(n) + 1; }\n")

    def printed(*flags: str) -> bytes:
        command = ["gcc", "-O2", *flags, "-S", "-o", "/dev/null", "x.c"]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout

    for flag, language in (("-fdump-tree-optimized=stdout", "gimple"), ("-fdump-rtl-final=stdout", "rtl")):
        (low,) = irwidget.open(text := printed(flag))
        assert [(one.name, one.language, one.text) for one in low.dumps] == [("output", language, text.decode())]
    with pytest.raises(irwidget.UsageError, match="does not name them"):
        irwidget.open(printed("-fdump-tree-all=stdout"))


def test_jaxs_folder_has_a_lowering_for_each_compilation(tmp_path):
    """As JAX 0.10.2 names its files. A jaxpr and a module are counted apart."""
    names = [
        "jax_000004_f.jaxpr.txt",
        "jax_000011_f.jaxpr.txt",
        "jax_000000_g.jaxpr.txt",
        "jax_000003_<lambda>.jaxpr.txt",
    ]
    names += ["jax_ir0000_jit_f_compile.mlir", "jax_ir0010_jit_f_compile.mlir", "jax_ir0003_jit__lambda_compile.mlir"]
    names += ["jax_ir0004_jit_h_i_compile.mlir", "jax_000000_g.eqn_count_pprof"]
    for name in names:
        (tmp_path / name).write_text(f"module @x {{\n}}\n// {name}\n" if name.endswith("mlir") else f"{{ {name} }}\n")
    made = [(low.name, [(dump.name, dump.text.split()[-2 + ("mlir" in dump.language)]) for dump in low.dumps])
            for low in irwidget.open(tmp_path)]  # fmt: skip
    assert made == [
        ("g", [("jaxpr", names[2])]),
        ("lambda", [("jaxpr", names[3]), ("compile", names[6])]),
        ("f 1", [("jaxpr", names[0]), ("compile", names[4])]),
        ("f 2", [("jaxpr", names[1]), ("compile", names[5])]),
        ("h_i", [("compile", names[7])]),
    ]


@pytest.mark.external
def test_mlir_tree(tmp_path):
    from tests.readers.test_printed import MODULE, said

    flags = ("--mlir-print-ir-after-all", f"--mlir-print-ir-tree-dir={tmp_path / 'tree'}", "--mlir-disable-threading")
    pipeline = "--pass-pipeline=builtin.module(symbol-privatize,func.func(canonicalize,cse),inline)"
    said("mlir-opt", MODULE, *flags, pipeline)
    (tree,) = irwidget.open(tmp_path / "tree")
    (log,) = irwidget.open(said("mlir-opt", MODULE, "--mlir-print-ir-after-all", "--mlir-disable-threading", pipeline))
    assert tree.dumps[0].name == "symbol-privatize"
    assert {(dump.name, dump.scope.anchor) for dump in tree.dumps} >= {
        ("canonicalize", "func.func @f"), ("cse", "func.func @g"),
    }  # fmt: skip
    assert tree.text.strip() == log.text.strip()


def unpacked(name: str, folder: Path) -> irwidget.opened.Opened:
    """A folder of the data, opened."""
    with tarfile.open(DATA / name) as packed:
        packed.extractall(folder, filter="data")
    return irwidget.open(folder)


def test_a_tree_of_two_runs_says_so(tmp_path):
    folder = tmp_path / "builtin_module_no-symbol-name"
    folder.mkdir()
    for name in ("1_a", "2_b", "2_c"):
        (folder / f"{name}.mlir").write_text(f"// -----// IR Dump After A ({name[2:]}) //----- //\nmodule {{\n}}\n")
    (low,) = irwidget.open(tmp_path, name="tree")
    (said,) = low.diagnostics
    both = "builtin_module_no-symbol-name/2_b.mlir and builtin_module_no-symbol-name/2_c.mlir"
    assert said.message.startswith(f"tree has files of more than one run, {both} have one number: ")
    (folder / "2_c.mlir").unlink()
    assert irwidget.open(tmp_path)[0].diagnostics == ()


LOOPS = """
define void @f(ptr %p, i32 %n) {
entry:
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i1, %next ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j1, %inner ]
  %j1 = add i32 %j, 1
  %d = icmp slt i32 %j1, 3
  br i1 %d, label %inner, label %next
next:
  %i1 = add i32 %i, 1
  %e = icmp slt i32 %i1, %n
  br i1 %e, label %outer, label %out
out:
  store i32 1, ptr %p
  ret void
}
"""


@pytest.mark.external
def test_llvms_folder_is_the_log_that_it_would_print(tmp_path):
    command = [str(shutil.which("opt-22")), "-O2", "-S", "-print-after-all", "-print-before-all", "-o", os.devnull]
    log = subprocess.run(command, input=LOOPS, capture_output=True, text=True, check=True).stderr
    subprocess.run([*command, f"-ir-dump-directory={tmp_path}"], input=LOOPS, text=True, check=True)
    assert any("invalidated" in path.name for path in tmp_path.iterdir())
    found, printed = irwidget.open(tmp_path), irwidget.open(log)
    assert found.format == "llvm-dir"
    shown = [[(dump.name, str(dump.scope), dump.text) for dump in one[0].dumps] for one in (found, printed)]
    assert shown[0] == shown[1]


def test_tilelang(tmp_path):
    (low,) = unpacked("tilelang.tar.xz", tmp_path)
    shown = [(dump.name, dump.text) for dump in low.dumps]
    names = [dump.name for dump in low.dumps]
    assert names[0] == "input"
    assert names.index("BindTarget") < names.index("PipelinePlanning") < names.index("LowerTileOp")
    assert names[-1] == "codegen"
    assert [step.name for step in low.steps] == ["unscoped", "pipeline_cuda", "codegen"]
    assert sum(dump.changed for dump in low.dumps) == 39
    (file,) = tmp_path.rglob("*_LowerTileOp_after.tir")
    assert low.dumps[names.index("LowerTileOp")].text == file.read_text()
    assert [dump.language for dump in low.dumps] == ["python"] * (len(names) - 1) + ["c"]
    for again in (10, 2):  # kernels that are compiled after it
        for path in [*tmp_path.rglob("[0-9]*_*.*")]:
            shutil.copy(path, path.with_name(f"run{again}_{path.name}"))
    runs = irwidget.open(tmp_path)
    assert [one.name for one in runs] == [low.name, f"{low.name} 2", f"{low.name} 10"]
    assert all([(dump.name, dump.text) for dump in one.dumps] == shown for one in runs)


def test_torch_trace(tmp_path):
    found = irwidget.open(DATA / "torch_trace.log.gz")
    assert found.format == "torch-trace"
    assert [low.name for low in found] == ["[0/0]", "[0/1]"]
    low = found[0]
    assert [dump.name for dump in low.dumps[:2]] == ["dynamo_output_graph", "before_pre_grad_graph"]
    assert low.dumps[-1].name == "inductor_output_code"
    assert low.dumps[0].text.startswith("class GraphModule(torch.nn.Module):\n    def forward(")
    assert not any(line.startswith("\t") for line in low.text.split("\n"))
    assert [dump.language for dump in (low.dumps[0], low.dumps[-1])] == ["fx", "python"]


def test_a_training_step_has_two_graphs_which_are_apart():
    """The backward graph is made of the joint one, and compiled after the forward graph, which it does not follow."""
    (low,) = irwidget.open(DATA / "torch_trace_training.log.gz")
    before = predecessors(low.dumps)
    assert [(dump.name, str(dump.scope), before[i]) for i, dump in enumerate(low.dumps)] == [
        ("dynamo_output_graph", "module", -1), ("before_pre_grad_graph", "module", 0),
        ("after_pre_grad_graph", "module", 1), ("aot_joint_graph", "module", 2),
        ("aot_forward_graph", "forward", 3), ("aot_backward_graph", "backward", 3),
        ("before_post_grad_graph", "forward", 4), ("inductor_post_grad_graph", "forward", 6),
        ("inductor_output_code", "forward", 7), ("before_post_grad_graph", "backward", 5),
        ("inductor_post_grad_graph", "backward", 9), ("inductor_output_code", "backward", 10),
    ]  # fmt: skip


def test_torch_compile_debug(tmp_path):
    found = unpacked("torch_compile_debug.tar.xz", tmp_path)
    assert found.format == "torch-compile-debug"
    assert [low.name for low in found] == ["model__0_inference_0.0", "model__1_inference_1.1"]
    for low in found:
        names = ["fx_graph", "fx_graph_transformed", "ir_pre_fusion", "ir_post_fusion", "output_code"]
        assert [dump.name for dump in low.dumps] == names
        assert "async_compile" in low.text
    (folder,) = tmp_path.rglob("model__1_inference_1.1")
    folder.rename(folder.parent / "model__0_backward_10.1")  # compiled tenth, whatever its name begins with
    (folder.parent / "model__0_inference_0.0").rename(folder.parent / "model__9_forward_9.0")
    assert [low.name for low in irwidget.open(tmp_path)] == ["model__9_forward_9.0", "model__0_backward_10.1"]


def test_clang():
    (low,) = irwidget.open(DATA / "clang.log.gz")
    assert (low.name, low.dumps[0].name, low.dumps[0].step) == ("x.c", "input", -1)
    changed = [dump.name for dump in low.dumps if dump.changed]
    assert ("SROAPass" in changed, "LoopVectorizePass" in changed, "InlinerPass" in changed) == (True, True, True)
    assert {dump.language for dump in low.dumps} == {"llvm", "mir"}
    assert low.text.startswith("# Machine code for function f: ")
    assert not low.failure
    loops, inlined, numbers, unchanged = low.diagnostics  # a rotated loop has other blocks
    assert (
        "on, functions were printed alone, in which LLVM numbers metadata (!3) and attributes (#5) anew"
        in numbers.message
    )
    assert "InlinerPass, on, a function that was inlined wherever it was called" in inlined.message
    assert "LoopRotatePass, on, there are loops that are shown by themselves" in loops.message
    assert unchanged.message.startswith("3 passes that changed nothing are left out")


def test_triton_prints_several_kernels_before_each_pass():
    found = irwidget.open(DATA / "triton.log.gz")
    assert [low.name for low in found] == ["add_kernel", "add_kernel", "scale_kernel", "scale_kernel"]
    for low in found:
        assert (low.dumps[0].name, low.dumps[0].step) == ("input", -1)
        assert low.dumps[1].name == "inline"
        assert "tt.func public" in low.dumps[0].text
        assert "llvm.func" in low.text
        inside = [dump.name for dump in low.dumps if dump.name.startswith("SoftwarePipeliner: ")]
        assert inside == ["SoftwarePipeliner: LowerLoops", "SoftwarePipeliner: ExpandLoops"]
        assert any(place and place.file.endswith(".py") for place in low.dumps[0].locations)
    blocks = ["64" if "dense" in low.dumps[0].text and "tensor<64x" in low.dumps[0].text else "128" for low in found]
    assert blocks == ["64", "128", "64", "128"]


def test_tritonparse():
    found = irwidget.open(DATA / "tritonparse.ndjson.gz")
    assert found.format == "tritonparse"
    assert [low.name for low in found] == ["add_kernel", "add_kernel", "scale_kernel", "scale_kernel"]
    low = found[0]
    assert [dump.name for dump in low.dumps] == ["ttir", "ttgir", "llir", "ptx"]
    ((file, code),) = low.trace.sources.items()
    place = next(one for one in low.dumps[0].locations if one)
    assert place.file == file
    assert "def add_kernel" in code
    assert low.trace.facts["num_warps"] == 4


def test_iree_is_one_lowering_whose_parts_are_put_back():
    found = irwidget.open(DATA / "iree.log.gz")
    (low,) = found
    assert low.name == "scale"
    assert len(low.dumps) > 700
    whole = [dump for dump in low.dumps if dump.scope.whole]
    assert len(whole) > 0.9 * len(low.dumps)
    anchors = {dump.scope.anchor.split(" ")[0] for dump in low.dumps}
    assert {"util.func", "hal.executable", "module", "func.func"} <= anchors
    options = next(dump.options for dump in low.dumps if dump.name == "canonicalize")
    assert options.startswith("cse-between-iterations=false max-iterations=")


@pytest.mark.parametrize("function", ["r.fib", "r.main-promoted[0]"])
def test_rustc(function):
    with tarfile.open(DATA / "mir_dump.tar.xz") as archive:
        files = {one.name: archive.extractfile(one).read().decode() for one in archive}
    texts = {
        tuple(name.removeprefix(f"{function}.").split(".")[:3]): text.partition("\n")[2]
        for name, text in files.items()
        if name.startswith(f"{function}.") and name.endswith((".before.mir", ".after.mir"))
    }
    after = [(name, text) for (_, name, when), text in sorted(texts.items()) if when == "after"]
    low = next(low for low in irwidget.open(DATA / "mir_dump.tar.xz") if low.name == function)
    shown = [(dump.name, dump.text) for dump in low.dumps]
    if function == "r.fib":
        assert [low.dumps[0].step, len(shown)] == [-1, 58]
        assert shown == after
        assert sum(dump.changed for dump in low.dumps[1:]) == sum(one[1] != other[1] for one, other in pairwise(after))
    else:  # it begins before a pass
        assert shown == [("input", texts["2-1-000", "ImpossiblePredicates", "before"]), *after]
