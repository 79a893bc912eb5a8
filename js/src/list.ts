/** The passes as a timeline: number, name, lines gone and new, milliseconds, dialects. */

import { freshId, h, OWN_KEYS, plural, thousands } from "./dom";
import type { Delta } from "./analysis";

export interface Row {
  /** The number of the stage. */
  readonly stage: number;
  readonly label: string;
  readonly title: string;
  readonly seconds: number;
  /**
   * `pending`: the text is on its way; `lost`: it will never come; `unknown`: what it is compared with is not here;
   * `translated`: what it is compared with is in another language.
   */
  readonly state: "changed" | "same" | "pending" | "lost" | "unknown" | "translated" | "failed";
  readonly delta: Delta | null;
  /** Share and colour of each dialect. */
  readonly strip: readonly (readonly [name: string, share: number, colour: number])[];
  readonly hits: number;
  /** `equal` or `differs` where it was compared with eager PyTorch; `first wrong` where it differs first. */
  readonly check: string;
  /** Of the time of all passes. */
  readonly share: number;
}

/** Passes without a change, folded into one line. */
export interface UnchangedPasses {
  readonly stages: readonly number[];
  readonly key: number;
}

export type Entry = Row | UnchangedPasses;

export interface ListHooks {
  /** `extend`: only the left side of the comparison is chosen. */
  readonly choose: (stage: number, extend: boolean) => void;
  readonly unfold: (key: number) => void;
}

/** What is said of a row whose lines cannot be counted. */
const SAID: Readonly<Partial<Record<Row["state"], string>>> = {
  failed: "failed",
  pending: "not here yet",
  lost: "not available",
  unknown: "not compared: the pass before is not here",
  translated: "in another language",
};

const CHECKED: Readonly<Record<string, string>> = {
  equal: "equal to eager PyTorch",
  differs: "differs from eager PyTorch",
  "first wrong": "differs from eager PyTorch, the first that was found to",
};

/** Pixels above and below the chosen row that are in sight, too: a row, such as that of the pass that failed. */
const BESIDE = 28;

export class PassList {
  readonly element: HTMLElement;
  private readonly id = freshId("passes");
  private stages: number[] = [];
  private readonly drawn = new Map<string, { readonly key: string; readonly element: HTMLElement }>();

  constructor(private readonly hooks: ListHooks) {
    this.element = h("div", {
      class: "irw-list",
      role: "listbox",
      tabindex: 0,
      "aria-label": "Passes",
      ...OWN_KEYS,
      click: (event: MouseEvent) => this.clicked(event),
    });
  }

  /** `empty`: what there is to say when there are no entries. */
  draw(entries: readonly Entry[], left: number, right: number, most: number, empty = ""): void {
    this.stages = entries.flatMap((entry) => ("stages" in entry ? [] : [entry.stage]));
    const rows = entries.map((entry) =>
      "stages" in entry
        ? this.kept(`unchanged ${entry.key}`, [entry.stages.length], () => this.unchanged(entry))
        : this.kept(String(entry.stage), [entry, entry.stage === left, entry.stage === right, most], () =>
            this.row(entry, left, right, most),
          ),
    );
    this.put(
      rows.length > 0 ? rows : [h("div", { class: "irw-empty", role: "option", "aria-disabled": "true" }, empty)],
    );
    const current = this.element.querySelector(`[data-stage="${right}"]`);
    if (current) this.element.setAttribute("aria-activedescendant", current.id);
    else this.element.removeAttribute("aria-activedescendant");
    // Asking for positions now would lay the page out twice.
    if (current instanceof HTMLElement) requestAnimationFrame(() => this.show(current));
  }

  /** Only what is different leaves or enters the page: a row that is put in again is styled and laid out again. */
  private put(rows: readonly HTMLElement[]): void {
    const kept = new Set<Element>(rows);
    for (const child of [...this.element.children]) if (!kept.has(child)) child.remove();
    let next = this.element.firstElementChild;
    for (const row of rows) {
      if (row === next) next = next.nextElementSibling;
      else this.element.insertBefore(row, next);
    }
  }

  /** The row as it was drawn last, when nothing about it is different. */
  private kept(name: string, depends: readonly unknown[], make: () => HTMLElement): HTMLElement {
    const key = JSON.stringify(depends);
    let drawn = this.drawn.get(name);
    if (drawn?.key !== key) this.drawn.set(name, (drawn = { key, element: make() }));
    return drawn.element;
  }

  /** The stage `steps` rows further on, or the last one there. */
  step(from: number, steps: number): number {
    const at = this.stages.indexOf(from);
    const start = at >= 0 ? at : this.stages.filter((stage) => stage < from).length - (steps > 0 ? 1 : 0);
    return this.stages[Math.min(Math.max(start + steps, 0), this.stages.length - 1)] ?? from;
  }

  private show(row: HTMLElement): void {
    const { scrollTop, clientHeight } = this.element;
    const [top, bottom] = [row.offsetTop - BESIDE, row.offsetTop + row.offsetHeight + BESIDE];
    if (top < scrollTop) this.element.scrollTop = top;
    else if (bottom > scrollTop + clientHeight) this.element.scrollTop = bottom - clientHeight;
  }

  private clicked(event: MouseEvent): void {
    const target = event.target as Element;
    const unchanged = target.closest<HTMLElement>("[data-unchanged]");
    if (unchanged) return this.hooks.unfold(Number(unchanged.dataset["unchanged"]));
    const row = target.closest<HTMLElement>("[data-stage]");
    if (row) this.hooks.choose(Number(row.dataset["stage"]), event.shiftKey);
  }

  private unchanged({ stages, key }: UnchangedPasses): HTMLElement {
    const text = stages.length === 1 ? "1 pass, no change" : `${stages.length} passes, no change`;
    return h(
      "div",
      { class: "irw-unchanged", role: "option", "aria-selected": "false", "data-unchanged": key, title: "Show them" },
      text,
    );
  }

  private row(row: Row, left: number, right: number, most: number): HTMLElement {
    const selected = row.stage === right;
    const side = selected ? "irw-right" : row.stage === left ? "irw-left" : "";
    const said = [
      SAID[row.state] ?? "",
      row.delta
        ? `${plural(row.delta.gone, "line")} gone, ${thousands(row.delta.added)} new`
        : row.state === "same"
          ? "no change"
          : "",
      CHECKED[row.check] ?? "",
      row.hits ? `${plural(row.hits, "line")} found` : "",
      row.stage === left && left !== right ? "left side" : "",
    ].filter(Boolean);
    return h(
      "div",
      {
        class: `irw-row irw-${row.state} ${row.check && `irw-${row.check.replace(" ", "-")}`} ${side}`,
        role: "option",
        id: `${this.id}-${row.stage}`,
        "aria-selected": String(selected),
        "data-stage": row.stage,
        title: row.title,
      },
      h("span", { class: "irw-index" }, String(row.stage)),
      h("span", { class: "irw-name" }, row.label),
      ...(said.length > 0 ? [h("span", { class: "irw-said-only" }, `, ${said.join(", ")}, `)] : []),
      h("span", { class: "irw-hits" }, row.hits ? "●" : ""),
      bars(row.delta, most),
      h("span", { class: "irw-time" }, ending(row)),
      h(
        "span",
        { class: "irw-strip" },
        ...row.strip.map(([name, share, colour]) => {
          const part = h("span", { class: `irw-hue${colour}`, title: name });
          part.style.flexGrow = String(share);
          return part;
        }),
      ),
    );
  }
}

function bars(delta: Delta | null, most: number): HTMLElement {
  const bar = h("span", { class: "irw-bars" });
  if (!delta || (!delta.gone && !delta.added)) return bar;
  // A root, so that a pass that changes ten lines can be seen beside one that changes thousands.
  const width = (lines: number): string => `${lines ? Math.max(2, Math.sqrt(lines / most) * 22) : 0}px`;
  const [gone, added] = [h("span", { class: "irw-bar-gone" }), h("span", { class: "irw-bar-new" })];
  gone.style.width = width(delta.gone);
  added.style.width = width(delta.added);
  bar.append(gone, added);
  return bar;
}

/** What stands at the end of a row: a failure, a verdict, else its time. */
export function ending({ state, check, seconds }: Row): string {
  if (state === "failed" || check === "differs") return "✗";
  return check === "first wrong" ? "✗ wrong" : milliseconds(seconds);
}

/** A time with its unit; "" where it is not known. */
export function milliseconds(seconds: number): string {
  if (!seconds) return "";
  const ms = seconds * 1000;
  if (ms >= 10_000) return `${seconds.toFixed(0)} s`;
  if (ms >= 1000) return `${seconds.toFixed(1)} s`;
  return ms < 0.1 ? "<0.1 ms" : `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
}
