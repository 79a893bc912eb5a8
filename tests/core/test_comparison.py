"""Two lowerings side by side: what each costs, and passes whose names another release has changed."""

from dataclasses import replace

import pytest

import irwidget
from irwidget.errors import ToolError
from irwidget.experiments import outcome
from irwidget.trace import Content, Dump, Scope, Trace, Verdict, dump

LLVM = """\
define i32 @f(i32 %a, i32 %b) {
  %x = sub i32 %a, %b
  %y = add i32 %x, 0
  ret i32 %y
}
"""


def test_what_both_cost_is_told_side_by_side():
    short = "define i32 @f(i32 %a) {\n  ret i32 %a\n}\n"
    left, right = (irwidget.lower(text, to="raw_ir", pipeline="opt -passes=verify") for text in (LLVM, short))
    facts = ({"spills": 1, "registers": 8, "grid": (1,), "arch": "a"}, {"grid": (2,), "registers": 8, "spills": 3})
    timed = [
        replace(low.trace, facts=has, dumps=tuple(replace(dump, seconds=spent) for dump in low.dumps))
        for low, has, spent in zip((left, right), facts, (0.5, 2.0), strict=True)
    ]
    both = [irwidget.Lowering(trace) for trace in timed]
    lines = [len(low.text.splitlines()) for low in (left, right)]
    found, other = irwidget.compare(*both), irwidget.compare(*both[::-1])
    assert found.costs == {"lines": (lines[0], lines[1]), "operations": (3, 1), "spills": (1, 3)}
    assert other.costs == {name: pair[::-1] for name, pair in found.costs.items()}
    assert found.seconds == (0.5 * (len(left.dumps) - 1), 2.0 * (len(right.dumps) - 1))
    assert found.tools == {}
    mlir = irwidget.lower("func.func @f() {\n  return\n}", to="raw_ir", pipeline="mlir-opt --cse")
    apart = irwidget.compare(left, mlir)
    assert left.tools.keys() & mlir.tools.keys() == set()
    assert apart.tools == {
        **{name: (version, "-") for name, version in left.tools.items()},
        **{name: ("-", version) for name, version in mlir.tools.items()},
    }
    assert (apart.costs, apart.summary) == (
        {},
        "they start differently; 1 pass only left, 1 only right; the results differ",
    )


def test_passes_with_new_names_are_told_with_what_stands_between_them():
    text = "func.func @f() {\n  return\n}"
    left, right = (
        irwidget.lower(text, to="raw_ir", pipeline=f"mlir-opt {passes}")
        for passes in ("--cse --sccp", "--canonicalize --symbol-dce --inline --control-flow-sink")
    )

    def named(low, *names):
        dumps = zip(low.dumps, ("input", *names), strict=True)
        trace = replace(low.trace, dumps=tuple(replace(dump, name=name) for dump, name in dumps))
        return irwidget.Lowering(replace(trace, tools={"torch-mlir": names[0]}))

    found = irwidget.compare(
        named(left, "lower-loops", "fold-casts"), named(right, "new", "lower-loop", "x", "fold_cast")
    )
    assert [(pair.label, pair.left, pair.right, pair.state) for pair in found.passes] == [
        ("input", 0, 0, "same"),
        ("new", None, 1, "only right"),
        ("lower-loops -> lower-loop", 1, 2, "same"),
        ("x", None, 3, "only right"),
        ("fold-casts -> fold_cast", 2, 4, "same"),
    ]
    assert found.summary == (
        "the same after the 2 passes that both run; 0 passes only left, 2 only right; the results are the same"
    )
    untold = (irwidget.Lowering(replace(one.trace, tools={})) for one in (found.left, found.right))
    assert irwidget.compare(*untold).passes == found.passes


def test_what_a_failed_lowering_left_out_before_its_last_pass_it_did_not_run():
    text = "func.func @f() {\n  return\n}"
    whole = irwidget.lower(text, to="raw_ir", pipeline="mlir-opt --cse --canonicalize --sccp --symbol-dce")
    with pytest.raises(irwidget.ToolError) as raised:
        irwidget.lower(text, to="raw_ir", pipeline="mlir-opt --cse --sccp | user-tool false")
    failed = raised.value.lowering
    states = [("input", "same"), ("cse", "same"), ("canonicalize", "only left"), ("sccp", "same")]
    left, right = irwidget.compare(whole, failed), irwidget.compare(failed, whole)
    assert [(pair.name, pair.state) for pair in left.passes] == [*states, ("symbol-dce", "not compared")]
    states[2] = ("canonicalize", "only right")
    assert [(pair.name, pair.state) for pair in right.passes] == [*states, ("symbol-dce", "not compared")]


def made(*dumps, tools=()):
    """A lowering of passes by name and text, the first of which is what it starts from."""
    found = (one if isinstance(one, Dump) else dump(*one, step=number - 1) for number, one in enumerate(dumps))
    return irwidget.Lowering(Trace("raw_ir", tuple(found), tools=dict(tools)))


def pairs(left, right):
    return [(pair.label, pair.left, pair.right, pair.state) for pair in irwidget.compare(left, right).passes]


def test_the_difference_that_stays_begins_after_all_that_is_the_same_again():
    left = made(*((name, "a") for name in ("input", "p", "q", "r", "s")))
    right = made(("input", "a"), ("p", "b"), ("q", "a"), ("r", "c"), ("s", "d"))
    found = irwidget.compare(left, right)
    assert [one.name for one in (found.first, found.again, found.last)] == ["p", "q", "r"]
    assert found.summary == (
        "they first differ after p (dumps 1 and 1); the same again after q (dumps 2 and 2); "
        "last begin to differ after r (dumps 3 and 3); the results differ"
    )


def test_one_tool_of_another_version_may_have_renamed_its_passes():
    same = {"torch-mlir": "1", "llvmlite": "2"}
    left = made(("input", "a"), ("lower-loops", "b"), tools=same)
    right = (("input", "a"), ("lower-loop", "b"))
    apart = [("input", 0, 0, "same"), ("lower-loops", 1, None, "only left"), ("lower-loop", None, 1, "only right")]
    assert pairs(left, made(*right, tools=same)) == apart
    assert pairs(left, made(*right, tools=same | {"llvmlite": "3"})) == [
        ("input", 0, 0, "same"),
        ("lower-loops -> lower-loop", 1, 1, "same"),
    ]
    other = made(("input", "a"), ("lower-vectors", "b"), tools={})
    assert [pair[3] for pair in pairs(left, other)] == ["same", "only left", "only right"], "half of a name is alike"


def test_passes_on_functions_are_aligned_by_function():
    def on(*functions):
        passes = (dump("cse", f"{name} after", step=0, scope=Scope(function=name)) for name in functions)
        return made(("input", "a"), *passes)

    assert pairs(on("f", "g"), on("g")) == [
        ("input", 0, 0, "same"),
        ("cse", 1, None, "only left"),
        ("cse", 2, 1, "same"),
    ]


def test_a_text_that_never_comes_is_not_compared():
    class Lost:
        def content(self, index: int) -> Content:
            raise ToolError("the worker ended", tool="mlir-opt")

        text = content

    left = made(("input", "a"), ("cse", "b"))
    right = made(("input", "a"), replace(left.dumps[1], texts=Lost()))
    for one, other in ((left, right), (right, left)):
        found = irwidget.compare(one, other)
        assert [pair.state for pair in found.passes] == ["same", "not compared"]
        assert found.summary == ("they start the same; 1 pass not compared; the results are not compared")


def test_lines_of_a_source_are_compared_where_either_begins_as_llvm_ir():
    text = 'define void @f() !dbg !2 {\n  ret void\n}\n\n!2 = distinct !DISubprogram(name: "f", line: {})\n'
    llvm = [dump("input", text.replace("{}", line), step=-1, language="llvm") for line in ("3", "4")]
    mlir = dump("input", "module {}", step=-1)
    written, begun = (
        [made(one, replace(one, name="opt")) for one in llvm],
        [made(mlir, replace(llvm[i], name="opt")) for i in (0, 1)],
    )
    assert irwidget.compare(*written).ends_the_same is False
    assert irwidget.compare(*begun).ends_the_same is True
    plain = made(mlir, dump("opt", "define void @f() {\n  ret void\n}\n\n", step=0, language="llvm"))
    same = "the same after the 1 pass that both run; the results are the same"
    without = f"{same}; the lines that debug information names are not compared"
    sides = ((plain, begun[0]), (begun[0], plain), (plain, plain))
    assert [irwidget.compare(*both).summary for both in sides] == [without, without, same]
    assert irwidget.compare(begun[0], written[1]).ends_the_same is False
    assert irwidget.compare(written[0], begun[1]).ends_the_same is False


def test_facts_of_an_experiment_stand_beside_those_of_its_original():
    about = {"arch": "sm_90", "grid": "2", "launched_at": "line 3"}
    old = about | {"registers": 8, "stack_frame": 0, "name": "f", "lines": 7, "operations": {"ttir": {"a": 2, "b": 3}}}
    new = about | {"registers": 8, "spill_loads": 4, "name": "g", "grid": "4", "operations": {"ptx": {"mov": 9}}}
    left, right = (
        irwidget.Lowering(replace(made(("input", "a\nb")).trace, facts=facts, dumps=(dump("input", text, step=-1),)))
        for facts, text in ((old, "func.func @f() {\n}"), (new, "%0 = a.b : i1"))
    )
    assert [row[0] for row in outcome.facts(irwidget.compare(right, right), (None, None))] == [
        "check", "lines", "registers", "spill_loads", "ptx instructions"
    ]  # fmt: skip
    found = outcome.facts(irwidget.compare(left, right), (None, Verdict("equal", "x")))
    assert found == [
        ("check", "not computed", Verdict("equal", "x").brief),
        ("registers", "8", "8"),
        ("spill_loads", "not computed", "4"),
        ("stack_frame", "0", "not computed"),
        ("name", "f", "g"),
        ("lines", "7", "not computed"),
        ("ttir operations", "5", "not computed"),
        ("ptx instructions", "not computed", "9"),
    ]
