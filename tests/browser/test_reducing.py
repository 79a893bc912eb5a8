"""A failure made small in the view, in JupyterLab: the buttons, the best so far, a stop, the text to paste."""

from __future__ import annotations

import pytest

from tests.browser.accessibility import needs_axe, violations

CELL = """\
import irwidget, irwidget.views
lines = "".join(f"  %x{i} = arith.addf %{'a' if i == 0 else f'x{i - 1}'}, %b : f32\\n" for i in range(60))
text = f"func.func @f(%a: f32, %b: f32) -> f32 {{\\n{lines}  %e = math.erf %x9 : f32\\n  return %e : f32\\n}}\\n"
passes = "--convert-arith-to-llvm --convert-func-to-llvm"
try:
    irwidget.lower(text, to="raw_ir", name="f", pipeline=f"mlir-opt {passes} | mlir-translate --mlir-to-llvmir")
except irwidget.IRWidgetError as error:
    low = error.lowering
w = irwidget.views.show([low.trace], key="a", lowerings=[low])
w"""


@pytest.fixture(scope="module")
def view(open_notebook):
    opened = open_notebook(CELL)
    opened.run_all()
    opened.page.locator(".irw[data-ready]").wait_for()
    return opened.viewer()


def test_a_failure_becomes_small_and_ends_in_the_text_to_paste(view):
    place = view.locator(".irw-reducing")
    assert place.get_by_role("button").all_inner_texts() == ["Minimise"]  # of text there is no program
    place.get_by_role("button", name="Minimise").click()
    view.locator(".irw-reducing[data-state=done]").wait_for()
    report = place.get_by_label("The text for an issue").inner_text()
    assert "math.erf" in report
    assert "arith.addf" not in report
    assert "mlir-opt --convert-arith-to-llvm" in report
    assert "Smallest: 3 of 63 operations" in place.get_by_role("status").inner_text()
    place.get_by_role("button", name="Copy").click()
    assert view.locator(".irw-failure").count() == 1
    how = "one => getComputedStyle(one).wordBreak"  # JupyterLab breaks words in the middle
    assert set(view.locator("pre").evaluate_all(f"all => all.map({how})")) == {"normal"}


def test_it_can_be_stopped(view):
    place = view.locator(".irw-reducing")
    place.get_by_role("button", name="Minimise again").click()
    place.get_by_role("button", name="Stop").click()
    ended = view.locator(".irw-reducing[data-state=stopped], .irw-reducing[data-state=done]")
    ended.wait_for()
    assert place.get_by_role("button", name="Minimise again").count() == 1


@needs_axe
def test_it_can_be_read_by_all(view):
    assert violations(view.page, ".irw") == []
