"""Measures the Spyre view in Chromium: opening a program of 200 ops, selecting an op or a core.

python -m benchmarks.viewer.spyre [--ops 200]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import Page, sync_playwright

from irwidget.spyre import SpyreProgram, TensorSpec, compile
from irwidget.views import page
from irwidget.views.spyre import SpyreView
from tests.browser.labserver import CHROMIUM, FLAGS

OPEN, SELECT = 500, 50
"""Limits in milliseconds."""

WATCH = """new MutationObserver(() => {
  if (window.readyAt || !document.querySelector('.irw-s[data-ready]')) return;
  window.readyAt = -1;
  requestAnimationFrame(() => setTimeout(() => { window.readyAt = performance.now(); }));
}).observe(document, { subtree: true, childList: true, attributes: true });"""

STEP = """async ([selector, key, times]) => {
  const found = [];
  for (let i = 0; i < times; i++) {
    const element = document.querySelector(selector);
    element.focus();
    const started = performance.now();
    element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    found.push(performance.now() - started);
  }
  return found;
}"""


def program(ops: int) -> SpyreProgram:
    """A chain of elementwise ops that ends in a matmul."""

    def chain(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        for _ in range((ops - 2) // 3):
            a = torch.exp(a) * b + a
        return a @ b.t()

    return compile(chain, [TensorSpec((512, 512)), TensorSpec((512, 512))], name="chain")


def opened(tab: Page, path: Path) -> float:
    """Milliseconds from the start of loading the page until the view has painted."""
    tab.goto(path.as_uri())
    tab.wait_for_function("window.readyAt > 0")
    return float(tab.evaluate("window.readyAt"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, default=200)
    parser.add_argument("--times", type=int, default=7)
    options = parser.parse_args()
    made = program(options.ops)
    started = time.perf_counter()
    view = SpyreView(made)
    kernel = 1000 * (time.perf_counter() - started)
    count = len(view.picture["ops"])
    path = Path(tempfile.mkdtemp()) / "page.html"
    path.write_text(page([], programs=[made]))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1400, "height": 1000})
        tab.add_init_script(WATCH)
        opens = [opened(tab, path) for _ in range(options.times)]
        steps: dict[str, list[Any]] = {
            "an op": tab.evaluate(STEP, [".irw-s-ops", "ArrowDown", 40]),
            "a core": tab.evaluate(STEP, ["[data-core][tabindex='0']", "ArrowRight", 28]),
            "a tensor": tab.evaluate(STEP, [".irw-s-ops", "t", 12]),
        }
        browser.close()
    print(f"{count} ops on {view.picture['cores']} cores; data {len(view.data) / 1000:.0f} kB, made in {kernel:.0f} ms")
    print("                 median ms  slowest  limit  limit / median")
    for name, times, limit in [("open", opens, OPEN), *((f"select {n}", t, SELECT) for n, t in steps.items())]:
        median = statistics.median(times)
        print(f"{name:17}{median:>9.0f}{max(times):>9.0f}{limit:>7}{limit / median:>15.1f}x")


if __name__ == "__main__":
    main()
