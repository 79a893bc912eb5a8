/**
 * A shape is a line with its numbers left out. Most lines of a large dump share a few hundred shapes, so what depends
 * on the shape only, or on few of its numbers, is found once for thousands of lines.
 */

import { renumbered } from "./ir";

const NUMBER = 255;
const decoder = new TextDecoder();

export class Shape {
  /** The text between the numbers. */
  readonly pieces: readonly string[];
  /** Two lines of this shape that have no number in common: what is said of both alike is said of all. */
  readonly samples: readonly [string, string];
  /** The blanked text around the numbers that blanking leaves, and which these are. */
  private blankPieces: readonly string[] | null = null;
  private left: readonly number[] = [];
  private readonly last: number[] = [];
  private lastId = -1;

  constructor(
    bytes: Uint8Array,
    readonly from: number,
    readonly to: number,
  ) {
    const pieces: string[] = [];
    let start = from;
    for (let i = from; i <= to; i++) {
      if (i < to && bytes[i] !== NUMBER) continue;
      pieces.push(decoder.decode(bytes.subarray(start, i)));
      start = i + 1;
    }
    this.pieces = pieces;
    this.samples = [pieces.join("0"), pieces.join("1")];
  }

  /** The number of the line without the names that a pass may renumber; its numbers begin at `at`. */
  blankId(values: Int32Array, at: number, ids: Map<string, number>): number {
    const pieces = this.blankPieces ?? this.cut();
    const { left, last } = this;
    let same = this.lastId >= 0;
    for (let i = 0; i < left.length; i++) {
      const value = values[at + left[i]!]!;
      if (value === last[i]) continue;
      last[i] = value;
      same = false;
    }
    if (same) return this.lastId;
    let text = pieces[0]!;
    for (let i = 0; i < left.length; i++) text += last[i]! + pieces[i + 1]!;
    let id = ids.get(text);
    if (id === undefined) ids.set(text, (id = ids.size));
    return (this.lastId = id);
  }

  /** Blank a sample, and note which numbers are left: where names end does not depend on the digits in them. */
  private cut(): readonly string[] {
    const sample = this.samples[0];
    const places: number[] = [];
    let at = 0;
    for (const piece of this.pieces.slice(0, -1)) {
      places.push((at += piece.length));
      at++;
    }
    const cut: string[] = [];
    const left: number[] = [];
    let [text, done, number] = ["", 0, 0];
    /** Copy up to a place, and cut at the numbers on the way. */
    const copy = (to: number): void => {
      for (; number < places.length && places[number]! < to; number++) {
        cut.push(text + sample.slice(done, places[number]));
        left.push(number);
        text = "";
        done = places[number]! + 1;
      }
      text += sample.slice(done, to);
    };
    for (const { from, to } of renumbered(sample)) {
      copy(from);
      done = to;
      while (number < places.length && places[number]! < to) number++;
    }
    copy(sample.length);
    cut.push(text);
    this.left = left;
    return (this.blankPieces = cut);
  }
}
