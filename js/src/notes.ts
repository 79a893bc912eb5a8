/** What the reader has written on lines: kept with the view, in the notebook and in pages. */

import type { Analysis } from "./analysis";
import type { Dumps, Trace } from "./dumps";
import { h, OWN_KEYS, plural } from "./dom";
import type { Store } from "./model";
import { asked, KEEP, RECALL, SAVE } from "./outside";
import type { Note } from "./schema";

/** A line of a stage of a lowering. */
export interface NotedLine {
  readonly trace: Trace;
  readonly stage: number;
  readonly line: number;
}

export interface NotesHooks {
  readonly go: (place: NotedLine) => void;
  readonly open: (dialog: HTMLDialogElement) => void;
  readonly say: (text: string) => void;
}

export class Notes {
  constructor(
    private readonly element: HTMLElement,
    private readonly store: Store,
    private readonly hooks: NotesHooks,
  ) {}

  get all(): readonly Note[] {
    return this.store.get("notes") ?? [];
  }

  /** What is written on a line; "" where nothing is, or where the line is another one now. */
  on(analysis: Analysis, { trace, stage, line }: NotedLine): string {
    const { all } = this;
    if (all.length === 0) return "";
    const [lowering, { label, lines }] = [trace.title, trace.stages[stage]!];
    return all
      .filter((one) => one.line === line + 1 && one.pass === label && one.lowering === lowering)
      .filter((one) => one.text === analysis.text(lines[line]!))
      .map(({ note }) => note)
      .join("\n");
  }

  /** Write on a line, or, with no words, take away what is written there. */
  write(analysis: Analysis, { trace, stage, line }: NotedLine, words: string): void {
    const { label, lines } = trace.stages[stage]!;
    const place = { lowering: trace.title, pass: label, line: line + 1 };
    const others = this.all.filter((one) => !same(one, place));
    const text = analysis.text(lines[line]!);
    this.set(words.trim() ? [...others, { ...place, text, note: words.trim() }] : others);
  }

  private set(notes: readonly Note[]): void {
    this.store.set({ notes });
    asked(this.element, KEEP, notes);
  }

  /** Take up what was written on the view that stood here before. */
  recall(): void {
    if (this.all.length > 0) return;
    asked(this.element, RECALL, (notes: readonly Note[]) => this.store.set({ notes }));
  }

  /** A window with all notes, and one to write on the line that the reader is at. */
  open(analysis: Analysis, at: NotedLine | null): void {
    const dialog: HTMLDialogElement = h("dialog", { class: "irw-help irw-notes", "aria-label": "Notes", ...OWN_KEYS });
    const shut = (): void => dialog.close();
    const parts: HTMLElement[] = [];
    if (at) {
      const field = h("textarea", { rows: 3, "aria-label": "Note on this line", ...OWN_KEYS });
      field.value = this.on(analysis, at);
      const keep = (): void => {
        this.write(analysis, at, field.value);
        shut();
      };
      field.addEventListener("keydown", (event) => {
        event.stopPropagation();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep();
        else if (event.key === "Escape") shut();
      });
      parts.push(
        h("p", {}, `Line ${at.line + 1} of ${at.stage} ${at.trace.stages[at.stage]!.label}`),
        h("pre", {}, analysis.text(at.trace.stages[at.stage]!.lines[at.line]!).trim()),
        field,
        h("p", {}, button("Keep", keep, "Ctrl+Enter"), " ", h("span", { class: "irw-dim" }, "without words: no note")),
      );
    } else parts.push(h("p", { class: "irw-dim" }, "Put the cursor on a line to write on it."));
    const list = h("ul", {}, ...this.all.map((one) => this.item(analysis.dumps, analysis, one, shut)));
    parts.push(h("b", {}, this.all.length > 0 ? plural(this.all.length, "note") : "No notes yet"), list);
    if (this.all.length > 0) parts.push(this.keeper(shut));
    dialog.append(...parts, button("Close", shut));
    this.hooks.open(dialog);
    dialog.querySelector("textarea")?.focus();
  }

  private item(dumps: Dumps, analysis: Analysis, one: Note, shut: () => void): HTMLElement {
    const trace = dumps.traces.find(({ title }) => title === one.lowering);
    const stage = trace?.stages.findIndex(({ label }) => label === one.pass) ?? -1;
    const there = trace && stage >= 0 ? trace.stages[stage]! : null;
    const place = trace && there && { trace, stage, line: one.line - 1 };
    const state = !there
      ? "its pass is not in this lowering"
      : !there.ready
        ? "the text is not here"
        : analysis.text(there.lines[one.line - 1] ?? -1) === one.text
          ? ""
          : "the line is another one now";
    const where = `${one.pass}:${one.line}`;
    const go = (): void => {
      shut();
      if (place) this.hooks.go(place);
    };
    const drop = (): void => {
      this.set(this.all.filter((other) => other !== one));
      shut();
    };
    return h(
      "li",
      {},
      state && !there ? h("span", {}, where) : button(where, go),
      ` ${one.note} `,
      ...(state ? [h("span", { class: "irw-dim" }, `(${state}) `)] : []),
      button("Remove", drop),
    );
  }

  /** Where a page is what keeps notes, a way to save it with them. */
  private keeper(shut: () => void): HTMLElement {
    const save = (): void => {
      if (!asked(this.element, SAVE, this.all))
        this.hooks.say("The view keeps them, and the notebook when it is saved");
      shut();
    };
    return h("p", {}, ...(this.element.closest(".irw-view") ? [button("Save the page with its notes", save)] : []));
  }
}

function same(one: Note, place: Pick<Note, "lowering" | "pass" | "line">): boolean {
  return one.lowering === place.lowering && one.pass === place.pass && one.line === place.line;
}

function button(text: string, click: () => void, title = ""): HTMLButtonElement {
  return h("button", { type: "button", title: title || undefined, ...OWN_KEYS, click }, text);
}
