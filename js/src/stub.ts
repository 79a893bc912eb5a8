/**
 * The `_esm` of every view. The viewer itself is in one `Bundle` widget of the kernel and is loaded once per page,
 * so that a view weighs a kilobyte and showing it again loads nothing.
 */

import type { Model } from "./model";

interface Context {
  model: Model;
  el: HTMLElement;
  signal?: AbortSignal;
  host: { getModel(reference: string): Promise<Model> };
}
type Render = (context: Context) => Promise<() => void>;

const loaded: Map<string, Promise<{ render: Render }>> = ((globalThis as Record<symbol, unknown>)[
  Symbol.for("irwidget")
] ??= new Map()) as never;

async function load(bundle: Model): Promise<{ render: Render }> {
  const code = new Blob([bundle.get("code") as DataView<ArrayBuffer>]);
  const text = await new Response(code.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return (await import(url)) as { render: Render };
  } finally {
    URL.revokeObjectURL(url);
  }
}

export default {
  async render(context: Context): Promise<() => void> {
    const bundle = await context.host.getModel(context.model.get("bundle") as string);
    const version = bundle.get("version") as string;
    let module = loaded.get(version);
    if (!module) loaded.set(version, (module = load(bundle)));
    return (await module).render(context);
  },
};
