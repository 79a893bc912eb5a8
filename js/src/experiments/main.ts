/** Edit here and go on: dumps under edit, and the experiments that came of them. */

import type { Analysis } from "../analysis";
import { Asker } from "../ask";
import { h, OWN_KEYS } from "../dom";
import type { Stage, Trace } from "../dumps";
import { copyText, saveFile } from "../export";
import type { Model, Store } from "../model";
import { asked, KEEP_EXPERIMENTS, RECALL_EXPERIMENTS } from "../outside";
import type { ArrangedPass, Experiment, Plan, Problem } from "../schema";
import { textOf } from "../taking";
import { Editor } from "./editor";
import { cellOf, callOf } from "./code";
import { Tree } from "./tree";

/** Languages that something here parses, so that what is edited can go on. */
const EDITABLE = new Set(["mlir", "llvm"]);
/** The stage that stands for the cell. */
const CELL = -1;
/** Milliseconds after the last change before the notebook is given what there is. */
const SETTLED = 400;

/** What is asked of the view. */
export interface Shown {
  readonly element: HTMLElement;
  readonly main: HTMLElement;
  readonly traces: readonly Trace[];
  readonly lines: Analysis;
  /** Show a dump of a lowering beside one of another. */
  pair(trace: number, against: number, left: number, right: number): void;
  focus(): void;
  say(text: string): void;
}

/** What is opened in an editor. */
interface Opened {
  readonly trace: number;
  readonly stage: number;
  readonly draft: string;
  readonly passes: readonly ArrangedPass[] | null;
  readonly name: string;
  readonly check: boolean;
}

export class Experiments {
  private readonly asker: Asker | null;
  private readonly tree: Tree;
  private editor: Editor | null = null;
  /** What was written and not run, by the dump that it is of. */
  private readonly drafts = new Map<string, string>();
  private timer = 0;

  constructor(
    private readonly model: Model,
    private readonly store: Store,
    private readonly root: Document | ShadowRoot,
    private readonly view: Shown,
  ) {
    this.asker = model.send ? new Asker(model, () => view.say("Still waiting for Python")) : null;
    this.tree = new Tree({
      live: () => this.live,
      shown: () => store.get("trace"),
      show: (one) => this.show(one),
      pair: (one, left, right) => {
        const before = this.beside(one);
        if (left < 0) view.pair(one.trace, -1, Math.max(right - 1, 0), right);
        else view.pair(one.trace, before, left, right);
      },
      ask: (what, one) => void this.send({ do: what, experiment: one.id }),
      rename: (one, name) => void this.send({ do: "rename", experiment: one.id, name }),
      edit: (one) => void this.reopen(one),
      take: (what, one) => void this.take(what, one),
    });
    model.on("change:data", this.keep);
  }

  /** The tree, which is there when there are experiments. */
  get element(): HTMLElement {
    return this.tree.element;
  }

  private get live(): boolean {
    return this.asker !== null && this.model.get("editable") === true;
  }

  private get all(): readonly Experiment[] {
    return this.store.get("experiments") ?? [];
  }

  /** Take up the experiments that there are now. */
  draw(): void {
    this.tree.show(this.all);
  }

  /** The experiments are other ones: the notebook keeps them. */
  changed(): void {
    this.draw();
    this.keep();
  }

  private readonly keep = (): void => {
    if (!this.live || this.all.length === 0) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      asked(this.view.element, KEEP_EXPERIMENTS, { experiments: this.all, data: this.store.data });
    }, SETTLED);
  };

  /** Take up what was kept of the view that stood here before. */
  recall(): void {
    if (!this.live || this.all.length > 0) return;
    asked(this.view.element, RECALL_EXPERIMENTS, (experiments: readonly Experiment[]) => {
      void this.send({ do: "recall", experiments });
    });
  }

  private async send(request: Readonly<Record<string, unknown>>): Promise<string> {
    const wrong = await this.asker!.ask({ kind: "experiments", ...request });
    if (wrong) this.view.say(wrong);
    return wrong;
  }

  private async data<T>(request: Readonly<Record<string, unknown>>): Promise<T | string> {
    const { error, buffers } = await this.asker!.request({ kind: "experiments", ...request });
    return error || !buffers[0]
      ? error || "Python gave no answer"
      : (JSON.parse(new TextDecoder().decode(buffers[0])) as T);
  }

  // What is shown

  /** The lowering that an experiment starts from, among those of the view. */
  private beside(one: Experiment): number {
    return one.parent === 0 ? one.lowering : (this.all.find(({ id }) => id === one.parent)?.trace ?? one.lowering);
  }

  private show(one: Experiment): void {
    const { traces } = this.view;
    const before = this.beside(one);
    const last = (trace: number): number => (traces[trace]?.stages.length ?? 1) - 1;
    this.view.pair(one.trace, before, last(before), last(one.trace));
  }

  /** What can be done with the dump on the right. */
  buttons(stage: Stage): HTMLElement[] {
    if (!this.live) return [];
    const at = { trace: this.store.get("trace"), stage: this.store.get("right") };
    const button = (text: string, title: string, click: () => void, more = ""): HTMLElement =>
      h("button", { type: "button", class: `irw-inside${more}`, title, ...OWN_KEYS, click }, text);
    const found: HTMLElement[] = [];
    if (this.leavable[at.trace]?.includes(at.stage))
      found.push(
        button(
          "Leave out",
          `Run it all without ${stage.label}, and compare`,
          () => void this.send({ do: "without", ...at }),
          " irw-leave",
        ),
      );
    if (EDITABLE.has(stage.language) && stage.ready)
      found.push(button("Edit", "Edit this dump or the passes after it, and go on (x)", () => void this.edit()));
    if (this.cells[at.trace])
      found.push(button("Edit cell", "Edit what this is lowered from, and lower that", () => void this.editCell()));
    return found;
  }

  // Editing

  /** Edit the dump on the right. */
  async edit(): Promise<void> {
    const [trace, stage] = [this.store.get("trace"), this.store.get("right")];
    const shown = this.view.traces[trace]?.stages[stage];
    if (!this.live) return this.view.say("Only a view with a kernel, of what was lowered there, can be edited");
    if (!shown || !EDITABLE.has(shown.language) || !shown.ready)
      return this.view.say(`Nothing here parses ${shown?.language ?? "this"}: edit a dump of MLIR or of LLVM IR`);
    const draft = this.drafts.get(this.at(trace, stage)) ?? textOf(this.view.lines, shown);
    await this.open({ trace, stage, draft, passes: null, name: "", check: false });
  }

  /** Edit the cell of the lowering that is shown. */
  private async editCell(): Promise<void> {
    const trace = this.store.get("trace");
    const draft = this.drafts.get(this.at(trace, CELL)) ?? this.cells[trace]!;
    await this.open({ trace, stage: CELL, draft, passes: null, name: "", check: false });
  }

  /** The text of the cell of each lowering; empty where it has none. */
  private get cells(): readonly string[] {
    return (this.model.get("cells") as readonly string[] | undefined) ?? [];
  }

  /** The stages of each lowering whose pass can be left out. */
  private get leavable(): readonly (readonly number[])[] {
    return (this.model.get("leavable") as readonly (readonly number[])[] | undefined) ?? [];
  }

  /** Open what an experiment was made of. */
  private async reopen(one: Experiment): Promise<void> {
    const trace = this.beside(one);
    const draft = this.textOf(one);
    if (draft === null) return this.view.say("Run what it starts from first");
    await this.open({ trace, stage: one.stage, draft, passes: one.passes, name: "", check: one.check });
  }

  /** The experiment that a lowering of the view is of; 0 for what they start from. */
  private idOf(trace: number): number {
    return this.all.find((one) => one.trace === trace)?.id ?? 0;
  }

  /** Names a dump, also when the lowerings of the view are counted anew. */
  private at(trace: number, stage: number): string {
    const id = this.idOf(trace);
    return `${id > 0 ? `experiment ${id}` : trace} ${stage}`;
  }

  private async open({ trace, stage, draft, passes, name, check }: Opened): Promise<void> {
    this.close();
    const plan = await this.data<Plan>({ do: "plan", trace, stage });
    if (typeof plan === "string") return this.view.say(plan);
    const shown = this.view.traces[trace]!.stages[stage];
    const { main } = this.view;
    const title = shown ? `Edit ${stage} ${shown.label}` : "Edit the cell";
    main.dataset["editing"] = "true";
    this.editor?.close();
    const text = shown ? textOf(this.view.lines, shown) : this.cells[trace]!;
    const id = this.idOf(trace);
    /** The dump that is edited, where it is now. */
    const here = () => ({ trace: id ? (this.all.find((one) => one.id === id)?.trace ?? -1) : trace, stage });
    const editor = new Editor(
      main,
      this.root,
      { title, text, draft, language: shown?.language ?? "python", plan, passes, name, check },
      {
        problems: (now) => this.data<readonly Problem[]>({ do: "problems", ...here(), text: now }),
        go: async (edited) => {
          const wrong = await this.asker!.ask({ kind: "experiments", do: "go", ...here(), ...edited });
          if (!wrong && this.editor === editor) {
            this.drafts.delete(editor.element.dataset["at"]!);
            this.close(false);
          }
          return wrong;
        },
        cancel: () => this.close(),
      },
    );
    editor.element.dataset["at"] = this.at(trace, stage);
    this.editor = editor;
    editor.focus();
  }

  /** Back to the diff; what was written is there when the dump is edited again. */
  close(keep = true): void {
    const { editor } = this;
    if (!editor) return;
    const at = editor.element.dataset["at"]!;
    if (keep) this.drafts.set(at, editor.text);
    editor.close();
    this.editor = null;
    delete this.view.main.dataset["editing"];
    this.view.focus();
  }

  // Taking along

  private async take(what: "cell" | "call" | "files", one: Experiment): Promise<void> {
    if (what === "files") {
      const { error, buffers } = await this.asker!.request({ kind: "experiments", do: "files", experiment: one.id });
      if (error || !buffers[0]) return this.view.say(error || "Python gave no answer");
      const { buffer, byteOffset, byteLength } = buffers[0];
      return saveFile(`${one.name}.zip`, new Uint8Array(buffer, byteOffset, byteLength));
    }
    const text = this.textOf(one);
    if (text === null) return this.view.say("The text that it starts from is not here");
    const made = what === "cell" ? cellOf(one, text) : callOf(one, text);
    this.view.say((await copyText(made)) ? `Copied the ${what}` : "The browser did not allow copying");
  }

  /** The text that an experiment runs on. */
  private textOf(one: Experiment): string | null {
    const before = one.stage === CELL ? this.cellBefore(one) : this.dumpBefore(one);
    if (before === null) return null;
    const lines = before.split("\n");
    if (lines.at(-1) === "") lines.pop();
    if (one.edit) lines.splice(one.edit.first, one.edit.gone, ...one.edit.lines);
    return `${lines.join("\n")}\n`;
  }

  private dumpBefore(one: Experiment): string | null {
    const before = this.view.traces[this.beside(one)]?.stages[one.stage];
    return before?.ready ? textOf(this.view.lines, before) : null;
  }

  /** The cell that an experiment changes: that of the view, or another experiment's. */
  private cellBefore(one: Experiment): string | null {
    const parent = this.all.find(({ id }) => id === one.parent);
    return parent ? this.textOf(parent) : this.cells[one.lowering] || null;
  }

  end(): void {
    clearTimeout(this.timer);
    this.model.off("change:data", this.keep);
    this.editor?.close();
    this.asker?.close();
  }
}
