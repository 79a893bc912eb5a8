"""A JupyterLab of its own for browser tests and benchmarks, and the Chromium to look at it with."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox", "--js-flags=--expose-gc", "--enable-precise-memory-info",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)  # fmt: skip
"""No name but 127.0.0.1 can be resolved."""
ROOT = Path(__file__).parents[2]
HELPERS = ROOT / "tests/views"
SHOW = f"""\
import sys; sys.path.insert(0, {str(HELPERS)!r})
from tests.views.lowerings import lower
from irwidget import views
"""
"""The start of a notebook that shows a lowering."""


def _install_extension(folder: Path) -> None:
    """The prebuilt extension, where pip puts it: as pyproject.toml says."""
    shared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    for source, target in shared["shared-data"].items():
        place = folder / Path(target).relative_to("share/jupyter/labextensions/irwidget")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, place)


class Server:
    """A Jupyter server in a directory of its own."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.home = home
        self.notebooks = home / "notebooks"
        self.notebooks.mkdir()
        _install_extension(home / "share/jupyter/labextensions/irwidget")
        settings = home / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
        settings.parent.mkdir(parents=True)
        settings.write_text('{"fetchNews": "false", "checkForUpdates": false}')
        self.log = (home / "log").open("wb")
        self.sockets = tempfile.TemporaryDirectory(prefix="irw", ignore_cleanup_errors=True)  # short
        environment = os.environ | {
            "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_RUNTIME_DIR": self.sockets.name,
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            "JUPYTER_PATH": str(home / "share/jupyter"), "IPYTHONDIR": str(home / "ipython"),
            "JUPYTER_PLATFORM_DIRS": "1",
        }  # fmt: skip
        options = [
            "--no-browser", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0",
            "--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={self.notebooks}",
            "--allow-root", "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
            "--ServerApp.disable_check_xsrf=True",
            "--LabApp.extension_manager=readonly", "--KernelManager.transport=ipc",
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
        self.sockets.cleanup()


def evaluate(page: Page, expression: str) -> str:
    """Evaluate Python in the kernel of the open notebook, without a cell; the value's `repr`, or the error.

    What comes right after a cell that failed the kernel drops: it is asked again.
    """
    return page.evaluate(
        """async (code) => {
          const { kernel } = jupyterapp.shell.currentWidget.sessionContext.session;
          const request = { code: '', user_expressions: { it: code }, store_history: false };
          const answer = async () => {
            const { content } = await kernel.requestExecute(request).done;
            return content.status === 'aborted' ? answer() : content;
          };
          const late = new Promise((_, fail) => setTimeout(fail, 90000, new Error('the kernel does not answer')));
          const { it } = (await Promise.race([answer(), late])).user_expressions;
          return it.status === 'ok' ? it.data['text/plain'] : `${it.ename}: ${it.evalue}`;
        }""",
        expression,
    )


def eventually(page: Page, expression: str, value: str) -> None:
    """Wait until Python in the kernel of the open notebook has this value, as `repr` writes it."""
    until = time.monotonic() + 90
    while (found := evaluate(page, expression)) != value:
        assert time.monotonic() < until, found
        page.wait_for_timeout(40)
