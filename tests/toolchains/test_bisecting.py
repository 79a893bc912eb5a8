"""A search among releases, as text, as data, and where a lowering fails in it."""

from __future__ import annotations

import copy
import dataclasses

import pytest

import irwidget
from irwidget import bisecting
from irwidget.errors import UnsupportedError, UsageError
from irwidget.queries import comparing
from tests.toolchains.kernels import column


def test_all_that_a_search_found_is_told_as_data_and_text(monkeypatch):
    text = "func.func @f(%a: i32) -> i32 {{\n  %0 = arith.{} %a, %a : i32\n  return %0 : i32\n}}"
    same, other = (irwidget.lower(text.format(name), to="raw_ir") for name in ("addi", "muli"))
    made = {"1": same, "2": copy.copy(same), "4": other, "5": copy.copy(other)}

    def lower(*given, toolchain, **options):
        assert (given, options) == ((column, 1), {"to": "raw_ir", "elide": False})
        if toolchain == "x==3":
            raise UnsupportedError("x 3 has no a.b\nand more")
        return made[toolchain.partition("==")[2]]

    monkeypatch.setattr(bisecting, "lower", lower)
    heard, known = {}, {"5": made["5"]}
    found = irwidget.bisect(
        column, 1, to="raw_ir", elide=False, package="x", versions=["1", "1", "2", "3", "4", "5"], known=known,
        progress=heard.__setitem__,
    )  # fmt: skip
    differs = irwidget.compare(same, other).summary
    tried = {
        "1": "what the others are compared with",
        "2": "they start the same; the results are the same",
        "3": "not tried: x 3 has no a.b",
        "4": differs,
        "5": differs,
    }
    summary = f"x 4 is the first that is another than 2 (3 cannot be told): {differs}"
    assert found.to_dict() == {
        "package": "x", "versions": ["1", "2", "3", "4", "5"], "good": "2", "bad": "4", "summary": summary,
        "tried": tried, "comparison": comparing.answer(irwidget.compare(made["2"], other)),
    }  # fmt: skip
    assert list(found.tried) == sorted(tried)
    assert heard == tried
    assert known == {"5": made["5"]}, "what was given is left as it was"
    lines = [summary, *(f"  x {version}: {said}" for version, said in tried.items()), str(found.comparison)]
    assert str(found) == "\n".join(lines)
    assert dataclasses.replace(found, lowerings={"4": other}).comparison is None


def test_what_failed_is_judged_by_the_predicate_and_told_in_its_first_line(monkeypatch):
    with pytest.raises(irwidget.PassError) as raised:
        irwidget.lower("func.func @f() {\n  a.b\n  return\n}", to="raw_ir")
    low = raised.value.lowering
    message = low.failure.message.splitlines()
    assert len(message) > 1

    def lower(*_, toolchain, **__):
        if toolchain == "x==2":
            raise raised.value
        if toolchain == "x==3":
            raise UsageError("nothing to lower")
        return low

    monkeypatch.setattr(bisecting, "lower", lower)
    how = {"to": "raw_ir", "package": "x", "predicate": lambda low: low.failure}
    found = irwidget.bisect(column, versions=["1", "2"], **how)
    assert found.tried == dict.fromkeys("12", f"bad; fails: {message[0]}")
    assert found.summary == "No change from x 1 to 2, of those that were tried (both are bad)"
    with pytest.raises(UsageError, match="nothing to lower"):
        irwidget.bisect(column, versions=["1", "3"], **how)
