"""Where in a line of Python an operation is, of code that runs."""

from __future__ import annotations

import linecache
import sys
from itertools import islice
from typing import Any

import pytest

from irwidget.frontends.expressions import operation_column


class Operand:
    """Notes where whoever uses it is, as a tracer does."""

    def __init__(self, noted: list[str], file: str) -> None:
        self.noted, self.file = noted, file

    def note(self, *_: Any) -> Operand:
        frame = sys._getframe(1)
        positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
        assert positions[0] == frame.f_lineno
        column = operation_column(self.file, *positions)
        self.noted.append(linecache.getline(self.file, frame.f_lineno)[column - 1 :].split(" ")[0].strip())
        return self

    __add__ = __radd__ = __iadd__ = __matmul__ = __neg__ = __lt__ = __getitem__ = __setitem__ = __call__ = note
    relu = sum = to = note
    T = property(note)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x.relu(1) .sum(2)", ["relu(1)", "sum(2)"]),
        ("x .relu( x.to(3) )", ["to(3)", "relu("]),
        ("x + x +1", ["+", "+1"]),
        ("(x) + (x @ (x) )", ["@", "+"]),
        ("1 +x", ["+x"]),
        ("x [0] [1]", ["[0]", "[1]"]),
        ("x [0] = 1", ["[0]"]),
        ("x += 1", ["+="]),
        ("x [0] += 1", ["[0]", "+=", "[0]"]),
        ("x < 1", ["<"]),
        ("y = -x", ["-x"]),
        ("x(1) (2)", ["x(1)", "(2)"]),
        ("x [0] (2)", ["[0]", "(2)"]),
        ("x < x .relu(1) < 3", ["relu(1)", "<", "<"]),
        ("(x\\\n+ x)", ["x\\"]),
        ("x.T .T", ["T", "T"]),
        ("é = 'é'; x.relu(é)", ["relu(é)"]),
        ("'é', x.relu(1)", ["relu(1)"]),
        ("[one.relu(1) for one in (x,)]", ["relu(1)"]),
        ("(lambda: x.relu(1))()", ["relu(1))()"]),
        ("f'{x.relu(1)}'", ["relu(1)}'"]),
        ("assert not x.relu(1) is None", ["relu(1)"]),
        ("y = (x\n  .relu(1)\n  .sum(2)\n  + x)", ["relu(1)", "sum(2)", "x"]),
        ("x.relu(\n  1\n) .sum(2)", ["relu(", "sum(2)"]),
    ],
)
def test_an_operation_is_at_its_name_or_operator(code, expected, tmp_path):
    file = tmp_path / "code.py"
    file.write_text(code)
    noted: list[str] = []
    exec(compile(code, str(file), "exec"), {"x": Operand(noted, str(file))})
    assert noted == expected
