"""The widget without a browser: its state, its twins, and what it lets go of."""

from __future__ import annotations

import gc
import gzip
import subprocess
import sys
import threading
import weakref

import pytest

from irwidget import views
from irwidget.errors import ToolError, UsageError
from irwidget.trace import Content, Dump, Trace, chunks, dump
from irwidget.views import bundle
from tests.late import late_dump
from tests.views.lowerings import lower
from tests.views.test_packing import unpack


@pytest.fixture(scope="module")
def trace():
    return lower()


class Late:
    """Dumps that arrive when told to."""

    def __init__(self, *texts: str) -> None:
        self.arrived = threading.Event()
        self.dumps = tuple(
            late_dump(f"p{i}", lambda text=text: self._load(text), self.arrived.is_set) for i, text in enumerate(texts)
        )

    def _load(self, text: str) -> Content:
        assert self.arrived.wait(10)
        return Content(text)


def wait_for(widget: views.PassDiff, condition) -> None:
    done = threading.Event()
    widget.observe(lambda _: done.set() if condition() else None, "data")
    assert condition() or done.wait(10)


def ready(widget: views.PassDiff) -> list[bool]:
    return [stage["ready"] for stage in unpack(widget.data)[0]["traces"][0]["stages"]]


def test_it_starts_at_the_last_change(trace):
    widget = views.show([trace])
    assert (widget.left, widget.right) == (19, 20)
    assert widget.stages()[20] == "cse (3)"


def test_stages_count_from_the_end_too(trace):
    widget = views.show([trace])
    widget.right = -1
    widget.left = -21
    assert (widget.left, widget.right) == (0, 20)


@pytest.mark.parametrize(("name", "value"), [("right", 21), ("left", -22), ("trace", 1)])
def test_what_does_not_exist_cannot_be_chosen(trace, name, value):
    with pytest.raises(UsageError, match="There is no"):
        setattr(views.show([trace]), name, value)


@pytest.mark.parametrize("traces", [[], [Trace("t", ())]])
def test_nothing_cannot_be_shown(traces):
    with pytest.raises(UsageError, match="nothing to show"):
        views.show(traces)


def test_unknown_state_is_refused(trace):
    with pytest.raises(UsageError, match="colour"):
        views.PassDiff([trace], colour="red")


def test_what_is_there_is_shown_at_once_and_the_rest_when_it_arrives():
    late = Late("a\n", "b\n")
    widget = views.show([Trace("t", (*late.dumps, dump("p2", "c\n", step=0)))])
    assert ready(widget) == [False, False, True]
    assert (widget.left, widget.right) == (1, 2)
    late.arrived.set()
    wait_for(widget, lambda: all(ready(widget)))
    _, lines, _ = unpack(widget.data)
    assert lines == [[["a"], ["b"], ["c"]]]


def test_it_follows_to_the_last_change_however_soon_that_arrives():
    states = iter([False, False])  # Not there when the view looks where to open, and there ever after.
    last = late_dump("cse", lambda: Content("c\n"), lambda: next(states, True))
    widget = views.show([Trace("t", (dump("input", "a\n", step=0), dump("p1", "b\n", step=0), last))])
    wait_for(widget, lambda: (widget.left, widget.right) == (1, 2))


def test_a_selection_made_meanwhile_is_kept():
    late = Late("a\n", "b\n", "b\n")
    widget = views.show([Trace("t", (dump("input", "x\n", step=0), *late.dumps))])
    widget.right, widget.left = 1, 0
    late.arrived.set()
    wait_for(widget, lambda: all(ready(widget)))
    assert (widget.left, widget.right) == (0, 1)


def test_dumps_that_never_come_say_why_and_leave_the_others():
    gone = threading.Event()

    def load() -> Content:
        assert gone.wait(10)
        raise ToolError("the worker has died", tool="worker")

    lost = late_dump("cse", load)
    late = Late("b\n")
    widget = views.show([Trace("t", (dump("input", "x\n", step=0), lost, *late.dumps))])
    gone.set()
    late.arrived.set()
    wait_for(widget, lambda: ready(widget) == [True, False, True])
    html, text = widget.twins()
    assert text.split("\n")[1:5] == [
        "#  pass                gone  new", "0  input                      +1", "1  cse, not available",
        "2  p0, not compared",
    ]  # fmt: skip
    assert "cse is not available" in text
    assert "<code>cse, not available</code>" in html
    page = views.page(widget.traces)
    assert "cse, not available" in page


def test_what_there_is_no_memory_for_is_said_to_be_not_available(monkeypatch):
    texts = [f"{name}\n" * 1_000_000 for name in "abc"]
    trace = Trace("t", tuple(dump(text[0], text, step=0) for text in texts))
    compress, calls = chunks.gzip.compress, []

    def sometimes(*given, **options):
        calls.append(given)
        if len(calls) == 2:
            raise MemoryError
        return compress(*given, **options)

    monkeypatch.setattr(chunks.gzip, "compress", sometimes)
    widget = views.show([trace])
    wait_for(widget, lambda: len(calls) == 3)
    assert ready(widget).count(True) == 2


def test_showing_again_lets_go_of_the_view_before():
    class Held(str):
        __slots__ = ("__weakref__",)

    text = Held("a\n")
    first = views.show([Trace("t", (dump("input", text, step=0),))], key="cell")
    watched = weakref.ref(text)
    layout = first.layout
    del text
    second = views.show([Trace("t", (dump("input", "b\n", step=0),))], key="cell")
    gc.collect()
    assert watched() is None
    assert first.comm is None
    assert layout.comm is None
    assert repr(first) == "<PassDiff closed: its cell has run again>"
    assert second.comm is not None


def test_the_code_is_sent_once(trace):
    first, second = views.show([trace]), views.show([trace])
    assert first.bundle is second.bundle
    assert len(first._esm) < 1500
    first.bundle.close()
    assert views.show([trace]).bundle is not first.bundle


def test_a_bundle_follows_its_file_while_the_browser_side_is_developed(monkeypatch, tmp_path):
    (tmp_path / "viewer.js").write_text("export const render = 1;")
    monkeypatch.setattr(bundle, "_STATIC", tmp_path)
    monkeypatch.setattr(bundle, "_LOOK", 0.02)
    monkeypatch.setattr(bundle, "_bundles", {})
    monkeypatch.setenv("ANYWIDGET_HMR", "1")
    for cached in (bundle.static, bundle.packed):
        cached.cache_clear()
    made = bundle.bundle("viewer")
    first, changed = made.version, threading.Event()
    made.observe(lambda _: changed.set(), "version")
    assert not changed.wait(0.2)
    (tmp_path / "viewer.js").write_text("export const render = 2;")
    assert changed.wait(10)
    assert gzip.decompress(made.code) == b"export const render = 2;"
    assert made.version != first
    made.close()
    for cached in (bundle.static, bundle.packed):
        cached.cache_clear()


def test_the_mime_bundle_has_both_twins(trace):
    data, _ = views.show([trace])._repr_mimebundle_()
    assert data.keys() == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert data["text/plain"] == views.text([trace])
    assert data["text/html"] == views.html([trace])


def test_a_stage_opens_into_the_passes_inside_it():
    whole = dump("O2", "z", step=0)

    class Passes:
        def has(self, one: Dump) -> bool:
            return one is whole

        def open(self, one: Dump) -> tuple[Dump, ...]:
            assert one is whole
            return tuple(dump(t, t, step=0) for t in "xyz")

    dumps = (dump("a", "a", step=0), whole, dump("b", "b", step=1))
    widget = views.PassDiff([Trace("llvm_ir", dumps, inside=Passes())])
    assert widget.inside == [[1]]
    for trace, stage in ((0, 0), (0, 3), (1, 1), (-1, 1)):
        with pytest.raises(UsageError, match="no passes inside"):
            widget.open_inside(trace, stage)
    widget.open_inside(0, 1)
    assert widget.stages() == ["a", "x", "y", "z", "b"]
    assert (widget.left, widget.right, widget.inside) == (0, 1, [[]])
    assert [lines[0] for lines in unpack(widget.data)[1][0]] == ["a", "x", "y", "z", "b"]


def test_importing_irwidget_or_the_lexers_brings_no_widgets():
    code = """
import sys, irwidget
assert "irwidget.views" not in sys.modules
from pygments.lexers import get_lexer_by_name
from tests.late import late_dump
get_lexer_by_name("mlir")
assert not {"anywidget", "ipywidgets", "torch", "numpy"} & sys.modules.keys(), sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
