/** Where lines came from: the user's source beside the panes, and the pass that last changed each line. */

import type { Analysis } from "./analysis";
import { type Blamed, Blames, noEarlier } from "./blame";
import type { Compare, Spot } from "./compare";
import type { Place, Stage, Trace } from "./dumps";
import { plural } from "./dom";
import { absent } from "./panels";
import { SourcePane } from "./source";

/** What is asked of the view. */
export interface TracingView {
  readonly element: HTMLElement;
  readonly compare: Compare;
  readonly left: Stage;
  readonly right: Stage;
  /** Of a side the lowering and the number of its stage. */
  of(side: "left" | "right"): { readonly trace: Trace; readonly stage: number };
  readonly blaming: boolean;
  /** Show a line of a stage, beside the pass before. */
  goTo(trace: Trace, stage: number, line: number): void;
  /** What is known of lines has changed. */
  redraw(): void;
  say(text: string): void;
}

export class Tracing {
  private readonly source: SourcePane;
  private blames: Blames;
  private closed = false;
  /** What is said of the line of the cursor, whose source is not here. */
  private elsewhere = "";

  constructor(
    private readonly analysis: Analysis,
    private readonly shown: TracingView,
    root: Document | ShadowRoot,
  ) {
    this.source = new SourcePane(analysis, root, { chosen: (place) => this.fromSource(place) });
    this.blames = new Blames(analysis);
  }

  /** More texts are here. The source is there from the start, and whichever texts come first; `side` is its place. */
  take(side: HTMLElement): void {
    this.blames = new Blames(this.analysis);
    this.source.take();
    if (this.source.useful && !this.source.element.isConnected) side.append(this.source.element);
  }

  /** For each line of a stage the line of the source that it came from, or 0; null where nothing is known. */
  linesOf({ places }: Stage): ((line: number) => number) | null {
    if (!places) return null;
    return (line) => this.analysis.dumps.places[places[line] ?? -1]?.line ?? 0;
  }

  /** The cursor is on a line: its source is marked, and what else came from there. */
  moved(spot: Spot): void {
    if (this.source.focused) return;
    const { left, right, compare } = this.shown;
    const stage = spot.side === "left" ? left : right;
    const place = this.analysis.dumps.places[stage.places?.[spot.line] ?? -1];
    const elsewhere = !this.source.mark(place) && place ? `From ${this.named(place)}` : "";
    if (elsewhere !== this.elsewhere) this.shown.say(elsewhere);
    this.elsewhere = elsewhere;
    const tied = place && compare.mode === "linked";
    const of = (stage: Stage): Set<number> => new Set(tied ? this.analysis.places.from(stage, place) : []);
    compare.naming.link({ left: of(left), right: of(right) });
  }

  private named({ file, line, column }: Place): string {
    return `${this.analysis.dumps.sources[file]!.file}:${line}${column ? `:${column}` : ""}`;
  }

  private fromSource(place: Place): void {
    const { compare, left: before, right: after } = this.shown;
    const left = this.analysis.places.from(before, place);
    const right = this.analysis.places.from(after, place);
    compare.naming.link({ left: new Set(left), right: new Set(right) });
    const spots = [
      ...right.map((line) => ({ side: "right", line }) as const),
      ...left.map((line) => ({ side: "left", line }) as const),
    ];
    const first = spots.find((spot) => compare.find(spot));
    if (first) compare.reveal(first, "center");
    const beyond = spots.length > 0 && !first && compare.symbol ? `, not in @${compare.symbol}` : "";
    const none = after.ready ? `no location in ${after.label}` : absent(after, after);
    this.source.mark(place);
    this.shown.say(
      `${this.analysis.places.said(place)}: ${right.length > 0 ? `${plural(right.length, "line")} of ${after.label}` : none}${beyond}`,
    );
  }

  /** What the gutters say of each line; what is not known yet is drawn once it is. */
  blame(): Blamed {
    const { blames, shown } = this;
    const sides = { left: shown.of("left"), right: shown.of("right") };
    const alive = (): boolean => !this.closed && sides.right.trace === shown.of("right").trace && shown.blaming;
    if (!blames.known(sides)) {
      shown.element.dataset["blame"] = "computing";
      void blames.compute(sides, alive).then((done) => {
        if (!done) return;
        shown.element.dataset["blame"] = "ready";
        shown.redraw();
      });
    }
    return (side, line) => blames.last(sides[side], line);
  }

  /** Go to the pass that last changed a line, and when that is this pass, to the line before it. */
  follow(spot: Spot): void {
    const { trace, stage } = this.shown.of(spot.side);
    const version = this.blames.of(trace).back({ stage, line: spot.line });
    if (!version) return this.shown.say(noEarlier(trace, stage));
    this.shown.goTo(trace, version.stage, version.line);
  }

  close(): void {
    this.closed = true;
    this.source.destroy();
    this.source.element.remove();
  }
}
