"""The three columns of a Helion kernel on an offline page: what belongs together lights up together."""

from __future__ import annotations

import inspect

import pytest

pytest.importorskip("helion")

import torch

import irwidget
from irwidget import helion as irhelion
from irwidget import views
from tests.browser.accessibility import LOOKS, looking, needs_axe, violations
from tests.browser.conftest import patient_page
from tests.helion import kernels_matmul as mm

expect = pytest.importorskip("playwright.sync_api").expect

NODE = "for_loop_0.acc"


@pytest.fixture(scope="module")
def low():
    return irhelion.lower_kernel(mm.matmul, (torch.randn(40, 30), torch.randn(30, 20)))


class Page:
    def __init__(self, tab) -> None:
        self.tab = tab
        self.view = tab.locator(".irw-k[data-ready]")
        self.view.wait_for()
        self.columns = self.view.locator(".irw-k-rows")

    def lit(self, column: int) -> list[str]:
        return self.columns.nth(column).locator(".irw-k-lit").all_inner_texts()

    def lit_lines(self, column: int) -> tuple[int, ...]:
        return tuple(int(row.split("\n")[0]) for row in self.lit(column))

    def focus_node(self, start: str) -> None:
        """Move the cursor of the Device IR column to a node, by keys."""
        self.columns.nth(1).focus()
        self.tab.keyboard.press("Home")
        for _ in range(60):
            if self.columns.nth(1).locator(".irw-k-at").inner_text().startswith(start):
                return
            self.tab.keyboard.press("ArrowDown")
        raise AssertionError(f"no node {start}")

    def stage(self, label: str) -> None:
        self.view.get_by_label("Stage").select_option(label=label)


@pytest.fixture(scope="module")
def tab(chromium):
    page = patient_page(chromium, height=700)
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page
    page.close()


@pytest.fixture
def page(tab, low, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(views.page([low.trace]))
    tab.goto(path.as_uri())
    return Page(tab)


def test_numbers_of_lines_stay_in_sight_and_rows_are_as_wide_as_the_widest(page):
    column = page.columns.nth(2)
    widths, moved, number = column.evaluate("""(rows) => {
        rows.scrollLeft = 40;
        const left = (element) => element.getBoundingClientRect().left;
        const numbers = [...rows.querySelectorAll(".irw-k-number")].map((one) => left(one) - left(rows));
        const widths = [...rows.children].map((row) => row.getBoundingClientRect().width);
        return [widths, rows.scrollLeft, Math.max(...numbers)];
    }""")
    assert moved == 40
    assert len(set(widths)) == 1
    assert 0 <= number < 10


def test_a_node_lights_its_source_line_and_its_mlir(page, low):
    link = next(link for link in low.links if link.node == NODE)
    page.focus_node("acc = aten.addmm")
    assert page.lit_lines(0) == link.source_lines
    assert page.lit(1) == ["acc = aten.addmm.default(_new_var, load, load_1)  # float32[16, 16]"]
    assert page.lit_lines(2) == link.mlir_lines
    page.view.locator(".irw-k-row", has_text="memref.subview %out").hover()
    store = next(link for link in low.links if link.target == "store")
    assert page.lit_lines(0) == store.source_lines
    assert page.lit_lines(2) == store.mlir_lines
    page.columns.nth(0).locator(".irw-k-row", has_text="torch.addmm").hover()
    both = [k for k in low.links if k.source_lines == link.source_lines]
    assert page.lit_lines(2) == tuple(sorted(n for k in both for n in k.mlir_lines))
    assert not page.tab.errors


_RIBBON = """view => {
    const [, nodes, mlir] = view.querySelectorAll(".irw-k-rows");
    const lit = [nodes, mlir].flatMap((list) => [...list.querySelectorAll(".irw-k-lit")]);
    const boxes = lit.map((row) => row.getBoundingClientRect());
    const [top, bottom] = [Math.min(...boxes.map((box) => box.top)), Math.max(...boxes.map((box) => box.bottom))];
    const drawn = view.querySelectorAll(".irw-k-ties path")[1].getBoundingClientRect();
    return Math.abs(drawn.top - top) < 2 && Math.abs(drawn.bottom - bottom) < 2 && Math.round(drawn.top);
}"""
"""The top of the ribbon between a node and its MLIR, or false when it does not stand where these do."""


def test_ribbons_join_all_until_something_is_lit_and_follow_a_scroll(page):
    faint = page.view.locator(".irw-k-ties .irw-k-faint")
    expect(faint.first).to_be_attached()
    page.focus_node("acc = aten.addmm")
    expect(page.view.locator(".irw-k-ties path")).to_have_count(2)
    expect(faint).to_have_count(0)
    before = page.view.evaluate(_RIBBON)
    assert before
    page.columns.nth(1).evaluate("list => { list.style.maxHeight = '200px'; list.scrollTop = 40; }")
    moved = f"before => {{ const top = ({_RIBBON})(document.querySelector('.irw-k')); return top && top < before; }}"
    page.tab.wait_for_function(moved, arg=before)
    page.tab.set_viewport_size({"width": 600, "height": 700})
    expect(page.view.locator(".irw-k-ties")).to_be_hidden()
    page.tab.set_viewport_size({"width": 1400, "height": 700})


def test_keys_pin_move_between_columns_and_clear(page, low):
    link = next(link for link in low.links if link.node == NODE)
    page.focus_node("acc = aten.addmm")
    page.tab.keyboard.press("Enter")
    page.tab.keyboard.press("ArrowRight")
    at = page.columns.nth(2).locator(".irw-k-at")
    assert int(at.inner_text().split("\n")[0]) == link.mlir_lines[0]
    assert page.tab.evaluate("document.activeElement.getAttribute('aria-label')") == "MLIR"
    page.tab.keyboard.press("End")
    assert page.columns.nth(2).locator(".irw-k-pinned").count() == len(link.mlir_lines)
    page.tab.keyboard.press("ArrowLeft")
    page.tab.keyboard.press("ArrowLeft")
    assert page.tab.evaluate("document.activeElement.getAttribute('aria-label')") == "Helion source"
    page.tab.keyboard.press("Escape")
    assert page.view.locator(".irw-k-pinned, .irw-k-lit").count() == 0


def test_stages_symbols_and_the_form_in_place(page, low):
    page.focus_node("store = store")
    page.tab.keyboard.press("Enter")
    page.stage("2 import")
    assert any("materialize_in_destination" in line for line in page.lit(2))
    page.focus_node("acc = aten.addmm")
    assert any("torch.aten.addmm" in line for line in page.lit(2))
    assert page.columns.nth(1).locator(".irw-k-row", has_text="block_size_2 = ").count() == 0
    page.view.get_by_role("button", name="Hide symbol nodes").click()
    page.focus_node("block_size_2 = ")
    assert "no MLIR of its own" in page.view.get_by_role("status").inner_text()
    page.view.get_by_role("button", name="In place").click()
    line = page.view.locator("summary", has_text="torch.addmm")
    line.press("Enter")
    here = page.tab.locator("summary", has_text="torch.addmm")
    under = page.view.locator("details[open]", has=here).locator(".irw-k-under").inner_text()
    assert "torch.aten.addmm" in under
    assert "materialize_in_destination" not in under


def _line(word: str) -> int:
    """The number of the kernel's line that has a word."""
    lines, first = inspect.getsourcelines(mm.matmul.fn)
    (number,) = (number for number, text in enumerate(lines, first) if word in text)
    return number


@pytest.fixture(scope="module")
def both():
    arguments = (torch.empty(64, 32, device="meta"), torch.empty(32, 64, device="meta"))
    lowered = irwidget.lower(mm.matmul, *arguments, to=["helion_mlir", "helion_triton", "triton_gpu_ir"])
    return [one.trace for one in lowered.values()]


def test_a_fourth_column_has_what_triton_makes_of_each_line(tab, both, tmp_path):
    pytest.importorskip("triton")
    path = tmp_path / "both.html"
    path.write_text(views.page(both))
    tab.goto(path.as_uri())
    page = Page(tab)
    expect(page.columns).to_have_count(4)
    stages = page.view.get_by_label("Triton IR")
    for stage, dump, mark in (("program", both[1].dumps[-1], "tl.dot("), ("ttgir", both[2].dumps[-1], "tt.dot ")):
        stages.select_option(label=stage)
        page.columns.nth(0).locator(".irw-k-row", has_text="torch.addmm").hover()
        places = enumerate(dump.locations, 1)
        wanted = tuple(number for number, at in places if at is not None and at.line == _line("torch.addmm"))
        assert wanted
        assert page.lit_lines(3) == wanted
        assert any(mark in row for row in page.lit(3))
        page.columns.nth(3).locator(".irw-k-row", has_text=mark).hover()
        assert page.lit_lines(0) == (_line("torch.addmm"),)
        assert any("linalg.matmul" in row for row in page.lit(2))
    page.columns.nth(2).focus()
    page.tab.keyboard.press("ArrowRight")
    assert page.tab.evaluate("document.activeElement.getAttribute('aria-label')") == "Triton"
    page.tab.keyboard.press("Escape")
    assert not tab.errors
    page.view.get_by_role("button", name="In place").click()
    expect(stages).to_be_visible()
    page.view.get_by_role("button", name="Columns").click()
    expect(page.columns).to_have_count(4)
    tab.evaluate("document.activeElement.blur()")


def test_without_triton_there_are_three_columns(page):
    expect(page.columns).to_have_count(3)
    expect(page.view.get_by_label("Triton IR")).to_be_hidden()


_SQUARES = """() => {
    const labels = [...document.querySelectorAll("text")].map((one) => [one.getBoundingClientRect(), one.textContent]);
    return [...document.querySelectorAll("rect")].map((one) => {
        const box = one.getBoundingClientRect();
        const inside = labels.filter(([at]) =>
            at.left >= box.left && at.right <= box.right && at.top >= box.top && at.bottom <= box.bottom);
        return [Math.round(box.left), Math.round(box.top), one.getAttribute("fill"), inside.map(([, text]) => text)];
    });
}"""
"""Where each square stands, its colour, and what is written inside."""


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_grid_is_drawn_with_the_program_of_each_tile(tab, order):
    config = {"block_sizes": [16, 16, 16], "loop_orders": [order]}
    (drawn,) = irhelion.lower_kernel(mm.matmul, (torch.ones(40, 30), torch.ones(30, 40)), config=config).programs
    assert drawn.tiles == (3, 3)
    tab.set_content(drawn._repr_svg_())
    squares = tab.evaluate(_SQUARES)
    lefts, tops = (sorted({square[axis] for square in squares}) for axis in (0, 1))
    number = {(tops.index(top), lefts.index(left)): text for left, top, _, (text,) in squares}
    assert number == {tile: str(program) for tile, program in drawn.of_tile.items()}
    assert number[0, 1] == ("1" if order == [1, 0] else "3")
    assert len({colour for *_, colour, _ in squares}) == 8
    assert tab.locator("title").text_content() == f"{drawn.name}: {drawn.summary}"


@needs_axe
def test_axe_finds_nothing(page):
    page.focus_node("acc = aten.addmm")
    page.tab.keyboard.press("Enter")
    for form in ("Columns", "In place"):
        page.view.get_by_role("button", name=form).click()
        for how in LOOKS:
            with looking(page.tab, how):
                assert violations(page.tab, ".irw-k") == [], (form, how)
