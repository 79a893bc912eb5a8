/** The host of an offline page: a model without a kernel for each view of the page. */

import type { Model } from "./model";

class PageModel implements Model {
  private readonly listeners = new Map<string, Set<() => void>>();

  constructor(private readonly state: Record<string, unknown>) {}

  get(key: string): unknown {
    return this.state[key];
  }
  set(key: string, value: unknown): void {
    if (this.state[key] === value) return;
    this.state[key] = value;
    for (const listener of this.listeners.get(`change:${key}`) ?? []) listener();
  }
  save_changes(): void {}
  on(event: string, callback: () => void): void {
    if (!this.listeners.has(event)) this.listeners.set(event, new Set());
    this.listeners.get(event)!.add(callback);
  }
  off(event: string, callback: () => void): void {
    this.listeners.get(event)?.delete(callback);
  }
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

type Host = { getModel(name: string): Promise<Model> };
type View = { render(context: { model: Model; el: HTMLElement; host: Host }): Promise<unknown> };
const codeOf = (name: string): Uint8Array<ArrayBuffer> => decode(document.getElementById(`irw-bundle-${name}`)!.textContent!);
/** Views name the code of others as they name models in Jupyter. */
const host: Host = { getModel: async (name) => new PageModel({ code: codeOf(name) }) };
const bundles = new Map<string, Promise<View>>();

async function load(name: string): Promise<View> {
  const zipped = new Blob([codeOf(name)]).stream();
  const code = await new Response(zipped.pipeThrough(new DecompressionStream("gzip"))).blob();
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return (await import(url)) as View;
  } finally {
    URL.revokeObjectURL(url);
  }
}

for (const place of document.querySelectorAll<HTMLElement>(".irw-view")) {
  const name = place.dataset["bundle"]!;
  const state = JSON.parse(place.querySelector("script")!.textContent!) as Record<string, unknown>;
  if (typeof state["data"] === "string") state["data"] = decode(state["data"]);
  if (!bundles.has(name)) bundles.set(name, load(name));
  const view = await bundles.get(name)!;
  place.replaceChildren();
  await view.render({ model: new PageModel(state), el: place, host });
}
export {};
