/** The user's source beside the IR. */

import type { Analysis } from "./analysis";
import type { Place } from "./dumps";
import { h, plural } from "./dom";
import { alone } from "./alignment";
import type { Operation } from "./places";
import { type LitPart, NO_MARKS, type Part } from "./overlay";
import { Pane, tieOf } from "./pane";
import { docOf } from "./doc";

export interface SourceHooks {
  /** An operation was chosen, or, where there is none, a line: its column is 0. */
  readonly chosen: (place: Place) => void;
  readonly scrolled?: () => void;
  /** Whether lines and operations that something came from have a colour each. */
  readonly tied?: boolean;
}

export class SourcePane {
  readonly element: HTMLElement;
  readonly pane: Pane;
  private readonly title = h("div", { class: "irw-source-title" });
  private texts: readonly (string[] | null)[] = [];
  file = -1;
  private quiet = false;

  constructor(
    private readonly analysis: Analysis,
    root: Document | ShadowRoot,
    private readonly hooks: SourceHooks,
  ) {
    this.element = h("div", { class: "irw-source" }, this.title);
    this.pane = new Pane(this.element, root, {
      text: (id) => this.texts[this.file]?.[id] ?? "",
      doc: () => docOf(this.texts[this.file] ?? []),
      unfold: () => undefined,
      blamed: () => undefined,
      scrolled: () => hooks.scrolled?.(),
      moved: (_, row, column) => {
        if (!this.quiet) hooks.chosen(this.placeAt(row, column));
      },
    });
  }

  /** More texts are here. */
  take(): void {
    const { dumps } = this.analysis;
    if (this.texts.length === dumps.sources.length) return;
    this.texts = dumps.sources.map(({ text }) => text?.replace(/\n$/, "").split("\n") ?? null);
    if (this.file < 0 && this.useful) this.open(this.texts.findIndex((lines) => lines));
  }

  /** Whether there is anything to show. */
  get useful(): boolean {
    return this.texts.some((lines) => lines);
  }

  private open(file: number): void {
    this.file = file;
    this.title.textContent = shortName(this.analysis.dumps.sources[file]!.file);
    const lines = Int32Array.from({ length: this.texts[file]!.length }, (_, i) => i);
    const [tied, parts] = this.hooks.tied ? [this.colourOf, this.partsOf] : [];
    this.pane.show(
      { column: alone(lines, 0), language: "python", label: "Source", wrap: false, tied, parts },
      NO_MARKS,
    );
  }

  /** A line has the colour of what came from it, where that is one. */
  private readonly colourOf = (row: number): number => {
    const places = this.analysis.places.on(this.file, row + 1);
    return places.length === 1 ? this.analysis.places.numberOf(places[0]) : 0;
  };

  private readonly partsOf = (row: number): readonly Part[] =>
    this.operations(row).map(({ place, from, to }) => ({
      from,
      to,
      class: tieOf(this.analysis.places.numberOf(place)),
    }));

  private operations(row: number): readonly Operation[] {
    return this.analysis.places.operations(this.file, row + 1);
  }

  /** The operation at a column of a row, or the line. */
  placeAt(row: number, column: number): Place {
    const here = this.operations(row).filter(({ from, to }) => from <= column && column <= to);
    return here.at(-1)?.place ?? { file: this.file, line: row + 1, column: 0 };
  }

  /** Where in the text an operation is; null where all of the line is meant. */
  part(place: Place | undefined): LitPart | null {
    if (!place || place.file !== this.file) return null;
    const line = place.line - 1;
    const found = this.operations(line).find((one) => one.place.column === place.column);
    return found ? { line, from: found.from, to: found.to } : null;
  }

  /** How many lines of the file something came from. */
  get said(): string {
    const lines = this.texts[this.file]?.length ?? 0;
    const linked = Array.from({ length: lines }, (_, row) => this.analysis.places.on(this.file, row + 1).length > 0);
    return `${linked.filter(Boolean).length} of ${plural(lines, "line")} linked`;
  }

  /** Show another file, where its text is here. */
  show(file: number): void {
    if (this.texts[file] != null && file !== this.file) this.open(file);
  }

  /** Mark a line of the source and the operation in it, or none. Whether its text is here. */
  mark(place: Place | undefined): boolean {
    const here = place !== undefined && this.texts[place.file] != null;
    if (here) this.show(place.file);
    this.pane.mark({ ...NO_MARKS, linked: new Set(here ? [place.line - 1] : []), lit: this.part(place) });
    if (!here) return false;
    this.quiet = true;
    this.pane.reveal(place.line - 1);
    this.quiet = false;
    return true;
  }

  get focused(): boolean {
    return this.pane.view.hasFocus;
  }

  destroy(): void {
    this.pane.destroy();
  }
}

/** IPython names cells by hashes and temporary files; the reader calls them "the cell". */
export function shortName(file: string): string {
  return /ipython-input|ipykernel_|^<.*>$|^In\[/.test(file) ? "cell" : (file.split(/[\\/]/).at(-1) ?? file);
}
