/** The operations of a dump as a tree: module, functions, loop nests, operations; found by how the text is indented. */

import type { Analysis } from "../analysis";
import type { Stage } from "../dumps";
import type { Extent } from "../diff";

export interface Op {
  /** The line that it begins on. */
  readonly line: number;
  /** `linalg.generic`; of a language without such names, what begins a function. */
  readonly name: string;
  /** The function or module that it defines, or "". */
  readonly symbol: string;
  /** The number of the operation that it is in; -1 for none. */
  readonly parent: number;
  readonly depth: number;
  /** Operations [its own number + 1, end) are inside of it. */
  end: number;
}

const INDENT = /^[ \t]*/;

/** The operations of some lines of a stage, those that hold others before these. */
export function outline(analysis: Analysis, stage: Stage, { from, to }: Extent): Op[] {
  const ops: Op[] = [];
  const open: { readonly number: number; readonly indent: number }[] = [];
  const close = (indent: number): void => {
    while (open.length > 0 && open.at(-1)!.indent >= indent) ops[open.pop()!.number]!.end = ops.length;
  };
  for (let line = from; line < to; line++) {
    const id = stage.lines[line]!;
    const name = analysis.operationOf(id, stage.syntax);
    const symbol = analysis.symbolOf(id);
    if (!name && !symbol) continue;
    const text = analysis.text(id);
    const indent = INDENT.exec(text)![0].length;
    close(indent);
    const parent = open.at(-1)?.number ?? -1;
    open.push({ number: ops.length, indent });
    const word = name || /[\w.]+/.exec(text)?.[0] || "";
    ops.push({ line, name: word, symbol, parent, depth: open.length - 1, end: 0 });
  }
  close(-1);
  return ops;
}

/** The operations directly inside of one; -1: the outermost. */
export function within(ops: readonly Op[], parent: number): number[] {
  const found: number[] = [];
  const end = parent < 0 ? ops.length : ops[parent]!.end;
  for (let i = parent + 1; i < end; i = ops[i]!.end) found.push(i);
  return found;
}
