"""The words of a notebook as HTML: headings, paragraphs, lists, code, links. All else stays as written."""

from __future__ import annotations

import re

from irwidget.views.markup import Markup, escaped, joined, tag

_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+)\*\*|(?<![\w*])\*(?P<soft>[^*\s][^*]*)\*(?!\w)"
    r"|!?\[(?P<text>[^\]]*)\]\((?P<link>[^)\s]*)\)"
)
_SAFE = re.compile(r"(?:https?://|#)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")


def html(text: str) -> Markup:
    """The text as HTML. Links lead to web pages and to places of this page only."""
    parts: list[Markup] = []
    fenced = re.split(r"^```[^\n]*\n(.*?)^```[^\n]*$", text, flags=re.MULTILINE | re.DOTALL)
    for i, part in enumerate(fenced):
        if i % 2:
            parts.append(tag("pre", part.rstrip("\n")))
        else:
            parts += [_block(block) for block in re.split(r"\n\s*\n", part) if block.strip()]
    return joined(parts, "\n")


def _block(block: str) -> Markup:
    lines = block.strip("\n").split("\n")
    if found := re.match(r"(#{1,6})\s+(.*)", lines[0]):
        # The page has a title of its own.
        head = tag(f"h{min(6, len(found[1]) + 1)}", _inline(found[2]))
        rest = "\n".join(lines[1:])
        return joined([head, _block(rest)]) if rest.strip() else head
    if all(line.lstrip().startswith("|") for line in lines):
        return tag("pre", block)
    if _ITEM.match(lines[0]):
        items: list[str] = []
        for line in lines:
            if _ITEM.match(line) or not items:
                items.append(_ITEM.sub("", line, count=1))
            else:
                items[-1] += f" {line.strip()}"
        kind = "ol" if lines[0].lstrip()[0].isdigit() else "ul"
        return tag(kind, *(tag("li", _inline(item)) for item in items))
    return tag("p", _inline(" ".join(line.strip() for line in lines)))


def _inline(text: str) -> Markup:
    parts: list[str] = []
    end = 0
    for found in _INLINE.finditer(text):
        parts += [escaped(text[end : found.start()]), _marked(found)]
        end = found.end()
    return joined([*parts, escaped(text[end:])])


def _marked(found: re.Match[str]) -> Markup:
    if found["code"] is not None:
        return tag("code", found["code"])
    if found["bold"] is not None:
        return tag("b", _inline(found["bold"]))
    if found["soft"] is not None:
        return tag("em", _inline(found["soft"]))
    if found[0].startswith("!") or not _SAFE.match(found["link"]):
        return escaped(found["text"])
    return tag("a", _inline(found["text"]), href=found["link"])
