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
