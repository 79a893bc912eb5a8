/** One CodeMirror pane: a column of lines with numbers, signs, folds, gaps and colours. */

import { EditorSelection, EditorState, StateEffect, StateField } from "@codemirror/state";
import { standardKeymap } from "@codemirror/commands";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  gutter,
  GutterMarker,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  WidgetType,
} from "@codemirror/view";
import type { Column } from "./alignment";
import { Kind } from "./alignment";
import { h, OWN_KEYS, plural } from "./dom";
import type { Doc } from "./doc";
import { type Marks, NO_MARKS, overlay, type Part, sameMarks, setMarks, syntax } from "./overlay";

/** Pixels of a line; the style sheet says the same. Gaps are multiples of it. */
export const LINE = 18;
const FOLD = 22;

export type SideName = "left" | "right" | "both";

export interface Content {
  readonly column: Column;
  readonly language: string;
  readonly label: string;
  readonly wrap: boolean;
  /** For each line, the stage that last changed it; absent when blame is off. */
  readonly blame?: ((line: number) => { readonly stage: number; readonly name: string } | null) | undefined;
  /** For each line, the line of the user's source, or 0; absent when nothing is known. */
  readonly source?: ((line: number) => number) | undefined;
  /** For each line what is written on it, or ""; absent where nothing is written on any. */
  readonly note?: ((line: number) => string) | undefined;
  /** For each line, the number of what it came from, whose colour it has, or 0; absent where lines have none. */
  readonly tied?: ((line: number) => number) | undefined;
  /** For each line, its parts that have a colour. */
  readonly parts?: ((line: number) => readonly Part[]) | undefined;
}

export interface Hooks {
  readonly text: (id: number) => string;
  /** The symbol that a line defines; absent where lines are no IR. */
  readonly symbol?: (id: number) => string;
  readonly doc: (lines: Int32Array) => Doc;
  readonly unfold: (key: number) => void;
  readonly moved: (pane: Pane, line: number, column: number) => void;
  readonly blamed: (pane: Pane, line: number) => void;
  readonly scrolled: (pane: Pane) => void;
  /** The note on a line was clicked. */
  readonly noted?: (pane: Pane, line: number) => void;
  /** The pane knows how wide its letters are, or how high its lines. */
  readonly measured?: () => void;
}

class GapWidget extends WidgetType {
  constructor(private readonly rows: number) {
    super();
  }
  override eq(other: GapWidget): boolean {
    return other.rows === this.rows;
  }
  override get estimatedHeight(): number {
    return this.rows * LINE;
  }
  toDOM(): HTMLElement {
    const gap = h("div", { class: "irw-gap", "aria-hidden": "true" });
    gap.style.height = `${this.rows * LINE}px`;
    return gap;
  }
}

class FoldWidget extends WidgetType {
  constructor(
    private readonly lines: number,
    private readonly key: number,
    private readonly unfold: (key: number) => void,
  ) {
    super();
  }
  override eq(other: FoldWidget): boolean {
    return other.key === this.key && other.lines === this.lines;
  }
  override get estimatedHeight(): number {
    return FOLD;
  }
  toDOM(): HTMLElement {
    return h(
      "div",
      {
        class: "irw-fold",
        title: "Show these lines",
        mousedown: (event: MouseEvent) => event.preventDefault(),
        click: () => this.unfold(this.key),
      },
      `⋯ ${plural(this.lines, "equal line")}`,
    );
  }
  override ignoreEvent(): boolean {
    return true;
  }
}

class Label extends GutterMarker {
  constructor(
    private readonly text: string,
    private readonly kind: string,
    private readonly title = "",
  ) {
    super();
    this.elementClass = kind;
  }
  override elementClass: string;
  override eq(other: Label): boolean {
    return other.text === this.text && other.kind === this.kind && other.title === this.title;
  }
  override toDOM(): Node {
    return this.title ? h("span", { title: this.title }, this.text) : document.createTextNode(this.text);
  }
}

const setBlocks = StateEffect.define<DecorationSet>();

function blocks(column: Column, { starts }: Doc, unfold: (key: number) => void): DecorationSet {
  const ranges = [];
  for (const gap of column.gaps) {
    const at = gap.after < 0 ? 0 : starts[gap.after + 1]! - 1;
    const side = gap.after < 0 ? -1 : 1;
    ranges.push(Decoration.widget({ widget: new GapWidget(gap.rows), block: true, side }).range(at));
  }
  for (const fold of column.folds) {
    const widget = new FoldWidget(fold.to - fold.from, fold.key, unfold);
    ranges.push(Decoration.replace({ widget, block: true }).range(starts[fold.from]!, starts[fold.to]! - 1));
  }
  return Decoration.set(ranges, true);
}

/** How a line of a column is marked: the class of its row, and the sign in its gutter. */
function look(column: Column, line: number): { class: string; sign: string } {
  const kind = column.kinds[line];
  if (kind === Kind.Renumbered) return { class: "irw-renumbered", sign: "≈" };
  if (kind !== Kind.Changed) return { class: "", sign: "" };
  return column.right[line]! < 0 ? { class: "irw-gone", sign: "−" } : { class: "irw-new", sign: "+" };
}

/** Colours of lines of the source; the style sheet has as many. */
const TIES = 6;

/** The class of what came from one place of the source: neighbours have different colours. */
export function tieOf(origin: number): string {
  return `irw-tie irw-tie${origin % TIES}`;
}

export class Pane {
  readonly view: EditorView;
  content: Content | null = null;
  private doc: Doc | null = null;
  private marks: Marks = NO_MARKS;

  constructor(
    parent: HTMLElement,
    root: Document | ShadowRoot,
    private readonly hooks: Hooks,
  ) {
    this.view = new EditorView({ parent, root, state: EditorState.create({}) });
    this.view.scrollDOM.addEventListener("scroll", () => hooks.scrolled(this), { passive: true });
  }

  show(content: Content, marks: Marks): void {
    const { column } = content;
    this.content = content;
    const doc = this.hooks.doc(column.lines);
    this.doc = doc;
    this.marks = marks;
    const initial = blocks(column, doc, this.hooks.unfold);
    const state = EditorState.create({
      doc: doc.text,
      extensions: [
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({
          ...OWN_KEYS,
          "aria-label": content.label,
          tabindex: "0",
          spellcheck: "false",
        }),
        StateField.define<DecorationSet>({
          create: () => initial,
          update: (set, transaction) => {
            for (const effect of transaction.effects) if (effect.is(setBlocks)) return effect.value;
            return set;
          },
          provide: (field) => EditorView.decorations.from(field),
        }),
        drawSelection(),
        highlightActiveLine(),
        highlightSpecialChars({ addSpecialChars: /[\u202a-\u202c\u2068]/g }),
        keymap.of(standardKeymap),
        this.gutters(content),
        syntax(content.language),
        overlay(
          {
            class: (line) => look(column, line).class || this.tie(line),
            mate: (line) => this.hooks.text(column.mates[line] ?? -1),
            symbol: (line) => this.symbol(line),
            parts: (line) => content.parts?.(line) ?? [],
          },
          marks,
        ),
        content.wrap ? EditorView.lineWrapping : [],
        EditorView.updateListener.of((update) => {
          if (update.geometryChanged && update.transactions.length === 0) this.hooks.measured?.();
          if (!update.selectionSet) return;
          const { head } = update.state.selection.main;
          const line = update.state.doc.lineAt(head);
          this.hooks.moved(this, line.number - 1, head - line.from);
        }),
      ],
    });
    this.view.setState(state);
  }

  /** Change gaps and folds and keep the rest as it is. */
  relayout(column: Column): void {
    if (!this.content || !this.doc) return;
    this.content = { ...this.content, column };
    this.view.dispatch({ effects: setBlocks.of(blocks(column, this.doc, this.hooks.unfold)) });
  }

  mark(marks: Marks): void {
    if (sameMarks(marks, this.marks)) return;
    this.marks = marks;
    this.view.dispatch({ effects: setMarks.of(marks) });
  }

  clear(): void {
    this.content = null;
    this.doc = null;
    this.view.setState(EditorState.create({}));
  }

  /** Put the cursor on a line and bring it into sight. */
  go(line: number, column = 0, place: "center" | "nearest" = "center"): void {
    const { doc } = this.view.state;
    const target = doc.line(Math.min(Math.max(line, 0) + 1, doc.lines));
    const at = Math.min(target.from + column, target.to);
    this.view.dispatch({
      selection: EditorSelection.cursor(at),
      effects: EditorView.scrollIntoView(at, { y: place, x: "nearest" }),
    });
  }

  /** Scroll to a line: to the middle, or to so many pixels below the top, also before heights are known. */
  reveal(line: number, below?: number): void {
    const { doc } = this.view.state;
    const at = doc.line(Math.min(Math.max(line, 0) + 1, doc.lines)).from;
    const where =
      below === undefined ? ({ y: "center", x: "nearest" } as const) : { y: "start" as const, yMargin: below };
    this.view.dispatch({ effects: EditorView.scrollIntoView(at, where) });
  }

  get cursor(): { line: number; column: number } {
    const { head } = this.view.state.selection.main;
    const line = this.view.state.doc.lineAt(head);
    return { line: line.number - 1, column: head - line.from };
  }

  private tie(line: number): string {
    const from = this.content?.tied?.(line) ?? 0;
    return from > 0 ? tieOf(from) : "";
  }

  /** The symbol that a line of the pane defines, or "". */
  symbol(line: number): string {
    return this.hooks.symbol?.(this.content?.column.lines[line] ?? -1) ?? "";
  }

  get lineText(): string {
    return this.view.state.doc.lineAt(this.view.state.selection.main.head).text;
  }

  destroy(): void {
    this.clear();
    this.view.destroy();
  }

  private gutters(content: Content) {
    const { column } = content;
    const numbered = (which: "left" | "right", sign: boolean) => {
      const numbers = column[which];
      const label = (line: number): Label => {
        const number = numbers[line]!;
        const { class: kind, sign: mark } = look(column, line);
        return new Label(`${number < 0 ? "" : number + 1}${sign ? ` ${mark || " "}` : ""}`, kind);
      };
      return gutter({
        class: "irw-numbers",
        renderEmptyElements: false,
        lineMarker: (view, block) => label(view.state.doc.lineAt(block.from).number - 1),
        initialSpacer: () => new Label(`${widest(numbers)}${sign ? " +" : ""}`, ""),
      });
    };
    const sides = new Set<"left" | "right">();
    if (widest(column.left)) sides.add("left");
    if (widest(column.right) || sides.size === 0) sides.add("right");
    const shown = [...sides];
    const extra = [];
    if (content.blame) {
      const blame = content.blame;
      extra.push(
        gutter({
          class: "irw-blame",
          lineMarker: (view, block) => {
            const known = blame(view.state.doc.lineAt(block.from).number - 1);
            return known && new Label(String(known.stage), "", `last changed by pass ${known.stage}, ${known.name}`);
          },
          initialSpacer: () => new Label("000", ""),
          domEventHandlers: {
            click: (view, block) => {
              this.hooks.blamed(this, view.state.doc.lineAt(block.from).number - 1);
              return true;
            },
          },
        }),
      );
    }
    if (content.note) {
      const note = content.note;
      extra.push(
        gutter({
          class: "irw-note",
          lineMarker: (view, block) => {
            const words = note(view.state.doc.lineAt(block.from).number - 1);
            return words ? new Label("✎", "", words) : null;
          },
          initialSpacer: () => new Label("✎", ""),
          domEventHandlers: {
            click: (view, block) => {
              this.hooks.noted?.(this, view.state.doc.lineAt(block.from).number - 1);
              return true;
            },
          },
        }),
      );
    }
    if (content.source) {
      const source = content.source;
      extra.push(
        gutter({
          class: "irw-source-line",
          lineMarker: (view, block) => {
            const line = source(view.state.doc.lineAt(block.from).number - 1);
            return line ? new Label(`:${line}`, "", `from line ${line} of the source`) : null;
          },
          initialSpacer: () => new Label(":00", ""),
        }),
      );
    }
    return [...extra, ...shown.map((which, i) => numbered(which, i === shown.length - 1))];
  }
}

/** As many digits as the largest number; "" when there is none. */
function widest(numbers: Int32Array): string {
  let most = -1;
  for (let i = 0; i < numbers.length; i++) if (numbers[i]! > most) most = numbers[i]!;
  return most < 0 ? "" : "0".repeat(String(most + 1).length);
}
