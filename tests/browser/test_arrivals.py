"""Dumps that arrive while the browser still reads the first ones."""

from __future__ import annotations

import base64

from irwidget.trace import Trace, dump
from irwidget.views.bundle import static
from irwidget.views.packing import Packer
from irwidget.views.widget import untouched

DRAW = """async ([code, state, first, all]) => {
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const { render } = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const [values, heard] = [{ ...state, data: bytes(first) }, new Map()];
  const model = {
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; },
    save_changes: () => {},
    send: () => {},
    on: (name, listener) => heard.set(name, [...(heard.get(name) ?? []), listener]),
    off: () => {},
  };
  const drawn = render({ model, el: document.body });
  await new Promise((done) => setTimeout(done));
  const early = document.querySelector("[data-ready]") === null;
  values.data = bytes(all);
  for (const listener of heard.get("change:data")) listener();
  await drawn;
  return early;
}"""


def test_what_comes_while_the_first_dumps_are_read_is_shown(tab):
    lines = "".join(f"  %{i} = arith.addi %{i - 1}, %c : i64\n" for i in range(20_000))
    texts = [lines, lines.replace("addi %77,", "muli %77,"), lines, lines.replace("addi %99,", "muli %99,")]
    trace = Trace("t", tuple(dump(f"p{i}", text, step=0) for i, text in enumerate(texts)))
    packer = Packer((trace,))
    packer.add({(0, 2), (0, 3)})
    first = packer.data
    packer.finish()
    state = {**untouched(), "left": 2, "right": 3, "inside": [[]], "notes": [], "experiments": [], "graph": None}
    sent = [base64.b64encode(data).decode() for data in (first, packer.data)]
    tab.goto("about:blank")
    assert tab.evaluate(DRAW, [static("viewer.js"), state, *sent])  # the rest came before the first was drawn
    tab.locator(".irw[data-timeline]").wait_for()
    assert tab.locator(".irw-pending").count() == 0
