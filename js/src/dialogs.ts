/** Windows over a view, one at a time: its keys, what each pass costs, and whatever else is opened. */

import type { Analysis } from "./analysis";
import { h, OWN_KEYS } from "./dom";
import type { Trace } from "./dumps";
import { costs } from "./ops/table";
import { help } from "./panels";

export class Dialogs {
  constructor(private readonly element: () => HTMLElement) {}

  readonly open = (dialog: HTMLDialogElement): void => {
    const element = this.element();
    element.querySelector("dialog")?.remove();
    dialog.addEventListener("close", () => dialog.remove()); // The browser has given the focus back, and it may have moved on.
    element.append(dialog);
    dialog.showModal();
  };

  /** What each pass costs; `choose` goes to one. */
  costTable(analysis: Analysis, trace: Trace, choose: (stage: number) => void): void {
    const dialog = h("dialog", { class: "irw-graph", "aria-label": "What each pass costs", ...OWN_KEYS });
    const shut = (): void => dialog.close();
    const go = (stage: number): void => {
      shut();
      choose(stage);
    };
    dialog.append(costs(analysis, trace, go, shut));
    this.open(dialog);
  }

  help(): void {
    const dialog = help(() => dialog.close());
    this.open(dialog);
  }
}
