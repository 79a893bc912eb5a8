/** Views in a real page. */

import { onTestFinished } from "vitest";
import type { Render } from "../../src/mount";
import { PageModel } from "../../src/pagemodel";

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
