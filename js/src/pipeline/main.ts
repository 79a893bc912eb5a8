/** A custom pipeline under edit. Python keeps the steps; this shows them, asks for changes, and has the diff below. */

import { h, OWN_KEYS } from "../dom";
import { Embedded } from "../embedded";
import { type Model, Watch } from "../model";
import { type Host, mounted, type View } from "../mount";
import { copyText } from "../export";
import { Asker } from "../ask";
import { Chips } from "./chips";
import { duration, type OfferedPasses, unpackPasses } from "./data";
import type { PipelineStep } from "../schema";
import { type Filled, StepForm } from "./form";
import style from "./style.css?inline";

const TRAITS = ["name", "target", "targets", "steps", "route", "status", "message", "magic", "call"] as const;
type PipelineTrait = (typeof TRAITS)[number] | "passes" | "diff";
const KEYS: readonly (readonly [string, string])[] = [
  ["← →", "step"],
  ["Shift+← Shift+→", "move the step"],
  ["a", "add a step after this one"],
  ["Enter", "edit the step"],
  ["Space", "disable or enable"],
  ["Delete", "remove"],
  ["r", "run all"],
  ["t", "run to this step"],
  ["x", "stop"],
  ["v", "show what the step did"],
  ["Esc", "back to the steps, then to the notebook"],
  ["?", "these keys"],
];

type Mode = "look" | "add" | "edit";

class PipelineEditor implements View {
  readonly element: HTMLElement;
  private readonly diff: Embedded;
  private readonly chips: Chips;
  private readonly asker: Asker;
  private readonly name = h("b", {});
  private readonly targets: HTMLSelectElement;
  private readonly add: HTMLButtonElement;
  private readonly run: HTMLButtonElement;
  private readonly halt: HTMLButtonElement;
  private readonly status = h("span", { class: "irw-pl-status", role: "status" });
  private readonly clock = h("span", { class: "irw-pl-clock", "aria-hidden": "true" });
  private readonly problem = h("div", { class: "irw-pl-problem", role: "alert", hidden: true });
  private readonly panel = h("div", { class: "irw-pl-panel" });
  private readonly lines = h("div", { class: "irw-pl-lines" });
  private readonly state: Watch<PipelineTrait>;
  private passes: OfferedPasses = new Map();
  private form: StepForm | null = null;
  private mode: Mode = "look";
  private selected = -1;
  private selectedId = 0;
  /** Steps there were before one was asked for, to select the new one. */
  private known: ReadonlySet<number> | null = null;
  private since = 0;
  private ticking = 0;
  private asked = "";
  private closed = false;

  constructor(
    private readonly model: Model,
    host: Host,
  ) {
    this.diff = new Embedded("irw-pl-diff", host);
    this.state = new Watch<PipelineTrait>(model, [...TRAITS, "passes", "diff"], (keys) => {
      if (keys.has("passes")) void this.takePasses();
      if (keys.has("diff")) this.showDiff();
      if (TRAITS.some((trait) => keys.has(trait))) this.draw();
    });
    this.asker = new Asker(model, () => this.say("Python has not answered yet: the kernel is busy or gone."));
    this.chips = new Chips({
      choose: (index) => {
        this.choose(index);
        this.chips.element.focus();
      },
      move: (step, to) => void this.ask({ do: "move", step, to }),
      key: (event) => this.chipKey(event),
    });
    this.targets = h("select", {
      ...OWN_KEYS,
      change: () => void this.ask({ do: "target", name: this.targets.value }),
    });
    const button = (label: string, click: () => void, kind = "") =>
      h("button", { type: "button", class: kind || undefined, ...OWN_KEYS, click }, label);
    this.add = button("Add step", () => this.open("add"));
    this.run = button("Run", () => this.runTo(0), "irw-pl-main");
    this.halt = button("Stop", () => void this.ask({ do: "stop" }));
    this.element = h(
      "div",
      { class: "irw irw-pl", role: "region", "aria-label": "Pipeline" },
      h(
        "div",
        { class: "irw-bar" },
        this.name,
        h("label", { class: "irw-pl-to" }, "IR type", this.targets),
        this.add,
        h("span", { class: "irw-space" }),
        this.status,
        this.clock,
        this.run,
        this.halt,
        h("button", { type: "button", "aria-label": "Keys", ...OWN_KEYS, click: () => this.help() }, "?"),
      ),
      this.chips.element,
      this.problem,
      this.panel,
      this.lines,
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  start(): void {
    this.element.after(this.diff.element);
    this.draw();
    void this.takePasses();
    this.showDiff();
    this.element.dataset["ready"] = "true";
  }

  private get<T>(trait: string): T {
    return this.model.get(trait) as T;
  }

  private get steps(): readonly PipelineStep[] {
    return [...this.get<PipelineStep[]>("route"), ...this.get<PipelineStep[]>("steps")];
  }

  private get step(): PipelineStep | undefined {
    return this.steps[this.selected];
  }

  private async ask(request: Readonly<Record<string, unknown>>): Promise<boolean> {
    this.asked = "";
    const wrong = await this.asker.ask(request);
    if (this.closed) return false;
    this.asked = wrong;
    this.drawStatus();
    if (wrong) this.targets.value = this.get("target");
    return !wrong;
  }

  private say(text: string): void {
    this.asked = text;
    this.drawStatus();
  }

  private async takePasses(): Promise<void> {
    this.passes = await unpackPasses(this.get("passes"));
    if (this.closed) return;
    this.element.dataset["passes"] = this.passes.size > 0 ? "true" : "false";
    this.draw();
  }

  // What is shown

  private draw(): void {
    const { steps } = this;
    if (this.known) {
      const fresh = steps.findIndex(({ id }) => id > 0 && !this.known!.has(id));
      if (fresh >= 0) {
        [this.selected, this.selectedId, this.known] = [fresh, steps[fresh]!.id, null];
        if (this.mode === "look") this.chips.element.focus();
      }
    }
    const kept = this.selectedId ? steps.findIndex(({ id }) => id === this.selectedId) : this.selected;
    this.selected = Math.min(kept >= 0 ? kept : this.selected, steps.length - 1);
    if (this.selected < 0) this.selected = steps.length - 1;
    this.selectedId = steps[this.selected]?.id ?? 0;
    this.name.textContent = this.get<string>("name");
    const targets = this.get<{ name: string; summary: string }[]>("targets");
    if (this.targets.options.length !== targets.length) {
      this.targets.replaceChildren(
        ...targets.map(({ name, summary }) => h("option", { value: name, title: summary }, name)),
      );
    }
    this.targets.value = this.get("target");
    this.chips.draw(steps, this.selected);
    this.drawStatus();
    this.drawLines();
    if (!this.form) this.drawPanel();
  }

  private drawStatus(): void {
    const status = this.get<string>("status");
    const running = status === "running";
    this.run.disabled = running;
    this.halt.disabled = !running;
    this.targets.disabled = running;
    this.add.disabled = this.passes.size === 0;
    const message = this.get<string>("message");
    const words =
      { ready: "", running: message || "Starting", done: "Done", failed: "Failed", stopped: "Stopped" }[status] ?? "";
    if (this.status.textContent !== words) this.status.textContent = words;
    const wrong = this.asked || (status === "failed" || (message && status === "ready") ? message : "");
    if (this.problem.textContent !== wrong) this.problem.textContent = wrong;
    this.problem.hidden = !wrong;
    if (this.element.dataset["status"] !== status) {
      if (running) this.since = performance.now();
      this.element.dataset["status"] = status;
    }
    if (running && !this.ticking) this.ticking = setInterval(() => this.tick(), 200);
    if (!running) {
      clearInterval(this.ticking);
      this.ticking = 0;
      const total = this.steps.reduce((sum, { seconds }) => sum + seconds, 0);
      this.clock.textContent = total > 0 ? duration(total) : "";
    }
  }

  private tick(): void {
    this.clock.textContent = `${((performance.now() - this.since) / 1000).toFixed(1)} s`;
  }

  private drawLines(): void {
    const line = (label: string, text: string) => [
      h("span", {}, label),
      h("code", {}, text),
      h(
        "button",
        {
          type: "button",
          "aria-label": `Copy the ${label} line`,
          ...OWN_KEYS,
          click: () => {
            void copyText(text).then(
              (done) => (this.status.textContent = done ? "Copied" : "The browser did not allow copying"),
            );
          },
        },
        "Copy",
      ),
    ];
    const [magic, call] = [this.get<string>("magic"), this.get<string>("call")];
    if (this.lines.dataset["of"] === magic + call) return;
    this.lines.dataset["of"] = magic + call;
    this.lines.replaceChildren(...line("Cell", magic), ...line("Python", call));
  }

  /** What can be done with the step that is selected. */
  private drawPanel(): void {
    const { step } = this;
    const running = this.get<string>("status") === "running";
    // The panel keeps the focus: it is only made anew when something in it changes.
    const shown = JSON.stringify([step && { ...step, seconds: 0 }, this.selected, running, this.passes.size > 0]);
    if (this.panel.dataset["of"] === shown) return;
    const inside = this.panel.contains(document.activeElement) || this.panel.matches(":focus-within");
    this.panel.dataset["of"] = shown;
    if (!step) return this.panel.replaceChildren(h("span", { class: "irw-dim" }, "No steps yet."));
    const button = (label: string, click: () => void, off = false) =>
      h("button", { type: "button", disabled: off, ...OWN_KEYS, click }, label);
    const own = step.id > 0;
    const place = this.selected - this.get<PipelineStep[]>("route").length;
    const last = this.get<PipelineStep[]>("steps").length - 1;
    this.panel.replaceChildren(
      h(
        "div",
        { class: "irw-pl-row" },
        h("b", {}, step.label),
        ...(own
          ? [
              button("Edit", () => this.open("edit"), !this.editable(step)),
              button(step.enabled ? "Disable" : "Enable", () => this.toggle()),
              button("Move left", () => this.move(-1), place === 0),
              button("Move right", () => this.move(1), place === last),
              button("Remove", () => this.remove()),
              button("Run to here", () => this.runTo(step.id), running || !step.enabled),
            ]
          : [
              h("span", { class: "irw-dim" }, `leads to ${this.get<string>("target")}`),
              button("Run only this far", () => this.runTo(-1), running),
            ]),
        button("Show what it did", () => this.show(), step.stage < 0),
        ...(own && step.text ? [h("span", { class: "irw-dim" }, `${step.tool} ${step.text}`)] : []),
      ),
    );
    if (inside) this.chips.element.focus();
  }

  private editable(step: PipelineStep): boolean {
    return step.id > 0 && this.passes.get(step.tool)?.has(step.pass || step.text) === true;
  }

  // What can be done

  private runTo(step: number): void {
    void this.ask({ do: "run", step });
  }

  private choose(index: number): void {
    if (this.form) this.cancel();
    this.selected = Math.max(0, Math.min(index, this.steps.length - 1));
    this.selectedId = this.step?.id ?? 0;
    this.draw();
  }

  private open(mode: "add" | "edit"): void {
    const { step } = this;
    if (this.passes.size === 0) return this.say("The passes are still being listed.");
    if (mode === "edit" && (!step || !this.editable(step)))
      return this.say("This step was given in Python: the page cannot edit it.");
    this.asked = "";
    this.mode = mode;
    const likely = step && this.passes.has(step.tool) ? step.tool : "mlir-opt";
    this.form = new StepForm(this.passes, mode === "edit" ? step! : null, likely, {
      submit: (filled) => void this.submit(mode, filled),
      cancel: () => this.cancel(),
      problem: (text) => this.say(text),
    });
    this.panel.dataset["of"] = "form";
    this.panel.replaceChildren(this.form.element);
    this.form.focus();
  }

  private async submit(mode: "add" | "edit", filled: Filled): Promise<void> {
    const { step } = this;
    if (mode === "add") this.known = new Set(this.steps.map(({ id }) => id));
    const request = mode === "add" ? { do: "add", after: step?.id ?? 0 } : { do: "edit", step: step!.id };
    if (await this.ask({ ...request, ...filled })) this.cancel();
    else this.known = null;
  }

  private cancel(): void {
    this.form = null;
    this.mode = "look";
    this.chips.element.focus();
    this.draw();
  }

  private toggle(): void {
    const { step } = this;
    if (step?.id) void this.ask({ do: "enable", step: step.id, on: !step.enabled });
  }

  private remove(): void {
    const { step } = this;
    if (!step?.id) return;
    this.selectedId = 0;
    void this.ask({ do: "remove", step: step.id });
  }

  private move(by: number): void {
    const { step } = this;
    const place = this.selected - this.get<PipelineStep[]>("route").length + by;
    if (step?.id && place >= 0) void this.ask({ do: "move", step: step.id, to: place });
  }

  /** Show the stages before and after the step in the diff. */
  private show(): void {
    const { step, steps } = this;
    const { model } = this.diff;
    if (!step || step.stage < 0 || !model) return;
    const before = steps
      .slice(0, this.selected)
      .reverse()
      .find(({ stage }) => stage >= 0 && stage < step.stage);
    model.set("right", step.stage);
    model.set("left", before?.stage ?? 0);
    model.save_changes();
    this.diff.element.querySelector<HTMLElement>(".irw-list")?.focus();
  }

  // Keys

  private chipKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    const actions: Readonly<Record<string, () => void>> = {
      Home: () => this.choose(0),
      End: () => this.choose(1e6),
      Enter: () => this.open("edit"),
      " ": () => this.toggle(),
      Delete: () => this.remove(),
      Backspace: () => this.remove(),
      a: () => this.open("add"),
      r: () => this.runTo(0),
      t: () => this.runTo(this.step?.id || -1),
      x: () => void this.ask({ do: "stop" }),
      v: () => this.show(),
    };
    const action =
      step === undefined
        ? actions[event.key]
        : () => (event.shiftKey ? this.move(step) : this.choose(this.selected + step));
    if (!action) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target as HTMLElement).closest("dialog")) return;
    if (event.key === "Escape") {
      const inList = event.target === this.chips.element;
      if (this.form) this.cancel();
      else if (!inList) this.chips.element.focus();
      else {
        this.chips.element.blur();
        this.element.closest<HTMLElement>(".jp-Notebook")?.focus();
      }
    } else if (event.key === "?" && !(event.target instanceof HTMLInputElement)) this.help();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private help(): void {
    this.element.querySelector("dialog")?.remove();
    const rows = KEYS.map(([key, what]) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, ...key.split(" ").flatMap((one) => [h("kbd", {}, one), " "])),
        h("td", {}, what),
      ),
    );
    const dialog = h(
      "dialog",
      { class: "irw-help", "aria-label": "Keys of the steps", ...OWN_KEYS },
      h("table", {}, h("tbody", {}, ...rows)),
      h("button", { type: "button", ...OWN_KEYS, click: () => dialog.close() }, "Close"),
    );
    dialog.addEventListener("close", () => dialog.remove());
    this.element.append(dialog);
    dialog.showModal();
  }

  // The diff below

  private showDiff(): void {
    void this.diff.show(this.get<string | null>("diff"));
  }

  close(): void {
    this.closed = true;
    clearInterval(this.ticking);
    this.state.close();
    this.asker.close();
    this.diff.close();
  }
}

export const render = mounted(style, "this pipeline", ({ model, host }) => new PipelineEditor(model, host!));
