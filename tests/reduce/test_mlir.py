"""The smallest MLIR that still fails: what is left is well-formed, fails in the same way, and is small."""

import random
import re
from dataclasses import replace

import pytest
import torch
from torch import nn

import irwidget
from irwidget import IRWidgetError, UsageError, pipelines
from irwidget.reducing import mlir, splats
from irwidget.reducing.engine import Plain
from irwidget.reducing.failing import kind_of
from irwidget.reducing.operations import ModuleText
from irwidget.reducing.reduce import runs
from irwidget.toolchain import external, generic_form
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step
from irwidget.views.reducing import Reductions

TO_LLVM = (
    "mlir-opt --canonicalize --convert-scf-to-cf --convert-cf-to-llvm --convert-arith-to-llvm --convert-func-to-llvm"
)
TRANSLATED = f"{TO_LLVM} | mlir-translate --mlir-to-llvmir"


def chain(count, middle, kind="f32"):
    """A function of `count` additions with an operation in the middle."""
    names = ["%a", *(f"%x{i}" for i in range(count))]
    lines = [f"  %x{i} = arith.addf {names[i]}, %b : {kind}" for i in range(count)]
    lines.insert(count // 2, f"  {middle}")
    body = "\n".join(lines)
    return (
        f"func.func @f(%a: {kind}, %b: {kind}) -> ({kind}, {kind}) {{\n{body}\n"
        f"  return %e, {names[-1]} : {kind}, {kind}\n}}\n"
        "func.func @other(%a: i32) -> i32 {\n  return %a : i32\n}"
    )


NESTED = """\
func.func private @show(f32)
func.func @f(%n: index, %x: memref<8xf32>, %c: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z, %t = %z) -> (f32, f32) {
    %v = memref.load %x[%i] : memref<8xf32>
    %w = scf.if %c -> f32 {
      %q = math.erf %v : f32
      func.call @show(%q) : (f32) -> ()
      scf.yield %q : f32
    } else {
      scf.yield %z : f32
    }
    %u = arith.addf %s, %w : f32
    scf.yield %u, %v : f32, f32
  }
  cf.cond_br %c, ^bb1(%r#0 : f32), ^bb2
^bb1(%p: f32):
  return %p : f32
^bb2:
  %k = arith.mulf %r#1, %r#0 : f32
  return %k : f32
}
"""
BIG = (
    "func.func @f(%a: i32, %b: i32) -> i32 {\n"
    + "".join(f"  %x{i} = arith.addi %{'a' if i == 0 else f'x{i - 1}'}, %b : i32\n" for i in range(300))
    + "  %y = arith.divsi %x150, %b : i32\n  %z = arith.xori %y, %x299 : i32\n  return %z : i32\n}"
)


class Transform(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(8, 8), nn.GELU())))

    def forward(self, x):
        return torch.fft.fft(self.layers(x)).real


FAILURES = {
    "an op without translation": (lambda: raw(chain(200, "%e = math.erf %x0 : f32"), TRANSLATED), "math.erf", 3),
    "in a loop": (lambda: raw(NESTED, TRANSLATED), "math.erf", 8),
    "fft": (lambda: transformed(), "torch.constant.int", 5),
}  # fmt: skip


def transformed():
    """torch-mlir's own way with a Fourier transform; a lowering of the model goes by its parts."""
    imported = irwidget.lower(Transform().eval(), torch.randn(8, 8), to="torch_mlir", elide=False).dumps[0].text
    steps = irwidget.targets()["linalg_on_tensors_mlir"].steps
    return raw(imported, " | ".join(f"torch-mlir-opt --pass-pipeline='{step.arguments}'" for step in steps))


def raw(text, pipeline):
    return irwidget.lower(text, to="raw_ir", pipeline=pipeline)


def failed(make):
    with pytest.raises(IRWidgetError) as raised:
        make()
    return raised.value.lowering


def generic(text):
    made = Source(text, "mlir").run((generic_form.step(()),))
    assert made.failure is None
    return made.dumps[-1].text


@pytest.mark.parametrize("name", FAILURES)
def test_what_is_left_fails_in_the_same_way_and_is_small(name):
    make, operation, most = FAILURES[name]
    low = failed(make)
    reduced = low.reduce()
    assert reduced.failure == kind_of(low.failure)
    assert operation in str(reduced.failure)
    assert reduced.complete
    assert reduced.operations <= most < reduced.before
    again = failed(lambda: irwidget.lower(reduced.text, to="raw_ir", pipeline=reduced.pipeline))
    assert kind_of(low.failure).includes(kind_of(again.failure))
    assert reduced.text.rstrip() in reduced.report
    assert f"Reduced from {reduced.before} operations to {reduced.operations}." in reduced.report


UNVERIFIED = """\
func.func @f(%x: !torch.vtensor<[1,2,3],f32>) -> !torch.vtensor<[1,2,3,4],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %0 = torch.aten.tanh %x : !torch.vtensor<[1,2,3],f32> -> !torch.vtensor<[1,2,3],f32>
  %1 = torch.prim.ListConstruct %int1, %int2, %int0 : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %2 = torch.aten.permute %0, %1 : !torch.vtensor<[1,2,3],f32>, !torch.list<int> -> !torch.vtensor<[1,2,3,4],f32>
  return %2 : !torch.vtensor<[1,2,3,4],f32>
}
"""


@pytest.mark.parametrize("tool", ["mlir-opt", "torch-mlir-opt"])
def test_what_the_verifier_refuses_is_taken_apart_as_operations(tool):
    low = failed(lambda: raw(UNVERIFIED, f"{tool} --cse"))
    reduced = low.reduce()
    assert "'torch.aten.permute' op expected input and output tensors to have same rank, but 3 != 4" in reduced.message
    assert (reduced.language, reduced.before, reduced.operations, reduced.complete) == ("mlir", 8, 4, True)
    assert "torch.constant.int" not in reduced.text
    again = failed(lambda: raw(reduced.text, reduced.pipeline))
    assert kind_of(low.failure).includes(kind_of(again.failure))


@pytest.mark.parametrize("tool", ["mlir-opt", pytest.param("mlir-opt ", marks=pytest.mark.external)])
def test_operations_of_unknown_dialects_are_taken_apart_where_they_are_allowed(tool):
    sums = "".join(f"  %s{i + 1} = arith.addi %s{i}, %b : i32\n" for i in range(20))
    text = f"""func.func @f(%s0: i32, %b: i32) -> i32 {{
      {sums} "foo.x"(%s7) ({{\n  "foo.y"(%s8) : (i32) -> ()\n }}) : (i32) -> ()
      return %s20 : i32\n}}"""
    pipeline = f"{tool} --allow-unregistered-dialect --cse --llvm-target-to-data-layout"
    low = failed(lambda: irwidget.lower(text, to="raw_ir", pipeline=pipeline, external=tool.endswith(" ")))
    found = low.reduce()
    assert (found.language, found.before, found.complete) == ("mlir", 24, True)
    assert found.operations == 2
    assert "--allow-unregistered-dialect" in found.command


def test_the_pass_alone_needs_less():
    low = failed(FAILURES["fft"][0])
    alone = low.reduce(alone=True)
    assert (alone.operations, [step.tool for step in alone.steps]) == (3, ["torch-mlir-opt"])
    assert "torch-finalizing-backend-type-conversion" in alone.pipeline


def test_a_predicate_says_what_is_looked_for():
    low = raw(BIG, "mlir-opt --canonicalize --cse")
    reduced = low.reduce(lambda text: "arith.divsi" in text)
    assert reduced.failure is None
    assert reduced.before == 304
    assert reduced.operations <= 3
    assert "arith.divsi" in reduced.text
    with pytest.raises(UsageError, match="The predicate does not hold"):
        low.reduce(lambda text: "arith.remsi" in text)
    with pytest.raises(UsageError, match="This lowering is complete: say what is wrong with it"):
        low.reduce()


def test_values_that_the_first_dump_leaves_out_are_others_where_a_pass_needs_values():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 40), nn.Tanh()).eval()
    low = irwidget.lower(model, torch.randn(2, 40), to="llvm_ir")
    assert "dense_resource<" in low.dumps[0].text
    reduced = low.reduce(lambda text: "fadd" in text)
    assert reduced.complete
    assert reduced.operations < reduced.before
    again = raw(reduced.text, reduced.pipeline)
    assert "fadd" in again.text
    assert "dense_resource<" not in reduced.text


@pytest.mark.parametrize(("text", "filled"), [
    ("dense_resource<w> : tensor<2x3xf32>", "dense<5.000000e-01> : tensor<2x3xf32>"),
    ("dense_resource<w> : tensor<si64>", "dense<1> : tensor<si64>"),
    ("dense_resource<w> : vector<2xi1>", "dense<true> : vector<2xi1>"),
    ("dense_resource<w> : tensor<2x!quant>", "dense_resource<w> : tensor<2x!quant>"),
    ('dense_resource<w> : tensor<2xi8> {-# w: "0x" #-}', 'dense_resource<w> : tensor<2xi8> {-# w: "0x" #-}'),
])  # fmt: skip
def test_what_stands_for_values_that_a_text_leaves_out(text, filled):
    assert splats.filled(text) == filled


def test_what_a_predicate_raises_of_a_candidate_is_told_and_ends_nothing():
    low = raw(BIG, "mlir-opt --canonicalize --cse")
    reduced = low.reduce(lambda text: text.split("arith.divsi")[1] != "")
    assert "arith.divsi" in reduced.text
    assert reduced.operations <= 3
    assert {type(error) for error in reduced.raised} == {IndexError}
    assert len(reduced.raised) <= reduced.tried
    said = "of which the predicate raised an error (IndexError: list index out of range)"
    assert f"Not taken: {len(reduced.raised)} candidates {said}" in reduced.report
    with pytest.raises(ZeroDivisionError):  # of the program itself, the user's own error
        low.reduce(lambda text: 1 / 0)


@pytest.mark.parametrize(
    ("predicate", "how", "said"),
    [
        ("arith.divsi", {}, r"A predicate is a function of a text, as in lambda text: 'arith.divsi' in text, not"),
        (bool, {"alone": True}, "alone=True is of the pass that failed"),
        (bool, {"seconds": -1}, "a limit is a number of seconds above 0, not -1"),
        (bool, {"seconds": "5"}, "a limit is a number of seconds above 0, not '5'"),
        (bool, {"seconds": float("nan")}, "a limit is a number of seconds above 0, not nan"),
    ],
)
def test_what_no_reduction_can_be_asked_for(predicate, how, said):
    low = raw("func.func @f() {\n  return\n}", "mlir-opt --cse")
    with pytest.raises(UsageError, match=said):
        low.reduce(predicate, **how)


def test_a_function_that_is_called_shrinks_too():
    sums = "".join(f"  %x{i} = arith.addf %{f'x{i - 1}' if i else 'a'}, %b : f32\n" for i in range(9))
    called = f"func.func @f(%a: f32, %b: f32) -> f32 {{\n{sums}  %e = math.erf %x8 : f32\n  return %e : f32\n}}\n"
    calls = (
        "func.func @g(%a: f32, %b: f32) -> f32 {\n  %0 = call @f(%a, %b) : (f32, f32) -> f32\n  return %0 : f32\n}\n"
    )
    reduced = raw(called + calls, "mlir-opt --canonicalize").reduce(
        lambda text: "math.erf" in text and "call @f" in text
    )
    assert reduced.before == 15
    assert reduced.operations == 6
    assert "addf" not in reduced.text


def test_what_no_tool_runs_on_text_is_not_offered_as_ir():
    """As what torch.compile and Spyre's compiler do: of their steps only those of a custom pipeline can run again."""
    low = failed(lambda: raw(chain(3, "%e = math.erf %x0 : f32"), TRANSLATED))
    trace, failure = low.trace, low.trace.failure
    first, last, alone = trace.dumps[0].text, trace.dumps[-1].text, pipelines.parse(failure.reproducer)

    def offered(steps, **said):
        low.trace = replace(trace, steps=steps, failure=replace(failure, **said))
        (can,) = Reductions(None, lambda: [low]).possible()
        found = [(text(), steps) for text, steps in runs(low.trace)]
        assert can == {"trace": 0, "ir": bool(found), "program": False}
        return found

    own = (Step("torch.compile", "Dynamo"),)
    assert offered(trace.steps) == [(first, trace.steps), (last, alone)]
    assert offered((*own, *alone), step=1, reproducer="ptxas -v input.ptx") == [(last, alone)]
    assert offered((*own, *alone), step=1, reproducer="") == [(last, alone)]
    assert offered(own, step=0, reproducer="", pass_name="Dynamo") == []
    with pytest.raises(UsageError, match=r"Dynamo starts from no IR: low.reduce\(program=True\) makes the program"):
        low.reduce()
    with pytest.raises(UsageError, match=r"This lowering starts from no IR: low.reduce\(predicate, program=True\)"):
        low.reduce(lambda text: True)


def test_it_stops_in_time_with_the_best_so_far():
    low = failed(FAILURES["an op without translation"][0])
    seen = []
    stopped = low.reduce(seconds=0.0)
    assert (stopped.complete, stopped.operations) == (False, stopped.before)
    assert "stopped before nothing more could be taken out" in stopped.report

    def interrupt(best):
        seen.append(best.operations)
        raise KeyboardInterrupt

    best = low.reduce(progress=interrupt)
    assert (best.complete, [best.operations]) == (False, seen)
    assert best.operations < best.before


@pytest.mark.parametrize(
    "text", [NESTED, chain(8, "%e = math.erf %x0 : f32"), "llvm", "linalg"], ids=["nested", "chain", "llvm", "linalg"]
)
def test_whatever_is_taken_out_what_is_left_is_well_formed(text):
    if text == "llvm":
        text = raw(chain(5, "%e = arith.negf %x0 : f32"), TO_LLVM).text
    if text == "linalg":
        model = nn.Sequential(nn.Linear(4, 4), nn.Softmax(-1))
        text = irwidget.lower(model, torch.ones(2, 4), to="linalg_on_tensors_mlir").text
    whole = generic(text)
    module = ModuleText(whole)
    assert generic(module.without(())) == whole
    draw = random.Random(0)
    top = [one for one in module.removable() if one.parent in module.functions]
    removable = [one for one in module.removable() if one is not module.operations[0].children[-1]]  # a module has one
    places = [one.start for one in (top if "linalg." in text else removable)]  # a named op checks its body
    options = Options(dumps=False)
    for _ in range(40):
        taken = draw.sample(places, draw.randint(1, len(places)))
        smaller = module.without(taken)
        failure = Source(smaller, "mlir").run((), options).failure
        assert (
            failure is None or "does not reference a valid function" in failure.message or "symbol" in failure.message
        ), f"{failure and failure.message}\n{smaller}"
        assert ModuleText(smaller).count() < module.count()


def test_results_of_functions_go_too():
    module = ModuleText(generic(chain(3, "%e = math.erf %x0 : f32")))
    (start, _) = (one.start for one in module.functions)
    for kept in ((), (0,), (1,), (0, 1)):
        text = module.without((), returns={start: kept})
        assert Source(text, "mlir").run(()).failure is None
        assert text.count("f32") < module.without(()).count("f32") or kept == (0, 1)


def test_nothing_more_can_go():
    """Of a result every single operation is needed: taken out alone, the failure is another or gone."""
    text = generic(chain(30, "%e = math.erf %x0 : f32"))
    parsed = ModuleText.of.cache_info().misses
    texts = list(mlir.smaller(text, Plain(lambda tried: "math.erf" in tried)))
    assert ModuleText.of.cache_info().misses - parsed == 1 + len(texts), "each program is taken apart once"
    module = ModuleText(texts[-1])
    assert module.count() == 3
    assert [ModuleText(one).count() for one in texts] == sorted(
        (ModuleText(one).count() for one in texts), reverse=True
    )


ELSEWHERE = {
    "at the top": (
        "%c = arith.constant 1.0 : f32\n%d = arith.negf %c : f32\n%e = math.erf %d : f32\n"
        "%v = vector.broadcast %d : f32 to vector<4xf32>\nmemref.global @g : memref<3xf32>",
        ["arith.constant", "math.erf"],
    ),
    "in a kernel": (
        "gpu.module @m { gpu.func @k(%a: memref<8xf32>, %n: index) kernel { %t = gpu.thread_id x\n"
        "scf.for %i = %t to %n step %t { %v = memref.load %a[%i] : memref<8xf32>\n%w = math.erf %v : f32\n"
        "memref.store %w, %a[%i] : memref<8xf32> }\ngpu.return }\nmemref.global @g : memref<3xf32> }\n"
        "func.func @h() { return }",
        ["gpu.module", "gpu.func", "math.erf", "gpu.return"],
    ),
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_operations_outside_of_functions_and_in_kernels_go_too(where):
    text, left = ELSEWHERE[where]

    def holds(tried):
        return "math.erf" in tried and Source(tried, "mlir").run(()).failure is None

    last = ModuleText([*mlir.smaller(generic(text), Plain(holds))][-1])
    assert [one.name for one in last.operations[1:]] == left


USED = {
    "at the end of a region without an end": (
        "irdl.dialect @d {\n irdl.operation @a {\n%0 = irdl.is i32\nirdl.results(out: %0)\n}\n"
        "irdl.operation @b {\n%0 = irdl.is i64\nirdl.results(out: %0)\n}\n}",
        'sym_name = "a"',
        ["irdl.dialect", "irdl.operation", "irdl.is", "irdl.results"],
    ),
    "to return it": (
        "func.func @f(%a: f32) -> i32 {\n%e = math.erf %a : f32\n%b = arith.fptosi %e : f32 to i32\nreturn %b : i32\n}",
        "math.erf",
        ["func.func", "math.erf", "func.return"],
    ),
    "as the second operand": (
        "func.func @f(%a: f32, %m: memref<f32>) {\n%e = math.erf %a : f32\n%b = arith.addf %a, %e : f32\n"
        "memref.store %b, %m[] : memref<f32>\nreturn\n}",
        '(%[0-9]+) = "math.erf".*"memref.store"\\(\\1,',
        ["func.func", "math.erf", "memref.store", "func.return"],
    ),
    "by what uses the result of the loop that it is in": (
        "func.func @f(%n: index, %a: f32) -> f32 {\n%r = scf.for %i = %n to %n step %n iter_args(%s = %a) -> f32 {\n"
        "%e = math.erf %s : f32\nscf.yield %e : f32\n}\n%x = math.exp %r : f32\nreturn %x : f32\n}",
        '(%[0-9]+) = "math.erf".*"math.exp"\\(\\1\\)',
        ["func.func", "math.erf", "math.exp", "func.return"],
    ),
    "to return it out of a loop that gives something else": (
        "func.func @f(%n: index, %a: tensor<4xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {\n"
        "%r = scf.forall (%i) in (%n) shared_outs(%s = %o) -> tensor<8xf32> {\n"
        "%e = math.erf %a : tensor<4xf32>\nscf.forall.in_parallel {\n"
        "tensor.parallel_insert_slice %e into %s[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>\n}\n}\n"
        "return %r : tensor<8xf32>\n}",
        "math.erf",
        ["func.func", "math.erf", "func.return"],
    ),
    "by its effect, in a loop whose end has operations": (
        "func.func @f(%n: index, %a: f32, %m: memref<f32>) -> f32 {\n"
        "%r = scf.parallel (%i) = (%n) to (%n) step (%n) init (%a) -> f32 {\nmemref.store %a, %m[] : memref<f32>\n"
        "scf.reduce(%a : f32) {\n^bb0(%p: f32, %q: f32):\n%s = arith.addf %p, %q : f32\n"
        "scf.reduce.return %s : f32\n}\n}\n"
        "return %r : f32\n}",
        "memref.store",
        ["func.func", "memref.store", "func.return"],
    ),
}


@pytest.mark.parametrize("how", USED)
def test_what_is_needed_because_it_is_used_is_used_otherwise(how):
    text, left, names = USED[how]

    def holds(tried):
        ran = Source(tried, "mlir").run((Step("mlir-opt", "--canonicalize"), generic_form.step(())))
        return ran.failure is None and re.search(left, ran.dumps[-1].text, re.DOTALL) is not None

    module = ModuleText(generic(text))
    assert {"scf.forall.in_parallel", "scf.reduce"}.isdisjoint(one.name for one in module.removable())
    last = ModuleText([*mlir.smaller(generic(text), Plain(holds))][-1])
    assert [one.name for one in last.operations[1:]] == names


def test_a_name_that_is_not_known_stays_the_one_that_is_not():
    """Where lines are taken out the names that they define are unknown, too: another failure of the same words."""
    text = (
        "#map = affine_map<(d0) -> (d0)>\nfunc.func @f(%n: index, %m: memref<?xf32>) {\n"
        "  %z = arith.addi %n, %n : index\n"
        "  affine.for %i = 0 to %n {\n    %v = affine.load %m[%i] : memref<?xf32>\n"
        "    affine.store %v, %m[%i + %other] : memref<?xf32>\n  }\n  return\n}"
    )
    with pytest.raises(IRWidgetError) as raised:
        irwidget.lower(text, to="raw_ir", pipeline="mlir-opt --lower-affine")
    reduced = raised.value.lowering.reduce()
    assert str(reduced.failure).startswith("parse at affine.store of %other: the IR does not parse")
    assert (reduced.before, reduced.operations) == (6, 4)
    assert "affine.store %v, %m[%i + %other]" in reduced.text
    assert "arith" not in reduced.text


def test_operations_that_a_named_one_of_linalg_does_not_show_are_no_parts_of_a_program():
    matrix = "tensor<2x2xf32>"
    module = ModuleText(generic(
        f"func.func @f(%a: {matrix}) -> {matrix} {{\n"
        f"%0 = linalg.matmul ins(%a, %a : {matrix}, {matrix}) outs(%a : {matrix}) -> {matrix}\nreturn %0 : {matrix}\n}}"
    ))  # fmt: skip
    assert len(module.operations) == 7, "with the three in it, and the module"
    assert (module.count(), [one.name for one in module.removable()]) == (3, ["func.func", "linalg.matmul"])


TWO_CRASHES = """\
func.func @f(%p: !torch.vtensor<[1,2,4,4,4],si32>, %c: !torch.vtensor<[2],complex<f32>>) {
  %no = torch.constant.bool false
  %one = torch.constant.int 1
  %l = torch.prim.ListConstruct %one, %one, %one : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.max_pool3d %p, %l, %l, %l, %l, %no : !torch.vtensor<[1,2,4,4,4],si32>, !torch.list<int>, \
!torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,2,6,6,6],si32>
  %1 = torch.aten.bitwise_not %c : !torch.vtensor<[2],complex<f32>> -> !torch.vtensor<[2],complex<f32>>
  return
}"""


def test_a_crash_of_a_pass_does_not_become_another_crash_of_it():
    with pytest.raises(irwidget.ToolError, match="SIGSEGV") as raised:
        irwidget.lower(
            TWO_CRASHES.replace("\\\n", ""), to="raw_ir", pipeline="torch-mlir-opt --convert-torch-to-linalg"
        )
    reduced = raised.value.lowering.reduce()
    assert "max_pool3d" in reduced.text, "the other one is smaller"
    assert "bitwise_not" not in reduced.text
    assert reduced.failure.place.count("libTorchMLIRAggregateCAPI.so+0x") == 2
    assert "this may be another crash" not in reduced.report
    untold = replace(reduced, failure=replace(reduced.failure, place=""))
    assert "this may be another crash" in untold.report


@pytest.mark.external
@pytest.mark.skipif(isinstance(external.find("mlir-opt"), str), reason="mlir-22-tools is not installed")
def test_a_crash_of_a_real_program_says_where_and_which_version():
    text = "module { %a = memref.alloc() : memref<4x4xi32>\n%c = arith.constant 0 : index\n"
    text += "%v = arith.constant dense<0> : vector<4x4xi32>\n"
    text += "vector.transfer_write %v, %a[%c, %c] {in_bounds = [true, true]} : vector<4x4xi32>, memref<4x4xi32> }"
    with pytest.raises(irwidget.ToolError, match=r"^mlir-opt was killed by signal 11 in \S+\n") as raised:
        irwidget.lower(text, to="raw_ir", pipeline="mlir-opt --convert-vector-to-scf", external=True)
    assert "PLEASE submit" in raised.value.lowering.failure.diagnostics[0].message
    version = raised.value.lowering.tools["mlir-opt"]
    assert str(version).startswith("22.")
