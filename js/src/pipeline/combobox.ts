/** A text field that completes names of passes, with their help. */

import { freshId, h, OWN_KEYS } from "../dom";
import { find } from "./data";
import type { OfferedPass } from "../schema";

const MOST = 80;

export class Combobox {
  readonly input: HTMLInputElement;
  readonly element: HTMLElement;
  private readonly list: HTMLElement;
  private passes: ReadonlyMap<string, OfferedPass> = new Map();
  private shown: readonly OfferedPass[] = [];
  private at = -1;

  constructor(
    label: string,
    private readonly chosen: (pass: OfferedPass | undefined) => void,
  ) {
    const id = freshId("passes");
    this.list = h("div", { role: "listbox", id, class: "irw-pl-passes", "aria-label": "Passes", hidden: true });
    this.input = h("input", {
      type: "text",
      class: "irw-pl-pass",
      role: "combobox",
      "aria-label": label,
      "aria-expanded": "false",
      "aria-controls": id,
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "Type a pass",
      ...OWN_KEYS,
      input: () => this.open(),
      keydown: (event: KeyboardEvent) => this.key(event),
      blur: () => this.close(),
      click: () => this.open(),
    });
    this.element = h("div", { class: "irw-pl-combobox" }, this.input, this.list);
  }

  offer(passes: ReadonlyMap<string, OfferedPass>): void {
    this.passes = passes;
  }

  get pass(): OfferedPass | undefined {
    return this.passes.get(this.input.value.trim());
  }

  get isOpen(): boolean {
    return !this.list.hidden;
  }

  private open(): void {
    const known = this.pass;
    const all = find(this.passes, known ? "" : this.input.value);
    this.shown = all.slice(0, MOST);
    this.at = known ? this.shown.indexOf(known) : -1;
    const more = all.length - this.shown.length;
    this.list.replaceChildren(
      ...this.shown.map((pass, i) =>
        h(
          "div",
          {
            role: "option",
            id: `${this.list.id}-${i}`,
            "aria-selected": "false",
            mousedown: (event: Event) => this.choose(event, pass),
          },
          h("b", {}, pass.name),
          " ",
          h("span", { class: "irw-dim" }, pass.help),
        ),
      ),
      ...(more > 0
        ? [
            h(
              "div",
              { class: "irw-dim irw-pl-more", role: "option", "aria-disabled": "true", "aria-selected": "false" },
              `${more} more: type to narrow`,
            ),
          ]
        : []),
    );
    this.list.hidden = this.shown.length === 0;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.mark();
    this.chosen(known);
  }

  close(): void {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  private choose(event: Event, pass: OfferedPass): void {
    event.preventDefault();
    this.input.value = pass.name;
    this.close();
    this.chosen(pass);
  }

  private mark(): void {
    for (const [i, row] of [...this.list.children].entries()) row.setAttribute("aria-selected", String(i === this.at));
    const row = this.list.children[this.at];
    if (row) this.input.setAttribute("aria-activedescendant", row.id);
    else this.input.removeAttribute("aria-activedescendant");
    row?.scrollIntoView({ block: "nearest" });
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step !== undefined) {
      if (!this.isOpen) this.open();
      this.at = Math.max(0, Math.min(this.shown.length - 1, this.at + step));
      this.mark();
    } else if (event.key === "Enter" && this.isOpen && (this.at >= 0 || !this.pass)) {
      const pass = this.shown[Math.max(0, this.at)];
      if (pass) this.choose(event, pass);
    } else if (event.key === "Escape" && this.isOpen) this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
