/** The passes that a step of LLVM is made of: Python runs them one by one when somebody wants to see them. */

import { Asker } from "./ask";
import { h, OWN_KEYS } from "./dom";
import type { Model, Store } from "./model";

export class Inside {
  /** Nobody is there to ask in an offline page. */
  private readonly asker: Asker | null;

  constructor(
    private readonly model: Model,
    private readonly store: Store,
    private readonly say: (text: string) => void,
  ) {
    this.asker = model.send ? new Asker(model, () => say("Still running")) : null;
  }

  /** Whether the stage on the right hides passes that could be run one by one. */
  get there(): boolean {
    const inside = (this.model.get("inside") ?? []) as readonly (readonly number[])[];
    return this.asker !== null && (inside[this.store.get("trace")] ?? []).includes(this.store.get("right"));
  }

  button(): HTMLElement {
    const title = "Run the passes of this step one by one (i)";
    return h(
      "button",
      { type: "button", class: "irw-inside", title, ...OWN_KEYS, click: () => void this.open() },
      "Passes inside",
    );
  }

  /** Have the passes put in the place of their step. */
  async open(): Promise<void> {
    if (!this.asker || !this.there) return this.say("There are no passes inside this one");
    this.say("Running the passes inside one by one");
    const request = { kind: "inside", trace: this.store.get("trace"), stage: this.store.get("right") };
    this.say(await this.asker.ask(request));
  }

  close(): void {
    this.asker?.close();
  }
}
