"""What a pass did in operations, their tree and graph, and what passes cost, in an offline page."""

from __future__ import annotations

import pytest

from irwidget import views
from irwidget.trace import Trace, dump
from tests.browser.accessibility import looking, needs_axe, violations
from tests.views.lowerings import lower

MANY = 5000


@pytest.fixture(scope="module")
def view(tab, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(views.page([lower()]))
    tab.goto(path.as_uri())
    shown = tab.locator(".irw[data-timeline]")
    shown.wait_for()
    shown.locator("[data-stage='8']").click()
    shown.get_by_role("button", name="Ops", exact=True).click()
    return shown


def test_a_pass_is_said_in_operations(view):
    said = "removed 1 linalg.fill, 1 linalg.generic, 1 linalg.matmul; added 7 scf.for, 4 memref.load, 3 memref.store"
    said += "; arith not counted"
    assert view.locator(".irw-ops-said").inner_text() == said
    assert said in view.locator(".irw-status").inner_text()
    view.get_by_role("button", name="removed linalg.matmul").click()
    assert "linalg.matmul" in view.locator(".irw-pane .cm-line").filter(has_text="linalg.matmul").first.inner_text()


def test_the_tree_is_walked_by_keys_and_drawn_as_a_graph(view):
    page = view.page
    view.get_by_role("button", name="Tree", exact=True).click()
    tree = view.get_by_role("tree")
    tree.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    assert tree.get_by_role("treeitem").count() == 1
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    assert tree.locator("[aria-selected=true]").inner_text().strip() == "func.return"
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert tree.locator("[aria-selected=true]").inner_text().split() == ["▸", "func.func", "@main", "27"]
    page.keyboard.press("g")
    graph = view.locator("canvas[data-drawn]")
    graph.wait_for()
    assert "12 operations, 20 uses" in view.locator(".irw-graph").inner_text()
    page.keyboard.press("Backspace")
    view.locator(".irw-graph", has_text="2 operations, 0 uses").wait_for()
    page.keyboard.press("Escape")


def test_costs_are_sorted_and_lead_to_their_pass(view):
    view.get_by_role("button", name="Costs", exact=True).click()
    dialog = view.get_by_role("dialog")
    row = dialog.locator("tr", has_text="one-shot-bufferize")
    row.locator("td", has_text="1 (+1)").wait_for()
    assert "128 B" in row.inner_text()
    dialog.get_by_role("button", name="ops", exact=True).click()
    counts = [int(text) for text in dialog.locator("tbody td:nth-child(4)").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    names = dialog.locator(".irw-cost-bar span")
    fits = """one => {
        const { width } = one.parentNode.getBoundingClientRect();
        return Math.abs(width - 40) < 1 || width > 40 === !!one.offsetWidth;
    }"""
    assert names.evaluate_all(f"all => all.every({fits})")
    assert any(name.is_visible() for name in names.all())
    dialog.locator("tbody button", has_text="one-shot-bufferize").click()
    view.locator("[data-stage='5'][aria-selected='true']").wait_for()


def test_in_forced_colours_bars_mark_the_passes_on_the_screen_alone(view):
    colour = "one => getComputedStyle(one).borderLeftColor === getComputedStyle(document.body).backgroundColor"
    with looking(view.page, "forced colors"):
        rows = view.locator(".irw-row")
        assert rows.count() > 2
        assert [not one.evaluate(colour) for one in rows.all()] == [
            "irw-left" in one.get_attribute("class") or "irw-right" in one.get_attribute("class") for one in rows.all()
        ]


@needs_axe
def test_axe_finds_nothing(view):
    assert violations(view.page, ".irw") == []
    view.get_by_role("button", name="Changes", exact=True).click()
    assert violations(view.page, ".irw") == []
    view.get_by_role("button", name="Costs", exact=True).click()
    assert violations(view.page, ".irw") == []
    view.page.keyboard.press("Escape")


def test_thousands_of_operations_move_smoothly(tab, tmp_path):
    lines = [f"    %{i} = arith.addf %{i // 2}, %{i // 3} : f32" for i in range(1, MANY + 1)]
    text = "\n".join(["module {", "  func.func @f(%0: f32) {", *lines, "  }", "}"])
    path = tmp_path / "many.html"
    path.write_text(views.page([Trace("x", (dump("input", text, step=-1),))]))
    tab.goto(path.as_uri())
    view = tab.locator(".irw[data-timeline]")
    view.wait_for()
    view.get_by_role("button", name="Ops", exact=True).click()
    view.get_by_role("button", name="Graph", exact=True).click()
    graph = view.locator(f"canvas[data-drawn='{MANY}']")
    graph.wait_for()
    took = graph.evaluate(
        """async canvas => {
          const took = [];
          for (let i = 0; i < 30; i++) {
            canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: i < 15 ? -60 : 60, offsetX: 300, offsetY: 200 }));
            await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            took.push(Number(canvas.dataset.took));
          }
          return took.sort((a, b) => a - b);
        }"""
    )
    print("milliseconds of a frame:", took[len(took) // 2], took[-1])
    assert took[len(took) // 2] < 100  # 16.7 on a machine with nothing else to do


def test_costs_have_columns_of_what_there_is_and_name_what_comes_before_the_passes(tab, tmp_path):
    dumps = [dump("torch.export", "%a = arith.addf %b, %c", step=-1, seconds=0.2)]
    dumps += [dump(f"p{i}", f"%a = arith.addf %b, %c{i}", step=0, seconds=0.025) for i in range(2)]
    path = tmp_path / "page.html"
    path.write_text(views.page([Trace("x", tuple(dumps))]))
    tab.goto(path.as_uri())
    tab.locator(".irw[data-timeline]").get_by_role("button", name="Costs", exact=True).click()
    dialog = tab.get_by_role("dialog")
    assert dialog.get_by_text("250 ms in all: torch.export 200 ms, 2 passes 50 ms").is_visible()
    dialog.get_by_role("columnheader", name="copies").wait_for(state="hidden")
    assert dialog.get_by_role("columnheader").all_inner_texts() == ["pass", "time", "share", "ops", "flop"]
    assert dialog.get_by_role("row", name="p1").get_by_role("cell").all_inner_texts() == ["25 ms", "10.0 %", "1", "1"]
