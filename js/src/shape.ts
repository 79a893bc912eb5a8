/**
 * A shape is a line with its numbers left out. Most lines of a large dump share a few hundred shapes, so what depends
 * on the shape only, or on few of its numbers, is found once for thousands of lines.
 */

import type { Facts } from "./columns";
import type { Extent } from "./diff";
import { type Line, nameOf, roleOf } from "./renaming";

const NUMBER = 255;
const decoder = new TextDecoder();

/** A part of a shape: the text around the numbers in it, and which of the line's numbers these are. */
interface Part {
  readonly pieces: readonly string[];
  readonly numbers: readonly number[];
}

/** The bytes of a shape in some extents, one after the other. */
function partOf(bytes: Uint8Array, extents: readonly Extent[]): Part {
  const pieces: string[] = [];
  const numbers: number[] = [];
  let text = "";
  let [at, number] = [0, 0];
  for (const { from, to } of extents) {
    for (; at < from; at++) if (bytes[at] === NUMBER) number++;
    for (let start = from; at <= to; at++) {
      if (at < to && bytes[at] !== NUMBER) continue;
      text += decoder.decode(bytes.subarray(start, at));
      if (at === to) break;
      pieces.push(text);
      numbers.push(number++);
      text = "";
      start = at + 1;
    }
  }
  pieces.push(text);
  return { pieces, numbers };
}

/** What some extents leave of a text of this length. */
function others(extents: readonly Extent[], length: number): Extent[] {
  const starts = [0, ...extents.map(({ to }) => to)];
  const ends = [...extents.map(({ from }) => from), length];
  return starts.map((from, i) => ({ from, to: ends[i]! }));
}

/** A part with the numbers of a line in their places. */
function filled({ pieces, numbers }: Part, all: readonly string[]): string {
  if (numbers.length === 0) return pieces[0]!;
  return pieces.map((piece, i) => (i === 0 ? "" : all[numbers[i - 1]!]!) + piece).join("");
}

export class Shape {
  /** The text between the numbers. */
  readonly pieces: readonly string[];
  private readonly bytes: Uint8Array;
  private blank: Part | null = null;
  private symbol: Part | null | undefined;
  private names: readonly { readonly part: Part; readonly sigil: string; readonly defined: boolean }[] | undefined;
  private readonly operations = new Map<string, Part | null>();
  private readonly last: number[] = [];
  private lastId = -1;

  /** The shape is bytes [from, to). */
  constructor(
    bytes: Uint8Array,
    readonly from: number,
    readonly to: number,
    private readonly facts: Facts,
  ) {
    this.bytes = bytes.subarray(from, to);
    this.pieces = partOf(this.bytes, [{ from: 0, to: to - from }]).pieces;
  }

  /** The number of the line without the names that a pass may renumber; its numbers begin at `at`. */
  blankId(values: Int32Array, at: number, ids: Map<string, number>): number {
    const { pieces, numbers } = this.blanked();
    const { last } = this;
    let same = this.lastId >= 0;
    for (let i = 0; i < numbers.length; i++) {
      const value = values[at + numbers[i]!]!;
      if (value === last[i]) continue;
      last[i] = value;
      same = false;
    }
    if (same) return this.lastId;
    let text = pieces[0]!;
    for (let i = 0; i < numbers.length; i++) text += last[i]! + pieces[i + 1]!;
    let id = ids.get(text);
    if (id === undefined) ids.set(text, (id = ids.size));
    return (this.lastId = id);
  }

  /** A line of this shape without the names that a pass may renumber. */
  blankOf(line: string): string {
    return this.fill(this.blanked(), line);
  }

  /** The symbol that a line of this shape defines, or "". */
  symbolOf(line: string): string {
    if (this.symbol === undefined) this.symbol = this.part(this.facts.symbol);
    return this.symbol ? this.fill(this.symbol, line) : "";
  }

  /** The names on a line of this shape that a pass may renumber. */
  namesOf(line: string): Line {
    this.names ??= this.facts.renumbered.map(({ from, to }) => {
      const [before, rest] = [this.sample(0, from), this.sample(to, this.bytes.length)];
      return { part: partOf(this.bytes, [{ from, to }]), ...roleOf(before, rest) };
    });
    const all = this.names.length > 0 ? this.numbersOf(line) : [];
    const names = this.names.map(({ part, sigil, defined }) => nameOf(sigil, filled(part, all), defined));
    return { names, symbol: this.facts.symbol !== null };
  }

  /** The bytes [from, to) as text, with "0" for each number. */
  private sample(from: number, to: number): string {
    return decoder.decode(this.bytes.subarray(from, to).map((byte) => (byte === NUMBER ? 48 : byte)));
  }

  /** The operation on a line of this shape, or "". */
  operationOf(line: string, syntax: string): string {
    const found = this.facts.operations.get(syntax);
    if (!found) return "";
    if (!this.operations.has(syntax)) this.operations.set(syntax, this.part(found));
    return found.dialect + this.fill(this.operations.get(syntax)!, line);
  }

  private blanked(): Part {
    return (this.blank ??= partOf(this.bytes, others(this.facts.renumbered, this.bytes.length)));
  }

  private part(extent: Extent | null): Part | null {
    return extent && partOf(this.bytes, [extent]);
  }

  private fill(part: Part, line: string): string {
    return filled(part, part.numbers.length > 0 ? this.numbersOf(line) : []);
  }

  /** The numbers in a line of this shape, as they are written: each goes as far as there are digits. */
  private numbersOf(line: string): string[] {
    let at = 0;
    return this.pieces.slice(0, -1).map((piece) => {
      const from = (at += piece.length);
      while (line[at]! >= "0" && line[at]! <= "9") at++;
      return line.slice(from, at);
    });
  }
}
