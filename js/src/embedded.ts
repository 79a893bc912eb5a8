/** The view of another widget inside of one; the view before it goes. */

import { h } from "./dom";
import type { Model } from "./model";
import type { Host } from "./mount";
import stub from "./stub";

export class Embedded {
  readonly element: HTMLElement;
  /** The widget whose view is shown. */
  model: Model | null = null;
  private wanted: string | null = null;
  private stop: (() => void) | null = null;

  constructor(
    name: string,
    private readonly host: Host,
  ) {
    this.element = h("div", { class: name });
  }

  async show(reference: string | null): Promise<void> {
    const { host } = this;
    this.wanted = reference;
    const model = reference ? await host.getModel(reference).catch(() => null) : null;
    if (this.wanted !== reference || (reference && !model)) return;
    this.stop?.();
    this.stop = null;
    this.model = model;
    this.element.replaceChildren();
    if (!model) return;
    const el = h("div", {});
    this.element.append(el);
    const stop = await stub.render({ model, el, host });
    if (this.model === model && el.isConnected) this.stop = stop;
    else stop();
  }

  close(): void {
    void this.show(null);
    this.element.remove();
  }
}
