/** The pass diff: state in, panes out. This module is the bundle; a host calls `render`. */

import type { Origin } from "./anchors";
import { Analysis } from "./analysis";
import { Beyond } from "./beyond";
import { Choice, uncover } from "./choice";
import { Breath } from "./codec";
import { Compare, type Spot } from "./compare";
import { Copies } from "./copies";
import type { Dumps, Stage, Trace } from "./dumps";
import { Asker } from "./ask";
import { Dialogs } from "./dialogs";
import { h, OWN_KEYS } from "./dom";
import { Experiments } from "./experiments/main";
import { comparison } from "./experiments/outcome";
import { Reducing } from "./reducing/main";
import { Inside } from "./inside";
import { onKey } from "./keys";
import { LinkedColumns } from "./linked/main";
import { Passes } from "./passes";
import { type Changes, type Model, Store } from "./model";
import { files, type Painter, painterOf } from "./files";
import { mounted, type View } from "./mount";
import { Ops, type Shown as OpsShown } from "./ops/main";
import { type NotedLine, Notes } from "./notes";
import { facts, failure, operations, title } from "./panels";
import type { Query } from "./query";
import { Room } from "./room";
import { type Reader, Search } from "./searching";
import { coming, statusOf } from "./status";
import type { ComparisonOutcome } from "./schema";
import style from "./style.css?inline";
import { Toolbar } from "./toolbar";
import { Tracing } from "./tracing";
import { Unpacker } from "./unpack";
import { banner } from "./verdict";
import { copyDump, saveDump } from "./taking";

export class Viewer implements View {
  readonly element: HTMLElement;
  readonly store: Store;
  readonly toolbar: Toolbar;
  readonly passes: Passes;
  compare!: Compare;
  private readonly head = h("div", { class: "irw-head" });
  private readonly titles = h("div", { class: "irw-titles" });
  readonly main: HTMLElement;
  readonly room: Room;
  private readonly status = h("div", { class: "irw-status", role: "status" });
  private readonly operations: HTMLDetailsElement;
  private readonly stops: (() => void)[] = [];
  private tracing!: Tracing;
  private analysis!: Analysis;
  readonly choice: Choice;
  private readonly found: Search;
  private readonly asker: Asker | null;
  private readonly beyond: Beyond;
  private at: Spot | null = null;
  private headOf: Trace | null = null;
  private closed = false;
  private readonly unpacker = new Unpacker();
  /** Dumps are taken up one after the other. */
  private opening: Promise<void> = Promise.resolve();

  readonly inside: Inside;
  private readonly copies: Copies;
  readonly experiments: Experiments;
  private readonly reducing: Reducing;
  readonly dialogs = new Dialogs(() => this.element);
  private readonly notes: Notes;
  readonly linked: LinkedColumns;
  private readonly ops: Ops;

  constructor(
    private readonly model: Model,
    private readonly root: Document | ShadowRoot,
    private readonly painter: Painter | null,
  ) {
    this.store = new Store(model, (keys) => void this.changed(keys));
    this.choice = new Choice(this.store, () => this.analysis.dumps);
    this.inside = new Inside(model, this.store, (text) => this.say(text));
    this.copies = new Copies(model, this.store, this);
    this.asker = model.send ? new Asker(model, () => this.say("Still waiting for Python")) : null;
    this.found = new Search(this.store);
    this.beyond = new Beyond(this, this.asker);
    this.toolbar = new Toolbar(this.store, {
      unified: () => this.room.unified,
      layout: () => this.room.toggle(),
      search: (step) => this.nextHit(step),
      columns: () => this.linked.toggle(),
      link: () => void this.beyond.copyLink(),
      notes: () => this.note(),
      tab: this.asker && (() => void this.beyond.openTab()),
      full: () => void this.beyond.fullScreen(),
      last: () => void this.beyond.compareWithLast(),
      copy: () => void copyDump(this),
      save: () => saveDump(this),
      help: () => this.dialogs.help(),
      leave: () => this.focus(),
    });
    this.passes = new Passes(this.store, this, (stage, extend) => {
      if (!extend) return this.choice.go(stage);
      this.choice.choose(stage, "left");
      this.choice.pinned = true;
    });
    this.experiments = new Experiments(model, this.store, root, this);
    this.reducing = new Reducing(model, (text) => this.say(text));
    this.operations = h("details", { class: "irw-counts", toggle: () => this.drawOperations() });
    this.linked = new LinkedColumns(this.store, this, root);
    this.main = h("div", { class: "irw-main" }, this.titles, this.linked.element);
    this.room = new Room(this.store, this.main);
    this.ops = new Ops({
      reveal: (side, line) => void this.compare.reveal({ side, line }, "center"),
      open: this.dialogs.open,
    });
    this.element = h(
      "div",
      {
        class: "irw",
        role: "region",
        "aria-label": "Pass diff",
        keydown: (event: KeyboardEvent) => onKey(this, event),
      },
      this.head,
      this.toolbar.element,
      this.experiments.element,
      h("div", { class: "irw-body" }, this.passes.element, this.passes.bar, this.main, this.ops.panel.element),
      this.status,
      this.operations,
    );
    this.notes = new Notes(this.element, this.store, {
      go: ({ trace, stage, line }) => this.goTo(trace, stage, line),
      open: this.dialogs.open,
      say: (text) => this.say(text),
    });
  }

  async start(): Promise<void> {
    await this.open();
    const observer = new ResizeObserver(() => this.measure());
    observer.observe(this.main);
    this.stops.push(() => observer.disconnect(), this.beyond.followLinks());
    this.notes.recall();
    this.experiments.recall();
  }

  /** How much room there is. */
  private measure(): void {
    const before = this.room.name;
    this.room.measure();
    if (this.passes.measure()) this.passes.draw();
    if (before !== this.room.name && this.compare) {
      this.toolbar.draw();
      this.drawPanes();
    } else this.compare?.resized();
  }

  /** Take up the dumps that are there now. */
  private open(): Promise<void> {
    this.opening = this.opening.then(async () => {
      const { data } = this.store;
      if (this.closed || data.length === 0) return;
      let more = this.unpacker.continues(data);
      for await (const dumps of this.unpacker.take(data)) {
        if (this.closed) return;
        if (more) await this.extend(dumps);
        else await this.begin(dumps);
        more = true;
      }
      this.fillTimeline();
    });
    return this.opening;
  }

  /** More dumps of the same lowerings: what is shown stays, unless it was not there before. */
  private async extend(dumps: Dumps): Promise<void> {
    const before = [this.left, this.right];
    this.analysis.dumps = dumps;
    this.passes.take(this.analysis, dumps.traces);
    this.tracing.take(this.passes.element);
    const same = [this.left, this.right].every(
      (now, i) => now.lines === before[i]!.lines && now.lost === before[i]!.lost,
    );
    if (same) {
      this.search();
      return this.drawStatus();
    }
    await this.analysis.prepare(this.left, this.right, new Breath());
    if (!this.closed) this.draw();
  }

  private async begin(dumps: Dumps): Promise<void> {
    this.analysis = new Analysis(dumps);
    this.passes.take(this.analysis, dumps.traces);
    this.compare?.destroy();
    this.tracing?.close();
    this.room.measure();
    this.passes.measure();
    this.compare = new Compare(this.analysis, this.root, {
      source: (stage) => this.tracing.linesOf(stage),
      moved: (spot) => this.moved(spot),
      blamed: (spot) => this.tracing.follow(spot),
      noted: (spot) => this.note(spot),
    });
    this.main.append(this.compare.element);
    this.tracing = new Tracing(this.analysis, this, this.root);
    this.tracing.take(this.passes.element);
    await this.analysis.prepare(this.left, this.right, new Breath());
    if (this.closed) return;
    this.draw();
    this.element.dataset["ready"] = "true";
  }

  // What is shown

  get traces(): readonly Trace[] {
    return this.choice.traces;
  }

  get trace(): Trace {
    return this.choice.trace;
  }

  get left(): Stage {
    return this.choice.left;
  }

  get right(): Stage {
    return this.choice.right;
  }

  get here(): Origin | null {
    return this.compare.place;
  }

  get apart(): boolean {
    return this.choice.apart;
  }

  of(side: "left" | "right"): { readonly trace: Trace; readonly stage: number } {
    return this.choice.of(side);
  }

  choose(stage: number, which: "both" | "right"): void {
    this.choice.choose(stage, which);
  }

  pair(trace: number, against: number, left: number, right: number): void {
    this.choice.pair(trace, against, left, right);
  }

  pin(): void {
    this.choice.pin();
    const { pinned, right } = this.choice;
    this.say(pinned ? `Left side held at ${this.store.get("right")} ${right.label}` : "Left side follows");
  }

  private async changed(keys: Changes): Promise<void> {
    if (this.closed) return;
    if (keys.has("experiments") && this.analysis) this.experiments.changed();
    if (keys.has("right") && !keys.has("columns")) this.linked.put(this.store.get("right"));
    if (keys.has("data")) return this.open(); // also while the first dumps are being read: they are not all of it
    if (!this.analysis) return;
    const another = keys.has("trace") || keys.has("against");
    if (another) this.choice.moved();
    if (another) this.fillTimeline();
    const only = (...names: string[]): boolean => [...keys].every((key) => names.includes(key));
    if (only("query", "search_case", "search_word", "search_regex")) this.search();
    else if (only("experiments")) return;
    else if (only("passes", "by_time", "rail")) this.passes.draw();
    else if (only("ops")) {
      this.passes.draw();
      this.toolbar.draw();
      this.drawOps();
    } else this.draw();
  }

  private draw(): void {
    const { store } = this;
    this.drawHead();
    this.experiments.draw();
    this.toolbar.traces(this.traces, store.get("trace"), store.get("against"));
    const names = new Set(
      [...this.analysis.segments(this.left), ...this.analysis.segments(this.right)].map(({ name }) => name),
    );
    names.delete("");
    if (store.get("symbol")) names.add(store.get("symbol"));
    this.toolbar.symbols([...names], store.get("symbol"));
    this.drawPanes();
    this.linked.draw();
    this.search();
    this.drawStatus();
    this.drawOperations();
    this.drawOps();
  }

  /** What there is to say of the lowering; drawn once, so that what the reader has opened stays open. */
  private drawHead(): void {
    const { trace } = this;
    if (this.headOf === trace) return;
    this.headOf = trace;
    const line = facts(trace);
    const left = files(trace.attachments, this.painter, this.dialogs.open);
    if (left) line.append(left);
    const show = (stage: number): void => this.choice.go(stage);
    const failed = failure(trace);
    failed?.append(this.reducing.at(this.store.get("trace")));
    const both = this.model.get("compared") as ComparisonOutcome | null | undefined;
    const beside = both ? comparison(both, (left, right) => this.choice.pair(0, 1, left, right)) : null;
    this.head.replaceChildren(line, ...[beside, banner(trace, show), failed].filter((box) => box !== null));
  }

  private drawPanes(): void {
    const { store } = this;
    const [left, right] = [store.get("left"), store.get("right")];
    this.compare.show({
      left: this.left,
      right: this.right,
      titles: [`${left} ${this.left.label}`, `${right} ${this.right.label}`],
      blame: store.get("blame") ? this.tracing.blame() : undefined,
      note: this.notes.all.length > 0 ? (spot) => this.notes.on(this.analysis, this.lineOf(spot)) : undefined,
      ignoreRenumbering: store.get("ignore_renumbering"),
      symbol: store.get("symbol"),
      layout: this.room.name,
      wrap: store.get("wrap"),
      fold: store.get("fold"),
    });
    const { mode } = this.compare;
    this.titles.dataset["mode"] = mode;
    this.titles.dataset["layout"] = this.room.name;
    this.toolbar.last.hidden = !(this.asker && this.model.get("last") && this.traces.length === 1);
    const of = this.apart ? [this.choice.leftTrace.title, this.trace.title] : ["", ""];
    this.titles.replaceChildren(
      ...(mode === "alone" || mode === "absent" ? [] : [title("left", left, this.left, of[0]!)]),
      title("right", right, this.right, of[1]!, ...this.buttons()),
    );
  }

  /** What can be done with the stage on the right. */
  private buttons(): HTMLElement[] {
    const asks = [this.inside, this.copies].filter(({ there }) => there).map((one) => one.button());
    return [...asks, ...this.experiments.buttons(this.right)];
  }

  private drawStatus(): void {
    if (this.linked.on) return this.status.replaceChildren(h("span", {}, this.linked.said));
    const { compare, left, right } = this;
    const [said, rest] = statusOf(this.analysis, compare, left, right, this.trace);
    const all = [said!, this.ops.sentence(this.opsShown), rest!];
    const bar = coming(this.trace);
    this.status.replaceChildren(...all.filter(Boolean).map((text) => h("span", {}, text)), ...(bar ? [bar] : []));
  }

  private drawOps(): void {
    this.ops.draw(this.opsShown, this.store.get("ops"));
  }

  private get opsShown(): OpsShown {
    const { analysis, left, right } = this;
    return { analysis, left, right, parts: this.compare.parts };
  }

  private drawOperations(): void {
    this.operations.replaceChildren(h("summary", { ...OWN_KEYS }, "Operations"));
    if (this.operations.open) this.operations.append(operations(this.opsShown));
  }

  /** For each stage, on how many lines the text that is looked for was found. */
  get hits(): readonly number[] {
    return this.found.counts;
  }

  /** Count what passes have changed, a little at a time. */
  private fillTimeline(): void {
    const { trace } = this;
    this.passes.fill(() => {
      if (trace.stages.every(({ ready }) => ready)) this.element.dataset["timeline"] = "true";
    });
  }

  // Search

  private search(): void {
    this.toolbar.draw();
    this.found.update(this.analysis, this.trace);
    this.toolbar.say(this.found.said(this.reader));
    this.compare.naming.set({ query: this.found.query });
    this.linked.draw();
    this.passes.draw();
  }

  get reader(): Reader {
    const line = this.at?.side === "right" ? this.at.line : -1;
    return { trace: this.trace, stage: this.store.get("right"), line };
  }

  /** To the next line found, through all passes. */
  nextHit(step: 1 | -1): void {
    const hit = this.found.next(this.reader, step);
    if (!hit) return;
    if (hit.stage !== this.store.get("right")) this.choose(hit.stage, "both");
    this.reach({ side: "right", line: hit.line }, "cursor");
    queueMicrotask(() => this.linked.reveal(this.right, hit.line));
  }

  get query(): Query {
    return this.found.query;
  }

  // Places

  private moved(spot: Spot): void {
    this.at = spot;
    if (this.store.get("query")) this.toolbar.say(this.found.said(this.reader));
    this.tracing.moved(spot);
  }

  private reach(spot: Spot, how: "cursor" | "focus"): void {
    uncover(this.store, this.analysis, this.choice[spot.side], spot.line);
    queueMicrotask(() => this.compare.reveal(spot, how));
  }

  /** Show a line of a stage of a lowering, beside the pass before. */
  goTo(trace: Trace, stage: number, line: number): void {
    this.choice.goTo(trace, stage);
    this.reach({ side: "right", line }, "focus");
  }

  /** Show a line of the stage before the one on the right. */
  goBefore(line: number): void {
    this.choice.goBefore();
    this.reach({ side: "left", line }, "focus");
  }

  get lines(): Analysis {
    return this.analysis;
  }

  focus(): void {
    this.passes.list.element.focus();
  }

  private lineOf({ side, line }: Spot): NotedLine {
    return { ...this.of(side), line };
  }

  get blaming(): boolean {
    return this.store.get("blame");
  }

  redraw(): void {
    this.drawPanes();
  }

  /** Write on a line: that of the cursor, if no other is meant. */
  note(spot = this.at): void {
    const on = spot && this.lineOf(spot);
    this.notes.open(this.analysis, on?.trace.stages[on.stage]?.lines[on.line] === undefined ? null : on);
  }

  followCursor(): void {
    if (this.at) this.tracing.follow(this.at);
  }

  // The rest

  say(text: string): void {
    this.drawStatus();
    this.status.append(h("span", { class: "irw-said" }, text));
  }

  toggleOperations(): void {
    this.operations.open = !this.operations.open;
  }

  /** What each pass costs. */
  costTable(): void {
    this.dialogs.costTable(this.analysis, this.trace, (stage) => this.choice.go(stage));
  }

  close(): void {
    this.closed = true;
    this.passes.close();
    for (const stop of this.stops) stop();
    this.store.close();
    this.inside.close();
    this.copies.close();
    this.experiments.end();
    this.reducing.end();
    this.asker?.close();
    this.linked.destroy();
    this.compare?.destroy();
    this.tracing?.close();
  }
}

export const render = mounted(style, "these dumps", ({ model, el, host }) => {
  const root = el.getRootNode();
  return new Viewer(model, root instanceof ShadowRoot ? root : document, painterOf(model, host));
});
