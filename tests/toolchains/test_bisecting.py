"""A search among releases, as text, as data, and where a lowering fails in it."""

from __future__ import annotations

import copy
import dataclasses
import re

import pytest

import irwidget
from irwidget import bisecting
from irwidget.errors import LoweringInterrupted, ToolError, UnsupportedError, UsageError
from irwidget.queries import comparing
from tests.toolchains.kernels import column


def test_all_that_a_search_found_is_told_as_data_and_text(monkeypatch):
    text = "func.func @f(%a: i32) -> i32 {{\n  %0 = arith.{} %a, %a : i32\n  return %0 : i32\n}}"
    same, other = (irwidget.lower(text.format(name), to="raw_ir") for name in ("addi", "muli"))
    made = {"1": same, "2": copy.copy(same), "4": other, "6": copy.copy(other)}

    def lower(*given, toolchain, **options):
        assert (given, options) == ((column, 1), {"to": "raw_ir", "elide": False})
        if toolchain in ("x==3", "x==7"):
            raise UnsupportedError("it has no a.b\nand more")
        if toolchain == "x==8":
            raise ToolError("pip has it not\nand more", tool="pip")
        return made[toolchain.partition("==")[2]]

    monkeypatch.setattr(bisecting, "lower", lower)
    heard, known = [], {"6": made["6"]}
    found = irwidget.bisect(
        column, 1, to="raw_ir", elide=False, package="x", versions=["1", *"12345678"], known=known,
        progress=lambda *said: heard.append(said),
    )  # fmt: skip
    differs = irwidget.compare(same, other).summary
    tried = {
        "1": "what the others are compared with",
        "2": "they start the same; the results are the same",
        "3": "not tried: it has no a.b",
        "4": differs,
        "6": differs,
        "7": "not tried: it has no a.b",
        "8": "not tried: pip has it not",
    }
    summary = f"x 4 is the first that is another than 2 (3 cannot be told): {differs}"
    assert found.to_dict() == {
        "package": "x", "versions": [*"12345678"], "good": "2", "bad": "4", "summary": summary,
        "tried": tried, "comparison": comparing.answer(irwidget.compare(made["2"], other)),
    }  # fmt: skip
    assert list(found.tried) == sorted(tried)
    assert sorted(heard) == sorted(tried.items())
    assert known == {"6": made["6"]}, "what was given is left as it was"
    told = [summary, *(f"x {version}: {said}" for version, said in tried.items() if version != "4")]
    assert str(found) == "\n".join(["\n  ".join(told), str(irwidget.compare(made["2"], other))])
    shown, _ = found._repr_mimebundle_()
    assert shown["text/plain"] == str(found)
    before, _, _ = shown["text/html"].partition("<details")
    assert re.findall("<p>(?:<strong>)?(.*?)(?:</strong>)?</p>", before) == told, "which has the comparison's summary"
    assert dataclasses.replace(found, lowerings={"4": other}).comparison is None


def test_what_failed_is_judged_by_the_predicate_and_told_in_its_first_line(monkeypatch):
    with pytest.raises(irwidget.PassError) as lower_down:
        irwidget.lower("func.func @f() {\n\n  a.b\n  return\n}", to="raw_ir")
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
        return lower_down.value.lowering if toolchain == "x==4" else low

    monkeypatch.setattr(bisecting, "lower", lower)
    how = {"to": "raw_ir", "package": "x", "predicate": lambda low: low.failure}
    found = irwidget.bisect(column, versions=["1", "2"], **how)
    assert found.tried == dict.fromkeys("12", f"bad; fails: {message[0]}")
    assert found.summary == "No change from x 1 to 2, of those that were tried (both are bad)"
    with pytest.raises(UsageError, match="nothing to lower"):
        irwidget.bisect(column, versions=["1", "3"], **how)
    assert lower_down.value.lowering.failure.message != low.failure.message
    again = irwidget.bisect(column, versions=["1", "4"], to="raw_ir", package="x")
    assert again.summary == "No change from x 1 to 4, of those that were tried"


def test_what_an_interrupted_release_had_made_is_kept(monkeypatch):
    low = irwidget.lower("func.func @f() {\n  return\n}", to="raw_ir")

    def lower(*_, **__):
        stop = LoweringInterrupted("interrupted")
        stop.lowering = low
        raise stop

    monkeypatch.setattr(bisecting, "lower", lower)
    with pytest.raises(LoweringInterrupted, match="interrupted after 0 of 2 releases of x") as raised:
        irwidget.bisect(column, to="raw_ir", package="x", versions=["1", "2"])
    assert (raised.value.lowering, raised.value.lowerings) == (low, {})
