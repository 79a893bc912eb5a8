/** The host of an offline page: a model without a kernel for each view of the page. */

import { importCode } from "./gzip";
import type { Model } from "./model";
import type { Host, Render } from "./mount";

type Listener = Parameters<Model["on"]>[1];

class PageModel implements Model {
  private readonly listeners = new Map<string, Set<Listener>>();

  constructor(private readonly state: Record<string, unknown>) {}

  get(key: string): unknown {
    return this.state[key];
  }
  set(key: string, value: unknown): void {
    if (this.state[key] === value) return;
    this.state[key] = value;
    for (const listener of this.listeners.get(`change:${key}`) ?? []) (listener as () => void)();
  }
  save_changes(): void {}
  on(event: string, callback: Listener): void {
    if (!this.listeners.has(event)) this.listeners.set(event, new Set());
    this.listeners.get(event)!.add(callback);
  }
  off(event: string, callback: Listener): void {
    this.listeners.get(event)?.delete(callback);
  }
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const codeOf = (name: string): Uint8Array<ArrayBuffer> => decode(document.getElementById(`irw-bundle-${name}`)!.textContent!);
/** Views name the code of others as they name models in Jupyter. */
const host: Host = { getModel: async (name) => new PageModel({ code: codeOf(name) }) };
const bundles = new Map<string, Promise<{ render: Render }>>();

for (const place of document.querySelectorAll<HTMLElement>(".irw-view")) {
  const name = place.dataset["bundle"]!;
  const state = JSON.parse(place.querySelector("script")!.textContent!) as Record<string, unknown>;
  if (typeof state["data"] === "string") state["data"] = decode(state["data"]);
  if (!bundles.has(name)) bundles.set(name, importCode(codeOf(name)));
  const view = await bundles.get(name)!;
  place.replaceChildren();
  await view.render({ model: new PageModel(state), el: place, host });
}
