"""What is seen of a lowering that takes long, and the button that stops it, in JupyterLab."""

from __future__ import annotations

from tests.browser.labserver import evaluate

MODEL = """%load_ext irwidget
import time, torch
class Net(torch.nn.Module):
    def forward(self, x):
        time.sleep(wait)
        return torch.relu(x) + 1
net, x = Net(), torch.randn(4)
wait = 2.5"""


def test_progress_says_what_goes_on_and_stops_during_the_export(open_notebook):
    notebook = open_notebook(
        MODEL, "%lower net x --to torch_mlir", "wait = 90", "%lower net x --to torch_mlir,tosa_mlir"
    )
    notebook.run_all()
    page = notebook.page
    bar = page.locator(".irw-progress")
    stop = bar.get_by_role("button", name="Stop")
    bar.locator(".irw-phases li", has_text="torch.export").first.wait_for()
    page.locator(".irw-list").wait_for()  # the view has taken the place of the progress
    assert page.locator(".jp-Cell").nth(1).locator(".irw-progress").count() == 0
    last = page.locator(".jp-Cell").nth(3)
    last.locator("[aria-current]", has_text="torch.export").wait_for()
    stop.click()
    last.locator(".jp-OutputArea", has_text="interrupted").wait_for()
    page.wait_for_function("!document.querySelector('.irw-progress')")
    assert evaluate(page, "wait") == "90"  # the kernel lives
    assert "ended without a result" in last.inner_text()


def test_stopped_in_a_pass_the_view_comes_before_the_texts(open_notebook, tmp_path):
    """The worker was ended, and makes them again: nobody waits for that."""
    runs, on = tmp_path / "runs", tmp_path / "on"
    waits = f"sh -c 'test -e {runs} && while ! test -e {on}; do sleep 0.1; done; touch {runs}; cat'"
    notebook = open_notebook(
        "%load_ext irwidget\ntext = 'func.func @f(%x: f32) -> f32 {\\n  return %x : f32\\n}\\n'",
        f"""%lower text --to raw_ir --pipeline "user-tool {waits} | user-tool sleep 60" """,
    )
    notebook.run_all()
    cell = notebook.page.locator(".jp-Cell").nth(1)
    cell.locator(".irw-running", has_text="sleep").wait_for()
    cell.get_by_role("button", name="Stop").click()
    cell.locator(".irw-list", has_text="not here yet").wait_for()
    assert "Not compared: the texts had not come when this was written" in notebook.save()
    on.touch()
    cell.locator(".irw-pane", has_text="func.func @f").first.wait_for()
    assert "not here yet" not in cell.inner_text()
