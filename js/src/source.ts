/** The user's source beside the IR. */

import type { Dumps, Place } from "./dumps";
import { h, plural } from "./dom";
import { alone } from "./alignment";
import { NO_MARKS } from "./overlay";
import { Pane } from "./pane";
import { docOf } from "./doc";

export interface SourceHooks {
  /** A line was chosen, counted from 1. */
  readonly chosen: (file: number, line: number) => void;
  readonly scrolled?: () => void;
  /** Whether lines that something came from have a colour each. */
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
    private dumps: Dumps,
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
      moved: (_, line) => {
        if (!this.quiet) hooks.chosen(this.file, line + 1);
      },
    });
  }

  /** More texts are here. */
  take(dumps: Dumps): void {
    this.dumps = dumps;
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
    this.title.textContent = shortName(this.dumps.sources[file]!.file);
    const lines = Int32Array.from({ length: this.texts[file]!.length }, (_, i) => i);
    const used = this.linesUsed(file);
    const tied = this.hooks.tied ? (row: number) => (used.has(row + 1) ? row + 1 : 0) : undefined;
    this.pane.show({ column: alone(lines, 0), language: "python", label: "Source", wrap: false, tied }, NO_MARKS);
  }

  /** The lines of a file that something came from. */
  private linesUsed(file: number): Set<number> {
    return new Set(this.dumps.places.flatMap((place) => (place.file === file ? [place.line] : [])));
  }

  /** How many lines of the file something came from. */
  get said(): string {
    const lines = this.texts[this.file]?.length ?? 0;
    return `${this.linesUsed(this.file).size} of ${plural(lines, "line")} linked`;
  }

  /** Show another file, where its text is here. */
  show(file: number): void {
    if (this.texts[file] != null && file !== this.file) this.open(file);
  }

  /** Mark a line of the source, or none. Whether its text is here. */
  mark(place: Place | undefined): boolean {
    const here = place !== undefined && this.texts[place.file] != null;
    if (here) this.show(place.file);
    this.pane.mark({ ...NO_MARKS, linked: new Set(here ? [place.line - 1] : []) });
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
