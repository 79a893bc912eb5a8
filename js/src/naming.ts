/** The name at the cursor and where else it is; what is found; what is linked: the marks of both panes. */

import { Kind } from "./alignment";
import type { Analysis } from "./analysis";
import type { Segment } from "./diff";
import type { Stage } from "./dumps";
import { nameAt, nameBeside } from "./names";
import { type Marks, type LookedAt, NO_MARKS } from "./overlay";
import type { Pane } from "./pane";

/** What is asked of the panes. */
export interface NamingView {
  readonly panes: readonly [Pane, Pane];
  readonly active: Pane;
  readonly mode: "absent" | "alone" | "split" | "unified" | "linked";
  /** The two stages; null when there are none. */
  readonly stages: Readonly<Record<"left" | "right", Stage>> | null;
  readonly parts: readonly [left: Segment, right: Segment];
  spot(pane: Pane, row: number): { readonly side: "left" | "right"; readonly line: number };
}

export interface Linked {
  readonly left: ReadonlySet<number>;
  readonly right: ReadonlySet<number>;
}

export class Naming {
  private marks: Marks = NO_MARKS;
  /** What the name at the cursor is called in the other pane. */
  private beside: string | null = null;
  private linked: Linked = { left: new Set(), right: new Set() };

  constructor(
    private readonly analysis: Analysis,
    private readonly shown: NamingView,
  ) {}

  /** The marks of a text that nobody has pointed into yet. */
  get fresh(): Marks {
    return { ...NO_MARKS, query: this.marks.query };
  }

  /** Other texts are there: names and links mean nothing any more. */
  forget(): void {
    this.marks = { ...this.marks, name: null };
    this.linked = { left: new Set(), right: new Set() };
  }

  /** The cursor is at a place of the active pane. */
  at(pane: Pane, line: number, column: number): void {
    const text = pane.lineText;
    const found = nameAt(text, column);
    this.marks = { ...this.marks, name: found && { name: found.name, ...this.scope(pane, line, found.name) } };
    this.beside = found && this.nameBeside(pane, line, text, found);
    this.remark();
  }

  /** The lines in which a name means the same: its function; symbols mean the same everywhere. */
  private scope(pane: Pane, row: number, name: string): { from: number; to: number } {
    const { stages, mode, parts } = this.shown;
    const all = { from: 0, to: pane.view.state.doc.lines };
    if (name[0] === "@" || !stages || mode === "unified") return all;
    const spot = this.shown.spot(pane, row);
    const first = parts[spot.side === "left" ? 0 : 1].from;
    const segment = this.analysis
      .segments(stages[spot.side])
      .find(({ from, to }) => spot.line >= from && spot.line < to);
    return segment ? { from: segment.from - first, to: segment.to - first } : all;
  }

  set(marks: Partial<Pick<Marks, "query" | "words">>): void {
    this.marks = { ...this.marks, ...marks };
    this.remark();
  }

  /** Mark lines of the dumps as linked with what the reader points at. */
  link(linked: Linked): void {
    this.linked = linked;
    this.remark();
  }

  private remark(): void {
    const { panes, active } = this.shown;
    for (const pane of panes) {
      if (!pane.content) continue;
      const { column } = pane.content;
      const linked = new Set<number>();
      if (this.linked.left.size + this.linked.right.size > 0) {
        for (let row = 0; row < column.lines.length; row++) {
          if (this.linked.left.has(column.left[row]!) || this.linked.right.has(column.right[row]!)) linked.add(row);
        }
      }
      const { name } = this.marks;
      const own = name && (pane === active || name.name[0] === "@");
      pane.mark({ ...this.marks, name: own ? name : name && this.mirrored(name, pane), linked });
    }
  }

  /** What the other pane calls the same value: known where the line has a counterpart that differs in names only. */
  private nameBeside(pane: Pane, line: number, text: string, found: { name: string; from: number }): string | null {
    if (found.name[0] === "@" || !pane.content) return found.name;
    const { kinds, mates } = pane.content.column;
    if (kinds[line] === Kind.Changed || mates[line]! < 0) return null;
    return nameBeside(text, found.from, this.analysis.text(mates[line]!));
  }

  /** The same name in the other pane, in the function of the same name. */
  private mirrored(name: LookedAt, pane: Pane): LookedAt | null {
    const { stages, mode, panes, parts } = this.shown;
    if (!stages || mode !== "split") return name;
    if (!this.beside) return null;
    const [here, there] = pane === panes[0] ? (["right", "left"] as const) : (["left", "right"] as const);
    const at = (side: "left" | "right"): number => parts[side === "left" ? 0 : 1].from;
    const own = this.analysis.segments(stages[here]).find(({ from }) => from === name.from + at(here));
    const other = own && this.analysis.segments(stages[there]).find((segment) => segment.name === own.name);
    return other ? { name: this.beside, from: other.from - at(there), to: other.to - at(there) } : null;
  }
}
