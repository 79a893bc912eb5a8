/** What the view says in operations of the two stages that it shows. */

import type { Analysis } from "../analysis";
import { type Extent, within } from "../diff";
import { comparable, type Stage } from "../dumps";
import { type Compared, sentence } from "./changes";
import { OpsPanel, type PanelHooks } from "./panel";

/** Lines of both texts together beyond which operations are looked at only when somebody asks for them. */
const LONG = 100_000;

export interface Shown {
  readonly analysis: Analysis;
  readonly left: Stage;
  readonly right: Stage;
  /** The part of each that is shown. */
  readonly parts: readonly [left: Extent, right: Extent];
}

export class Ops {
  readonly panel: OpsPanel;
  /** What is drawn: the dumps, and what is shown of them. */
  private drawn: readonly unknown[] = [];

  constructor(hooks: PanelHooks) {
    this.panel = new OpsPanel(hooks);
    this.panel.element.hidden = true;
  }

  /** What the pass did, in a sentence; "" where that is not known exactly, or would take long. */
  sentence(shown: Shown): string {
    const { left, right } = shown;
    if (!comparable(left, right) || left.lines.length + right.lines.length > LONG) return "";
    return sentence(shown.analysis, { ...shown, hunks: [] });
  }

  /** Show the operations beside the panes, or take them away. */
  draw(shown: Shown, open: boolean): void {
    this.panel.element.hidden = !open;
    const { analysis, left, right, parts } = shown;
    const now = [analysis.dumps, left, right, ...parts.flatMap(({ from, to }) => [from, to])];
    if (!open || (now.length === this.drawn.length && now.every((one, i) => one === this.drawn[i]))) return;
    this.drawn = now;
    this.panel.show(analysis, compared(shown), this.sentence(shown));
  }
}

function compared({ analysis, left, right, parts }: Shown): Compared {
  const alike = comparable(left, right) && left.syntax === right.syntax && right.syntax !== "";
  const hunks = alike ? within(analysis.diff(left, right, true), parts[0], parts[1]) : [];
  return { left, right, parts, hunks };
}
