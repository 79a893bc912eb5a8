/** The user's source beside the IR, and which lines of a stage came from which of its lines. */

import type { Dumps, Place, Stage } from "./dumps";
import { h } from "./dom";
import { alone } from "./alignment";
import { NO_MARKS } from "./overlay";
import { Pane } from "./pane";
import { docOf } from "./doc";

export class SourcePane {
  readonly element: HTMLElement;
  private readonly pane: Pane;
  private readonly title = h("div", { class: "irw-source-title" });
  private texts: readonly (string[] | null)[] = [];
  private file = -1;
  private quiet = false;

  constructor(
    private dumps: Dumps,
    root: Document | ShadowRoot,
    chosen: (file: number, line: number) => void,
  ) {
    this.element = h("div", { class: "irw-source" }, this.title);
    this.pane = new Pane(this.element, root, {
      text: (id) => this.texts[this.file]?.[id] ?? "",
      doc: () => docOf(this.texts[this.file] ?? []),
      unfold: () => undefined,
      blamed: () => undefined,
      scrolled: () => undefined,
      moved: (_, line) => {
        if (!this.quiet) chosen(this.file, line + 1);
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
    this.pane.show({ column: alone(lines, 0), language: "python", label: "Source", wrap: false }, NO_MARKS);
  }

  /** Mark a line of the source, or none. Whether its text is here. */
  mark(place: Place | undefined): boolean {
    const here = place !== undefined && this.texts[place.file] != null;
    if (here && place.file !== this.file) this.open(place.file);
    this.pane.mark({ ...NO_MARKS, linked: new Set(here ? [place.line - 1] : []) });
    if (!here) return false;
    this.quiet = true;
    this.pane.reveal(place.line - 1);
    this.quiet = false;
    return true;
  }

  /** The lines of a stage that came from a source line. */
  linesOf(stage: Stage, file: number, line: number): Set<number> {
    const places = new Set<number>();
    for (const [i, place] of this.dumps.places.entries()) if (place.file === file && place.line === line) places.add(i);
    const lines = new Set<number>();
    stage.places?.forEach((place, i) => {
      if (places.has(place)) lines.add(i);
    });
    return lines;
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
