"""Traces with everything in them that a trace can have."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from hypothesis import strategies as st

from irwidget.errors import IRWidgetError, ToolError
from irwidget.trace import (
    Content,
    Diagnostic,
    Dump,
    Element,
    Failure,
    Location,
    Node,
    Scope,
    Step,
    Trace,
    Verdict,
    dump,
)
from tests.late import late_dump


def texts() -> Any:
    """Anything that Python calls a text: NUL, lone surrogates, no final newline, numbers of all lengths."""
    odd = st.sampled_from(
        ["\x00", "\udcff", "\ud800", "\r", "\ufeff", "\n", "\n\n", "%", "%d", "ÿ", "𝄞", " = f ", "007"]
    )
    digits = st.integers(0, 10**11).map(str)
    return st.lists(odd | digits | st.text(st.characters(), max_size=3), max_size=12).map("".join)


U32 = st.integers(0, 2**32 - 1)
LOCATIONS = st.recursive(
    st.builds(Location, texts(), U32, U32, st.none(), texts()),
    lambda inner: st.builds(Location, texts(), U32, U32, inner, texts()),
    max_leaves=3,
)
DIAGNOSTICS = st.recursive(
    st.builds(Diagnostic, st.sampled_from(["error", "warning", "remark", "note"]), texts(), st.none() | LOCATIONS),
    lambda inner: st.builds(
        Diagnostic, st.just("error"), texts(), st.none() | LOCATIONS, st.lists(inner, max_size=2).map(tuple)
    ),
    max_leaves=3,
)
NUMBERS = st.integers() | st.floats(allow_nan=False) | st.complex_numbers(allow_nan=False) | st.booleans()
VERDICTS = st.builds(
    Verdict, st.sampled_from(["equal", "differs", "not checked"]), texts(), st.none() | st.integers(), texts(),
    st.none() | st.floats(allow_nan=False), st.none() | st.floats(allow_nan=False),
    st.none() | st.builds(Element, texts(), st.lists(st.integers(), max_size=2).map(tuple), NUMBERS, NUMBERS),
)  # fmt: skip
KEYS = texts() | st.sampled_from(["$", "a"])
FACTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts() | st.binary(max_size=3) | NUMBERS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS | st.integers(), inner, max_size=3)
        | st.frozensets(st.integers(), max_size=2)
        | st.sets(texts(), max_size=2)
    ),
    max_leaves=8,
)


@st.composite
def dumps(draw: Any) -> Dump:
    places = draw(st.lists(st.none() | st.sampled_from(draw(st.lists(LOCATIONS, max_size=2)) or [None]), max_size=4))
    return dump(
        draw(texts()), draw(texts()), step=draw(st.integers(-1, 3)), language=draw(st.sampled_from(["mlir", "llvm"])),
        changed=draw(st.booleans()), locations=tuple(places), options=draw(texts()), seconds=draw(st.floats(0, 1e9)),
        scope=draw(st.builds(Scope, texts(), texts(), texts(), texts())),
    )  # fmt: skip


TRACES = st.builds(
    Trace, texts(), st.lists(dumps(), max_size=3).map(tuple),
    steps=st.lists(st.builds(Step, texts(), texts(), texts(), st.booleans()), max_size=2).map(tuple),
    diagnostics=st.lists(DIAGNOSTICS, max_size=2).map(tuple),
    tools=st.dictionaries(texts(), texts(), max_size=2),
    failure=st.none() | st.builds(
        Failure, st.integers(-1, 3), texts(), texts(), st.lists(DIAGNOSTICS, max_size=1).map(tuple),
        st.sampled_from(["usage", "pass", "tool", "unsupported"]), texts(), texts(),
    ),
    name=texts(),
    sources=st.dictionaries(texts(), texts(), max_size=2),
    attachments=st.dictionaries(texts(), st.binary(max_size=20), max_size=2),
    facts=st.dictionaries(texts(), FACTS, max_size=3),
    check=st.none() | st.builds(
        Verdict, st.just("differs"), each=st.lists(VERDICTS, max_size=2).map(tuple)
    ) | VERDICTS,
    nodes=st.lists(
        st.builds(Node, texts(), texts(), texts(), st.none() | LOCATIONS, st.integers(0, 9), st.booleans()), max_size=2
    ).map(tuple),
)  # fmt: skip


def plain(trace: Trace) -> Any:
    """All of a trace as data that compares whole: texts, and the names of locations, which `==` passes over."""
    named = ("target", "name", "tools", "sources", "attachments", "facts", "failure")
    return (
        [getattr(trace, name) if name != "failure" else trace.failure and asdict(trace.failure) for name in named],
        [asdict(one) for one in (*trace.steps, *trace.diagnostics, *trace.nodes)],
        trace.check and asdict(trace.check),
        [
            (one.name, one.step, one.language, one.options, one.seconds, one.scope, one.pipeline, content(one))
            for one in trace.dumps
        ],
    )


def content(one: Dump) -> Any:
    try:
        return asdict(one.content)
    except IRWidgetError as error:
        return str(error), getattr(error, "tool", "")


def whole() -> Trace:
    """The trace of the golden file: with one of everything."""
    called = Location("cell", 3, 7, Location("cell", 9, 1, name="graph.call"), "graph.add")
    said = Diagnostic("error", "no", called, (Diagnostic("note", "see", Location("lib.py", 2)),))

    def gone() -> Content:
        raise ToolError("the worker died", tool="worker")

    first = "func @f(%0: i32) {\n  %1 = add %0, 7 : i32\n  %2 = add %1, 8 : i32\n}\n"
    odd = "a\x00b \udcff\n\n007 1234567890\r\nno newline"
    return Trace(
        "nvptx",
        (
            dump("input", first, step=-1, locations=(None, called, called, None)),
            dump("cse", first, step=0, changed=False, options="a=1", seconds=0.3, scope=Scope(anchor="func.func")),
            replace(late_dump("late", gone), scope=Scope("k", "f", "%l"), pipeline="mlir-opt --late"),
            dump("odd", odd, step=1, language="ptx"),
        ),
        steps=(Step("mlir-opt", "--cse", "opt", True), Step("llc", "-O3")),
        diagnostics=(said,),
        tools={"torch-mlir": "20261001"},
        failure=Failure(1, "odd", "it failed", (said,), "tool", "llc", "llc -O3"),
        name="model é",
        sources={"cell": "def f(x):\n    return x + 7 + 8\n"},
        attachments={"kernel.cubin": bytes(range(256)), "empty": b""},
        facts={"registers": 32, "sizes": (1, 2**70), "least": {"error": float("inf"), 3: b"x"}, "$": 1 + 2j},
        check=Verdict("differs", "cse", 1, "one", 0.5, None, Element("result 0", (1, 2), 1 + 2j, 2.0)),
        nodes=(Node("graph.add", "aten.add", "add = aten.add(x)", called, 1, True),),
    )
