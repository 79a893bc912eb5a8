"""What of the constants that a text only names is known: by name and type, and by line where they have no name."""

import pytest

from irwidget.toolchain import named
from irwidget.toolchain.named import Constants

TYPES = {"w": "tensor<8xf32>", "v": "tensor<8xf32>", "small": "tensor<2xf32>"}
W = "dense_resource<w> : tensor<8xf32>"
MADE = "dense_resource<__elided__> : tensor<8x8xf32>"
SMALL = '{-#\n  dialect_resources: {\n    builtin: {\n      small: "0x01"\n    }\n  }\n#-}\n'
NAMED = "dense_resource<small> : tensor<2xf32>"


@pytest.mark.parametrize(("text", "before", "known", "left_out"), [
    (f"%0 = {W}\n", "", ["w"], []),
    ("@g = dense_resource<w>\n", "", ["w"], []),
    (f"%0 = {W}\n%1 = {W.replace('<w>', '<u>')}\n", "", ["w"], ["u"]),
    (f"%0 = {W.replace('8x', '1x8x')}\n", "", [], ["w"]),
    (f"%0 = {W.replace('8x', '1x8x')}\n", f"%0 = {W.replace('8x', '1x8x')}\n", ["w"], []),
    (f"%0 = {W}\n%1 = {NAMED}\n{SMALL}", SMALL, ["w", "small"], []),
    (f"%0 = {W}\n%1 = {NAMED}\n{SMALL.replace('01', '02')}", SMALL, [], ["w"]),
    (f"%1 = {NAMED}\n{SMALL}", SMALL, [], []),
    (f"%0 = {W}\n%1 = {MADE}\n", f"%1 = {MADE}\n%2 = {MADE}\n", [0, "w"], []),
    (f"%2 = {MADE}\n%1 = {MADE}\n", f"%1 = {MADE}\n%2 = {MADE}\n", [1, 0], []),
    (f"%3 = {MADE}\n%1 = {MADE}\n", f"%1 = {MADE}\n%2 = {MADE}\n", [0], ["__elided__"]),
    (f"%1 = {MADE}\n", f"%1 = {MADE}\n}}\n%1 = {MADE}\n", [], ["__elided__"]),
    (f"%1 = {MADE}\n}}\n%1 = {MADE}\n", f"%1 = {MADE}\n", [], ["__elided__"]),
    (f"%1 = f({MADE}, {MADE})\n", f"%0 = {MADE}\n%1 = f({MADE}, {MADE})\n", [1, 2], []),
    ("@g = external constant [8 x float]\n", "", [], ["g"]),
])  # fmt: skip
def test_what_is_known_of_the_constants_that_a_text_only_names(text, before, known, left_out):
    made = named.naming(text, before, Constants(b"", TYPES), (), 1)
    places = made.places if made else ()
    assert [one.constant for one in places] == known
    assert named.left_out(text, made) == left_out
    for one in places:
        assert text[one.start : one.end] == (one.constant if isinstance(one.constant, str) else "__elided__")
