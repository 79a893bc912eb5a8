"""One JupyterLab, one Notebook and one Chromium for all browser tests; nothing but 127.0.0.1 can be reached."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
BLOCKED = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
HELPERS = Path(__file__).parents[1] / "views"
sys.path.insert(0, str(HELPERS))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("browser")
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium: apt-get install chromium"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", BLOCKED, "--js-flags=--expose-gc", "--enable-precise-memory-info"],
        )
        yield browser
        browser.close()


class Server:
    """A Jupyter server in a directory of its own."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.home = home
        self.notebooks = home / "notebooks"
        self.notebooks.mkdir()
        settings = home / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
        settings.parent.mkdir(parents=True)
        settings.write_text('{"fetchNews": "false", "checkForUpdates": false}')
        self.log = (home / "log").open("wb")
        environment = os.environ | {
            "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            "IPYTHONDIR": str(home / "ipython"), "JUPYTER_PLATFORM_DIRS": "1",
        }  # fmt: skip
        options = [
            "--no-browser", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0",
            "--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={self.notebooks}",
            "--allow-root", "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
            "--ServerApp.disable_check_xsrf=True",
            "--LabApp.extension_manager=readonly",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], env=environment, stdout=self.log, stderr=self.log
        )
        self._wait()

    def _wait(self) -> None:
        for _ in range(2400):
            try:
                urllib.request.urlopen(f"{self.url}/api", timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise RuntimeError(f"Jupyter did not start:\n{(self.home / 'log').read_text()[-3000:]}")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("jupyter"))
    yield server
    server.stop()


_names = itertools.count()

SHOW = f"""\
import sys; sys.path.insert(0, {str(HELPERS)!r})
from lowerings import lower
from irwidget import views
"""


class Notebook:
    """A notebook open in JupyterLab or Notebook 7."""

    def __init__(self, page: sync_api.Page, path: Path) -> None:
        self.page = page
        self.path = path

    def run_all(self) -> None:
        """Run all cells; what to wait for is for the test to say."""
        self.page.wait_for_function("jupyterapp.shell.currentWidget?.sessionContext?.isReady", timeout=60_000)
        self.page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")

    def save(self) -> nbformat.NotebookNode:
        self.page.evaluate("jupyterapp.commands.execute('docmanager:save')")
        return nbformat.read(self.path, as_version=4)

    def viewer(self, nth: int = 0) -> sync_api.Locator:
        """A view, once it has painted."""
        view = self.page.locator(".irw").nth(nth)
        view.and_(self.page.locator("[data-ready]")).wait_for(timeout=30_000)
        return view


@pytest.fixture(scope="session")
def open_notebook(server: Server, chromium: sync_api.Browser) -> Iterator[Callable[..., Notebook]]:
    """Open a new notebook with these cells; `app` is `lab` or `notebooks`."""
    contexts: list[sync_api.BrowserContext] = []

    def make(*cells: str, app: str = "lab", scheme: str = "light", width: int = 1500) -> Notebook:
        path = server.notebooks / f"n{next(_names)}.ipynb"
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        nbformat.write(notebook, path)
        if not contexts:
            contexts.append(chromium.new_context(viewport={"width": width, "height": 950}))
        page = contexts[0].new_page()
        page.set_viewport_size({"width": width, "height": 950})
        page.emulate_media(color_scheme=scheme)
        route = f"lab/workspaces/{path.stem}/tree/{path.name}?reset" if app == "lab" else f"notebooks/{path.name}"
        page.goto(f"{server.url}/{route}")
        page.wait_for_function("window.jupyterapp !== undefined", timeout=60_000)
        page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
        opened.append(page)
        return Notebook(page, path)

    opened: list[sync_api.Page] = []
    yield make
    for context in contexts:
        context.close()

