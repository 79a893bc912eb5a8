"""The Spyre view in a real browser: what it shows is what the program says, and it can be worked without a mouse."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from irwidget.spyre import TensorSpec, compile, spyre_hint
from irwidget.spyre.execute import _Run
from irwidget.spyre.superdsc import start_address
from irwidget.spyre.tiles import tiled_ops
from irwidget.views import page as offline
from tests.browser.accessibility import LOOKS, looking, needs_axe, violations


def attention(x, w):
    y = x @ w
    return torch.softmax(y, -1)


def looped(a, b):
    with spyre_hint(slices={"M": 4}):
        return torch.exp(a) * b


@pytest.fixture(scope="module")
def program():
    return compile(attention, [TensorSpec((256, 512)), TensorSpec((512, 1000))])


class Page:
    """An offline page with one program."""

    def __init__(self, page, path: Path, program) -> None:
        self.page, self.errors = page, []
        path.write_text(offline([], programs=[program]))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(path.as_uri())
        self.view = page.locator(".irw-s[data-ready]")
        self.view.wait_for()

    def rows(self, label: str) -> list[list[str]]:
        table = self.view.get_by_role("table", name=label, exact=True)
        return table.locator("tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
        )

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def shown(self) -> str:
        self.page.wait_for_function(
            "() => { const { shown, settled } = document.querySelector('.irw-s').dataset; return shown === settled; }"
        )
        return self.view.get_attribute("data-shown")


@pytest.fixture
def shown(tab, tmp_path):
    return lambda program: Page(tab, tmp_path / "page.html", program)


def span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"


@pytest.mark.parametrize(("width", "beside"), [(1010, True), (700, False)])
def test_the_width_is_used(shown, program, tab, width, beside):
    tab.set_viewport_size({"width": width, "height": 900})
    try:
        page = shown(program)
        whole, cores, tensors = (
            page.view.locator(f".irw-s-{name}").bounding_box() for name in ("top", "box-cores", "box-tensors")
        )
        assert (tensors["y"] == cores["y"]) == beside
        assert tensors["x"] + tensors["width"] == whole["x"] + whole["width"]
        assert beside or cores["width"] == whole["width"]
        assert cores["width"] >= page.view.locator(".irw-s-cores").bounding_box()["width"]
    finally:
        tab.set_viewport_size({"width": 1400, "height": 900})


def test_rows_columns_and_addresses_are_the_programs_own(shown, program):
    page = shown(program)
    kernel = program.kernels[0]
    for number, (_, tiled) in list(enumerate(tiled_ops(program.graph, program.kernels)))[::2]:
        page.view.locator(f"[data-op='{number}']").click()
        for core in (5, tiled.plan.cores - 1):
            page.view.locator(f"[data-core='{core}']").click()
            assert page.shown().split()[:2] == [str(number), str(core)]
            found = page.rows("Tiles of this core")
            assert len(found) == len(tiled.tensors)
            for row, tensor, planned in zip(found, tiled.tensors, kernel.plans[tiled.spec.source].tensors, strict=True):
                *_, rows, columns = tensor.tile_of(core).box
                address = start_address(tiled.plan, planned, core)
                place = tensor.arg.allocation[0]
                assert row[0] == tensor.arg.name
                said = f"{address:#x}" if place == "hbm" else f"{place} {address:#x}"
                assert row[2:5] == [span(*rows), span(*columns), said]
        tile = page.view.locator(".irw-s-tensor").last.locator(f".irw-s-mine:text-is('{tiled.plan.cores - 1}')")
        assert tile.count() <= 1
    assert not page.errors


def test_sticks_hold_the_elements_that_the_executor_puts_there(shown, program):
    page = shown(program)
    page.view.locator("[data-tensor='arg1_1'] .irw-s-maptitle").click()
    page.shown()
    buffer = program.graph.buffers["arg1_1"]
    run = _Run(program, False)
    where = {int(at): index for index, at in enumerate(run._region(buffer).addresses().flat)}
    lanes = page.view.locator(".irw-s-sticks tbody tr").first.locator(".irw-s-lanes span")
    titles = lanes.evaluate_all("all => all.map(one => one.title)")
    for lane, title in enumerate(titles):
        row, column = divmod(where[2 * lane], 1000)
        assert title == f"lane {lane}: arg1_1[{row}, {column}]"
    # The last sticks of a row are not full: 1000 is no multiple of 64.
    page.view.locator("[data-core='31']").click()
    page.shown()
    first = int(page.view.locator(".irw-s-sticks tbody th").first.inner_text())
    found = (
        page.view.locator(".irw-s-sticks tbody tr")
        .first.locator(".irw-s-lanes span")
        .evaluate_all("all => all.map(one => one.title)")
    )
    for lane, title in enumerate(found):
        index = where.get(first * 128 + 2 * lane)
        said = "padding" if index is None else f"arg1_1[{index // 1000}, {index % 1000}]"
        assert title.endswith(said), (lane, title, said)
    assert "1,024 of" not in page.view.locator(".irw-s-sticks p").inner_text()


def test_a_tile_chooses_its_cores_and_keys_reach_everything(shown, program):
    page = shown(program)
    page.view.locator("[data-tensor='arg0_1'] .irw-s-tile").nth(2).click()
    core = int(page.shown().split()[1])
    tiled = next(t for _, t in tiled_ops(program.graph, program.kernels))
    cores = tiled.tensors[0].tiles[2].cores
    assert core in cores
    also = page.view.locator(".irw-s-also").evaluate_all("all => all.map(one => Number(one.dataset.core))")
    assert sorted([*also, core]) == sorted(cores)
    page.press("c", "Home", "ArrowRight", "ArrowDown")
    assert page.shown().split()[1] == "9"
    assert page.page.evaluate("document.activeElement.dataset.core") == "9"
    page.press("t")
    assert page.shown().split()[2] == "arg1_1"
    page.press("n", "n")
    assert page.shown().startswith("2 9 ")
    page.press("Escape", "End")
    assert page.shown().startswith("5 9 ")
    assert page.view.locator("[data-op='5']").get_attribute("aria-selected") == "true"
    page.view.get_by_role("button", name="y = x @ w").click()
    assert page.shown().startswith("0 ")


def test_the_code_of_the_selection_is_lit_and_can_be_searched(shown, program):
    page = shown(program)
    page.view.locator("[data-core='5']").click()
    page.view.get_by_text("OpSpec, SuperDSC, bundle.mlir").click()
    page.view.locator(".irw-s-code .irw-s-lit").first.wait_for()
    lit = page.view.locator(".irw-s-code .irw-s-lit").all_inner_texts()
    execution = program.kernels[0].executions[0]
    made = program.kernels[0].superdsc(execution)
    (top,) = made.values()
    node = next(iter(top["dscs_"][0].values()))["scheduleTree_"][2]
    address = node["startAddressCoreCorelet_"]["data_"]["[5, 0, 0]"]
    assert any(f'"{address}"' in line and "[5, 0, 0]" in line for line in lit)
    assert any(line.startswith("5:") for line in lit)
    page.view.get_by_label("Search the code").fill("exUnit")
    assert page.view.locator(".irw-s-code .irw-hit").all_inner_texts() == ['exUnit: "pt"']
    page.view.get_by_role("button", name="bundle.mlir").click()
    assert "sdsc_0.json" in page.view.locator(".irw-s-code .irw-s-lit").inner_text()
    page.view.locator("[data-op='3']").click()
    page.shown()
    assert "sdsc_3.json" in page.view.locator(".irw-s-code .irw-s-lit").inner_text()


def test_a_loop_moves_tiles_and_addresses(shown):
    specs = [TensorSpec((64, 256), dims=["M", "N"])] * 2
    program = compile(looped, specs, cores=4)
    page = shown(program)
    tiled = next(t for _, t in tiled_ops(program.graph, program.kernels))
    page.view.locator("[data-core='0']").click()
    page.press("]", "]")
    assert page.shown().endswith(" 2")
    (row, *_), tensor = page.rows("Tiles of this core"), tiled.plan.tensors[0]
    assert row[4] == f"{start_address(tiled.plan, tensor, 0, (2,)):#x}"
    low, high = tiled.tensors[0].tile_of(0).box[0]
    assert row[2] == span(low + 32, high + 32)
    assert page.view.locator("output").inner_text() == "M 3 of 4"


@needs_axe
def test_axe_finds_nothing(shown, program):
    page = shown(program)
    page.view.get_by_text("OpSpec, SuperDSC, bundle.mlir").click()
    page.view.locator(".irw-s-code .irw-s-lit").first.wait_for()
    for summary in page.view.locator("summary", has_text="Table").all():
        summary.click()
    for how in LOOKS:
        with looking(page.page, how):
            assert violations(page.page, ".irw-s") == [], how


def test_the_notebook_compiles_again_and_shares_the_selection(open_notebook):
    notebook = open_notebook(
        "import torch, irwidget.spyre as s\nfrom irwidget.views.spyre import SpyreView\n"
        "p = s.compile(lambda x, w: torch.softmax(x @ w, -1), [s.TensorSpec((256, 512)), s.TensorSpec((512, 1024))])\n"
        "v = SpyreView(p); v"
    )
    notebook.run_all()
    view = notebook.viewer()
    view.locator("[data-core='7']").click()
    view.get_by_text("OpSpec, SuperDSC, bundle.mlir").click()
    view.locator(".irw-s-lit").first.wait_for()
    view.get_by_text("Change it and compile again").click()
    form = view.get_by_role("form", name="Compile again")
    form.get_by_label("cores", exact=True).fill("99")
    form.evaluate("form => form.noValidate = true")
    form.get_by_role("button", name="Compile again").click()
    form.get_by_text("from 1 to 32").wait_for()
    form.get_by_label("cores", exact=True).fill("8")
    form.get_by_label("arg1_1").select_option("1,0")
    form.get_by_role("button", name="Compile again").click()
    view.get_by_role("table", name="What changed by op").wait_for()
    assert "cores: 32 → 8" in view.get_by_label("Beside the former program").inner_text()
    assert view.locator("[data-core]").count() == 8
    assert view.locator(".irw-s-op").count() == 7
    found = notebook.page.evaluate(
        """async () => {
          const { kernel } = jupyterapp.shell.currentWidget.sessionContext.session;
          const code = '(v.core, v.program.options.cores, v.ops[0])';
          const future = kernel.requestExecute({ code: '', user_expressions: { it: code }, store_history: false });
          return (await future.done).content.user_expressions.it.data['text/plain'];
        }"""
    )
    assert found == "(7, 8, 'buf6 = ReStickifyOpHBM')"


class Layer(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1) + torch.relu(x * x) - torch.exp(x) * torch.sigmoid(x)


def test_layers_are_folded_found_and_sorted_by_cost(tab, tmp_path):
    model = torch.nn.Sequential(*(Layer() for _ in range(4)))
    shown = Page(tab, tmp_path / "page.html", compile(model, [TensorSpec((256, 512))]))
    ops = shown.view.get_by_role("listbox", name="Ops").get_by_role("option")
    whole = len(compile(model, [TensorSpec((256, 512))]).estimate().ops)
    folded = ops.count()
    assert folded < whole
    more = shown.view.get_by_role("button", name="more equal layer")
    more.click()
    assert ops.count() == whole
    shown.view.get_by_role("button", name="fold").click()
    assert ops.count() == folded
    shown.view.get_by_role("searchbox").fill("exp layers-are-none")
    assert ops.count() == 0
    shown.view.get_by_role("searchbox").fill("sigmoid")
    assert ops.count() == 4
    ops.nth(2).click()
    shown.shown()
    assert "sigmoid" in shown.view.get_by_role("region", name="Time, estimated").inner_text()
    shown.view.get_by_role("searchbox").fill("")
    shown.view.get_by_role("combobox", name="Order of the ops").select_option("us")
    times = ops.evaluate_all("rows => rows.map(row => row.textContent)")
    assert "×" in times[0]
    assert "an estimate" in shown.view.get_by_role("region", name="Time, estimated").inner_text()
    assert not shown.errors
