"""The view in marimo, where it lives in a shadow root, and in what nbconvert makes."""

from __future__ import annotations

import base64
import gzip
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import nbformat
import pytest

from tests.browser.labserver import SHOW
from tests.views.test_packing import unpack

APP = f"""
import marimo

app = marimo.App(width="full")


@app.cell
def _():
    {SHOW.replace(chr(10), chr(10) + "    ").strip()}
    views.show([lower()])
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture(scope="module")
def marimo(tmp_path_factory) -> Iterator[str]:
    if importlib.util.find_spec("marimo") is None:
        pytest.skip("marimo is not installed: pip install marimo")
    folder = tmp_path_factory.mktemp("marimo")
    (folder / "app.py").write_text(APP)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", "app.py", "--headless", "--no-token", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        environment = os.environ | {"MARIMO_SKIP_UPDATE_CHECK": "1"}
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment)
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=1).close()
            break
        except OSError:
            if process.poll() is not None:
                raise RuntimeError((folder / "log").read_text()) from None
            time.sleep(0.1)
    yield url
    process.terminate()
    process.wait(20)


def test_marimo(marimo, opened):
    opened.goto(marimo)
    view = opened.locator(".irw[data-timeline]")
    view.wait_for()
    assert view.evaluate("view => view.getRootNode() instanceof ShadowRoot")
    assert view.locator(".irw-pane .cm-line.irw-gone").count() > 0
    assert view.locator(".irw-pane .cm-line").first.evaluate("line => getComputedStyle(line).fontFamily").count("mono")
    assert view.get_attribute("data-theme") == "light"
    gutter = view.locator(".irw-pane .cm-gutters").first
    background = "element => getComputedStyle(element).backgroundColor"
    assert gutter.evaluate(background) == view.evaluate(background)
    view.locator("[data-stage='8']").click()
    assert [title.split("\n")[0] for title in view.locator(".irw-title").all_inner_texts()] == ["7", "8"]
    opened.keyboard.press("Home")
    assert view.locator(".irw-title").count() == 1


def test_nbconvert_keeps_the_code_once_and_the_dumps(tmp_path):
    """Its HTML loads the widget manager from a CDN; what it needs from us is all there."""
    cells = [SHOW, *(f"views.show([lower()], key='{i}')" for i in range(3))]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "a.ipynb")
    command = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "html", "--execute", "a.ipynb"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "a.html").read_text()
    start = text.index('<script type="application/vnd.jupyter.widget-state+json">')
    states = json.loads(text[text.index(">", start) + 1 : text.index("</script>", start)])["state"].values()
    buffers = [{one["path"][0]: base64.b64decode(one["data"]) for one in state.get("buffers", ())} for state in states]
    bundles = [found["code"] for found in buffers if "code" in found]
    views = [found["data"] for found in buffers if "data" in found]
    assert len(bundles) == 1
    assert b"irw-pane" in gzip.decompress(bundles[0])
    assert len(views) == 3
    assert all("reconcile-unrealized-casts" in json.dumps(unpack(data)[0]) for data in views)
