/** Colours of the lines in sight: syntax, rows of a diff, words that differ, search hits, names and their uses. */

import { type Extension, type Line, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { colouredParts, colourOf, colours } from "./colours";
import { openings } from "./strings";
import { defines, wordIn } from "./names";
import { differingWords } from "./worddiff";
import { matcher, NO_QUERY, type Query, sameQuery } from "./query";

/** A name that is looked at, in the lines in which it means the same thing. */
export interface LookedAt {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

export interface Marks {
  readonly query: Query;
  readonly name: LookedAt | null;
  /** Lines that are linked with what the reader points at elsewhere. */
  readonly linked: ReadonlySet<number>;
  /** The part of a line that is linked with it, where it is not all of the line. */
  readonly lit: LitPart | null;
  /** Whether words are marked in changed lines. */
  readonly words: boolean;
}

export interface LitPart {
  readonly line: number;
  readonly from: number;
  readonly to: number;
}

/** A part of a line, and its class. */
export interface Part {
  readonly from: number;
  readonly to: number;
  readonly class: string;
}

export const NO_MARKS: Marks = { query: NO_QUERY, name: null, linked: new Set(), lit: null, words: true };

export const setMarks = StateEffect.define<Marks>();

export function sameMarks(a: Marks, b: Marks): boolean {
  const names =
    a.name === b.name || (a.name?.name === b.name?.name && a.name?.from === b.name?.from && a.name?.to === b.name?.to);
  const links =
    a.linked === b.linked || (a.linked.size === b.linked.size && [...a.linked].every((line) => b.linked.has(line)));
  const parts = a.lit === b.lit || (a.lit?.line === b.lit?.line && a.lit?.from === b.lit?.from);
  return sameQuery(a.query, b.query) && a.words === b.words && names && links && parts;
}

const marksField = StateField.define<Marks>({
  create: () => NO_MARKS,
  update: (marks, transaction) => {
    for (const effect of transaction.effects) if (effect.is(setMarks)) return effect.value;
    return marks;
  },
});

const TOKENS = new Map<string, Decoration>();

function token(name: string): Decoration {
  let decoration = TOKENS.get(name);
  if (!decoration) TOKENS.set(name, (decoration = Decoration.mark({ class: name })));
  return decoration;
}

export function syntax(language: string): Extension {
  if (language === "python") return pythonSyntax();
  const decorator = new MatchDecorator({
    regexp: colours(language),
    decoration: (match) => {
      const name = colourOf(match);
      return name ? token(name) : null;
    },
  });
  return ViewPlugin.define(
    (view) => ({
      tokens: decorator.createDeco(view),
      update(update: ViewUpdate) {
        this.tokens = decorator.updateDeco(update, this.tokens);
      },
    }),
    { decorations: (plugin) => plugin.tokens },
  );
}

/** The lines that are in sight, each once, with the range that it is in. */
function* visibleLines(view: EditorView): Generator<[Line, { readonly from: number; readonly to: number }]> {
  let done = 0;
  for (const visible of view.visibleRanges) {
    for (let at = visible.from; at <= visible.to;) {
      const line = view.state.doc.lineAt(at);
      at = line.to + 1;
      if (line.number !== done) yield [line, visible];
      done = line.number;
    }
  }
}

/** As `syntax`: a line of Python may begin inside of a string, which the lines before it say. */
function pythonSyntax(): Extension {
  const build = (view: EditorView, open: readonly string[]): DecorationSet => {
    const found = new RangeSetBuilder<Decoration>();
    for (const [line, visible] of visibleLines(view)) {
      const text = line.text.slice(0, Math.max(0, visible.to - line.from));
      for (const part of colouredParts(text, "python", open[line.number - 1]))
        found.add(line.from + part.from, line.from + part.to, token(part.class));
    }
    return found.finish();
  };
  return ViewPlugin.define(
    (view) => {
      let open = openings(view.state.doc.iterLines());
      return {
        tokens: build(view, open),
        update(update: ViewUpdate) {
          if (update.docChanged) open = openings(update.state.doc.iterLines());
          if (update.docChanged || update.viewportChanged) this.tokens = build(update.view, open);
        },
      };
    },
    { decorations: (plugin) => plugin.tokens },
  );
}

const WORD = Decoration.mark({ class: "irw-word" });
const HIT = Decoration.mark({ class: "irw-hit" });
const USE = Decoration.mark({ class: "irw-use" });
const DEFINITION = Decoration.mark({ class: "irw-definition" });
const LIT = Decoration.mark({ class: "irw-lit" });
const rows = new Map<string, Decoration>();
/** What a screen reader says of a line: the signs in the gutter are hidden from it. */
const ROLES: Readonly<Record<string, string>> = { "irw-gone": "deletion", "irw-new": "insertion" };

function row(name: string): Decoration {
  let decoration = rows.get(name);
  const role = ROLES[name];
  if (!decoration)
    rows.set(name, (decoration = Decoration.line({ class: name, ...(role && { attributes: { role } }) })));
  return decoration;
}

/** What is known of a line of the pane. */
export interface Rows {
  readonly class: (line: number) => string;
  /** The line that it is compared with. */
  readonly mate: (line: number) => string;
  /** The symbol that it defines, or "". */
  readonly symbol: (line: number) => string;
  /** Its parts that have a colour. */
  readonly parts: (line: number) => readonly Part[];
}

export function overlay(of: Rows, initial: Marks): Extension {
  const build = (view: EditorView): DecorationSet => {
    const marks = view.state.field(marksField);
    const find = matcher(marks.query);
    const lines = new RangeSetBuilder<Decoration>();
    for (const [line, visible] of visibleLines(view)) {
      const index = line.number - 1;
      let kind = of.class(index);
      if (marks.linked.has(index)) kind += " irw-linked";
      if (kind) lines.add(line.from, line.from, row(kind.trim()));
      const spans = of.parts(index).map(({ class: name, ...part }) => ({ ...part, decoration: token(name) }));
      if (marks.lit?.line === index) spans.push({ from: marks.lit.from, to: marks.lit.to, decoration: LIT });
      if (marks.words && (kind.includes("irw-gone") || kind.includes("irw-new"))) {
        for (const word of differingWords(line.text, of.mate(index))) spans.push({ ...word, decoration: WORD });
      }
      // Very long lines: only the part in sight.
      const start = Math.max(0, visible.from - line.from);
      const end = Math.min(line.length, visible.to - line.from);
      const text = line.text.slice(0, end);
      for (let hit = find(text, start); hit; hit = find(text, hit.to)) spans.push({ ...hit, decoration: HIT });
      const { name } = marks;
      if (name && index >= name.from && index < name.to && wordIn(text, name.name)) {
        const defined = defines(line.text, name.name, of.symbol(index));
        let first = true;
        for (let hit = text.indexOf(name.name, start); hit >= 0; hit = text.indexOf(name.name, hit + 1)) {
          if (/[\w$.-]/.test(text[hit + name.name.length] ?? "")) continue;
          spans.push({ from: hit, to: hit + name.name.length, decoration: defined && first ? DEFINITION : USE });
          first = false;
        }
      }
      spans.sort((a, b) => a.from - b.from || a.to - b.to);
      for (const span of spans) lines.add(line.from + span.from, line.from + span.to, span.decoration);
    }
    return lines.finish();
  };
  const plugin = ViewPlugin.define(
    (view) => ({
      set: build(view),
      update(update: ViewUpdate) {
        const marked = update.startState.field(marksField) !== update.state.field(marksField);
        if (update.docChanged || update.viewportChanged || marked) this.set = build(update.view);
      },
    }),
    { decorations: (value) => value.set },
  );
  return [marksField.init(() => initial), plugin];
}
