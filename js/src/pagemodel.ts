/** A model without a kernel: the state of a view in a page that was opened from disk. */

import type { Model } from "./model";

type Listener = Parameters<Model["on"]>[1];

export class PageModel implements Model {
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
