/** What is looked for in the lines, and where it is in one. */

import type { Extent } from "./diff";

export interface Query {
  readonly text: string;
  /** Whether the text is a regular expression. */
  readonly regex: boolean;
  /** Whether small letters and capitals differ. */
  readonly exact: boolean;
  /** Whether only whole words count. */
  readonly word: boolean;
}

export const NO_QUERY: Query = { text: "", regex: false, exact: false, word: false };

export function sameQuery(a: Query, b: Query): boolean {
  return a.text === b.text && a.regex === b.regex && a.exact === b.exact && a.word === b.word;
}

/** The pattern of a query; an error in words where it is none. */
export function patternOf({ text, regex, exact, word }: Query): RegExp | string {
  const source = regex ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  try {
    return new RegExp(word ? `(?<![\\w$])(?:${source})(?![\\w$])` : source, exact ? "g" : "gi");
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^Invalid regular expression: /, "") : String(error);
  }
}

/** Where the query occurs in a line from a column on; null when it does not. Finds nothing by a pattern that is none. */
export function matcher(query: Query): (line: string, from?: number) => Extent | null {
  const pattern = query.text ? patternOf(query) : "";
  if (typeof pattern === "string") return () => null;
  return (line, from = 0) => {
    pattern.lastIndex = from;
    for (let found = pattern.exec(line); found; found = pattern.exec(line)) {
      if (found[0]) return { from: found.index, to: found.index + found[0].length };
      pattern.lastIndex = found.index + 1; // nothing, as `a*` finds it, is nothing found
    }
    return null;
  };
}

/** Whether an answer for the text between the numbers of a line is one for the line. */
export function betweenNumbers({ text, regex, word }: Query): boolean {
  return !regex && !word && !/\d/.test(text);
}

/** Whether the letters of `wanted` occur in `name` in this order. */
export function fuzzy(name: string, wanted: string): boolean {
  let at = 0;
  for (const letter of wanted) {
    at = name.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
