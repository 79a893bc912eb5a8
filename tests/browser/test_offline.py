"""The exported page, opened from disk: everything works without a kernel and without a network."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
import torch

import irwidget
from irwidget import views
from irwidget.toolchain import debug_lines
from irwidget.trace import WHOLE, Content, Diagnostic, Failure, Location, Scope, Step, Trace, dump
from tests.browser.accessibility import LOOKS, looking, needs_axe, violations
from tests.late import late_dump
from tests.views.lowerings import PROGRAM, lower


class Page:
    """A page with one view."""

    def __init__(self, page, path: Path, traces: list[Trace]) -> None:
        self.page = page
        path.write_text(views.page(traces))
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(path.as_uri())
        self.view = page.locator(".irw[data-timeline]")
        self.view.wait_for()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def settle(self) -> None:
        """Wait until the page has drawn what it was told."""
        frame = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
        self.page.evaluate(frame)

    def choose(self, stage: int, **how) -> None:
        self.view.locator(f"[data-stage='{stage}']").click(**how)

    def titles(self) -> list[str]:
        return [title.replace("\n", " ") for title in self.view.locator(".irw-title").all_inner_texts()]

    def status(self) -> str:
        return self.view.locator(".irw-status").inner_text()

    def lines(self, pane: int) -> list[str]:
        return self.view.locator(".irw-pane").nth(pane).locator(".cm-line").all_inner_texts()

    def line_at_cursor(self) -> str:
        return self.page.evaluate("document.activeElement.querySelector('.cm-activeLine').textContent")

    def put_cursor(self, pane: int, text: str) -> None:
        """Click into a word of a pane."""
        self.page.evaluate(
            """([pane, text]) => {
              const content = document.querySelectorAll('.irw-pane')[pane].querySelector('.cm-content');
              const walker = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
              for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                const at = node.data.indexOf(text);
                if (at < 0) continue;
                content.focus();
                getSelection().collapse(node, at + 1);
                return;
              }
              throw new Error('not in sight: ' + text);
            }""",
            [pane, text],
        )
        self.settle()


@pytest.fixture
def shown(tab, tmp_path):
    return lambda *traces: Page(tab, tmp_path / "page.html", list(traces))


@pytest.fixture(scope="module")
def trace():
    return lower()


def test_click_shows_a_pass_with_its_predecessor_and_shift_any_two(shown, trace):
    page = shown(trace)
    page.choose(8)
    assert [title.split()[:2] for title in page.titles()] == [["7", "cse"], ["8", "convert-linalg-to-loops"]]
    page.choose(1, modifiers=["Shift"])
    assert [title.split()[0] for title in page.titles()] == ["1", "8"]
    page.press("ArrowDown")
    assert [title.split()[0] for title in page.titles()] == ["1", "9"], "the left side is held"
    page.choose(0)
    assert len(page.titles()) == 1
    assert not page.errors


def test_the_timeline_shows_lines_and_dialects(shown, trace):
    page = shown(trace)
    row = page.view.locator("[data-stage='8']")
    assert row.locator(".irw-bar-gone").count() == row.locator(".irw-bar-new").count() == 1
    dialects = row.locator(".irw-strip span").evaluate_all("spans => spans.map(span => span.title)")
    assert {"memref", "scf", "arith", "func"} <= set(dialects)


def test_a_log_without_times_has_no_room_for_them(shown, trace):
    untimed = tuple(dataclasses.replace(dump, seconds=0.0) for dump in trace.dumps)
    wide: list[float] = []
    for one in (trace, dataclasses.replace(trace, dumps=untimed)):
        page = shown(one)
        wide.append(page.view.locator(".irw-side").bounding_box()["width"])
        assert page.view.get_by_role("button", name="By time").count() == (one is trace)
    assert wide[1] < wide[0] - 40


def test_passes_without_a_change_are_one_line_until_asked_for(shown, trace):
    page = shown(trace)
    before = page.view.locator(".irw-row").count()
    page.view.locator(".irw-unchanged").first.click()
    assert page.view.locator(".irw-row").count() > before


def test_keys_reach_every_control(shown, trace):
    page = shown(trace)
    page.choose(10)
    for key, control in {"s": "Unified", "z": "Fold", "w": "Wrap", "b": "Ignore renumbering", "a": "Blame"}.items():
        button = page.view.get_by_role("button", name=control)
        before = button.get_attribute("aria-pressed")
        page.press(key)
        assert button.get_attribute("aria-pressed") != before, control
        page.press(key)
        assert button.get_attribute("aria-pressed") == before, control
    page.press("?")
    assert page.view.get_by_role("dialog", name="Keys").is_visible()
    page.press("Escape")
    page.press("Enter")
    assert page.page.evaluate("document.activeElement.className").startswith("cm-content")
    page.press("Escape")
    assert page.page.evaluate("document.activeElement.getAttribute('role')") == "listbox"
    page.press("f")
    assert page.page.evaluate("document.activeElement.tagName") == "SELECT"


def test_the_list_makes_room_for_the_operations(shown, trace, tab):
    tab.set_viewport_size({"width": 1100, "height": 900})
    try:
        page = shown(trace)
        page.choose(10)
        rail, wide = page.view.locator(".irw-side[data-rail]"), page.view.locator(".irw-side:not([data-rail])")
        wide.wait_for()
        page.press("o")
        rail.wait_for()
        assert page.view.locator(".irw-pane").last.bounding_box()["width"] > 500
        page.press("o")
        wide.wait_for()
        page.press("o")
        rail.wait_for()
        page.press("r")  # as the reader wants it
        wide.wait_for()
        assert not page.errors
    finally:
        tab.set_viewport_size({"width": 1400, "height": 900})


@pytest.mark.parametrize(("width", "keys"), [(1000, ""), (1400, "s")])
def test_names_of_passes_are_not_cut_while_options_have_room(shown, trace, tab, width, keys):
    named = ("torch-finalizing-conversion", "torch-verify-conversion")
    dumps = [
        dataclasses.replace(dump, name=name, options="max-iterations=10 " * 9)
        for dump, name in zip(trace.dumps[:2], named, strict=True)
    ]
    tab.set_viewport_size({"width": width, "height": 900})
    try:
        page = shown(dataclasses.replace(trace, dumps=tuple(dumps)))
        page.choose(1)
        page.press(*keys)
        cut = "names => names.map(name => name.scrollWidth > name.clientWidth)"
        assert page.view.locator(".irw-titles[data-layout=unified] b").evaluate_all(cut) == [False, False]
    finally:
        tab.set_viewport_size({"width": 1400, "height": 900})


def test_a_screen_reader_hears_the_names_in_the_rail_and_which_lines_go_and_come(shown, trace):
    page = shown(trace)
    page.choose(1)
    page.view.get_by_role("button", name="The list as a narrow rail").click()
    said = re.compile(r"^1\s*inline\s*, 3 lines gone, 3 new")
    page.view.get_by_role("option", name=said, selected=True).wait_for(timeout=9000)
    for key in ("", "s"):  # two columns, then one
        page.press(*key)
        page.settle()
        sides = [page.view.get_by_role(role).all_inner_texts() for role in ("deletion", "insertion")]
        assert [len(lines) for lines in sides] == [3, 3]
        assert [any("call @helper" in line for line in lines) for lines in sides] == [True, False]


def test_tab_goes_from_the_list_to_both_panes(shown, trace):
    page = shown(trace)
    page.choose(10)
    seen = []
    for _ in range(7):
        seen.append(page.page.evaluate("document.activeElement.getAttribute('aria-label')"))
        page.press("Tab")
    assert seen[0] == "Passes"
    panes = [label for label in seen if label and label[0].isdigit()]
    assert [label.split()[0] for label in panes] == ["9", "10"]


def test_n_and_p_walk_the_changes(shown, trace):
    page = shown(trace)
    page.choose(13)
    page.press("n")
    first = page.line_at_cursor()
    page.press("n")
    assert page.line_at_cursor() != first
    page.press("p")
    assert page.line_at_cursor() == first


def test_search_says_where_a_text_first_appears(shown, trace):
    page = shown(trace)
    page.press("/")
    page.view.locator(".irw-query").fill("memref.alloc")
    found = page.view.locator(".irw-found").inner_text()
    first = next(i for i, one in enumerate(trace.dumps) if "memref.alloc" in one.text)
    assert f"first in {first} {trace.dumps[first].name}" in found
    dots = page.view.locator(".irw-row", has=page.page.locator(".irw-hits", has_text="●")).evaluate_all(
        "rows => rows.map(row => Number(row.dataset.stage))"
    )
    assert dots == [i for i, one in enumerate(trace.dumps) if "memref.alloc" in one.text]
    page.press("Enter")
    assert page.titles()[-1].startswith(f"{first} "), "no hit here: on to the first pass that has one"
    assert page.view.locator(".irw-hit").count() > 0
    page.view.locator(".irw-query").fill("there is no such text")
    assert page.view.locator(".irw-found").inner_text() == "in no pass"


def test_one_function_can_be_shown_alone(shown, trace):
    page = shown(trace)
    page.choose(1)
    page.view.get_by_label("Show one function (f)").select_option("helper")
    assert not any("@main" in line for line in page.lines(1) if "func.func" in line)
    assert any("func.func @helper" in line for line in page.lines(1))
    assert page.status() == "@helper: no change"


def test_what_is_searched_or_linked_outside_of_a_function_shown_alone_brings_back_all(shown, trace):
    page = shown(trace)
    page.choose(0)
    function = page.view.get_by_label("Show one function (f)")
    function.select_option("helper")
    assert page.status() == "@helper: 5 lines"
    page.view.locator(".irw-query").fill("linalg.matmul")
    page.press("Enter")
    page.view.locator(".irw-found", has_text="1 of ").wait_for()
    found = page.view.locator(".irw-pane .cm-activeLine")
    assert ["linalg.matmul" in line for line in found.all_inner_texts()] == [True]
    assert function.input_value() == ""
    function.select_option("helper")
    page.page.evaluate("location.hash = '#pass=8&line=9'")
    page.view.locator(".irw-title", has_text="convert-linalg-to-loops").wait_for()
    assert trace.dumps[8].text.split("\n")[8] in found.all_inner_texts()
    for fragment, said in (("#pass=8&line=99", "8 convert-linalg-to-loops has no line 99"), ("#pass=77", "no dump 77")):
        page.page.evaluate("hash => location.hash = hash", fragment)
        page.view.locator(".irw-said", has_text=said).wait_for()


def test_the_list_can_be_filtered(shown, trace):
    page = shown(trace)
    page.view.get_by_label("Filter passes").fill("canon")
    names = page.view.locator(".irw-name").all_inner_texts()
    assert names == ["canonicalize", "canonicalize (2)", "canonicalize (3)"]


def test_renumbering_is_ignored_on_request_and_by_itself(shown, trace):
    page = shown(trace)
    ignore = page.view.get_by_role("button", name="Ignore renumbering")
    page.choose(20)
    if ignore.get_attribute("aria-pressed") == "true":
        ignore.click()
    raw = page.view.locator(".irw-ruler span").count()
    ignore.click()
    assert "only renumbered" in page.status()
    assert page.view.locator(".irw-ruler span").count() < raw
    assert page.view.locator(".irw-renumbered").count() > 0


ALIGNED = """() => {
  const panes = [...document.querySelectorAll('.irw-pane')];
  const box = panes[0].getBoundingClientRect();
  const tops = panes.map((pane) => [...pane.querySelectorAll('.cm-line')]
    .filter((line) => !/irw-(gone|new)/.test(line.className))
    .map((line) => line.getBoundingClientRect().top)
    .filter((top) => top > box.top + 60 && top < box.bottom - 60).map(Math.round));
  const [left, right] = tops.map((found) => found.slice(1, -1));
  const within = (some, all) => some.every((top) => all.includes(top));
  return tops[0].length && (within(left, tops[1]) || within(right, tops[0]));
}"""


@pytest.mark.parametrize("keys", [[], ["z"], ["w"], ["z", "w"], ["b"], ["b", "z"]])
def test_equal_lines_stay_beside_each_other(shown, trace, keys):
    page = shown(trace)
    page.choose(20)
    page.press(*keys)
    for _ in range(4):
        page.settle()
        page.page.wait_for_function(ALIGNED)
        page.page.evaluate("document.querySelectorAll('.irw-pane')[1].querySelector('.cm-scroller').scrollTop += 330")


def test_both_panes_scroll_sideways_together(shown, trace):
    page = shown(trace)
    page.choose(15)
    page.page.evaluate("document.querySelectorAll('.irw-pane')[0].querySelector('.cm-scroller').scrollLeft = 90")
    lefts = "[...document.querySelectorAll('.irw-pane .cm-scroller')].map(s => s.scrollLeft)"
    page.page.wait_for_function(f"{lefts}.join() === '90,90'")


def test_unified_shows_each_line_once(shown, trace):
    page = shown(trace)
    page.choose(1)
    page.press("s", "z")
    lines = page.lines(1)
    assert len(lines) > max(trace.dumps[0].text.count("\n"), trace.dumps[1].text.count("\n"))
    assert page.view.locator(".irw-gone").count() > 0
    assert page.view.locator(".irw-new").count() > 0


def test_what_the_reader_has_set_back_follows_the_room_again(shown, trace, tab):
    page = shown(trace)
    page.choose(1)
    layout = page.view.locator(".irw-titles")
    page.press("s")
    assert layout.get_attribute("data-layout") == "unified"
    page.press("s")
    assert layout.get_attribute("data-layout") == "split"
    try:
        tab.set_viewport_size({"width": 800, "height": 900})
        page.view.locator(".irw-titles[data-layout=unified]").wait_for()
    finally:
        tab.set_viewport_size({"width": 1400, "height": 900})
    page.view.locator(".irw-titles[data-layout=split]").wait_for()


def test_a_name_shows_its_definition_and_uses(shown, trace):
    page = shown(trace)
    page.choose(0)
    page.put_cursor(1, "%cst_0" if "%cst_0" in trace.dumps[0].text else "%0")
    assert page.view.locator(".irw-definition").count() == 1
    assert page.view.locator(".irw-use").count() >= 1
    page.press("u")
    used = page.line_at_cursor()
    page.press("d")
    defined = page.line_at_cursor()
    assert used != defined
    assert "=" in defined


def test_a_renumbered_name_is_marked_under_its_other_name(shown, trace):
    page = shown(trace)
    page.choose(20)
    if page.view.get_by_role("button", name="Ignore renumbering").get_attribute("aria-pressed") == "false":
        page.press("b")
    panes = page.view.locator(".irw-pane")
    lines = [panes.nth(i).locator(".cm-line.irw-renumbered", has_text="= llvm.").first.inner_text() for i in (1, 0)]
    name, other = (line.split("=")[0].strip() for line in lines)
    assert name != other
    page.put_cursor(1, name)
    assert panes.nth(1).locator(".irw-definition").all_inner_texts() == [name]
    assert panes.nth(0).locator(".irw-definition").all_inner_texts() == [other]


def test_diagnostics_that_did_not_stop_it_are_there(shown, trace):
    said = Diagnostic("warning", "folded a constant of 3 MB")
    page = shown(Trace("t", trace.dumps, diagnostics=(said,)))
    assert page.view.get_by_text("folded a constant of 3 MB").is_visible()
    page = shown(Trace("t", trace.dumps, diagnostics=(said, said)))
    assert not page.view.get_by_text("folded a constant of 3 MB").is_visible()
    page.view.get_by_text("2 diagnostics").click()
    assert page.view.get_by_text("folded a constant of 3 MB").is_visible()


def test_a_verdict_is_said_once(shown):
    page = shown(irwidget.lower(torch.nn.ReLU(), torch.ones(2), to="linalg_on_tensors_mlir", check=True).trace)
    page.view.get_by_text("equal to eager PyTorch").first.wait_for()
    assert page.view.locator(".irw-facts").inner_text() == "ReLU → linalg_on_tensors_mlir"


def test_source_and_ir_are_linked_both_ways(shown, trace):
    page = shown(trace)
    page.choose(1)
    page.put_cursor(1, "linalg.matmul")
    assert page.view.locator(".irw-source .irw-linked").all_inner_texts() == ["    y = x @ w"]
    page.page.evaluate("document.querySelector('.irw-source .cm-content').focus()")
    page.view.locator(".irw-source .cm-line", has_text="relu").click()
    linked = page.view.locator(".irw-pane").nth(1).locator(".irw-linked").all_inner_texts()
    assert any("arith.maximumf" in line for line in linked)
    assert not any("linalg.matmul" in line for line in linked)
    said = page.view.locator(".irw-said")
    count = sum(at is not None and at.line == 4 for at in trace.dumps[1].locations)
    assert said.inner_text() == f"Line 4: {count} lines of inline"
    page.view.locator(".irw-source .cm-line", has_text="def model").click()
    assert said.inner_text() == "Line 1: no location in inline"
    page.view.get_by_label("Show one function (f)").select_option("helper")
    page.view.locator(".irw-source .cm-line", has_text="relu").click()
    assert said.inner_text() == f"Line 4: {count} lines of inline, not in @helper"


def test_columns_show_what_came_from_a_line_at_every_level(shown, trace):
    page = shown(trace)
    page.view.locator(".irw-list").focus()
    page.press("k")
    page.view.locator(".irw-linked-head").first.wait_for()
    page.view.get_by_role("button", name="Another column").click()
    page.view.get_by_label("Column 2", exact=True).select_option("0")
    page.view.get_by_label("Column 3", exact=True).select_option("10")
    columns = page.view.locator(".irw-column")
    heads = [head.locator("select").input_value() for head in page.view.locator(".irw-linked-head").all()]
    assert heads == ["-1", "0", "10"]
    columns.nth(0).locator(".cm-line", has_text="relu").click()
    stages = [trace.dumps[int(head)] for head in heads[1:]]
    expected = [
        [line for line, at in zip(one.text.splitlines(), one.locations, strict=True) if at and at.line == 4]
        for one in stages
    ]
    assert all(expected)
    counts = [f"{len(lines)} of {one.name}" for lines, one in zip(expected, stages, strict=True)]
    assert f"Line 4: {', '.join(counts)}" in page.status()
    for column, lines in zip([columns.nth(1), columns.nth(2)], expected, strict=True):
        seen = [text.strip() for text in column.locator(".irw-linked").all_inner_texts()]
        assert seen
        assert set(seen) <= {line.strip() for line in lines}
    page.view.locator(".irw-list").focus()
    page.press("k")
    assert page.view.locator(".irw-title").first.is_visible()


MACHINE = "bb.0:\n  $eax = ADD32rr $eax, $edi, debug-location !5; a.c:3:5\n  RET64 $eax, debug-location !6; a.c:4:1\n"
ASSEMBLY = '\t.file\t0 "/home/me" "a.c"\nf:\n\t.loc\t0 4 1\n\tretq\n\t.loc\t0 3 5\n\taddl\t%edi, %eax\n'


def from_lines(text: str):
    """A dump with the places that its debug information names."""
    language = "mir" if "debug-location" in text else "x86asm"
    return dump(language, text, step=0, language=language, locations=debug_lines.lines(language, text))


def test_lines_whose_source_is_not_here_are_linked_and_say_where_they_are_from(shown):
    """Debug information of IR and logs: the file is named, without its folder in machine IR, and not read."""
    begin, machine, assembly = (from_lines(one) for one in (MACHINE, MACHINE, ASSEMBLY))
    page = shown(Trace("x86asm", (begin, machine, dataclasses.replace(assembly, seconds=0.05))))
    assert page.view.get_by_text("2 passes, 50 ms (1 timed)").is_visible()
    assert "4 of 6 lines linked by their source line" in page.status()
    assert page.view.locator(".irw-source").count() == 0
    page.put_cursor(1, "addl")
    assert "From /home/me/a.c:3:5" in page.status()
    sides = [page.view.locator(".irw-pane").nth(side).locator(".irw-linked").all_inner_texts() for side in (0, 1)]
    assert ["ADD32rr" in line for line in sides[0]] == [True]
    assert [".loc" in line for line in sides[1]] == [True, False]
    page.put_cursor(1, "f:")
    assert "From" not in page.status()


def test_lines_of_other_sources_are_not_said_to_be_linked(shown):
    """Of two compilations a name without its folder may be another file."""
    other = MACHINE.replace("a.c:3", "a.c:8").replace("a.c:4", "a.c:9")
    page = shown(Trace("x86asm", (from_lines(other), from_lines(ASSEMBLY))))
    assert "no source line in common" in page.status()
    two = [Trace("x86asm", (from_lines(MACHINE), from_lines(ASSEMBLY)), name=name) for name in ("one", "two")]
    assert "no source line in common" in shown(*two).status()


def test_blame_names_the_pass_and_goes_there(shown, trace):
    page = shown(trace)
    page.choose(15)
    page.press("a", "z")
    page.view.and_(page.page.locator("[data-blame=ready]")).wait_for()
    blamed = page.view.locator(".irw-pane").nth(1).locator(".irw-blame .cm-gutterElement:not([style*=hidden])")
    stages = {int(text) for text in blamed.all_inner_texts() if text}
    assert stages <= set(range(16))
    assert len(stages) > 2
    earlier = next(text for text in blamed.all_inner_texts() if text and int(text) < 15)
    blamed.get_by_text(earlier, exact=True).first.click()
    assert page.titles()[-1].startswith(f"{earlier} ")


def test_a_line_can_be_followed_back_to_the_input(shown, trace):
    page = shown(trace)
    page.choose(20)
    page.press("z", "n")
    page.put_cursor(1, "llvm.fmul")
    seen = []
    for _ in range(12):
        page.press("[")
        page.settle()
        stage = int(page.titles()[-1].split()[0])
        if seen and seen[-1] == stage:
            break
        seen.append(stage)
    assert len(seen) >= 3
    assert seen == sorted(seen, reverse=True)


def test_operations_before_and_after(shown, trace):
    page = shown(trace)
    page.choose(13)
    page.press("c")
    rows = page.view.locator(".irw-operations tbody tr")
    rows.first.wait_for()
    counts = {row.split()[0]: row.split()[1:3] for row in rows.all_inner_texts()}
    assert counts["arith.addf"] == [str(trace.dumps[12].text.count("arith.addf")), "0"]


def test_copy_and_save(shown, trace, tab):
    page = shown(trace)
    page.choose(8)
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.view.get_by_role("button", name="Copy", exact=True).click()
    page.view.get_by_text("Copied").wait_for()
    assert page.page.evaluate("navigator.clipboard.readText()") == trace.dumps[8].text
    with page.page.expect_download() as saved:
        page.view.get_by_role("button", name="Save").click()
    assert saved.value.suggested_filename == f"model-{trace.dumps[8].name}.mlir"
    assert Path(saved.value.path()).read_text() == trace.dumps[8].text


def test_copy_and_save_say_which_values_are_not_there(shown, tab):
    page = shown(irwidget.lower(torch.nn.Linear(9, 7), torch.ones(2, 9), to="tosa_mlir").trace)
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.view.get_by_role("button", name="Copy", exact=True).click()
    page.view.get_by_text("Copied without the values of 2 constants, which elide=False").wait_for()
    with page.page.expect_download():
        page.view.get_by_role("button", name="Save").click()
    page.view.get_by_text("Saved without the values of 2 constants, which elide=False").wait_for()


def test_a_failed_run_shows_what_came_before_and_why(shown, trace):
    said = Diagnostic("error", "failed to legalize operation 'math.erf'")
    failure = Failure(0, "convert-math-to-llvm", "the pass rejected the IR", diagnostics=(said,))
    page = shown(Trace("llvm_mlir", trace.dumps[:9], name="model", failure=failure))
    told = [
        "✗ convert-math-to-llvm failed",
        "the pass rejected the IR",
        "error: failed to legalize operation 'math.erf'",
    ]
    assert page.view.get_by_role("alert").inner_text().split("\n") == told
    assert page.view.locator(".irw-failed .irw-name").inner_text() == "convert-math-to-llvm"
    assert page.titles()[-1].startswith("8 ")
    page.choose(8)
    page.press("r")
    page.view.locator(".irw-side[data-rail]").wait_for()
    index, said = (page.view.locator(at) for at in (".irw-failed .irw-index", "[role=alert] b"))
    assert index.evaluate("one => getComputedStyle(one).color") == said.evaluate("one => getComputedStyle(one).color")


def test_a_message_that_a_diagnostic_has_with_its_place_is_said_once(shown, trace):
    said = Diagnostic("error", "no rule for 'math.erf'", Location("model.py", 4, 2))
    failure = Failure(0, "convert-math-to-llvm", said.message, diagnostics=(said,))
    page = shown(Trace("llvm_mlir", trace.dumps[:9], name="model", failure=failure))
    told = ["✗ convert-math-to-llvm failed", "model.py:4:2: error: no rule for 'math.erf'"]
    assert page.view.get_by_role("alert").inner_text().split("\n") == told


def test_several_models_have_a_selector(shown, trace):
    other = lower(PROGRAM.replace("maximumf", "minimumf"), name="other")
    page = shown(trace, other)
    page.view.get_by_label("Lowering").select_option(label="other → llvm_mlir")
    page.choose(0)
    assert any("arith.minimumf" in line for line in page.lines(1))


def test_two_lowerings_are_compared_pass_by_pass(shown, trace):
    other = lower(PROGRAM.replace("maximumf", "minimumf"), name="other")
    page = shown(trace, other)
    page.view.get_by_label("Compare with").select_option(label="against other → llvm_mlir")
    page.choose(8)
    assert [title.split()[:2] for title in page.titles()] == [["8", "convert-linalg-to-loops"]] * 2
    assert "other → llvm_mlir" in page.titles()[0]
    assert page.status().startswith("−1 +1 line, 1 change")
    page.press("ArrowDown")
    assert [title.split()[0] for title in page.titles()] == ["9", "9"]
    page.press("a")
    page.view.and_(page.page.locator("[data-blame=ready]")).wait_for()
    assert not page.errors


LLVM = """\
define i32 @f(i32 %x) {
  %p = alloca i32
  store i32 %x, ptr %p
  %v = load i32, ptr %p
  %r = call i32 @g(i32 %v)
  ret i32 %r
}
define i32 @g(i32 %x) {
  %p = alloca i32
  store i32 %x, ptr %p
  %v = load i32, ptr %p
  %r = add i32 %v, 0
  ret i32 %r
}
"""


def test_what_nothing_came_before_is_shown_by_itself(shown):
    parts = [("f\n", Scope(function="f")), ("g\n", Scope(function="g")), ("loop\n", Scope(function="g", loop="l"))]
    dumps = [dump(f"p{i}", text, step=0, language="llvm", scope=scope) for i, (text, scope) in enumerate(parts)]
    page = shown(Trace("llvm_ir", tuple(dumps), (Step("opt", ""),)))
    for stage in (1, 2, 0):
        page.choose(stage)
        assert (page.status(), page.lines(1)) == ("1 line", [parts[stage][0].strip()])


def test_dumps_of_one_function_are_compared_with_that_function(shown):
    f, g = (f"define{text}" for text in LLVM.split("define")[1:])
    one, other, smaller = Scope(function="f"), Scope(function="g"), f.replace("  %p = alloca i32\n", "")
    parts = [(LLVM, WHOLE), (f.replace("%v", "%w"), one), (g.replace("add", "sub"), other), (smaller, one)]
    dumps = [dump(f"p{i}", text, step=0, language="llvm", scope=scope) for i, (text, scope) in enumerate(parts)]
    page = shown(Trace("llvm_ir", tuple(dumps), (Step("opt", ""),)))
    page.choose(2)
    assert not any("@f" in line for line in page.lines(0)), "of the module, only the function"
    assert any("define i32 @g" in line for line in page.lines(0))
    page.choose(3)
    assert page.titles()[0].startswith("1 ")
    assert not page.errors


def test_dumps_inside_opt_are_the_whole_module(shown):
    low = irwidget.lower(LLVM, to="raw_ir", pipeline="opt -O2 -print-changed")
    page = shown(low.trace)
    page.choose([one.scope.anchor for one in low.dumps].index("g"))
    page.view.get_by_role("button", name="Fold", exact=True).click()
    assert {name for line in page.lines(1) for name in ("@f(", "@g(") if f"define i32 {name}" in line} == {"@f(", "@g("}
    assert not page.errors


def test_graphs_of_a_lowering_are_drawn_and_taken_away(shown, tab):
    low = irwidget.lower(LLVM.replace("@f", "@h"), to="raw_ir", pipeline="opt -passes=dot-cfg")
    page = shown(dataclasses.replace(low.trace, attachments={**low.trace.attachments, "k.hsaco": bytes(range(256))}))
    page.view.get_by_text("3 files").click()
    page.view.get_by_role("button", name="Draw h.dot").click()
    dialog = page.view.get_by_role("dialog", name="Graph h.dot")
    dialog.and_(tab.locator("[data-drawn]")).wait_for()
    assert "call i32 @g" in dialog.locator("svg").text_content()
    assert dialog.locator("svg polygon, svg path").count() > 1
    before = dialog.locator("svg").bounding_box()["width"]
    page.press("-")
    assert dialog.locator("svg").bounding_box()["width"] < before
    page.press("Escape")
    dialog.wait_for(state="detached")
    with tab.expect_download() as saved:
        page.view.get_by_role("button", name="Save k.hsaco").click()
    assert Path(saved.value.path()).read_bytes() == bytes(range(256))
    assert not page.errors


HOSTILE_DOT = """digraph "<script>window.hacked = 1</script>" {
  a [URL="javascript:window.hacked=1", target="_top", tooltip="<img src=x onerror='window.hacked=1'>",
     label="<script>window.hacked = 1</script>", image="http://example.org/x.png", style="filled",
     fillcolor="red:blue", id="x\" onload=\"window.hacked=1"];
  b [label=<<TABLE HREF="javascript:window.hacked=1"><TR><TD>cell</TD></TR></TABLE>>, class="x"];
  a -> b [href="https://example.org/"];
}"""


def test_a_hostile_graph_is_only_shapes_and_text(shown, trace, tab):
    page = shown(dataclasses.replace(trace, attachments={"x.dot": HOSTILE_DOT.encode(), "no.dot": b"digraph {"}))
    page.view.get_by_text("2 files").click()
    page.view.get_by_role("button", name="Draw x.dot").click()
    page.view.locator("dialog[data-drawn]").wait_for()
    assert "window.hacked = 1</script>" in page.view.locator("dialog svg").text_content()
    page.view.locator("dialog svg text").first.click()
    found = page.view.locator("dialog svg").evaluate(
        """svg => [...svg.querySelectorAll('*')].flatMap(each => [each.localName,
             ...[...each.attributes]
               .filter(({name, value}) => /^on|href|^style|^id$/.test(name) || /url|script|http/.test(value))
               .map(({name, value}) => name + value)])"""
    )
    assert set(found) <= {"g", "title", "text", "path", "polygon", "polyline", "ellipse"}
    assert tab.evaluate("window.hacked") is None
    page.press("Escape")
    page.view.get_by_role("button", name="Draw no.dot").click()
    assert "syntax error" in page.view.locator("dialog [role=alert]").inner_text()
    page.press("Escape")


BIDI = "\u202e\u2066"
HOSTILE = {
    "script": '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">',
    "closing": '</script></textarea></pre><svg onload="window.hacked = 1">--><!--',
    "attribute": '"onmouseover="window.hacked=1" %0 = "a.b"() {x = "<b>bold</b>"} : () -> ()',
    "controls": f"nul \x00 bell \x07 escape \x1b[31m return \r bidi {BIDI} end",
    "surrogate": "broken \udcff here",
    "long": "x" * 1_000_000,
    "long strings": '"' * 300_000,
    "percent": "%" * 300_000,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_text_is_only_text(shown, what):
    text = HOSTILE[what]
    page = shown(
        Trace(
            text[:200],
            (dump("input", text, step=0), dump(text[:200], f"{text}\nmore", step=0)),
            (Step("opt", "", text[:200]),),
            name=text[:200],
            facts={text[:100]: text[:100]},
            diagnostics=(Diagnostic("error", text[:100]),),
        )
    )
    page.press("s", "w", "b", "z", "c")
    assert page.page.evaluate("window.hacked") is None
    assert page.page.locator(".irw-view svg, .irw-view img:not(.cm-widgetBuffer)").count() == 0
    assert not page.errors
    if what in ("script", "closing"):
        assert text in "".join(page.lines(1))


@pytest.mark.heavy
def test_hundreds_of_thousands_of_lines_are_compared_scrolled_blamed_and_searched(shown, tab):
    text = "\n".join(f"  %{i} = arith.addi %{i - 1}, %c{i % 997} : i64" for i in range(300_000))
    changed = text.replace("addi %5000,", "muli %5000,")
    page = shown(Trace("t", (dump("input", text, step=0), dump("cse", changed, step=0))))
    page.choose(0)
    page.choose(1)
    page.view.get_by_text("−1 +1 line, 1 change").wait_for()
    tab.evaluate("document.querySelectorAll('.irw-pane')[1].querySelector('.cm-scroller').scrollTop = 4e6")
    page.press("s", "s", "z", "z", "b", "a")
    page.view.and_(tab.locator("[data-blame=ready]")).wait_for()
    page.view.locator(".irw-query").fill("muli")
    page.view.locator(".irw-found", has_text="1 here").wait_for()
    assert not page.errors


@needs_axe
@pytest.mark.parametrize("how", LOOKS)
def test_axe_finds_nothing(shown, trace, tab, how):
    failure = Failure(0, "cse", "no", reproducer="mlir-opt x")
    with looking(tab, how):
        page = shown(Trace(trace.target, trace.dumps, name="m", failure=failure, sources=trace.sources, facts={"a": 1}))
        page.choose(10)
        page.press("a", "c")
        page.press("/")
        page.view.locator(".irw-query").fill("memref")
        for keys in ([], ["s"], ["?"]):
            page.view.locator(".irw-list").focus()
            page.press(*keys)
            page.settle()
            assert violations(tab, ".irw") == [], keys


def test_dumps_on_their_way_do_not_hold_up_an_export(tab, tmp_path, trace):
    loaded: list[int] = []

    def load() -> Content:
        loaded.append(1)
        return Content("module {\n}\n")

    last = late_dump("cse", load, lambda: bool(loaded))
    page = Page(tab, tmp_path / "late.html", [Trace("t", (*trace.dumps[:1], last))])
    assert page.lines(1)[0] == "module {"


def test_two_lowerings_say_where_they_differ_and_what_both_come_to(tab, tmp_path):
    """The view had the diff alone: where they differ was told in text and HTML only."""
    body = "  %c = arith.constant 1 : i32\n  %y = arith.addi %c, %c : i32\n  return %y : i32"
    text = f"func.func @f(%x: i32) -> i32 {{\n{body}\n}}"
    low = irwidget.lower(text, to="raw_ir", pipeline="mlir-opt --cse --canonicalize --symbol-dce")
    found = irwidget.compare(low, low.edit(0).without("canonicalize").run())
    path = tmp_path / "page.html"
    found.to_html(path)
    tab.goto(path.as_uri())
    box = tab.locator(".irw-compared")
    summary = box.locator("summary").first
    assert summary.inner_text().lower() == found.summary.lower()
    summary.click()
    assert box.locator("tbody tr").all_inner_texts() == [
        "check\tnot computed\tnot computed",
        "lines\t6\t7",
        "operations\t4\t5",
    ]
    passes = [one.replace("\n", " ") for one in box.locator("li").all_inner_texts()]
    assert passes == ["0 | 0 input same", "1 | 1 cse same", "2 | – canonicalize only left", "3 | 2 symbol-dce differs"]
    titles = tab.locator(".irw-title")
    assert [one.split("\n")[:2] for one in titles.all_inner_texts()] == [["3", "symbol-dce"], ["2", "symbol-dce"]]
    assert box.locator("p").all_inner_texts() == []
    dataclasses.replace(found, found=("x 2 is the first.", "x 1: good")).to_html(path)
    tab.goto(path.as_uri())
    assert summary.inner_text() == "x 2 is the first."
    summary.click()
    told = box.locator("p").all_inner_texts()
    assert [told[0], told[1].lower()] == ["x 1: good", found.summary.lower()]
    box.get_by_role("button", name="1 | 1 cse").click()
    assert {tuple(one.split("\n")[:2]) for one in titles.all_inner_texts()} == {("1", "cse")}
