/** A Spyre program: which core does which tile of which tensor, where it lies, when it lives, and why. */

import { h, OWN_KEYS, plural } from "../dom";
import { Asker } from "../ask";
import { type Model, Watch } from "../model";
import { mounted, type View } from "../mount";
import { compared, fields } from "./compared";
import { Form } from "./form";
import { reasons } from "./why";
import { Code } from "./code";
import { corePanel, Cores, splits } from "./cores";
import { bytes, coreColours, slicesOf, iterationOf, iterations, program as read, texts, unpack, whole } from "./data";
import type { SpyreFormer, SpyreOp, SpyreProgram } from "../schema";
import { deviceMemory, folded, scratchpad, Sticks } from "./memory";
import { OpList } from "./ops";
import { source } from "./source";
import style from "./style.css?inline";
import { TensorMap } from "./tensors";
import { WhatIf } from "./whatif";
import { microseconds, Time } from "./time";

type Selected = { op: number; core: number; tensor: string; iteration: number };
const SELECTED = ["op", "core", "tensor", "iteration"] as const;
const SENT = ["data", "former", "texts"] as const;
type Key = (typeof SELECTED)[number] | (typeof SENT)[number];

class SpyreView implements View {
  readonly element: HTMLElement;
  private program!: SpyreProgram;
  private former: SpyreFormer | null = null;
  private maps: TensorMap[] = [];
  private shownOp = -1;
  private shownLx = "";
  private explained: SpyreOp | null = null;
  private later = 0;
  private readonly asker: Asker;
  private readonly state: Watch<Key>;
  private readonly ops = new OpList((op) => this.choose({ op }));
  private readonly time = new Time((op) => this.choose({ op }));
  private readonly cores = new Cores((core) => this.choose({ core }));
  private readonly code = new Code(() => void this.asker.ask({ kind: "texts" }));
  private readonly sticks = new Sticks();
  private readonly form: Form;
  private readonly whatIf: WhatIf;
  private readonly head = h("div", { class: "irw-s-head" });
  private readonly status = h(
    "div",
    { class: "irw-status irw-s-status" },
    h("span", { role: "status" }),
    h("span", { class: "irw-space" }),
    h(
      "span",
      {},
      ...["↑↓←→", "core", "t", "tensor", "[ ]", "iteration", "n p", "op"].map((text, i) =>
        i % 2 ? ` ${text}  ` : h("kbd", {}, text),
      ),
    ),
  );
  private readonly panel: Record<
    "splits" | "core" | "tensors" | "lx" | "memory" | "why" | "source" | "compared",
    HTMLElement
  >;
  private readonly scrub = h("input", {
    type: "range",
    min: 0,
    value: 0,
    step: 1,
    ...OWN_KEYS,
    "aria-label": "Iteration of the loops",
    input: () => this.choose({ iteration: Number(this.scrub.value) }),
  });
  private readonly scrubbed = h("output", {});
  private readonly loops = h("div", { class: "irw-s-loops" }, h("b", {}, "Loop "), this.scrub, this.scrubbed);
  private readonly beside: HTMLElement;
  private readonly codeBox: HTMLDetailsElement;

  constructor(private readonly model: Model) {
    this.state = new Watch<Key>(model, [...SELECTED, ...SENT], (keys) => {
      if (SENT.some((sent) => keys.has(sent))) void this.load(keys);
      else if (this.program) this.keepingFocus(() => this.draw());
    });
    this.asker = new Asker(model, () => this.say("Python has not answered yet: the kernel is busy or gone."));
    const make = (): HTMLElement => h("div", {});
    this.panel = {
      splits: make(),
      core: make(),
      tensors: h("div", { class: "irw-s-tensors" }),
      lx: make(),
      memory: make(),
      why: make(),
      source: make(),
      compared: make(),
    };
    this.form = new Form(model.send ? (change) => this.asker.ask({ kind: "recompile", change }) : null);
    this.whatIf = new WhatIf(model.send ? () => this.asker.request({ kind: "search" }) : null, (divisions) =>
      this.asker.ask({ kind: "recompile", change: { divisions } }),
    );
    const box = (title: string, name: string, ...body: Node[]): HTMLElement =>
      h(
        "section",
        { class: `irw-s-box irw-s-box-${name}`, "aria-label": title },
        h("div", { class: "irw-s-h", "aria-hidden": "true" }, title),
        ...body,
      );
    const p = this.panel;
    this.beside = box("Beside the former program", "compared", p.compared);
    this.codeBox = folded("OpSpec, SuperDSC, bundle.mlir", this.code.element);
    this.codeBox.classList.add("irw-s-box", "irw-s-box-code");
    this.codeBox.addEventListener("toggle", () => this.code.draw());
    this.element = h(
      "div",
      { class: "irw irw-s", role: "region", "aria-label": "Spyre program" },
      this.head,
      h(
        "div",
        { class: "irw-s-body" },
        this.ops.element,
        h(
          "div",
          { class: "irw-s-main", tabindex: 0, role: "group", "aria-label": "Selected op", ...OWN_KEYS },
          this.beside,
          h(
            "div",
            { class: "irw-s-top" },
            h(
              "div",
              { class: "irw-s-left-column" },
              box("Cores", "cores", this.cores.element, this.loops),
              box("Splits", "splits", p.splits),
              box("This core", "core", p.core),
            ),
            box("Tensors", "tensors", p.tensors),
          ),
          box("Time, estimated", "time", this.time.element),
          h("div", { class: "irw-s-two" }, box("LX of a core", "lx", p.lx), box("Device memory", "memory", p.memory)),
          box(
            "Ask why",
            "why",
            p.why,
            folded("Change it and compile again", this.form.element),
            folded("What if it were divided otherwise", this.whatIf.element),
          ),
          h(
            "div",
            { class: "irw-s-two" },
            box("Sticks", "sticks", this.sticks.element),
            box("Source", "source", p.source),
          ),
          this.codeBox,
        ),
      ),
      this.status,
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  async start(): Promise<void> {
    await this.load(new Set(SENT));
  }

  close(): void {
    this.state.close();
    this.asker.close();
    clearTimeout(this.later);
  }

  private get selected(): Selected {
    const get = (key: string): unknown => this.model.get(key);
    const op = Math.max(0, Math.min(Number(get("op")), this.program.ops.length - 1));
    return {
      op,
      core: Number(get("core")),
      tensor: String(get("tensor") ?? ""),
      iteration: Math.min(Number(get("iteration")), iterations(this.program.ops[op]!) - 1),
    };
  }

  private choose(wanted: Partial<Selected>): void {
    if (wanted.op !== undefined && wanted.op !== this.selected.op) {
      wanted = { iteration: 0, ...wanted };
      const tensors = this.program.ops[wanted.op!]?.tensors ?? [];
      if (!tensors.some(({ name }) => name === this.selected.tensor)) wanted = { tensor: "", ...wanted };
    }
    if (wanted.core === -1) delete wanted.core;
    this.state.set(wanted);
  }

  private say(text: string): void {
    const status = this.status.firstElementChild!;
    if (status.textContent !== text) status.textContent = text;
  }

  /** What is drawn anew must not take the keyboard away: focus goes to its successor. */
  private keepingFocus(draw: () => void): void {
    const root = this.element.getRootNode() as Document | ShadowRoot;
    const before = root.activeElement as HTMLElement | null;
    const inside = before !== null && this.element.contains(before);
    const key = before?.dataset["key"];
    draw();
    if (!inside || before.isConnected) return;
    const after = [...this.element.querySelectorAll<HTMLElement>("[data-key]")].find(
      (one) => one.dataset["key"] === key,
    );
    if (after) after.focus({ preventScroll: true });
    else this.ops.focus();
  }

  private async load(keys: ReadonlySet<Key>): Promise<void> {
    // A closed widget has no data any more.
    if (keys.has("data") && this.program && !(this.model.get("data") as DataView).byteLength) return;
    if (keys.has("data")) this.program = await read(this.model.get("data"));
    if (keys.has("former")) {
      this.former = await unpack<SpyreFormer>(this.model.get("former"));
      if (this.former) whole(this.former.picture);
    }
    if (keys.has("texts") || keys.has("data")) this.code.set(await texts(this.model.get("texts")));
    if (keys.has("data") || keys.has("former")) {
      this.drawProgram();
      this.shownOp = -1;
      this.shownLx = "";
      this.explained = null;
    }
    this.draw();
    this.element.dataset["ready"] = "true";
  }

  private drawProgram(): void {
    const { program } = this;
    const fact = (label: string, value: string): HTMLElement =>
      h("span", { class: "irw-fact" }, `${label} `, h("b", {}, value));
    this.head.replaceChildren(
      h("b", { class: "irw-s-name" }, program.name),
      fact("on", plural(program.cores, "core")),
      fact("in", plural(program.kernels.length, "kernel")),
      fact("about", `${microseconds(program.estimate.us)}, estimated`),
      fact("touches", `${bytes(program.moved.unique)} of device memory`),
      fact("LX peak", bytes(program.lx.peak)),
      fact("pool", bytes(program.pool.bytes)),
      h("span", { class: "irw-dim" }, program.semantics),
      ...(program.diagnostics.length > 0
        ? [folded(plural(program.diagnostics.length, "diagnostic"), h("pre", {}, program.diagnostics.join("\n")))]
        : []),
    );
    this.ops.draw(program);
    this.time.draw(program);
    this.whatIf.clear();
    this.beside.hidden = !this.former;
  }

  private draw(): void {
    const { op: number, core, tensor, iteration } = this.selected;
    const op = this.program.ops[number];
    if (!op) return;
    if (number !== this.shownOp || this.loopsMove(op)) this.drawOp(op, core, iteration);
    this.shownOp = number;
    const also = new Set(
      op.tensors
        .filter(({ name }) => name === tensor)
        .flatMap(({ tiles }) => tiles.find(({ cores }) => cores.includes(core))?.cores ?? []),
    );
    this.cores.select(core, also);
    for (const map of this.maps) map.select(core, tensor);
    const name = tensor || op.tensors.at(-1)?.name || op.buffer;
    const chosen = (tensor: string): void => this.choose({ tensor });
    this.panel.core.replaceChildren(
      h("p", {}, h("b", {}, `Core ${core}`), ` ${slicesOf(op, core)}`),
      corePanel(op, core, iteration),
    );
    if (this.shownLx !== `${number} ${name}`) this.panel.lx.replaceChildren(scratchpad(this.program, op, name, chosen));
    this.shownLx = `${number} ${name}`;
    this.panel.memory.replaceChildren(deviceMemory(this.program, op, core, iteration, name, chosen));
    this.scrub.value = String(iteration);
    this.scrubbed.textContent = op.loops
      .map(({ dim, count }, level) => `${dim} ${iterationOf(op, iteration)[level]! + 1} of ${count}`)
      .join(", ");
    const said = `${op.func} → ${op.buffer}, core ${core}${core < op.cores ? "" : " idle"}${tensor ? `, tensor ${tensor}` : ""}${op.loops.length > 0 ? `, iteration ${iteration + 1}` : ""}`;
    this.say(said);
    const shown = (this.element.dataset["shown"] = `${number} ${core} ${tensor} ${iteration}`);
    clearTimeout(this.later);
    this.later = setTimeout(
      () =>
        this.keepingFocus(() => {
          this.drawBelow(op, core, name, iteration);
          this.element.dataset["settled"] = shown;
        }),
      60,
    );
  }

  /** What lies further down: it waits until the selection rests. */
  private drawBelow(op: SpyreOp, core: number, name: string, iteration: number): void {
    this.sticks.draw(
      this.program,
      name,
      op.tensors.find((one) => one.name === name),
      core,
    );
    this.code.select(op, this.program.kernels[op.kernel]?.name ?? "", core, name, iteration);
    if (this.explained === op) return;
    this.explained = op;
    this.panel.why.replaceChildren(reasons(op));
    this.form.draw(this.program, op);
    this.panel.source.replaceChildren(source(this.program, op, (number) => this.choose({ op: number })));
  }

  /** Whether tiles move with the iterations, so that the maps must be drawn again. */
  private loopsMove(op: SpyreOp): boolean {
    return op.loops.length > 0;
  }

  private drawOp(op: SpyreOp, core: number, iteration: number): void {
    const colours = coreColours(op);
    this.ops.select(op.number);
    this.time.select(op);
    this.cores.draw(this.program, op, colours);
    this.loops.hidden = op.loops.length === 0;
    this.scrub.max = String(iterations(op) - 1);
    this.panel.splits.replaceChildren(splits(op));
    this.maps = this.mapsOf(this.program, op, core, iteration, 320);
    this.panel.tensors.replaceChildren(
      ...this.maps.map(({ element }) => element),
      ...(op.tensors.length === 0
        ? [
            h(
              "p",
              { class: "irw-dim" },
              op.kernel < 0 ? "A host call works on whole tensors." : "This kernel is a stub.",
            ),
          ]
        : [this.legend(op)]),
    );
    if (this.former)
      this.panel.compared.replaceChildren(
        compared(this.former),
        fields(this.former, op),
        this.sideBySide(this.former, op, core, iteration),
      );
  }

  private mapsOf(program: SpyreProgram, op: SpyreOp, core: number, iteration: number, room: number): TensorMap[] {
    const colours = coreColours(op);
    return op.tensors.map(
      (tensor) =>
        new TensorMap(
          program,
          op,
          tensor,
          colours,
          iteration,
          core,
          (core, tensor) => this.choose({ core, tensor }),
          room,
        ),
    );
  }

  private sideBySide(former: SpyreFormer, op: SpyreOp, core: number, iteration: number): HTMLElement {
    const other = former.picture.ops.find((one) => one.buffer === op.buffer && one.func === op.func);
    const column = (title: string, maps: TensorMap[]): HTMLElement =>
      h("div", { class: "irw-s-side" }, h("div", { class: "irw-s-h" }, title), ...maps.map(({ element }) => element));
    if (!other) return h("p", { class: "irw-dim" }, `The former program has no ${op.buffer} = ${op.func}.`);
    const before = this.mapsOf(former.picture, other, core, 0, 320);
    const now = this.mapsOf(this.program, op, core, iteration, 320);
    this.maps.push(...before, ...now);
    const on = (program: SpyreProgram, one: SpyreOp): string =>
      `${program.options.cores} cores: ${
        one.dims
          .filter(({ split }) => split > 1)
          .map(({ label, split }) => `${label}/${split}`)
          .join(" ") || "one core"
      }`;
    return h(
      "div",
      { class: "irw-s-two" },
      column(`Before, ${on(former.picture, other)}`, before),
      column(`Now, ${on(this.program, op)}`, now),
    );
  }

  private legend(op: SpyreOp): HTMLElement {
    const axes = op.dims.filter(({ split }) => split > 1).sort((x, y) => x.split - y.split);
    const swatch = (hue: string): HTMLElement =>
      h("span", { class: "irw-s-swatch", "data-hue": hue, "aria-hidden": "true" });
    const [hue, ...rest] = axes;
    const parts: (Node | string)[] = [];
    if (hue && rest.length > 0)
      parts.push(
        swatch("a"),
        ` ${hue.label} even `,
        swatch("b"),
        ` ${hue.label} odd, light to dark by ${rest.map(({ label }) => label).join(", ")}`,
      );
    else if (hue) parts.push(swatch("a"), ` first half of ${hue.label} `, swatch("b"), " second half, light to dark");
    parts.push(
      " ",
      h("span", { class: "irw-s-swatch irw-s-shared", "data-hue": "n", "aria-hidden": "true" }),
      " shared by several cores",
    );
    return h("p", { class: "irw-dim irw-s-legend" }, ...parts);
  }

  private key(event: KeyboardEvent): void {
    if (
      event.ctrlKey ||
      event.altKey ||
      event.metaKey ||
      /INPUT|SELECT|TEXTAREA/.test((event.target as Element).tagName)
    )
      return;
    const { op: number, tensor, iteration } = this.selected;
    const op = this.program.ops[number]!;
    const names = op.tensors.map(({ name }) => name);
    const actions: Record<string, () => void> = {
      t: () => this.choose({ tensor: names[(names.indexOf(tensor) + 1) % Math.max(1, names.length)] ?? "" }),
      T: () => this.choose({ tensor: names.at((names.indexOf(tensor) || names.length) - 1) ?? "" }),
      "[": () => this.choose({ iteration: Math.max(0, iteration - 1) }),
      "]": () => this.choose({ iteration: Math.min(iterations(op) - 1, iteration + 1) }),
      n: () => this.choose({ op: Math.min(this.program.ops.length - 1, number + 1) }),
      p: () => this.choose({ op: Math.max(0, number - 1) }),
      c: () => this.cores.focus(this.selected.core),
      o: () => this.ops.focus(),
      Escape: () => this.ops.focus(true),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}

export const render = mounted(style, "this program", ({ model }) => new SpyreView(model));
