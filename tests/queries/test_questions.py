"""Answers about a lowering whose every answer is known."""

import json
import math
from typing import Any

import pytest

from irwidget.errors import ToolError, UsageError
from irwidget.queries import bounds, questions
from irwidget.queries.questions import Questions
from irwidget.trace import Dump, Failure, Location, Step, Trace, dump
from irwidget.trace.texts import Computed

CELL = "def f(x):\n    y = x * 2\n    return y - x"
INPUT = """func.func @f(%arg0: f32) -> f32 {
  %0 = arith.constant 2.0 : f32
  %1 = arith.mulf %arg0, %0 : f32
  %2 = arith.subf %1, %arg0 : f32
  return %2 : f32
}
"""
ADDED = INPUT.replace("arith.mulf %arg0, %0", "arith.addf %arg0, %arg0")
CLEAN = """func.func @f(%arg0: f32) -> f32 {
  %0 = arith.addf %arg0, %arg0 : f32
  %1 = arith.subf %0, %arg0 : f32
  return %1 : f32
}
"""
LLVM = "define float @f(float %0) {\n  %2 = fadd float %0, %0\n  ret float %2\n}\n"
PLACES = (None, None, Location("cell.py", 2), Location("cell.py", 3), None, None)


@pytest.fixture
def asked():
    dumps = (
        dump("torch.export", INPUT, step=-1, locations=PLACES, seconds=0.5),
        dump("strength", ADDED, step=0, locations=PLACES, seconds=0.0012),
        dump("cse", ADDED, step=0, locations=PLACES, options="fast=true"),
        dump("cse", CLEAN, step=0, locations=(None, *PLACES[2:])),
        dump("translate", LLVM, step=1, language="llvm"),
    )
    steps = Step("mlir-opt", "--strength --cse --cse"), Step("mlir-translate", "--mlir-to-llvmir", "last")
    facts = {"grid": (4, 2), 1: {"a"}, "bounds": [math.nan, None, True, 0.5], "kind": Any}
    return Questions(
        Trace("llvm_ir", dumps, steps, name="f", sources={"cell.py": CELL}, tools={"mlir": "22"}, facts=facts)
    )


def test_an_overview(asked):
    assert asked.overview() == {
        "name": "f",
        "target": "llvm_ir",
        "passes": 4,
        "steps": ["mlir-opt --strength --cse --cse", "last: mlir-translate --mlir-to-llvmir"],
        "tools": {"mlir": "22"},
        "check": "not asked for",
        "failure": None,
        "diagnostics": {"items": [], "total": 0},
        "facts": {"grid": [4, 2], "1": ["a"], "bounds": ["nan", None, True, 0.5], "kind": "typing.Any"},
        "files": ["cell.py"],
    }


def test_a_failure_is_part_of_it():
    failure = Failure(0, "cse", "it broke", reproducer="mlir-opt x")
    trace = Trace("llvm_ir", (dump("input", INPUT, step=-1),), (Step("mlir-opt", "--cse"),), failure=failure)
    assert Questions(trace).overview()["failure"] == {
        "pass": "cse",
        "step": "mlir-opt",
        "message": "it broke",
        "diagnostics": [],
        "reproducer": "mlir-opt x",
    }


def test_passes(asked):
    rows = [
        {"number": 0, "pass": "torch.export", "language": "mlir", "ms": 500.0, "lines": 6},
        {"number": 1, "pass": "strength", "language": "mlir", "ms": 1.2, "gone": 1, "new": 1},
        {"number": 2, "pass": "cse", "language": "mlir", "options": "fast=true", "gone": 0, "new": 0},
        {"number": 3, "pass": "cse (2)", "language": "mlir", "gone": 1, "new": 0},
        {"number": 4, "pass": "translate", "language": "llvm", "note": "from mlir to llvm"},
    ]
    assert asked.passes() == {"items": rows, "total": 5}
    assert asked.passes(1, 2) == {"items": rows[1:3], "total": 5, "next": 3}
    assert asked.passes(changed=True) == {"items": [rows[1], rows[3], rows[4]], "total": 3}


def test_text_goes_on_where_it_ended(asked):
    assert asked.text("cse (2)", 2, 2) == {
        "pass": "cse (2)",
        "language": "mlir",
        "items": ["2:   %0 = arith.addf %arg0, %arg0 : f32", "3:   %1 = arith.subf %0, %arg0 : f32"],
        "total": 5,
        "next": 4,
    }
    assert asked.text("3", 4)["items"] == ["4:   return %1 : f32", "5: }"]


def test_a_diff(asked):
    assert asked.diff("strength") == {
        "pass": "strength",
        "against": "torch.export",
        "items": [
            "@@ -1,6 +1,6 @@",
            " func.func @f(%arg0: f32) -> f32 {",
            "   %0 = arith.constant 2.0 : f32",
            "-  %1 = arith.mulf %arg0, %0 : f32",
            "+  %1 = arith.addf %arg0, %arg0 : f32",
            "   %2 = arith.subf %1, %arg0 : f32",
            "   return %2 : f32",
            " }",
        ],
        "total": 8,
    }
    assert asked.diff("cse")["items"] == []
    gone = asked.diff("3", against="0")["items"]
    assert [line for line in gone if line[0] in "+-"] == [
        "-  %0 = arith.constant 2.0 : f32",
        "-  %1 = arith.mulf %arg0, %0 : f32",
        "+  %0 = arith.addf %arg0, %arg0 : f32",
    ]
    assert asked.diff("translate")["note"] == "not compared: mlir became llvm"
    assert asked.diff("0") == {
        "pass": "torch.export",
        "against": None,
        "note": "it is compared with nothing: it is the input, or the first of its scope",
    }


def test_a_line_and_what_it_was(asked):
    assert asked.line("cse (2)", 2) == {
        "pass": "cse (2)",
        "line": 2,
        "text": "  %0 = arith.addf %arg0, %arg0 : f32",
        "source": {"place": "cell.py:2", "code": "y = x * 2"},
        "last_changed_by": "strength",
        "note": "",
        "versions": {
            "items": [
                {"pass": "strength", "line": 3, "text": "  %1 = arith.addf %arg0, %arg0 : f32"},
                {"pass": "torch.export", "line": 3, "text": "  %1 = arith.mulf %arg0, %0 : f32"},
            ],
            "total": 2,
        },
    }
    assert asked.line("3", 3)["last_changed_by"] == "torch.export"
    assert asked.line("3", 3)["source"] == {"place": "cell.py:3", "code": "return y - x"}
    assert asked.line("translate", 2)["last_changed_by"] == "translate"
    assert asked.line("translate", 2)["source"] is None


def test_what_a_line_of_the_cell_became(asked):
    assert asked.made_of(3, "cse (2)") == {
        "pass": "cse (2)",
        "items": ["3:   %1 = arith.subf %0, %arg0 : f32"],
        "total": 1,
    }
    assert asked.made_of(3, "cse (2)", file="other.py")["items"] == []
    assert asked.made_of(3)["note"] == "no line of this dump is known to come from a line of a file"


def test_search(asked):
    assert asked.search("ADDF") == {
        "items": [
            {"number": 1, "pass": "strength", "lines": 1},
            {"number": 4, "pass": "translate", "lines": 0},
        ],
        "total": 2,
    }
    assert asked.search("ADDF", case=True) == {"items": [], "total": 0, "note": "in no pass of 5 that are here"}
    assert asked.search(r"arith\.(add|sub)f", regex=True, which="3")["items"] == [
        "2:   %0 = arith.addf %arg0, %arg0 : f32",
        "3:   %1 = arith.subf %0, %arg0 : f32",
    ]
    assert asked.search(r"arith\.ADD", regex=True)["items"] == asked.search("ADDF")["items"]


def test_a_search_that_would_take_for_ever_ends(asked, monkeypatch):
    monkeypatch.setattr(questions, "SEARCH_SECONDS", 0.2)
    for which in ("", "3"):
        with pytest.raises(UsageError, match=r"not found or missed within 0.2 s: a repetition of repetitions"):
            asked.search(r"([a-z.% 0-9=,:]+)+\$", regex=True, which=which)


def test_operations(asked):
    assert asked.operations("3") == {
        "pass": "cse (2)",
        "operations": {"arith.addf": 1, "arith.subf": 1, "func.func": 1, "func.return": 1},
        "kinds": 4,
        "total": 4,
    }


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda q: q.text("csee"), r"f -> llvm_ir has no pass 'csee'. Did you mean cse"),
        (lambda q: q.line("cse", 7), "cse has the lines 1 to 6, not 7"),
        (lambda q: q.line("cse", 0), "cse has the lines 1 to 6, not 0"),
        (lambda q: q.search("("), None),
        (lambda q: q.search("(", regex=True), r"'\(' is no regular expression: missing \)"),
        (lambda q: q.search(""), "nothing to search for"),
    ],
)
def test_what_is_not_there(asked, ask, said):
    if said is None:
        assert ask(asked)["total"]
        return
    with pytest.raises(UsageError, match=said):
        ask(asked)


def test_a_text_that_never_comes_is_not_taken_for_an_empty_one(asked):
    dumps = list(asked.trace.dumps)

    def never():
        raise ToolError("the worker is gone", tool="mlir-opt")

    dumps[2] = Dump("cse", 0, "mlir", Computed(never))
    missing = Questions(Trace("llvm_ir", tuple(dumps), asked.trace.steps, name="f"))
    rows = missing.passes()["items"]
    assert rows[2] == {"number": 2, "pass": "cse", "language": "mlir", "note": "its text is not available"}
    assert rows[3]["note"] == "not compared: the text before it is not available"
    assert missing.search("addf")["not_searched"] == 1
    assert missing.line("3", 2)["last_changed_by"] is None
    assert missing.line("3", 2)["note"] == "not known: a text before it is not available"
    with pytest.raises(UsageError, match="The text of cse is not available"):
        missing.text("cse")
    with pytest.raises(UsageError, match="The text of cse is not available"):
        missing.diff("3")


def test_long_answers_end_and_say_where_to_go_on():
    text = "".join(f"%{i} = arith.constant {i} : i32\n" for i in range(5000))
    asked = Questions(Trace("raw_ir", (dump("input", text, step=-1),)))
    seen, first = [], 1
    while first:
        answer = asked.text("0", first)
        assert len(json.dumps(answer)) < 2 * bounds.MOST
        seen += answer["items"]
        first = answer.get("next")
    assert seen == [f"{i + 1}: %{i} = arith.constant {i} : i32" for i in range(5000)]
    long = Questions(Trace("raw_ir", (dump("input", "x" * 10**6 + "\n", step=-1),)))
    assert long.text("0")["items"] == [f"1: {'x' * 400}... (1000000 characters)"]


@pytest.mark.parametrize(
    ("items", "most", "shown"),
    [
        (["ab", "cd", "ef"], 8, 2),  # two letters more for each, of JSON
        (["ab", "cd", "ef"], 11, 2),
        (["ab", "cd", "ef"], 12, 3),
        ([["a"], "b"], 6, 1),  # what is no text counts as JSON
        (["c" * 99, "d"], 8, 1),  # there is always one
        (["x" * 2998, "x" * 2998], bounds.MOST, 2),
        (["x" * 2998, "x" * 2999], bounds.MOST, 1),
    ],
)
def test_as_many_items_are_shown_as_fit(items, most, shown):
    more = {"next": shown} if shown < len(items) else {}
    assert bounds.part(items, most=most) == {"items": items[:shown], "total": len(items), **more}
