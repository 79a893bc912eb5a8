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

const zipped = new Blob([decode(document.getElementById("irw-bundle")!.textContent!)]).stream();
const code = await new Response(zipped.pipeThrough(new DecompressionStream("gzip"))).blob();
const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
const viewer = (await import(url)) as { render(context: { model: Model; el: HTMLElement }): Promise<unknown> };
URL.revokeObjectURL(url);

for (const place of document.querySelectorAll<HTMLElement>(".irw-view")) {
  const state = JSON.parse(place.querySelector("script")!.textContent!) as Record<string, unknown>;
  state["data"] = decode(state["data"] as string);
  place.replaceChildren();
  await viewer.render({ model: new PageModel(state), el: place });
}
export {};
