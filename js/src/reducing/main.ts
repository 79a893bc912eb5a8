/** Failures made small: the buttons at a failure, the best so far, and the text to paste in the end. */

import { Asker } from "../ask";
import { h, OWN_KEYS, plural, thousands } from "../dom";
import { copyText } from "../export";
import type { Model } from "../model";
import type { Reducible, Reduction } from "../schema";

const ENDED: Readonly<Record<Exclude<Reduction["state"], "running">, string>> = {
  done: "Smallest",
  stopped: "Stopped, the best so far",
  failed: "Not made small",
};

export class Reducing {
  private readonly asker: Asker | null;
  /** What stands at the failure of each lowering. */
  private readonly places = new Map<number, HTMLElement>();

  constructor(
    private readonly model: Model,
    private readonly say: (text: string) => void,
  ) {
    this.asker = model.send ? new Asker(model, () => say("Still waiting for Python")) : null;
    model.on("change:reductions", this.changed);
    model.on("change:reducible", this.changed);
  }

  private readonly changed = (): void => {
    for (const trace of this.places.keys()) this.draw(trace);
  };

  /** What there is to do about the failure of a lowering of the view. */
  at(trace: number): HTMLElement {
    let place = this.places.get(trace);
    if (!place) {
      place = h("div", { class: "irw-reducing" });
      this.places.set(trace, place);
    }
    this.draw(trace);
    return place;
  }

  private draw(trace: number): void {
    const place = this.places.get(trace)!;
    const all = (this.model.get("reductions") as readonly Reduction[] | undefined) ?? [];
    const can = (this.model.get("reducible") as readonly Reducible[] | undefined)?.find((one) => one.trace === trace);
    const one = all.find((known) => known.trace === trace);
    const focused = place.contains((place.getRootNode() as Document | ShadowRoot).activeElement);
    place.dataset["state"] = one?.state ?? "none";
    place.replaceChildren(
      ...(this.asker && can && one?.state !== "running" ? [this.buttons(can, one)] : []),
      ...(one ? [this.account(one)] : []),
    );
    if (focused) place.querySelector<HTMLElement>("button")?.focus();
  }

  private buttons({ trace, ir, program }: Reducible, one: Reduction | undefined): HTMLElement {
    const again = one ? " again" : "";
    const button = (text: string, title: string, whole: boolean): HTMLElement =>
      h(
        "button",
        {
          type: "button",
          title,
          ...OWN_KEYS,
          click: () => void this.ask({ do: "start", trace, program: whole }),
        },
        text,
      );
    return h(
      "span",
      { class: "irw-reducing-can" },
      ...(ir ? [button(`Minimise${again}`, "Look for the smallest IR that still fails in the same way", false)] : []),
      ...(program
        ? [button(`Minimise the program${again}`, "Look for the smallest program that still fails so", true)]
        : []),
    );
  }

  private account(one: Reduction): HTMLElement {
    const { trace, state, operations, before, tried, text, message } = one;
    const counted = before > 0 ? `${thousands(operations)} of ${plural(before, "operation")}` : "seeing it fail again";
    const said = state === "running" ? `Making it smaller: ${counted}` : `${ENDED[state]}: ${message || counted}`;
    const row = h("span", { role: "status" }, tried > 0 ? `${said}, ${plural(tried, "candidate")} tried` : said);
    const act = (name: string, title: string, click: () => void): HTMLElement =>
      h("button", { type: "button", title, ...OWN_KEYS, click }, name);
    if (state === "running") {
      const stop = (): void => void this.ask({ do: "stop", trace });
      row.append(" ", act("Stop", "End it with the best so far", stop));
    } else if (text) {
      const copy = async (): Promise<void> =>
        this.say((await copyText(text)) ? "Copied the report" : "The browser did not allow copying");
      row.append(
        " ",
        act("Copy", "Copy the text for an issue", () => void copy()),
      );
    }
    if (!text) return h("div", {}, row);
    const label = state === "running" ? "The best so far" : "The text for an issue";
    return h("div", {}, row, h("pre", { tabindex: 0, "aria-label": label, ...OWN_KEYS }, text));
  }

  private async ask(request: Readonly<Record<string, unknown>>): Promise<void> {
    const wrong = await this.asker!.ask({ kind: "reduce", ...request });
    if (wrong) this.say(wrong);
  }

  end(): void {
    this.model.off("change:reductions", this.changed);
    this.model.off("change:reducible", this.changed);
    this.asker?.close();
  }
}
