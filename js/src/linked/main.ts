/** Dumps of a lowering and the source side by side: not diffed, but tied line by line by the source they came from. */

import { alone } from "../alignment";
import type { Analysis } from "../analysis";
import { heightOf, type Origin } from "../anchors";
import { carried } from "../carry";
import { h, OWN_KEYS, plural, thousands } from "../dom";
import { type Dumps, missing, type Place, type Stage, stageAt, type Trace } from "../dumps";
import type { Store } from "../model";
import { NO_MARKS } from "../overlay";
import { LINE, Pane } from "../pane";
import type { Query } from "../query";
import { SourcePane } from "../source";
import { heart, levels, SOURCE } from "./choice";

/** Pixels that a column should have at least. */
const NARROW = 240;
/** Pixels of the view beside the columns: the list as a rail, and the button for another. */
const BESIDE = 100;

/** What is asked of the view. */
export interface LinkedView {
  readonly lines: Analysis;
  readonly trace: Trace;
  readonly query: Query;
  /** Where the reader of the diff is; null at the beginning. */
  readonly here: Origin | null;
  say(text: string): void;
}

/** What lines are of: a dump, or the source where there is no stage. */
interface Lines {
  readonly stage: Stage | null;
  /** Number of its first line, where only a function is shown. */
  readonly first: number;
  readonly source: SourcePane | null;
}

/** A column, which shows lines. */
interface Column extends Lines {
  /** The number that was chosen for it. */
  readonly shown: number;
  readonly element: HTMLElement;
  readonly pane: Pane;
  /** Rows that are lit. */
  lit: ReadonlySet<number>;
  /** How far it was scrolled down when the others followed. */
  top: number;
}

export class LinkedColumns {
  readonly element = h("div", { class: "irw-linked", role: "group", "aria-label": "Linked columns", hidden: true });
  private columns: Column[] = [];
  /** What is drawn: the dumps, and what is shown of them. */
  private drawn: readonly unknown[] = [];
  /** The number of the lowering whose stages are chosen; -1: none are. */
  private of = -1;
  private active = 0;
  private leader: Pane | null = null;
  /** Where the reader was before there were columns. */
  private from: Origin | null = null;
  /** The place of the source from which all came that is lit. */
  private lit: Place | undefined;

  constructor(
    private readonly store: Store,
    private readonly view: LinkedView,
    private readonly root: Document | ShadowRoot,
  ) {}

  get on(): boolean {
    return this.chosen.length > 0;
  }

  private get chosen(): readonly number[] {
    return this.store.get("columns") ?? [];
  }

  /** Show columns instead of the diff, or the diff again. */
  toggle(): void {
    this.from = this.on ? null : this.view.here;
    this.store.set({ columns: this.on ? [] : this.usual() });
  }

  /** The source and the last dump of each level, as many as there is room for. */
  private usual(): number[] {
    const room = Math.max(2, Math.floor(((this.element.closest(".irw")?.clientWidth ?? 0) - BESIDE) / NARROW));
    const { dumps } = this.view.lines;
    return levels(
      this.view.trace,
      dumps.sources.some(({ text }) => text !== null),
      room,
    );
  }

  /** Show a dump, where no column does, in the one that the reader was in last; the source stays. */
  put(stage: number): void {
    const { chosen, active } = this;
    if (!this.on || chosen[active] === stage) return;
    if (chosen.includes(stage)) this.active = chosen.indexOf(stage);
    else this.choose(chosen[active] === SOURCE ? chosen.length - 1 : active, stage);
  }

  private choose(column: number, stage: number): void {
    this.active = column;
    this.store.set({ columns: this.chosen.map((one, i) => (i === column ? stage : one)) });
    this.draw();
  }

  private add(): void {
    const { stages } = this.view.trace;
    const last = this.chosen.at(-1)!;
    this.active = this.chosen.length;
    this.store.set({ columns: [...this.chosen, Math.min(last + 1, stages.length - 1)] });
  }

  private remove(column: number): void {
    this.active = Math.max(0, column - 1);
    this.store.set({ columns: this.chosen.filter((_, i) => i !== column) });
  }

  draw(): void {
    this.element.hidden = !this.on;
    this.element.parentElement?.toggleAttribute("data-linked", this.on);
    const of = this.store.get("trace");
    if (this.on && this.of >= 0 && this.of !== of) this.store.set({ columns: this.usual() });
    this.of = this.on ? of : -1;
    const { chosen } = this;
    const stages = chosen.map((stage) => (stage === SOURCE ? null : stageAt(this.view.trace, stage)));
    const now = [...stages.flatMap((stage) => [stage?.lines, stage?.lost]), this.store.get("symbol"), ...chosen];
    if (now.length !== this.drawn.length || now.some((one, i) => one !== this.drawn[i])) this.build(stages, now);
    this.mark();
  }

  private build(stages: readonly (Stage | null)[], now: readonly unknown[]): void {
    const kept = new Map(this.columns.map(({ shown, pane }) => [shown, topRow(pane)]));
    this.clear();
    this.drawn = now;
    this.columns = stages.map((stage, i) => (stage ? this.dump(stage, i) : this.source(i)));
    const more = h(
      "button",
      { type: "button", title: "Another column", "aria-label": "Another column", ...OWN_KEYS, click: () => this.add() },
      "+",
    );
    this.element.replaceChildren(...this.columns.map(({ element }) => element), ...(stages.length > 0 ? [more] : []));
    for (const column of this.columns) this.begin(column, kept.get(column.shown));
    this.from = null;
  }

  /** Show what the reader has seen: where the column was scrolled to, or what the diff had at its top. */
  private begin(column: Column, kept: { row: number; below: number } | undefined): void {
    const { from } = this;
    if (kept) return column.pane.reveal(kept.row, kept.below);
    if (!from) return;
    const row = this.counterpart({ stage: from.stage, first: 0, source: null }, from.line, column);
    if (row >= 0) column.pane.reveal(row, from.offset);
  }

  private head(column: number, said: string): HTMLElement {
    const { trace } = this.view;
    const label = `Column ${column + 1}`;
    const choice = h(
      "select",
      {
        "aria-label": label,
        title: "What this column shows",
        ...OWN_KEYS,
        change: () => this.choose(column, Number(choice.value)),
      },
      h("option", { value: String(SOURCE) }, "source"),
      ...trace.stages.map(({ label }, i) => h("option", { value: String(i) }, `${i} ${label}`)),
    );
    choice.value = String(this.chosen[column]);
    const shut = h(
      "button",
      { type: "button", "aria-label": `Remove column ${column + 1}`, title: "Remove this column", ...OWN_KEYS },
      "×",
    );
    shut.addEventListener("click", () => this.remove(column));
    return h("div", { class: "irw-linked-head" }, choice, shut, h("span", { class: "irw-dim" }, said));
  }

  private dump(stage: Stage, number: number): Column {
    const { lines } = this.view;
    const { from, to } = lines.partOf(stage, this.store.get("symbol"));
    const host = h("div", { class: "irw-pane" });
    const element = h("section", { class: "irw-column" }, this.head(number, saidOf(stage, lines.dumps)), host);
    const pane = new Pane(host, this.root, {
      text: (id) => (id < 0 ? "" : lines.text(id)),
      symbol: (id) => (id < 0 ? "" : lines.symbolOf(id)),
      doc: (ids) => lines.doc(ids),
      unfold: () => undefined,
      blamed: () => undefined,
      moved: (_, row) => this.light(column, row),
      scrolled: () => this.follow(column),
    });
    const source = (row: number): number => this.placeOf(column, row)?.line ?? 0;
    const tied = (row: number): number => lines.places.numberOf(this.placeOf(column, row));
    const shown = this.chosen[number]!;
    const column: Column = { shown, stage, element, pane, first: from, source: null, lit: NO_MARKS.linked, top: 0 };
    const part = from === 0 && to === stage.lines.length ? stage.lines : stage.lines.subarray(from, to);
    pane.show(
      {
        column: alone(part, from),
        language: stage.language,
        label: `${number + 1}: ${stage.label}`,
        wrap: false,
        source: stage.places ? source : undefined,
        tied,
      },
      NO_MARKS,
    );
    return this.led(column, number);
  }

  private source(number: number): Column {
    const source: SourcePane = new SourcePane(this.view.lines, this.root, {
      chosen: (place) => this.light(column, place.line - 1, place),
      scrolled: () => this.follow(column),
      tied: true,
    });
    source.take();
    const element = h("section", { class: "irw-column" }, this.head(number, source.said), source.element);
    const of = { shown: SOURCE, stage: null, first: 0, source };
    const column: Column = { ...of, element, pane: source.pane, lit: NO_MARKS.linked, top: 0 };
    return this.led(column, number);
  }

  /** The column that the reader is in is the one that the others follow. */
  private led(column: Column, number: number): Column {
    const lead = (): void => {
      this.leader = column.pane;
      this.active = number;
    };
    column.pane.view.contentDOM.addEventListener("focus", lead);
    for (const event of ["wheel", "pointerdown", "touchstart", "keydown"])
      column.pane.view.dom.addEventListener(event, lead, { passive: true });
    return column;
  }

  // What came from where

  private placeOf({ stage, first, source }: Lines, row: number): Place | undefined {
    if (!stage) return { file: source!.file, line: row + 1, column: 0 };
    return this.view.lines.dumps.places[stage.places?.[first + row] ?? -1];
  }

  /** The rows of a column that came from a place of the source. */
  private rows({ stage, first, source, pane }: Column, place: Place): number[] {
    if (!stage) return place.file === source!.file ? [place.line - 1] : [];
    const count = pane.content?.column.lines.length ?? 0;
    return this.view.lines.places
      .from(stage, place)
      .map((one) => one - first)
      .filter((row) => row >= 0 && row < count);
  }

  /** Light what came from the same place of the source as a row of a column, and bring it beside it. */
  private light(column: Column, row: number, place = this.placeOf(column, row)): void {
    if (column.pane !== this.leader) return;
    this.lit = place;
    const top = topOf(column.pane, row);
    const counts = this.columns.map((other) => {
      if (place && other.source && other !== column) other.source.show(place.file);
      const rows = place ? this.rows(other, place) : [];
      other.lit = new Set(rows);
      const first = heart(rows);
      if (other !== column && first !== undefined) scrollTo(other.pane, first, top);
      return other.stage ? `${thousands(rows.length)} of ${other.stage.label}` : "";
    });
    this.mark();
    this.view.say(
      place
        ? `${this.view.lines.places.said(place)}: ${counts.filter(Boolean).join(", ")}`
        : "This line does not know its source line",
    );
  }

  private mark(): void {
    const { query } = this.view;
    for (const { pane, lit, source } of this.columns)
      pane.mark({ ...NO_MARKS, query, linked: lit, lit: source?.part(this.lit) ?? null });
  }

  /** The others are scrolled to what stands at the top of one. */
  private follow(column: Column): void {
    if (column.pane !== this.leader) return;
    const top = scrolled(column.pane);
    if (top === column.top) return; // to the side only
    column.top = top;
    const row = Math.round(top / LINE);
    for (const other of this.columns) {
      if (other === column) continue;
      const there = top === 0 ? 0 : this.counterpart(column, row, other);
      if (there >= 0) scrollTo(other.pane, there, topOf(column.pane, row));
    }
  }

  /** The row of another column that a row belongs beside, or -1. */
  private counterpart(column: Lines, row: number, other: Column): number {
    if (column.stage && other.stage)
      return carried(this.view.lines, column.stage, column.first + row, other.stage) - other.first;
    // The nearest line above that leads somewhere.
    for (let i = row; i >= Math.max(0, row - 40); i--) {
      const place = this.placeOf(column, i);
      const [there] = place ? this.rows(other, place) : [];
      if (there !== undefined) return there;
    }
    return -1;
  }

  /** Show a line of a dump, in the column that shows it. */
  reveal(stage: Stage, line: number): void {
    const column = this.columns.find((one) => one.stage?.lines === stage.lines);
    if (!column) return;
    this.leader = column.pane;
    this.active = this.columns.indexOf(column);
    column.pane.go(line - column.first);
  }

  /** What the line below says. */
  get said(): string {
    return `${plural(this.columns.length, "column")}, linked by what lines came from; click one, or an operation of the source, to light the others`;
  }

  private clear(): void {
    for (const { pane, source } of this.columns) (source ?? pane).destroy();
    this.columns = [];
    this.leader = null;
  }

  destroy(): void {
    this.clear();
    this.element.remove();
  }
}

/** How many lines of a dump know their source line. */
function saidOf(stage: Stage, { places }: Dumps): string {
  if (!stage.ready) return missing(stage);
  let known = 0;
  stage.places?.forEach((place) => (known += places[place] ? 1 : 0));
  return `${thousands(known)} of ${plural(stage.lines.length, "line")} linked`;
}

const scrolled = ({ view }: Pane): number => view.scrollDOM.scrollTop;

/** The row at the top of a pane, and how many pixels below it. */
function topRow(pane: Pane): { row: number; below: number } {
  const within = scrolled(pane) - pane.view.documentPadding.top;
  const row = Math.max(0, Math.floor(within / LINE));
  return { row, below: heightOf(pane, row) ?? row * LINE - within };
}

/** Pixels from the top of a pane to a row. */
const topOf = (pane: Pane, row: number): number => row * LINE - scrolled(pane);

function scrollTo({ view }: Pane, row: number, top: number): void {
  view.scrollDOM.scrollTop = row * LINE - top;
}
