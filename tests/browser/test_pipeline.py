"""The pipeline widget in JupyterLab, by keyboard, in a real browser."""

from __future__ import annotations

import json

import pytest

from tests.browser.accessibility import looking, needs_axe, violations
from tests.browser.test_lab import eventually, python

SHOW = """\
import irwidget
text = "func.func @f(%a: i32) -> i32 {\\n %0 = arith.addi %a, %a : i32\\n return %a : i32\\n}"
p = irwidget.Pipeline(text, pipeline="mlir-opt --cse", name="<b>f</b>", allow_tools=["mlir-opt", "user-tool sleep 60"])
p"""


@pytest.fixture(scope="module")
def notebook(open_notebook):
    opened = open_notebook(SHOW)
    opened.run_all()
    opened.page.locator(".irw-pl[data-ready][data-passes=true]").wait_for()
    return opened


@pytest.fixture
def view(notebook):
    return notebook.page.locator(".irw-pl")


def status(notebook, view, wanted: str) -> None:
    view.and_(notebook.page.locator(f"[data-status={wanted}]")).wait_for()


def test_the_keyboard_is_enough(notebook, view):
    keys = notebook.page.keyboard
    cells = notebook.page.locator(".jp-Cell").count()
    view.locator(".irw-pl-chips").focus()
    keys.press("End")
    keys.press("a")
    keys.type("canonicaliz")
    keys.press("ArrowDown")
    keys.press("Enter")
    view.get_by_label("max-iterations").focus()
    keys.type("3")
    keys.press("Enter")
    eventually(notebook, "p.pipeline", "'mlir-opt --cse --canonicalize=max-iterations=3'")
    view.locator(".irw-pl-chip[aria-selected=true]", has_text="canonicalize").wait_for()
    assert view.locator(".irw-pl-chips").evaluate("chips => document.activeElement === chips")
    keys.press("Shift+ArrowLeft")
    eventually(notebook, "p.pipeline", "'mlir-opt --canonicalize=max-iterations=3 --cse'")
    keys.press("End")
    keys.press(" ")
    eventually(notebook, "p.pipeline", "'mlir-opt --canonicalize=max-iterations=3'")
    keys.press(" ")
    eventually(notebook, "p.steps[-1].enabled", "True")
    keys.press("r")
    status(notebook, view, "done")
    assert view.locator(".irw-pl-chip[data-state=done]").count() == 3
    notebook.page.locator(".irw-pl-diff [data-ready]").wait_for()
    eventually(notebook, "len(p.lowering.dumps)", "3")
    keys.press("v")
    eventually(notebook, "(p.diff.left, p.diff.right)", "(1, 2)")
    view.locator(".irw-pl-chips").focus()
    keys.press("Delete")
    eventually(notebook, "len(p.steps)", "1")
    assert notebook.page.locator(".jp-Cell").count() == cells
    assert "--pipeline 'mlir-opt --canonicalize=max-iterations=3'" in view.locator("code").first.inner_text()


def test_a_program_that_runs_can_be_stopped(notebook, view):
    view.get_by_role("button", name="Add step").click()
    view.get_by_label("Tool").select_option("user-tool")
    view.get_by_role("button", name="Add", exact=True).click()
    eventually(notebook, "p.steps[-1].tool", "'user-tool'")
    view.get_by_role("button", name="Run", exact=True).click()
    view.locator(".irw-pl-chip[data-state=running]", has_text="sleep 60").wait_for()
    assert python(notebook, "1 + 1") == "2"
    view.get_by_role("button", name="Stop").click()
    status(notebook, view, "stopped")
    view.locator(".irw-pl-chip[data-state=stopped]").wait_for()


def test_what_is_refused_is_said(notebook, view):
    python(notebook, "p.set_trait('pipeline', 'mlir-opt --cse=no-such=1')")
    view.locator(".irw-pl-chips").focus()
    notebook.page.keyboard.press("r")
    status(notebook, view, "failed")
    view.get_by_role("alert").filter(has_text="no-such").wait_for()
    assert view.locator(".irw-pl-chip[data-state=failed]").count() == 1
    assert view.locator("b").first.inner_text() == "<b>f</b>"


@needs_axe
def test_everything_that_takes_the_focus_keeps_its_keys_and_axe_is_content(notebook, view):
    view.get_by_role("button", name="Add step").click()
    view.get_by_label("Tool").select_option("mlir-opt")
    view.locator(".irw-pl-pass").fill("canonicalize")
    loose = view.evaluate(
        """view => [...view.querySelectorAll('*')]
             .filter(element => element.dataset.lmSuppressShortcuts !== 'true' && element.tabIndex >= 0)
             .map(element => element.outerHTML.slice(0, 120))"""
    )
    assert loose == []
    for theme in ("Dark", "Light"):
        change = "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })"
        notebook.page.evaluate(change, f"JupyterLab {theme}")
        view.and_(notebook.page.locator(f"[data-theme={theme.lower()}]")).wait_for()
        assert violations(notebook.page, ".irw-pl") == [], theme
    with looking(notebook.page, "forced colors"):
        assert violations(notebook.page, ".irw-pl") == []
    view.locator(".irw-pl-pass").focus()
    notebook.page.keyboard.press("Escape")
    notebook.page.keyboard.press("Escape")
    notebook.page.keyboard.press("Escape")
    assert notebook.page.evaluate("document.activeElement.closest('.irw') === null")


def test_what_is_saved_has_both_fallbacks(notebook):
    data = json.loads(notebook.save())["cells"][0]["outputs"][0]["data"]
    assert data.keys() == {
        "application/vnd.jupyter.widget-view+json", "application/vnd.irwidget+json", "text/html", "text/plain"
    }  # fmt: skip
    assert "&lt;b&gt;f&lt;/b&gt;" in "".join(data["text/html"])
