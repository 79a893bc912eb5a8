"""The longest that the viewer keeps the page from answering, over a dump of a million lines.

python -m benchmarks.viewer.blocks [--lines 1000000]

Opens an exported page in Chromium, chooses passes, scrolls, presses keys and searches. A block is what the browser
itself reports as a long task; beside it, how long all of it took.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from irwidget.trace import Trace, dump
from irwidget.views import page
from tests.browser.labserver import CHROMIUM, FLAGS

LIMIT = 1000
"""Milliseconds."""

LONGEST = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
}).observe({ type: 'longtask', buffered: true });
"""


def long(lines: int) -> Trace:
    """Two dumps that differ in one of so many lines."""
    text = "\n".join(f"  %{i} = arith.addi %{i - 1}, %c{i % 997} : i64" for i in range(lines))
    return Trace("t", (dump("input", text, step=0), dump("cse", text.replace("addi %5000,", "muli %5000,"), step=0)))


def use(tab: Page) -> None:
    """What somebody does with it."""
    view = tab.locator(".irw[data-timeline]")
    for stage in (0, 1):
        view.locator(f"[data-stage='{stage}']").click()
    view.get_by_text("−1 +1 line, 1 change").wait_for()
    tab.evaluate("document.querySelectorAll('.irw-pane')[1].querySelector('.cm-scroller').scrollTop = 4e6")
    for key in "sszzba":
        tab.keyboard.press(key)
    view.and_(tab.locator("[data-blame=ready]")).wait_for()
    view.locator(".irw-query").fill("muli")
    view.locator(".irw-found", has_text="1 here").wait_for()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    path = Path(tempfile.mkdtemp()) / "page.html"
    path.write_text(page([long(parser.parse_args().lines)]))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        tab.set_default_timeout(600_000)
        tab.add_init_script(LONGEST)
        print("            all of it, s  longest block, ms  limit")
        for name, work in (("open", lambda: tab.goto(path.as_uri())), ("use", lambda: use(tab))):
            began = time.perf_counter()
            work()
            tab.locator(".irw[data-timeline]").wait_for()
            spent = time.perf_counter() - began
            print(f"{name:11}{spent:>14.1f}{tab.evaluate('longest'):>19.0f}{LIMIT:>7}", flush=True)
            tab.evaluate("longest = 0")
        browser.close()


if __name__ == "__main__":
    main()
