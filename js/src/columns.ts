/** Reads what `irwidget.views.columns` writes: what Python has found on the lines of each shape. */

import { varints } from "./codec";
import type { Extent } from "./diff";

/** An operation on a line, and what is to be put before it. */
export interface Operation extends Extent {
  readonly dialect: string;
}

/** What is known of the lines of a shape; extents are bytes of the shape. */
export interface Facts {
  /** The names that a pass may renumber, in order. */
  readonly renumbered: readonly Extent[];
  /** The name of the symbol that the line defines. */
  readonly symbol: Extent | null;
  /** Syntax -> the operation. */
  readonly operations: ReadonlyMap<string, Operation | null>;
}

const OPERATION = "shape.op.";
/** As in `irwidget.views.columns`. */
const DIALECTS = ["", "builtin.", "func."];

/** The facts of the shapes of a chunk, from its sections: each call gives those of the next shape. */
export function factsOf(sections: ReadonlyMap<string, Uint8Array>): () => Facts {
  const renumbered = numbers(sections, "shape.renumbered");
  const symbols = numbers(sections, "shape.symbol");
  const operations = [...sections.keys()]
    .filter((name) => name.startsWith(OPERATION))
    .map((name) => [name.slice(OPERATION.length), numbers(sections, name)] as const);
  return () => ({
    renumbered: extents(renumbered),
    symbol: extent(symbols),
    operations: new Map(operations.map(([syntax, column]) => [syntax, operation(column)])),
  });
}

/** The numbers of a column, one after the other. */
type NextNumber = () => number;

function numbers(sections: ReadonlyMap<string, Uint8Array>, name: string): NextNumber {
  const values = varints(sections.get(name) ?? new Uint8Array(0));
  let at = 0;
  return () => values[at++] ?? 0;
}

function extents(column: NextNumber): Extent[] {
  let end = 0;
  return Array.from({ length: column() }, () => {
    const from = end + column();
    return { from, to: (end = from + column()) };
  });
}

function extent(column: NextNumber): Extent | null {
  const from = column() - 1;
  return from < 0 ? null : { from, to: from + column() };
}

function operation(column: NextNumber): Operation | null {
  const found = extent(column);
  return found && { ...found, dialect: DIALECTS[column()] ?? "" };
}
