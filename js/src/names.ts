/** Names on a line of IR: which one is under the cursor, whether the line defines it, and what it is elsewhere. */

const NAME = /%(?:"[^"]*"|[\w$.-]+)|\^\w+|@(?:"[^"]*"|[\w$.-]+)/g;

/** The name that stands where `name` stands in a line that is equal apart from renumbering. */
export function nameBeside(line: string, from: number, other: string): string | null {
  const at = [...line.matchAll(NAME)].findIndex((found) => found.index === from);
  return [...other.matchAll(NAME)][at]?.[0] ?? null;
}

/** The name under a column of a line: `%x`, `^bb1`, `@f`, or "". */
export function nameAt(line: string, column: number): { name: string; from: number } | null {
  for (const found of line.matchAll(NAME)) {
    if (found.index > column) return null;
    if (column <= found.index + found[0].length) return { name: found[0], from: found.index };
  }
  return null;
}

/** Whether a line defines a name; `symbol` is the symbol that it defines. */
export function defines(line: string, name: string, symbol: string): boolean {
  const at = line.indexOf(name);
  if (at < 0) return false;
  if (name[0] === "@") return symbol === name.slice(1);
  if (name[0] === "^") return line.trimStart().startsWith(name);
  const equals = line.indexOf("=");
  // `%x = ...`, `%x:2 = ...`, or the argument of a function, block or loop: `%x: type`.
  if (equals > 0 && /^\s*%/.test(line) && wordIn(line.slice(0, equals), name)) return true;
  // MLIR writes `%x: type` where it names a value and `%x : type` where it uses one.
  const rest = line.slice(at + name.length);
  if (/^:\s/.test(rest) && /[(,]\s*$/.test(line.slice(0, at))) return true;
  return /^define\b/.test(line) && /^\s*[,)]/.test(rest);
}

/** Whether a name occurs as a whole word. */
export function wordIn(line: string, name: string): boolean {
  for (let at = line.indexOf(name); at >= 0; at = line.indexOf(name, at + 1)) {
    if (!/[\w$.-]/.test(line[at + name.length] ?? "")) return true;
  }
  return false;
}
