"""The schedule of torch.compile in a page: a click shows a kernel, a second one why two are not one."""

from irwidget.views import schedule
from irwidget.views.offline import document, view


def launch(kernel, kind, **more):
    op = {"name": "op0", "targets": ["aten.mm.default"] * 30, "origins": ["mm"], "loops": [], "reduced": [], "line": 3,
          "file": "m.py", "module": ""}  # fmt: skip
    return {
        "kernel": kernel, "kind": kind, "graph": 0, "direction": "", "subgraph": "", "reads": 2048, "writes": 1024,
        "loops": ["16"], "reduced": ["4"], "buffers": [{"name": "buf0", "bytes": 1024, "way": "writes"}], "ops": [op],
        "text": "tmp0 = 1", "lines": [3], "said": f"op0 is in {kernel}", **more,
    }  # fmt: skip


DRAWN = {
    "version": 1, "name": "f", "device": "sm_90",
    "launches": [launch("extern_kernels.mm", "extern"),
                 launch("triton_poi_0", "loops", text="tmp0 = <b>two</b>", subgraph="true_graph_0")],
    "flows": [{"maker": 0, "reader": 1, "buffer": "buf0", "bytes": 1024}],
    "pairs": [{"first": 0, "second": 1, "answer": "not fused", "text": "not fused: a library does it"}],
    "memory": [{"graph": 0, "direction": "", "peak": 2048, "unfused": 4096, "moments": [1024, 2048], "alive": []}],
}  # fmt: skip


LINES = """cells => cells.map((cell) => {
    const text = document.createRange();
    text.selectNodeContents(cell);
    return text.getClientRects().length;
})"""
"""In how many lines each cell is."""


def test_two_clicks_say_why_two_kernels_are_not_one(tab, tmp_path):
    path = tmp_path / "schedule.html"
    path.write_text(document(view(schedule._state(DRAWN), schedule.html(DRAWN), "schedule"), "f", ["schedule"]))
    tab.goto(path.as_uri())
    shown = tab.locator(".irw-c[data-ready]")
    shown.wait_for()
    boxes = shown.locator(".irw-c-box")
    assert shown.locator(".irw-c-cut").all_inner_texts() == ["graph 0, true_graph_0"]
    assert "16, over 4" in boxes.nth(1).inner_text()
    boxes.nth(1).click()
    assert "tmp0 = <b>two</b>" in shown.locator(".irw-c-code").inner_text()
    assert shown.locator(".irw-c-why").inner_text() == "not fused: a library does it"
    lines = shown.locator(".irw-c-table").nth(1).locator("td").evaluate_all(LINES)
    assert ([lines[at] for at in (0, 2, 3)], lines[1] > 1) == ([1, 0, 1], True)
    boxes.nth(1).click()
    assert shown.locator(".irw-c-why").count() == 0
    shown.locator(".irw-c-list").press("ArrowUp")
    assert boxes.nth(0).get_attribute("aria-selected") == "true"
    shown.locator(".irw-c-list").press("Shift+ArrowDown")
    assert shown.get_attribute("data-shown") == "0 1"
