/** Reads what `irwidget.views.codec` writes: lines as shapes and numbers, and sequences of line numbers. */

import type { Facts } from "./columns";
import { Shape } from "./shape";

/** Milliseconds of work after which the page gets a turn. */
const TURN = 40;
/** Bytes of text that become strings at once. */
const PIECE = 1 << 20;
/** As many digits as a number can have. */
const DIGITS = 10;
const NUMBER = 255;
const NEWLINE = 10;

/** Gives the page a turn when it has waited for long. */
export class Breath {
  private since = performance.now();

  async take(): Promise<void> {
    if (performance.now() - this.since < TURN) return;
    await new Promise<void>((resolve) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = (): void => {
        channel.port1.close();
        resolve();
      };
      channel.port2.postMessage(null);
    });
    this.since = performance.now();
  }
}

/** All unsigned numbers of a section: seven bits a byte, the lowest first. */
export function varints(bytes: Uint8Array): Uint32Array {
  let count = 0;
  for (let i = 0; i < bytes.length; i++) if (bytes[i]! < 128) count++;
  const values = new Uint32Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++]!;
    let value = byte & 127;
    for (let shift = 7; byte > 127; shift += 7) value |= ((byte = bytes[at++]!) & 127) << shift;
    values[i] = value;
  }
  return values;
}

/** 0, 1, 2, 3 stand for 0, -1, 1, -2. */
export function unzigzag(value: number): number {
  return (value >>> 1) ^ -(value & 1);
}

/** The lines of a chunk in order, a part at a time; and for each, what it is with renumbered names blanked. */
export async function lines(
  bytes: Uint8Array,
  shapes: readonly Shape[],
  shapeOf: Uint32Array,
  coded: Uint32Array,
  blankIds: Map<string, number>,
  breath: Breath,
  take: (lines: string[]) => void,
): Promise<Int32Array> {
  const blanked = new Int32Array(shapeOf.length);
  const starts = shapes.map(({ from }) => from);
  const ends = shapes.map(({ to }) => to);
  const widths = shapes.map(({ pieces }) => pieces.length - 1);
  const next = new Uint32Array(widths.length);
  for (let i = 0; i < shapeOf.length; i++) next[shapeOf[i]!]! += widths[shapeOf[i]!]!;
  for (let shape = 0, at = 0; shape < next.length; shape++) {
    const width = next[shape]!;
    next[shape] = at;
    at += width;
  }
  const first = next.slice();
  const values = new Int32Array(coded.length);
  const decoder = new TextDecoder();
  let out = new Uint8Array(PIECE * 2);
  let end = 0;
  const flush = (): void => {
    if (end > 0) take(decoder.decode(out.subarray(0, end - 1)).split("\n"));
    end = 0;
  };
  for (let i = 0; i < shapeOf.length; i++) {
    const shape = shapeOf[i]!;
    const width = widths[shape]!;
    const to = ends[shape]!;
    let number = next[shape]!;
    next[shape] = number + width;
    // The line before of this shape; a chunk's first has none.
    const back = number === first[shape] ? -1 : number - width;
    const room = to - starts[shape]! + width * DIGITS + 1;
    if (end + room > out.length) {
      flush();
      if (room > out.length) out = new Uint8Array(room * 2);
    }
    for (let from = starts[shape]!, k = 0; from < to; from++) {
      const byte = bytes[from]!;
      if (byte !== NUMBER) {
        out[end++] = byte;
        continue;
      }
      const value = unzigzag(coded[number]!) + (back < 0 ? 0 : values[back + k]!);
      values[number++] = value;
      k++;
      if (value < 10) {
        out[end++] = 48 + value;
        continue;
      }
      let digits = 2;
      for (let power = 100; power <= value; power *= 10) digits++;
      let rest = value;
      for (let place = end + digits - 1; place >= end; place--) {
        const tenth = Math.floor(rest / 10);
        out[place] = 48 + rest - tenth * 10;
        rest = tenth;
      }
      end += digits;
    }
    blanked[i] = shapes[shape]!.blankId(values, number - width, blankIds);
    out[end++] = NEWLINE;
    if (end >= PIECE) {
      flush();
      await breath.take();
    }
  }
  flush();
  return blanked;
}

/** The shapes of a chunk. */
export function shapesOf(bytes: Uint8Array, facts: () => Facts): Shape[] {
  const shapes: Shape[] = [];
  let from = 0;
  for (let i = 0; i <= bytes.length; i++) {
    if (i < bytes.length && bytes[i] !== NEWLINE) continue;
    shapes.push(new Shape(bytes, from, i, facts()));
    from = i + 1;
  }
  return shapes;
}

/** Line numbers of dumps, one after the other; `known` lines were numbered before, `total` with this chunk's. */
export function sequence(coded: Uint32Array, known: number, total: number): Int32Array {
  const after = new Int32Array(total).fill(-1);
  const numbers = new Int32Array(coded.length);
  let before = -1;
  let fresh = known;
  for (let i = 0; i < coded.length; i++) {
    const code = coded[i]!;
    const follower = before < 0 ? -1 : after[before]!;
    let number: number;
    if (code === 0) number = follower < 0 ? before + 1 : follower;
    else if (code === 1) number = fresh;
    else number = before + unzigzag(code - 2);
    if (before >= 0) after[before] = number;
    if (number >= fresh) fresh = number + 1;
    numbers[i] = before = number;
  }
  return numbers;
}
