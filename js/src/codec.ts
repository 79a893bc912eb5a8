/** Reads what `irwidget.views.codec` writes: lines as shapes and numbers, and sequences of line numbers. */

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

/** The lines of a chunk, in order, a part at a time. */
export async function lines(
  shapes: Uint8Array, shapeOf: Uint32Array, coded: Uint32Array, breath: Breath, take: (lines: string[]) => void,
): Promise<void> {
  if (shapeOf.length === 0) return;
  const { starts, widths } = cutShapes(shapes);
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
    const to = starts[shape + 1]! - 1;
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
      const byte = shapes[from]!;
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
    out[end++] = NEWLINE;
    if (end >= PIECE) {
      flush();
      await breath.take();
    }
  }
  flush();
}

/** Where each shape starts (one entry more than there are), and how many numbers it has. */
function cutShapes(shapes: Uint8Array): { starts: number[]; widths: number[] } {
  const starts = [0];
  const widths: number[] = [];
  let width = 0;
  for (let i = 0; i <= shapes.length; i++) {
    if (shapes[i] === NUMBER) width++;
    if (i < shapes.length && shapes[i] !== NEWLINE) continue;
    starts.push(i + 1);
    widths.push(width);
    width = 0;
  }
  return { starts, widths };
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
