"""LLVM IR made small: how it is taken apart, and what is left."""

import re

import pytest

import irwidget
from irwidget import IRWidgetError, UsageError
from irwidget.reducing import lines, llvm, llvm_text
from irwidget.reducing.engine import Plain
from irwidget.reducing.failing import kind_of
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Failure, Step

LOOP = """\
; ModuleID = 'x; y'
@s = private constant [4 x i8] c"a;b\\00" ; a comment
%pair = type { i32, float }

declare i32 @other(i32, ...)

define i32 @f(i32 noundef %0, ptr nocapture %p, ptr) #0 {
  %3 = icmp sgt i32 %0, 0
  br i1 %3, label %4, label %9

4:                                                ; preds = %2, %4
  %5 = phi i32 [ 0, %2 ], [ %6, %4 ]
  %6 = add nsw i32 %5, 1
  %7 = call i32 (i32, ...) @other(i32 %6, float 1.0)
  switch i32 %7, label %4 [
    i32 0, label %9
    i32 7, label %8
  ]

8:
  unreachable

9:
  %10 = phi i32 [ 1, %2 ], [ %6, %4 ]
  ret i32 %10
}

define void @g(ptr %p) {
entry:
  %v = load <4 x float>, ptr %p, align 16
  %e = extractelement <4 x float> %v, i32 1
  store float %e, ptr %p
  ret void
}

attributes #0 = { nounwind }
"""


def verified(text):
    """Whether LLVM's parser and verifier take it."""
    return Source(text, "llvm").run((Step("opt", "", "opt"),), Options(dumps=False)).failure


def test_what_is_taken_apart_is_the_same_program():
    normal = llvm.normal(LOOP)
    assert verified(LOOP) is None
    assert verified(normal) is None
    assert llvm.normal(normal) == normal
    assert llvm.count(LOOP) == llvm.count(normal) == 13
    function = next(item for item in llvm_text.read(normal) if not isinstance(item, str))
    assert function.arguments == ("i32 noundef %v0", "ptr nocapture %p", "ptr %v1")
    assert [block.label for block in function.blocks] == ["v2", "v4", "v8", "v9"]
    assert function.result == "i32"
    assert llvm_text.targets(function.blocks[1]) == ["v4", "v9", "v8"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("%a = add nuw nsw i32 %b, 1", "i32"),
        ("%a = load volatile <4 x float>, ptr %p, align 16", "<4 x float>"),
        ("%a = icmp slt <2 x i32> %b, %c", "<2 x i1>"),
        ("%a = fcmp fast olt double %b, %c", "i1"),
        ("%a = call fast noundef { i32, ptr } @f(i32 1)", "{ i32, ptr }"),
        ("%a = tail call i32 (i32, ...) @f(i32 1)", "i32"),
        ("%a = sext i32 %b to i64", "i64"),
        ("%a = getelementptr inbounds i8, ptr %p, i64 4", "ptr"),
        ("%a = select i1 %c, %pair %x, %pair %y", "%pair"),
        ("%a = phi ptr addrspace(3) [ null, %x ]", "ptr addrspace(3)"),
        ("%a = extractelement <4 x float> %v, i32 1", "float"),
        ("%a = extractvalue { i32, ptr } %v, 1", ""),
        ("store i32 1, ptr %p", ""),
    ],
)
def test_types_of_results(line, kind):
    assert llvm_text.result_type(line) == kind


def test_nothing_more_can_go():
    """By hand: the store needs its address and its value, the function its end."""

    def stores(text):
        return verified(text) is None and "store float" in text

    texts = list(llvm.smaller(llvm.normal(LOOP), Plain(stores)))
    assert all(verified(text) is None for text in texts)
    assert llvm.count(texts[-1]) == 2
    assert texts[-1].count("define") == 1
    assert not any(word in texts[-1] for word in ("load", "@f", "@s", "attributes", "phi", "align"))


def test_a_result_is_returned_in_place_of_what_uses_it():
    """What follows an instruction goes, in a function that gives back another type as well."""

    def divides(text):
        return verified(text) is None and re.search(r"%q = fdiv double.*\n.*%q", text) is not None

    uses = "  store double %q, ptr %p\n  %w = fptosi double %q to i32\n  br label %on\non:\n  ret i32 %w\n}\n"
    text = f"define zeroext i32 @f(double %d, ptr %p) {{\n  %q = fdiv double %d, 3.0\n{uses}"
    *_, best = llvm.smaller(llvm.normal(text), Plain(divides))
    assert best == "define double @f() {\nv0:\n  %q = fdiv double poison, 3.0\n  ret double %q\n}\n"


def test_every_way_out_returns_the_same_type_and_zeros_stand_for_arguments_too():
    text = (
        "define {}(i1 %c, double %d) {{\nentry:\n  br i1 %c, label %a, label %b\na:\n  %q = fdiv double %d, 3.0\n"
        "{}b:\n  ret {}\n}}\n"
    )
    before = text.format("i32 @f", "  %w = fptosi double %q to i32\n  ret i32 %w\n", "i32 1")
    (best,) = llvm.WAYS["what is returned"](before, Plain(lambda tried: "double @f" in tried))
    assert best == text.format("double @f", "  ret double %q\n", "double zeroinitializer")
    *_, best = llvm.WAYS["arguments"](before, Plain(lambda tried: "poison" not in tried))
    assert best == before.replace("(i1 %c, double %d)", "()").replace("%c", "zeroinitializer").replace(
        "%d", "zeroinitializer"
    )


def test_where_arguments_would_be_too_many_zeros_stand_for_results_from_the_start():
    """As of a back end that passes five in registers: each half of what may go was tried once for nothing."""

    def compiles(text):
        tried.append(text)
        heads = [line for line in text.split("\n") if line.startswith("define")]
        return "udiv" in text and all(head.count(",") < 3 for head in heads)

    tried = []
    loads = "".join(f"  %x{i} = load i32, ptr %p\n" for i in range(64))
    sums = "".join(f"  %s{i} = udiv i32 %x{i}, %x{i + 1}\n" for i in range(63))
    text = f"define i32 @f(ptr %p) {{\nentry:\n{loads}{sums}  ret i32 %s9\n}}\n"
    *_, best = llvm.smaller(text, Plain(compiles))
    assert best == "define void @f() {\nentry:\n  %s0 = udiv i32 zeroinitializer, zeroinitializer\n  ret void\n}\n"
    assert len(tried) < 40


def test_a_crash_of_a_back_end_becomes_small_and_the_kernel_lives():
    adds = "".join(f"  %x{i} = add i32 %{f'x{i - 1}' if i else 'a'}, %b\n" for i in range(60))
    ends = "  indirectbr ptr %p, [label %next]\nnext:\n  ret i32 %x9\n}\n"
    text = f"define i32 @f(i32 %a, i32 %b, ptr %p) {{\n{adds}{ends}"
    with pytest.raises(IRWidgetError) as raised:
        irwidget.lower(text, to="raw_ir", pipeline="opt -passes=instsimplify | llc -mtriple=nvptx64")
    low = raised.value.lowering
    seen = []
    reduced = low.reduce(progress=lambda best: seen.append(best.operations))
    assert reduced.failure == kind_of(low.failure)
    assert "brind" in reduced.failure.message
    assert (reduced.language, reduced.before, reduced.operations, reduced.complete) == ("llvm", 62, 2, True)
    assert seen == sorted(seen, reverse=True)
    assert "indirectbr" in reduced.text
    assert "opt -passes=instsimplify input.ll | llc -mtriple=nvptx64" in reduced.report
    assert "llvmlite" in reduced.report
    assert reduced.ways["instructions"].kept >= 1
    assert sum(one.candidates for one in reduced.ways.values()) == reduced.tried


def test_a_predicate_of_what_is_left_after_optimising():
    low = irwidget.lower(LOOP, to="raw_ir", pipeline="opt -O1")
    reduced = low.reduce(lambda text: "extractelement" in text or ("float" in text and "store" in text))
    assert reduced.operations <= 3
    with pytest.raises(UsageError, match="The predicate does not hold"):
        low.reduce(lambda text: "fdiv" in text)


def test_ir_that_its_parser_refuses_is_made_small_line_by_line():
    with pytest.raises(IRWidgetError) as raised:
        irwidget.lower(
            "define i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %x\n}", to="raw_ir", pipeline="opt -O1"
        )
    reduced = raised.value.lowering.reduce()
    assert reduced.failure == kind_of(raised.value.lowering.failure)
    assert "%x" in reduced.text
    assert "add" not in reduced.text


def test_lines_that_belong_together_go_together():
    text = "module {\n  func @f {\n    %a = one\n    %b = two %a\n  }\n  func @g {\n    use %x\n  }\n}\n"
    (*_, best) = lines.smaller(text, Plain(lambda tried: "two" in tried and tried.count("{") == tried.count("}")))
    assert "@g" not in best
    assert lines.count(best) == 1
    table = "%a = one dense<[\n  [1, 2],\n  [3, 4]\n]>\n%b = two [\n"
    (*_, best) = lines.smaller(table, Plain(lambda tried: tried.count("[") - 1 == tried.count("]")))
    assert best.strip() == "%b = two ["


def test_a_value_in_place_of_another_is_not_put_into_longer_names():
    def holds(tried):
        return re.search(r"use .*%10\b", tried) and ("%1 =" in tried or not re.search(r"%1\b", tried))

    (*_, best) = lines.smaller("%1 = one %a\nuse %1, %10\n", Plain(holds))
    assert best.strip() == "use %a, %10"


def test_a_message_has_its_class_and_nothing_of_one_program():
    def kind(said):
        return kind_of(Failure(0, "codegen", said, kind="tool"))

    one = "llc: pass codegen crashed (the worker was killed by SIGABRT: Cannot select: t46: ch = brind t15, t6)"
    assert kind(one) == kind(one.replace("t46", "t5").replace("t15, t6", "t0, t4"))
    assert kind(one) != kind(one.replace("brind", "br_cc"))
    assert kind(one.replace("brind", "AtomicLoadNand<(load 4)>")) != kind(one.replace("brind", "AtomicLoad<(load 4)>"))
    error = "error: <unknown>:0:0: in function main { ptr } (ptr, i64): stack arguments are not supported"
    assert kind(error) == kind(error.replace("main { ptr } (ptr, i64)", "f void (i32)"))
    assert kind(error) != kind(error.replace("stack arguments", "variable arguments"))


def test_arguments_in_place_of_results_have_names_of_their_own():
    text = (
        "define i32 @f(ptr %p, ptr %q) {\n  %a = load i32, ptr %p\n  %b = load i32, ptr %q\n"
        "  %m = mul i32 %a, %b\n  ret i32 %m\n}\n"
    )

    def holds(tried):
        found = re.search(r"mul i32 (%\w+), (%\w+)\n", tried)
        return found is not None and found[1] != found[2] and verified(tried) is None

    (*_, best) = llvm.smaller(llvm.normal(text), Plain(holds))
    assert llvm.count(best) == 2
    assert "load" not in best


def test_phis_forget_the_blocks_that_do_not_lead_to_them_any_more():
    function = next(item for item in llvm_text.read(LOOP) if not isinstance(item, str))
    entry, *others = function.blocks
    made = llvm_text.with_blocks(function, [llvm_text.Block(entry.label, (*entry.lines[:-1], "br label %v9")), *others])
    assert [block.label for block in made.blocks] == ["v2", "v9"]
    assert made.blocks[1].lines == ("%v10 = phi i32 [ 1, %v2 ]", "ret i32 %v10")
    whole = llvm_text.merged(made)
    assert [block.lines[-1] for block in whole.blocks] == ["ret i32 1"]
    assert verified(f"declare i32 @other(i32, ...)\n{whole.text()}") is None


BACKWARDS = """\
define i32 @f(i1 %x) {
entry:
  br i1 %x, label %a, label %c
b:
  br label %c
a:
  br label %b
c:
  %r = phi i32 [ 1, %entry ], [ 2, %b ]
  ret i32 %r
}
"""


def test_a_block_takes_over_one_that_stands_before_it():
    (function,) = llvm_text.read(BACKWARDS)
    whole = llvm_text.merged(function)
    assert [block.label for block in whole.blocks] == ["entry", "a", "c"]
    assert whole.blocks[2].lines[0] == "%r = phi i32 [ 1, %entry ], [ 2, %a ]"
    assert verified(whole.text()) is None
