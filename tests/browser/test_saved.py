"""A notebook that was saved and is opened again without its kernel."""

from __future__ import annotations

import json

import pytest

from tests.browser.labserver import SHOW

CELL = SHOW + "w = views.show([lower()], key='a'); w"
STOP = "async () => { await jupyterapp.serviceManager.sessions.shutdownAll(); }"


def reopened(opened, app: str):
    """The notebook in a new page; its kernel has ended."""
    opened.save()
    opened.page.wait_for_function("!jupyterapp.shell.currentWidget.context.model.dirty")
    opened.page.evaluate(STOP)
    page = opened.page.context.new_page()
    name = opened.path.name
    server = opened.page.url.split("/lab")[0].split("/notebooks")[0]
    page.goto(
        f"{server}/lab/workspaces/{opened.path.stem}-again/tree/{name}?reset"
        if app == "lab"
        else f"{server}/notebooks/{name}"
    )
    return page


@pytest.fixture(scope="module")
def shown(open_notebook):
    """In JupyterLab, with its kernel."""
    opened = open_notebook(CELL)
    opened.run_all()
    opened.viewer()
    return opened


def test_with_its_kernel_the_widget_itself_is_shown_once(shown):
    view = shown.viewer()
    shown.page.wait_for_timeout(1500)
    assert shown.page.locator(".irw").count() == 1
    assert view.get_by_role("button", name="Tab", exact=True).count() == 1


def test_the_file_keeps_what_is_needed_and_no_more(shown):
    data = json.loads(shown.save())["cells"][0]["outputs"][0]["data"]
    kept = data["application/vnd.irwidget+json"]
    assert [view["bundle"] for view in kept["views"]] == ["viewer"]
    assert len(json.dumps(kept)) < 20_000


@pytest.mark.parametrize("app", ["lab", "notebooks"])
def test_a_view_comes_back_alive(open_notebook, shown, app):
    """The first ends the kernel of what is shown."""
    opened = shown if app == "lab" else open_notebook(CELL, app=app)
    if app != "lab":
        opened.run_all()
        opened.viewer()
    page = reopened(opened, app)
    view = page.locator(".irw[data-timeline]")
    view.wait_for()
    assert page.locator(".irw").count() == 1
    assert "Error displaying widget" not in page.locator(".jp-OutputArea").inner_text()
    view.locator("[data-stage='13']").click()
    assert [title.split("\n")[0] for title in view.locator(".irw-title").all_inner_texts()] == ["12", "13"]
    view.locator(".irw-query").fill("memref.alloc")
    view.locator(".irw-found", has_text="first in").wait_for()
    assert view.get_by_role("button", name="Tab", exact=True).count() == 0, "nobody is there to make a page"
    page.close()


def test_of_what_is_too_large_the_summary_comes_back_and_says_why(open_notebook):
    small = CELL.replace("w = ", "views.base.MOST_SAVED = 100\nw = ").replace(
        "import views", "import views; import irwidget.views.base"
    )
    opened = open_notebook(small)
    opened.run_all()
    opened.viewer()
    page = reopened(opened, "lab")
    page.get_by_text("The notebook keeps views of up to").wait_for()
    assert "one-shot-bufferize" in page.locator(".jp-OutputArea").inner_text()
    assert page.locator(".irw").count() == 0
    page.close()
