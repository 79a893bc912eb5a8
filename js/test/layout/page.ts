/** Views in a real page, and dumps to show in them. */

import { onTestFinished } from "vitest";
import type { Dumps, Stage } from "../../src/dumps";
import { blank } from "../../src/ir";
import type { Render } from "../../src/mount";
import { PageModel } from "../../src/pagemodel";
import { Shape } from "../../src/shape";

/** An element of a width, in the page until the test ends. */
export function place(width = 1000): HTMLElement {
  const el = document.createElement("div");
  el.style.width = `${width}px`;
  document.body.append(el);
  onTestFinished(() => el.remove());
  return el;
}

async function zipped(data: unknown): Promise<DataView<ArrayBuffer>> {
  const stream = new Blob([JSON.stringify(data)]).stream().pipeThrough(new CompressionStream("gzip"));
  return new DataView(await new Response(stream).arrayBuffer());
}

/** Render a view whose data is JSON. */
export async function shown(
  render: Render,
  data: unknown,
  state: Readonly<Record<string, unknown>>,
  width?: number,
): Promise<HTMLElement> {
  const el = place(width);
  const close = await render({ model: new PageModel({ ...state, data: await zipped(data) }), el });
  onTestFinished(close);
  return el;
}

export function frames(count = 2): Promise<void> {
  return new Promise((done) => {
    const next = (left: number): void => (left === 0 ? done() : void requestAnimationFrame(() => next(left - 1)));
    next(count);
  });
}

/** A lowering whose stages have these lines. */
export function lowering(...texts: readonly (readonly string[])[]): Dumps {
  const table = [...new Set(texts.flat())];
  const blanks = new Map<string, number>();
  const blanked = Int32Array.from(table, (line) => {
    const text = blank(line);
    if (!blanks.has(text)) blanks.set(text, blanks.size);
    return blanks.get(text)!;
  });
  const shapes = table.map((line) => {
    const bytes = new TextEncoder().encode(line);
    return new Shape(bytes, 0, bytes.length);
  });
  const stages = texts.map((lines, i): Stage => ({
    name: `pass-${i}`,
    label: `pass-${i}`,
    step: "",
    language: "mlir",
    options: "",
    seconds: 0,
    scope: "module",
    before: i - 1,
    check: "",
    ready: true,
    lost: false,
    changed: true,
    lines: Int32Array.from(lines, (line) => table.indexOf(line)),
    places: null,
  }));
  const trace = { name: "t", target: "x", stages, failure: null, facts: [], diagnostics: [], attachments: [] };
  return {
    table,
    blanked,
    blanks: blanks.size,
    shapeOf: Int32Array.from(table.keys()),
    shapes,
    traces: [trace],
    sources: [],
    places: [],
  };
}
