"""Measures the viewer in real JupyterLab, and Monaco's diff editor on the same pairs in the same run.

    python -m benchmarks.viewer [--sizes 1k,10k,100k] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "browser"))

from conftest import BLOCKED, CHROMIUM, Server  # noqa: E402

from benchmarks.viewer import models, peer  # noqa: E402
from irwidget.dumps import Trace  # noqa: E402

LIMITS = {"1k": (250, 100), "10k": (400, 250), "100k": (1200, 800)}
"""Milliseconds: first paint, pass switch."""

RUN_CELL = """async (index) => {
  const panel = jupyterapp.shell.currentWidget;
  const { kernel } = panel.sessionContext.session;
  const ended = new Promise((resolve) => kernel.statusChanged.connect(function idle(_, status) {
    if (status !== 'idle') return;
    kernel.statusChanged.disconnect(idle);
    resolve(performance.now());
  }));
  const old = new Set(document.querySelectorAll('.irw'));
  const painted = new Promise((resolve) => {
    const look = () => [...document.querySelectorAll('.irw[data-ready]')].some((view) => !old.has(view))
      ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))) : requestAnimationFrame(look);
    look();
  });
  panel.content.activeCellIndex = index;
  const started = performance.now();
  await jupyterapp.commands.execute('notebook:run-cell');
  const [end, paint] = await Promise.all([ended, painted]);
  return { afterCell: Math.max(0, paint - end), afterStart: paint - started };
}"""

SWITCH = """async () => {
  const list = document.querySelector('.irw-list');
  list.focus();
  const times = [];
  for (let i = 0; i < 24; i++) {
    const started = performance.now();
    list.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp', bubbles: true, cancelable: true }));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    times.push(performance.now() - started);
  }
  return times;
}"""

SCROLL = """async () => {
  const list = document.querySelector('.irw-list');
  list.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true, cancelable: true }));
  const fold = [...document.querySelectorAll('.irw button')].find((button) => button.textContent === 'Fold');
  if (fold.getAttribute('aria-pressed') === 'true') fold.click();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const scroller = [...document.querySelectorAll('.irw-pane .cm-scroller')].at(-1);
  const frames = [];
  let last = performance.now();
  for (let i = 0; i < 90; i++) {
    scroller.scrollTop += 240;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  fold.click();
  return frames;
}"""


class Lab:
    """JupyterLab with one notebook per size."""

    def __init__(self, server: Server, browser: Browser, folder: Path) -> None:
        self.server, self.browser, self.folder = server, browser, folder

    def open(self, name: str, *cells: str) -> Any:
        path = self.server.notebooks / f"{name}.ipynb"
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        made = [nbformat.v4.new_code_cell(cell) for cell in cells]
        nbformat.write(nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": kernel}), path)
        page = self.browser.new_page(viewport={"width": 1500, "height": 950})
        page.goto(f"{self.server.url}/lab/workspaces/{name}/tree/{name}.ipynb?reset")
        page.wait_for_function("window.jupyterapp?.shell?.currentWidget?.sessionContext?.isReady", timeout=60_000)
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        return page

    def load(self, size: str) -> str:
        root = Path(__file__).parents[2]
        return (
            f"import sys, pathlib; sys.path.insert(0, {str(root)!r})\n"
            "from benchmarks.viewer import models\nfrom irwidget import views\n"
            f"trace = models.trace({size!r}, pathlib.Path({str(self.folder)!r}))"
        )

    def measure(self, size: str) -> dict[str, float]:
        page = self.open(f"size-{size}", self.load(size), "views.show([trace], key='cell')")
        page.evaluate(
            "async () => { jupyterapp.shell.currentWidget.content.activeCellIndex = 0;"
            " await jupyterapp.commands.execute('notebook:run-cell'); }"
        )
        paints = [page.evaluate(RUN_CELL, 1) for _ in range(4)]
        page.locator(".irw[data-timeline]").wait_for(timeout=60_000)
        switches = page.evaluate(SWITCH)
        frames = page.evaluate(SCROLL)
        page.close()
        return {
            "first paint": statistics.median(paint["afterCell"] for paint in paints[1:]),
            "paint from start": statistics.median(paint["afterStart"] for paint in paints[1:]),
            "switch": statistics.median(switches), "slowest switch": max(switches),
            "frames per second": 1000 / statistics.mean(frames),
        }  # fmt: skip

    def rerun(self, size: str, times: int = 20) -> tuple[float, float]:
        """Growth of the browser's heap and of the kernel over re-runs of a cell."""
        memory = "int(open('/proc/self/statm').read().split()[1]) * 4096"
        page = self.open(f"rerun-{size}", self.load(size), "views.show([trace], key='cell')")
        page.evaluate(
            "async () => { jupyterapp.shell.currentWidget.content.activeCellIndex = 0;"
            " await jupyterapp.commands.execute('notebook:run-cell'); }"
        )
        heap = "async () => { for (let i = 0; i < 4; i++) { gc(); await new Promise(r => setTimeout(r, 200)); } return performance.memory.usedJSHeapSize; }"
        resident = f"""async () => {{
          const {{ kernel }} = jupyterapp.shell.currentWidget.sessionContext.session;
          const code = "__import__('gc').collect() * 0 + {memory}";
          const reply = await kernel.requestExecute({{ code: '', user_expressions: {{ it: code }}, store_history: false }}).done;
          return Number(reply.content.user_expressions.it.data['text/plain']);
        }}"""
        seen: list[tuple[float, float]] = []
        for i in range(times):
            page.evaluate(RUN_CELL, 1)
            page.locator(".irw[data-timeline]").wait_for(timeout=60_000)
            if i in (0, times - 1):
                seen.append((page.evaluate(heap), page.evaluate(resident)))
        page.close()
        return seen[-1][0] / seen[0][0], seen[-1][1] / seen[0][1]

    def ten_views(self) -> int:
        """Bytes of a notebook with ten views and their widget state, as nbconvert executes it."""
        import nbclient

        cells = [self.load("1k"), *(f"views.show([trace], key={i})".replace(f"key={i}", f"key='{i}'") for i in range(10))]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        nbclient.NotebookClient(notebook, kernel_name="python3").execute()
        return len(nbformat.writes(notebook))


def monaco(browser: Browser, page_file: Path, trace: Trace) -> float:
    """Median milliseconds that Monaco takes for the pairs that the viewer was switched through."""
    page = browser.new_page(viewport={"width": 1400, "height": 700})
    page.goto(page_file.as_uri())
    page.wait_for_function("window.peerReady")
    texts = [dump.text for dump in trace.dumps]
    changed = [i for i in range(1, len(texts)) if texts[i] != texts[i - 1]][-6:]
    page.set_default_timeout(0)
    times = [page.evaluate("([left, right]) => show(left, right)", [texts[i - 1], texts[i]]) for i in changed]
    page.close()
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1k,10k,100k")
    parser.add_argument("--keep", type=Path, help="keep the lowerings in this folder")
    parser.add_argument("--no-rerun", action="store_true")
    options = parser.parse_args()
    folder = Path(options.keep or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    sizes = options.sizes.split(",")
    traces = {size: models.trace(size, folder) for size in sizes}
    server = Server(Path(tempfile.mkdtemp()))
    flags = ["--no-sandbox", "--allow-file-access-from-files", BLOCKED, "--js-flags=--expose-gc", "--enable-precise-memory-info"]
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
            lab = Lab(server, browser, folder)
            page = peer.build(folder)
            print(f"{'':6}{'lines':>9}{'paint ms':>10}{'limit':>7}{'switch ms':>11}{'slowest':>9}{'limit':>7}{'fps':>6}{'Monaco ms':>11}{'ratio':>7}")
            for size in sizes:
                found = lab.measure(size)
                theirs = monaco(browser, page, traces[size])
                first, switch = LIMITS[size]
                lines = traces[size].dumps[-1].text.count("\n")
                print(
                    f"{size:6}{lines:>9,}{found['first paint']:>10.0f}{first:>7}{found['switch']:>11.0f}{found['slowest switch']:>9.0f}"
                    f"{switch:>7}{found['frames per second']:>6.0f}{theirs:>11.0f}{theirs / found['switch']:>6.1f}x",
                    flush=True,
                )  # fmt: skip
            if not options.no_rerun:
                heap, kernel = lab.rerun(sizes[0])
                print(f"20 re-runs ({sizes[0]}): browser heap {heap:.2f} x (limit 1.6), kernel {kernel:.2f} x (limit 1.2)")
                print(f"a notebook with ten views: {lab.ten_views() / 1e6:.2f} MB (limit 1)")
            browser.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
