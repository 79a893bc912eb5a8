"""Notes on lines, and links to them, in a notebook and in an offline page."""

from __future__ import annotations

from playwright.sync_api import expect

from irwidget import views
from tests.browser.labserver import SHOW, eventually
from tests.views.lowerings import lower

CELL = SHOW + "w = views.show([lower()], key='a'); w"
LINK = "from IPython.display import Markdown\nMarkdown('[look](#lowering=model&pass=13&line=9)')"


def write(view, line: int, words: str) -> str:
    """Write on a line of the right pane; gives its text."""
    row = view.locator(".irw-pane .cm-line").nth(line)
    row.click()
    view.page.keyboard.press("m")
    dialog = view.locator("dialog.irw-notes")
    text = dialog.locator("pre").inner_text()
    dialog.locator("textarea").fill(words)
    dialog.get_by_role("button", name="Keep").click()
    view.locator(".irw-note", has_text="✎").first.wait_for()
    return text


def test_a_note_is_kept_in_the_notebook_and_by_the_next_run(open_notebook):
    opened = open_notebook(CELL, LINK)
    opened.run_all()
    view, page = opened.viewer(), opened.page
    page.locator("a", has_text="look").click()
    view.locator("[data-stage='13'][aria-selected='true']").wait_for()
    text = write(view, 3, "why twice?")
    eventually(page, "[one['note'] for one in w.notes]", "['why twice?']")
    (kept,) = opened.kept(lambda state: bool(state["notes"]))["notes"]
    assert (kept["note"], kept["text"].strip()) == ("why twice?", text)

    page.evaluate("jupyterapp.serviceManager.sessions.shutdownAll()")
    again = page.context.new_page()
    server = page.url.split("/lab")[0]
    again.goto(f"{server}/lab/workspaces/{opened.path.stem}-again/tree/{opened.path.name}#pass=13&line=2")
    saved = again.locator(".irw[data-timeline]")
    saved.wait_for()
    assert saved.get_by_role("button", name="Notes (1)").count() == 1
    saved.locator("[data-stage='13'][aria-selected='true']").wait_for()
    again.wait_for_function("jupyterapp.shell.currentWidget?.sessionContext?.isReady")
    again.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
    fresh = again.locator(".irw", has=again.get_by_role("button", name="Tab", exact=True))
    fresh.wait_for()  # a new kernel's, which knows of no notes
    fresh.get_by_role("button", name="Notes (1)").wait_for()
    eventually(again, "[one['note'] for one in w.notes]", "['why twice?']")
    again.close()


def offline(tab, path, *traces):
    """The view of an offline page with these lowerings."""
    path.write_text(views.page(list(traces)))
    tab.goto(path.as_uri())
    view = tab.locator(".irw[data-timeline]")
    view.wait_for()
    return view


def test_a_page_is_saved_with_its_notes(tab, tmp_path):
    path = tmp_path / "page.html"
    view = offline(tab, path, lower())
    text = write(view, 3, "<b>why</b> </script> twice?")
    view.get_by_role("button", name="Notes (1)").click()
    with tab.expect_download() as saving:
        view.get_by_role("button", name="Save the page with its notes").click()
    saving.value.save_as(path)
    tab.goto(path.as_uri())
    view = tab.locator(".irw[data-timeline]")
    view.wait_for()
    view.get_by_role("button", name="Notes (1)").click()
    assert "<b>why</b> </script> twice?" in view.locator("dialog li").inner_text()
    view.locator("dialog li button").first.click()
    assert view.locator(".cm-activeLine").last.inner_text().strip() == text


def test_lowerings_of_one_name_are_told_apart(tab, tmp_path):
    """Two launches of a kernel, the logs of two commits: by their titles, in links and by notes."""
    path = tmp_path / "page.html"
    view = offline(tab, path, lower(), lower())
    lowering = view.get_by_label("Lowering", exact=True)
    titles = ["model → llvm_mlir", "model → llvm_mlir (2)"]
    assert lowering.locator("option").all_inner_texts() == titles
    lowering.select_option(titles[1])
    write(view, 3, "of the second")
    view.get_by_role("button", name="Copy link").click()
    status = view.locator("text=/#lowering=/").inner_text()
    lowering.select_option(titles[0])
    expect(view.locator(".irw-note .cm-gutterElement:visible", has_text="✎")).to_have_count(0)
    view.get_by_role("button", name="Notes (1)").click()
    view.locator("dialog li button").first.click()
    assert lowering.evaluate("one => one.selectedOptions[0].label") == titles[1]

    tab.goto("about:blank")
    tab.goto(path.as_uri() + status[status.index("#") :])
    opened = tab.locator(".irw[data-timeline]").get_by_label("Lowering", exact=True)
    opened.wait_for()
    assert opened.evaluate("one => one.selectedOptions[0].label") == titles[1]


def test_a_link_says_which_of_the_views_of_a_notebook_it_leads_to(tab, tmp_path):
    path = tmp_path / "page.html"
    view = offline(tab, path, lower())
    copy = view.get_by_role("button", name="Copy link")
    for other, lowering in (("net", "model"), ("model", "model+%E2%86%92+llvm_mlir")):
        facts = f"<div class=irw-facts><span><b>{other}</b> → <b>tosa_mlir</b></span></div>"
        tab.evaluate("facts => document.body.insertAdjacentHTML('beforeend', facts)", facts)  # as another view has
        copy.click()
        expect(view.locator(".irw-status")).to_contain_text(f"#lowering={lowering}&pass=20")


def test_a_link_into_another_lowering_leads_to_both_its_dumps(tab, tmp_path):
    view = offline(tab, tmp_path / "page.html", lower(), lower(name="other"))
    tab.evaluate("location.hash = '#lowering=other&pass=9&left=2&line=4'")
    shown = view.locator(".irw-title .irw-index")
    expect(shown).to_have_text(["2", "9"])
    assert view.get_by_label("Lowering", exact=True).evaluate("one => one.value") == "1"
    expect(view.locator("[data-stage='9'] .irw-strip > span")).not_to_have_count(0)  # its passes are counted
    for fragment in ("#lowering=other&pass=9&left=99", "#lowering=other&pass=99"):
        tab.evaluate("hash => location.hash = hash", fragment)
        expect(view.locator(".irw-status")).to_contain_text("other → llvm_mlir has no dump 99")
        expect(shown).to_have_text(["2", "9"])
