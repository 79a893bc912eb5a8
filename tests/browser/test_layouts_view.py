"""The layouts of a dump on an offline page: the pointer on a line draws its tensor, an element names its owners."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import irwidget
from irwidget import layouts
from tests.browser.accessibility import AXE, LOOKS, looking, violations

BLOCKED = "#ttg.blocked<{sizePerThread = [%s], threadsPerWarp = [4, 8], warpsPerCTA = [%s], order = [1, 0]}>"
TEXT = f"""#blocked = {BLOCKED % ("1, 1", "4, 1")}
#blocked1 = {BLOCKED % ("1, 2", "2, 2")}
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80"}} {{
  tt.func public @f(%x: tensor<16x16xf32, #blocked>) {{
    %y = ttg.convert_layout %x : tensor<16x16xf32, #blocked> -> tensor<16x16xf32, #blocked1>
    tt.return
  }}
}}
"""


def owner(row, column, kind):
    found = layouts.layout(f"tensor<16x16xf32, {kind}>").owners(row, column)
    return [f"warp {one['warp']}, lane {one['lane']}, register {one['register']}" for one in found]


def test_it_is_drawn_in_a_notebook(open_notebook):
    opened = open_notebook(
        f"import irwidget; TEXT = {TEXT!r}",
        "irwidget.lower(TEXT, to='raw_ir', pipeline='triton-opt --cse').layouts(0)",
    )
    opened.run_all()
    view = opened.page.locator(".jp-OutputArea-output .irw-l")
    view.locator("canvas").first.wait_for()
    view.locator(".irw-l-has", has_text="convert_layout").click()
    assert "by shared memory" in view.locator(".irw-l-title").inner_text()


def test_a_line_draws_its_tensor_and_an_element_names_its_owners(opened, tmp_path):
    low = irwidget.lower(TEXT, to="raw_ir", pipeline="triton-opt --cse")
    low.layouts(0).to_html(tmp_path / "layouts.html")
    opened.goto((tmp_path / "layouts.html").as_uri())
    opened.locator(".irw-l-has", has_text="tt.func").hover()
    assert "%x" in opened.locator(".irw-l-title").inner_text()
    assert opened.locator("canvas").count() == 1
    opened.locator(".irw-l-has", has_text="convert_layout").click()
    assert "by shared memory" in opened.locator(".irw-l-title").inner_text()
    assert opened.locator("canvas").count() == 2
    opened.locator(".irw-l-side").hover()
    opened.locator("canvas").first.click(position={"x": 5 * 28 + 3, "y": 9 * 28 + 3})
    told = opened.locator(".irw-l-owner").inner_text().splitlines()
    kinds = [BLOCKED % ("1, 1", "4, 1"), BLOCKED % ("1, 2", "2, 2")]
    assert told == [f"(9, 5) {'; '.join(owner(9, 5, kind))}" for kind in kinds]
    opened.locator("canvas").first.press("ArrowRight")
    assert opened.locator(".irw-l-owner").inner_text().startswith(f"(9, 6) {owner(9, 6, kinds[0])[0]}")
    opened.get_by_label("Colour by").select_option("register")
    assert "coloured by register" in opened.locator("canvas").first.get_attribute("aria-label")
    for how in LOOKS if AXE.exists() else ():
        with looking(opened, how):
            assert violations(opened, ".irw-l") == [], how
