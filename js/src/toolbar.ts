/** The row of controls above the panes. */

import { h, OWN_KEYS } from "./dom";
import type { Trace } from "./dumps";
import type { State, Store } from "./model";

/** What is said of a diff, and means nothing of columns. */
const OF_A_DIFF: ReadonlySet<string> = new Set(["layout", "ignore_renumbering", "fold", "wrap", "blame"]);

type Switch = "ops" | "ignore_renumbering" | "wrap" | "fold" | "blame" | "search_case" | "search_word" | "search_regex";

export interface ToolbarHooks {
  /** Whether there is one column now. */
  readonly unified: () => boolean;
  readonly layout: () => void;
  readonly search: (step: 1 | -1) => void;
  readonly copy: () => void;
  readonly save: () => void;
  readonly columns: () => void;
  readonly link: () => void;
  readonly notes: () => void;
  /** Open the view as a page of its own; absent where nobody can make one. */
  readonly tab: (() => void) | null;
  readonly full: () => void;
  readonly last: () => void;
  readonly help: () => void;
  readonly leave: () => void;
}

export class Toolbar {
  readonly element: HTMLElement;
  readonly query: HTMLInputElement;
  readonly symbol: HTMLSelectElement;
  private readonly trace: HTMLSelectElement;
  private readonly against: HTMLSelectElement;
  private readonly found = h("span", { class: "irw-found", role: "status" });
  /** Compares with the run of the cell before this one. */
  readonly last: HTMLButtonElement;
  private readonly notes: HTMLButtonElement;
  private readonly switches = new Map<Switch | "layout" | "columns", HTMLButtonElement>();

  constructor(
    private readonly store: Store,
    private readonly hooks: ToolbarHooks,
  ) {
    this.query = h("input", {
      type: "search",
      class: "irw-query",
      placeholder: "Search all passes",
      "aria-label": "Search all passes (/)",
      ...OWN_KEYS,
      input: () => store.set({ query: this.query.value }),
      keydown: (event: KeyboardEvent) => {
        if (event.key === "Enter") hooks.search(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape") hooks.leave();
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
    });
    this.symbol = this.select("Show one function (f)", (value) => store.set({ symbol: value }));
    this.trace = this.select("Lowering", (value) => store.set({ trace: Number(value) }));
    this.against = this.select("Compare with", (value) => store.set({ against: Number(value) }));
    this.last = this.button("Against the last run", "Compare with what this cell made the last time", hooks.last);
    this.last.hidden = true;
    this.notes = this.button("Notes", "Write on the line at the cursor, and all notes (m)", hooks.notes);
    this.element = h(
      "div",
      { class: "irw-bar", role: "toolbar", "aria-label": "Pass diff" },
      this.trace,
      this.against,
      this.last,
      h(
        "span",
        { class: "irw-search" },
        this.query,
        this.switch("search_case", "Aa", "Small letters and capitals differ"),
        this.switch("search_word", "W", "Whole words only"),
        this.switch("search_regex", ".*", "The text is a regular expression"),
        this.button("↑", "Previous line found, through all passes (Shift+Enter)", () => hooks.search(-1)),
        this.button("↓", "Next line found, through all passes (Enter)", () => hooks.search(1)),
      ),
      this.found,
      this.symbol,
      this.toggle("layout", "Unified", "One column instead of two (s)", hooks.layout),
      this.switch(
        "ignore_renumbering",
        "Ignore renumbering",
        "Take lines that differ only in %names, ^blocks and #maps for equal (b)",
      ),
      this.switch("fold", "Fold", "Hide equal lines far from a change (z)"),
      this.switch("wrap", "Wrap", "Wrap long lines (w)"),
      this.switch("blame", "Blame", "Which pass last changed each line (a)"),
      this.toggle("columns", "Columns", "Source and dumps side by side, linked by source line (k)", hooks.columns),
      this.switch("ops", "Ops", "Operations: what the pass did to them, their tree and graph (o)"),
      this.button("Copy", "Copy the dump on the right", hooks.copy),
      this.button("Save", "Download the dump on the right", hooks.save),
      this.button("Copy link", "Copy a link to this place", hooks.link),
      this.notes,
      ...(hooks.tab ? [this.button("Tab", "Open in a browser tab of its own", hooks.tab)] : []),
      this.button("Full", "Full screen", hooks.full),
      this.button("?", "Keys", hooks.help),
    );
  }

  draw(): void {
    const { store } = this;
    const columns = (store.get("columns") ?? []).length > 0;
    for (const [name, button] of this.switches) {
      const pressed = name === "layout" ? this.hooks.unified() : name === "columns" ? columns : store.get(name);
      button.setAttribute("aria-pressed", String(pressed));
      button.disabled = columns && OF_A_DIFF.has(name);
    }
    const notes = store.get("notes")?.length ?? 0;
    this.notes.textContent = notes > 0 ? `Notes (${notes})` : "Notes";
    if (this.query.value !== store.get("query")) this.query.value = store.get("query");
  }

  say(found: string): void {
    this.found.textContent = this.found.title = found;
  }

  traces(traces: readonly Trace[], current: number, against: number): void {
    this.trace.hidden = this.against.hidden = traces.length < 2;
    const choices = (before: string): [string, string][] =>
      traces.map(({ title }, i) => [String(i), `${before}${title}`]);
    options(this.trace, choices(""), String(current));
    options(this.against, [["-1", "against the pass before"], ...choices("against ")], String(against));
  }

  symbols(names: readonly string[], current: State["symbol"]): void {
    this.symbol.hidden = names.length < 2;
    options(
      this.symbol,
      [["", "All functions"], ...names.map((name): [string, string] => [name, `@${name}`])],
      current,
    );
  }

  private select(label: string, choose: (value: string) => void): HTMLSelectElement {
    const element: HTMLSelectElement = h("select", {
      "aria-label": label,
      title: label,
      ...OWN_KEYS,
      change: () => choose(element.value),
    });
    return element;
  }

  private button(text: string, title: string, click: () => void): HTMLButtonElement {
    return h(
      "button",
      { type: "button", title, ...OWN_KEYS, ...(/\w\w/.test(text) ? {} : { "aria-label": title }), click },
      text,
    );
  }

  private switch(name: Switch, text: string, title: string): HTMLButtonElement {
    return this.toggle(name, text, title, () => this.store.set({ [name]: !this.store.get(name) }));
  }

  private toggle(
    name: Switch | "layout" | "columns",
    text: string,
    title: string,
    click: () => void,
  ): HTMLButtonElement {
    const button = this.button(text, title, click);
    this.switches.set(name, button);
    return button;
  }
}

function options(
  select: HTMLSelectElement,
  wanted: readonly (readonly [value: string, text: string])[],
  current: string,
): void {
  const key = wanted.map(([value, text]) => `${value}\n${text}`).join("\n");
  if (select.dataset["key"] !== key) {
    select.replaceChildren(...wanted.map(([value, text]) => h("option", { value }, text)));
    select.dataset["key"] = key;
  }
  select.value = current;
}
