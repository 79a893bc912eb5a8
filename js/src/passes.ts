/** The column of passes: filter, list, what they cost, the colours of dialects; wide, or as a rail. */

import type { Analysis } from "./analysis";
import type { Trace } from "./dumps";
import { h, OWN_KEYS } from "./dom";
import { cost, legend } from "./legend";
import { ending, type ListHooks, PassList } from "./list";
import type { Store } from "./model";
import { splitter } from "./splitter";
import { entries, Timeline } from "./timeline";

/** Pixels of the view below which the list is a rail, and those with the operations beside the panes. */
const ROOM = 760;
const ROOM_BESIDE_OPERATIONS = 1200;
/** Milliseconds that the bars are computed for at a time. */
const TURN = 12;

/** What is asked of the view. */
export interface PassesView {
  readonly element: HTMLElement;
  /** For each stage, on how many lines a text was found. */
  readonly hits: readonly number[];
  /** Whether the left side is of another lowering. */
  readonly apart: boolean;
  costTable(): void;
}

export class Passes {
  readonly list: PassList;
  /** The column, and the bar that its width is changed with. */
  readonly element: HTMLElement;
  readonly bar: HTMLElement;
  private readonly filter: HTMLInputElement;
  private readonly costs = h("div", { class: "irw-costs" });
  private readonly legend = h("div", { class: "irw-legend", "aria-label": "Colours of dialects" });
  private readonly rail: HTMLButtonElement;
  private readonly openUnchanged = new Set<number>();
  private timelines: Timeline[] = [];
  private width = Infinity;
  private closed = false;

  constructor(
    private readonly store: Store,
    private readonly shown: PassesView,
    choose: ListHooks["choose"],
  ) {
    this.list = new PassList({
      choose,
      unfold: (key) => {
        this.openUnchanged.add(key);
        this.draw();
      },
    });
    this.filter = h("input", {
      type: "search",
      class: "irw-filter",
      placeholder: "Filter passes",
      "aria-label": "Filter passes",
      ...OWN_KEYS,
      input: () => store.set({ passes: this.filter.value }),
    });
    this.rail = h(
      "button",
      {
        type: "button",
        class: "irw-rail",
        title: "The list as a narrow rail, and back (r)",
        "aria-label": "The list as a narrow rail (r)",
        ...OWN_KEYS,
        click: () => this.toggleRail(),
      },
      "«",
    );
    const top = h("div", { class: "irw-side-top" }, this.filter, this.rail);
    this.element = h("div", { class: "irw-side" }, top, this.costs, this.list.element, this.legend);
    const wide = (pixels: number | null): void =>
      void (this.element.style.width = pixels === null ? "" : `${pixels}px`);
    this.bar = splitter("Width of the list", {
      size: () => this.element.offsetWidth,
      resize: (pixels) => wide(Math.max(60, Math.min(pixels, shown.element.clientWidth * 0.7))),
      reset: () => wide(null),
    });
  }

  /** See how much room there is; whether the list is to be drawn otherwise than before. */
  measure(): boolean {
    const before = this.narrow;
    this.width = this.shown.element.clientWidth;
    return before !== this.narrow;
  }

  private get narrow(): boolean {
    const { store } = this;
    const needed = store.get("ops") ? ROOM_BESIDE_OPERATIONS : ROOM;
    return store.get("rail") ?? (this.width < needed || (store.get("columns")?.length ?? 0) > 0);
  }

  toggleRail(): void {
    this.store.set({ rail: !this.narrow });
  }

  /** Take up the lowerings that are there now. */
  take(analysis: Analysis, traces: readonly Trace[]): void {
    this.timelines = traces.map((trace) => new Timeline(analysis, trace));
  }

  private get timeline(): Timeline | undefined {
    return this.timelines[this.store.get("trace")] ?? this.timelines[0];
  }

  draw(): void {
    const { store, timeline } = this;
    if (!timeline) return;
    const [left, right] = [store.get("left"), store.get("right")];
    if (this.filter.value !== store.get("passes")) this.filter.value = store.get("passes");
    const rows = timeline.rows(this.shown.hits);
    const shown = this.shown.apart ? -1 : left;
    const listed = entries(rows, store.get("passes"), this.openUnchanged, [shown, right], store.get("by_time"));
    this.list.draw(listed, shown, right, timeline.most, `No pass has a name like “${store.get("passes")}”`);
    this.list.element.toggleAttribute("data-untimed", !rows.some(ending));
    const toggle = (): void => store.set({ by_time: !store.get("by_time") });
    const table = (): void => this.shown.costTable();
    this.costs.replaceChildren(...cost(timeline, store.get("by_time"), toggle, table));
    this.legend.replaceChildren(...legend(timeline));
    this.element.toggleAttribute("data-rail", this.narrow);
    this.rail.textContent = this.narrow ? "»" : "«";
  }

  /** Compute the bars after the panes are painted, a few passes at a time; `done` is called at the end. */
  fill(done: () => void): void {
    const { timeline } = this;
    const more = (): void => {
      if (this.closed || !timeline || !this.timelines.includes(timeline)) return;
      const all = timeline.advance(TURN);
      this.draw();
      if (all) done();
      else setTimeout(more);
    };
    setTimeout(more, 30);
  }

  close(): void {
    this.closed = true;
  }
}
