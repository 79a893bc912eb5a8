"""Going on from an edited dump, with other passes; two lowerings side by side."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

import irwidget
from irwidget import PassError, UsageError, pipelines
from irwidget.experiments import passes, stock
from irwidget.experiments.passes import Planned
from irwidget.toolchain import external
from irwidget.trace import Step
from irwidget.views import fallbacks

LLVM = """\
define i32 @f(i32 %a, i32 %b) {
  %x = sub i32 %a, %b
  %y = add i32 %x, 0
  ret i32 %y
}
"""
LINES = """\
define void @f() !dbg !3 {
  ret void, !dbg !4
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "f", file: !1, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 3, scope: !3)
"""


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()


@pytest.fixture(scope="module")
def low(model):
    return irwidget.lower(model, torch.randn(2, 4), to="nvptx", elide=False)


@pytest.fixture(scope="module")
def linalg(model):
    return irwidget.lower(model, torch.randn(2, 4), to="linalg_on_tensors_mlir", elide=False)


@pytest.mark.parametrize("which", range(0, 58, 6))
def test_going_on_without_a_change_ends_in_the_same_text_after_the_same_passes(low, which):
    again = low.edit(which).run()
    assert again.text == low.text
    assert [dump.name for dump in again.dumps[1:]] == [dump.name for dump in low.dumps[which + 1 :]]
    assert [dump.text for dump in again.dumps] == [dump.text for dump in low.dumps[which:]]


SUMS = """\
func.func @f(%a: i32, %b: i32) -> i32 {
  %0 = "foo.bar"(%a) : (i32) -> i32
  %1 = arith.addi %a, %b : i32
  %2 = arith.addi %a, %b : i32
  %3 = arith.muli %1, %2 : i32
  return %3 : i32
}
"""
HERE = not isinstance(external.find("mlir-opt"), str)
WITH_PROGRAM = [pytest.mark.external, pytest.mark.skipif(not HERE, reason="mlir-22-tools is not installed")]


@pytest.mark.parametrize("program", [False, pytest.param(True, marks=WITH_PROGRAM)])
def test_what_one_command_runs_goes_on_pass_by_pass_with_its_flags(program, tmp_path):
    pipeline = "mlir-opt --allow-unregistered-dialect --cse --convert-arith-to-llvm='index-bitwidth=32' --canonicalize"
    low = irwidget.lower(SUMS, to="raw_ir", pipeline=pipeline, external=program)
    names = [dump.name for dump in low.dumps[1:]]
    assert names == ["cse", "convert-arith-to-llvm", "canonicalize"]
    assert "index-bitwidth=32" in low.dumps[2].options
    for index in (0, 1, 2):
        again = low.edit(index).run()
        assert [dump.name for dump in again.dumps[1:]] == names[index:]
        assert again.text == low.text
    assert low.edit(0).without("cse").run().text.count("llvm.add") == 2
    assert low.text.count("llvm.add") == 1
    low.edit(1).save(tmp_path)
    command = (tmp_path / "tools.sh").read_text().splitlines()[-1]
    assert command.startswith("mlir-opt --allow-unregistered-dialect --pass-pipeline='builtin.module(convert-arith")
    if HERE:
        subprocess.run(["sh", tmp_path / "tools.sh"], env={**os.environ, "PATH": _stock_first()}, check=True)
        assert (tmp_path / "1.mlir").read_text().strip() == low.text.strip()


TORCH, TO_TOSA = (
    "func.func(torch-fuse-quantized-ops)",
    "func.func(convert-torch-to-tosa{require-full-tosa-conversion=true})",
)
FOREIGN = "--allow-unregistered-dialect --mlir-print-op-generic --pass-pipeline='builtin.module"


@pytest.mark.parametrize(("passes_", "commands"), [
    ([TORCH, TO_TOSA], [f"torch-mlir-opt --pass-pipeline='builtin.module({TORCH},{TO_TOSA})'"]),
    ([TO_TOSA, "func.func(tosa-reduce-transposes)", "cse"], [
        f"torch-mlir-opt --mlir-print-op-generic --pass-pipeline='builtin.module({TO_TOSA})'",
        f"mlir-opt {FOREIGN}(func.func(tosa-reduce-transposes))'",
        "torch-mlir-opt --pass-pipeline='builtin.module(cse)'",
    ]),
    (["tosa-infer-shapes"], [
        "torch-mlir-opt --mlir-print-op-generic", f"mlir-opt {FOREIGN}(tosa-infer-shapes)'", "torch-mlir-opt",
    ]),
])  # fmt: skip
def test_passes_of_tosa_are_mlirs_program_to_run(passes_, commands):
    step = Step("torch-mlir-opt", f"builtin.module({','.join(passes_)})")
    assert [one.command for one in stock.programs([step])] == commands


@pytest.mark.parametrize("_", [pytest.param("", marks=WITH_PROGRAM)])
def test_what_is_saved_of_a_lowering_to_tosa_runs_with_the_programs(_, model, tmp_path):
    low = irwidget.lower(model, torch.randn(2, 4), to="tosa_mlir", elide=False)
    folders = [os.path.dirname(external.find(name).path) for name in ("mlir-opt", "torch-mlir-opt")]
    environment = {**os.environ, "PATH": os.pathsep.join([*folders, os.environ["PATH"]])}
    low.edit(1).save(tmp_path)
    subprocess.run(["sh", tmp_path / "tools.sh"], env=environment, check=True)
    last = max(tmp_path.glob("[0-9].mlir")).read_text()

    def operations(text):
        return sorted(re.sub(r"%\w+", "%", line).strip() for line in text.partition("{-#")[0].strip().split("\n"))

    assert operations(last) == operations(low.text)  # constants are in another order


def _stock_first():
    return os.pathsep.join([os.path.dirname(external.find("mlir-opt").path), os.environ["PATH"]])


@pytest.mark.parametrize("_", [pytest.param("", marks=WITH_PROGRAM)])
def test_what_a_program_runs_on_one_function_after_the_other_is_shown_in_that_order(_):
    text = SUMS.replace('"foo.bar"(%a) : (i32) -> i32', "arith.constant 1 : i32")
    two = text + text.replace("@f", "@g")
    pipeline = "mlir-opt --pass-pipeline='builtin.module(func.func(cse,convert-arith-to-llvm),symbol-dce)'"
    low = irwidget.lower(two, to="raw_ir", pipeline=pipeline, external=True)
    assert [(dump.name, dump.text.count("addi")) for dump in low.dumps] == [
        ("input", 4), ("cse", 3), ("convert-arith-to-llvm", 2),
        ("cse", 1), ("convert-arith-to-llvm", 0), ("symbol-dce", 0),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="which cannot be begun there. Edit dump 0"):
        low.edit(2)


def test_the_edited_text_is_what_runs_and_what_is_judged(linalg):
    at = next(i for i, dump in enumerate(linalg.dumps) if dump.name == "convert-torch-to-linalg")
    text = linalg.dumps[at].text
    assert linalg.edit(at).run(check=True).check.state == "equal"
    wrong = linalg.edit(at, text.replace("arith.cmpf ugt", "arith.cmpf ult")).run(check=True)
    assert text != wrong.dumps[0].text
    assert wrong.check.state == "differs"
    assert wrong.check.reason.endswith("; no dump before it was executed")
    assert wrong.name == f"{linalg.name}: dump {at} edited"
    assert irwidget.compare(linalg, wrong).summary == "they start differently; the results differ"
    assert irwidget.compare(wrong, linalg).summary == "they start differently; the results differ"


def test_a_text_that_is_wrong_at_once_is_not_called_a_wrong_import(model):
    x = torch.randn(2, 4)
    low = irwidget.lower(nn.ReLU(), x, to="tosa_mlir", elide=False)
    at = len(low.dumps) - 1
    text = low.text.replace("min_val = 0.0", "min_val = 0.5")
    assert text != low.text
    wrong = low.edit(at, text).run(check=True)
    assert wrong.check.reason.endswith(
        "no pass had run yet: the edited text is wrong, or a pass of the standard route that executes it"
    )
    imported = low.edit(0, low.dumps[0].text.replace("aten.relu", "aten.neg")).run(check=True)
    assert "the edited text is wrong" in imported.check.reason
    again = wrong.edit(0).run(check=True)
    assert "no pass had run yet: dump 0 of ReLU" in again.check.reason
    assert "import" not in again.check.reason


def test_an_experiment_is_held_against_its_start_on_either_side(linalg):
    at = len(linalg.dumps) // 2
    again = linalg.edit(at).run()
    count = len(linalg.dumps) - 1 - at
    both = irwidget.compare(linalg, again), irwidget.compare(again, linalg)
    for one in both:
        assert one.summary == f"the same after the {count} passes that both run; the results are the same"
        assert [pair.state for pair in one.passes] == ["same"] * (count + 1)
    assert [(pair.right, pair.left) for pair in both[0].passes] == [(pair.left, pair.right) for pair in both[1].passes]
    last = linalg.edit(-1).run()
    assert irwidget.compare(linalg, last).summary == "they start the same; the results are the same"


def test_what_is_not_here_is_not_checked(linalg, tmp_path):
    loaded = irwidget.load(linalg.save(tmp_path / "x.irtrace"))
    again = loaded.edit(3).run(check=True)
    assert again.text.partition("{-#")[0] == linalg.text.partition("{-#")[0]
    assert again.check.state == "not checked"
    assert "loaded from a file" in again.check.reason


def test_values_that_the_text_leaves_out_are_not_made_up(model, tmp_path):
    here = irwidget.lower(model, torch.randn(2, 4), to="llvm_ir")
    low = irwidget.load(here.save(tmp_path / "x.irtrace"))
    with pytest.raises(
        UsageError, match=r"leaves out the values of torch_tensor.*mlir-translate needs: lower with elide"
    ):
        low.edit(20).run()
    wrong = low.edit(20, low.dumps[20].text.replace("linalg.fill", "linalg.fil", 1))
    with pytest.raises(irwidget.PassError, match=r"'linalg\.fil' is unknown\n  at line \d+, column \d+") as raised:
        wrong.run()
    assert raised.value.lowering
    assert raised.value.lowering.dumps[0].text == wrong.text
    tosa = irwidget.lower(model, torch.randn(2, 4), to="tosa_mlir")
    (line,) = (line for line in tosa.text.splitlines() if "__elided__" in line)
    name = line.split()[0]
    other = tosa.edit(-1, re.sub(rf"{name}\b", "%other", tosa.text)).run(check=True)
    assert (other.check.state, other.text) == ("not checked", tosa.text)
    assert "leaves out the values of __elided__: lower" in other.check.reason
    twice = tosa.text.replace(line, f"{line}\n{line.replace(name, '%again')}")
    assert "leaves out the values of __elided__: lower" in tosa.edit(-1, twice).run(check=True).check.reason
    again = tosa.edit(-1)
    longer = irwidget.lower(nn.Sequential(model, nn.Tanh()), torch.randn(2, 4), to="tosa_mlir")
    strange = replace(again, constants=replace(again.constants, bytecode=longer.origin.constants.bytecode))
    assert (again.run(check=True).check.state, strange.run(check=True).check.state) == ("equal", "not checked")
    assert again.run().edit(-1).run(check=True).check.state == "not checked", "it did not start from the model"
    tosa = irwidget.load(tosa.save(tmp_path / "x.irtrace"))
    said = "the right one ran without values, which its passes may look at"
    assert said in irwidget.compare(tosa, tosa.edit(0).run()).summary
    assert said not in irwidget.compare(tosa, tosa.edit(-1).run()).summary


class Twins(nn.Module):
    """Constants of one shape, small ones and one that stays the user's memory."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.wide = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 4096)

    def forward(self, x):
        return self.wide(self.two(torch.tanh(self.one(x))))


@pytest.mark.parametrize(
    ("to", "index", "same"),
    [("tosa_mlir", 0, None), ("tosa_mlir", 12, None), ("linalg_on_tensors_mlir", 8, True), ("llvm_ir", 30, None)],
)
def test_an_edited_dump_has_the_constants_that_it_only_names(to, index, same, tmp_path):
    """Of constants without names of their own no text says that they are the same."""
    low = irwidget.lower(Twins().eval(), torch.randn(2, 8), to=to)
    text = low.dumps[index].text
    again = low.edit(index).run(check=True)
    assert (again.text, again.check.state) == (low.text, "equal")
    assert irwidget.compare(low, again).ends_the_same is same
    folder = low.edit(index).save(tmp_path).parent
    for script in ("run.sh", "tools.sh"):
        assert "# edited.mlir leaves out the values of torch_tensor_" in (folder / script).read_text()
    one, two = dict.fromkeys(re.findall(r"dense_resource<(torch_tensor_8_torch[^>]*)>", text))
    exchanged = text.replace(f"<{one}>", "<other>").replace(f"<{two}>", f"<{one}>").replace("<other>", f"<{two}>")
    wrong = low.edit(index, exchanged).run(check=True)
    assert wrong.check.state == "differs"
    assert ("of the same lines" in wrong.check.reason) == ("__elided__" in text)


def test_of_a_constant_that_is_named_where_it_cannot_be_given_nothing_is_made_up():
    low = irwidget.lower(Twins().eval(), torch.randn(2, 8), to="linalg_on_tensors_mlir")
    named = "dense_resource<torch_tensor_8_8_torch.float32> : tensor<8x8xf32>"
    assert named in low.text
    listed = low.text.replace("tensor.empty()", f"tensor.empty() {{listed = [{named}]}}", 1)
    shaped = low.text.replace("tensor.empty()", f"tensor.empty() {{shaped = {named.replace('8x8x', '64x')}}}", 1)
    for text, why in (listed, "no values are here of the constant of type"), (shaped, "leaves out the values of"):
        made = low.edit(-1, text).run(check=True)
        assert (made.text, made.check.state) == (text, "not checked")
        assert why in made.check.reason


@pytest.mark.parametrize("other", [None, "module {}", {"nvptx": "a lowering"}])
def test_only_lowerings_are_compared(linalg, other):
    hint = ": choose one of its lowerings" if isinstance(other, dict) else ""
    with pytest.raises(UsageError, match=rf"takes two lowerings, .* this is a {type(other).__name__}{hint}$"):
        irwidget.compare(linalg, other)


def test_the_parser_answers_with_line_and_column(linalg):
    text = linalg.text
    assert linalg.edit(-1).problems() == ()
    (said,) = linalg.edit(-1, text.replace("tensor.empty", "tensor.emty", 1)).problems()
    line = next(i for i, one in enumerate(text.splitlines(), 1) if "tensor.empty" in one)
    assert (said.location.line, said.message) == (
        line,
        "custom op 'tensor.emty' is unknown. Did you mean tensor.empty?",
    )


def test_passes_are_left_out_moved_and_replaced(linalg):
    names = [dump.name for dump in linalg.dumps]
    at = names.index("cse")
    assert [d.name for d in linalg.edit(0).without("cse").run().dumps[1:]] == names[1:at] + names[at + 1 :]
    moved = linalg.edit(0).moved("cse", before="torch-decompose-complex-ops")
    new = names[1:at] + names[at + 1 :]
    new.insert(new.index("torch-decompose-complex-ops"), "cse")
    assert [dump.name for dump in moved.run().dumps[1:]] == new
    other = linalg.edit(at - 1).replaced(at, "mlir-opt --canonicalize=max-iterations=1").run()
    assert [dump.name for dump in other.dumps[1:]] == ["canonicalize", *names[at + 1 :]]
    assert "max-iterations=1" in other.dumps[1].options
    assert [d.name for d in linalg.edit(-1).inserted("mlir-opt --linalg-generalize-named-ops").run().dumps[1:]] == [
        "linalg-generalize-named-ops"
    ]
    with pytest.raises(UsageError, match="runs 6 times: say which by the number of its dump, one of 4, "):
        linalg.edit(0).without("canonicalize")
    with pytest.raises(UsageError, match=r"No pass 'cze' comes after the edited dump. Did you mean cse\?"):
        linalg.edit(0).without("cze")
    for given in ((0, b"module {}"), (0.5, None)):
        with pytest.raises(UsageError, match="takes the number of a dump and a text"):
            linalg.edit(*given)
    for number in (len(names), -1 - len(names)):
        with pytest.raises(UsageError, match=f"There is no dump {number}: this lowering has the dumps 0 to "):
            linalg.edit(number)


def test_a_failing_lowering_goes_on_from_what_is_mended():
    broken = "func.func @f(%a: f32) -> f32 {\n  %b = math.erf %a : f32\n  return %b : f32\n}"
    pipeline = "mlir-opt --canonicalize --convert-arith-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm --cse"
    with pytest.raises(PassError) as raised:
        irwidget.lower(broken, to="raw_ir", pipeline=f"{pipeline} | mlir-translate --mlir-to-llvmir")
    low = raised.value.lowering
    assert low.failure.tool == "mlir-translate"
    mended = low.edit(1, low.dumps[1].text.replace("math.erf %arg0", "arith.negf %arg0")).run()
    assert mended.dumps[-1].language == "llvm"
    assert "fneg float" in mended.text


def test_llvm_ir_is_edited_too():
    low = irwidget.lower(LLVM, to="raw_ir", pipeline="opt -O1 | opt -passes=instcombine")
    assert (low.edit(0).read, irwidget.lower("; nothing", to="raw_ir", pipeline="user-tool cat").edit(0).read) == (
        True,
        False,
    )
    new = low.edit(0, LLVM.replace("sub i32 %a, %b", "mul i32 %a, 8")).run()
    assert "shl i32 %a, 3" in new.text
    assert irwidget.compare(low, new).costs["operations"] == (2, 2)
    assert "without values" not in irwidget.compare(low, new).summary
    lines = [irwidget.lower(LINES.replace("line: 3", f"line: {i}"), to="raw_ir") for i in (3, 3, 4)]
    ends = [irwidget.compare(lines[0], one).summary for one in lines[1:]]
    assert ends == [
        "the same after the 1 pass that both run; the results are the same",
        "they start differently; the results differ",
    ], "what begins as LLVM IR names the lines itself"


def test_text_after_which_nothing_runs_is_read_all_the_same():
    low = irwidget.lower(LLVM, to="raw_ir", pipeline="opt -O1")
    again = low.edit(-1).run()
    assert [dump.text for dump in again.dumps] == [low.text]
    wrong = low.text.replace("ret i32", "rte i32")
    with pytest.raises(PassError, match="expected instruction opcode") as raised:
        low.edit(-1, wrong).run()
    failed = raised.value.lowering
    assert [(step.tool, number) for number, step in enumerate(failed.trace.steps)] == [("opt", failed.failure.step)]
    (said,) = low.edit(-1, wrong).problems()
    assert said.message == "expected instruction opcode"
    (said,) = low.edit(-1, LLVM.replace("define i32", "defne i32")).problems()
    assert "expected top-level entity" in said.message, "also where nothing tells the language any more"
    (said,) = low.edit(0, LLVM.replace("add i32 %x", "add i32 %xx")).problems()
    assert said.message == "use of undefined value '%xx'. Did you mean %x?"


def test_names_that_may_have_been_meant_are_all_that_are_near_and_of_the_kind():
    text = "func.func @sum(%some: i32) -> i32 {\n  %b = arith.addi %some, %some : i32\n  return %b : i32\n}"
    low = irwidget.lower(text, to="raw_ir", pipeline="mlir-opt --cse")
    said = [
        low.edit(0, text.replace(*words, 1)).problems()[0].message
        for words in (("arith.addi", "arith.addx"), ("%some, %some", "%sum, %some"), ("return %b", "return %zzz"))
    ]
    assert said == [
        "custom op 'arith.addx' is unknown. Did you mean arith.addi or arith.addf?",
        "use of undeclared SSA value name. Did you mean %some?",
        "use of undeclared SSA value name",
    ]


def test_programs_that_are_none_end_what_is_saved_for_programs(tmp_path):
    low = irwidget.lower(LLVM, to="raw_ir", pipeline="opt -O1 | user-tool cat | opt -O1", elide=False)
    low.edit(0).save(tmp_path)
    files = {path.name: path.read_text().splitlines() for path in tmp_path.iterdir()}
    go = 'cd "$(dirname "$0")"'
    versions = ", ".join(f"{name} {version}" for name, version in low.tools.items())
    assert files == {
        "edited.ll": LLVM.splitlines(),
        "run.sh": [
            go,
            "python -m irwidget lower edited.ll --to raw_ir --pipeline 'opt -O1 | user-tool cat | opt -O1' --no-elide",
        ],
        "tools.sh": [
            go,
            f"# What ran was {versions}: programs of another release may have other options.",
            "set -e",
            "opt -O1 -S edited.ll -o 1.ll",
            "# user-tool cat: no program does this; run.sh does",
            "exit 1",
        ],
    }


SCAN = """\
func.func @f(%x: memref<4xf32>, %y: memref<4xf32>, %s: memref<f32>) {
  tm_tensor.scan dimension(0) inclusive(true) ins(%x : memref<4xf32>) outs(%y, %s : memref<4xf32>, memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tm_tensor.yield %c : f32
  }
  return
}
"""


def test_passes_on_what_their_program_does_not_read_end_what_is_saved_for_programs(tmp_path):
    loops = "torch-mlir-opt --pass-pipeline=builtin.module(func.func(tm-tensor-to-loops))"
    low = irwidget.lower(SCAN, to="raw_ir", pipeline=f"mlir-opt --cse | {loops} | mlir-opt --symbol-dce")
    said = []
    for dump in (0, -2):
        low.edit(dump).save(tmp_path)
        said.append((tmp_path / "tools.sh").read_text().splitlines()[3:])
    why = "mlir-opt does not read tm_tensor, whose operations are here"
    assert said == [
        [f"# mlir-opt '--pass-pipeline=builtin.module(cse)': {why}; run.sh does", "exit 1"],
        ["mlir-opt --pass-pipeline='builtin.module(symbol-dce)' edited.mlir -o 1.mlir"],
    ]


def test_all_of_what_runs_is_said_at_once(linalg):
    start = linalg.edit(len(linalg.dumps) - 4)
    names = [one.name for one in start.passes]
    assert names == [
        "canonicalize", "torch-finalizing-backend-type-conversion", "torch-verify-linalg-on-tensors-backend-contract"
    ]  # fmt: skip
    assert start.passes[0].options["max-iterations"] == "10"
    other = start.arranged([(1, {}), (0, {"max-iterations": "1"})])
    assert other.says == f"without {names[2]}; canonicalize with max-iterations=1"
    made = other.run()
    assert [dump.name for dump in made.dumps[1:]] == [names[1], names[0]]
    assert "max-iterations=1 " in f"{made.dumps[2].options} "
    assert start.arranged([(1, {}), (0, {}), (2, {})]).says == "passes in another order"
    assert start.arranged([(0, {}), (1, {}), (2, {})]).steps == start.steps
    moved = [start.moved(names[0], before=names[2]), start.moved(names[1], before=names[0]), start.moved(names[0])]
    orders = [[names.index(one.name) for one in each.passes] for each in moved]
    assert orders == [[1, 0, 2], [1, 0, 2], [1, 2, 0]]
    with pytest.raises(UsageError, match="no-such-pass"):
        start.inserted("mlir-opt --no-such-pass")
    for order, says in (
        ([(0, {}), (0, {})], "each at most once"),
        ([(3, {})], "each at most once"),
        ([(-1, {})], "each at most once"),
        ([(0, {"max-iterations": "many"})], "max-iterations wants a whole number, not 'many'"),
        ([(0, {"max-itertions": "1"})], "Did you mean max-iterations"),
        ([(1, {"a": "1"})], "It has none"),
    ):
        with pytest.raises(UsageError, match=says):
            start.arranged(order)


def planned(name, options="", of=0, index=1):
    return Planned(name, Step("mlir-opt", f"builtin.module(func.func({name}{options}))"), of, index)


def test_options_of_a_pass_that_can_be_changed():
    one = planned("inline", "{top-down=true max-iterations=3 plugin-path=/tmp/x default-pipeline=cse}")
    assert one.options == {"top-down": "true", "max-iterations": "3"}, "none that names a file or other passes"
    changed = one.changed({"top-down": False, "max-iterations": 12})
    assert changed.step.arguments == (
        "builtin.module(func.func(inline{top-down=false max-iterations=12 plugin-path=/tmp/x default-pipeline=cse}))"
    )
    with pytest.raises(UsageError, match="inline has no option 'plugin-path' to set here"):
        one.changed({"plugin-path": "/tmp/y"})


def test_what_is_other_in_some_passes_is_said_in_short():
    whole = [planned(name, "{a=1 b=2}", index=i) for i, name in enumerate("pqrs", 1)]
    own = [planned(name, of=-1, index=-1) for name in "xy"]
    said = [
        passes.difference(some, whole)
        for some in (
            whole, whole[3:], whole[2:] + own, [], [whole[1], whole[0], *whole[2:]],
            [whole[0].changed({"b": 3}), *whole[1:]], [whole[1].changed({"a": 0, "b": 5}), own[0]],
        )
    ]  # fmt: skip
    assert said == [
        "", "without p, q, r", "without p, q; with x, y", "without 4 passes", "passes in another order",
        "p with b=3", "without p, r, s; with x; q with a=0 b=5",
    ]  # fmt: skip


def test_passes_are_taken_apart_where_another_program_has_them():
    parts = [("mlir-opt", "x{a=b,c}"), ("torch-mlir-opt", "torch-y"), ("mlir-opt", "func.func(z{d=e,f})")]
    whole = Step("mlir-opt", f"builtin.module({','.join(text for _, text in parts)})")
    assert stock.programs([whole]) == tuple(Step(tool, f"builtin.module({text})") for tool, text in parts)
    own = Step("torch-mlir-opt", "--cse --torch-y")
    assert stock.programs([own]) == (own,)


PROGRAM = """
import sys
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
sys.path.insert(0, {root!r})
from tests.triton.kernels import add_kernel
names = {{"a_ptr": "*fp32", "b_ptr": "*fp32", "sum_ptr": "*fp32", "length": "i32", "BLOCK": "constexpr"}}
made = compile(ASTSource(add_kernel, signature=names, constexprs={{(4,): 128}}), target=GPUTarget("cuda", 80, 32))
print([op for op in ("add.f32", "sub.f32") if op in made.asm["ptx"].replace(".rn", "")])
"""


def test_triton_itself_compiles_what_was_edited(tmp_path):
    pytest.importorskip("triton")
    from tests.triton.kernels import add_kernel

    low = irwidget.lower(add_kernel, "*fp32", "*fp32", "*fp32", "i32", 128, to="triton_gpu_ir", arch="sm_80")
    text = low.text.replace("arith.addf", "arith.subf")
    changed = low.edit(-1, text).run()
    about = ("arch", "grid", "signature", "specialization", "launched_at")
    assert [changed.trace.facts[name] for name in about] == [low.trace.facts[name] for name in about]
    low.edit(-1, text).save(tmp_path)
    assert (tmp_path / "add_kernel.ttgir").read_text() == text
    root = str(Path(__file__).parents[2])
    (tmp_path / "program.py").write_text(PROGRAM.format(root=root))
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TRITON_CACHE_DIR": str(tmp_path / "cache"),
    }
    ran = subprocess.run(
        ["sh", "override.sh", "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    said = [line for line in ran.stdout.splitlines() if line.startswith("[")]
    assert said == ["['add.f32']", "['sub.f32']"]
    middle = next(i for i, dump in enumerate(low.dumps) if dump.name == "tritongpu-coalesce")
    low.edit(middle).save(tmp_path / "middle")
    low.edit(max(i for i, dump in enumerate(low.dumps) if dump.step == 0)).save(tmp_path / "first")
    assert (tmp_path / "first/add_kernel.ttir").exists(), "of each stage"
    assert not (tmp_path / "middle/override.sh").exists(), "Triton takes what a stage ends with, nothing in between"


def test_a_step_that_cannot_be_begun_in_its_middle_is_named():
    pytest.importorskip("triton")
    from tests.triton.kernels import add_kernel

    low = irwidget.lower(add_kernel, "*fp32", "*fp32", "*fp32", "i32", 128, to="triton_nvptx", arch="sm_80")
    middle = next(i for i, dump in enumerate(low.dumps) if dump.name == "convert-triton-gpu-to-llvm")
    with pytest.raises(UsageError, match=rf"Dump {middle} is in the middle of llir.* Edit dump \d+ \(canonicalize\)"):
        low.edit(middle)
    end = max(i for i, dump in enumerate(low.dumps) if str(low.trace.steps[dump.step]) == "ttgir")
    for later in ("translate-to-llvm-ir", "optimize-module", "translate-to-asm"):
        said = rf"Nothing goes on from dump \d+ \({later}\): stages of Triton begin .* Edit dump {end} \(canonicalize\)"
        with pytest.raises(UsageError, match=said):
            low.edit(next(i for i, dump in enumerate(low.dumps) if dump.name == later))
    once, again = (low.edit(0).run() for _ in range(2))
    assert [dump.text for dump in once.dumps] == [dump.text for dump in again.dumps]
    assert '.file\t1 "irwidget-input.mlir"' in once.text, "and no folder of ours, another one in each run"
    assert once.text != low.text
    compared = irwidget.compare(low, once)
    assert {pair.state for pair in compared.passes} == {"same"}, "also where only debug information is another"
    assert "results are the same; the lines that debug information names are not compared" in compared.summary
    lines, operations = (compared.costs[name] for name in ("lines", "operations"))
    assert lines[0] == lines[1] < len(once.text.splitlines())
    assert operations[0] == operations[1]
    assert {place.file for dump in once.dumps[1:] for place in dump.locations or () if place} == {"irwidget-input.mlir"}
    ttgir = irwidget.lower(add_kernel, "*fp32", "*fp32", "*fp32", "i32", 128, to="triton_gpu_ir", arch="sm_80")
    for start in (2, 12, 30):
        compared = irwidget.compare(ttgir, ttgir.edit(start).run())
        assert [(pair.left, pair.right, pair.state) for pair in compared.passes] == [
            (i, i - start, "same") for i in range(start, len(ttgir.dumps))
        ]
    sass = irwidget.lower(add_kernel, "*fp32", "*fp32", "*fp32", "i32", 128, to="triton_sass", arch="sm_80")
    assert irwidget.compare(sass, sass.edit(0).run()).tools == {}, "ptxas made both"


def test_what_is_saved_runs_by_itself(linalg, tmp_path):
    experiment = linalg.edit(10).without("cse")
    elided = replace(experiment, options=replace(experiment.options, elide=True))
    assert (experiment.switches, elided.switches) == (["--no-elide"], [])
    text = experiment.save(tmp_path)
    assert text.read_text() == linalg.dumps[10].text
    assert runs_alone(tmp_path) == experiment.run().text
    low = irwidget.lower(nn.Sigmoid(), torch.ones(3), to="nvptx", arch="sm_80")
    experiment = low.edit(next(i for i, dump in enumerate(low.dumps) if dump.language == "llvm"))
    assert "rename-libm" in experiment.pipeline
    experiment.save(tmp_path)
    assert runs_alone(tmp_path) == experiment.run().text


def runs_alone(folder):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    alone = (folder / "run.sh").read_text().rstrip() + " -o end\n"
    subprocess.run(["sh", "-c", alone, folder / "run.sh"], check=True, env={**os.environ, "PATH": path})
    return (folder / "end").read_text()


def test_from_the_last_dump_before_a_failure_what_would_have_run_goes_on():
    contract = "torch-verify-linalg-on-tensors-backend-contract"
    text = "func.func @f(%a: i32) -> i32 {\n  %0 = llvm.add %a, %a : i32\n  return %0 : i32\n}"
    with pytest.raises(PassError) as raised:
        irwidget.lower(text, to="raw_ir", pipeline=f"torch-mlir-opt --cse --{contract} --canonicalize")
    failed = raised.value.lowering
    assert [dump.name for dump in failed.dumps] == ["input", "cse"]
    assert [(one.name, one.index) for one in failed.edit(0).passes] == [
        ("cse", 1),
        (contract, -1),
        ("canonicalize", -1),
    ]
    experiment = failed.edit(-1, text.replace("llvm.add", "arith.addi"))
    assert [dump.name for dump in experiment.run().dumps[1:]] == [contract, "canonicalize"]
    with pytest.raises(UsageError, match="No pass -1 comes after the edited dump"):
        experiment.inserted("mlir-opt --cse").without(-1)


def test_of_passes_that_one_side_runs_those_right_before_the_difference_are_named():
    text = (
        "func.func @f(%a: i32) -> i32 {\n  %c = arith.constant 1 : i32\n  %d = arith.addi %c, %c : i32\n"
        "  %e = arith.muli %a, %d : i32\n  return %e : i32\n}"
    )
    left, right = (
        irwidget.lower(text, to="raw_ir", pipeline=f"mlir-opt {passes}")
        for passes in ("--sccp --canonicalize --symbol-dce --convert-arith-to-llvm --cse", "--canonicalize --cse")
    )
    compared = irwidget.compare(left, right)
    assert [(pair.name, pair.state) for pair in compared.passes] == [
        ("input", "same"), ("sccp", "only left"), ("canonicalize", "same"), ("symbol-dce", "only left"),
        ("convert-arith-to-llvm", "only left"), ("cse", "differs"),
    ]  # fmt: skip
    assert [pair.name for pair in compared.inserted] == ["convert-arith-to-llvm"], "symbol-dce changed nothing"


def test_passes_of_torch_mlir_are_its_own_programs_to_run(low, tmp_path):
    (number,) = (i for i, step in enumerate(low.trace.steps) if step.name == "linalg-to-loops")
    at = min(i for i, dump in enumerate(low.dumps) if dump.step == number) - 1
    whole = low.trace.steps[number]
    programs = stock.programs([whole])
    own = ("torch", "refback", "tm-tensor")
    for step in programs:
        names = re.findall(r"(?<=[,(])[\w-]+(?=[,{)])", step.arguments)
        assert {name.startswith(own) for name in names} == {step.tool == "torch-mlir-opt"}, step
    assert len(programs) == 6
    again = irwidget.lower(low.dumps[at].text, to="raw_ir", pipeline=pipelines.text(programs))
    last = [dump for dump in low.dumps if dump.step == number][-1].text
    assert again.text.partition("{-#")[0] == last.partition("{-#")[0]  # resources are in any order
    flags = Step("mlir-opt", "--cse --refback-munge-memref-copy --canonicalize=top-down=false", "x")
    assert [str(step.command) for step in stock.programs([flags])] == [
        "mlir-opt --cse", "torch-mlir-opt --refback-munge-memref-copy", "mlir-opt --canonicalize=top-down=false"
    ]  # fmt: skip
    allowed = Step("mlir-opt", "--allow-unregistered-dialect --cse --refback-munge-memref-copy")
    assert [step.arguments for step in stock.programs([allowed])] == [
        "--allow-unregistered-dialect --cse", "--allow-unregistered-dialect --refback-munge-memref-copy"
    ]  # fmt: skip
    assert stock.programs([*(plain := [Step("mlir-opt", "--cse"), Step("opt", "-O2")])]) == tuple(plain)
    low.edit(at).save(tmp_path)
    said = (tmp_path / "tools.sh").read_text().splitlines()
    commands = [line.split()[0] for line in said[3:] if line[:1] != "#"]
    assert commands[:4] == [step.tool for step in programs[:4]]
    assert f"torch-mlir {low.tools['torch-mlir']}" in said[1]


@pytest.mark.external
@pytest.mark.skipif(isinstance(external.find("mlir-opt"), str), reason="mlir-22-tools not installed")
def test_a_command_is_as_the_stock_program_takes_it(low, tmp_path):
    def taken(options):
        pipeline = f"builtin.module(cse,any(canonicalize{{{options}}}))"
        step, said = stock.taken(Step("mlir-opt", f"--pass-pipeline='{pipeline}'"))
        return step.tool, re.search(r"canonicalize\{(.*?)\}", step.arguments)[1], said

    name = f"mlir-opt {external.find('mlir-opt').version}"
    lacks = (
        f"{name} has no option cse-between-iterations of canonicalize: left out here, where it stands at its default; "
        f"what {name} does without it is not checked"
    )
    tool, options, said = taken("cse-between-iterations=false top-down=false")
    assert (tool, options, said) == ("mlir-opt", "top-down=false", [lacks])
    tool, options, said = taken("cse-between-iterations=true top-down=false")
    assert (tool, options) == ("torch-mlir-opt", "cse-between-iterations=true top-down=false")
    assert re.search("refuses this: .*no such option.*torch-mlir-opt has the passes that ran", said[0])
    assert taken("top-down=false") == ("mlir-opt", "top-down=false", [])
    step = Step("mlir-opt", "--no-such-pass")
    assert stock.taken(step)[0] == step
    assert "Unknown command line argument '--no-such-pass'" in stock.taken(step)[1][0]
    low.edit(next(i for i, dump in enumerate(low.dumps) if dump.name == "convert-scf-to-cf")).save(tmp_path)
    folders = [os.path.dirname(external.find(name).path) for name in ("mlir-opt", "torch-mlir-opt")]
    environment = {**os.environ, "PATH": os.pathsep.join([*folders, os.environ["PATH"]])}
    ran = subprocess.run(["sh", tmp_path / "tools.sh"], capture_output=True, text=True, env=environment)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_difference_that_passes_undo_is_told_beside_the_one_that_stays():
    before = (
        "func.func private @one(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n"
        "func.func @f(%a: i32) -> i32 {\n  %0 = call @one(%a) : (i32) -> i32\n  return %0 : i32\n}"
    )
    sides = [
        irwidget.lower(text, to="raw_ir", pipeline=f"mlir-opt --inline{more} --cse")
        for text in (before, before.replace("@one", "@other"))
        for more in ("", " --convert-arith-to-llvm")
    ]
    undone, stays = (irwidget.compare(sides[0], sides[i]) for i in (2, 3))
    assert undone.summary == (
        "they start differently; the same again after inline (dumps 1 and 1); the results are the same"
    )
    assert (undone.again.name, undone.last, undone.first.name) == ("inline", None, "input")
    assert stays.summary == (
        "they start differently; the same again after inline (dumps 1 and 1); last begin to differ after cse "
        "(dumps 2 and 3), after convert-arith-to-llvm (only right); 0 passes only left, 1 only right; "
        "the results differ"
    )
    for said in (str(stays), stays._repr_mimebundle_()[0]["text/html"]):
        assert "call @other(%arg0)" in said
        assert "llvm.add %arg0, %arg0" in said
    assert irwidget.compare(sides[0], sides[1]).again is None


def test_passes_that_are_shown_where_they_change_something_are_not_said_to_run_on_one_side_only():
    sides = [
        irwidget.lower(LLVM.replace("add i32 %x, 0", line), to="raw_ir", pipeline="opt -O2 -print-changed")
        for line in ("add i32 %x, 0", "mul i32 %x, %b")
    ]
    found = irwidget.compare(*sides)
    assert "only left" in {pair.state for pair in found.passes}
    assert found.summary.endswith("a pass of only one side may have run in the other and changed nothing")
    with pytest.raises(irwidget.PassError, match="does not parse") as raised:
        irwidget.lower(LLVM.replace("sub i32 %a", "sub i32 %zz"), to="raw_ir", pipeline="opt -O2 -print-changed")
    failure = raised.value.lowering.failure
    assert (failure.pass_name, failure.tool, failure.diagnostics[0].location.line) == ("parse", "opt", 2)


def test_the_first_diverging_pass_is_found_apart_from_names():
    before = (
        "func.func @f(%a: i32, %b: i32) -> i32 {{\n  %x = arith.{} %a, %b : i32\n"
        "  %y = arith.muli %x, %x : i32\n  return %y : i32\n}}"
    )
    run = "mlir-opt --cse --canonicalize --convert-arith-to-llvm"
    left = irwidget.lower(before.format("addi"), to="raw_ir", pipeline=run)
    renamed = before.format("addi").replace("%x", "%other").replace("%a", "%left")
    same = irwidget.compare(left, irwidget.lower(renamed, to="raw_ir", pipeline=run))
    assert same.first is None
    assert same.summary == "the same after the 3 passes that both run; the results are the same"
    swapped = irwidget.lower(before.format("addi").replace("%a, %b :", "%b, %a :"), to="raw_ir", pipeline=run)
    assert irwidget.compare(left, swapped).summary == "they start differently; the results differ"
    other = irwidget.lower(
        before.format("addi"),
        to="raw_ir",
        pipeline="mlir-opt --cse --int-range-optimizations --convert-arith-to-llvm=index-bitwidth=32",
    )
    found = irwidget.compare(left, other)
    assert [(pair.name, pair.left, pair.right, pair.state) for pair in found.passes] == [
        ("input", 0, 0, "same"),
        ("cse", 1, 1, "same"),
        ("canonicalize", 2, None, "only left"),
        ("int-range-optimizations", None, 2, "only right"),
        ("convert-arith-to-llvm", 3, 3, "same"),
    ]


def test_a_comparison_shows_the_first_difference(linalg):
    at = next(i for i, dump in enumerate(linalg.dumps) if dump.name == "convert-torch-to-linalg")
    without = linalg.edit(at).without(at + 1).run()
    comparison = irwidget.compare(linalg, without)
    first = comparison.first
    shown = comparison._repr_mimebundle_()
    data = shown[0] if isinstance(shown, tuple) else shown
    assert data["text/plain"] == str(comparison)
    assert f"{comparison.summary}" in str(comparison)
    assert first is not None
    assert (first.name, first.left - at, first.right) == ("convert-torch-to-scf", 2, 1)
    page = comparison.to_html()
    state = json.loads(page.partition('<script type="application/json">')[2].partition("</script>")[0])
    assert [state[name] for name in ("trace", "against", "left", "right")] == [0, 1, first.left, first.right]


def test_values_that_texts_leave_out_are_not_called_the_same():
    models = [nn.Linear(64, 64), nn.Linear(64, 64)]
    with torch.no_grad():
        models[1].weight.copy_(models[0].weight + 1)
        models[1].bias.copy_(models[0].bias)
    targets = ["linalg_on_tensors_mlir", "tosa_mlir", "nvptx"]
    left, right = (irwidget.lower(model, torch.ones(2, 64), to=targets) for model in models)
    ours, theirs, again = (
        irwidget.lower(model, torch.ones(2, 64), to=targets, elide=False) for model in (*models, models[0])
    )
    for to in targets:
        comparison = irwidget.compare(left[to], right[to])
        assert comparison.ends_the_same is None
        assert comparison.summary.endswith("are not compared; values that texts leave out are not compared")
        assert irwidget.compare(ours[to], theirs[to]).ends_the_same is False
        assert irwidget.compare(ours[to], again[to]).ends_the_same is True


def test_dumps_that_tools_go_on_from_can_be_edited_those_before_objects_not():
    pytest.importorskip("helion")
    from tests.helion import kernels_pointwise as pw

    low = irwidget.lower(pw.add, torch.randn(8), torch.randn(8), to="helion_mlir")
    names = [dump.name for dump in low.dumps]
    first = names.index("import")
    said = r"Nothing goes on from dump 0 \(device-ir\): no tool here runs normalise nodes on text. Dumps from 2 "
    with pytest.raises(UsageError, match=said):
        low.edit(0)
    again = low.edit(first + 1).run()
    assert again.name.endswith(": without readable names")
    assert [dump.text for dump in again.dumps] == [dump.text for dump in low.dumps[first + 1 : -1]]
    assert [pair.state for pair in irwidget.compare(low, again).passes[-2:]] == ["same", "only left"]
    last = low.edit(-1).run()
    assert irwidget.compare(low, last).summary.endswith("; the results are the same"), "as its parser writes it or not"
    assert low.edit(-1, low.text.replace("arith.addf", "arith.mulf")).run().text != low.text


def test_a_lowering_that_kept_its_last_dump_only_goes_on_with_all_its_steps(tmp_path):
    """Steps without a dump were left out, and what the other side ran was said to be only there."""
    x = torch.ones(2, 4)
    every, last = (irwidget.lower(nn.ReLU(), x, to="llvm_ir", dumps=dumps) for dumps in (True, False))
    assert irwidget.compare(last, last.edit(0).run()).ends_the_same
    assert [one.step for one in last.edit(0).passes] == list(last.steps)
    found, other = irwidget.compare(every, last), irwidget.compare(last, every)
    count = len(every.dumps) - 2
    assert found.summary == (
        "the same after 1 pass; the right one kept only its last dump (dumps=False), beside "
        f"{count} passes of the left one; the results are the same"
    )
    assert "the left one kept only its last dump" in other.summary
    assert {pair.state for pair in (*found.passes, *other.passes)} == {"same", "not compared"}
    loaded = irwidget.load(last.save(tmp_path / "last.irtrace"))
    assert [one.step for one in loaded.edit(0).passes] == list(last.steps)
    assert irwidget.compare(every, loaded).summary == found.summary
    assert [str(one) for one in (last, loaded)] == [str(last)] * 2
    remark = "remark: dumps=False kept no dump but the input and the last: what changes between them is the work of all"
    for view in (fallbacks.text, fallbacks.html):
        assert remark in view([loaded.trace])
    assert [str(one).startswith(remark) for one in loaded.diagnostics] == [True]
    assert remark not in fallbacks.text([every.trace])


def test_what_no_experiment_can_be_asked_for(linalg):
    changed = linalg.edit(0)
    options = [(place, dict.fromkeys(one.options, 1)) for place, one in enumerate(changed.passes)]
    place = next(i for i, one in enumerate(changed.passes) if "max-iterations" in one.options)
    assert changed.arranged([(place, {"max-iterations": 3})]).passes[0].options["max-iterations"] == "3"
    for wrong in ("abc", [0, 1], 5, [(0.5, {})], [(0, 3)]):
        with pytest.raises(UsageError, match="arranged takes a list of positions with options"):
            changed.arranged(wrong)
    with pytest.raises(UsageError, match="wants true or false, not '1'"):
        changed.arranged(options)
    for change in (changed.inserted, lambda what: changed.replaced(1, what)):
        with pytest.raises(UsageError, match="A pipeline is a text, as in 'mlir-opt --cse', not 5"):
            change(5)
    for limit in (0, -1, "x", True):
        with pytest.raises(UsageError, match="a limit is a number of seconds above 0"):
            changed.run(timeout=limit)
