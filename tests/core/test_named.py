"""What of the constants that a text only names is known: by name and type, and by line where they have no name."""

import pytest

from irwidget.toolchain import mlir, named
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


def _numbers(whole):
    return f"dense<[{', '.join(f'{whole}.{i}' for i in range(10, 22))}]> : tensor<12xf32>"


COMPLEX = f"dense<[{', '.join(f'({i}.0, 1.0)' for i in range(12))}]> : tensor<12xcomplex<f32>>"
TWO = f"%a = arith.constant {_numbers(1)}\n%b = arith.constant {_numbers(2)}"


@pytest.mark.parametrize(("body", "given"), [
    (TWO, True),
    (f"%z = arith.constant {COMPLEX}\n{TWO}", False),
    (f"func.call @f() {{x = [{_numbers(3)}]}} : () -> ()\n{TWO}", False),
    (f"return {{y = {_numbers(1)}, x = {_numbers(2)}}}", False),
], ids=["both", "one of complex numbers", "one in a list", "two of one operation"])  # fmt: skip
def test_constants_without_a_name_are_given_where_all_of_them_are_found(body, given):
    """Others would have another's number: values of the same type would be taken for each other."""
    text = f"func.func @f() {{\n{body}\n{'' if 'return' in body else 'return'}\n}}"
    context = mlir.new_context()
    before = mlir.MlirState(mlir.parse(text, context)).render(elide=True).text
    constants = [line for line in before.splitlines() if "__elided__" in line]
    others = [line for line in constants if line not in constants[-2:-1]] if constants[1:] else []
    edited = "\n".join(line for line in before.splitlines() if line not in others)
    naming = named.naming(edited, before, Constants(b"", {}), (), 1)
    other = mlir.parse(text, context := mlir.new_context())
    made = named.parsed(edited, naming, other, context)
    assert (made is not None) == given
    assert made is None or str(made) == str(mlir.parse(text.replace(TWO.splitlines()[1], ""), context))
