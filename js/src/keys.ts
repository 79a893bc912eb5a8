/** The keyboard. Everything that the mouse can do has a key; `?` shows them. */

import { defines, nameAt, wordIn } from "./names";
import type { Viewer } from "./viewer";

export function onKey(viewer: Viewer, event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target as HTMLElement;
  if (target.closest("dialog")) return;
  if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) {
    if (event.key !== "Escape") return;
    viewer.passes.list.element.focus();
  } else {
    const inList = target === viewer.passes.list.element;
    const action =
      (inList && listKey(viewer, event)) ||
      letter(viewer, event.key) ||
      (event.key === "Escape" && escape(viewer, inList));
    if (!action) return;
  }
  event.preventDefault();
  event.stopPropagation();
}

function listKey(viewer: Viewer, event: KeyboardEvent): boolean {
  const right = viewer.store.get("right");
  const steps: Readonly<Record<string, number>> = {
    ArrowUp: -1,
    ArrowDown: 1,
    PageUp: -10,
    PageDown: 10,
    Home: -1e6,
    End: 1e6,
  };
  const by = steps[event.key];
  if (by !== undefined) {
    viewer.choose(viewer.passes.list.step(right, by), event.shiftKey ? "right" : "both");
    return true;
  }
  if (event.key === "Enter") {
    viewer.compare.panes[1].view.focus();
    return true;
  }
  return false;
}

/** Keys that mean nothing where dumps are shown as columns. */
const OF_A_DIFF = new Set(["n", "p", "b", "s", "w", "z", "a", "d", "u", "[", "l", "L", "m"]);

function inColumns(viewer: Viewer): () => void {
  return () => viewer.say("Columns show dumps as they are; k leads back to the diff");
}

function letter(viewer: Viewer, key: string): boolean {
  const { store, compare } = viewer;
  const actions: Readonly<Record<string, () => void>> = {
    n: () => compare.step(1),
    p: () => compare.step(-1),
    "/": () => viewer.toolbar.query.select(),
    f: () => viewer.toolbar.symbol.focus(),
    b: () => store.set({ ignore_renumbering: !store.get("ignore_renumbering") }),
    s: () => viewer.room.toggle(),
    w: () => store.set({ wrap: !store.get("wrap") }),
    z: () => store.set({ fold: !store.get("fold") }),
    a: () => store.set({ blame: !store.get("blame") }),
    c: () => viewer.toggleOperations(),
    d: () => toName(viewer, "definition"),
    u: () => toName(viewer, "use"),
    "[": () => viewer.followCursor(),
    i: () => void viewer.inside.open(),
    l: () => viewer.pin(),
    L: () => viewer.pin(),
    r: () => viewer.passes.toggleRail(),
    k: () => viewer.linked.toggle(),
    o: () => store.set({ ops: !store.get("ops") }),
    e: () => viewer.costTable(),
    m: () => viewer.note(),
    x: () => void viewer.experiments.edit(),
    t: () => store.set({ by_time: !store.get("by_time") }),
    "?": () => viewer.dialogs.help(),
  };
  const action = store.get("columns")?.length && OF_A_DIFF.has(key) ? inColumns(viewer) : actions[key];
  action?.();
  return action !== undefined;
}

function escape(viewer: Viewer, inList: boolean): boolean {
  if (!inList) {
    viewer.passes.list.element.focus();
    return true;
  }
  viewer.passes.list.element.blur();
  viewer.element.closest<HTMLElement>(".jp-Notebook")?.focus();
  return true;
}

/** To the definition, or to the next use, of the name at the cursor. */
function toName(viewer: Viewer, what: "definition" | "use"): void {
  const pane = viewer.compare.active;
  const { line, column } = pane.cursor;
  const found = nameAt(pane.lineText, column);
  if (!found) return viewer.say("No name at the cursor");
  const { doc } = pane.view.state;
  for (let i = 1; i <= doc.lines; i++) {
    // A definition is usually behind, a use ahead.
    const at = what === "use" ? (line + i) % doc.lines : (line - i + 1 + doc.lines) % doc.lines;
    const { text } = doc.line(at + 1);
    const there = what === "use" ? wordIn(text, found.name) : defines(text, found.name, pane.symbol(at));
    if (!there) continue;
    pane.go(at, text.indexOf(found.name), "nearest");
    return;
  }
  viewer.say(`No ${what} of ${found.name}`);
}
