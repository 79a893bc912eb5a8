"""The text and HTML fallbacks: short, stable, and only ever text."""

from __future__ import annotations

import importlib
import pkgutil
import re
import threading
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irwidget import views
from irwidget.errors import ToolError
from irwidget.trace import Content, ContentCache, Dump, Failure, Scope, Step, Trace, dump
from irwidget.views import fallbacks
from irwidget.views.base import BundledView, Omitted, Shown
from irwidget.views.diff import by_line
from irwidget.views.markup import WIDTH
from tests.late import late_dump
from tests.views.lowerings import lower


@pytest.fixture(scope="module")
def trace():
    return lower()


def test_two_runs_have_the_same_fallbacks(trace):
    again = lower()
    assert [one.seconds for one in again.dumps] != [one.seconds for one in trace.dumps]
    assert views.text([again]) == views.text([trace])
    assert views.html([again]) == views.html([trace])


def test_a_text_that_is_here_ahead_of_its_dump_counts_for_the_last_change():
    *before, last = (dump(name, name, step=0) for name in ("input", "sroa", "cse"))

    def never():
        raise AssertionError("waited for")

    ahead = late_dump("cse", never, known="cse")
    assert views.html([Trace("t", (*before, ahead))]) == views.html([Trace("t", (*before, last))])
    assert "+++ 2 cse" in views.text([Trace("t", (*before, ahead))])


@pytest.mark.parametrize("count", [1, 3])
def test_of_a_log_of_gigabytes_only_the_list_is_told_and_no_text_is_read(count):
    def read(index):
        assert index == 1, "the last dump of a lowering alone, whose lines are counted"
        return Content("two\n")

    def told(size):
        texts = ContentCache(read, size=lambda _: size)
        dumps = tuple(Dump(name, 0, "mlir", texts, index) for index, name in enumerate(("one", "two")))
        return views.text([Trace("t", dumps, (Step("mlir-opt", "--cse"),))] * count)

    assert "---" not in told(fallbacks.LETTERS * 64)
    with pytest.raises(AssertionError, match="the last dump"):
        told(fallbacks.LETTERS)


def test_texts_of_an_interrupted_run_are_not_waited_for():
    def never():
        raise AssertionError("waited for")

    def interrupted():
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        raise ToolError("gone", tool="worker")

    def made(load, kind):
        dumps = (dump("input", "one", step=-1), late_dump("cse", load))
        return Trace("t", dumps, (Step("mlir-opt", "--cse"),), failure=Failure(0, "inline", "was it", kind=kind))

    listed = (
        "t: 1 pass\nNot compared: the texts had not come when this was written\n"
        "#  pass   gone  new\n0  input\n1  cse\n\nerror: inline failed: was it"
    )
    assert views.text([made(never, "interrupt")]) == listed
    view = views.PassDiff([made(interrupted, "tool")])
    html, text = view.fallbacks()
    assert text == listed
    assert re.findall(r"<p>(.*?)</p>", html)[1] == fallbacks.ABSENT
    with pytest.raises(Omitted, match="The texts of this lowering had not come when it was shown"):
        view.saved()


def test_the_text_lists_the_passes_and_the_last_change(trace):
    lines = views.text([trace]).split("\n")
    assert lines[0] == "model -> llvm_mlir: 20 passes"
    row = next(line for line in lines if "linalg-to-loops" in line)
    assert re.fullmatch(r" *8  convert-linalg-to-loops +-\d+ +\+\d+", row)
    assert any(re.fullmatch(r"[ \d]+-\d+  \d passes, no change", line) for line in lines)
    assert "+++ 20 cse (3)" in lines
    assert len(lines) < 30 + fallbacks.TEXT_LINES


def test_large_lowerings_are_only_listed():
    big = Trace("t", (dump("input", "x\n" * 6000, step=0), dump("cse", "y\n" * 6000, step=0)))
    assert views.text([big]) == "t: 1 pass\n#  pass   gone  new\n0  input\n1  cse"
    assert "<pre>" not in views.html([big])


def test_many_large_lowerings_are_listed_together():
    """A log of a gigabyte has hundreds: their lists would be the largest part of the notebook."""
    passes = 3 * fallbacks.MOST_ROWS // 4
    dumps = tuple(dump(f"p{i}", "x\n" * 6000 if i == passes - 1 else "x", step=0) for i in range(passes))
    many = [Trace("t", dumps, name=f"f{i}") for i in range(fallbacks.MOST_TITLES + 5)]
    lines = views.text(many).split("\n")
    assert [line for line in lines if line.startswith("f")] == [f"f{i} -> t: {passes} passes" for i in range(202)]
    rows = [line.split() for line in lines if re.fullmatch(r" *\d+  p\d+ *", line)]
    assert len(rows) == fallbacks.MOST_ROWS
    assert rows[-1] == [str(number := fallbacks.MOST_ROWS - passes - 1), f"p{number}"]
    assert f"{2 * passes - fallbacks.MOST_ROWS} more passes" in "\n".join(lines)
    assert lines[-1] == "... 3 more lowerings"
    assert views.html(many).count("<tr>") == fallbacks.MOST_ROWS + 3  # two heads, and the passes that are left out
    assert "... 3 more lowerings" in views.html(many)


def test_a_failure_is_said(trace):
    failed = Trace("t", trace.dumps[:3], failure=Failure(0, "cse", "because"))
    assert "error: cse failed: because" in views.text([failed])
    assert "cse failed: because" in views.html([failed])


def test_each_line_of_a_failure_is_said_for_itself(trace):
    wide = "x" * 2 * WIDTH
    failed = Trace("t", trace.dumps[:3], failure=Failure(0, "cse", f"{wide}\nthe cause"))
    said = views.text([failed]).splitlines()
    cut = f"error: cse failed: {wide}"[: WIDTH - 1] + "…"
    assert said[said.index(cut) + 1] == "the cause"


HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(1)">&amp;\x00\x1b[31m\u202e'


def test_hostile_text_stays_text():
    trace = Trace(
        HOSTILE, (dump("input", "a", step=0), dump(HOSTILE, HOSTILE, step=0)), (Step("opt", "", HOSTILE),),
        name=HOSTILE, facts={HOSTILE: HOSTILE}, failure=Failure(0, HOSTILE, HOSTILE),
    )  # fmt: skip
    tags: set[str] = set()

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.add(tag)
            assert not attrs

    Tags().feed(views.html([trace]))
    allowed = re.findall(r"\w+", "div p strong table thead tbody tr th td code details summary pre")
    assert tags <= set(allowed)
    plain = views.text([trace])
    assert all(char.isprintable() or char == "\n" for char in plain)


@given(
    st.lists(st.sampled_from(["%1 = a", "%2 = a", "b", "func.func @f", "func.func @g", "c"]), max_size=12),
    st.lists(st.sampled_from(["%1 = a", "%3 = a", "b", "func.func @f", "func.func @h", "d"]), max_size=12),
)
def test_the_unified_diff_turns_one_dump_into_the_other(before, after):
    """Applied to the old lines, the diff gives the new ones; every line outside of a hunk header counts right."""
    result: list[str] = []
    at = 0
    left = [0, 0]
    for line in fallbacks.unified(before, after, by_line(before, after)):
        if header := re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line):
            assert left == [0, 0]
            start, left = int(header[1]) - 1, [int(header[2]), int(header[4])]
            result += before[at:start]
            assert len(result) == int(header[3]) - 1
            at = start
            continue
        if line[0] in "- ":
            assert before[at] == line[1:]
            at, left[0] = at + 1, left[0] - 1
        if line[0] in "+ ":
            result.append(line[1:])
            left[1] -= 1
    assert left == [0, 0]
    assert result + before[at:] == after


MODULE = "define void @f() {\n  call void @a()\n}\n\ndefine void @g() {\n  call void @b()\n}\n"


def test_a_function_is_compared_with_itself_in_the_module_and_then_with_its_last_dump():
    def of(function: str, text: str) -> Dump:
        return dump("p", text, step=0, language="llvm", scope=Scope(function=function))

    f, g = "define void @f() {\n  ret\n}\n", "define void @g() {\n  call void @b()\n}\n"
    dumps = (of("", MODULE), of("f", f), of("g", g.replace("@b", "@c")), of("f", f.replace("ret", "unreachable")))
    lines = views.text([Trace("t", dumps)]).split("\n")
    assert [line.split()[-2:] for line in lines[3:6]] == [["-2", "+1"], ["-1", "+1"], ["-1", "+1"]]
    assert lines[7:9] == ["--- 1 p (2)", "+++ 3 p (4)"]
    assert lines[-3:] == ["-  ret", "+  unreachable", " }"]
    both = of("f and g", f.replace("ret", "unreachable") + "\n" + g.replace("@b", "@c"))
    assert "-2   +2" in views.text([Trace("t", (of("", MODULE), both))]), "two functions: beside all of the module"


def test_every_view_has_fallbacks():
    """What none has is shown as text alone, without a word: IPython takes an error of that kind for a no."""
    names = [f"irwidget.views.{one.name}" for one in pkgutil.iter_modules(views.__path__)]
    for name in (*names, "irwidget.sweeps.view", "irwidget.editor.widget"):
        importlib.import_module(name)
    kinds = [Shown]
    for one in kinds:
        kinds += one.__subclasses__()
    ours = {one for one in kinds if one.__module__.startswith("irwidget.") and one not in (Shown, BundledView)}
    assert {one.__name__ for one in ours} >= set("LayoutsView ScheduleView SpyreView KernelLinks SweepMap".split())
    for one in ours:
        assert one.fallbacks is not Shown.fallbacks, one
