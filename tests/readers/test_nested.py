"""Modules in a module, printed by themselves: which they are, and that a dump is the module as it is by then."""

from __future__ import annotations

import textwrap

import irwidget
from irwidget.trace import predecessors
from tests.readers.test_open import BANNER

FUNCTION = "func.func @{}() {{\n  x.{}\n  return\n}}\n"


def module(head: str, *parts: str) -> str:
    return f"{head} {{\n{textwrap.indent(''.join(parts), '  ')}}}\n"


def log(*dumps: tuple[str, str]) -> str:
    return "".join(f"{BANNER.format(f'{name} ({name})')}{text}\n" for name, text in dumps)


def shown(text: str) -> list[tuple[str, str, str, bool]]:
    (low,) = irwidget.open(text)
    return [(dump.name, str(dump.scope), dump.text, dump.changed) for dump in low.dumps]


def test_the_first_pass_may_run_on_modules_in_the_module_next():
    """As `builtin.module(canonicalize,builtin.module(canonicalize,cse))` does."""
    a, b, new = (
        module(f"module @{name}", FUNCTION.format(f"f{name}", op)) for name, op in (("a", "x"), ("b", "x"), ("b", "y"))
    )
    assert shown(log(("p", module("module", a, b)), ("p", a), ("q", a), ("p", b), ("q", new))) == [
        ("p", "module", module("module", a, b), True),
        ("p", "module @a", module("module", a, b), False),
        ("q", "module @a", module("module", a, b), False),
        ("p", "module @b", module("module", a, b), False),
        ("q", "module @b", module("module", a, new), True),
    ]


TWINS = [module(f"module @{name}", FUNCTION.format("f", op)) for name, op in map(list, ("ax", "ay", "bx", "by", "bz"))]


def test_a_function_is_in_the_module_that_was_printed_before_and_after_it():
    """Where the log has each pass, also those that change nothing, a module's pipeline ends before another's begins."""
    ax, ay, bx, by, bz = TWINS
    fx, fy, fz = (FUNCTION.format("f", op) for op in "xyz")
    dumps = [
        ("m", ax, bx),
        ("n", ax, bx),
        ("o", ax, bx),
        ("p", ax),
        ("q", fy),
        ("p", ay),
        ("p", bx),
        ("q", fx),
        ("q", fy),
        ("r", fz),
        ("p", bz),
    ]
    texts = [(name, module("module", *parts) if len(parts) == 2 else parts[0]) for name, *parts in dumps]
    here = [*[(ax, bx)] * 4, (ay, bx), (ay, bx), (ay, bx), (ay, bx), (ay, by), (ay, bz), (ay, bz)]
    scopes = [
        *["module"] * 3,
        "module @a",
        "func.func @f in @a",
        "module @a",
        "module @b",
        *["func.func @f in @b"] * 3,
        "module @b",
    ]
    assert shown(log(*texts)) == [
        (name, scope, module("module", *parts), i == 0 or parts != here[i - 1])
        for i, ((name, _), scope, parts) in enumerate(zip(texts, scopes, here, strict=True))
    ]
    few = [one for one in texts if one not in [(name, module("module", ax, bx)) for name in "no"]]  # as -after-change
    (low,) = irwidget.open(log(*few))
    assert sum("(text" in str(dump.scope) for dump in low.dumps) == 4


def test_modules_without_a_name_that_have_the_same_functions_are_not_compared():
    x, y = (module("module", FUNCTION.format("f", op)) for op in "xy")
    (low,) = irwidget.open(log(("m", module("module", x, x)), ("p", x), ("q", y), ("p", x)))
    assert [str(dump.scope) for dump in low.dumps[1:]] == [f"module of @f (text {i})" for i in (1, 2, 3)]
    assert predecessors(low.dumps)[1:] == [0, 0, 0]
    (remark,) = low.diagnostics
    assert remark.message.startswith("Which of several module of @f its texts are, the log does not say of all")


def test_a_map_of_a_function_is_named_in_a_module_that_has_named_none_yet():
    part = "func.func @f() {\n  x.y affine_map<(d0) -> (d0)>\n}\n"
    plain = module("module", FUNCTION.format("f", "affine_map_3"))
    made = f"#map = affine_map<(d0) -> (d0)>\n{module('module', part)}".replace(
        "x.y affine_map<(d0) -> (d0)>", "x.y #map"
    )
    assert shown(log(("p", plain), ("q", part)))[1][2] == made
    spelt = module("module", part.replace("@f", "@g"), FUNCTION.format("f", "z"))  # --mlir-print-local-scope
    assert "#map" not in shown(log(("p", spelt), ("q", part)))[1][2]


def test_a_pass_that_moved_locations_only_is_said_to_have_changed_nothing():
    texts = [
        f"module {{\n  func.func @f() {{\n    x.y loc({at})\n  }}\n}}\n"
        for at in ("unknown", '"a.py":1:2', '"a.py":3:4')
    ]
    (low,) = irwidget.open(log(*zip("pqrs", (*texts, texts[2].replace("y", "z")), strict=True)))
    assert [dump.changed for dump in low.dumps] == [True, False, False, True]
    assert [dump.locations[2] and dump.locations[2].line for dump in low.dumps if dump.locations] == [None, 1, 3, 3]
