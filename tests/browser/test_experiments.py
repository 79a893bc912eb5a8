"""Edit here and go on, in JupyterLab: one notebook, its view, and the same notebook opened again."""

from __future__ import annotations

import pytest

from tests.browser.accessibility import needs_axe, violations
from tests.browser.labserver import evaluate

CELL = '''\
import irwidget, irwidget.views
text = """
func.func @f(%a: i32, %b: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %x = arith.addi %a, %zero : i32
  %y = arith.muli %x, %b : i32
  %z = arith.muli %x, %b : i32
  %s = arith.addi %y, %z : i32
  return %s : i32
}
"""
passes = "--canonicalize --cse --convert-arith-to-llvm --convert-func-to-llvm --reconcile-unrealized-casts"
low = irwidget.lower(text, to="raw_ir", name="f", pipeline=f"mlir-opt {passes} | mlir-translate --mlir-to-llvmir")
w = irwidget.views.show([low.trace], key="a", lowerings=[low])
w'''
COPIES = '''\
%load_ext irwidget
text = """
func.func @f(%x: tensor<8xf32>, %v: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %w = tensor.insert_slice %v into %x[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %w, %x : tensor<8xf32>, tensor<8xf32>
}
"""
pipeline = "mlir-opt --canonicalize --one-shot-bufferize=bufferize-function-boundaries=true --cse"
copies = irwidget.lower(text, to="raw_ir", name="g", pipeline=pipeline)
irwidget.views.show([copies.trace], key="b", lowerings=[copies])'''
MODEL = """\
%%lower --to torch_mlir
import torch

def bent(x):
    return torch.relu(x)

x = torch.randn(2, 8)"""


@pytest.fixture(scope="module")
def notebook(open_notebook):
    opened = open_notebook(CELL, COPIES, MODEL)
    opened.run_all()
    opened.page.locator(".irw[data-ready]").first.wait_for()
    return opened


@pytest.fixture(scope="module")
def view(notebook):
    return notebook.viewer()


def choose(view, stage: int) -> None:
    view.locator(f"[data-stage='{stage}']").click()
    view.locator(f"[data-stage='{stage}'][aria-selected='true']").wait_for()


def edit(view, stage: int):
    """Open the editor of a stage, and wait for what the parser says."""
    choose(view, stage)
    view.locator(".irw-title").get_by_role("button", name="Edit", exact=True).click()
    editor = view.locator(".irw-edit[data-checked=true]")
    editor.wait_for()
    return editor


def put(view, old: str, new: str) -> None:
    """Type one text in place of another in the editor."""
    view.locator(".irw-edit .cm-content").click()
    word = view.locator(".irw-edit .cm-line", has_text=old).first
    word.click()
    keys = view.page.keyboard
    line = word.inner_text().strip("\n")
    keys.press("End")
    keys.press("Shift+Home")
    keys.press("Shift+Home")
    keys.insert_text(line.replace(old, new))


def experiment(view, name: str, state: str):
    row = view.locator(f".irw-exp[data-state={state}]", has_text=name)
    row.first.wait_for()
    return row.first


def test_the_parser_answers_and_what_is_edited_goes_on_beside_the_original(notebook, view):
    cells = notebook.page.locator(".jp-Cell").count()
    editor = edit(view, 2)
    assert "take this text" in editor.locator(".irw-edit-said").inner_text()
    put(view, "arith.muli", "arith.muliplied")
    said = view.locator(".irw-edit[data-checked=true] .irw-edit-wrong")
    said.wait_for()
    assert "Line 3, column 10 custom op 'arith.muliplied' is unknown" in said.inner_text()
    assert "Did you mean arith.muli" in said.inner_text()
    assert view.locator(".irw-wrong-word").inner_text() == "arith.muliplied"
    put(view, "arith.muliplied", "arith.subi")
    view.locator(".irw-edit-said", has_text="take this text").wait_for()
    view.get_by_label("Name of the experiment").fill("a difference")
    notebook.page.keyboard.press("Control+Enter")
    row = experiment(view, "a difference", "done")
    row.locator(".irw-exp-said", has_text="the results differ").wait_for()
    # Its texts may come after what is said of them.
    view.locator(".irw-title.irw-left .irw-index:text-is('6')").wait_for()
    titles = [title.split("\n")[:2] for title in view.locator(".irw-title").all_inner_texts()]
    assert titles == [["6", "mlir-to-llvmir"], ["4", "mlir-to-llvmir"]]
    assert "sub i32" in view.locator(".irw-panes .irw-new").last.inner_text()
    assert "mul i32" in view.locator(".irw-panes .irw-gone").last.inner_text()
    facts = view.locator(".irw-exp-outcome tbody tr").all_inner_texts()
    assert facts[0].split("\t") == ["check", "not computed", "not computed"]
    assert facts[2].split("\t") == ["operations", "3", "3"]
    assert notebook.page.locator(".jp-Cell").count() == cells
    assert evaluate(notebook.page, "'sub' in low.text") == "False"


def test_a_pass_is_left_out_moved_and_given_options(notebook, view):
    view.locator(".irw-bar select").first.select_option("0")
    choose(view, 2)
    view.get_by_role("button", name="Leave out").click()
    experiment(view, "without cse", "done").locator(".irw-exp-said", has_text="only left").wait_for()
    view.locator(".irw-bar select").first.select_option("0")
    edit(view, 0)
    plan = view.locator(".irw-plan")
    assert plan.locator("li").count() == 6
    plan.get_by_role("button", name="cse earlier").click()
    plan.locator("li", has_text="canonicalize").locator("summary").click()
    plan.get_by_label("max-iterations").fill("1")
    plan.get_by_label("Run convert-func-to-llvm").uncheck()
    assert plan.locator("b").inner_text() == "5 of 6 passes to run"
    view.get_by_role("button", name="Go on").click()
    row = experiment(view, "without convert-func-to-llvm; canonicalize with max-iterations=1", "failed")
    assert "func.func" in row.locator(".irw-exp-said").inner_text()
    view.locator(".irw-failure", has_text="mlir-to-llvmir").wait_for()
    assert evaluate(notebook.page, "[one['place'] for one in w.experiments[-1]['passes']]") == "[1, 0, 2, 4, 5]"


def test_what_does_not_parse_fails_as_a_lowering_does_and_is_mended_from_there(notebook, view):
    view.locator(".irw-bar select").first.select_option("0")
    edit(view, 6)
    put(view, "ret i32", "rte i32")
    view.locator(".irw-edit-wrong", has_text="expected instruction opcode").wait_for()
    view.get_by_role("button", name="Go on").click()
    row = experiment(view, "dump 6 edited", "failed")
    view.locator(".irw-failure").wait_for()
    row.get_by_role("button", name="Edit", exact=True).click()
    view.locator(".irw-edit[data-checked=true]").wait_for()
    assert "rte i32" in view.locator(".irw-edit .cm-content").inner_text()
    view.page.keyboard.press("Escape")
    view.locator(".irw-edit").wait_for(state="detached")


@needs_axe
def test_everything_keeps_its_keys_and_axe_is_content(notebook, view):
    view.locator(".irw-bar select").first.select_option("0")
    edit(view, 0)
    view.locator(".irw-plan summary").first.click()
    loose = view.evaluate(
        """view => [...view.querySelectorAll('.irw-edit *, .irw-exps *')]
             .filter(element => element.dataset.lmSuppressShortcuts !== 'true' && element.tabIndex >= 0)
             .map(element => element.outerHTML.slice(0, 120))"""
    )
    assert loose == []
    for theme in ("Dark", "Light"):
        change = "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })"
        notebook.page.evaluate(change, f"JupyterLab {theme}")
        view.and_(notebook.page.locator(f"[data-theme={theme.lower()}]")).wait_for()
        assert violations(notebook.page, ".irw") == [], theme
    view.locator(".irw-edit").get_by_role("button", name="Close").click()
    view.locator(".irw-edit").wait_for(state="detached")


def test_why_there_is_a_copy_leads_to_the_lines_of_the_conflict(notebook):
    view = notebook.viewer(1)
    asks = view.get_by_role("button", name="Why copies")
    choose(view, 3)
    assert asks.count() == 0
    choose(view, 2)
    asks.click()
    dialog = view.get_by_role("dialog")
    dialog.wait_for()
    assert "1 operand with a buffer of its own" in dialog.inner_text()
    assert dialog.locator("ul li").all_inner_texts() == [
        "operand 1 of tensor.insert_slice, line 3 would overwrite argument 0 of func.func, line 2, "
        "which is still read: operand 1 of return, line 4"
    ]
    dialog.get_by_role("button", name="operand 1 of return, line 4").click()
    assert dialog.count() == 0
    line = view.locator(".irw-pane .cm-activeLine", has_text="return %inserted_slice, %arg0").first
    line.wait_for()


def test_the_cell_itself_is_edited_and_lowered_beside_the_original(notebook):
    view = notebook.viewer(2)
    view.locator(".irw-title").get_by_role("button", name="Edit cell", exact=True).click()
    view.locator(".irw-edit[data-checked=true]").wait_for()
    put(view, "relu(x)", "sigmoid(x")
    said = view.locator(".irw-edit-wrong", has_text="Line 4, column 25")
    said.wait_for()
    assert "SyntaxError: '(' was never closed" in said.inner_text()
    put(view, "sigmoid(x", "sigmoid(x)")
    view.locator(".irw-edit-said", has_text="takes this text").wait_for()
    view.get_by_role("button", name="Go on").click()
    experiment(view, "cell edited", "done").locator(".irw-exp-said", has_text="the results differ").wait_for()
    assert "torch.aten.sigmoid" in view.locator(".irw-panes .irw-new").last.inner_text()
    assert "torch.aten.relu" in view.locator(".irw-panes .irw-gone").last.inner_text()
    assert evaluate(notebook.page, "bent(x).min().item() >= 0 and 'relu' in _lowering.text") == "True"


def test_the_notebook_keeps_them_and_the_next_kernel_runs_them_again(notebook, view):
    row = experiment(view, "a difference", "done")
    row.get_by_role("button", name="Rename", exact=True).click()
    view.get_by_label("New name").fill("<b>mine</b>")
    notebook.page.keyboard.press("Enter")
    experiment(view, "<b>mine</b>", "done")
    notebook.kept(lambda state: [one["name"] for one in state["experiments"]][:2] == ["<b>mine</b>", "without cse"])
    notebook.page.wait_for_function("!jupyterapp.shell.currentWidget.context.model.dirty")
    notebook.page.evaluate("jupyterapp.serviceManager.sessions.shutdownAll()")
    page = notebook.page.context.new_page()
    server = notebook.page.url.split("/lab")[0]
    page.goto(f"{server}/lab/workspaces/{notebook.path.stem}-again/tree/{notebook.path.name}?reset")
    saved = page.locator(".irw[data-timeline]").first
    saved.wait_for()
    experiment(saved, "<b>mine</b>", "done").locator(".irw-exp-name").click()
    assert "sub i32" in saved.locator(".irw-panes .irw-new").last.inner_text()
    assert saved.get_by_role("button", name="Edit", exact=True).count() == 0, "nobody is there to run it"
    page.wait_for_function("jupyterapp.shell.currentWidget?.sessionContext?.isReady")
    page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
    fresh = page.locator(".irw", has=page.get_by_role("button", name="Tab", exact=True)).first
    row = experiment(fresh, "<b>mine</b>", "kept")
    row.get_by_role("button", name="Run", exact=True).click()
    experiment(fresh, "<b>mine</b>", "done")
    assert "sub i32" in fresh.locator(".irw-panes .irw-new").last.inner_text()
    page.close()
