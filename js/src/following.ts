/** Two panes with wrapped lines that scroll as one. */

import type { Hunk } from "./diff";
import type { Pane } from "./pane";

export type Side = "a" | "b";

/** The row beside one of a side: the same line of the other, or, inside of a change, the first equal line after it. */
function beside(hunks: readonly Hunk[], line: number, here: Side, there: Side): { own: number; other: number } {
  let [ownEnd, otherEnd, row] = [0, 0, -1];
  for (const hunk of hunks) {
    if (hunk[`${here}0`] > line) break;
    [ownEnd, otherEnd] = [hunk[`${here}1`], hunk[`${there}1`]];
    if (ownEnd > line) row = ownEnd;
  }
  if (row < 0) row = line;
  return { own: row, other: otherEnd + row - ownEnd };
}

function topOf({ view }: Pane, row: number): number {
  const { doc } = view.state;
  return view.lineBlockAt(doc.line(Math.min(Math.max(row, 0) + 1, doc.lines)).from).top;
}

/**
 * Heights of wrapped lines out of sight are estimates, and differ between the panes: the line at the top decides.
 * What comes into sight is measured then, so it takes a few frames to settle. `hunks` says how the texts differ, and
 * null when they are gone.
 */
export function followByLine(from: Pane, to: Pane, here: Side, hunks: () => readonly Hunk[] | null, frames = 3): void {
  const known = hunks();
  if (frames === 0 || !known || !from.content || !to.content) return;
  const { scrollTop } = from.view.scrollDOM;
  const block = from.view.lineBlockAtHeight(scrollTop);
  const line = from.view.state.doc.lineAt(block.from).number - 1;
  const { own, other } = beside(known, line, here, here === "a" ? "b" : "a");
  to.view.scrollDOM.scrollTop = scrollTop + topOf(to, other) - topOf(from, own);
  requestAnimationFrame(() => followByLine(from, to, here, hunks, frames - 1));
}
