/**
 * Whether lines that are equal without their names are equal apart from a renumbering: each name must become one other,
 * and only it. `irwidget/trace/renaming.py` has the same, step by step; tests/views/test_diff.py holds the two together.
 */

import type { Hunk } from "./diff";

/** A name on a line that a pass may renumber. */
export interface Name {
  /** With its sigil: `%x`, `^bb1`, `#map`; a label of LLVM IR as it is referred to. */
  readonly text: string;
  readonly defined: boolean;
  /** How many results of one operation it is a name of, where it says so. */
  readonly results: number;
}

/** What is asked of a line. */
export interface Line {
  readonly names: readonly Name[];
  /** Whether it defines a symbol: a function begins. */
  readonly symbol: boolean;
}

const ASSIGNED = /^(?:\s*,\s*[%!#](?:"[^"]*"|[\w$.-]+)(?:[:#]\d+)?)*\s*\)?\s*=(?!=)/;
const ARGUMENT = /^:\s/;
const DEFINE = /^\s*define\b/;

/** The sigil of a name, and whether it is defined where it stands between `before` and `rest`. */
export function roleOf(before: string, rest: string): { sigil: string; defined: boolean } {
  const sigil = "%^#!$".includes(before.at(-1) ?? " ") ? before.at(-1)! : "";
  const assigned = ASSIGNED.test(rest);
  if (sigil === "^") return { sigil, defined: before.trim() === "^" };
  if (sigil === "%") return { sigil, defined: assigned || ARGUMENT.test(rest) || DEFINE.test(before) };
  if (sigil === "$") return { sigil, defined: rest.startsWith(":") };
  return { sigil, defined: sigil === "" || assigned };
}

export function nameOf(sigil: string, text: string, defined: boolean): Name {
  if (!sigil) return { text: `%${text}`, defined: true, results: 0 };
  const found = sigil === "%" ? /^(.*):(\d+)$/s.exec(text) : null;
  return found
    ? { text: sigil + found[1]!, defined, results: Number(found[2]) }
    : { text: sigil + text, defined, results: 0 };
}

function valuesOf({ text, results }: Name): string[] {
  return results ? Array.from({ length: results }, (_, i) => `${text}#${i}`) : [text];
}

/** The names of one text: what they are in the other, and which have been defined so far. */
class SideNames {
  readonly other = new Map<string, string>();
  readonly defined = new Set<string>();
  /** Referred to before they are defined, as labels are. */
  readonly ahead = new Set<string>();

  /** A function begins: names of values and blocks begin anew, those of attributes and metadata stay. */
  forgetValues(): void {
    for (const names of [this.other, this.defined, this.ahead])
      for (const name of names.keys()) if (!"#!".includes(name[0]!)) names.delete(name);
  }
}

class Renaming {
  private readonly old = new SideNames();
  private readonly new = new SideNames();

  /** Whether two lines that are equal without their names can be one; takes note of the names. */
  take(old: Line | null, fresh: Line | null): boolean {
    if (old?.symbol || fresh?.symbol) {
      this.old.forgetValues();
      this.new.forgetValues();
    }
    if (!old || !fresh) {
      for (const name of (old ?? fresh)!.names)
        if (name.defined) for (const text of valuesOf(name)) this.alone(text, !old);
      return true;
    }
    let all = true;
    old.names.forEach((name, i) => {
      if (!this.pair(name, fresh.names[i]!)) all = false;
    });
    return all;
  }

  /** A name is defined on a line that only one text has. */
  private alone(name: string, fresh: boolean): void {
    const [here, there] = fresh ? [this.new, this.old] : [this.old, this.new];
    if (!here.ahead.has(name)) unbind(here, there, name);
    here.defined.add(name);
  }

  private pair(old: Name, fresh: Name): boolean {
    if (old.defined !== fresh.defined || old.results !== fresh.results) return false;
    if (!old.defined) return this.use(old.text, fresh.text);
    const there = valuesOf(fresh);
    let all = true;
    valuesOf(old).forEach((name, i) => {
      if (!this.define(name, there[i]!)) all = false;
    });
    return all;
  }

  private define(old: string, fresh: string): boolean {
    const promised = this.old.ahead.has(old) || this.new.ahead.has(fresh);
    for (const [here, there, name] of [[this.old, this.new, old] as const, [this.new, this.old, fresh] as const]) {
      if (!promised) unbind(here, there, name);
      here.defined.add(name);
      here.ahead.delete(name);
    }
    return this.bind(old, fresh);
  }

  private use(old: string, fresh: string): boolean {
    if (!this.old.defined.has(old) && !this.new.defined.has(fresh)) {
      this.old.ahead.add(old);
      this.new.ahead.add(fresh);
    }
    return this.bind(old, fresh);
  }

  private bind(old: string, fresh: string): boolean {
    if (!this.old.other.has(old) && !this.new.other.has(fresh)) {
      this.old.other.set(old, fresh);
      this.new.other.set(fresh, old);
    }
    return this.old.other.get(old) === fresh;
  }
}

function unbind(here: SideNames, there: SideNames, name: string): void {
  const other = here.other.get(name);
  here.other.delete(name);
  if (other !== undefined) there.other.delete(other);
}

/** The hunks of two texts without their names, and those lines between them that no renumbering makes equal. */
export function followed(
  found: readonly Hunk[],
  old: readonly number[] | Int32Array,
  fresh: readonly number[] | Int32Array,
  line: (id: number) => Line,
): { left: Uint8Array; right: Uint8Array } {
  const [left, right] = [new Uint8Array(old.length), new Uint8Array(fresh.length)];
  const renaming = new Renaming();
  let [i, j] = [0, 0];
  for (const { a0, a1, b1 } of [...found, { a0: old.length, a1: old.length, b0: fresh.length, b1: fresh.length }]) {
    for (; i < a0; i++, j++) if (!renaming.take(line(old[i]!), line(fresh[j]!))) left[i] = right[j] = 1;
    for (; i < a1; i++) (renaming.take(line(old[i]!), null), (left[i] = 1));
    for (; j < b1; j++) (renaming.take(null, line(fresh[j]!)), (right[j] = 1));
  }
  return { left, right };
}
