"""The heat map of a sweep in JupyterLab and offline: a click on a cell opens its pass diff."""

from __future__ import annotations

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
    page.locator(".irw-w-cell[data-status='ok']").click(timeout=90_000)
    page.locator(".irw-w-diff .irw .cm-line", has_text="arith.addf").first.wait_for()
    page.locator(".irw-w .irw-query").first.fill("bad")
    page.locator(".irw-w-cell[data-status='ok']").wait_for(state="hidden")
    page.locator(".irw-w-cell:not([data-status='ok'])").click()
    page.locator(".irw-w-detail pre").wait_for()


def test_a_click_opens_the_pass_diff_offline(chromium, tmp_path):
    ir = IR.replace("\\n", "\n")
    irwidget.sweep({"good": (ir,)}, ["raw_ir"]).to_html(tmp_path / "sweep.html")
    page = chromium.new_page()
    page.goto((tmp_path / "sweep.html").as_uri())
    page.locator(".irw-w-cell").click()
    page.frame_locator("iframe").locator(".cm-line", has_text="arith.addf").first.wait_for()
    for how in LOOKS if AXE.exists() else ():
        with looking(page, how):
            assert violations(page, ".irw-w") == [], how
    page.close()
