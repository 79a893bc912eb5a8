/** The pass diff: state in, panes out. This module is the bundle; a host calls `render`. */

import { Analysis } from "./analysis";
import { Beyond } from "./beyond";
import { type Blamed, Blames, noEarlier } from "./blame";
import { Breath } from "./codec";
import { Compare, type Spot } from "./compare";
import { comparable, counterpart, type Dumps, nameOf, type Stage, stageAt, type Trace } from "./dumps";
import { Asker } from "./ask";
import { h, OWN_KEYS, plural, thousands } from "./dom";
import { Inside } from "./inside";
import { onKey } from "./keys";
import { cost, legend } from "./legend";
import { PassList } from "./list";
import { type Changes, type Model, Store } from "./model";
import { files, type Painter, painterOf } from "./files";
import { mounted, type View } from "./mount";
import { Ops, type Shown as OpsShown } from "./ops/main";
import { costs } from "./ops/table";
import { type NotedLine, Notes } from "./notes";
import { absent, facts, failure, help, operations, summary, title } from "./panels";
import { type Reader, Search } from "./searching";
import { SourcePane } from "./source";
import { splitter } from "./splitter";
import style from "./style.css?inline";
import { entries, Timeline } from "./timeline";
import { Toolbar } from "./toolbar";
import { Unpacker } from "./unpack";
import { banner } from "./verdict";
import { copyText, saveText } from "./export";

/** Pixels of two panes below which one column is easier to read. */
const ROOM_FOR_TWO = 800;
/** Pixels of the view below which the list of passes is a rail. */
const ROOM_FOR_LIST = 760;

export class Viewer implements View {
  readonly element: HTMLElement;
  readonly store: Store;
  readonly toolbar: Toolbar;
  readonly list: PassList;
  compare!: Compare;
  private readonly filter: HTMLInputElement;
  private readonly head = h("div", { class: "irw-head" });
  private readonly titles = h("div", { class: "irw-titles" });
  private readonly main: HTMLElement;
  private readonly side: HTMLElement;
  private readonly status = h("div", { class: "irw-status", role: "status" });
  private readonly operations: HTMLDetailsElement;
  private readonly stops: (() => void)[] = [];
  private readonly openUnchanged = new Set<number>();
  private source!: SourcePane;
  private analysis!: Analysis;
  private timelines: Timeline[] = [];
  private blames!: Blames;
  private readonly found: Search;
  private readonly costs = h("div", { class: "irw-costs" });
  private readonly legend = h("div", { class: "irw-legend", "aria-label": "Colours of dialects" });
  private readonly bar: HTMLElement;
  private readonly asker: Asker | null;
  private readonly beyond: Beyond;
  /** Whether there is room for two panes, and for the list. */
  private room = { panes: true, list: true };
  private at: Spot | null = null;
  private headOf: Trace | null = null;
  /** Whether choosing a pass leaves the left side alone. */
  pinned = false;
  private closed = false;
  private readonly unpacker = new Unpacker();
  /** Dumps are taken up one after the other. */
  private opening: Promise<void> = Promise.resolve();

  readonly inside: Inside;
  private readonly notes: Notes;
  private readonly ops: Ops;

  constructor(
    private readonly model: Model,
    private readonly root: Document | ShadowRoot,
    private readonly painter: Painter | null,
  ) {
    this.store = new Store(model, (keys) => void this.changed(keys));
    this.inside = new Inside(model, this.store, (text) => this.say(text));
    this.asker = model.send ? new Asker(model, () => this.say("Still waiting for Python")) : null;
    this.found = new Search(this.store);
    this.beyond = new Beyond(this, this.asker);
    this.toolbar = new Toolbar(this.store, {
      unified: () => this.unified,
      search: (step) => this.nextHit(step),
      link: () => void this.beyond.copyLink(),
      notes: () => this.note(),
      tab: this.asker && (() => void this.beyond.openTab()),
      full: () => void this.beyond.fullScreen(),
      last: () => void this.beyond.compareWithLast(),
      copy: () =>
        void this.take((text) =>
          copyText(text).then((done) => (done ? "Copied" : "The browser did not allow copying")),
        ),
      save: () =>
        void this.take((text) =>
          saveText(`${this.trace.name || "lowering"}-${this.right.label}`, this.right.language, text),
        ),
      help: () => this.help(),
      leave: () => this.list.element.focus(),
    });
    this.list = new PassList({
      choose: (stage, extend) => {
        if (!extend) this.pinned = false;
        this.choose(stage, extend ? "left" : "both");
        if (extend) this.pinned = true;
      },
      unfold: (key) => {
        this.openUnchanged.add(key);
        this.drawList();
      },
    });
    this.filter = h("input", {
      type: "search",
      class: "irw-filter",
      placeholder: "Filter passes",
      "aria-label": "Filter passes",
      ...OWN_KEYS,
      input: () => this.store.set({ passes: this.filter.value }),
    });
    this.operations = h("details", { class: "irw-counts", toggle: () => this.drawOperations() });
    const rail = h(
      "button",
      {
        type: "button",
        class: "irw-rail",
        title: "The list as a narrow rail, and back (r)",
        "aria-label": "The list as a narrow rail (r)",
        ...OWN_KEYS,
        click: () => this.toggleRail(),
      },
      "«",
    );
    const top = h("div", { class: "irw-side-top" }, this.filter, rail);
    this.side = h("div", { class: "irw-side" }, top, this.costs, this.list.element, this.legend);
    const wide = (pixels: number | null): void => void (this.side.style.width = pixels === null ? "" : `${pixels}px`);
    this.bar = splitter("Width of the list", {
      size: () => this.side.offsetWidth,
      resize: (pixels) => wide(Math.max(60, Math.min(pixels, this.element.clientWidth * 0.7))),
      reset: () => wide(null),
    });
    this.main = h("div", { class: "irw-main" }, this.titles);
    this.ops = new Ops({
      reveal: (side, line) => void this.compare.reveal({ side, line }, "center"),
      open: (dialog) => this.openDialog(dialog),
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
      h("div", { class: "irw-body" }, this.side, this.bar, this.main, this.ops.panel.element),
      this.status,
      this.operations,
    );
    this.notes = new Notes(this.element, this.store, {
      go: ({ trace, stage, line }) => this.goTo(trace, stage, line),
      open: (dialog) => this.openDialog(dialog),
      say: (text) => this.say(text),
    });
  }

  async start(): Promise<void> {
    await this.open();
    const observer = new ResizeObserver(() => this.measure());
    observer.observe(this.main);
    this.stops.push(() => observer.disconnect(), this.beyond.followLinks());
    this.notes.recall();
  }

  /** How much room there is. */
  private measure(): void {
    const before = this.unified;
    const list = this.element.clientWidth >= ROOM_FOR_LIST;
    const moved = list !== this.room.list;
    this.room = { panes: this.main.clientWidth >= ROOM_FOR_TWO, list };
    if (moved) this.drawList();
    if (before !== this.unified && this.compare) {
      this.toolbar.draw();
      this.drawPanes();
    } else this.compare?.resized();
  }

  /** Whether there is one column: asked for, or because there is no room for two. */
  get unified(): boolean {
    const mode = this.store.get("layout_mode");
    return mode === "unified" || (mode === "auto" && !this.room.panes);
  }

  private get rail(): boolean {
    return this.store.get("rail") ?? !this.room.list;
  }

  toggleRail(): void {
    this.store.set({ rail: !this.rail });
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
    this.timelines = dumps.traces.map((trace) => new Timeline(this.analysis, trace));
    this.blames = new Blames(this.analysis);
    this.drawSource(dumps);
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
    this.timelines = dumps.traces.map((trace) => new Timeline(this.analysis, trace));
    this.blames = new Blames(this.analysis);
    this.compare?.destroy();
    this.source?.destroy();
    this.source?.element.remove();
    this.room = { panes: this.main.clientWidth >= ROOM_FOR_TWO, list: this.element.clientWidth >= ROOM_FOR_LIST };
    this.compare = new Compare(this.analysis, this.root, {
      source: (stage) => this.sourceLines(stage),
      moved: (spot) => this.moved(spot),
      blamed: (spot) => this.follow(spot),
      noted: (spot) => this.note(spot),
    });
    this.main.append(this.compare.element);
    this.source = new SourcePane(dumps, this.root, (file, line) => this.fromSource(file, line));
    this.drawSource(dumps);
    await this.analysis.prepare(this.left, this.right, new Breath());
    if (this.closed) return;
    this.draw();
    this.element.dataset["ready"] = "true";
  }

  /** The source is there from the start, and whichever texts come first. */
  private drawSource(dumps: Dumps): void {
    this.source.take(dumps);
    if (this.source.useful && !this.source.element.isConnected) this.side.append(this.source.element);
  }

  // What is shown

  get traces(): readonly Trace[] {
    return this.analysis.dumps.traces;
  }

  get trace(): Trace {
    const { traces } = this.analysis.dumps;
    return traces[this.store.get("trace")] ?? traces[0]!;
  }

  /** The lowering on the left: the same one, unless two are compared. */
  private get leftTrace(): Trace {
    return this.analysis.dumps.traces[this.store.get("against")] ?? this.trace;
  }

  get left(): Stage {
    return stageAt(this.leftTrace, this.store.get("left"));
  }

  get right(): Stage {
    return stageAt(this.trace, this.store.get("right"));
  }

  /** Show a stage: with its predecessor, or as one side of a comparison. */
  choose(stage: number, which: "both" | "left" | "right"): void {
    const index = Math.min(Math.max(stage, 0), this.trace.stages.length - 1);
    const right = this.store.get("right");
    // The earlier pass is on the left, whichever was chosen first.
    if (which === "left" && index > right && this.leftTrace === this.trace)
      this.store.set({ left: right, right: index });
    else if (which === "left") this.store.set({ left: index });
    else if (which === "right" || this.pinned) this.store.set({ right: index });
    else this.store.set({ left: this.beside(index), right: index });
  }

  /** What a stage is shown beside: the one before, or its counterpart in the lowering that it is compared with. */
  private beside(index: number): number {
    return this.leftTrace === this.trace
      ? Math.max(this.trace.stages[index]!.before, 0)
      : counterpart(this.trace, index, this.leftTrace);
  }

  pin(): void {
    this.pinned = !this.pinned;
    const right = this.store.get("right");
    if (this.pinned) this.store.set({ left: right });
    else this.choose(right, "both");
    this.say(this.pinned ? `Left side held at ${right} ${this.right.label}` : "Left side follows");
  }

  private async changed(keys: Changes): Promise<void> {
    if (this.closed || !this.analysis) return;
    if (keys.has("data")) return this.open();
    if (keys.has("trace") || keys.has("against")) {
      const right = Math.min(this.store.get("right"), this.trace.stages.length - 1);
      this.store.set({ symbol: "", right, left: this.pinned ? this.store.get("left") : this.beside(right) });
      this.fillTimeline();
    }
    const only = (...names: string[]): boolean => [...keys].every((key) => names.includes(key));
    if (only("query", "search_case", "search_word", "search_regex")) {
      this.search();
      this.toolbar.draw();
    } else if (only("passes", "by_time", "rail")) this.drawList();
    else if (only("ops")) {
      this.toolbar.draw();
      this.drawOps();
    } else this.draw();
  }

  private draw(): void {
    const { store } = this;
    this.drawHead();
    this.toolbar.traces(this.analysis.dumps.traces.map(nameOf), store.get("trace"), store.get("against"));
    const names = new Set(
      [...this.analysis.segments(this.left), ...this.analysis.segments(this.right)].map(({ name }) => name),
    );
    names.delete("");
    if (store.get("symbol")) names.add(store.get("symbol"));
    this.toolbar.symbols([...names], store.get("symbol"));
    this.toolbar.draw();
    this.drawPanes();
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
    const show = (stage: number): void => {
      this.pinned = false;
      this.choose(stage, "both");
    };
    const left = files(trace.attachments, this.painter, (dialog) => this.openDialog(dialog));
    if (left) line.append(left);
    this.head.replaceChildren(line, ...[banner(trace, show), failure(trace)].filter((box) => box !== null));
  }

  private drawPanes(): void {
    const { store } = this;
    const [left, right] = [store.get("left"), store.get("right")];
    const titles = [`${left} ${this.left.label}`, `${right} ${this.right.label}`] as const;
    const blame = store.get("blame") ? this.blame() : undefined;
    this.compare.show({
      left: this.left,
      right: this.right,
      titles,
      blame,
      note: this.notes.all.length > 0 ? (spot) => this.notes.on(this.analysis, this.lineOf(spot)) : undefined,
      ignoreRenumbering: store.get("ignore_renumbering"),
      symbol: store.get("symbol"),
      layout: this.unified ? "unified" : "split",
      wrap: store.get("wrap"),
      fold: store.get("fold"),
    });
    const { mode } = this.compare;
    this.titles.dataset["mode"] = mode;
    this.toolbar.last.hidden = !(this.asker && this.model.get("last") && this.analysis.dumps.traces.length === 1);
    const of = this.leftTrace === this.trace ? ["", ""] : [nameOf(this.leftTrace), nameOf(this.trace)];
    this.titles.replaceChildren(
      ...(mode === "alone" || mode === "absent" ? [] : [title("left", left, this.left, of[0]!)]),
      title("right", right, this.right, of[1]!, ...(this.inside.there ? [this.inside.button()] : [])),
    );
  }

  private drawStatus(): void {
    const { compare, left, right } = this;
    const said = [
      !comparable(left, right)
        ? absent(left, right)
        : compare.mode === "alone"
          ? plural(right.lines.length, "line")
          : compare.mode === "linked"
            ? linked(left, right)
            : summary(compare.changes, compare.renumbered, this.analysis.follows(left, right)),
      this.ops.sentence(this.opsShown),
      arriving(this.trace),
    ];
    this.status.replaceChildren(...said.filter(Boolean).map((text) => h("span", {}, text)));
  }

  private drawOps(): void {
    this.ops.draw(this.opsShown, this.store.get("ops"));
  }

  private get opsShown(): OpsShown {
    const { analysis, left, right } = this;
    return { analysis, left, right, parts: this.compare.parts };
  }

  private drawOperations(): void {
    const summary = h("summary", { ...OWN_KEYS }, "Operations");
    const open = this.operations.open;
    this.operations.replaceChildren(summary, ...(open ? [operations(this.analysis, this.left, this.right)] : []));
  }

  private drawList(): void {
    const { store } = this;
    const [left, right] = [store.get("left"), store.get("right")];
    if (this.filter.value !== store.get("passes")) this.filter.value = store.get("passes");
    const timeline = this.timelines[store.get("trace")] ?? this.timelines[0]!;
    const rows = timeline.rows(this.found.counts);
    const shown = this.leftTrace === this.trace ? left : -1;
    const listed = entries(rows, store.get("passes"), this.openUnchanged, [shown, right], store.get("by_time"));
    this.list.draw(listed, shown, right, timeline.most, `No pass has a name like “${store.get("passes")}”`);
    const toggle = (): void => store.set({ by_time: !store.get("by_time") });
    const table = (): void => this.costTable();
    this.costs.replaceChildren(...cost(timeline, rows.length - 1, store.get("by_time"), toggle, table));
    this.legend.replaceChildren(...legend(timeline));
    this.side.toggleAttribute("data-rail", this.rail);
    this.side.querySelector(".irw-rail")!.textContent = this.rail ? "»" : "«";
  }

  /** Compute the bars of the timeline after the panes are painted, a few passes at a time. */
  private fillTimeline(): void {
    const timeline = this.timelines[this.store.get("trace")] ?? this.timelines[0]!;
    const more = (): void => {
      if (this.closed || !this.timelines.includes(timeline)) return;
      const done = timeline.advance(12);
      this.drawList();
      if (done && this.trace.stages.every(({ ready }) => ready)) this.element.dataset["timeline"] = "true";
      if (!done) setTimeout(more);
    };
    setTimeout(more, 30);
  }

  // Search

  private search(): void {
    this.found.update(this.analysis, this.trace);
    this.toolbar.say(this.found.said(this.reader));
    this.compare.setMarks({ query: this.found.query });
    this.drawList();
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
    queueMicrotask(() => this.compare.reveal({ side: "right", line: hit.line }, "cursor"));
  }

  // Source and blame

  private sourceLines(stage: Stage): ((line: number) => number) | null {
    const { places } = stage;
    if (!places) return null;
    return (line) => this.analysis.dumps.places[places[line] ?? -1]?.line ?? 0;
  }

  private stageOf(spot: Spot): Stage {
    return spot.side === "left" ? this.left : this.right;
  }

  private moved(spot: Spot): void {
    this.at = spot;
    if (this.store.get("query")) this.toolbar.say(this.found.said(this.reader));
    if (this.source.focused) return;
    const place = this.analysis.dumps.places[this.source.mark(this.stageOf(spot).places?.[spot.line] ?? -1)];
    const tied = place && this.compare.mode === "linked";
    const of = (stage: Stage): Set<number> => (tied ? this.source.linesOf(stage, place.file, place.line) : new Set());
    this.compare.link({ left: of(this.left), right: of(this.right) });
  }

  private fromSource(file: number, line: number): void {
    const [left, right] = [this.source.linesOf(this.left, file, line), this.source.linesOf(this.right, file, line)];
    this.compare.link({ left, right });
    const first = right.values().next().value ?? -1;
    if (first >= 0) this.compare.reveal({ side: "right", line: first }, "center");
    else if (left.size > 0) this.compare.reveal({ side: "left", line: left.values().next().value! }, "center");
    const none = this.right.ready ? `no location in ${this.right.label}` : absent(this.right, this.right);
    this.say(`Line ${line}: ${right.size > 0 ? `${plural(right.size, "line")} of ${this.right.label}` : none}`);
  }

  /** What the gutters say of each line; what is not known yet is drawn once it is. */
  private blame(): Blamed {
    const { trace, blames } = this;
    const sides = {
      left: { trace: this.leftTrace, stage: this.store.get("left") },
      right: { trace, stage: this.store.get("right") },
    };
    const alive = (): boolean => !this.closed && trace === this.trace && this.store.get("blame");
    if (!blames.known(sides)) {
      this.element.dataset["blame"] = "computing";
      void blames.compute(sides, alive).then((done) => {
        if (!done) return;
        this.element.dataset["blame"] = "ready";
        this.drawPanes();
      });
    }
    return (side, line) => blames.last(sides[side], line);
  }

  /** Go to the pass that last changed a line, and when that is this pass, to the line before it. */
  private follow(spot: Spot): void {
    const { trace, stage } = this.lineOf(spot);
    const version = this.blames.of(trace).back({ stage, line: spot.line });
    if (!version) return this.say(noEarlier(trace, stage));
    this.goTo(trace, version.stage, version.line);
  }

  /** Show a line of a stage of a lowering, beside the pass before. */
  private goTo(trace: Trace, stage: number, line: number): void {
    this.pinned = false;
    const at = this.analysis.dumps.traces.indexOf(trace);
    this.store.set({ trace: at, against: -1, right: stage, left: Math.max(0, trace.stages[stage]!.before) });
    queueMicrotask(() => this.compare.reveal({ side: "right", line }, "focus"));
  }

  private lineOf(spot: Spot): NotedLine {
    const left = spot.side === "left";
    return { trace: left ? this.leftTrace : this.trace, stage: this.store.get(spot.side), line: spot.line };
  }

  /** Write on a line: that of the cursor, if no other is meant. */
  note(spot = this.at): void {
    const on = spot && this.lineOf(spot);
    this.notes.open(this.analysis, on?.trace.stages[on.stage]?.lines[on.line] === undefined ? null : on);
  }

  followCursor(): void {
    if (this.at) this.follow(this.at);
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
    const dialog = h("dialog", { class: "irw-graph", "aria-label": "What each pass costs", ...OWN_KEYS });
    const shut = (): void => dialog.close();
    const go = (stage: number): void => {
      shut();
      this.pinned = false;
      this.choose(stage, "both");
    };
    dialog.append(costs(this.analysis, this.trace, go, shut));
    this.openDialog(dialog);
  }

  help(): void {
    const dialog = help(() => dialog.close());
    this.openDialog(dialog);
  }

  private openDialog(dialog: HTMLDialogElement): void {
    this.element.querySelector("dialog")?.remove();
    dialog.addEventListener("close", () => dialog.remove()); // The browser has given the focus back, and it may have moved on.
    this.element.append(dialog);
    dialog.showModal();
  }

  /** Hand the text on the right to the reader, if it is here. */
  private async take(give: (text: string) => Promise<string> | string): Promise<void> {
    const { right } = this;
    this.say(
      right.ready
        ? await give(Array.from(right.lines, (id) => this.analysis.text(id)).join("\n") + "\n")
        : absent(right, right),
    );
  }

  close(): void {
    this.closed = true;
    for (const stop of this.stops) stop();
    this.store.close();
    this.inside.close();
    this.asker?.close();
    this.compare?.destroy();
    this.source?.destroy();
  }
}

/** What there is to say of two languages, which are not compared line by line. */
function linked(left: Stage, right: Stage): string {
  const known = right.places?.reduce((sum, place) => sum + (place >= 0 ? 1 : 0), 0) ?? 0;
  const total = right.lines.length;
  const tied =
    known > 0
      ? `${thousands(known)} of ${plural(total, "line")} linked by their source line`
      : "no line of it knows its source line";
  return `${left.language} → ${right.language}: another language, not diffed; ${tied}`;
}

/** How many texts are here while others are on their way. */
function arriving({ stages }: Trace): string {
  const coming = stages.filter(({ ready, lost }) => !ready && !lost).length;
  return coming > 0
    ? `${stages.length - coming} of ${plural(stages.length, "text")} here, the others on their way`
    : "";
}

export const render = mounted(style, "these dumps", ({ model, el, host }) => {
  const root = el.getRootNode();
  return new Viewer(model, root instanceof ShadowRoot ? root : document, painterOf(model, host));
});
