/**
 * What the viewer makes of packed lowerings, for tests/views/test_diff.py: a line with the bytes in base64 comes in, and
 * a line of JSON goes out with what it says of every stage beside the one before, and of every line of the table.
 */

import { Analysis } from "../src/analysis";
import { within } from "../src/diff";
import type { Dumps, Stage, Trace } from "../src/dumps";
import { sentence } from "../src/ops/changes";
import { costOf } from "../src/ops/costs";
import { outline } from "../src/ops/outline";
import { region } from "../src/ops/region";
import { Unpacker } from "../src/unpack";

declare const process: { readonly stdin: AsyncIterable<Uint8Array> };

async function* input(): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of process.stdin) {
    const lines = (text + decoder.decode(bytes)).split("\n");
    text = lines.pop()!;
    yield* lines;
  }
}

async function unpacked(coded: string): Promise<Dumps> {
  let last: Dumps | null = null;
  for await (const dumps of new Unpacker().take(Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0))))
    last = dumps;
  return last!;
}

function pairs(analysis: Analysis, { stages }: Trace) {
  return stages.flatMap((right, i) => {
    const left = stages[right.before];
    if (!left) return [];
    const part = analysis.beside(left, right);
    const whole = { from: 0, to: right.lines.length };
    const [exact, blank] = [false, true].map((ignored) => analysis.diff(left, right, ignored));
    return {
      left: right.before,
      right: i,
      delta: analysis.delta(left, right),
      part: [part.from, part.to],
      exact,
      blank,
      shown: within(blank!, part, whole),
    };
  });
}

/** What the pass between two stages did. */
function said(analysis: Analysis, left: Stage, right: Stage): string {
  const all = ({ lines }: Stage) => ({ from: 0, to: lines.length });
  return sentence(analysis, { left, right, parts: [all(left), all(right)], hunks: [] });
}

for await (const coded of input()) {
  const dumps = await unpacked(coded);
  const analysis = new Analysis(dumps);
  const lines = dumps.table.map((line, id) => ({
    line,
    blank: analysis.blankOf(id),
    symbol: analysis.symbolOf(id),
    operations: ["mlir", "llvm", "asm"].map((syntax) => analysis.operationOf(id, syntax)),
  }));
  const operations = dumps.traces.map(({ stages }) =>
    stages.map((stage) => {
      const ops = outline(analysis, stage, { from: 0, to: stage.lines.length });
      const functions = ops.flatMap(({ symbol, name }, i) => (symbol && name.endsWith(".func") ? [i] : []));
      return {
        tree: ops.map(({ depth, name }) => [depth, name]),
        // Of each function, which of its operations, by their numbers in it, use what which others have made.
        uses: functions.map((number) =>
          region(analysis, stage, ops, number).edges.map(([from, to]) => `${from}>${to}`),
        ),
        cost: costOf(analysis, stage),
        sentence: stages[stage.before] ? said(analysis, stages[stage.before]!, stage) : "",
      };
    }),
  );
  console.log(JSON.stringify({ operations, traces: dumps.traces.map((trace) => pairs(analysis, trace)), lines }));
}
