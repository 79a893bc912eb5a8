"""What the browser gets: packing and its invariants.

js/test/packed.json is what js/test/unpack.test.ts reads back, js/test/partly.json the same lowering before its dumps
have arrived and after one was lost; `python -m tests.views.test_packing` writes both anew.
"""

from __future__ import annotations

import base64
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irwidget.errors import ToolError
from irwidget.trace import (
    Content,
    Diagnostic,
    Dump,
    Failure,
    Location,
    Scope,
    Step,
    Trace,
    Verdict,
    dump,
    file,
    lines_of,
    reading,
)
from irwidget.views import packing
from irwidget.views.packing import Packer, facts_of, first_shown, last_change, pack, predecessors
from tests.format import reader
from tests.late import late_dump
from tests.views.lowerings import SOURCE, lower
from tests.views.test_syntax import BLANK

PACKED = Path(__file__).parents[2] / "js/test/packed.json"
PARTLY = Path(__file__).parents[2] / "js/test/partly.json"


def unpack(data: bytes) -> tuple[dict[str, Any], list[list[list[str]]], list[list[list[int] | None]]]:
    """What the file and its view say, then for each trace and dump its lines, and the line of each in the sources."""
    found = reader.read(data)
    for trace, view in zip(found["traces"], found["view"]["traces"], strict=True):
        trace |= view
        for dump_, stage in zip(trace["dumps"], view["stages"], strict=True):
            stage["ready"] = dump_["text"] is not None
    dumps = [trace["dumps"] for trace in found["traces"]]
    lines = [[dump_["lines"] or [] for dump_ in one] for one in dumps]
    places = [[[place[1] if place else 0 for place in dump_.get("at", ())] for dump_ in one] for one in dumps]
    return found, lines, places


def test_dumps_that_differ_in_one_thing_keep_it():
    """What several have in common is encoded once."""
    steps = (Step("opt", "-O1"), Step("llc", ""))
    scopes = (Scope(), Scope(function="f"), Scope(function="f"), Scope(loop="l", function="f"), Scope(anchor="m"))
    said = [("a", 0, "mlir", "", 0.0), ("b", 0, "mlir", "", 0.0), ("a", 1, "mlir", "", 0.0), ("a", 0, "llvm", "", 0.0),
            ("a", 0, "mlir", "x=1", 0.0), ("a", 0, "mlir", "", 1.0), ("a", 0, "mlir", "", -0.0)]  # fmt: skip
    dumps = tuple(
        replace(dump(name, "x", step=step, language=language, options=options, seconds=took), scope=scope, pipeline=at)
        for at in ("", "p") for scope in scopes for name, step, language, options, took in said
    )  # fmt: skip
    states = ["equal" if number % 3 else "differs" for number in range(len(dumps))]
    each = tuple(Verdict(state, index=number) for number, state in enumerate(states) if number % 2)
    (seen,) = reading.unpacked(
        pack([trace := Trace("t", dumps, steps=steps, check=Verdict("equal", each=each))])
    ).traces
    assert [replace(one, texts=dumps[0].texts, index=0) for one in seen.dumps] == list(dumps)
    assert [repr(one.seconds) for one in seen.dumps] == [repr(one.seconds) for one in dumps]
    stages = unpack(pack([trace]))[0]["traces"][0]["stages"]
    for number, (stage, one) in enumerate(zip(stages, dumps, strict=True)):
        part, judged = "" if one.scope.whole else str(one.scope), states[number] if number % 2 else ""
        assert (stage["step"], stage["scope"], stage["part"]) == (str(steps[one.step]), str(one.scope), part)
        assert (stage["syntax"], stage["check"]) == (one.language, judged)
    assert [stage["label"] for stage in stages] == packing.repeated([one.name for one in dumps])
    assert [stage["before"] for stage in stages] == predecessors(dumps)


def test_a_refusal_says_itself_once():
    """Its message has the place in words; of a pass only the diagnostic has one."""
    said = Diagnostic("error", "no such op", Location("/tmp/cell.py", 4))
    failure = Failure(-1, "front end", "no such op\n  at In[3] line 4", (said, Diagnostic("note", "try another")))
    refused = Trace("t", (dump("source", "x", step=-1, language="python"),), failure=failure)
    assert packing.failure_of(refused)["diagnostics"] == ["note: try another"]
    passed = replace(refused, steps=(Step("opt", ""),), failure=replace(failure, step=0))
    assert packing.failure_of(passed)["diagnostics"] == ["/tmp/cell.py:4: error: no such op", "note: try another"]


words = st.sampled_from(["%", " = f ", "é\r\x00", "<script>", "\udcff", "ÿ", "x", "-", "."])
digits = st.sampled_from(["0", "00", "007", "1", "2", "999999999", "1000000000"])
pieces = words | digits | st.integers(0, 2**40).map(str)
texts = st.lists(st.lists(pieces, max_size=6).map("".join), max_size=8).map("\n".join)


def shown(text: str) -> list[str]:
    """The lines of a text as the page shows them: with what is not UTF-8 as its escape."""
    return lines_of(text.encode("utf-8", "backslashreplace").decode())


@given(st.lists(st.lists(texts, min_size=1, max_size=5), min_size=1, max_size=3), st.data())
def test_every_text_comes_back(traces, data):
    made = [Trace("t", tuple(dump(f"p{i}", text, step=0) for i, text in enumerate(one))) for one in traces]
    packer = Packer(made)
    places = [(i, j) for i, one in enumerate(traces) for j in range(len(one))]
    before = b""
    while not packer.complete:
        packer.add(data.draw(st.none() | st.sets(st.sampled_from(places))))
        assert packer.data.startswith(before)
        before = packer.data
    for packed in (packer.data, pack(made)):
        _, lines, _ = unpack(packed)
        assert lines == [[lines_of(text) for text in one] for one in traces]


def test_large_dumps_are_cut_into_chunks(monkeypatch):
    monkeypatch.setattr(file, "CHUNK", 100)
    trace = lower()
    _, lines, places = unpack(pack([trace]))
    assert lines == [[lines_of(one.text) for one in trace.dumps]]
    assert all(places[0])


def hard_traces() -> list[Trace]:
    """Lines with every sort of number and letter, in dumps that share some of them, with places and attachments."""
    chance = random.Random(4)
    parts = ["%", " = arith.addi ", "é\r\x00", "ÿ<b>", "\udcff", "𝄞", "0", "00", "0.0", "9", "10", "99"]
    parts += ["100", "999999999", "1000000000", "123456789012345"]
    lines = ["".join(chance.choices([*parts, str(chance.randrange(10**6))], k=chance.randrange(9))) for _ in range(200)]
    lines += [f"  %{i} = llvm.add %{i - 1}, %{i % 7} : i64" for i in range(1, 300)]
    for line, _ in BLANK:
        lines += [re.sub(r"\d+", lambda _: str(chance.randrange(30)), line) for _ in range(4)]

    def text() -> str:
        start = chance.randrange(len(lines) - 90)
        return "\n".join([*lines[start : start + 90], *chance.choices(lines, k=40)]) + "\n"

    def one(name: str, repeated: str) -> Trace:
        texts = [text(), text(), "", repeated, text()]
        some = [None, Location("cell", chance.randrange(1, 99), 3), Location("elsewhere.py", 3)]
        located = tuple(chance.choice(some) for _ in range(100))
        dumps = tuple(dump(f"p{i}", each, step=0, locations=located if i != 1 else ()) for i, each in enumerate(texts))
        return Trace("t", dumps, name=name, sources={"cell": "x"}, attachments={"a.bin": bytes(range(256))})

    same = text()
    return [one("a", same), one("b", same)]


def hard_data(traces: list[Trace]) -> bytes:
    packer = Packer(traces)
    packer.add({(1, 3), (0, 1)})
    packer.add()
    return packer.data


def test_the_browsers_test_reads_what_is_packed_now():
    kept = json.loads(PACKED.read_text())
    traces = hard_traces()
    meta, lines, places = unpack(base64.b64decode(kept["data"]))
    assert lines == [[lines_of(one.text) for one in trace.dumps] for trace in traces]
    assert kept["lines"] == [[shown(one.text) for one in trace.dumps] for trace in traces]
    assert (meta, lines, places) == unpack(hard_data(traces)), "python -m tests.views.test_packing"


def partly_data() -> tuple[bytes, bytes]:
    """Seven dumps of which the second and the sixth are late; and when the sixth will never come."""
    texts = ["a\nb", "a\nc", "a\nc\nd", "a\nc\nd", "a\nc\nd", "x", "y"]
    arrived: set[int] = {0, 2, 3, 4, 6}

    def late(i: int) -> Dump:
        return late_dump(f"p{i}", lambda: Content(f"{texts[i]}\n"), lambda: i in arrived)

    packer = Packer([Trace("t", tuple(late(i) for i in range(7)))])
    packer.add()
    some = packer.data
    arrived.add(1)
    packer.add()
    packer.finish()
    return some, packer.data


def test_the_browsers_test_reads_a_lowering_as_it_arrives():
    kept = json.loads(PARTLY.read_text())
    for data, name in zip(partly_data(), ("some", "end"), strict=True):
        assert unpack(base64.b64decode(kept[name])) == unpack(data), "python -m tests.views.test_packing"


def test_a_chunk_that_there_is_no_memory_for_can_be_packed_again_or_given_up(monkeypatch):
    def full(*_, **__):
        raise MemoryError

    trace = Trace("t", (dump("a", "x\n", step=0), dump("b", "y\nx\n", step=0)), attachments={"k.o": b"1"})
    for at_once in (False, True):
        packer = Packer([trace])
        packer.add({(0, 0)})
        with monkeypatch.context() as patched:
            patched.setattr("irwidget.trace.chunks.zlib.compressobj", full)
            with pytest.raises(MemoryError):
                packer.add()
        packer.finish(at_once=at_once)
        assert unpack(packer.data)[1] == [[["x"], [] if at_once else ["y", "x"]]]


@pytest.mark.parametrize(
    ("names", "passes", "failed", "shown"),
    [("ab", (1, 1), None, 0), ("ab", (1, 2), None, 1), ("ab", (2, 1), 1, 1), ("aa", (1, 2), None, 0)],
)
def test_of_a_log_s_lowerings_the_one_that_failed_or_is_longest_comes_first(names, passes, failed, shown):
    traces = [
        Trace("t", tuple(dump("p", "x\n", step=0) for _ in range(count)), name=name)
        for name, count in zip(names, passes, strict=True)
    ]
    if failed is not None:
        traces[failed] = replace(traces[failed], failure=Failure(step=0, pass_name="p", message="no"))
    assert first_shown(traces) == shown


def test_what_will_never_come_is_said_to_be_lost_and_a_known_result_is_given():
    def gone() -> Content:
        raise ToolError("gone", tool="worker")

    def one(known: str | None) -> Dump:
        return late_dump("p", gone, known=known)

    packer = Packer([Trace("t", (dump("a", "x\n", step=0), one(None), one("z\n")))])
    packer.add()
    before = packer.data
    packer.finish()
    assert packer.data.startswith(before)
    _, lines, _ = unpack(packer.data)
    assert lines == [[["x"], [], ["z"]]]
    found = reader.read(packer.data)
    assert [lost[:2] for lost in found["lost"]] == [[0, 1]]
    assert found["end"]
    assert packer.complete
    before = packer.data
    packer.finish()
    assert packer.data == before


def test_what_is_wanted_comes_first():
    trace = Trace("t", tuple(dump(f"p{i}", f"x{i}\n", step=0) for i in range(4)))
    packer = Packer([trace])
    packer.add({(0, 2), (0, 3)})
    meta, lines, _ = unpack(packer.data)
    assert [stage["ready"] for stage in meta["traces"][0]["stages"]] == [False, False, True, True]
    assert lines[0][2:] == [["x2"], ["x3"]]


def test_equal_traces_make_equal_bytes():
    def one() -> Trace:
        return Trace("t", (dump("a", "x\ny\n", step=0), dump("b", "x\nz\n", step=0)))

    assert pack([one()]) == pack([one()])


def test_places_follow_their_lines():
    trace = lower()
    meta, _, places = unpack(pack([trace]))
    assert meta["sources"] == [["cell", SOURCE]]
    for content, found in zip((one.content for one in trace.dumps), places[0], strict=True):
        assert found == [place.line if place else 0 for place in content.locations]


def test_a_dump_that_is_not_ready_is_named_and_not_waited_for():
    def never() -> Content:
        raise AssertionError("waited for")

    missing = late_dump("cse", never)
    meta, lines, _ = unpack(pack([Trace("t", (dump("input", "x", step=0), missing))]))
    assert [stage["ready"] for stage in meta["traces"][0]["stages"]] == [True, False]
    assert lines == [[["x"], []]]


def test_a_failure_crosses_with_its_diagnostics():
    said = Diagnostic("error", "no", Location("cell", 3))
    failure = Failure(0, "cse", "it failed", diagnostics=(said,), reproducer="mlir-opt x")
    meta, _, _ = unpack(pack([Trace("t", (dump("a", "", step=0),), (Step("mlir-opt", ""),), failure=failure)]))
    assert meta["traces"][0]["failure"] == {
        "step": "mlir-opt", "pass": "cse", "message": "it failed", "diagnostics": ["cell:3: error: no"],
        "reproducer": "mlir-opt x",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("scopes", "before"),
    [
        ("m m::::func.func m::::gpu.module m::::any", [-1, 0, 1, 2]),
        ("l l::f l::g l::f l l::g", [-1, 0, 0, 1, 0, 2]),
        ("m l:k1 l:k2 l:k1 l:k2 p p", [-1, 0, 0, 1, 2, -1, 5]),
        ("m l p:k1 p", [-1, 0, 1, -1]),
        ("l:k l:k:f l:k:g l:k:f l:k", [-1, 0, 0, 1, 0]),
        ("l::f l::g l::f", [-1, -1, 0]),
        ("l l::f l::f:%bb l::f:%bb l::g:%bb l::f", [-1, 0, -1, 2, -1, 1]),
        ("l:k l:k:f:%bb l:k l:k:f l:k:f:%bb", [-1, -1, 0, 2, 1]),
    ],
)
def test_a_dump_is_compared_with_the_last_of_its_scope(scopes, before):
    languages = {"m": "mlir", "l": "llvm", "p": "ptx"}
    split = [word.split(":") for word in scopes.split()]
    dumps = [dump("p", "", step=0, language=languages[first], scope=Scope(*rest)) for first, *rest in split]
    assert predecessors(dumps) == before


@pytest.mark.parametrize(
    ("texts", "at"), [(["a"], 0), (["a", "b"], 1), (["a", "b", "b"], 1), (["a", "a"], 1), (["a", "b", "a", "a"], 2)]
)
def test_the_last_change(texts, at):
    assert last_change(Trace("t", tuple(dump("p", text, step=0) for text in texts))) == at


def test_facts_are_short():
    facts = {"least": {"size": 2.98e-08, "ok": True}, "registers": 32, "kernels": ["a", "b"]}
    trace = Trace("t", (), facts=facts, check=Verdict("differs", "cse"))
    assert facts_of(trace) == [
        ("check", "differs after cse"),
        ("least", "size 2.98e-08, ok yes"),
        ("registers", "32"),
        ("kernels", "a, b"),
    ]


if __name__ == "__main__":
    traces = hard_traces()
    lines = [[shown(one.text) for one in trace.dumps] for trace in traces]
    data = base64.b64encode(hard_data(traces)).decode()
    PACKED.write_text(json.dumps({"data": data, "lines": lines}) + "\n", encoding="utf-8")
    coded = dict(zip(("some", "end"), (base64.b64encode(one).decode() for one in partly_data()), strict=True))
    PARTLY.write_text(json.dumps(coded) + "\n", encoding="utf-8")
