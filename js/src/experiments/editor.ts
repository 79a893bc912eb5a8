/**
 * A dump under edit, with the passes that are to run on it.
 *
 * The editor is CodeMirror, of which the panes are made, too: with undo, its keys and its search, all of this is a
 * seventh more for the view (60 kB), where another editor would have doubled it.
 */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorSelection, EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { h, OWN_KEYS } from "../dom";
import { syntax } from "../overlay";
import type { ArrangedPass, Plan, Problem } from "../schema";
import { PassPlan } from "./plan";

/** Milliseconds without a letter typed before the parser is asked. */
const PAUSE = 250;

/** What is to be run. */
export interface Edited {
  /** null: the text is as it was. */
  readonly text: string | null;
  /** null: the passes are as they were. */
  readonly passes: readonly ArrangedPass[] | null;
  readonly name: string;
  readonly check: boolean;
}

export interface EditorHooks {
  /** What the parser and the verifier say of a text; a sentence where they could not be asked. */
  readonly problems: (text: string) => Promise<readonly Problem[] | string>;
  /** Resolves to what is wrong with it, or to nothing. */
  readonly go: (edited: Edited) => Promise<string>;
  readonly cancel: () => void;
}

const setProblems = StateEffect.define<readonly Problem[]>();
const WRONG_LINE = Decoration.line({ class: "irw-wrong" });
const WRONG = Decoration.mark({ class: "irw-wrong-word" });

function marked(state: EditorState, problems: readonly Problem[]): DecorationSet {
  const ranges = [];
  for (const { line, column } of problems) {
    if (line < 1 || line > state.doc.lines) continue;
    const { from, to, text } = state.doc.line(line);
    ranges.push(WRONG_LINE.range(from));
    const start = Math.max(0, column - 1);
    const word = /^[\w.$%@#!^-]+|^./.exec(text.slice(start))?.[0].length ?? 0;
    if (word > 0 && from + start + word <= to) ranges.push(WRONG.range(from + start, from + start + word));
  }
  return Decoration.set(ranges, true);
}

const wrong = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (set, transaction) => {
    for (const effect of transaction.effects)
      if (effect.is(setProblems)) return marked(transaction.state, effect.value);
    return set.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

export class Editor {
  readonly element: HTMLElement;
  private readonly view: EditorView;
  private readonly plan: PassPlan;
  private readonly said = h("div", { class: "irw-edit-said", role: "status" });
  private readonly name: HTMLInputElement;
  private readonly check: HTMLInputElement;
  private readonly run: HTMLButtonElement;
  private timer = 0;
  private asking = false;
  private closed = false;

  constructor(
    parent: HTMLElement,
    root: Document | ShadowRoot,
    private readonly of: {
      readonly title: string;
      readonly text: string;
      readonly draft: string;
      readonly language: string;
      readonly plan: Plan;
      readonly passes: readonly ArrangedPass[] | null;
      readonly name: string;
      readonly check: boolean;
    },
    private readonly hooks: EditorHooks,
  ) {
    this.plan = new PassPlan(of.plan.passes, of.passes);
    this.name = h("input", { type: "text", placeholder: "Name", "aria-label": "Name of the experiment", ...OWN_KEYS });
    this.name.value = of.name;
    this.check = h("input", { type: "checkbox", ...OWN_KEYS });
    this.check.checked = of.check;
    const button = (text: string, title: string, click: () => void): HTMLButtonElement =>
      h("button", { type: "button", title, ...OWN_KEYS, click }, text);
    const does = of.language === "python" ? "Run this text as the cell, beside it" : "Run the passes on this text";
    this.run = button("Go on", `${does} (Ctrl+Enter)`, () => void this.go());
    this.run.className = "irw-main-button";
    const place = h("div", { class: "irw-edit-text" });
    this.element = h(
      "div",
      {
        class: "irw-edit",
        role: "group",
        "aria-label": of.title,
        keydown: (event: KeyboardEvent) => this.key(event),
      },
      h(
        "div",
        { class: "irw-edit-bar" },
        h("b", {}, of.title),
        this.name,
        h("label", { title: "Execute both, and compare with eager PyTorch" }, this.check, " Check"),
        h("span", { class: "irw-space" }),
        button("Start over", "Its own text, and the passes as the lowering ran them", () => this.restart()),
        this.run,
        button("Close", "Back to the diff; what is written stays until the cell runs again (Esc)", hooks.cancel),
      ),
      h("div", { class: "irw-edit-body" }, place, ...(of.language === "python" ? [] : [this.plan.element])),
      this.said,
    );
    parent.append(this.element);
    this.view = new EditorView({ parent: place, root, state: this.state(of.draft, of.language, of.title) });
    this.ask();
  }

  private state(text: string, language: string, label: string): EditorState {
    return EditorState.create({
      doc: text,
      extensions: [
        EditorView.contentAttributes.of({ ...OWN_KEYS, "aria-label": label, spellcheck: "false" }),
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
        syntax(language),
        wrong,
        EditorView.updateListener.of((update) => {
          if (update.docChanged) this.ask();
        }),
      ],
    });
  }

  focus(): void {
    this.view.focus();
  }

  /** The text as it is now. */
  get text(): string {
    return this.view.state.doc.toString();
  }

  private restart(): void {
    this.plan.reset();
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: this.of.text } });
    this.focus();
  }

  private key(event: KeyboardEvent): void {
    // No letter typed here is a key of the view, or of the notebook.
    event.stopPropagation();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.go();
    else if (event.key === "Escape" && !event.defaultPrevented) this.hooks.cancel();
    else return;
    event.preventDefault();
  }

  private async go(): Promise<void> {
    if (this.run.disabled) return;
    this.run.disabled = true;
    const text = this.text === this.of.text ? null : this.text;
    const edited = { text, passes: this.plan.value, name: this.name.value.trim(), check: this.check.checked };
    const error = await this.hooks.go(edited);
    this.run.disabled = false;
    if (error && !this.closed) this.say(error);
  }

  // What the parser says

  private ask(): void {
    clearTimeout(this.timer);
    if (!this.of.plan.parser) return this.say(`Nothing here parses ${this.of.language}: the text is not checked`);
    this.say("Checking …");
    this.element.dataset["checked"] = "false";
    this.timer = setTimeout(() => void this.parse(), PAUSE);
  }

  private async parse(): Promise<void> {
    if (this.asking) return; // who is asked now asks again when the text is another one then
    this.asking = true;
    const { text } = this;
    const found = await this.hooks.problems(text);
    this.asking = false;
    if (this.closed) return;
    if (text !== this.text) return this.ask();
    this.element.dataset["checked"] = "true";
    if (typeof found === "string") return this.say(found);
    this.view.dispatch({ effects: setProblems.of(found) });
    if (found.length === 0) this.say(`${this.readers} this text`);
    else this.said.replaceChildren(...found.map((problem) => this.problem(problem)));
  }

  /** Who has read it, with a verb. */
  private get readers(): string {
    return this.of.language === "python" ? "Python's parser takes" : "The parser and the verifier take";
  }

  private problem({ line, column, message }: Problem): HTMLElement {
    if (line < 1) return h("div", {}, message);
    const where = `Line ${line}, column ${column}`;
    return h(
      "div",
      { class: "irw-edit-wrong" },
      h("button", { type: "button", title: "Go there", ...OWN_KEYS, click: () => this.reveal(line, column) }, where),
      ` ${message}`,
    );
  }

  private reveal(line: number, column: number): void {
    const { doc } = this.view.state;
    const { from, to } = doc.line(Math.min(line, doc.lines));
    const at = Math.min(from + Math.max(0, column - 1), to);
    this.view.dispatch({
      selection: EditorSelection.cursor(at),
      effects: EditorView.scrollIntoView(at, { y: "center" }),
    });
    this.view.focus();
  }

  private say(text: string): void {
    this.said.replaceChildren(h("div", {}, text));
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.view.destroy();
    this.element.remove();
  }
}
