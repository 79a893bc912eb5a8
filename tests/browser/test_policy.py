"""The Content-Security-Policy of offline pages: their own script runs, nothing else does, and nothing is loaded."""

from __future__ import annotations

import functools
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from irwidget import views
from irwidget.spyre import TensorSpec, compile
from irwidget.trace import Trace, dump
from tests.browser import test_sweep

ROOT = Path(__file__).parents[2]


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def _viewer(path: Path) -> None:
    dumps = (dump("input", "a\n", step=0), dump("cse", "b\n", step=0))
    path.write_text(views.page([Trace("t", dumps, attachments={"g.dot": b"digraph { a -> b }"})]))


def _spyre(path: Path) -> None:
    path.write_text(views.page([], programs=[compile(add, [TensorSpec((64, 64)), TensorSpec((64, 64))])]))


def _helion(path: Path) -> None:
    pytest.importorskip("helion")
    from irwidget import helion
    from tests.helion import kernels_pointwise

    low = helion.lower_kernel(kernels_pointwise.add, (torch.randn(8, 8), torch.randn(8, 8)))
    path.write_text(views.page([low.trace]))


PAGES = {"viewer": _viewer, "spyre": _spyre, "helion": _helion, "sweep": test_sweep.write_page}
SHOWN = {"viewer": ".irw[data-timeline]", "spyre": ".irw-s[data-ready]", "helion": ".irw-k[data-ready]",
         "sweep": ".irw-w-cell"}  # fmt: skip


class Server(http.server.BaseHTTPRequestHandler):
    """Notes what is asked of it, and allows everybody everything."""

    asked: list[str]

    def __init__(self, asked: list[str], *given: object) -> None:
        self.asked = asked
        super().__init__(*given)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Type", "text/javascript")
        self.end_headers()
        self.wfile.write(b"window.hacked = 1")

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, list[str]]]:
    """A host on the network, as far as a page can tell, and what pages have asked of it."""
    asked: list[str] = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, asked)) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}", asked
        serving.shutdown()


INJECTED = """
<script>window.hacked = 1</script>
<script type="module">window.hacked = 1</script>
<script src="data:text/javascript,window.hacked=1"></script>
<script src="HOST/script.js"></script>
<img src="HOST/image.png" onerror="window.hacked = 1"><svg onload="window.hacked = 1"></svg>
<link rel="stylesheet" href="HOST/sheet.css"><style>body { background: url(HOST/background.png) }</style>
<iframe src="HOST/frame.html"></iframe><object data="HOST/object"></object>
<form id="sends" action="HOST/form" method="post"><input name="a" value="b"></form>
<a id="runs" href="javascript:window.hacked = 1">x</a>
"""


@pytest.fixture(params=PAGES)
def page(request, opened, tmp_path, server):
    """An offline page with hostile elements put into it before the browser reads it."""
    path = tmp_path / "page.html"
    PAGES[request.param](path)
    text = path.read_text()
    hostile = INJECTED.replace("HOST", server[0])
    path.write_text(text.replace("<body>", f"<body>{hostile}").replace("</body>", f"{hostile}</body>"))
    opened.errors = []
    opened.on("pageerror", lambda error: opened.errors.append(str(error)))
    opened.goto(path.as_uri())
    opened.locator(SHOWN[request.param]).first.wait_for()
    return request.param


def test_only_the_pages_own_script_runs_and_nothing_is_loaded(page, opened, server):
    host, asked = server
    if page == "sweep":
        opened.locator(".irw-w-cell").click()
        opened.locator(".irw-w-frame").wait_for()
        opened.frame_locator(".irw-w-frame").locator(".cm-line", has_text="arith.addf").first.wait_for()
    if page == "viewer":  # Graphviz needs a worker and WebAssembly
        opened.get_by_text("1 file").click()
        opened.get_by_role("button", name="Draw g.dot").click()
        opened.locator("dialog svg").wait_for()
    opened.evaluate("document.getElementById('runs').click()")
    opened.evaluate(f"fetch('{host}/fetched').catch(() => 0)")
    opened.evaluate("document.getElementById('sends').submit()")
    opened.wait_for_timeout(300)
    ours = [frame for frame in opened.frames if "chrome-error" not in frame.url]
    assert [frame.evaluate("window.hacked") for frame in ours] == [None] * (2 if page == "sweep" else 1)
    assert asked == []
    assert not opened.errors


def test_the_page_is_as_hostile_as_it_looks(opened, tmp_path, server):
    """Without the policy the same elements do run and load."""
    path = tmp_path / "page.html"
    _viewer(path)
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text())
    path.write_text(text.replace("<body>", f"<body>{INJECTED.replace('HOST', server[0])}"))
    opened.goto(path.as_uri())
    opened.locator(SHOWN["viewer"]).wait_for()
    assert opened.evaluate("window.hacked") == 1
    assert {"/script.js", "/image.png", "/sheet.css"} <= set(server[1])
    server[1].clear()


def test_the_index_of_the_gallery_has_no_script(opened, tmp_path, server):
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs/gallery.py"), str(tmp_path / "none"), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    path = tmp_path / "index.html"
    hostile = INJECTED.replace("HOST", server[0])
    path.write_text(path.read_text().replace("<body>", f"<body>{hostile}"))
    opened.goto(path.as_uri())
    opened.wait_for_timeout(300)
    assert opened.evaluate("window.hacked") is None
    assert server[1] == []
    assert opened.evaluate("getComputedStyle(document.body).maxWidth") != "none"
