"""The view in JupyterLab and Notebook 7, in a real browser, with the network blocked."""

from __future__ import annotations

import json
import re

import pytest

from tests.browser import labserver
from tests.browser.labserver import SHOW, evaluate

SUM = """define i32 @sum(i32 %n) {
entry:
  %s = alloca i32
  store i32 0, ptr %s
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %old = load i32, ptr %s
  %new = add i32 %old, %i
  store i32 %new, ptr %s
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  %r = load i32, ptr %s
  ret i32 %r
}
"""
VIEW = "w = views.show([lower()], key='a'); w.layout_mode = 'split'; w"


@pytest.fixture(scope="module")
def notebook(open_notebook):
    opened = open_notebook(SHOW + VIEW, "import ipywidgets")
    opened.asked = []
    opened.page.on("request", lambda request: opened.asked.append(request.url))
    opened.run_all()
    opened.viewer()
    return opened


def python(notebook, expression: str) -> str:
    """Evaluate in the notebook's kernel, without a cell."""
    return evaluate(notebook.page, expression)


def eventually(notebook, expression: str, value: str) -> None:
    labserver.eventually(notebook.page, expression, value)


def titles(view) -> list[str]:
    return [title.split("\n")[0] for title in view.locator(".irw-title").all_inner_texts()]


def test_a_lowering_is_shown_as_the_diff_of_its_last_change(notebook):
    view = notebook.viewer()
    assert titles(view) == ["19", "20"]
    assert "change" in view.locator(".irw-status").inner_text()
    assert view.locator(".irw-pane .cm-line.irw-gone").count() > 0


def test_the_selection_lives_in_python(notebook):
    view = notebook.viewer()
    view.locator("[data-stage='8']").click()
    eventually(notebook, "(w.left, w.right)", "(7, 8)")
    python(notebook, "w.set_trait('right', 15)")
    python(notebook, "w.set_trait('left', -21)")
    view.get_by_label("0 input").first.wait_for()
    assert titles(view) == ["0", "15"]
    python(notebook, "w.set_trait('query', 'llvm.store')")
    view.locator(".irw-found", has_text="first in 15").wait_for()
    view.locator(".irw-query").fill("")
    eventually(notebook, "w.query", "''")


def test_a_stage_that_does_not_exist_is_an_error_that_says_what_does(notebook):
    said = python(notebook, "w.set_trait('right', 99)")
    assert said == "UsageError: There is no stage 99: this lowering has the stages 0 to 20."


def test_letters_typed_in_the_view_stay_there(notebook):
    view = notebook.viewer()
    cells = notebook.page.locator(".jp-Cell").count()
    view.locator("[data-stage='13']").click()
    for focus in (".irw-list", ".irw-pane:nth-child(3) .cm-content", ".irw-pane:nth-child(1) .cm-content", "button"):
        view.locator(focus).first.focus()
        for key in "abxcvdfmyzAB":
            notebook.page.keyboard.press(key)
            if key == "m":
                notebook.page.keyboard.press("Escape")  # the window of notes
            if key in "fm":
                view.locator(focus).first.focus()
    notebook.page.keyboard.press("Escape")
    assert notebook.page.locator(".jp-Cell").count() == cells
    assert notebook.page.locator(".jp-MarkdownCell").count() == 0
    python(
        notebook, "[w.set_trait('blame', False), w.set_trait('fold', True), w.set_trait('ignore_renumbering', True)]"
    )


def test_everything_that_takes_the_focus_keeps_its_keys(notebook):
    loose = notebook.viewer().evaluate(
        """view => [...view.querySelectorAll('*')]
             .filter(element => element.dataset.lmSuppressShortcuts !== 'true' && element.tabIndex >= 0)
             .map(element => element.outerHTML.slice(0, 120))"""
    )
    assert loose == []


def test_escape_leads_back_to_the_notebook(notebook):
    view = notebook.viewer()
    view.locator(".irw-pane .cm-content").last.focus()
    notebook.page.keyboard.press("Escape")
    assert view.locator(".irw-list").evaluate("list => document.activeElement === list")
    notebook.page.keyboard.press("Escape")
    assert notebook.page.evaluate("document.activeElement.closest('.irw') === null")


def test_a_busy_kernel_does_not_hold_up_the_view(notebook):
    view = notebook.viewer()
    notebook.page.evaluate(
        """() => { jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute(
             { code: 'import time; time.sleep(3)', store_history: false }); }"""
    )
    view.locator("[data-stage='13']").click()
    assert titles(view) == ["12", "13"]
    assert notebook.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.status") == "busy"


def test_the_same_lowering_is_shown_in_each_cell_that_shows_it(open_notebook):
    """The second cell took the view away from the first, and of two in one cell there was the last."""
    lowered = f"import irwidget\nlow = irwidget.lower({SUM!r}, to='raw_ir', pipeline='opt -O1')\nlow"
    several = "display(low, low)\n%lower --open x.ll\n%lower --open x.ll"
    write = f"%load_ext irwidget\n_ = open('x.ll', 'w').write({SUM!r})"
    opened = open_notebook(lowered, "low", write, several)
    count = "sum(1 for widget in __import__('ipywidgets').widgets.widget._instances.values())"
    before = None
    for _ in range(2):
        opened.page.evaluate("document.querySelectorAll('.irw').forEach(view => view.dataset.before = 'true')")
        opened.run_all()
        opened.page.wait_for_function("document.querySelectorAll('.irw[data-ready]:not([data-before])').length === 6")
        cells = opened.page.locator(".jp-Notebook .jp-Cell").all()
        assert [cell.locator(".irw").count() for cell in cells] == [1, 1, 0, 4]
        assert before is None or python(opened, count) == before
        before = python(opened, count)


def test_running_a_cell_again_closes_its_view_before(notebook):
    count = "sum(1 for widget in __import__('ipywidgets').widgets.widget._instances.values())"
    before = python(notebook, count)
    for _ in range(3):
        notebook.page.evaluate("document.querySelector('.irw').dataset.before = 'true'")
        notebook.page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
        notebook.page.locator(".irw[data-before]").wait_for(state="detached")
        notebook.viewer()
    eventually(notebook, count, before)
    assert notebook.page.locator(".irw").count() == 1
    assert python(notebook, "len([1 for one in Out.values() if getattr(one, 'traces', ())])") == "1"


def test_an_output_that_goes_before_its_widget_is_drawn_leaves_no_error_in_the_page(notebook):
    """What would show a saved view looks some time later whether the widget has come to life."""
    errors: list[str] = []
    notebook.page.on("pageerror", lambda error: errors.append(str(error)))
    drawn = notebook.page.evaluate(
        """async () => {
          const { rendermime } = jupyterapp.shell.currentWidget.content;
          const data = { 'application/vnd.irwidget+json': { omitted: 'Too much' },
                         'application/vnd.jupyter.widget-view+json': { model_id: 'none' },
                         'text/html': '<p>a list</p>' };
          const shown = [0, 1].map(() => rendermime.createRenderer('application/vnd.irwidget+json'));
          for (const one of shown) void one.renderModel({ data, metadata: {}, trusted: true, setData() {} });
          shown[0].dispose();
          await new Promise((wake) => setTimeout(wake, 2500));
          const texts = shown.map((one) => one.node.textContent);
          shown[1].dispose();
          return texts;
        }"""
    )
    assert errors == []
    assert ["Too much" in text for text in drawn] == [False, True]


def test_the_state_that_is_saved_with_a_notebook_is_small(open_notebook):
    cells = [f"w{i} = views.show([lower()], key='{i}'); w{i}" for i in range(10)]
    opened = open_notebook(SHOW, *cells)
    opened.run_all()
    opened.viewer(9)
    saved = opened.save()
    assert "application/vnd.jupyter.widget-view+json" in saved
    assert len(saved) < 1_000_000


def test_a_reload_restores_the_view_and_the_selection(notebook):
    notebook.viewer().locator("[data-stage='10']").click()
    eventually(notebook, "w.right", "10")
    notebook.save()
    notebook.page.reload()
    notebook.page.wait_for_function("window.jupyterapp?.shell?.currentWidget?.sessionContext?.isReady")
    live = notebook.page.locator(".irw[data-ready]", has=notebook.page.get_by_role("button", name="Tab", exact=True))
    live.wait_for()
    assert titles(live) == ["9", "10"]
    assert notebook.page.locator(".irw").count() == 1, "what the file holds has made room for it"


def test_the_theme_is_followed(notebook):
    view = notebook.viewer()
    for theme, expected in (("Dark", "dark"), ("Dark High Contrast", "dark"), ("Light", "light")):
        change = "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })"
        notebook.page.evaluate(change, f"JupyterLab {theme}")
        view.and_(notebook.page.locator(f"[data-theme={expected}]")).wait_for()


def test_what_is_saved_has_both_fallbacks(notebook):
    data = json.loads(notebook.save())["cells"][0]["outputs"][0]["data"]
    assert data.keys() == {
        "application/vnd.jupyter.widget-view+json", "application/vnd.irwidget+json", "text/html", "text/plain"
    }  # fmt: skip
    assert "one-shot-bufferize" in "".join(data["text/html"])
    assert "one-shot-bufferize" in "".join(data["text/plain"])


def test_nothing_was_asked_of_the_network(notebook):
    """By all that is done above."""
    assert notebook.asked
    assert [url for url in notebook.asked if not re.match(r"(https?|ws)://127\.0\.0\.1|blob:|data:", url)] == []


LATE = """
import dataclasses, threading
arrived = threading.Event()
trace = lower()
class Later:
    def __init__(self, texts):
        self.texts = texts
    def content(self, index):
        arrived.wait(60)
        return self.texts.content(index)
    def text(self, index):
        return self.content(index).text
    def ready(self, index):
        return arrived.is_set()
    def arrived(self, index):
        return self.text(index) if arrived.is_set() else None
def later(one):
    return dataclasses.replace(one, texts=Later(one.texts))
late = dataclasses.replace(trace, dumps=(*map(later, trace.dumps[:-1]), trace.dumps[-1]))
w = views.PassDiff([late])
from IPython.display import display
view = {"model_id": w.model_id, "version_major": 2, "version_minor": 1}
display({"application/vnd.jupyter.widget-view+json": view}, raw=True)
"""


def test_what_is_there_is_shown_at_once_and_the_rest_fills_in(open_notebook):
    opened = open_notebook(SHOW + LATE)
    opened.run_all()
    view = opened.viewer()
    assert titles(view) == ["20"]
    assert "is not here yet" in view.locator(".irw-status").inner_text()
    assert view.locator(".irw-pending").count() == 20
    python(opened, "arrived.set()")
    view.locator(".irw-pending").first.wait_for(state="detached")
    assert view.locator(".irw-pane .cm-line.irw-gone").count() > 0
    assert titles(view) == ["19", "20"]


def test_notebook_7(open_notebook):
    opened = open_notebook(SHOW + VIEW, app="notebooks")
    opened.run_all()
    view = opened.viewer()
    view.locator(".irw-list").focus()
    opened.page.keyboard.press("Home")
    assert titles(view) == ["0"]
    for key in "abxn":
        opened.page.keyboard.press(key)
    assert opened.page.locator(".jp-Cell").count() == 1
    eventually(opened, "w.right", "0")


GRAPH = """
import dataclasses
shown = dataclasses.replace(lower(), attachments={"a.dot": b'digraph { a -> b [label="an edge"] }'})
views.show([shown], key='g')
"""


@pytest.fixture(scope="module")
def several(open_notebook):
    """A view of a graph, and one of LLVM's passes, of one notebook."""
    lowered = f"import irwidget\nlow = irwidget.lower({SUM!r}, to='raw_ir', pipeline='opt -O2')"
    opened = open_notebook(SHOW + GRAPH, lowered, "v = views.show([low.trace]); v")
    opened.run_all()
    opened.viewer(1)
    return opened


def test_a_graph_is_drawn_in_lab(several):
    view, cells = several.viewer(), several.page.locator(".jp-Cell").count()
    view.get_by_text("1 file").click()
    view.get_by_role("button", name="Draw a.dot").click()
    view.locator("dialog[data-drawn]").wait_for()
    assert "an edge" in view.locator("dialog svg").text_content()
    several.page.keyboard.press("Escape")
    assert several.page.locator(".jp-Cell").count() == cells


LARGE = """
lines = "".join(f"  %{i} = arith.addi %{i - 1}, %c : i64\\\\n" for i in range(40_000))
from irwidget.trace import Trace, dump
texts = [lines, lines.replace("addi %77,", "muli %77,"), lines, lines.replace("addi %99,", "muli %99,")]
w = views.show([Trace("t", tuple(dump(f"p{i}", text, step=0) for i, text in enumerate(texts)))], key='l')
w
"""


def test_the_passes_inside_a_step_of_llvm_open_when_asked(several):
    view = several.viewer(1)
    view.locator("[data-stage='1']").click()
    view.get_by_role("button", name="Passes inside").click()
    view.locator(".irw-row").nth(3).wait_for()
    assert view.get_by_role("button", name="Passes inside").count() == 0
    assert python(several, "v.stages()[-1]") == "'default<O2>'"
    assert titles(view)[1] == "1"


def test_of_a_large_lowering_the_last_change_comes_first_and_the_rest_fills_in(open_notebook):
    opened = open_notebook(SHOW + LARGE)
    opened.run_all()
    view = opened.viewer()
    assert titles(view) == ["2", "3"]
    view.and_(opened.page.locator("[data-timeline]")).wait_for()
    assert view.locator(".irw-pending").count() == 0
    view.locator("[data-stage='1']").click()
    assert view.locator(".irw-status").inner_text().startswith("−1 +1 line, 1 change")
    view.locator(".irw-query").fill("muli")
    assert "first in 1 p1" in view.locator(".irw-found").inner_text()
