/** Lowerings made of lines, for tests that need no Python. */

import type { Facts } from "../src/columns";
import type { Dumps, Stage } from "../src/dumps";
import { Shape } from "../src/shape";

/** What Python would say of a line of ASCII: names are `%x`, symbols `func @f`, operations words with a dot. */
export function facts(line: string): Facts {
  const spans = (pattern: RegExp) =>
    [...line.matchAll(pattern)].map(({ index, 0: all }) => ({ from: index, to: index + all.length }));
  const [operation] = spans(/(?<![\w."])[a-z]+\.\w+/g);
  return {
    renumbered: spans(/(?<=%)\w+/g),
    symbol: spans(/(?<=func @)\w+/g)[0] ?? null,
    operations: new Map([["mlir", operation ? { ...operation, dialect: "" } : null]]),
  };
}

/** A lowering whose stages have these lines; the lines are shapes without numbers. */
export function lowering(...texts: readonly (readonly string[])[]): Dumps {
  const table = [...new Set(texts.flat())];
  const blanks = new Map<string, number>();
  const shapes = table.map((line) => {
    const bytes = new TextEncoder().encode(line);
    return new Shape(bytes, 0, bytes.length, facts(line));
  });
  const blanked = Int32Array.from(shapes, (shape) => shape.blankId(new Int32Array(0), 0, blanks));
  const known = new Map<string, Int32Array>();
  const lines = (text: readonly string[]): Int32Array => {
    const key = text.join("\n");
    if (!known.has(key))
      known.set(
        key,
        Int32Array.from(text, (line) => table.indexOf(line)),
      );
    return known.get(key)!;
  };
  const stages = texts.map((text, i): Stage => ({
    name: `pass-${i}`,
    label: `pass-${i}`,
    step: "",
    language: "mlir",
    options: "",
    seconds: 0,
    scope: "module",
    part: "",
    syntax: "mlir",
    before: i - 1,
    check: "",
    ready: true,
    lost: false,
    changed: i === 0 || lines(text) !== lines(texts[i - 1]!),
    lines: lines(text),
    places: null,
  }));
  const trace = {
    name: "t",
    target: "x",
    title: "t → x",
    stages,
    verdict: null,
    failure: null,
    facts: [],
    diagnostics: [],
    attachments: [],
  };
  return {
    table,
    blanked,
    shapeOf: Int32Array.from(table.keys()),
    shapes,
    traces: [trace],
    sources: [],
    places: [],
  };
}
