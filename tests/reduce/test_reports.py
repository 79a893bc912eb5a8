"""What a report of a reduction says, word for word."""

from __future__ import annotations

import pytest

import irwidget
from irwidget import cli


@pytest.mark.parametrize(
    ("name", "text", "pipeline", "said"),
    [
        (
            "call.mlir",
            "func.func @f() {\n  call @g(%2) : (i32) -> ()\n  return\n}\n",
            "mlir-opt --canonicalize",
            ["parse at %2: the IR does not parse", "```mlir\n", "mlir-opt --canonicalize input.mlir"],
        ),
        (
            "one.mlir",
            '%0 = "foo.bar"() : () -> i32\n',
            "mlir-opt --canonicalize",
            ["Reduced from 1 operation to 1.", "```mlir\n", "mlir-opt --canonicalize input.mlir"],
        ),
        (
            "undefined.ll",
            "define i32 @f(i32 %n) {\n  %a = add i32 %n, %zz\n  ret i32 %a\n}\n",
            "opt -O2",
            ["```llvm\n", "opt -O2 input.ll"],
        ),
    ],
)
@pytest.mark.parametrize("more", [[], ["--to", "raw_ir"]])
def test_what_does_not_parse(tmp_path, capsys, name, text, pipeline, said, more):
    (tmp_path / name).write_text(text)
    assert cli.main(["reduce", str(tmp_path / name), *more, "--pipeline", pipeline]) == 0
    report = capsys.readouterr().out
    assert [one for one in said if one not in report] == []


def test_ways_that_took_nothing_are_not_said_to_have_helped():
    text = "func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n"
    low = irwidget.lower(text, to="raw_ir", pipeline="mlir-opt --cse")
    account = low.reduce(lambda last: "addi" in last).account
    assert account.startswith("Tried: ")
    assert "; taken of those: " in account
