"""One JupyterLab, one Notebook and one Chromium for all browser tests; nothing but 127.0.0.1 can be reached."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

try:
    from playwright import sync_api
except ImportError:
    sync_api = None

from tests.browser.labserver import CHROMIUM, FLAGS, Server

PATIENCE = 90_000
"""Milliseconds that are waited for what should be there at once: the machine may have other work."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("browser")
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium: apt-get install chromium"))
            elif sync_api is None:
                item.add_marker(pytest.mark.skip(reason="no Playwright: pip install playwright"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        sync_api.expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


def patient_page(chromium: sync_api.Browser, width: int = 1400, height: int = 900) -> sync_api.Page:
    """A new page, which waits as long as all of them."""
    page = chromium.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(PATIENCE)
    return page


@pytest.fixture
def opened(chromium: sync_api.Browser) -> Iterator[sync_api.Page]:
    """A page for one test."""
    page = patient_page(chromium)
    yield page
    page.close()


@pytest.fixture(scope="module")
def tab(chromium: sync_api.Browser) -> Iterator[sync_api.Page]:
    """A page for all tests of a file, to open offline pages in."""
    page = patient_page(chromium)
    yield page
    page.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("jupyter"))
    yield server
    server.stop()


_names = itertools.count()


class Notebook:
    """A notebook open in JupyterLab or Notebook 7."""

    def __init__(self, page: sync_api.Page, path: Path) -> None:
        self.page = page
        self.path = path

    def run_all(self) -> None:
        """Run all cells; what to wait for is for the test to say."""
        self.page.wait_for_function("jupyterapp.shell.currentWidget?.sessionContext?.isReady")
        self.page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")

    def save(self) -> str:
        """Save the notebook; the text of its file."""
        self.page.evaluate("jupyterapp.commands.execute('docmanager:save')")
        return self.path.read_text()

    def kept(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The state of the first cell's view that the file keeps, once it fits: a view tells its kernel later."""
        state: dict[str, Any] = {}
        for _ in range(300):
            (output,) = (one for one in json.loads(self.save())["cells"][0]["outputs"] if "data" in one)
            state = output["data"]["application/vnd.irwidget+json"]["views"][0]["state"]
            if fits(state):
                return state
            self.page.wait_for_timeout(300)
        raise AssertionError(state)

    def viewer(self, nth: int = 0) -> sync_api.Locator:
        """A view, once it has painted."""
        view = self.page.locator(".irw").nth(nth)
        view.and_(self.page.locator("[data-ready]")).wait_for()
        return view


@pytest.fixture(scope="session")
def open_notebook(server: Server, chromium: sync_api.Browser) -> Iterator[Callable[..., Notebook]]:
    """Open a new notebook with these cells; `app` is `lab` or `notebooks`."""
    contexts: list[sync_api.BrowserContext] = []

    def make(*cells: str, app: str = "lab") -> Notebook:
        path = server.notebooks / f"n{next(_names)}.ipynb"
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        nbformat.write(notebook, path)
        if not contexts:
            contexts.append(chromium.new_context(viewport={"width": 1500, "height": 950}))
            contexts[0].set_default_timeout(PATIENCE)
        page = contexts[0].new_page()
        route = f"lab/workspaces/{path.stem}/tree/{path.name}?reset" if app == "lab" else f"notebooks/{path.name}"
        page.goto(f"{server.url}/{route}")
        page.wait_for_function("window.jupyterapp !== undefined")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        return Notebook(page, path)

    yield make
    for context in contexts:
        context.close()
