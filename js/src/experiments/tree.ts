/** The experiments of a view as a tree, and what came of the one that is shown. */

import { h, OWN_KEYS, plural } from "../dom";
import type { Experiment } from "../schema";
import { OF_EXPERIMENT, outcome } from "./outcome";

export interface TreeHooks {
  /** Whether there is a kernel that runs them. */
  readonly live: () => boolean;
  /** The lowering of the view that is shown. */
  readonly shown: () => number;
  readonly show: (one: Experiment) => void;
  /** Show a pass of both: the dump of what it starts from, and of the experiment; -1 for none. */
  readonly pair: (one: Experiment, left: number, right: number) => void;
  readonly ask: (what: "again" | "stop" | "remove", one: Experiment) => void;
  readonly rename: (one: Experiment, name: string) => void;
  readonly edit: (one: Experiment) => void;
  readonly take: (what: "cell" | "call" | "files", one: Experiment) => void;
}

const STATES: Readonly<Record<Experiment["state"], string>> = {
  kept: "○ not run yet",
  running: "… running",
  done: "✓ done",
  failed: "✗ failed",
  stopped: "■ stopped",
};

export class Tree {
  readonly element: HTMLDetailsElement;
  private readonly summary = h("summary", { ...OWN_KEYS });
  private readonly list = h("div", { class: "irw-exp-list" });
  private readonly outcome = h("div", { class: "irw-exp-outcome", "aria-label": "What came of the experiment" });
  private drawn = "";
  /** The experiment whose name is under edit. */
  private renaming = 0;
  private passes = false;

  constructor(private readonly hooks: TreeHooks) {
    this.element = h(
      "details",
      { class: "irw-exps", open: true, hidden: true },
      this.summary,
      h("div", { class: "irw-exp-body" }, this.list, this.outcome),
    );
  }

  draw(all: readonly Experiment[], force = false): void {
    const key = JSON.stringify([all, this.hooks.shown(), this.hooks.live(), this.renaming]);
    if (key === this.drawn && !force) return;
    this.drawn = key;
    this.element.hidden = all.length === 0;
    const running = all.filter(({ state }) => state === "running").length;
    this.summary.textContent = `${plural(all.length, "experiment")}${running > 0 ? `, ${running} running` : ""}`;
    const focused = this.focused();
    this.list.replaceChildren(this.below(all, 0));
    this.list.querySelector<HTMLElement>(focused)?.focus();
    const shown = all.find(({ trace }) => trace >= 0 && trace === this.hooks.shown());
    this.outcome.hidden = !shown;
    this.outcome.replaceChildren(...(shown ? this.came(shown) : []));
  }

  /** What has the focus, to give it back to what is drawn in its place. */
  private focused(): string {
    const root = this.element.getRootNode() as Document | ShadowRoot;
    const { experiment, does } = (root.activeElement as HTMLElement | null)?.dataset ?? {};
    return experiment && does ? `[data-experiment="${experiment}"][data-does="${does}"]` : "[data-none]";
  }

  private below(all: readonly Experiment[], parent: number): HTMLElement {
    const rows = all.filter((one) => one.parent === parent);
    return h(
      "ul",
      {},
      ...rows.map((one) => {
        const more = all.some((child) => child.parent === one.id) ? [this.below(all, one.id)] : [];
        return h("li", {}, this.row(one), ...more);
      }),
    );
  }

  private row(one: Experiment): HTMLElement {
    const { live, shown, show, ask, edit, take } = this.hooks;
    const button = (text: string, title: string, click: () => void): HTMLElement =>
      h("button", { type: "button", title, "data-experiment": one.id, "data-does": text, ...OWN_KEYS, click }, text);
    const dump = one.stage < 0 ? one.after : `dump ${one.stage} ${one.after}`;
    const from = one.parent === 0 || one.stage < 0 ? `from ${dump}` : `from its ${dump}`;
    const can: HTMLElement[] = [];
    if (one.state === "running") can.push(button("Stop", "Stop it; its dumps so far stay", () => ask("stop", one)));
    else if (live()) {
      can.push(button("Run", "Run it again", () => ask("again", one)));
      can.push(button("Edit", "Open its text and passes", () => edit(one)));
      can.push(button("Rename", "Give it another name", () => this.rename(one)));
    }
    if (one.state !== "running") {
      can.push(button("Cell", "Copy a cell that runs it", () => take("cell", one)));
      can.push(button("Call", "Copy the Python call that runs it", () => take("call", one)));
      if (live()) {
        can.push(button("Files", "Download its text, and the commands of the tools", () => take("files", one)));
        can.push(button("Remove", "Forget it, and those that start from it", () => ask("remove", one)));
      }
    }
    const name: HTMLElement =
      this.renaming === one.id
        ? this.field(one)
        : one.trace < 0
          ? h("b", {}, one.name)
          : h(
              "button",
              {
                type: "button",
                class: "irw-exp-name",
                title: `Show it beside what it starts from, ${from}`,
                "aria-pressed": String(one.trace === shown()),
                "data-experiment": one.id,
                "data-does": "show",
                ...OWN_KEYS,
                click: () => show(one),
              },
              one.name,
            );
    const gone = one.trace < 0 && one.state === "done" ? ", its dumps are not kept" : "";
    const said = one.state === "done" ? (one.outcome?.summary ?? (one.message || "comparing …")) : one.message;
    return h(
      "div",
      { class: `irw-exp irw-exp-${one.state}`, "data-state": one.state },
      name,
      h("span", { class: "irw-exp-state" }, STATES[one.state] + gone),
      h("span", { class: "irw-exp-said", title: said }, said.split("\n")[0]!),
      h("span", { class: "irw-exp-can" }, ...can),
    );
  }

  private rename(one: Experiment): void {
    this.renaming = one.id;
    this.drawAgain();
    this.list.querySelector<HTMLInputElement>("input")?.select();
  }

  private all: readonly Experiment[] = [];

  /** Take up what there is now. */
  show(all: readonly Experiment[]): void {
    this.all = all;
    this.draw(all);
  }

  private drawAgain(): void {
    this.draw(this.all, true);
  }

  private field(one: Experiment): HTMLElement {
    const field = h("input", { type: "text", "aria-label": "New name", ...OWN_KEYS });
    field.value = one.name;
    const done = (keep: boolean): void => {
      if (this.renaming !== one.id) return;
      this.renaming = 0;
      if (keep && field.value.trim() && field.value !== one.name) this.hooks.rename(one, field.value);
      this.drawAgain();
    };
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") done(true);
      else if (event.key === "Escape") done(false);
    });
    field.addEventListener("blur", () => done(true));
    return field;
  }

  /** What came of it: facts of both, and how each pass compares. */
  private came(one: Experiment): HTMLElement[] {
    if (!one.outcome) return [];
    const hooks = {
      pair: (left: number, right: number) => this.hooks.pair(one, left, right),
      open: this.passes,
      toggled: (open: boolean) => (this.passes = open),
    };
    return [h("p", {}, one.outcome.summary), ...outcome(one.outcome, OF_EXPERIMENT, hooks)];
  }
}
