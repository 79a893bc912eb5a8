/** What a pass did, in operations: which were added, removed, changed or moved; and as a sentence. */

import type { Analysis } from "../analysis";
import type { Extent, Hunk } from "../diff";
import type { Stage } from "../dumps";
import { plural, thousands } from "../dom";

export type ChangeKind = "added" | "removed" | "changed" | "moved";

export interface OpChange {
  readonly kind: ChangeKind;
  readonly op: string;
  /** Its lines before and after; -1 where there is none. */
  readonly before: number;
  readonly after: number;
  /** Which attributes and types are others. */
  readonly what: readonly string[];
}

/** Two stages of one syntax, and the part of each that is compared. */
export interface Compared {
  readonly left: Stage;
  readonly right: Stage;
  readonly parts: readonly [left: Extent, right: Extent];
  /** How the parts differ, renumbering apart, counted from their first lines. */
  readonly hunks: readonly Hunk[];
}

interface ChangedSide {
  readonly line: number;
  readonly op: string;
  readonly text: string;
  readonly blank: string;
  readonly hunk: number;
}

/**
 * The operations that differ. Where one change has as many of a name before as after, they have changed, first those
 * whose texts are equal without the values that they take. Moved: as many of the same text, names apart, are at other
 * places. All others are removed and added.
 */
export function changes(analysis: Analysis, { left, right, parts, hunks }: Compared): OpChange[] {
  const side = (stage: Stage, first: number, from: (hunk: Hunk) => Extent): ChangedSide[] =>
    hunks.flatMap((hunk, number) => {
      const found: ChangedSide[] = [];
      for (let line = first + from(hunk).from; line < first + from(hunk).to; line++) {
        const id = stage.lines[line]!;
        const op = analysis.operationOf(id, stage.syntax);
        if (op) found.push({ line, op, text: analysis.text(id), blank: analysis.blankOf(id).trim(), hunk: number });
      }
      return found;
    });
  const old = new Set(side(left, parts[0].from, ({ a0, a1 }) => ({ from: a0, to: a1 })));
  const now = new Set(side(right, parts[1].from, ({ b0, b1 }) => ({ from: b0, to: b1 })));
  const found: OpChange[] = [];
  // Where there are more on one side than on the other, nothing says which became which.
  const pair = (key: (one: ChangedSide) => string, kind: "changed" | "moved"): void => {
    const [before, after] = [grouped(old, key), grouped(now, key)];
    for (const [name, olds] of before) {
      const news = after.get(name) ?? [];
      if (olds.length !== news.length) continue;
      for (const [i, a] of olds.entries()) {
        const b = news[i]!;
        old.delete(a);
        now.delete(b);
        const what = kind === "moved" ? [] : differences(a.text, b.text, a.blank === b.blank);
        found.push({ kind, op: a.op, before: a.line, after: b.line, what });
      }
    }
  };
  pair(({ hunk, blank }) => `${hunk} ${blank}`, "changed");
  pair(({ blank }) => blank, "moved");
  pair(({ hunk, op }) => `${hunk} ${op}`, "changed");
  for (const { line, op } of old) found.push({ kind: "removed", op, before: line, after: -1, what: [] });
  for (const { line, op } of now) found.push({ kind: "added", op, before: -1, after: line, what: [] });
  return found.sort((a, b) => place(a) - place(b));
}

function place({ before, after }: OpChange): number {
  return after >= 0 ? after : before;
}

function grouped(sides: Iterable<ChangedSide>, key: (one: ChangedSide) => string): Map<string, ChangedSide[]> {
  const groups = new Map<string, ChangedSide[]>();
  for (const one of sides) {
    const group = groups.get(key(one));
    if (group) group.push(one);
    else groups.set(key(one), [one]);
  }
  return groups;
}

/** Which attributes and types of an operation are others; `same`: nothing but the values that it takes. */
function differences(before: string, after: string, same: boolean): string[] {
  if (same) return ["operands"];
  const [a, b] = [parsed(before), parsed(after)];
  const said: string[] = [];
  for (const name of new Set([...a.attributes.keys(), ...b.attributes.keys()])) {
    const [old, now] = [a.attributes.get(name), b.attributes.get(name)];
    if (old === now) continue;
    if (old === undefined) said.push(`attribute ${name} added: ${short(now!)}`);
    else if (now === undefined) said.push(`attribute ${name} removed: ${short(old)}`);
    else said.push(`attribute ${name}: ${apart(old, now)}`);
  }
  if (a.types !== b.types) said.push(`type: ${apart(a.types || "none", b.types || "none")}`);
  return said.length > 0 ? said : ["text"];
}

const LONG = 60;

function short(text: string): string {
  return text.length > LONG ? `${text.slice(0, LONG - 3)}…` : text;
}

/** Two texts, of long ones what is around their first difference. */
function apart(old: string, now: string): string {
  let at = 0;
  while (at < old.length && old[at] === now[at]) at++;
  const from = Math.max(old.length, now.length) > LONG && at > LONG / 2 ? at - LONG / 4 : 0;
  const [before, after] = [old, now].map((text) => (from ? "…" : "") + short(text.slice(from)));
  return `${before} → ${after}`;
}

/** The signature of a function, names of its arguments apart; "" of another operation. */
function signature(line: string): string {
  const found = /^\s*(?:\w+\.)?func\b[^@]*@(?:"[^"]*"|[\w$.-]+)(\(.*?)(?: attributes \{.*)?$/.exec(line)?.[1] ?? "";
  return found.replace(/%[\w$.-]+: /g, "");
}

/** The attributes of an operation and its types, as far as its line has them. */
export function parsed(line: string): { attributes: Map<string, string>; types: string } {
  const attributes = new Map<string, string>();
  let types = "";
  for (let at = 0, depth = 0, from = -1; at < line.length; at++) {
    const letter = line[at]!;
    if (letter === '"') at = closing(line, at);
    else if ("{[(<".includes(letter)) {
      if (letter === "{" && depth === 0) from = at + 1;
      depth++;
    } else if ("}])".includes(letter) || (letter === ">" && line[at - 1] !== "-")) {
      depth--;
      if (letter === "}" && depth === 0 && from >= 0) {
        for (const part of split(line.slice(from, at))) {
          const equal = part.indexOf("=");
          const name = (equal < 0 ? part : part.slice(0, equal)).trim();
          if (/^[\w.$"]+$/.test(name)) attributes.set(name, equal < 0 ? "unit" : part.slice(equal + 1).trim());
        }
        from = -1;
      }
    } else if (depth === 0 && letter === ":" && /\s/.test(line[at + 1] ?? "")) types = line.slice(at + 1).trim();
  }
  return { attributes, types: (types || signature(line)).replace(/\s*\{$/, "") };
}

/** Where a string that begins at a place ends. */
function closing(line: string, at: number): number {
  for (let i = at + 1; i < line.length; i++) {
    if (line[i] === "\\") i++;
    else if (line[i] === '"') return i;
  }
  return line.length;
}

/** Split at the commas that are in no bracket and no string. */
function split(text: string): string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const letter = text[i]!;
    if (letter === '"') i = closing(text, i);
    else if ("{[(<".includes(letter)) depth++;
    else if ("}])".includes(letter) || (letter === ">" && text[i - 1] !== "-")) depth--;
    else if (letter === "," && depth === 0) {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
  }
  return [...parts, text.slice(from)].filter((part) => part.trim());
}

/** Terminators that MLIR often does not print. */
const SILENT = /\.(?:yield|terminator|in_parallel|reduce\.return)$|^builtin\.module$/;
/** Operations of linalg whose text shows all that is in them, or that hold nothing but a terminator. */
const OPEN = /^linalg\.(?:generic|yield|index|fill|copy|transpose|broadcast|pack|unpack|init_tensor)$/;
/** What the operations without a body in the text hold. */
const HELD = /^(?:arith|math|complex|stablehlo|chlo|mhlo)\./;
const KINDS = 3;

/** Whether operations of this kind, or on this line, hold others that the text does not show. */
function hides(op: string): boolean {
  return (op.startsWith("linalg.") && !OPEN.test(op)) || /(?:^|\.)(?:reduce|scan|map|reduce_window)$/.test(op);
}

/**
 * What a pass did, in a sentence; "" where the text does not say it exactly. Numbers are those of operations after
 * less those before. Of what the text of MLIR leaves out terminators are not spoken of; where named operations may hold
 * operations of a dialect, it says that these are not counted.
 */
export function sentence(analysis: Analysis, { left, right, parts }: Compared): string {
  if (left.syntax !== "mlir" || right.syntax !== "mlir" || left.lines === right.lines) return "";
  const [before, after] = [analysis.counts(left, parts[0]), analysis.counts(right, parts[1])];
  const net = new Map<string, number>();
  for (const op of new Set([...before.keys(), ...after.keys()])) {
    const more = (after.get(op) ?? 0) - (before.get(op) ?? 0);
    if (more !== 0 && !SILENT.test(op)) net.set(op, more);
  }
  const unsaid = new Set<string>();
  if ([...before.keys(), ...after.keys()].some((op) => hides(op) && before.get(op) !== after.get(op))) {
    for (const op of net.keys()) if (HELD.test(op) && net.delete(op)) unsaid.add(op.split(".")[0]!);
  }
  const said: string[] = [];
  const fused = fusion(analysis, { left, right, parts }, net);
  if (fused) {
    said.push(fused);
    net.delete("linalg.generic");
  }
  for (const [word, sign] of [
    ["removed", -1],
    ["added", 1],
  ] as const) {
    const kinds = [...net]
      .filter(([, more]) => more * sign > 0)
      .sort((a, b) => (b[1] - a[1]) * sign || (a[0] < b[0] ? -1 : 1));
    if (kinds.length === 0) continue;
    const shown = kinds.length === KINDS + 1 ? kinds.length : KINDS;
    const named = kinds.slice(0, shown).map(([op, more]) => `${thousands(Math.abs(more))} ${op}`);
    const others = kinds.slice(shown);
    const more = others.reduce((sum, [, more]) => sum + Math.abs(more), 0);
    const rest = more > 0 ? ` and ${plural(more, "op")} of ${others.length} other kinds` : "";
    said.push(`${word} ${named.join(", ")}${rest}`);
  }
  if (said.length > 0 && unsaid.size > 0) said.push(`${[...unsaid].sort().join(", ")} not counted`);
  return said.join("; ");
}

/**
 * Whether a pass for fusion put the bodies of linalg.generic together: there are fewer of them, and what they hold is
 * what it was, operation by operation, none of them empty.
 */
function fusion(
  analysis: Analysis,
  { left, right, parts }: Omit<Compared, "hunks">,
  net: ReadonlyMap<string, number>,
): string {
  const fewer = net.get("linalg.generic") ?? 0;
  if (fewer >= 0 || !/fus(?:e|ion)/i.test(right.name)) return "";
  const [old, now] = [bodies(analysis, left, parts[0]), bodies(analysis, right, parts[1])];
  const same = new Set(now.map(({ key }) => key));
  const known = new Set(old.map(({ key }) => key));
  const gone = old.filter(({ key }) => !same.has(key));
  const come = now.filter(({ key }) => !known.has(key));
  if (come.length === 0 || gone.length - come.length !== -fewer || gone.some(({ held }) => held.length === 0))
    return "";
  const all = (found: typeof old): string =>
    found
      .flatMap(({ held }) => held)
      .sort()
      .join();
  return all(gone) === all(come) ? `fused ${gone.length} linalg.generic into ${come.length}` : "";
}

/** The linalg.generic of a part of a stage: what each holds, and what tells it from others. */
function bodies(analysis: Analysis, stage: Stage, { from, to }: Extent): { key: string; held: string[] }[] {
  const found: { key: string; held: string[]; indent: number }[] = [];
  let open: (typeof found)[number] | null = null;
  for (let line = from; line < to; line++) {
    const id = stage.lines[line]!;
    const text = analysis.text(id);
    const indent = text.length - text.trimStart().length;
    const op = analysis.operationOf(id, stage.syntax);
    if (open && op && indent <= open.indent) open = null;
    if (op === "linalg.generic") found.push((open = { key: analysis.blankOf(id), held: [], indent }));
    else if (open && op && !SILENT.test(op)) {
      open.held.push(op);
      open.key += `\n${analysis.blankOf(id)}`;
    }
  }
  return found;
}
