/** Reads what `irwidget.trace.codec` writes: lines as shapes and numbers, and sequences of line numbers. */

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

/** Columns of unsigned 32-bit numbers, one after the other, each as differences that wrap around. */
export function columns(bytes: Uint8Array, width: number): Uint32Array[] {
  const values = varints(bytes);
  const height = values.length / width;
  return Array.from({ length: width }, (_, k) => {
    const column = values.subarray(k * height, (k + 1) * height);
    for (let i = 0, value = 0; i < height; i++) column[i] = value += unzigzag(column[i]!);
    return column;
  });
}

/** The shapes of a chunk with each lone surrogate, which is no text, as the escape that Python shows for it. */
export function visible(shapes: Uint8Array): Uint8Array {
  const surrogate = (i: number): boolean => shapes[i] === 0xed && shapes[i + 1]! >= 0xa0;
  const made: number[] = [];
  let done = 0;
  for (let i = shapes.indexOf(0xed); i >= 0; i = shapes.indexOf(0xed, i + 1)) {
    if (!surrogate(i)) continue;
    const code = 0xd000 + ((shapes[i + 1]! & 63) << 6) + (shapes[i + 2]! & 63);
    for (; done < i; done++) made.push(shapes[done]!);
    for (const letter of `\\u${code.toString(16)}`) made.push(letter.charCodeAt(0));
    done = i + 3;
  }
  if (done === 0) return shapes;
  for (; done < shapes.length; done++) made.push(shapes[done]!);
  return Uint8Array.from(made);
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
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
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
