"""Where the text of a dump of MLIR begins and ends in what a log has below a banner."""

from __future__ import annotations

import pytest

from irwidget.readers import mlir
from irwidget.readers.mlir import Body

MODULE = b"module {\n  func.func @f() {\n  }\n}\n"
ALIAS = b"#m = affine_map<(d0) -> (d0)>\n"
RESOURCES = b"{-#\n  dialect_resources: {\n  }\n#-}\n"


@pytest.mark.parametrize(
    ("before", "text", "after", "said"),
    [
        (b"", MODULE, b"", ("module", "", False)),
        (b"", ALIAS + b"\n" + MODULE, b"", ("module", "", False)),
        (b"", b"// hi\n" + MODULE + b"\n\n", b"[1] noise\n", ("module", "", False)),
        (b"[1] step: 3\nx.py:4: slow\n", MODULE, b"", ("module", "", False)),
        (b"", MODULE[:-3], b"", ("module", "", True)),
        (b"", MODULE[:-1], b"", ("module", "", False)),
        (b"", MODULE + b"\n" + RESOURCES, b"noise\n", ("module", "", False)),
        (b"", MODULE + RESOURCES, b"\n" + ALIAS + MODULE, ("module", "", False)),
        (b"", MODULE + ALIAS, b"noise\n", ("module", "", False)),
        (b"", MODULE + b"\n", ALIAS + MODULE, ("module", "", False)),
        (b"", MODULE + b"\n" + ALIAS + b"\n", ALIAS + MODULE, ("module", "", False)),
        (b"", b'func.func private @f() attributes {a = "{"}\n', b"x\n}\n", ("func.func", "f", False)),
        (b"", b'module @m attributes {a = "{"} {\n}\n', b"}\n", ("module", "m", False)),
        (b"", b'"builtin.module"() ({\n}) : () -> ()\n', b"", ("builtin.module", "", False)),
        (b"", b"func.func private @f()", b"", ("func.func", "f", True)),
        (b"", b"func.func private @f()\n", b"", ("func.func", "f", False)),
        (b"", b"func.func private @f()\n", b"noise\n", ("func.func", "f", False)),
        (b"", b"", b"", ("", "", False)),
        (b"", b"[1] x\n", b"", ("", "", False)),
        (b"", b"[1] x", b"", ("", "", True)),
    ],
)
def test_the_text_of_a_dump(before, text, after, said):
    operation, symbol, cut = said
    expected = Body(len(before), len(before) + len(text), cut, operation, symbol)
    assert mlir.body(before + text + after) == expected


@pytest.mark.parametrize(
    ("line", "banner"),
    [
        ("IR Dump After CSE (cse) Failed ('func.func' operation: @f)", ("After", "cse", "", True, "func.func @f")),
        ("IR Dump Before A: b{x=1  y=2} ('module' operation)", ("Before", "b", "x=1 y=2", False, "module")),
        ("IR Dump After mlir::(anonymous namespace)::Foo ()", ("After", "Foo", "", False, "")),
        ("IR Dump After mlir::Foo", ("After", "Foo", "", False, "")),
        ("IR Dump After A: unknown<mlir::Foo>", ("After", "Foo", "", False, "")),
        ("IR Dump", ("After", "print-ir", "", False, "")),
        ("IR Dump a label", ("After", "a label", "", False, "")),
    ],
)
def test_what_a_banner_says(line, banner):
    inside = line in ("IR Dump", "IR Dump a label")
    said = f"[1] // -----// {line} //----- //".encode()
    assert mlir.banner(said) == mlir.MLIRBanner(*banner, column=4, inside=inside)
    assert mlir.banner(said.replace(b"IR", b"ID")) is None


def test_what_else_begins_a_dump():
    assert mlir.banner(b"// *** IR Dump Before Foo ***") == mlir.MLIRBanner("Before", "Foo", "", False, "", 0)
    own = b"// -----// Pipeliner internal IR Dump After: Lower\n"
    assert mlir.banner(own) == mlir.MLIRBanner("After", "Pipeliner: Lower", "", False, "", 0, inside=True)
    assert mlir.unmarked("After", "CSE (cse) Failed") == mlir.MLIRBanner("After", "cse", "", True, "", 0)


NESTED = b"""module {
  module @a {
    func.func @f(%arg0: i32)
    "m.func"() <{sym_name = "q r"}> : () -> ()
  }
  module @b {
    func.func private @f(%0: i64)
  }
  func.func @g() {
  }
}
"""


def test_the_functions_of_a_text_with_what_they_are_in():
    found = [
        (one.operation, one.symbol, one.indent, mlir.container(NESTED, one), mlir.signature(NESTED, one.at))
        for one in mlir.functions(NESTED)
    ]
    assert found == [
        ("func.func", "f", 4, "a", b"func.func @f(%: i32)"),
        ("m.func", "q r", 4, "a", b'"m.func"() <{sym_name = "q r"}> : () -> ()'),
        ("func.func", "f", 4, "b", b"func.func private @f(%: i64)"),
        ("func.func", "g", 2, "", b"func.func @g() {"),
    ]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (b"a = 1\n" + ALIAS + MODULE, 6),
        (b"x\n" + MODULE + b"module @b {\n}\n", 2 + len(MODULE)),
        (b"  module {\n", -1),
        (b'"builtin.module"() ({\n', 0),
    ],
)
def test_where_the_last_module_begins(text, at):
    assert mlir.last_module(text) == at
