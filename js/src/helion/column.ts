/** One column: rows that light up with their group, and a cursor that the keys move. */

import { freshId, h } from "../dom";
import { colouredParts } from "../colours";
import { openings } from "../strings";
import type { Band } from "./ties";

export interface ColumnRow {
  readonly text: string;
  /** What stands before the text: a line number, or nothing. */
  readonly number: string;
  readonly indent: number;
  /** Nodes that the row belongs to. */
  readonly nodes: readonly number[];
  readonly title?: string;
  /** A row that says something about those below it and belongs to no node. */
  readonly quiet?: boolean;
}

export interface Watcher {
  /** The pointer is over a row; null when it has left. */
  hovered(nodes: readonly number[] | null): void;
  /** The cursor moved to a row, by keys or a click. */
  moved(column: Column, nodes: readonly number[]): void;
  chosen(nodes: readonly number[]): void;
  /** To the column beside this one. */
  leave(column: Column, step: 1 | -1): void;
  cleared(): void;
}

/** Rows from which on a column is shown without colours. */
const MANY = 4000;

export class Column {
  readonly element: HTMLElement;
  private readonly list: HTMLElement;
  private readonly heading = h("div", { class: "irw-k-title" });
  private rows: readonly ColumnRow[] = [];
  private elements: HTMLElement[] = [];
  /** The rows of each node. */
  private places = new Map<number, number[]>();
  private at = -1;
  /** The row under the pointer. */
  private under = -1;

  constructor(
    private readonly label: string,
    private readonly watcher: Watcher,
  ) {
    this.list = h("div", {
      class: "irw-k-rows",
      role: "listbox",
      tabindex: 0,
      "aria-label": label,
      "data-lm-suppress-shortcuts": "true",
      keydown: (event: KeyboardEvent) => this.key(event),
      focus: () => this.focused(),
      mouseover: (event: MouseEvent) => this.hover(this.indexAt(event)),
      mouseleave: () => this.hover(-1),
      click: (event: MouseEvent) => this.clicked(event),
    });
    this.element = h("section", { class: "irw-k-column" }, this.heading, this.list);
  }

  title(text: string, note: string): void {
    this.heading.replaceChildren(
      h("b", {}, this.label),
      h("span", { class: "irw-dim" }, text),
      ...(note ? [h("span", { class: "irw-k-absent" }, note)] : []),
    );
  }

  show(rows: readonly ColumnRow[], language: string): void {
    const key = this.rows[this.at]?.nodes[0];
    this.rows = rows;
    const coloured = rows.length <= MANY;
    const open = language === "python" ? openings(rows.map(({ text }) => text)) : [];
    this.elements = rows.map((row, i) => rowElement(row, coloured ? language : "", open[i]));
    this.list.replaceChildren(...this.elements);
    this.places = new Map();
    for (const [i, { nodes }] of rows.entries())
      for (const node of nodes) this.places.set(node, [...(this.places.get(node) ?? []), i]);
    this.at = -1;
    const again = key === undefined ? -1 : rows.findIndex(({ nodes }) => nodes.includes(key));
    this.put(again);
  }

  /** Light the rows of a group and of the pinned nodes. */
  light(group: ReadonlySet<number>, pinned: ReadonlySet<number>): void {
    for (const [i, row] of this.rows.entries()) {
      const { classList } = this.elements[i]!;
      classList.toggle(
        "irw-k-lit",
        row.nodes.some((node) => group.has(node)),
      );
      const isPinned = row.nodes.some((node) => pinned.has(node));
      classList.toggle("irw-k-pinned", isPinned);
      if (!row.quiet) this.elements[i]!.setAttribute("aria-selected", String(isPinned));
    }
  }

  /** Bring the first row of a group into sight, and put the cursor there. */
  reveal(group: ReadonlySet<number>): void {
    const found = this.rows.findIndex((row) => row.nodes.some((node) => group.has(node)));
    if (found < 0) return;
    if (document.activeElement !== this.list || !this.rows[this.at]?.nodes.some((node) => group.has(node)))
      this.put(found);
    this.scrollTo(found);
  }

  /** Where the rows of some nodes stand, or on which edge of what is in sight. */
  bands(nodes: Iterable<number>): Band[] {
    const { top } = this.list.getBoundingClientRect();
    const inSight = (y: number): number => top + Math.min(Math.max(y - this.list.scrollTop, 0), this.list.clientHeight);
    const rows = [...new Set([...nodes].flatMap((node) => this.places.get(node) ?? []))].sort((a, b) => a - b);
    const bands: Band[] = [];
    for (let i = 0; i < rows.length;) {
      let end = i;
      while (rows[end + 1] === rows[end]! + 1) end++;
      const [first, last] = [this.elements[rows[i]!]!, this.elements[rows[end]!]!];
      bands.push({ top: inSight(first.offsetTop), bottom: inSight(last.offsetTop + last.offsetHeight) });
      i = end + 1;
    }
    return bands;
  }

  focus(): void {
    this.list.focus({ preventScroll: true });
  }

  private focused(): void {
    if (this.at < 0) this.put(this.rows.findIndex(({ quiet }) => !quiet));
    const row = this.rows[this.at];
    if (row) this.watcher.moved(this, row.nodes);
  }

  private put(index: number): void {
    this.elements[this.at]?.classList.remove("irw-k-at");
    this.at = index;
    const element = this.elements[index];
    element?.classList.add("irw-k-at");
    if (element) this.list.setAttribute("aria-activedescendant", element.id);
    else this.list.removeAttribute("aria-activedescendant");
  }

  private scrollTo(index: number): void {
    const element = this.elements[index]!;
    const { list } = this;
    const top = element.offsetTop;
    if (top < list.scrollTop) list.scrollTop = top - element.offsetHeight;
    else if (top + element.offsetHeight > list.scrollTop + list.clientHeight)
      list.scrollTop = top - list.clientHeight / 3;
  }

  private go(index: number, step: 1 | -1): void {
    let to = Math.min(Math.max(index, 0), this.rows.length - 1);
    while (this.rows[to]?.quiet) to += step;
    const row = this.rows[to];
    if (!row) return;
    this.put(to);
    this.scrollTo(to);
    this.watcher.moved(this, row.nodes);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.list.clientHeight / 19) - 1);
    const actions: Record<string, () => void> = {
      ArrowDown: () => this.go(this.at + 1, 1),
      ArrowUp: () => this.go(this.at - 1, -1),
      PageDown: () => this.go(this.at + page, 1),
      PageUp: () => this.go(this.at - page, -1),
      Home: () => this.go(0, 1),
      End: () => this.go(this.rows.length - 1, -1),
      Enter: () => this.watcher.chosen(this.rows[this.at]?.nodes ?? []),
      " ": () => this.watcher.chosen(this.rows[this.at]?.nodes ?? []),
      ArrowRight: () => this.watcher.leave(this, 1),
      ArrowLeft: () => this.watcher.leave(this, -1),
      Escape: () => this.watcher.cleared(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  private indexAt(event: Event): number {
    const element = (event.target as Element).closest(".irw-k-row");
    return element ? this.elements.indexOf(element as HTMLElement) : -1;
  }

  private hover(index: number): void {
    if (index === this.under) return;
    this.under = index;
    this.watcher.hovered(this.rows[index]?.nodes ?? null);
  }

  private clicked(event: MouseEvent): void {
    const index = this.indexAt(event);
    const row = this.rows[index];
    if (!row || row.quiet) return;
    this.put(index);
    this.watcher.moved(this, row.nodes);
    this.watcher.chosen(row.nodes);
  }
}

function rowElement(row: ColumnRow, language: string, open = ""): HTMLElement {
  const code = h("span", { class: "irw-k-code" });
  code.append(...(row.quiet || !language ? [row.text] : coloured(row.text, language, open)));
  if (row.indent > 0) code.style.marginLeft = `${row.indent * 2}ch`;
  const role = row.quiet ? "presentation" : "option";
  const element = h("div", {
    class: `irw-k-row${row.quiet ? " irw-k-quiet" : ""}`,
    role,
    id: freshId("row"),
    title: row.title,
  });
  if (row.number) element.append(h("span", { class: "irw-k-number" }, row.number));
  element.append(code);
  return element;
}

/** A line in the colours of its language; `open` are the quotes of a string that began on a line before. */
export function coloured(text: string, language: string, open = ""): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  if (text.length > 2000) return [text];
  for (const { from, to, class: name } of colouredParts(text, language, open)) {
    if (from > at) parts.push(text.slice(at, from));
    parts.push(h("span", { class: name }, text.slice(from, to)));
    at = to;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}
