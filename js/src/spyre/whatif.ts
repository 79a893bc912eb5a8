/** What if the work were divided otherwise: asks Python for a search, and shows the front of time against LX. */

import { h, OWN_KEYS, plural } from "../dom";
import type { Heard } from "../ask";
import { table } from "./cores";
import { bytes, unpack } from "./data";
import { microseconds } from "./time";
import type { SpyrePlan, SpyreSearch } from "../schema";

/** `ask` is null on a page without a kernel; `take` compiles with the splits of a plan and shows it beside this one. */
export class WhatIf {
  readonly element: HTMLElement;
  private readonly said = h("div", { role: "status" });
  private readonly go = h(
    "button",
    { type: "button", ...OWN_KEYS, "data-key": "search", click: () => void this.search() },
    "Search splits and LX together",
  );

  constructor(
    private readonly ask: (() => Promise<Heard>) | null,
    private readonly take: (divisions: SpyrePlan["divisions"]) => Promise<string>,
  ) {
    this.element = h(
      "div",
      { class: "irw-s-whatif" },
      ask
        ? this.go
        : h("p", { class: "irw-dim" }, "A search needs a kernel: irwidget.spyre.search(program) in the notebook."),
      this.said,
    );
  }

  clear(): void {
    this.said.replaceChildren();
  }

  private async search(): Promise<void> {
    this.go.disabled = true;
    this.said.replaceChildren("Searching: each plan of the front is compiled …");
    const { error, buffers } = await this.ask!();
    this.go.disabled = false;
    const found = error || !buffers[0] ? null : await unpack<SpyreSearch>(buffers[0]);
    if (found) this.show(found);
    else this.said.replaceChildren(error);
  }

  private show({ plans, method, proven }: SpyreSearch): void {
    const rows = plans.map((plan) => [
      microseconds(plan.us),
      bytes(plan.lx),
      plural(Object.keys(plan.divisions).length, "op"),
      plan.today ? "today's plan" : this.details(plan),
    ]);
    this.said.replaceChildren(
      table("Time against LX, estimated", ["estimated", "LX peak", "divided otherwise", ""], rows, "irw-s-left"),
      h("p", { class: "irw-dim" }, `by ${method}${proven ? ", proven the best of its model" : ""}`),
    );
  }

  private details(plan: SpyrePlan): HTMLElement {
    const lines = [...plan.differences, "", ...plan.hints].join("\n");
    const wrong = h("span", {});
    const compile = async (): Promise<void> => {
      wrong.textContent = await this.take(plan.divisions);
    };
    return h(
      "details",
      {},
      h("summary", { ...OWN_KEYS }, plural(plan.differences.length, "difference")),
      h("pre", {}, lines),
      h("button", { type: "button", ...OWN_KEYS, click: () => void compile() }, "Compile it, beside this one"),
      wrong,
    );
  }
}
