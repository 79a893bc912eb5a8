/** The panes: two side by side that scroll as one, or one with both dumps; and the ruler of changes beside them. */

import type { Analysis } from "./analysis";
import type { Blamed } from "./blame";
import { Anchors, type Origin } from "./anchors";
import { carried } from "./carry";
import { type Hunk, type Segment, within } from "./diff";
import { comparable, missing, type Stage } from "./dumps";
import { h } from "./dom";
import { followByLine } from "./following";
import { Naming } from "./naming";
import { alone, type Column, Kind, type Options, sideBySide, unified } from "./alignment";
import { Pane, type SideName } from "./pane";
import { Ruler } from "./ruler";
import { splitter } from "./splitter";

export interface Pair {
  readonly left: Stage;
  readonly right: Stage;
  /** Titles, also for screen readers. */
  readonly titles: readonly [left: string, right: string];
  readonly ignoreRenumbering: boolean;
  readonly layout: "split" | "unified";
  readonly wrap: boolean;
  readonly fold: boolean;
  readonly symbol: string;
  readonly blame?: Blamed | undefined;
  /** What is written on a line, or ""; absent where nothing is written at all. */
  readonly note?: ((spot: Spot) => string) | undefined;
}

export interface Spot {
  readonly side: "left" | "right";
  /** Line of the dump, from 0. */
  readonly line: number;
}

export interface CompareHooks {
  /** The line of the user's source that a line of a stage came from, or 0; null when nothing is known of the stage. */
  readonly source: (stage: Stage) => ((line: number) => number) | null;
  readonly moved: (spot: Spot) => void;
  readonly blamed: (spot: Spot) => void;
  readonly noted: (spot: Spot) => void;
}

const CONTEXT = 3;
/** Pixels left and right of a line; the style sheet says the same. */
const PADDING = 12;

export class Compare {
  readonly element = h("div", { class: "irw-panes" });
  private readonly absent = h("div", { class: "irw-absent", role: "status" });
  readonly panes: readonly [Pane, Pane];
  private readonly anchors: Anchors;
  private readonly ruler = new Ruler(() => this.panes[1].view.scrollDOM);
  private readonly hosts: readonly [HTMLElement, HTMLElement];
  private readonly open = new Set<number>();
  private pair: Pair | null = null;
  private hunks: readonly Hunk[] = [];
  private ranges: [Segment, Segment] = [
    { name: "", from: 0, to: 0 },
    { name: "", from: 0, to: 0 },
  ];
  /** Marks names, hits and links. */
  readonly naming: Naming;
  /** The pane that the reader was in last. */
  active: Pane;
  /** The pane whose scrolling the other follows. */
  private leader: Pane;
  private change = -1;
  /** How many characters fit on a row of each pane. */
  private columns: readonly [number, number] = [0, 0];

  constructor(
    private readonly analysis: Analysis,
    root: Document | ShadowRoot,
    private readonly hooks: CompareHooks,
  ) {
    this.hosts = [h("div", { class: "irw-pane" }), h("div", { class: "irw-pane" })];
    const bar = splitter("Width of the left pane", {
      size: () => this.hosts[0].offsetWidth,
      resize: (pixels) => this.widen(pixels),
      reset: () => this.widen(null),
    });
    this.element.append(this.hosts[0], bar, this.hosts[1], this.ruler.element, this.absent);
    const make = (host: HTMLElement): Pane =>
      new Pane(host, root, {
        text: (id) => (id < 0 ? "" : analysis.text(id)),
        symbol: (id) => (id < 0 ? "" : analysis.symbolOf(id)),
        doc: (lines) => analysis.doc(lines),
        unfold: (key) => this.unfold(key),
        moved: (pane, line, column) => {
          this.active = pane;
          this.naming.at(pane, line, column);
          this.hooks.moved(this.spot(pane, line));
        },
        blamed: (pane, line) => this.hooks.blamed(this.spot(pane, line)),
        noted: (pane, line) => this.hooks.noted(this.spot(pane, line)),
        scrolled: (pane) => this.scrolled(pane),
        measured: () => this.resized(),
      });
    this.panes = [make(this.hosts[0]), make(this.hosts[1])];
    this.active = this.panes[1];
    this.leader = this.panes[1];
    this.anchors = new Anchors(this);
    this.naming = new Naming(analysis, this);
    for (const pane of this.panes) {
      const lead = (): void => {
        this.leader = pane;
        this.anchors.release();
      };
      pane.view.contentDOM.addEventListener("focus", () => (this.active = this.leader = pane));
      for (const event of ["wheel", "pointerdown", "touchstart", "keydown"])
        pane.view.dom.addEventListener(event, lead, { passive: true });
    }
  }

  /** `absent`: there is no text to show; `linked`: two languages, which are not diffed but tied line by line. */
  get mode(): "absent" | "alone" | "split" | "unified" | "linked" {
    const { pair } = this;
    if (!pair || !pair.right.ready) return "absent";
    if (pair.left === pair.right || !comparable(pair.left, pair.right)) return "alone";
    return pair.left.language === pair.right.language ? pair.layout : "linked";
  }

  get stages(): Pair | null {
    return this.pair;
  }

  /** Two panes are on the screen. */
  private get both(): boolean {
    return this.mode === "split" || this.mode === "linked";
  }

  private widen(pixels: number | null): void {
    const share = pixels === null ? 50 : Math.min(85, Math.max(15, (100 * pixels) / this.element.clientWidth));
    this.hosts[0].style.flexBasis = `${share}%`;
    this.hosts[1].style.flexBasis = `${100 - share}%`;
    this.resized();
  }

  /** How many lines differ in nothing but renumbered names. */
  get renumbered(): number {
    let count = 0;
    const kinds = this.panes[1].content?.column.kinds ?? [];
    for (let i = 0; i < kinds.length; i++) if (kinds[i] === Kind.Renumbered) count++;
    return count;
  }

  /** The part of each stage that is shown. */
  get parts(): readonly [left: Segment, right: Segment] {
    return this.ranges;
  }

  /** The function that is shown alone; "" for all. */
  get symbol(): string {
    return this.pair?.symbol ?? "";
  }

  get changes(): readonly Hunk[] {
    return this.hunks;
  }

  show(pair: Pair): void {
    const before = this.pair;
    const same = (side: "left" | "right"): boolean => before?.[side].lines === pair[side].lines;
    const unchanged = same("left") && same("right") && before?.symbol === pair.symbol;
    const kept = this.anchors.here();
    this.pair = pair;
    if (!unchanged) this.open.clear();
    this.change = -1;
    const { analysis } = this;
    this.ranges = [analysis.partOf(pair.left, pair.symbol), analysis.partOf(pair.right, pair.symbol)];
    if (!pair.symbol) this.ranges[0] = this.analysis.beside(pair.left, pair.right);
    this.hunks = this.mode === "split" || this.mode === "unified" ? this.diff(pair) : [];
    this.draw(true);
    if (kept) this.anchors.restore(kept, (stage, line) => this.carried(stage, line, pair));
    if (!kept?.top && !unchanged && this.hunks.length > 0 && !pair.fold) this.step(1, false);
  }

  /** Where a line of a stage is in a pair; null when nothing leads there. */
  private carried(stage: Stage, line: number, pair: Pair): Spot | null {
    if (!stage.ready) return null;
    if (stage.lines === pair.right.lines) return { side: "right", line };
    if (stage.lines === pair.left.lines && this.mode !== "alone") {
      // The right pane leads; what has gone is beside what has come.
      const there = this.mode === "split" ? this.opposite(line) : -1;
      return there < 0 ? { side: "left", line } : { side: "right", line: there };
    }
    const there = carried(this.analysis, stage, line, pair.right);
    return there < 0 ? null : { side: "right", line: there };
  }

  /** The line on the right that stands beside one of the left. */
  private opposite(line: number): number {
    const [a, b] = this.ranges;
    const own = line - a.from;
    let shift = 0;
    for (const { a0, a1, b0, b1 } of this.hunks) {
      if (own < a0) break;
      if (own < a1) return b.from + Math.min(b0 + own - a0, Math.max(b0, b1 - 1), b.to - b.from - 1);
      shift = b1 - a1;
    }
    return b.from + own + shift;
  }

  /** The stage that a line is of. */
  stage({ side }: Spot): Stage {
    return this.pair![side];
  }

  private diff(pair: Pair): readonly Hunk[] {
    const found = this.analysis.diff(pair.left, pair.right, pair.ignoreRenumbering);
    const [a, b] = this.ranges;
    if (a.to - a.from === pair.left.lines.length && b.to - b.from === pair.right.lines.length) return found;
    return within(found, a, b);
  }

  private options(wrap: boolean): Options {
    const [a, b] = this.ranges;
    const base = {
      context: this.pair?.fold ? CONTEXT : Infinity,
      open: this.open,
      firstLeft: a.from,
      firstRight: b.from,
    };
    if (!wrap || Math.min(...this.columns) < 8) return base;
    return { ...base, rows: (id, side) => Math.max(1, Math.ceil(this.analysis.text(id).length / this.columns[side])) };
  }

  private draw(fresh: boolean): void {
    const { pair } = this;
    if (!pair) return;
    const { mode } = this;
    this.element.dataset["mode"] = mode;
    const part = ({ lines }: Stage, { from, to }: Segment): Int32Array =>
      from === 0 && to === lines.length ? lines : lines.subarray(from, to);
    const a = part(pair.left, this.ranges[0]);
    const b = part(pair.right, this.ranges[1]);
    const columns = this.columnsOf(a, b, pair);
    this.element.dataset["layout"] = pair.layout;
    this.absent.textContent = mode === "absent" ? `${pair.right.label}: ${missing(pair.right)}` : "";
    this.absent.hidden = mode !== "absent";
    for (const i of [0, 1] as const) {
      const column = columns[i];
      this.hosts[i].hidden = !column;
      if (!column) this.panes[i].clear();
      else if (fresh)
        this.panes[i].show(
          this.content(pair, column, i === 0 ? "left" : mode === "unified" ? "both" : "right"),
          this.naming.fresh,
        );
      else this.panes[i].relayout(column);
    }
    if (fresh) this.naming.forget();
    this.ruler.draw(this.hunks, a.length + b.length);
    if (pair.wrap && mode === "split") requestAnimationFrame(() => this.follow(this.panes[1]));
  }

  private columnsOf(a: Int32Array, b: Int32Array, pair: Pair): readonly [Column | null, Column | null] {
    const [firstA, firstB] = [this.ranges[0].from, this.ranges[1].from];
    switch (this.mode) {
      case "absent":
        return [null, null];
      case "alone":
        return [null, alone(b, firstB)];
      case "linked":
        return [alone(a, firstA, "left"), alone(b, firstB)];
      case "unified":
        return [null, unified(a, b, this.hunks, this.options(false))];
      case "split":
        return sideBySide(a, b, this.hunks, this.options(pair.wrap));
    }
  }

  private content(pair: Pair, column: Column, side: SideName) {
    const place = (line: number): Spot => spotOf(column, line);
    const { blame, note } = pair;
    const sources = { left: this.hooks.source(pair.left), right: this.hooks.source(pair.right) };
    const known = side === "both" ? (sources.left ?? sources.right) : sources[side];
    const source = (line: number): number => {
      const spot = place(line);
      return sources[spot.side]?.(spot.line) ?? 0;
    };
    return {
      column,
      language: side === "left" ? pair.left.language : pair.right.language,
      label: side === "both" ? `From ${pair.titles[0]} to ${pair.titles[1]}` : pair.titles[side === "left" ? 0 : 1],
      wrap: pair.wrap,
      source: known ? source : undefined,
      tied: this.mode === "linked" ? (line: number) => this.originOf(pair, place(line)) : undefined,
      note: note && ((line: number) => note(place(line))),
      blame:
        blame &&
        ((line: number) => {
          const spot = place(line);
          return blame(spot.side, spot.line);
        }),
    };
  }

  private originOf(pair: Pair, { side, line }: Spot): number {
    const { dumps, places } = this.analysis;
    return places.numberOf(dumps.places[pair[side].places?.[line] ?? -1]);
  }

  /** How many characters fit on a row is known once the panes have been measured; tells whether it has changed. */
  private measure(): boolean {
    const before = this.columns;
    const fit = ({ view }: Pane): number =>
      Math.floor((view.contentDOM.clientWidth - PADDING) / view.defaultCharacterWidth);
    this.columns = [fit(this.panes[0]), fit(this.panes[1])];
    return before[0] !== this.columns[0] || before[1] !== this.columns[1];
  }

  /** The width has changed, or what is known of it. */
  resized(): void {
    if (!this.pair?.wrap || this.mode !== "split") return;
    if (this.measure()) this.redraw();
  }

  /** Gaps and folds anew, and the reader where he was. */
  private redraw(fresh = false): void {
    const kept = this.anchors.here();
    const { pair } = this;
    this.draw(fresh);
    if (kept && pair) this.anchors.restore(kept, (stage, line) => this.carried(stage, line, pair));
  }

  private unfold(key: number): void {
    this.open.add(key);
    this.redraw(this.mode === "unified");
  }

  // Scrolling

  private scrolled(from: Pane): void {
    this.ruler.see(from.view.scrollDOM);
    if (this.mode === "linked" && from === this.leader) requestAnimationFrame(() => this.followByPlace(from));
    if (this.mode !== "split") return;
    const to = from === this.panes[0] ? this.panes[1] : this.panes[0];
    const [source, target] = [from.view.scrollDOM, to.view.scrollDOM];
    if (this.pair?.wrap) {
      if (from === this.leader) this.follow(from);
      return;
    }
    if (Math.abs(target.scrollTop - source.scrollTop) > 1) target.scrollTop = source.scrollTop;
    if (Math.abs(target.scrollLeft - source.scrollLeft) > 1) target.scrollLeft = source.scrollLeft;
  }

  private follow(from: Pane): void {
    const first = from === this.panes[0];
    followByLine(from, this.panes[first ? 1 : 0], first ? "a" : "b", () => this.pair && this.hunks);
  }

  /** Another language: what came from the same line of the source is brought to the same height. */
  private followByPlace(from: Pane): void {
    const top = this.anchors.at(from);
    if (!top || !this.pair || this.mode !== "linked") return;
    const other = top.spot.side === "left" ? "right" : "left";
    const line = carried(this.analysis, this.pair[top.spot.side], top.spot.line, this.pair[other]);
    if (line >= 0) this.anchors.put({ spot: { side: other, line }, offset: top.offset });
  }

  // Places

  /** Where the reader is; null at the beginning. */
  get place(): Origin | null {
    return this.anchors.here()?.top ?? null;
  }

  spot(pane: Pane, line: number): Spot {
    const spot = spotOf(pane.content!.column, line);
    return pane === this.panes[0] ? { ...spot, side: "left" } : spot;
  }

  /** The pane and row of a line of a dump, or null when it is not shown. */
  find({ side, line }: Spot): { pane: Pane; row: number } | null {
    const { mode } = this;
    if (side === "left" && mode === "alone") return null;
    const pane = side === "left" && this.both ? this.panes[0] : this.panes[1];
    const numbers = pane.content?.column[side];
    if (!numbers) return null;
    if (mode !== "unified") {
      const row = line - (numbers[0] ?? 0);
      return row >= 0 && row < numbers.length ? { pane, row } : null;
    }
    const row = numbers.indexOf(line);
    return row >= 0 ? { pane, row } : null;
  }

  /** Bring a line of a dump into sight; `cursor` puts the cursor there, too. */
  reveal(spot: Spot, how: "cursor" | "focus" | "center"): boolean {
    let found = this.find(spot);
    if (!found) return false;
    this.anchors.release();
    const { pane } = found;
    const fold = pane.content!.column.folds.find(({ from, to }) => found!.row >= from && found!.row < to);
    if (fold) {
      this.unfold(fold.key);
      found = this.find(spot)!;
    }
    if (how === "cursor" || how === "focus") pane.go(found.row);
    else pane.reveal(found.row);
    if (how === "focus") pane.view.focus();
    return true;
  }

  /** To the next or previous change; the number of it, or -1. */
  step(by: 1 | -1, focus = true): number {
    if (this.hunks.length === 0) return -1;
    this.change =
      this.change < 0 && by < 0 ? this.hunks.length - 1 : (this.change + by + this.hunks.length) % this.hunks.length;
    const hunk = this.hunks[this.change]!;
    const [a, b] = this.ranges;
    const right = hunk.b1 > hunk.b0;
    const spot: Spot = right ? { side: "right", line: b.from + hunk.b0 } : { side: "left", line: a.from + hunk.a0 };
    this.reveal(spot, focus ? "focus" : "center");
    return this.change;
  }

  destroy(): void {
    this.pair = null;
    for (const pane of this.panes) pane.destroy();
    this.element.remove();
  }
}

function spotOf(column: Column, line: number): Spot {
  const right = column.right[line] ?? -1;
  return right >= 0 ? { side: "right", line: right } : { side: "left", line: column.left[line] ?? 0 };
}
