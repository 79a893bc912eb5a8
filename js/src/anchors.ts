/** Keeps the reader's place: the line at the top of a pane, and the cursor, over whatever is drawn anew. */

import { EditorSelection } from "@codemirror/state";
import type { Spot } from "./compare";
import type { Stage } from "./dumps";
import { LINE, type Pane } from "./pane";

/** A line of a pane, and how many pixels its top is below that of the pane. */
export interface Anchor {
  readonly spot: Spot;
  readonly offset: number;
}

/** A line of a stage, and how many pixels below the top of its pane it was. */
export interface Origin {
  readonly stage: Stage;
  readonly line: number;
  readonly offset: number;
}

export interface Kept {
  /** Where the reader is; null at the beginning. */
  readonly top: Origin | null;
  readonly cursor: { readonly stage: Stage; readonly line: number; readonly column: number } | null;
}

/** What is asked of the panes. */
export interface Panes {
  readonly panes: readonly [Pane, Pane];
  readonly active: Pane;
  spot(pane: Pane, row: number): Spot;
  stage(spot: Spot): Stage;
  find(spot: Spot): { pane: Pane; row: number } | null;
}

/** Frames for which a line has to stand still before it is let go, and after which it is in any case. */
const [STILL, SETTLING] = [3, 24];

export class Anchors {
  /** What was put in its place last, and where the reader had put it. */
  private last: { readonly anchor: Anchor; readonly origin: Origin } | null = null;
  /** How far the pane was scrolled when it was left there: it may have been too short to go all the way. */
  private settled = -1;
  /** Whether it is held there, because heights are not known yet. */
  private holding = false;
  private turn = 0;

  constructor(private readonly of: Panes) {}

  /** Where the reader is: where he has scrolled to, however often what is shown has changed since. */
  here(): Kept | null {
    const { panes, active } = this.of;
    if (!panes[1].content) return null;
    const head = active.content ? active.cursor : { line: 0, column: 0 };
    const spot = head.line + head.column > 0 ? this.of.spot(active, head.line) : null;
    return {
      top: this.top(panes[1]),
      cursor: spot && { stage: this.of.stage(spot), line: spot.line, column: head.column },
    };
  }

  private top(pane: Pane): Origin | null {
    const { scrollTop } = pane.view.scrollDOM;
    if (this.last && (this.holding || scrollTop === this.settled || this.stands(this.last.anchor)))
      return this.last.origin;
    if (scrollTop < LINE) return null;
    const top = this.at(pane);
    return top && { stage: this.of.stage(top.spot), line: top.spot.line, offset: top.offset };
  }

  private stands({ spot, offset }: Anchor): boolean {
    const found = this.of.find(spot);
    const now = found && heightOf(found.pane, visible(found.pane, found.row));
    return now !== null && Math.abs(now - offset) <= 2;
  }

  /** The first line of a pane that is in sight. */
  at(pane: Pane): Anchor | null {
    const { view } = pane;
    if (!pane.content || view.state.doc.length === 0) return null;
    const box = view.scrollDOM.getBoundingClientRect();
    const left = view.contentDOM.getBoundingClientRect().left;
    const position = view.posAtCoords({ x: Math.max(box.left, left) + 8, y: box.top + LINE / 2 }, false);
    const { doc } = view.state;
    const first = doc.lineAt(position).number;
    // The first that is whole, unless the one before it fills half of the pane.
    for (const number of [first, Math.min(first + 1, doc.lines)]) {
      const at = view.coordsAtPos(doc.line(number).from);
      const offset = at ? at.top - box.top : -LINE;
      if (offset >= -1 && offset < box.height / 2) return { spot: this.of.spot(pane, number - 1), offset };
    }
    const at = view.coordsAtPos(doc.line(first).from);
    return at && { spot: this.of.spot(pane, first - 1), offset: at.top - box.top };
  }

  /** Put the reader back; `carried` says where a line of a stage is now. */
  restore(kept: Kept, carried: (stage: Stage, line: number) => Spot | null): void {
    const { cursor, top } = kept;
    const at = cursor && carried(cursor.stage, cursor.line);
    const found = at && this.of.find(at);
    if (found) select(found.pane, found.row, cursor.column);
    const spot = top && carried(top.stage, top.line);
    if (spot) this.put({ spot, offset: top.offset }, top);
    else this.release();
  }

  /** Scroll until a line is where it should be, and hold it there while heights become known. */
  put(anchor: Anchor, origin: Origin | null = null): void {
    const turn = ++this.turn;
    this.last = origin && { anchor, origin };
    this.holding = origin !== null;
    this.scroll(anchor);
    let still = 0;
    const settle = (frames: number): void => {
      if (turn !== this.turn) return;
      still = this.adjusted(anchor) ? 0 : still + 1;
      if (frames > 0 && still < STILL) requestAnimationFrame(() => settle(frames - 1));
      else this.settle();
    };
    requestAnimationFrame(() => settle(SETTLING));
  }

  private settle(): void {
    this.holding = false;
    this.settled = this.of.panes[1].view.scrollDOM.scrollTop;
  }

  private scroll({ spot, offset }: Anchor): void {
    const found = this.of.find(spot);
    found?.pane.reveal(visible(found.pane, found.row), offset);
  }

  /** Whether the line had to be moved. */
  private adjusted(anchor: Anchor): boolean {
    const found = this.of.find(anchor.spot);
    if (!found?.pane.content) return false;
    const now = heightOf(found.pane, visible(found.pane, found.row));
    if (now === null) {
      this.scroll(anchor);
      return true;
    }
    if (Math.abs(now - anchor.offset) <= 1) return false;
    const { scrollDOM } = found.pane.view;
    const before = scrollDOM.scrollTop;
    scrollDOM.scrollTop += now - anchor.offset;
    return scrollDOM.scrollTop !== before;
  }

  /** The reader goes elsewhere: nothing is held any longer. */
  release(): void {
    this.turn++;
    this.last = null;
    this.settled = -1;
    this.holding = false;
  }
}

/** Pixels of a row below the top of the pane; null when it is not drawn. */
export function heightOf(pane: Pane, row: number): number | null {
  const { view } = pane;
  const { doc } = view.state;
  const at = view.coordsAtPos(doc.line(Math.min(row + 1, doc.lines)).from);
  if (!at) return null;
  return at.top - view.scrollDOM.getBoundingClientRect().top;
}

/** The row, or the last one before the fold that hides it. */
function visible(pane: Pane, row: number): number {
  const fold = pane.content?.column.folds.find(({ from, to }) => row >= from && row < to);
  return fold ? Math.max(fold.from - 1, 0) : row;
}

function select(pane: Pane, row: number, column: number): void {
  const { doc } = pane.view.state;
  const line = doc.line(Math.min(row + 1, doc.lines));
  pane.view.dispatch({ selection: EditorSelection.cursor(Math.min(line.from + column, line.to)) });
}
