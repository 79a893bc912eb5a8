"""What is measured in JupyterLab: painting, switching, scrolling, memory, size."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from playwright.sync_api import Browser

from tests.browser.labserver import CHROMIUM, FLAGS, Server, evaluate

ROOT = Path(__file__).parents[2]
FIRST_NOTEBOOK = ROOT / "notebooks/01-first-lowering.ipynb"
__all__ = ["CHROMIUM", "FLAGS", "Lab", "Server"]

FIRST_CELL = """async () => {
  jupyterapp.shell.currentWidget.content.activeCellIndex = 0;
  await jupyterapp.commands.execute('notebook:run-cell');
}"""

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

HEAP = """async () => {
  for (let i = 0; i < 4; i++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return performance.memory.usedJSHeapSize;
}"""

RESIDENT = """async () => {
  const { kernel } = jupyterapp.shell.currentWidget.sessionContext.session;
  const it = "__import__('gc').collect() * 0 + int(open('/proc/self/statm').read().split()[1]) * 4096";
  const future = kernel.requestExecute({ code: '', user_expressions: { it }, store_history: false });
  return Number((await future.done).content.user_expressions.it.data['text/plain']);
}"""


class Lab:
    """JupyterLab with one notebook per size."""

    def __init__(self, server: Any, browser: Browser, folder: Path) -> None:
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
        return (
            f"import sys, pathlib; sys.path.insert(0, {str(ROOT)!r})\n"
            "from benchmarks.viewer import models\nfrom irwidget import views\n"
            f"trace = models.trace({size!r}, pathlib.Path({str(self.folder)!r}))"
        )

    def measure(self, size: str) -> dict[str, float]:
        page = self.open(f"size-{size}", self.load(size), "views.show([trace], key='cell')")
        page.evaluate(FIRST_CELL)
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

    def first_diff(self, *, imported: bool) -> float:
        """Median milliseconds from Shift+Enter on the first notebook's cell to its diff, in fresh kernels.

        Right after `%load_ext`, or once what that imports in the background is there.
        """
        cells = [cell.source for cell in nbformat.read(FIRST_NOTEBOOK, 4).cells if cell.cell_type == "code"]
        found: list[float] = []
        for number in range(3):
            page = self.open(f"first-{imported}-{number}", *cells[:2])
            page.evaluate(FIRST_CELL)
            if imported:
                evaluate(page, "__import__('irwidget.imports', fromlist=['wait']).wait()")
            found.append(page.evaluate(RUN_CELL, 1)["afterStart"])
            page.close()
        return statistics.median(found)

    def rerun(self, size: str, times: int = 20) -> tuple[float, float]:
        """Growth of the browser's heap and of the kernel over re-runs of a cell."""
        page = self.open(f"rerun-{size}", self.load(size), "views.show([trace], key='cell')")
        page.evaluate(FIRST_CELL)
        seen: list[tuple[float, float]] = []
        for i in range(times):
            page.evaluate(RUN_CELL, 1)
            page.locator(".irw[data-timeline]").wait_for(timeout=60_000)
            if i in (0, times - 1):
                seen.append((page.evaluate(HEAP), page.evaluate(RESIDENT)))
        page.close()
        return seen[-1][0] / seen[0][0], seen[-1][1] / seen[0][1]

    def ten_views(self) -> int:
        """Bytes of a notebook with ten views and their widget state, as nbconvert executes it."""
        cells = [self.load("1k"), *(f"views.show([trace], key='{i}')" for i in range(10))]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        nbclient.NotebookClient(notebook, kernel_name="python3").execute()
        return len(nbformat.writes(notebook))
