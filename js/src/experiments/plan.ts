/** The passes that run after a dump: each can be left out, moved, or given other options. */

import { h, OWN_KEYS, plural } from "../dom";
import type { ArrangedPass, PlannedPass } from "../schema";

interface Row {
  readonly place: number;
  on: boolean;
  /** Options that have another value. */
  readonly options: Record<string, string>;
  open: boolean;
}

export class PassPlan {
  readonly element: HTMLElement;
  private readonly head = h("b", { role: "status" });
  private readonly list = h("ol", { class: "irw-plan-list" });
  private rows: Row[];

  constructor(
    private readonly passes: readonly PlannedPass[],
    arranged: readonly ArrangedPass[] | null,
  ) {
    const row = (place: number, options: Readonly<Record<string, string>> = {}, on = true): Row => ({
      place,
      on,
      options: { ...options },
      open: false,
    });
    this.rows = (arranged ?? passes.map((_, place) => ({ place, options: {} })))
      .filter(({ place }) => place < passes.length)
      .map(({ place, options }) => row(place, options));
    for (const place of passes.keys())
      if (!this.rows.some((one) => one.place === place)) this.rows.splice(place, 0, row(place, {}, false));
    this.element = h("aside", { class: "irw-plan", "aria-label": "Passes to run" }, this.head, this.list);
    this.draw();
  }

  /** What is to run, in order; null where it is what the lowering ran. */
  get value(): readonly ArrangedPass[] | null {
    const same = this.rows.every(({ place, on, options }, i) => place === i && on && Object.keys(options).length === 0);
    return same ? null : this.rows.filter(({ on }) => on).map(({ place, options }) => ({ place, options }));
  }

  /** All passes, as the lowering ran them. */
  reset(): void {
    this.rows = this.passes.map((_, place) => ({ place, on: true, options: {}, open: false }));
    this.draw();
  }

  private move(index: number, by: 1 | -1): void {
    const [row] = this.rows.splice(index, 1);
    this.rows.splice(index + by, 0, row!);
    this.draw();
    const moved = this.list.children[index + by]?.querySelectorAll<HTMLButtonElement>("button");
    const wanted = moved?.[by < 0 ? 0 : 1];
    (wanted?.disabled ? moved?.[by < 0 ? 1 : 0] : wanted)?.focus();
  }

  private draw(): void {
    const on = this.rows.filter((row) => row.on).length;
    const all = this.rows.length;
    this.head.textContent =
      all === 0
        ? "No pass comes after this dump"
        : on === all
          ? `${plural(all, "pass", "passes")} to run`
          : `${on} of ${plural(all, "pass", "passes")} to run`;
    this.list.replaceChildren(...this.rows.map((row, index) => this.row(row, index)));
  }

  private row(row: Row, index: number): HTMLElement {
    const { name, step, stage, options } = this.passes[row.place]!;
    const box: HTMLInputElement = h("input", {
      type: "checkbox",
      "aria-label": `Run ${name}`,
      ...OWN_KEYS,
      change: () => {
        row.on = box.checked;
        this.draw();
        this.list.children[index]?.querySelector("input")?.focus();
      },
    });
    box.checked = row.on;
    const step_ = (text: string, by: 1 | -1, off: boolean): HTMLElement =>
      h(
        "button",
        {
          type: "button",
          disabled: off,
          title: by < 0 ? "Earlier" : "Later",
          "aria-label": `${name} ${by < 0 ? "earlier" : "later"}`,
          ...OWN_KEYS,
          click: () => this.move(index, by),
        },
        text,
      );
    const changed = Object.keys(row.options).length > 0;
    const more = Object.keys(options).length > 0 ? [this.options(row, options, index)] : [];
    return h(
      "li",
      { class: row.on ? "" : "irw-plan-off" },
      h(
        "div",
        { class: "irw-plan-row" },
        h("label", { title: `${step}${stage >= 0 ? `, dump ${stage}` : ""}` }, box, ` ${name}`),
        ...(changed ? [h("span", { class: "irw-dim", title: "Its options are other ones" }, "✎")] : []),
        step_("↑", -1, index === 0),
        step_("↓", 1, index === this.rows.length - 1),
      ),
      ...more,
    );
  }

  private options(row: Row, defaults: Readonly<Record<string, string>>, index: number): HTMLElement {
    const fields = Object.entries(defaults).map(([name, before]) => {
      const set = (value: string): void => {
        if (value === before) delete row.options[name];
        else row.options[name] = value;
        this.list.children[index]?.classList.toggle("irw-plan-changed", Object.keys(row.options).length > 0);
      };
      const now = row.options[name] ?? before;
      if (before === "true" || before === "false") {
        const box: HTMLInputElement = h("input", {
          type: "checkbox",
          ...OWN_KEYS,
          change: () => set(String(box.checked)),
        });
        box.checked = now === "true";
        return h("label", {}, box, ` ${name}`);
      }
      const field: HTMLInputElement = h("input", {
        type: "text",
        inputmode: /^-?\d+$/.test(before) ? "numeric" : undefined,
        ...OWN_KEYS,
        input: () => set(field.value.trim()),
      });
      field.value = now;
      return h("label", {}, `${name} `, field);
    });
    return h(
      "details",
      { open: row.open, toggle: (event: Event) => (row.open = (event.target as HTMLDetailsElement).open) },
      h("summary", { ...OWN_KEYS }, "Options"),
      ...fields,
    );
  }
}
