"""A page of JupyterLab that stays open: it is scrolled, searched and clicked while lowerings go on in its kernel."""

from __future__ import annotations

import ast
import random
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.viewer.lab import FIRST_CELL, HEAP, Lab
from tests.browser.labserver import CHROMIUM, FLAGS, Server, evaluate
from tests.soak.company import FIRST

SETUP = """%load_ext irwidget
import torch, irwidget
net = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
x = torch.randn(1, 4, 16)
targets = iter(["nvptx", "tosa_mlir", "llvm_ir"] * 999)"""
SHOW = "get_ipython().run_line_magic('lower', f'net x --to {next(targets)}')"
_BEGIN = """async () => {
  const panel = jupyterapp.shell.currentWidget;
  panel.content.activeCellIndex = 1;
  window.ended = false;
  jupyterapp.commands.execute('notebook:run-cell').then(() => { window.ended = true; });
}"""
_HELD = """[__import__('gc').collect() * 0 + __import__('psutil').Process().memory_full_info().uss >> 20,
            __import__('psutil').Process().num_fds(), __import__('threading').active_count()]"""
_MOST = 96
"""MB that the kernel, or the page, may have grown by."""


def live_page(count: int, number: int) -> dict[str, object]:
    """Run a cell `count` times while its view is driven; each view must be that of the new lowering."""
    assert CHROMIUM, "no Chromium: apt-get install chromium"
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        server = Server(Path(home))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            page = Lab(server, browser, Path(home)).open("soak", SETUP, SHOW)
            return _Driven(page, random.Random(number)).run(count)
        finally:
            browser.close()
            server.stop()


class _Driven:
    """The open page, and what was done to it."""

    def __init__(self, page: Page, chance: random.Random) -> None:
        self.page, self.chance = page, chance
        self.errors: list[str] = []
        self.done = 0
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def run(self, count: int) -> dict[str, object]:
        self.page.evaluate(FIRST_CELL)
        self._lower()
        early: list[int] = []
        for index in range(1, count):
            self._lower()
            if index + 1 == FIRST:
                early = self._held()
        late = self._held()
        assert not self.errors, self.errors[:3]
        grown = [one - other for one, other in zip(late, early, strict=True)]
        assert grown[0] <= _MOST, (early, late)
        assert grown[1] <= 2, (early, late)
        assert grown[3] <= _MOST, (early, late)
        return {
            "lowerings": count,
            "keys and clicks": self.done,
            f"after {FIRST}": _told(early),
            "at the end": _told(late),
        }

    def _lower(self) -> None:
        """Run the cell; drive the view before it while the kernel is busy, and the new one when it is there."""
        self.page.evaluate(_BEGIN)
        while not self.page.evaluate("() => window.ended"):
            self._drive()
        stages = int(self._python("len(_lowering.dumps)"))
        self.page.locator(f".irw[data-ready] [data-stage='{stages - 1}']").wait_for(timeout=30_000)
        assert self._python("_lowering.failure is None") == "True"
        assert self.page.locator(".irw").count() == 1
        self._drive()

    def _drive(self) -> None:
        """One thing that a reader does; a view that is just being replaced may not be there for it."""
        self.done += int(self.page.evaluate(_READ, self.chance.randrange(1000)))
        self.page.wait_for_timeout(30)

    def _held(self) -> list[int]:
        heap = int(self.page.evaluate(HEAP)) >> 20
        return [*ast.literal_eval(self._python(_HELD)), heap]

    def _python(self, expression: str) -> Any:
        return evaluate(self.page, expression)


_READ = """(what) => {
  const view = document.querySelector('.irw[data-ready]:not(.irw-progress)');
  if (!view) return 0;
  const list = view.querySelector('.irw-list');
  const press = (key) => list.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const stages = [...view.querySelectorAll('[data-stage]')];
  const buttons = [...view.querySelectorAll('button')];
  const query = view.querySelector('.irw-query');
  const does = [
    () => press('ArrowUp'),
    () => press('ArrowDown'),
    () => press('End'),
    () => stages[what % stages.length]?.click(),
    () => buttons[what % buttons.length]?.click(),
    () => {
      query.value = ['llvm', 'tensor', 'zzz', ''][what % 4];
      query.dispatchEvent(new Event('input', { bubbles: true }));
    },
    () => view.querySelectorAll('.cm-scroller').forEach((pane) => { pane.scrollTop += what; }),
  ];
  does[what % does.length]();
  return 1;
}"""


def _told(held: list[int]) -> str:
    memory, descriptors, threads, heap = held
    return f"kernel {memory} MB, {descriptors} descriptors, {threads} threads, page {heap} MB"
