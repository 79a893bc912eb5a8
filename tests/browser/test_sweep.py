"""The heat map of a sweep in JupyterLab and offline: a click on a cell opens its pass diff."""

from __future__ import annotations

from pathlib import Path

import irwidget
from tests.browser.accessibility import AXE, LOOKS, looking, violations

IR = "func.func @f(%x: f32) -> f32 {\\n  %y = arith.addf %x, %x : f32\\n  return %y : f32\\n}"
SWEEP = f"""
import irwidget
models = {{"good": ("{IR}",), "bad": ("func.func @f( {{",)}}
result = irwidget.sweep(models, ["raw_ir"], progress=False)
"""


def test_a_click_opens_the_pass_diff_in_a_notebook(open_notebook):
    opened = open_notebook(SWEEP + "result")
    opened.run_all()
    page = opened.page
    page.locator(".irw-w-cell[data-status='ok']").click()
    page.locator(".irw-w-diff .irw .cm-line", has_text="arith.addf").first.wait_for()
    page.locator(".irw-w .irw-query").first.fill("bad")
    page.locator(".irw-w-cell[data-status='ok']").wait_for(state="hidden")
    page.locator(".irw-w-cell:not([data-status='ok'])").click()
    page.locator(".irw-w-detail pre").wait_for()


def write_page(path: Path) -> None:
    """The page of a sweep of one cell, which is lowered."""
    swept = irwidget.sweep({"good": (IR.replace("\\n", "\n"),)}, ["raw_ir"])
    assert [cell.message for cell in swept.cells] == [""]
    swept.to_html(path)


def test_a_click_opens_the_pass_diff_offline(opened, tmp_path):
    write_page(tmp_path / "sweep.html")
    opened.goto((tmp_path / "sweep.html").as_uri())
    opened.locator(".irw-w-cell").click()
    opened.frame_locator("iframe").locator(".cm-line", has_text="arith.addf").first.wait_for()
    for how in LOOKS if AXE.exists() else ():
        with looking(opened, how):
            assert violations(opened, ".irw-w") == [], how
