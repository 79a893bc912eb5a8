/** Which words of a changed line differ from the line beside it. */

const WORD = /[%@^#!]?[\w$.]+|\s+|[^\w\s]/g;
/** Longer lines get no word marks: nobody reads them, and the table below grows with the square. */
const MOST = 160;
/** Below this share of common words two lines have nothing to do with each other. */
const ALIKE = 0.4;
/** Above this share of differing letters the whole line is new. */
const MOSTLY = 0.6;

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The spans of `line` that are not in `other`, or none when the two are hardly alike. */
export function differingWords(line: string, other: string): Span[] {
  if (line.length > 2000 || other.length > 2000) return [];
  const a = line.match(WORD) ?? [];
  const b = other.match(WORD) ?? [];
  if (a.length > MOST || b.length > MOST) return [];
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] =
        a[i] === b[j]
          ? best[(i + 1) * width + j + 1]! + 1
          : Math.max(best[(i + 1) * width + j]!, best[i * width + j + 1]!);
    }
  }
  if (best[0]! < ALIKE * Math.max(a.length, b.length)) return [];
  const spans: { from: number; to: number }[] = [];
  let at = 0;
  let j = 0;
  for (let i = 0; i < a.length; i++) {
    const word = a[i]!;
    while (j < b.length && a[i] !== b[j] && best[i * width + j] === best[i * width + j + 1]) j++;
    if (j < b.length && word === b[j] && best[i * width + j] === best[(i + 1) * width + j + 1]! + 1) {
      j++;
    } else {
      const last = spans.at(-1);
      if (last && last.to === at) last.to = at + word.length;
      else spans.push({ from: at, to: at + word.length });
    }
    at += word.length;
  }
  // Spaces and brackets make any two lines alike; what can be read decides.
  const readable = (text: string): number => text.replace(/\s/g, "").length;
  const differing = spans.reduce((sum, { from, to }) => sum + readable(line.slice(from, to)), 0);
  return differing > MOSTLY * readable(line) ? [] : spans;
}
