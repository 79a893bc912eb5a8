"""Whatever is put into it, text stays text."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irwidget.views import offline
from irwidget.views.markup import Markup, aligned, capped, escaped, folded, joined, shortened, table, tag, visible

texts = st.lists(st.sampled_from(["<b>", "&amp;", '"', "'", "x", "\n", "\x00", "\u202e", "é", "\udcff", ">"])).map(
    "".join
)


class Read(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.data = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        self.data += data


@given(texts, texts)
def test_text_comes_back_as_text(text, title):
    read = Read(tag("td", text, title=title))
    assert read.data == "\n".join(map(visible, text.split("\n")))
    assert read.tags == [("td", [("title", "\n".join(map(visible, title.split("\n"))))])]


def test_markup_is_markup_and_attributes_may_be_absent():
    assert tag("p", tag("b", "<"), " & ", open=True, hidden=False) == "<p open><b>&lt;</b> &amp; </p>"
    assert escaped(Markup("<b>")) == "<b>"
    assert joined(["<", Markup("<b>")], "&") == "&lt;&amp;<b>"


def test_a_table_and_what_is_folded():
    assert table((), [("<",)]) == "<table><tbody><tr><td>&lt;</td></tr></tbody></table>"
    assert table(("a",), [])[:35] == "<table><thead><tr><th>a</th></tr></"
    assert folded("s", "b") == "<details><summary>s</summary>b</details>"
    assert folded("s", "b", opened=True).startswith("<details open>")


def test_lines_of_text():
    assert aligned([("a", "bb"), ("ccc", "d")], right=(1,)) == ["a    bb", "ccc   d"]
    assert capped(["a", "b", "c"], 3) == ["a", "b", "c"]
    assert capped(["a", "b", "c", "d"], 3) == ["a", "b", "... 2 more lines"]
    assert shortened("x" * 161) == "x" * 159 + "…"


@pytest.mark.parametrize(("text", "shown"), [("a\tb", "a   b"), ("\x1b[", "\\x1b["), ("\u202e", "\\u202e"), ("é", "é")])
def test_what_cannot_be_seen_is_seen(text, shown):
    assert visible(text) == shown


def test_what_is_no_utf_8_in_the_words_of_a_page_is_its_escape():
    assert "<p>a \\ud800</p>" in offline.story([Markup("<p>a \ud800</p>")], "title").encode().decode()
