"""Two lowerings side by side: what each costs, and passes whose names another release has changed."""

from dataclasses import replace

import pytest

import irwidget

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
