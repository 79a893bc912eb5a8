"""One HTML file with everything in it: no kernel, no network, opened from disk."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irwidget.errors import IRWidgetError
from irwidget.trace import Trace
from irwidget.views import fallbacks
from irwidget.views.bundle import packed, static
from irwidget.views.markup import Markup, tag
from irwidget.views.packing import first_shown, has_graphs, opening, pack
from irwidget.views.widget import untouched

if TYPE_CHECKING:
    from irwidget.spyre import SpyreProgram

_LONE = re.compile("[\ud800-\udfff]")
_STYLE = """
:root { color-scheme: light dark; }
body {
  margin: 0; padding: 16px; font: 14px/1.5 system-ui, sans-serif;
  background: light-dark(#fff, #14171b); color: light-dark(#14171b, #f2f2f2);
}
h1 { font-size: 18px; margin: 0 0 12px; }
.irw-view { margin: 0 0 16px; }
.irw-words { max-width: 50rem; }
.irw-words pre { overflow-x: auto; padding: 8px 12px; border-left: 3px solid light-dark(#d9dce1, #383d45); }
.irw-words a { color: light-dark(#0067a5, #63b3e8); }
.irw-view > .irw { height: calc(100vh - 80px); }
"""


def page(
    traces: Sequence[Trace],
    title: str = "",
    programs: Sequence[SpyreProgram] = (),
    kept: Mapping[str, Any] | None = None,
) -> str:
    """An HTML page that shows lowerings, and programs for Spyre above them, exactly as the widgets do.

    `kept` is what a view keeps, by the names of its traits: `PassDiff.notes`, `PassDiff.experiments`.

    Waits for dumps that are still on their way; those that will never come, the page says so of.
    """
    title = title or "; ".join(f"{trace.name} to {trace.target}" if trace.name else trace.target for trace in traces)
    shown, needed = _shown(traces, programs, kept)
    return document("\n".join([tag("h1", title), *shown]), title, needed)


Told = Markup | tuple[Sequence[Trace], Sequence["SpyreProgram"]]
"""A part of a page: words, or lowerings and programs that are shown together."""


def story(parts: Sequence[Told], title: str) -> str:
    """An HTML page of words and lowerings, one after the other."""
    body: list[str] = [tag("h1", title)]
    needed: set[str] = set()
    for part in parts:
        if isinstance(part, Markup):
            body.append(f'<div class="irw-words">{part}</div>')
        else:
            shown, code = _shown(*part)
            body += shown
            needed |= {*code}
    return document("\n".join(body), title, sorted(needed))


def _shown(
    traces: Sequence[Trace], programs: Sequence[SpyreProgram] = (), kept: Mapping[str, Any] | None = None
) -> tuple[list[str], list[str]]:
    """The places of the views of some lowerings, and which code they need. Waits for the texts."""
    for trace in traces:
        for dump in (one for one in trace.dumps if not one.ready):
            with contextlib.suppress(IRWidgetError):
                _ = dump.content
    linked = [trace for trace in traces if trace.nodes]
    views = [_spyre(program) for program in programs]
    views += [_helion(trace, traces) for trace in linked]
    views += [view({**state_of(traces), **(kept or {})}, fallbacks.html(traces))] if traces else []
    needed = {"viewer": traces, "spyre": programs, "helion": linked, "graph": has_graphs(traces)}
    return views, [name for name, why in needed.items() if why]


def _helion(trace: Trace, traces: Sequence[Trace]) -> str:
    from irwidget.views import helion

    return view(helion.state_of(trace, helion.companions(trace, traces)), helion.html(trace), "helion")


def _spyre(program: SpyreProgram) -> str:
    from irwidget.spyre.picture import picture
    from irwidget.views import spyre, spyre_fallbacks

    drawn = picture(program)
    return view(spyre.state_of(program, drawn), spyre_fallbacks.html(drawn), "spyre")


def state_of(traces: Sequence[Trace]) -> dict[str, Any]:
    """The traits of a view that nobody has touched yet; `data` as base64."""
    which = first_shown(traces)
    left, right = opening(traces[which])
    graph = "graph" if has_graphs(traces) else None
    return {
        **untouched(),
        "trace": which, "left": left, "right": right, "graph": graph, "data": base64.b64encode(pack(traces)).decode(),
    }  # fmt: skip


def view(state: dict[str, Any], fallback: str, bundle: str = "viewer") -> str:
    """The place of a view in a page; the fallback is what is seen without JavaScript.

    `state` has the traits as JSON, `data` in base64; `bundle` names the code that draws it.
    """
    # "<" as an escape: no text in the state can end the script element or open a comment.
    traits = json.dumps(state).replace("<", "\\u003c")
    script = f'<script type="application/json">{traits}</script>'
    return f'<div class="irw-view" data-bundle="{bundle}">{script}<div>{fallback}</div></div>'


def _policy(host: str, *, graphs: bool) -> str:
    """What the browser lets the page do: run the script that we put into it, and what that unpacks; no network.

    Views come gzipped and are imported from blobs, which only a script can make. Graphviz is WebAssembly in a worker.
    Styles are ours and CodeMirror's, which makes its own; without pictures and network they can do no harm.
    """
    digest = base64.b64encode(hashlib.sha256(host.encode()).digest()).decode()
    scripts = f"'sha256-{digest}' blob:" + (" 'wasm-unsafe-eval'" if graphs else "")
    return (
        f"default-src 'none'; script-src {scripts}; worker-src blob:; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )


def document(body: str, title: str, bundles: Sequence[str] = ("viewer",)) -> str:
    """A page around views, with the code of each bundle in it once."""
    code = [
        f'<script type="text/plain" id="irw-bundle-{name}">{base64.b64encode(packed(name)).decode()}</script>\n'
        for name in bundles
    ]
    host = static("page.js").replace("</script", "<\\/script")
    head = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(host, graphs="graph" in bundles)}">
<meta name="viewport" content="width=device-width">
{tag("title", title)}
<style>{_STYLE}</style>
</head>
<body>
"""
    # What was not UTF-8 is shown as its escape. The whole is long, and made once.
    body = _LONE.sub(lambda lone: f"\\u{ord(lone[0]):x}", body)
    return "".join([head, body, "\n", *code, '<script type="module">', host, "</script>\n</body>\n</html>\n"])
