/** What lines came from: operations of the source; a line of it where its operations are not told apart. */

import type { Dumps, Place, Stage } from "./dumps";

/** What begins at a place: a name with its dots, where it begins there; part of one; a number, or signs that stand together. */
const TOKEN =
  /(?<![\p{L}\p{N}_.])[\p{L}_][\p{L}\p{N}_.]*|(?<![\p{L}\p{N}_])[\p{L}\p{N}_]+|[-+*/%@&|^~<>=!]+|[^\s\p{L}\p{N}_]/uy;

/** An operation in the text of a line of the source. */
export interface Operation {
  readonly place: Place;
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

export class Places {
  private readonly ofLines = new Map<string, Place[]>();
  private readonly numbers = new Map<string, number>();
  private readonly texts = new Map<number, readonly string[]>();
  private readonly rows = new WeakMap<Int32Array, Map<string, number[]>>();

  constructor(readonly dumps: Dumps) {
    const seen = new Set<string>();
    for (const place of dumps.places) {
      if (seen.has(keyOf(place))) continue;
      seen.add(keyOf(place));
      const line = this.ofLines.get(lineOf(place));
      if (line) line.push(place);
      else this.ofLines.set(lineOf(place), [place]);
    }
    const all = [...this.ofLines.values()].flat();
    all.sort((a, b) => a.file - b.file || a.line - b.line || a.column - b.column);
    all.forEach((place, i) => this.numbers.set(keyOf(place), i + 1));
  }

  /** A number of its own for each: neighbours have numbers that follow each other. 0 for what nothing came from. */
  numberOf(place: Place | undefined): number {
    return (place && this.numbers.get(keyOf(place))) ?? 0;
  }

  /** What something came from on a line of the source. */
  on(file: number, line: number): readonly Place[] {
    return this.ofLines.get(lineOf({ file, line })) ?? [];
  }

  /** The operations of a line of the source in its text; those whose columns are not known, or not of this text, are not. */
  operations(file: number, line: number): Operation[] {
    const text = this.text(file)[line - 1] ?? "";
    return this.on(file, line).flatMap((place) => {
      const from = (TOKEN.lastIndex = place.column - 1);
      const found = from >= 0 && TOKEN.exec(text);
      return found ? [{ place, text: found[0], from, to: TOKEN.lastIndex }] : [];
    });
  }

  /** A place in words. */
  said({ file, line, column }: Place): string {
    const operation = this.operations(file, line).find(({ place }) => place.column === column);
    return `Line ${line}${operation ? `, ${operation.text}` : ""}`;
  }

  private text(file: number): readonly string[] {
    let lines = this.texts.get(file);
    if (!lines) this.texts.set(file, (lines = this.dumps.sources[file]?.text?.split("\n") ?? []));
    return lines;
  }

  /** The lines of a stage that came from a place, in order: from its operation, or where that is not known its line. */
  from({ places }: Stage, place: Place): readonly number[] {
    if (!places) return [];
    let known = this.rows.get(places);
    if (!known) this.rows.set(places, (known = this.index(places)));
    const of = (key: string): readonly number[] | undefined => known.get(key);
    if (place.column === 0) return of(lineOf(place)) ?? [];
    return of(keyOf(place)) ?? of(keyOf({ ...place, column: 0 })) ?? [];
  }

  private index(places: Int32Array): Map<string, number[]> {
    const known = new Map<string, number[]>();
    places.forEach((number, row) => {
      const place = this.dumps.places[number];
      if (!place) return;
      for (const key of [lineOf(place), keyOf(place)]) {
        const rows = known.get(key);
        if (rows) rows.push(row);
        else known.set(key, [row]);
      }
    });
    return known;
  }
}

const lineOf = ({ file, line }: Pick<Place, "file" | "line">): string => `${file}:${line}`;
const keyOf = ({ file, line, column }: Place): string => `${file}:${line}:${column}`;
