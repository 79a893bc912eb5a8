"""The widget without a browser: its state, its fallbacks, and what it lets go of."""

from __future__ import annotations

import base64
import gc
import gzip
import subprocess
import sys
import threading
import weakref
from itertools import pairwise

import pytest

from irwidget import views
from irwidget.errors import ToolError, UsageError
from irwidget.trace import WHOLE, Content, ContentCache, Dump, Scope, Step, Trace, Verdict, chunks, dump
from irwidget.views import base, bundle
from irwidget.views.packing import opening, settled
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
        assert self.arrived.wait(60)
        return Content(text)


def wait_for(widget: views.PassDiff, condition) -> None:
    done = threading.Event()
    widget.observe(lambda _: done.set() if condition() else None, "data")
    assert condition() or done.wait(60)


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


def test_a_view_beside_another_lowering_stays_there_while_dumps_arrive():
    late = Late("c\n")
    shown = Trace("t", (dump("input", "a\n", step=0), dump("p1", "b\n", step=0), *late.dumps))
    other = Trace("t", tuple(dump(name, "x\n", step=0) for name in "xyz"))
    before = threading.enumerate()
    widget = views.show([shown, other])
    (filling,) = (one for one in threading.enumerate() if one not in before and "_fill" in one.name)
    assert (widget.left, widget.right) == (0, 1)
    widget.against = 1
    late.arrived.set()
    filling.join(60)
    assert ready(widget) == [True] * 3
    assert (widget.left, widget.right, widget.against) == (0, 1, 1)


def test_dumps_that_never_come_say_why_and_leave_the_others():
    gone = threading.Event()

    def load() -> Content:
        assert gone.wait(60)
        raise ToolError("the worker has died", tool="worker")

    lost = late_dump("cse", load)
    late = Late("b\n")
    widget = views.show([Trace("t", (dump("input", "x\n", step=0), lost, *late.dumps))])
    gone.set()
    late.arrived.set()
    wait_for(widget, lambda: ready(widget) == [True, False, True])
    html, text = widget.fallbacks()
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
    packer, calls = chunks.zlib.compressobj, []

    def sometimes(*given, **options):
        calls.append(given)
        if len(calls) == 2:
            raise MemoryError
        return packer(*given, **options)

    monkeypatch.setattr(chunks.zlib, "compressobj", sometimes)
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
    assert changed.wait(60)
    assert gzip.decompress(made.code) == b"export const render = 2;"
    assert made.version != first
    made.close()
    for cached in (bundle.static, bundle.packed):
        cached.cache_clear()


def test_the_mime_bundle_has_both_fallbacks(trace):
    data, _ = views.show([trace])._repr_mimebundle_()
    widget, saved = "application/vnd.jupyter.widget-view+json", "application/vnd.irwidget+json"
    assert data.keys() == {widget, saved, "text/html", "text/plain"}
    assert data[saved] == {"omitted": "The cell was executed without a page"}
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


def two(name: str, *texts: str, **more) -> Trace:
    return Trace("t", tuple(dump(f"p{i}", text, step=0) for i, text in enumerate(texts)), name=name, **more)


def test_running_a_cell_again_keeps_options_and_pass():
    first = views.show([two("net", "a\n", "b\n", "c\n", "d\n")], key="again")
    first.right, first.left = 1, 0
    first.wrap, first.query, first.search_regex, first.layout_mode, first.passes = True, "x", True, "unified", "p"
    again = views.show([two("net", "a\n", "B\n", "c\n", "D\n")], key="again")
    assert (again.left, again.right) == (0, 1)
    assert (again.wrap, again.query, again.search_regex, again.layout_mode, again.passes) == (
        True, "x", True, "unified", "p",
    )  # fmt: skip
    again.columns = [-1, 0, 3]
    assert views.show([two("net", "a\n", "b\n", "c\n", "d\n")], key="again").columns == [-1, 0, 3]
    assert views.show([two("net", "a\n", "b\n", "c\n")], key="again").columns == [], "there is no such stage now"
    again = views.show([two("net", "a\n", "B\n", "c\n", "D\n")], key="again")
    again.columns = [0, 1]
    with pytest.raises(UsageError, match="There is no column 4: there are the stages 0 to 3, and -1, the source"):
        again.columns = [0, 4]
    assert again.columns == [0, 1]
    assert again.saved()[0]["state"]["columns"] == [0, 1]
    again.right, again.left, again.wrap = 1, 0, True
    other = views.show([two("other", "a\n", "B\n", "c\n", "D\n")], key="again")
    assert other.columns == []
    assert (other.left, other.right, other.wrap) == (2, 3, True), "options are the reader's, the pass is the program's"


def test_a_view_that_nobody_has_moved_opens_at_its_own_last_change():
    views.show([two("net", "a\n", "b\n", "c\n")], key="own")
    again = views.show([two("net", "a\n", "b\n", "b\n")], key="own")
    assert (again.left, again.right) == (0, 1)


def test_a_run_is_compared_with_the_one_before(trace):
    first = views.show([two("net", "a\n", "b\n")], key="last")
    assert not first.last
    with pytest.raises(UsageError, match="no earlier run"):
        first.compare_with_last()
    again = views.show([two("net", "a\n", "B\n")], key="last")
    assert again.last
    again.compare_with_last()
    assert [one.name for one in again.traces] == ["net", "net, the last run"]
    assert [one.dumps[1].text for one in again.traces] == ["B\n", "b\n"]
    assert (again.trace, again.against, again.left, again.right, again.last) == (0, 1, 1, 1, False)
    other = views.show([two("other", "a\n", "B\n")], key="last")
    assert not other.last


@pytest.mark.parametrize(
    ("check", "opened"),
    [
        (Verdict("differs", "p1", 1, "wrong"), (0, 1)),
        (Verdict("equal", "p3", 3), (2, 3)),
        (Verdict("not checked", reason="no"), (2, 3)),
        (None, (2, 3)),
    ],
)
def test_it_opens_with_the_first_wrong_pass(check, opened):
    shown = two("net", "a\n", "b\n", "c\n", "d\n", check=check)
    assert opening(shown) == opened
    verdict = unpack(views.show([shown]).data)[0]["traces"][0]["verdict"]
    if check is None:
        assert verdict is None
    else:
        assert verdict == {
            "state": check.state, "brief": check.brief, "reference": check.reference, "text": str(check),
            "stage": 1 if check.state == "differs" else -1,
        }  # fmt: skip


def test_it_opens_with_what_puts_all_kernels_together():
    scopes = (WHOLE, Scope(kernel="a"), Scope(kernel="b"), WHOLE)
    texts = (("mlir", "m\n"), ("ptx", "a\n"), ("ptx", "b\n"), ("ptx", "a\nb\n"))
    dumps = [
        dump(f"p{i}", text, step=0, language=language, scope=scope)
        for i, (scope, (language, text)) in enumerate(zip(scopes, texts, strict=True))
    ]
    assert opening(Trace("nvptx", tuple(dumps), (Step("opt", ""),))) == (3, 3)
    assert opening(Trace("nvptx", tuple(dumps[:3]), (Step("opt", ""),))) == (0, 2)


def test_it_opens_with_a_change_where_the_last_dump_is_of_a_function_that_is_new():
    scopes = (Scope(function="f"), Scope(function="f"), Scope(function="g"))
    dumps = [dump(f"p{i}", f"{i}\n", step=0, scope=scope) for i, scope in enumerate(scopes)]
    assert opening(Trace("llvm_ir", tuple(dumps), (Step("opt", ""),))) == (0, 1)


def test_what_is_on_the_screen_is_sent_before_the_rest():
    events = {name: threading.Event() for name in "abcd"}
    dumps = tuple(
        late_dump(
            f"p{i}", lambda name=name: Content(f"{name}\n") if events[name].wait(60) else None, events[name].is_set
        )
        for i, name in enumerate("abcd")
    )
    shown = Trace("t", dumps)
    assert not settled(shown)
    widget = views.show([shown])
    assert ready(widget) == [False] * 4
    events["c"].set()
    events["d"].set()
    wait_for(widget, lambda: ready(widget) == [False, False, True, True])
    assert (widget.left, widget.right) == (2, 3)
    assert settled(shown)
    for event in events.values():
        event.set()
    wait_for(widget, lambda: all(ready(widget)))


def test_the_texts_of_a_log_are_made_once_and_beside_their_neighbours():
    """A log's text is read when it is asked for, and most often made from that of the dump before it."""
    made: list[int] = []

    def make(index: int) -> Content:
        made.append(index)
        return Content(f"{index}\n" + "x = 1\n" * 10_000)

    texts = ContentCache(make, size=lambda _: 10**6)
    dumps = tuple(Dump(f"p{i}", 0, "mlir", texts, i) for i in range(300))
    widget = views.show([Trace("t", dumps, (Step("mlir-opt", "--all"),))])
    wait_for(widget, lambda: all(ready(widget)))
    opened = {widget.left, widget.right}
    rest = [index for index in made if index not in opened]
    assert sorted(rest) == [i for i in range(300) if i not in opened]
    assert sum(new == old + 1 for old, new in pairwise(rest)) > 280


def test_what_a_notebook_keeps_is_the_view_as_it_is_and_no_larger_than_told(trace, monkeypatch):
    monkeypatch.setattr("irwidget.display.cell_id", lambda: "a cell")
    widget = views.show([trace])
    widget.right, widget.left, widget.wrap = 8, 7, True
    kept = base._kept(widget)
    (view,) = kept["views"]
    assert (view["bundle"], view["state"]["left"], view["state"]["right"], view["state"]["wrap"]) == (
        "viewer",
        7,
        8,
        True,
    )
    assert unpack(base64.b64decode(view["data"]))[1] == unpack(widget.data)[1]
    monkeypatch.setattr(base, "MOST_SAVED", 100)
    assert "keeps views of up to 0 MB; this has 0.0 MB" in base._kept(widget)["omitted"]
    large = views.show([two("net", "a\n" * 6000)])
    assert "up to 5,000 lines" in base._kept(large)["omitted"]


def test_a_page_of_the_view_is_made_for_who_asks(trace):
    page = views.show([trace]).page().decode()
    assert "one-shot-bufferize" in page
    assert 'data-bundle="viewer"' in page
